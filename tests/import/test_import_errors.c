/* ir/import and ir/verify: what is refused, by which words, and that nothing else happens to
 * damaged models or without memory. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- refusals --- */

/* x -> one node -> y, which is refused. `attr` is NAME=NUMBER[,NUMBER...] or NAME=TEXT. */
static const struct {
    const char *type, *inputs, *attr, *reason;
    int64_t opset;
} refusals[] = {
    {"Hardmax", "x", NULL, "node 'Hardmax_0' (Hardmax): this operator is not supported", 13},
    {"Conv", "x,x", NULL, "(Conv): input 1 (weights), 'x', must be a constant", 13},
    {"Conv", "x", NULL, "(Conv): input 1 is missing", 13},
    {"Conv", "x,w,v4", NULL, "input 2 (bias), 'v4', has 4 elements in rank 1, expected 3", 13},
    {"Conv", "x,w", "group=2", "group 2 does not divide 2 input and 3 output", 13},
    {"Conv", "x,w4", NULL, "weights 'w4' are 3x4x3x3, but the input has 2 channels", 13},
    {"Conv", "x,w", "kernel_shape=5,5", "kernel_shape 5x5, but the weights 'w' are 3x3", 13},
    {"Conv", "x,w", "strides=0,1", "attribute 'strides' holds 0", 13},
    {"Conv", "x,w", "pads=1,1", "'pads' has 2 numbers", 13},
    {"Conv", "x,w", "pads=-1,0,0,0", "'pads' holds -1", 13},
    {"Conv", "x,w", "auto_pad=FULL", "auto_pad 'FULL' is unknown", 13},
    {"Conv", "x,w", "group=one", "attribute 'group' is not an integer", 13},
    {"Conv", "x,i4", NULL, "is not of a float type", 13},
    {"Conv", "v3,w", NULL, "(Conv): input 0, 'v3', is a constant", 13},
    {"MaxPool", "x", NULL, "'kernel_shape' is missing", 13},
    {"MaxPool", "x", "kernel_shape=9,9", "a window of 9 does not fit into 6 elements", 13},
    {"MaxPool", "x", "kernel_shape=3", "'kernel_shape' has 1 numbers", 13},
    {"Pad", "x,pad_h", "mode=mirror", "mode 'mirror' is not supported", 13},
    {"Pad", "x,crop", "mode=wrap", "padding of -1 and 1 of dimension 3: mode 'wrap' takes", 19},
    {"Pad", "x,long", "mode=wrap", "its indices are more than 64 slices", 19},
    {"Pad", "x,i4", NULL, "4 pads for 4 axes", 13},
    {"Pad", "x,eight", "mode=reflect", "padding of 1 and 5 around 1 elements of dimension 0", 13},
    {"ConvTranspose", "x,w", NULL, "weights 'w' are 3x2x3x3, but the input has 2 channels", 13},
    {"ConvTranspose", "x,wt", "strides=65,1", "a stride of 65: at most 64", 13},
    {"ConvTranspose", "x,wt", "pads=4,0,4,0", "nothing is left of 8 outputs", 13},
    {"ConvTranspose", "x,wt", "output_padding=1,0", "output_padding 1 with stride 1", 13},
    {"DepthToSpace", "x", "blocksize=2", "2 channels are no multiple of blocks of 2x2", 13},
    {"Resize", "x,,v4", "mode=area", "mode 'area' is not supported", 13},
    {"Resize", "x,,v3", NULL, "3 scales or sizes for an input of rank 4", 13},
    {"Resize", "x,,,i4", "antialias=1",
     "(Resize): antialias 1 is not supported where a dimension becomes smaller: dimension 2 of 6 "
     "becomes 3",
     18},
    {"Resize", "x,,,i4", "keep_aspect_ratio_policy=cut",
     "keep_aspect_ratio_policy 'cut' is not supported", 18},
    {"Resize", "x,,,zeros", NULL, "becomes 0", 13},
    {"Resize", "x,,,eight4", "coordinate_transformation_mode=tf_crop_and_resize",
     "coordinate_transformation_mode 'tf_crop_and_resize' is not supported", 13},
    {"Split", "x,i4", "axis=1", "4 lengths for 1 outputs", 13},
    {"Split", "x,one", "axis=1", "parts of 1 elements of 2", 13},
    {"Split", "x", "num_outputs=2", "num_outputs 2, but it has 1 outputs", 18},
    {"Split", "x,one", "num_outputs=1", "both lengths and num_outputs 1", 18},
    {"Swish", "x", NULL, "its form of opset 23 is not supported: 24 or later is", 23},
    {"Swish", "x", "beta=2", "no version of the operator has an attribute 'beta'", 24},
    {"Attention", "x,x,x", NULL, "node 'Attention_0' (Attention): this operator is not", 24},
    {"DequantizeLinear", "x,v3", NULL, "(DequantizeLinear): input 0 of type float32", 24},
    {"Cast", "x", "to=24", "to float8e8m0 at run time is not supported", 24},
    {"Cast", "x", "to=23", "to float4e2m1 at run time is not supported", 24},
    {"RMSNormalization", "x", NULL, "(RMSNormalization): input 1 is missing", 23},
    {"RMSNormalization", "x,v4", NULL, "input 1 (scale) is 4, which does not stretch to 6", 23},
    {"RMSNormalization", "x,m", NULL, "input 1 (scale) is 4x5, which does not stretch to 6", 23},
    {"RMSNormalization", "x,v3,v3", NULL, "3 inputs, at most 2", 23},
    {"Where", "v4,x,x", NULL, "(Where): input 0 of type float32", 13},
    {"Where", "i4,x", NULL, "input 2 is missing", 13},
    {"Where", "i4,i4,x", NULL, "(Where): input 0 of type int64", 13},
    {"Greater", "x,i4", NULL, "(Greater): input 1 of type int64", 13},
    {"And", "x,x", NULL, "(And): input 0 of type float32", 13},
    {"LpNormalization", "x", "p=3", "p 3: 1 and 2 are supported", 13},
    {"Resize", "x,,v3", "axes=2,3", "3 scales or sizes for 2 axes", 18},
    {"Resize", "x,,v3", "axes=1,3,-1", "axis 3 is named twice", 18},
    {"Range", "i1,i1,zeros", NULL, "are not three numbers", 13},
    {"Less", "i4,v4", NULL, "its operands differ in type", 13},
    {"Expand", "x,i4", NULL, "the shape does not fit its input", 13},
    {"Gemm", "x,m", NULL, "input 'x' is of rank 4, expected 2", 13},
    {"MatMul", "x,v4", NULL, "operands of 1x2x6x6 and 4 do not fit each other", 13},
    {"MatMul", "x,m", NULL, "operands of 1x2x6x6 and 4x5 do not fit each other", 13},
    {"MatMul", "m,x", NULL, "operands of 4x5 and 1x2x6x6 do not fit each other", 13},
    {"Add", "x,v4", NULL, "operands of 1x2x6x6 and 4 do not fit", 13},
    {"Add", "x,i4", NULL, "operand 'i4' is not of a float type", 13},
    {"Sub", "x,i4", NULL, "operand 'i4' is not of a float type", 13},
    {"Div", "x,v4", NULL, "operands of 1x2x6x6 and 4 do not fit", 13},
    {"Div", "i4,zeros", NULL, "(Div): an integer is divided by 0", 13},
    {"Pow", "i4,minus", NULL, "(Pow): an integer to a negative power is no integer", 13},
    {"Pow", "huge,fives", NULL, "(Pow): the result of two integers is no 64-bit integer", 13},
    {"Pow", "i4,v4", NULL, "(Pow): operands 'i4' and 'v4' differ in type", 13},
    {"Sigmoid", "w", NULL, "input 0, 'w', is a constant", 13},
    {"LeakyRelu", "x,x", NULL, "2 inputs, at most 1", 13},
    {"HardSwish", "x", NULL, "its form of opset 13 is not supported: 14 or later is", 13},
    {"SpaceToDepth", "x", NULL, "attribute 'blocksize' is missing", 13},
    {"SpaceToDepth", "x", "blocksize=0", "blocksize 0: 1 to 64 are supported", 13},
    {"SpaceToDepth", "x", "blocksize=65", "blocksize 65: 1 to 64 are supported", 13},
    {"SpaceToDepth", "x", "blocksize=4", "does not divide height 6 and width 6", 13},
    {"Concat", "x,x", NULL, "attribute 'axis' is missing", 13},
    {"Concat", "x,x", "axis=4", "axis 4 of a value of rank 4", 13},
    {"Concat", "x,w", "axis=0", "differ beyond axis 0", 13},
    {"Reshape", "x,i4", NULL, "72 elements do not fit the shape 1x2x3x4", 13},
    {"Reshape", "x,x", NULL, "input 1 (shape), 'x', must be a constant", 13},
    {"Squeeze", "x,i1", NULL, "dimension 1 is 2, not 1", 13},
    {"Transpose", "x", "perm=0,1,1,2", "axis 1 is named twice", 13},
    {"Transpose", "x", "perm=0,1", "perm has 2 numbers for rank 4", 13},
    {"ReduceMean", "x", "axes=1,1", "axis 1 is named twice", 13},
    {"InstanceNormalization", "x,v3,v3", NULL, "input 1 (scale) has 3 elements, expected 2", 13},
    {"LayerNormalization", "x,v4", NULL, "input 1 (scale) has 4 elements, expected 6", 17},
    {"GroupNormalization", "x,v3,v3", "num_groups=3", "num_groups 3 of a value of rank 4", 18},
    {"Softmax", "x", "axis=7", "axis 7 of a value of rank 4", 13},
    {"LRN", "x", NULL, "size 0 is out of range", 13},
    {"Gather", "x,i1", NULL, "index 1 into 1 elements", 13},
    {"Gather", "x,x", NULL, "(Gather): input 1 of type float32", 13},
    {"Slice", "x,i1,i4", NULL, "1 starts, but 4 ends", 13},
    {"Cast", "x", "to=8", "to string at run time is not supported", 13},
    {"BatchNormalization", "x,v3,v3,v3,v3", NULL, "has 3 elements in rank 1, expected 2", 13},
    {"Clip", "x,v3", NULL, "input 1 (min) has 3 elements", 13},
    {"Dropout", "x,,i1", NULL, "training_mode is not supported", 13},
    {"ConstantOfShape", "huge", NULL, "too large to compute on import", 13},
    {"Relu", "x,x", NULL, "2 inputs, at most 1", 13},
    {"Relu", "nothing", NULL, "its input 'nothing' is defined nowhere", 13},
    {"Relu", "outside", NULL, "external data", 13},
};

static void set_attribute(struct mb *mb, Onnx__NodeProto *node, const char *text)
{
    char name[32];
    const char *value = strchr(text, '=') + 1;
    int64_t list[9];
    int n = 0;
    memcpy(name, text, (size_t)(value - text - 1));
    name[value - text - 1] = '\0';
    if (strchr("-0123456789", *value) == NULL) {
        mb_string(mb, node, name, value);
        return;
    }
    for (char *end = (char *)value; *value; value = *end ? end + 1 : end)
        list[n++] = strtoll(value, &end, 10);
    list[n] = -9;
    if (n == 1 && strcmp(name, "kernel_shape") != 0)
        mb_int(mb, node, name, list[0]);
    else
        mb_ints(mb, node, name, list);
}

START_TEST(refused_by_name)
{
    struct mb mb;
    mb_init(&mb, refusals[_i].opset);
    mb_input(&mb, "x", MB_DIMS(1, 2, 6, 6));
    mb_weights(&mb, "w", MB_DIMS(3, 2, 3, 3), NULL);
    mb_weights(&mb, "w4", MB_DIMS(3, 4, 3, 3), NULL);
    mb_weights(&mb, "v3", MB_DIMS(3), NULL);
    mb_weights(&mb, "v4", MB_DIMS(4), NULL);
    mb_weights(&mb, "m", MB_DIMS(4, 5), NULL);
    mb_shape(&mb, "i1", MB_DIMS(1));
    mb_shape(&mb, "i4", MB_DIMS(1, 2, 3, 4));
    mb_shape(&mb, "huge", MB_DIMS(1 << 14, 1 << 14));
    mb_shape(&mb, "pad_c", MB_DIMS(0, 1, 0, 0, 0, 0, 0, 0));
    mb_shape(&mb, "crop", MB_DIMS(0, 0, 0, -1, 0, 0, 0, 1));
    mb_shape(&mb, "long", MB_DIMS(0, 0, 0, 0, 0, 0, 0, 400));
    mb_shape(&mb, "pad_h", MB_DIMS(0, 0, 1, 0, 0, 0, 1, 0));
    mb_weights(&mb, "wt", MB_DIMS(2, 3, 3, 3), NULL);
    mb_shape(&mb, "eight", MB_DIMS(1, 1, 1, 1, 5, 1, 1, 1));
    mb_shape(&mb, "eight4", MB_DIMS(1, 2, 8, 8));
    mb_shape(&mb, "zeros", MB_DIMS(0, 0, 0, 0));
    mb_shape(&mb, "one", MB_DIMS(1));
    mb_shape(&mb, "minus", MB_DIMS(2, -1, 2, 2));
    mb_shape(&mb, "fives", MB_DIMS(5, 5));
    Onnx__TensorProto *outside = mb_weights(&mb, "elsewhere", MB_DIMS(1), NULL);
    outside->has_raw_data = 0;
    outside->has_data_location = 1;
    outside->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    bool is_outside = strcmp(refusals[_i].inputs, "outside") == 0;
    Onnx__NodeProto *node = mb_node(&mb, is_outside ? "Add" : refusals[_i].type,
                                    is_outside ? "x,elsewhere" : refusals[_i].inputs, "y");
    if (refusals[_i].attr)
        set_attribute(&mb, node, refusals[_i].attr);
    mb_output(&mb, "y");
    import_refused(&mb, refusals[_i].reason);
}
END_TEST

START_TEST(broken_graphs)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Add", "x,b", "a");
    mb_node(&mb, "Relu", "a", "b")->name = "loop";
    mb_output(&mb, "b");
    import_refused(&mb, "it is part of a cycle");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Relu", "x", "y");
    mb_node(&mb, "Relu", "x", "y")->name = "second";
    mb_output(&mb, "y");
    import_refused(&mb, "node 'second' (Relu): its output 'y' is already that of node '' (Relu)");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Relu", "x", "x");
    mb_output(&mb, "x");
    import_refused(&mb, "its output 'x' is already an input");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "'x' is defined twice");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "z");
    import_refused(&mb, "nothing computes the output 'z'");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_node(&mb, "Relu", "x", "y");
    import_refused(&mb, "0 outputs");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 0, 4));
    mb_weights(&mb, "w", MB_DIMS(2, 2, 3, 3), NULL);
    mb_node(&mb, "Conv", "x,w", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "of the symbolic dimensions 'N' became 1");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1 << 20, 1 << 20));
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "less than 2^31 elements");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2))->type->tensor_type->elem_type = 7;
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "input 'x' is of type int64");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2))->type->tensor_type->shape = NULL;
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "input 'x' has no shape");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_weights(&mb, "w", MB_DIMS(1, 2), NULL)->raw_data.len = 4;
    mb_node(&mb, "Add", "x,w", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "tensor 'w': 4 bytes of data for 2 elements");

    mb_init(&mb, 13);
    mb_weights(&mb, "w", MB_DIMS(1, 2), NULL);
    mb_node(&mb, "Identity", "w", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "the output 'y' is a constant, and the network has no input");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 4, 4));
    mb_ints(&mb, mb_node(&mb, "MaxPool", "x", "y,indices"), "kernel_shape", MB_DIMS(2, 2));
    mb_node(&mb, "Relu", "indices", "z");
    mb_output(&mb, "y");
    mb_output(&mb, "z");
    import_refused(&mb, "its input 'indices' is output 1 of node '' (MaxPool)");
}
END_TEST

/* --- robustness --- */

/* A bit of everything. */
static void build_mixture(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 2, 8, 8));
    mb_weights(mb, "w", MB_DIMS(4, 2, 3, 3), NULL);
    mb_weights(mb, "v", MB_DIMS(4), NULL);
    mb_weights(mb, "one", MB_DIMS(4), (const float[]){1, 1, 1, 1});
    mb_weights(mb, "fc", MB_DIMS(3, 36), NULL);
    mb_weights(mb, "b", MB_DIMS(3), NULL);
    mb_shape(mb, "pads", MB_DIMS(0, 0, 1, 1, 0, 0, 1, 1));
    mb_shape(mb, "shape", MB_DIMS(1, -1));
    mb_node(mb, "Pad", "x,pads", "p");
    mb_node(mb, "Conv", "p,w", "c");
    mb_node(mb, "BatchNormalization", "c,v,v,v,one", "n");
    mb_node(mb, "Relu", "n", "r");
    mb_int(mb, mb_node(mb, "LRN", "r", "l"), "size", 3);
    mb_node(mb, "Add", "l,c2", "a");
    mb_node(mb, "Conv", "p,w,v", "c2");
    mb_int(mb, mb_node(mb, "Concat", "a,r,c2", "k"), "axis", 2);
    Onnx__NodeProto *pool = mb_node(mb, "AveragePool", "k", "q");
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(8, 3));
    mb_ints(mb, pool, "strides", MB_DIMS(8, 2));
    mb_node(mb, "Reshape", "q,shape", "f");
    mb_node(mb, "Transpose", "fc", "fct");
    mb_node(mb, "Gemm", "f,fct,b", "g");
    mb_node(mb, "Softmax", "g", "y");
    mb_output(mb, "y");
}

START_TEST(every_allocation_fails)
{
    struct mb mb;
    build_mixture(&mb);
    long n = 1;
    for (bool finished = false; !finished; n++) {
        struct adaps_error err;
        struct ad_graph *graph;
        ad_mem_fail_after(n);
        enum adaps_status status = ad_ir_import(&mb.model, NULL, &graph, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%ld: %s", n, err.message);
        ck_assert((graph != NULL) == (status == ADAPS_OK));
        finished = status == ADAPS_OK;
        ad_graph_free(graph);
    }
    ck_assert_int_gt(n, 15);
    mb_fini(&mb);
}
END_TEST

/* Models with a byte changed or cut off: whatever still parses is imported or refused. */
START_TEST(damaged_models)
{
    struct mb mb;
    size_t size;
    int imported = 0, refused = 0;
    build_mixture(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_rng rng = {3};
    for (int round = 0; round < 6000; round++) {
        struct adaps_error err;
        struct ad_onnx_model *model;
        struct ad_graph *graph = NULL;
        size_t at = ad_rng_below(&rng, (uint32_t)size);
        uint8_t old = bytes[at];
        if (round % 2)
            bytes[at] = (uint8_t)ad_rng_next(&rng);
        else
            bytes[at] ^= (uint8_t)(1u << ad_rng_below(&rng, 8));
        if (ad_onnx_parse(bytes, size, "damaged.onnx", &model, &err) == ADAPS_OK) {
            enum adaps_status status = ad_ir_import(model, NULL, &graph, &err);
            ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
            imported += status == ADAPS_OK;
            refused += status == ADAPS_EINPUT;
        }
        ad_graph_free(graph);
        ad_onnx_free(model);
        bytes[at] = old;
    }
    ck_assert_int_gt(imported, 100);
    ck_assert_int_gt(refused, 100);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

/* ad_graph_verify() on a good graph with one thing changed at a time. */
START_TEST(verify_sees_each_change)
{
    struct mb mb;
    build_mixture(&mb);
    struct ad_graph *g;
    struct adaps_error err;
    ck_assert_msg(ad_ir_import(&mb.model, NULL, &g, &err) == ADAPS_OK, "%s", err.message);
    struct ad_op *conv = &g->ops[0], *fc = NULL, *concat = NULL, *pool = NULL, *soft = NULL;
    struct ad_op *lrn = NULL;
    for (int i = 0; i < g->nops; i++) {
        fc = g->ops[i].kind == AD_OP_FC ? &g->ops[i] : fc;
        concat = g->ops[i].kind == AD_OP_CONCAT ? &g->ops[i] : concat;
        pool = g->ops[i].kind == AD_OP_AVGPOOL ? &g->ops[i] : pool;
        lrn = g->ops[i].kind == AD_OP_LRN ? &g->ops[i] : lrn;
        soft = g->ops[i].kind == AD_OP_SOFTMAX ? &g->ops[i] : soft;
    }
    ck_assert(conv->kind == AD_OP_CONV && fc && concat && pool && soft && lrn);
#define CHANGE(place, value)                                                                       \
    do {                                                                                           \
        __typeof__(place) saved = (place);                                                         \
        (place) = (value);                                                                         \
        ck_assert_msg(ad_graph_verify(g, true, &err) == ADAPS_EINPUT, #place " = " #value);        \
        ck_assert_msg(strncmp(err.message, "graph: ", 7) == 0, "%s", err.message);                 \
        (place) = saved;                                                                           \
    } while (0)
    CHANGE(g->nops, 0);
    CHANGE(g->nvalues, g->nvalues - 1);
    CHANGE(g->nweights, g->nweights - 1);
    CHANGE(g->ninputs, 0);
    CHANGE(g->noutputs, 0);
    CHANGE(g->outputs[0], g->inputs[0]);
    CHANGE(g->outputs[0], -1);
    CHANGE(g->inputs[0], g->outputs[0]);
    CHANGE(conv->kind, AD_OP_COUNT);
    CHANGE(conv->name, NULL);
    CHANGE(conv->ninputs, 2);
    CHANGE(conv->inputs[0], g->nvalues);
    CHANGE(conv->inputs[0], conv->output);
    CHANGE(conv->output, g->inputs[0]);
    CHANGE(conv->weight, -1);
    CHANGE(conv->weight, g->nweights);
    CHANGE(conv->weight, fc->weight);
    CHANGE(conv->bias, fc->bias);
    CHANGE(conv->groups, 3);
    CHANGE(conv->groups, 0);
    CHANGE(conv->groups, 2);
    CHANGE(conv->window.sh, 0);
    CHANGE(conv->window.sh, 2);
    CHANGE(conv->window.kw, INT32_MAX);
    CHANGE(conv->window.pt, -1);
    CHANGE(conv->window.pb, conv->window.pb + 1);
    CHANGE(conv->window.real_pb, conv->window.pb - 1);
    CHANGE(conv->clamp_min, NAN);
    CHANGE(conv->clamp_max, -INFINITY);
    CHANGE(conv->function, AD_FN_COUNT);
    CHANGE(conv->alpha, INFINITY);
    CHANGE(conv->beta, NAN);
    CHANGE(pool->window.dh, 2);
    CHANGE(pool->window.real_pr, 5);
    CHANGE(concat->outer, 0);
    CHANGE(concat->outer, 7);
    CHANGE(concat->inner, concat->inner + 1);
    CHANGE(concat->inputs[0], g->inputs[0]);
    CHANGE(soft->inner, 2);
    CHANGE(lrn->lrn_size, 0);
    CHANGE(lrn->lrn_size, INT32_MAX);
    CHANGE(soft->weight, 0);
    CHANGE(g->weights[0].rows, 0);
    CHANGE(g->weights[0].row_elements, INT64_MAX);
    CHANGE(g->weights[0].data, NULL);
    CHANGE(g->values[conv->output].rank, 9);
    CHANGE(g->values[conv->output].rank, 3);
    CHANGE(g->values[conv->output].dims[2], 0);
    CHANGE(g->values[conv->output].dims[2], 9);
    CHANGE(g->values[conv->output].box.h, 9);
    CHANGE(g->values[conv->output].format, AD_PLAIN);
    CHANGE(g->values[conv->output].producer, 1);
    CHANGE(g->values[conv->output].constant, 0);
    CHANGE(g->values[g->inputs[0]].constant, g->nweights);
#undef CHANGE
    ck_assert_int_eq(ad_graph_verify(g, true, &err), ADAPS_OK);
    ad_graph_drop_weights(g);
    ck_assert_int_eq(ad_graph_verify(g, true, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_graph_verify(g, false, &err), ADAPS_OK);
    ad_graph_free(g);
    mb_fini(&mb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import errors");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, refused_by_name, 0, (int)(sizeof refusals / sizeof *refusals));
    tcase_add_test(tc, broken_graphs);
    tcase_add_test(tc, every_allocation_fails);
    tcase_add_test(tc, damaged_models);
    tcase_add_test(tc, verify_sees_each_change);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
