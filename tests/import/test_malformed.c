/* Files that are no models, or broken ones: `adaps inspect` refuses each with exit status 3 and a
 * message that says why, within the limits of inspected.h. The files are made here, by changing a
 * small model that is fine. */
#include "base/file.h"
#include "support/inspected.h"
#include "support/model_builder.h"
#include "support/run_suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- changes of a model --- */

/* x, Conv by w (4x3x3x3) and b, Relu: y. Everything that a case wants to change has a name. */
struct model {
    struct mb mb;
    Onnx__GraphProto *graph;
    Onnx__ValueInfoProto *x;
    Onnx__TensorProto *w, *b;
    Onnx__NodeProto *conv, *relu;
};

static void make_model(struct model *m)
{
    mb_init(&m->mb, 13);
    m->graph = m->mb.proto->graph;
    m->x = mb_input(&m->mb, "x", MB_DIMS(1, 3, 8, 8));
    m->w = mb_weights(&m->mb, "w", MB_DIMS(4, 3, 3, 3), NULL);
    m->b = mb_weights(&m->mb, "b", MB_DIMS(4), NULL);
    m->conv = mb_node(&m->mb, "Conv", "x,w,b", "c");
    m->relu = mb_node(&m->mb, "Relu", "c", "y");
    mb_output(&m->mb, "y");
}

static Onnx__AttributeProto *last_of(const Onnx__NodeProto *node)
{
    return node->attribute[node->n_attribute - 1];
}

/* Numbers of a tensor, all 0, as float64. */
static void make_double(struct model *m, Onnx__TensorProto *t, size_t count)
{
    t->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
    t->raw_data.len = count * sizeof(double);
    t->raw_data.data = ad_arena_alloc(&m->mb.arena, count, sizeof(double));
}

static Onnx__TensorShapeProto__Dimension *dim_of(struct model *m, int i)
{
    return m->x->type->tensor_type->shape->dim[i];
}

#define CHANGE(name, statement)                                                                    \
    static void name(struct model *m)                                                              \
    {                                                                                              \
        statement;                                                                                 \
    }
#define OPSET(m) (m)->mb.proto->opset_import[0]

CHANGE(no_graph, m->mb.proto->graph = NULL)
CHANGE(no_ir, m->mb.proto->has_ir_version = 0)
CHANGE(old_ir, m->mb.proto->ir_version = 2)
CHANGE(new_ir, m->mb.proto->ir_version = 1000)
CHANGE(negative_ir, m->mb.proto->ir_version = -1)
CHANGE(no_opset, m->mb.proto->n_opset_import = 0)
CHANGE(old_opset, OPSET(m)->version = 0)
CHANGE(negative_opset, OPSET(m)->version = INT64_MIN)
CHANGE(new_opset, OPSET(m)->version = 4000)
CHANGE(other_domain, OPSET(m)->domain = "com.example")
CHANGE(no_nodes, m->graph->n_node = 0)
CHANGE(no_outputs, m->graph->n_output = 0)
CHANGE(unknown_output, m->graph->output[0]->name = "z")
CHANGE(nameless_output, m->graph->output[0]->name = "")
CHANGE(no_type, m->x->type = NULL)
CHANGE(no_shape, m->x->type->tensor_type->shape = NULL)
CHANGE(integer_input, m->x->type->tensor_type->elem_type = 7)
CHANGE(strange_input, m->x->type->tensor_type->elem_type = 99)
CHANGE(nameless_input, m->x->name = "")
CHANGE(input_twice, mb_input(&m->mb, "x", MB_DIMS(1, 3, 8, 8)))
CHANGE(symbolic_height, dim_of(m, 2)->value_case = 0)
CHANGE(zero_width, dim_of(m, 3)->dim_value = 0)
CHANGE(negative_width, dim_of(m, 3)->dim_value = -8)
CHANGE(huge_width, dim_of(m, 3)->dim_value = INT64_MAX)
CHANGE(huge_product, dim_of(m, 2)->dim_value = dim_of(m, 3)->dim_value = 1 << 30)
CHANGE(no_channels, dim_of(m, 1)->dim_value = 1)
CHANGE(weight_twice, mb_weights(&m->mb, "w", MB_DIMS(1), NULL))
CHANGE(weight_no_name, m->w->name = "")
CHANGE(weight_short, m->w->raw_data.len -= 4)
CHANGE(weight_odd, m->w->raw_data.len -= 1)
CHANGE(weight_empty, m->w->raw_data.len = 0)
CHANGE(weight_none, m->w->has_raw_data = 0)
CHANGE(weight_type, m->w->data_type = 8)
CHANGE(weight_no_type, m->w->data_type = 0)
CHANGE(weight_new_type, m->w->data_type = 1 << 20)
CHANGE(weight_negative, m->w->dims[0] = -4)
CHANGE(weight_huge, m->w->dims[0] = INT64_MAX)
CHANGE(weight_overflow, m->w->dims[0] = m->w->dims[1] = (int64_t)1 << 31)
CHANGE(weight_wraps, m->w->dims[0] = m->w->dims[1] = m->w->dims[2] = (int64_t)1 << 31)
CHANGE(weight_zero, m->w->dims[0] = 0)
CHANGE(weight_rank, m->w->n_dims = 3)
CHANGE(weight_integers, m->w->data_type = 6)
CHANGE(weight_outside, m->w->data_location = 1; m->w->has_data_location = 1; m->w->has_raw_data = 0)
CHANGE(bias_long, m->b->dims[0] = 5)
CHANGE(no_operator, m->conv->op_type = "")
CHANGE(unknown_operator, m->conv->op_type = "Convolution")
CHANGE(quantised, m->conv->op_type = "QLinearConv")
CHANGE(dequantised, m->relu->op_type = "DequantizeLinear")
CHANGE(recurrent, m->relu->op_type = "LSTM")
CHANGE(looping, m->relu->op_type = "Loop")
CHANGE(strange_domain, m->conv->domain = "com.microsoft")
CHANGE(no_inputs, m->conv->n_input = 0)
CHANGE(one_input, m->conv->n_input = 1)
CHANGE(missing_input, m->conv->input[1] = "")
CHANGE(undefined_input, m->conv->input[0] = "nowhere")
CHANGE(own_input, m->conv->input[0] = "c")
CHANGE(cycle, m->conv->input[0] = "y")
CHANGE(no_result, m->conv->n_output = 0)
CHANGE(output_twice, m->relu->output[0] = "c"; m->graph->output[0]->name = "c")
CHANGE(output_is_input, m->conv->output[0] = "x")
CHANGE(output_is_initializer, m->conv->output[0] = "w")
CHANGE(data_is_constant, m->conv->input[0] = "w")
CHANGE(weights_are_data, m->conv->input[1] = "x")

/* Attributes of Conv that contradict the rules of attributes. */
CHANGE(attribute_of_nobody, mb_int(&m->mb, m->conv, "stride", 1))
CHANGE(attribute_of_others, mb_int(&m->mb, m->relu, "axis", 1))
CHANGE(attribute_twice, mb_int(&m->mb, m->conv, "group", 1); mb_int(&m->mb, m->conv, "group", 1))
CHANGE(attribute_no_name, mb_int(&m->mb, m->conv, "", 1))
CHANGE(attribute_two_values, mb_int(&m->mb, m->conv, "group", 1); last_of(m->conv)->has_f = 1)
CHANGE(attribute_other_type, mb_int(&m->mb, m->conv, "group", 1);
       last_of(m->conv)->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)

/* What the inputs of IR 3 say of initializers. */
CHANGE(initializer_is_input, mb_input(&m->mb, "w", MB_DIMS(4, 3, 3, 3)))
CHANGE(initializer_other_dims, mb_input(&m->mb, "w", MB_DIMS(4, 3, 3, 1)))
CHANGE(initializer_other_rank, mb_input(&m->mb, "w", MB_DIMS(4, 3, 9)))
CHANGE(initializer_other_type,
       mb_input(&m->mb, "w", MB_DIMS(4, 3, 3, 3))->type->tensor_type->elem_type = 11)

/* Floats of two types together; all of them double are fine. */
CHANGE(double_bias, make_double(m, m->b, 4))
CHANGE(double_input, m->x->type->tensor_type->elem_type = 11)
CHANGE(all_double, make_double(m, m->b, 4); make_double(m, m->w, 108); double_input(m))

static void double_between(struct model *m)
{
    mb_int(&m->mb, mb_node(&m->mb, "Cast", "c", "d"), "to", 11);
    mb_node(&m->mb, "Add", "c,d", "z");
    m->graph->output[0]->name = "z";
}

static void double_and_back(struct model *m)
{
    mb_int(&m->mb, mb_node(&m->mb, "Cast", "c", "d"), "to", 11);
    mb_int(&m->mb, mb_node(&m->mb, "Cast", "d", "f"), "to", 1);
    mb_node(&m->mb, "Add", "c,f", "z");
    m->graph->output[0]->name = "z";
}

static void deep_rank(struct model *m)
{
    m->w->n_dims = 4000;
    m->w->dims = ad_arena_alloc(&m->mb.arena, m->w->n_dims, sizeof *m->w->dims);
    for (size_t i = 0; i < m->w->n_dims; i++)
        m->w->dims[i] = 1;
}

static void many_dims(struct model *m)
{
    Onnx__TensorShapeProto *shape = m->x->type->tensor_type->shape;
    Onnx__TensorShapeProto__Dimension **list = ad_arena_alloc(&m->mb.arena, 500, sizeof(void *));
    for (int i = 0; i < 500; i++)
        list[i] = shape->dim[0];
    shape->dim = list;
    shape->n_dim = 500;
}

static const struct {
    const char *name;
    void (*change)(struct model *m);
    const char *reason;
} models[] = {
    {"no graph", no_graph, "it holds no graph"},
    {"no IR version", no_ir, "IR version"},
    {"old IR version", old_ir, "IR version 2"},
    {"new IR version", new_ir, "IR version 1000"},
    {"negative IR version", negative_ir, "IR version -1"},
    {"no opset", no_opset, "imports no opset"},
    {"opset 0", old_opset, "opset 0"},
    {"opset INT64_MIN", negative_opset, "opset -9223372036854775808"},
    {"opset 4000", new_opset, "opset 4000"},
    {"another domain's opset", other_domain, "imports no opset of the default domain"},
    {"no nodes", no_nodes, "nothing computes the output 'y'"},
    {"no outputs", no_outputs, "0 outputs"},
    {"unknown output", unknown_output, "nothing computes the output 'z'"},
    {"nameless output", nameless_output, "nothing computes the output ''"},
    {"input without type", no_type, "input 'x' is not a tensor"},
    {"input without shape", no_shape, "input 'x' has no shape"},
    {"input of integers", integer_input, "input 'x' is of type int64"},
    {"input of unknown type", strange_input, "input 'x' is of type type 99"},
    {"input without name", nameless_input, "an input has no name"},
    {"two inputs of one name", input_twice, "'x' is defined twice"},
    {"unknown height", symbolic_height, "'x:2' became 1: --dim NAME=N gives"},
    {"width 0", zero_width, "'x:3' became 1"},
    {"negative width", negative_width, "dimension 3 = -8"},
    {"width 2^63-1", huge_width, "dimension 3"},
    {"2^60 pixels", huge_product, "less than 2^31 elements"},
    {"input of 500 dims", many_dims, "rank 500"},
    {"other channels", no_channels, "the input has 1 channels"},
    {"two weights of one name", weight_twice, "'w' is defined twice"},
    {"weight without name", weight_no_name, "has no name"},
    {"weight too short", weight_short, "428 bytes of data for 108 elements"},
    {"weight of odd size", weight_odd, "431 bytes of data for 108 elements"},
    {"weight of no bytes", weight_empty, "0 bytes of data for 108 elements"},
    {"weight without data", weight_none, "0 values for 108 elements"},
    {"weight of strings", weight_type, "element type string is not supported"},
    {"weight of no type", weight_no_type, "element type undefined is not supported"},
    {"weight of unknown type", weight_new_type, "element type type 1048576 is not supported"},
    {"weight of negative dim", weight_negative, "dimension 0"},
    {"weight of huge dim", weight_huge, "dimension 0"},
    {"weight of 2^62 elements", weight_overflow, "dimension"},
    {"weight whose size wraps", weight_wraps, "dimension"},
    {"weight of dim 0", weight_zero, "'w'"},
    {"weight of rank 3", weight_rank, "432 bytes of data for 36 elements"},
    {"weight of rank 4000", deep_rank, "'w' has rank 9"},
    {"weight of integers", weight_integers, "not of a float type"},
    {"weight in no file", weight_outside, "external data: it has no 'location'"},
    {"bias too long", bias_long, "16 bytes of data for 5 elements"},
    {"node without operator", no_operator, "has no operator type"},
    {"unknown operator", unknown_operator, "(Convolution): this operator is not supported"},
    {"quantised convolution", quantised, "(QLinearConv): 3 inputs"},
    {"dequantisation", dequantised, "(DequantizeLinear): input 1 is missing"},
    {"recurrent network", recurrent, "(LSTM): this operator is not supported"},
    {"loop", looping, "(Loop): this operator is not supported"},
    {"operator of another domain", strange_domain, "the domain 'com.microsoft'"},
    {"node without inputs", no_inputs, "input 0 is missing"},
    {"convolution without weights", one_input, "input 1 is missing"},
    {"empty name for weights", missing_input, "input 1 is missing"},
    {"undefined input", undefined_input, "its input 'nowhere' is defined nowhere"},
    {"node reads itself", own_input, "part of a cycle"},
    {"cycle of two", cycle, "part of a cycle"},
    {"node without outputs", no_result, "node 'Conv_0' (Conv) has no output"},
    {"two makers of one value", output_twice, "its output 'c' is already that of node"},
    {"output is an input", output_is_input, "its output 'x' is already an input"},
    {"output is an initializer", output_is_initializer, "its output 'w' is already an input"},
    {"data is a constant", data_is_constant, "input 0, 'w', is a constant"},
    {"weights are data", weights_are_data, "input 1 (weights), 'x', must be a constant"},
    {"attribute of no operator", attribute_of_nobody,
     "node 'Conv_0' (Conv): no version of the operator has an attribute 'stride'"},
    {"attribute of another operator", attribute_of_others,
     "(Relu): no version of the operator has an attribute 'axis'"},
    {"attribute given twice", attribute_twice,
     "node 'Conv_0' (Conv): attribute 1 'group' is given twice"},
    {"attribute without name", attribute_no_name, "attribute 0 '' has no name"},
    {"attribute of two values", attribute_two_values, "'group' holds values of several types"},
    {"attribute of another type", attribute_other_type,
     "'group' holds a value of another type than it states"},
    {"initializer and input of other dims", initializer_other_dims,
     "the initializer 'w' has dimension 3 = 3, the input of this name 1"},
    {"initializer and input of other rank", initializer_other_rank,
     "the initializer 'w' is of rank 4, the input of this name of 3"},
    {"initializer and input of other type", initializer_other_type,
     "the initializer 'w' is of type float32, the input of this name of double"},
    {"double bias", double_bias,
     "its inputs 'x' and 'b' are of types float32 and double: they must be of one type"},
    {"double input", double_input, "its inputs 'x' and 'w' are of types double and float32"},
    {"double within the network", double_between,
     "node 'Add_3' (Add): its inputs 'c' and 'd' are of types float32 and double"},
};

/* What looks like the above, and is fine. */
static const struct {
    const char *name;
    void (*change)(struct model *m);
} good[] = {
    {"initializer and input agree", initializer_is_input},
    {"a network of doubles", all_double},
    {"double and back", double_and_back},
};

START_TEST(good_models)
{
    struct model m;
    size_t size;
    make_model(&m);
    good[_i].change(&m);
    uint8_t *bytes = mb_pack(&m.mb, &size);
    inspected_check(good[_i].name, bytes, size, 0, NULL);
    ad_free(bytes);
    mb_fini(&m.mb);
}
END_TEST

START_TEST(broken_models)
{
    struct model m;
    size_t size;
    make_model(&m);
    models[_i].change(&m);
    uint8_t *bytes = mb_pack(&m.mb, &size);
    inspected_check(models[_i].name, bytes, size, 3, models[_i].reason);
    ad_free(bytes);
    mb_fini(&m.mb);
}
END_TEST

/* --- broken nodes: TYPE, inputs, attribute --- */

static const struct {
    const char *type, *inputs, *attribute, *reason;
} nodes[] = {
    {"Conv", "x,w", "strides=0,0", "attribute 'strides' holds 0"},
    {"Conv", "x,w", "strides=-1,1", "attribute 'strides' holds -1"},
    {"Conv", "x,w", "strides=9223372036854775807,1", "attribute 'strides' holds"},
    {"Conv", "x,w", "strides=1,1,1", "'strides' has 3 numbers"},
    {"Conv", "x,w", "dilations=0,1", "attribute 'dilations' holds 0"},
    {"Conv", "x,w", "dilations=1000000,1", "does not fit"},
    {"Conv", "x,w", "pads=-1,0,0,0", "attribute 'pads' holds -1"},
    {"Conv", "x,w", "pads=9223372036854775807,0,0,0", "attribute 'pads' holds"},
    {"Conv", "x,w", "pads=1048576,1048576,1048576,1048576", "less than 2^31 elements"},
    {"Conv", "x,w", "group=0", "group 0"},
    {"Conv", "x,w", "group=-1", "group -1"},
    {"Conv", "x,w", "group=9223372036854775807", "group 9223372036854775807"},
    {"Conv", "x,w", "kernel_shape=3,4", "kernel_shape 3x4"},
    {"Conv", "deep,w5", "strides=0,1,1", "attribute 'strides' holds 0"},
    {"Conv", "deep,w5", "pads=1048576,0,0,1048576,0,0", "operators: more than the 16384"},
    {"Conv", "deep,w5", "pads=0,1048576,1048576,0,0,0", "less than 2^31 elements"},
    {"Conv", "deep,w5", "group=0", "group 0"},
    {"Conv", "deep,w", NULL, "expected rank 5"},
    {"Conv", "deep,w5", "kernel_shape=2,3,3", "kernel_shape 2x3x3, but the weights 'w5' are 3x3x3"},
    {"ConvTranspose", "deep,w5", "strides=65,1,1", "depth: a stride of 65"},
    {"ConvTranspose", "deep,w5", "pads=9,0,0,9,0,0", "depth: nothing is left"},
    {"MaxPool", "deep", "kernel_shape=9,1,1", "depth: a window of 9 does not fit"},
    {"AveragePool", "deep", "kernel_shape=0,1,1", "attribute 'kernel_shape' holds 0"},
    {"GlobalAveragePool", "long", NULL, "factors: too many"},
    {"GlobalMaxPool", "long", NULL, "in one dimension is out of range"},
    {"If", "x", NULL, "input 0 (condition), 'x', must be a constant"},
    {"If", "minus", NULL, "a condition of 2 elements"},
    {"LRN", "long", "size=3", "operators: more than the 16384"},
    {"ConvTranspose", "x,wt", "strides=64,65", "a stride of 65"},
    {"ConvTranspose", "x,wt", "group=4000000000", "does not divide"},
    {"MaxPool", "x", "kernel_shape=0,0", "attribute 'kernel_shape' holds 0"},
    {"MaxPool", "x", "kernel_shape=1048576,1", "does not fit"},
    {"AveragePool", "x", "kernel_shape=2000000,1", "attribute 'kernel_shape' holds"},
    {"Reshape", "x,minus", NULL, "dimension"},
    {"Reshape", "x,huge", NULL, "dimension"},
    {"Expand", "x,huge", NULL, "does not fit"},
    {"Expand", "x,huge5", NULL, "less than 2^31 elements"},
    {"ConstantOfShape", "huge", NULL, "dimension"},
    {"Transpose", "x", "perm=0,1,2,9", "axis 9"},
    {"Transpose", "x", "perm=0,0,0,0", "named twice"},
    {"Concat", "x,x", "axis=-9", "axis -9"},
    {"Flatten", "x", "axis=7", "axis 7"},
    {"Split", "x", "axis=4", "axis 4"},
    {"Split", "x,huge", "axis=1", "lengths for 1 outputs"},
    {"Slice", "x,minus,minus,huge", NULL, "starts"},
    {"Gather", "x,huge", NULL, "index"},
    {"Pad", "x,huge8", NULL, "padding of"},
    {"Pad", "x,minus8", NULL, "padding of"},
    {"Resize", "x,,,huge4", NULL, "becomes"},
    {"Resize", "x,,nan4", NULL, "becomes"},
    {"Resize", "x,,nan4,huge4", NULL, "both scales and sizes"},
    {"Upsample", "x", NULL, "0 scales"},
    {"SpaceToDepth", "x", "blocksize=9223372036854775807", "blocksize"},
    {"DepthToSpace", "x", "blocksize=-1", "blocksize -1"},
    {"Softmax", "x", "axis=99", "axis 99"},
    {"LRN", "x", "size=-3", "size -3"},
    {"ReduceMean", "x", "axes=5", "axis 5"},
    {"Gemm", "x,w", NULL, "rank 4, expected 2"},
    {"MatMul", "x,w", NULL, "do not fit each other"},
    {"Add", "x,nan4", NULL, "do not fit"},
    {"Clip", "x,nan", NULL, "not a number"},
    {"BatchNormalization", "x,nan,nan,nan,nan", NULL, "expected 3"},
    {"Cast", "x", "to=8", "at run time is not supported"},
};

static void set_attribute(struct mb *mb, Onnx__NodeProto *node, const char *text)
{
    char name[32];
    const char *value = strchr(text, '=') + 1;
    int64_t list[9];
    int n = 0;
    snprintf(name, sizeof name, "%.*s", (int)(value - text - 1), text);
    for (char *end; *value; value = *end ? end + 1 : end)
        list[n++] = strtoll(value, &end, 10);
    list[n] = -9;
    if (n == 1 && strcmp(name, "axes") != 0)
        mb_int(mb, node, name, list[0]);
    else
        mb_ints(mb, node, name, list);
}

START_TEST(broken_nodes)
{
    const int64_t huge = INT64_MAX / 2;
    struct mb mb;
    size_t size;
    bool upsample = strcmp(nodes[_i].type, "Upsample") == 0;
    mb_init(&mb, upsample ? 7 : 13);
    mb_input(&mb, "x", MB_DIMS(1, 3, 8, 8));
    mb_input(&mb, "deep", MB_DIMS(1, 3, 4, 4, 4));
    mb_input(&mb, "long", MB_DIMS(1, 3, 2000000, 1, 1));
    mb_weights(&mb, "w5", MB_DIMS(3, 3, 3, 3, 3), NULL);
    mb_weights(&mb, "w", MB_DIMS(4, 3, 3, 3), NULL);
    mb_weights(&mb, "wt", MB_DIMS(3, 4, 3, 3), NULL);
    mb_weights(&mb, "nan", MB_DIMS(1), (const float[]){__builtin_nanf("")});
    float nans[4] = {1, 1, __builtin_nanf(""), __builtin_inff()};
    mb_weights(&mb, "nan4", MB_DIMS(4), nans);
    mb_shape(&mb, "minus", MB_DIMS(-5, -7));
    mb_shape(&mb, "minus8", MB_DIMS(0, 0, -100, 0, 0, 0, -100, 0));
    mb_shape(&mb, "huge", MB_DIMS(huge, huge, huge, huge));
    mb_shape(&mb, "huge4", MB_DIMS(1, 3, huge, huge));
    mb_shape(&mb, "huge5", MB_DIMS(huge, 1, 3, 8, 8));
    mb_shape(&mb, "huge8", MB_DIMS(0, 0, huge, 0, 0, 0, huge, 0));
    Onnx__NodeProto *node = mb_node(&mb, nodes[_i].type, nodes[_i].inputs, "y");
    if (nodes[_i].attribute)
        set_attribute(&mb, node, nodes[_i].attribute);
    mb_output(&mb, "y");
    uint8_t *bytes = mb_pack(&mb, &size);
    inspected_check(nodes[_i].type, bytes, size, 3, nodes[_i].reason);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

/* --- bytes that are no model --- */

static const struct {
    const char *name, *bytes;
    size_t size;
    const char *reason;
} files[] = {
    {"nothing", "", 0, "the file is empty"},
    {"a zero", "\0", 1, "not an ONNX model"},
    {"text", "model: none\n", 12, "not an ONNX model"},
    {"a picture", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "not an ONNX model"},
    {"an unfinished number", "\x08\xff\xff\xff", 4, "not an ONNX model"},
    {"a number without end", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14,
     "not an ONNX model"},
    {"a graph of 2 GB", "\x3a\xff\xff\xff\xff\x07", 6, "not an ONNX model"},
    {"a graph of 2^63 bytes", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, "not an ONNX model"},
    {"field 0", "\x02\x01\x01", 3, "not an ONNX model"},
    {"a group that is never closed", "\x0b\x08\x01", 3, "not an ONNX model"},
    {"wire type 7", "\x0f\x01", 2, "not an ONNX model"},
    {"an empty graph alone", "\x3a\x00", 2, "IR version"},
};

/* --- data beside the model --- */

static const struct {
    const char *location, *offset, *length; /* NULL: not said */
    int exit_status;
    const char *reason;
} outside[] = {
    {"w.bin", NULL, NULL, 0, NULL},
    {"w.bin", "0", "432", 0, NULL},
    {"./w.bin", "0", "432", 0, NULL},
    {"longer.bin", "16", "432", 0, NULL},
    {"sub/w.bin", "0", "432", 0, NULL},
    {"longer.bin", NULL, NULL, 3, "448 bytes of data for 108 elements"},
    {"longer.bin", "20", "432", 3, "its bytes end behind the end of 'longer.bin'"},
    {"longer.bin", "449", "0", 3, "its offset lies behind the end"},
    {"w.bin", "-1", "432", 3, "its offset is no number: '-1'"},
    {"w.bin", "18446744073709551616", "432", 3, "its offset is no number"},
    {"w.bin", "0", "", 3, "its length is no number"},
    {"w.bin", "0", "18446744073709551615", 3, "its bytes end behind the end"},
    {"nowhere.bin", NULL, NULL, 3, "nowhere.bin: No such file"},
    {"", NULL, NULL, 3, "'' is not below the model's folder"},
    {NULL, NULL, NULL, 3, "it has no 'location'"},
    {"/etc/hostname", NULL, NULL, 3, "is not below the model's folder"},
    {"../w.bin", NULL, NULL, 3, "is not below the model's folder"},
    {"sub/../../w.bin", NULL, NULL, 3, "is not below the model's folder"},
    {"sub/..", NULL, NULL, 3, "is not below the model's folder"},
    {"link.bin", NULL, NULL, 3, "symbolic links are not followed"},
    {"linked/w.bin", NULL, NULL, 3, "linked/w.bin: "},
    {"sub", NULL, NULL, 3, "sub: not a regular file"},
    {"w.bin/x", NULL, NULL, 3, "w.bin/x: Not a directory"},
};

static void put(const char *name, const void *bytes, size_t size)
{
    char path[INSPECTED_PATH];
    snprintf(path, sizeof path, "%s/%s", inspected_folder, name);
    ck_assert_int_eq(ad_file_replace(path, bytes, size, NULL), ADAPS_OK);
}

static void link_to(const char *target, const char *name)
{
    char path[INSPECTED_PATH];
    snprintf(path, sizeof path, "%s/%s", inspected_folder, name);
    unlink(path);
    ck_assert_int_eq(symlink(target, path), 0);
}

static void add_entry(struct model *m, const char *key, const char *value)
{
    Onnx__ExternalEntryProto *e = ad_arena_alloc(&m->mb.arena, 1, sizeof *e);
    onnx__external_entry_proto__init(e);
    e->key = (char *)key;
    e->has_value = 1;
    e->value = (ProtobufCBinaryData){value ? strlen(value) : 0, (uint8_t *)value};
    if (value)
        m->w->external_data[m->w->n_external_data++] = e;
}

START_TEST(external_data)
{
    static const char bytes[448];
    struct model m;
    char sub[INSPECTED_PATH];
    size_t size;
    snprintf(sub, sizeof sub, "%s/sub", inspected_folder);
    ck_assert(mkdir(sub, 0700) == 0 || errno == EEXIST);
    put("w.bin", bytes, 432);
    put("sub/w.bin", bytes, 432);
    put("longer.bin", bytes, 448);
    link_to("w.bin", "link.bin");
    link_to("sub", "linked");
    make_model(&m);
    m.w->has_raw_data = 0;
    m.w->has_data_location = 1;
    m.w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    m.w->external_data = ad_arena_alloc(&m.mb.arena, 3, sizeof(Onnx__ExternalEntryProto *));
    add_entry(&m, "location", outside[_i].location);
    add_entry(&m, "offset", outside[_i].offset);
    add_entry(&m, "length", outside[_i].length);
    uint8_t *packed = mb_pack(&m.mb, &size);
    inspected_check("external data", packed, size, outside[_i].exit_status, outside[_i].reason);
    ad_free(packed);
    mb_fini(&m.mb);
}
END_TEST

/* What comes after a NUL counts as a part of the path. */
START_TEST(external_data_nul)
{
    struct model m;
    size_t size;
    make_model(&m);
    put("w.bin", (const char[432]){0}, 432);
    m.w->has_raw_data = 0;
    m.w->has_data_location = 1;
    m.w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    m.w->external_data = ad_arena_alloc(&m.mb.arena, 1, sizeof(Onnx__ExternalEntryProto *));
    add_entry(&m, "location", "w.bin/../x");
    m.w->external_data[0]->value.data = (uint8_t *)"w.bin\0/../x";
    m.w->external_data[0]->value.len = 11;
    uint8_t *packed = mb_pack(&m.mb, &size);
    inspected_check("a NUL", packed, size, 3,
                    "tensor 'w': external data: its location has a NUL after 'w.bin'");
    ad_free(packed);
    mb_fini(&m.mb);
}
END_TEST

START_TEST(no_models)
{
    inspected_check(files[_i].name, files[_i].bytes, files[_i].size, 3, files[_i].reason);
}
END_TEST

/* A model that ends too early is refused wherever it ends; the whole one is fine. */
START_TEST(cut_models)
{
    struct model m;
    size_t size;
    make_model(&m);
    uint8_t *bytes = mb_pack(&m.mb, &size);
    inspected_check("the whole model", bytes, size, 0, NULL);
    for (size_t k = 1; k < 24; k++)
        inspected_check("a part of a model", bytes, size * k / 24, 3, "m.onnx: ");
    ad_free(bytes);
    mb_fini(&m.mb);
}
END_TEST

int main(void)
{
    if (!inspected_begin())
        return EXIT_FAILURE;
    Suite *suite = suite_create("malformed");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, no_models, 0, sizeof files / sizeof *files);
    tcase_add_loop_test(tc, broken_models, 0, sizeof models / sizeof *models);
    tcase_add_loop_test(tc, good_models, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tc, broken_nodes, 0, sizeof nodes / sizeof *nodes);
    tcase_add_loop_test(tc, external_data, 0, sizeof outside / sizeof *outside);
    tcase_add_test(tc, external_data_nul);
    tcase_add_test(tc, cut_models);
    suite_add_tcase(suite, tc);
    int status = run_suite(suite);
    static const char *const made[] = {"w.bin",    "sub/w.bin", "longer.bin",
                                       "link.bin", "linked",    "sub"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char path[INSPECTED_PATH];
        snprintf(path, sizeof path, "%s/%s", inspected_folder, made[i]);
        remove(path);
    }
    inspected_end();
    return status;
}
