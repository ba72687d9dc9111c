/* ir/import: operators that run whole on one device, values of other types than float32, and
 * values whose length only the run knows. */
#include "support/import_checks.h"
#include "support/plan_fixture.h"
#include "support/reference.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

#define MOST 6

struct answer {
    struct ad_graph *graph;
    struct ad_tensor inputs[MOST], outputs[MOST];
};

static void random_input(const struct ad_value *v, uint64_t seed, struct ad_tensor *out)
{
    struct ad_rng rng = {seed};
    uint64_t numbers = v->type == ADAPS_BOOL ? 2 : 3;
    ck_assert_int_eq(ad_tensor_init_typed(out, v->type, v->rank, v->dims, NULL), ADAPS_OK);
    for (size_t i = 0; i < out->count; i++)
        ad_tensor_set(out, i,
                      v->type == ADAPS_FLOAT32 ? (double)ad_rng_float(&rng)
                                               : (double)(ad_rng_next(&rng) % numbers));
}

/* Imports, makes a plan for three devices, and runs it; the answer is that of one device, the
 * graph's types and dims are those of the answer. */
static struct answer answer_of(struct mb *mb)
{
    struct answer a = {.graph = import_ok(mb)};
    struct ad_tensor alone[MOST];
    struct adaps_error err = {.message = ""};
    struct ad_cluster cluster;
    ck_assert_int_le(a.graph->ninputs, MOST);
    ck_assert_int_le(a.graph->noutputs, MOST);
    for (int i = 0; i < a.graph->ninputs; i++)
        random_input(&a.graph->values[a.graph->inputs[i]], 7 + (uint64_t)i, &a.inputs[i]);
    ck_assert_msg(ad_reference_run(a.graph, a.inputs, alone, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_cluster(&cluster, 3);
    struct adaps_plan *plan = ad_fixture_make(a.graph, &cluster, "edgeflow");
    a.graph = plan->graph;
    enum adaps_status status = ad_fixture_infer(plan, plan->graph, 1, a.inputs, a.outputs, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < a.graph->noutputs; i++) {
        const struct ad_value *v = &a.graph->values[a.graph->outputs[i]];
        ck_assert_int_eq(a.outputs[i].type, v->type);
        if (!v->open)
            ck_assert_mem_eq(a.outputs[i].dims, v->dims, sizeof *v->dims * (size_t)v->rank);
        struct ad_difference d = ad_tensor_difference(&alone[i], &a.outputs[i]);
        ck_assert_msg(d.max_abs_diff <= 1e-5, "output %d: %g", i, d.max_abs_diff);
        ad_tensor_fini(&alone[i]);
    }
    ck_assert_int_eq(ad_graph_copy(plan->graph, &a.graph, &err), ADAPS_OK);
    adaps_plan_free(plan);
    return a;
}

static void finish(struct mb *mb, struct answer *a)
{
    for (int i = 0; i < MOST; i++) {
        ad_tensor_fini(&a->inputs[i]);
        ad_tensor_fini(&a->outputs[i]);
    }
    ad_graph_free(a->graph);
    mb_fini(mb);
}

static const int64_t *integers(const struct ad_tensor *t)
{
    ck_assert_int_eq(t->type, ADAPS_INT64);
    return (const int64_t *)(const void *)t->data;
}

static void set_type(Onnx__ValueInfoProto *info, int32_t type)
{
    info->type->tensor_type->elem_type = type;
}

/* A convolution, then the class of each pixel: the map is gathered and the classes are int64. */
START_TEST(classes_of_pixels)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 3, 8, 6));
    mb_weights(&mb, "w", MB_DIMS(5, 3, 3, 3), NULL);
    Onnx__NodeProto *conv = mb_node(&mb, "Conv", "x,w", "c");
    mb_ints(&mb, conv, "pads", MB_DIMS(1, 1, 1, 1));
    Onnx__NodeProto *arg = mb_node(&mb, "ArgMax", "c", "y");
    mb_int(&mb, arg, "axis", 1);
    mb_int(&mb, arg, "keepdims", 0);
    mb_output(&mb, "y");
    mb_output(&mb, "c");
    struct answer a = answer_of(&mb);
    ck_assert_int_eq(a.outputs[0].rank, 3);
    for (size_t p = 0; p < 48; p++) {
        const float *map = a.outputs[1].data + p;
        int64_t best = 0;
        for (int64_t c = 1; c < 5; c++)
            best = map[c * 48] > map[best * 48] ? c : best;
        ck_assert_int_eq(integers(&a.outputs[0])[p], best);
    }
    finish(&mb, &a);
}
END_TEST

/* What a detector ends in: the best scores, and the boxes that belong to them. */
START_TEST(best_boxes)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "boxes", MB_DIMS(1, 30, 4));
    mb_input(&mb, "scores", MB_DIMS(1, 30));
    mb_shape(&mb, "k", MB_DIMS(7));
    mb_shape(&mb, "two", MB_DIMS(2));
    Onnx__NodeProto *topk = mb_node(&mb, "TopK", "scores,k", "best,which");
    mb_int(&mb, topk, "axis", 1);
    mb_node(&mb, "Unsqueeze", "which,two", "column");
    mb_shape(&mb, "four", MB_DIMS(1, 1, 4));
    mb_node(&mb, "Tile", "column,four", "all");
    Onnx__NodeProto *gather = mb_node(&mb, "GatherElements", "boxes,all", "chosen");
    mb_int(&mb, gather, "axis", 1);
    mb_output(&mb, "best");
    mb_output(&mb, "chosen");
    mb_output(&mb, "which");
    struct answer a = answer_of(&mb);
    const int64_t *which = integers(&a.outputs[2]);
    for (int i = 0; i < 7; i++) {
        ck_assert(a.outputs[0].data[i] == a.inputs[1].data[which[i]]);
        ck_assert(i == 0 || a.outputs[0].data[i] <= a.outputs[0].data[i - 1]);
        ck_assert_mem_eq(a.outputs[1].data + 4 * i, a.inputs[0].data + 4 * which[i],
                         4 * sizeof(float));
    }
    finish(&mb, &a);
}
END_TEST

/* NonMaxSuppression's own length goes through the operators after it, up to the answer. */
START_TEST(true_lengths)
{
    static const float overlap[] = {0.2f}, least[] = {0.9f};
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "boxes", MB_DIMS(1, 40, 4));
    mb_input(&mb, "scores", MB_DIMS(1, 2, 40));
    mb_shape(&mb, "most", MB_DIMS(5));
    mb_weights(&mb, "overlap", MB_DIMS(1), overlap);
    mb_weights(&mb, "least", MB_DIMS(1), least);
    mb_node(&mb, "Abs", "boxes", "positive");
    mb_node(&mb, "NonMaxSuppression", "positive,scores,most,overlap,least", "selected");
    mb_shape(&mb, "last", MB_DIMS(2));
    mb_shape(&mb, "end", MB_DIMS(3));
    mb_shape(&mb, "axis", MB_DIMS(1));
    mb_node(&mb, "Slice", "selected,last,end,axis", "column");
    mb_node(&mb, "Squeeze", "column,axis", "which");
    mb_shape(&mb, "rows", MB_DIMS(-1, 4));
    mb_node(&mb, "Reshape", "positive,rows", "flat");
    mb_node(&mb, "Gather", "flat,which", "kept");
    mb_node(&mb, "Sigmoid", "kept", "y");
    mb_node(&mb, "Shape", "y", "size");
    mb_output(&mb, "selected");
    mb_output(&mb, "y");
    mb_output(&mb, "size");
    struct answer a = answer_of(&mb);
    const struct ad_value *v = &a.graph->values[a.graph->outputs[0]];
    ck_assert(v->open);
    assert_dims(a.graph, a.graph->outputs[0], "10x3");
    int64_t count = a.outputs[0].dims[0];
    ck_assert_int_gt(count, 0);
    ck_assert_int_lt(count, 10);
    ck_assert_int_eq(a.outputs[1].dims[0], count);
    ck_assert_int_eq(integers(&a.outputs[2])[0], count);
    ck_assert_int_eq(integers(&a.outputs[2])[1], 4);
    for (int64_t i = 0; i < count; i++)
        ck_assert(a.inputs[1].data[integers(&a.outputs[0])[3 * i + 1] * 40 +
                                   integers(&a.outputs[0])[3 * i + 2]] > 0.9f);
    finish(&mb, &a);
}
END_TEST

/* zeros_like() and expand_as() of PyTorch: the shape is that of a value which the run makes. */
START_TEST(as_large_as)
{
    static const int64_t five[] = {5};
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(4, 6));
    mb_input(&mb, "row", MB_DIMS(1, 1));
    mb_node(&mb, "NonZero", "x", "found");
    mb_node(&mb, "Shape", "found", "size");
    mb_node(&mb, "ConstantOfShape", "size", "zeros");
    mb_attr_tensor(&mb, mb_node(&mb, "ConstantOfShape", "size", "fives"), "value",
                   mb_integers(&mb, "five", MB_DIMS(1), five));
    mb_node(&mb, "Expand", "row,size", "rows");
    mb_node(&mb, "Add", "found,fives", "moved");
    mb_output(&mb, "zeros");
    mb_output(&mb, "moved");
    mb_output(&mb, "rows");
    struct answer a = answer_of(&mb);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(a.outputs[i].dims[0], 2);
        ck_assert_int_eq(a.outputs[i].dims[1], 24);
    }
    for (size_t k = 0; k < 48; k++) {
        size_t at = k % 24;
        ck_assert(a.outputs[0].data[k] == 0);
        ck_assert_int_eq(integers(&a.outputs[1])[k], 5 + (int64_t)(k < 24 ? at / 6 : at % 6));
        ck_assert(a.outputs[2].data[k] == a.inputs[1].data[0]);
    }
    finish(&mb, &a);
}
END_TEST

/* Inputs of every type, used as what they are. */
START_TEST(inputs_of_other_types)
{
    static const int32_t types[] = {2, 3, 6, 7, 9};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct mb mb;
        mb_init(&mb, 17);
        mb_input(&mb, "x", MB_DIMS(1, 3, 5));
        set_type(mb_input(&mb, "z", MB_DIMS(1, 3, 5)), types[i]);
        if (types[i] == 9)
            mb_node(&mb, "Where", "z,x,x", "y");
        else
            mb_node(&mb, "Add", "z,z", "y");
        Onnx__NodeProto *cast = mb_node(&mb, "Cast", "z", "f");
        mb_int(&mb, cast, "to", 1);
        mb_node(&mb, "Mul", "f,x", "p");
        mb_output(&mb, "y");
        mb_output(&mb, "p");
        struct answer a = answer_of(&mb);
        ck_assert_int_eq(a.graph->values[a.graph->inputs[1]].type, (enum adaps_type)types[i]);
        for (size_t k = 0; k < 15; k++) {
            double z = ad_tensor_number(&a.inputs[1], k), x = (double)a.inputs[0].data[k];
            ck_assert(ad_tensor_number(&a.outputs[0], k) == (types[i] == 9 ? x : 2 * z));
            ck_assert(a.outputs[1].data[k] == (float)z * a.inputs[0].data[k]);
        }
        finish(&mb, &a);
    }
}
END_TEST

/* Where takes what is chosen, whatever stands beside it. */
START_TEST(not_a_number)
{
    static const float nothing[] = {NAN};
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 6));
    mb_weights(&mb, "nan", MB_DIMS(1), nothing);
    mb_weights(&mb, "zero", MB_DIMS(1), (const float[]){0});
    mb_node(&mb, "Less", "x,zero", "low");
    mb_node(&mb, "Where", "low,nan,x", "y");
    mb_node(&mb, "IsNaN", "y", "odd");
    mb_node(&mb, "Where", "odd,zero,y", "z");
    mb_output(&mb, "z");
    mb_output(&mb, "odd");
    struct answer a = answer_of(&mb);
    for (size_t k = 0; k < 6; k++) {
        float x = a.inputs[0].data[k];
        ck_assert(a.outputs[0].data[k] == (x < 0 ? 0 : x));
        ck_assert(ad_tensor_number(&a.outputs[1], k) == (x < 0));
    }
    finish(&mb, &a);
}
END_TEST

/* Weights that a quantised file has are numbers at once. */
START_TEST(dequantised_weights)
{
    static const int64_t raw[] = {1, -2, 3, 4, 5, -6};
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 3));
    mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "q"), "value",
                   mb_integers(&mb, "raw", MB_DIMS(2, 3), raw));
    mb_weights(&mb, "scale", MB_DIMS(2), (const float[]){0.5f, 2});
    Onnx__NodeProto *node = mb_node(&mb, "DequantizeLinear", "q,scale", "w");
    mb_int(&mb, node, "axis", 0);
    Onnx__NodeProto *gemm = mb_node(&mb, "Gemm", "x,w", "y");
    mb_int(&mb, gemm, "transB", 1);
    mb_output(&mb, "y");
    struct answer a = answer_of(&mb);
    assert_kinds(a.graph, "FC");
    const float *x = a.inputs[0].data;
    assert_near(a.outputs[0].data[0], 0.5 * ((double)x[0] - 2 * (double)x[1] + 3 * (double)x[2]));
    assert_near(a.outputs[0].data[1], 2 * (4 * (double)x[0] + 5 * (double)x[1] - 6 * (double)x[2]));
    finish(&mb, &a);
}
END_TEST

static void scalar(struct mb *mb, const char *name, int64_t number)
{
    mb_attr_tensor(mb, mb_node(mb, "Constant", "", name), "value",
                   mb_integers(mb, name, MB_SCALAR, &number));
}

/* As PyTorch exports pad(rows, (0, 0, 0, most - len(rows))): the pads in the other order, last axis
 * first, with a list of no elements behind them. The end of Ultralytics' nms=True. */
START_TEST(padded_to_the_most)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(5, 4));
    mb_node(&mb, "NonZero", "x", "found");
    mb_ints(&mb, mb_node(&mb, "Transpose", "found", "rows"), "perm", MB_DIMS(1, 0));
    mb_int(&mb, mb_node(&mb, "Cast", "rows", "numbers"), "to", 1);
    mb_node(&mb, "Shape", "numbers", "size");
    scalar(&mb, "first", 0);
    scalar(&mb, "most", 30);
    mb_node(&mb, "Gather", "size,first", "count");
    mb_node(&mb, "Sub", "most,count", "missing");
    mb_shape(&mb, "front", MB_DIMS(0));
    mb_node(&mb, "Unsqueeze", "missing,front", "last");
    mb_shape(&mb, "none", (const int64_t[]){-9});
    mb_int(&mb, mb_node(&mb, "Concat", "front,front,front,last,none", "pairs"), "axis", 0);
    mb_shape(&mb, "by two", MB_DIMS(-1, 2));
    mb_node(&mb, "Reshape", "pairs,by two", "two");
    mb_shape(&mb, "end", MB_DIMS(-1));
    mb_shape(&mb, "before", MB_DIMS(-INT64_MAX));
    mb_node(&mb, "Slice", "two,end,before,front,end", "turned");
    mb_ints(&mb, mb_node(&mb, "Transpose", "turned", "columns"), "perm", MB_DIMS(1, 0));
    mb_node(&mb, "Reshape", "columns,end", "pads");
    mb_node(&mb, "Pad", "numbers,pads", "padded");
    mb_shape(&mb, "wanted", MB_DIMS(30, 2));
    mb_node(&mb, "Expand", "padded,wanted", "y");
    mb_output(&mb, "y");
    struct answer a = answer_of(&mb);
    ck_assert_int_eq(a.outputs[0].dims[0], 30);
    ck_assert_int_eq(a.outputs[0].dims[1], 2);
    for (int i = 0; i < 20; i++) {
        ck_assert(a.outputs[0].data[2 * i] == (float)(i / 4));
        ck_assert(a.outputs[0].data[2 * i + 1] == (float)(i % 4));
    }
    for (int i = 40; i < 60; i++)
        ck_assert(a.outputs[0].data[i] == 0);
    finish(&mb, &a);
}
END_TEST

/* Expand, Reshape, Slice, Tile, TopK and Range by a number of elements that the run finds: 3 of at
 * most 6. */
START_TEST(shapes_that_are_computed)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(6));
    mb_input(&mb, "y", MB_DIMS(1, 6));
    static const float kept[] = {1, 0, 1, 0, 0, 1};
    mb_weights(&mb, "kept", MB_DIMS(6), kept);
    mb_node(&mb, "Abs", "x", "positive");
    mb_node(&mb, "Mul", "positive,kept", "some");
    mb_node(&mb, "NonZero", "some", "found");
    mb_shape(&mb, "one", MB_DIMS(1));
    mb_shape(&mb, "two", MB_DIMS(2));
    mb_shape(&mb, "zero", MB_DIMS(0));
    scalar(&mb, "at", 1);
    scalar(&mb, "start", 2);
    mb_node(&mb, "Shape", "found", "size"); /* 1 x 3 */
    mb_node(&mb, "Gather", "size,one", "n");
    mb_node(&mb, "Gather", "size,at", "count");
    mb_int(&mb, mb_node(&mb, "Concat", "n,one", "column"), "axis", 0);
    mb_node(&mb, "Reshape", "found,column", "reshaped");
    mb_int(&mb, mb_node(&mb, "Concat", "n,one", "shape"), "axis", 0);
    mb_node(&mb, "Expand", "y,shape", "expanded");
    mb_node(&mb, "Slice", "x,one,n", "sliced");
    mb_node(&mb, "Tile", "x,n", "tiled");
    mb_node(&mb, "TopK", "x,n", "best,");
    mb_node(&mb, "Mul", "count,start", "twice");
    mb_node(&mb, "Range", "start,twice,at", "range"); /* 2 to 6, without it */
    static const char *const names[] = {"reshaped", "expanded", "sliced", "tiled", "best", "range"};
    static const int64_t first[] = {3, 3, 2, 18, 3, 4}, second[] = {1, 6, 0, 0, 0, 0};
    static const int64_t most[] = {6, 6, 5, 36, 6, 10};
    for (int i = 0; i < 6; i++)
        mb_output(&mb, names[i]);
    struct answer a = answer_of(&mb);
    for (int i = 0; i < 6; i++) {
        const struct ad_tensor *t = &a.outputs[i];
        ck_assert_int_eq(t->dims[0], first[i]);
        ck_assert(t->rank == 1 || t->dims[1] == second[i]);
        ck_assert_int_eq(a.graph->values[a.graph->outputs[i]].dims[0], most[i]);
    }
    const float *x = a.inputs[0].data;
    for (int i = 0; i < 18; i++) {
        ck_assert(a.outputs[1].data[i] == a.inputs[1].data[i % 6]);
        ck_assert(a.outputs[3].data[i] == x[i % 6]);
    }
    for (int i = 0; i < 2; i++)
        ck_assert(a.outputs[2].data[i] == x[1 + i]);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(integers(&a.outputs[5])[i], 2 + i);
    ck_assert_int_eq(integers(&a.outputs[0])[1], 2);
    finish(&mb, &a);
}
END_TEST

/* Outputs that are constants: beside one that is computed, or an input that nothing else reads; of
 * integers of a type of their own, too. */
START_TEST(constant_outputs)
{
    static const float weights[] = {1.5f, -2, 3};
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_weights(&mb, "w", MB_DIMS(3, 1), weights);
    mb_shape(&mb, "strides", MB_DIMS(8, 16, -(INT64_C(1) << 40)));
    Onnx__TensorProto *bytes = mb_shape(&mb, "bytes", MB_DIMS(0));
    int32_t number = 200;
    bytes->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    bytes->n_int64_data = 0;
    bytes->int32_data = &number;
    bytes->n_int32_data = 1;
    mb_node(&mb, "Identity", "w", "y");
    mb_output(&mb, "y");
    mb_output(&mb, "strides");
    if (_i == 0) {
        mb_node(&mb, "Relu", "x", "z");
        mb_output(&mb, "z");
    }
    mb_output(&mb, "bytes");
    struct answer a = answer_of(&mb);
    ck_assert_mem_eq(a.outputs[0].data, weights, sizeof weights);
    assert_dims(a.graph, a.graph->outputs[0], "3x1");
    ck_assert_int_eq(integers(&a.outputs[1])[1], 16);
    ck_assert_int_eq(integers(&a.outputs[1])[2], -(INT64_C(1) << 40));
    const struct ad_tensor *last = &a.outputs[_i == 0 ? 3 : 2];
    ck_assert_int_eq(last->type, ADAPS_UINT8);
    ck_assert_int_eq(*(const uint8_t *)(const void *)last->data, 200);
    finish(&mb, &a);
}
END_TEST

/* Refused by name: what needs floats, what has no form of unknown length, and numbers that only the
 * run knows where the result's dims depend on them. Loop. */
START_TEST(refusals)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 4, 6, 6));
    set_type(mb_input(&mb, "n", MB_DIMS(1)), 7);
    set_type(mb_input(&mb, "i", MB_DIMS(1, 4, 6, 6)), 7);
    mb_weights(&mb, "w", MB_DIMS(2, 4, 1, 1), NULL);
    switch (_i) {
    case 0:
        mb_node(&mb, "Conv", "i,w", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "node 'Conv_0' (Conv): its input 'i' is of type int64");
        break;
    case 1:
        mb_node(&mb, "TopK", "x,n", "y,k");
        mb_output(&mb, "y");
        import_refused(&mb, "input 1 (K), 'n', is computed at run time, and nothing says");
        break;
    case 2:
        mb_node(&mb, "Expand", "x,i", "unused");
        mb_output(&mb, "unused");
        import_refused(&mb, "input 1 (shape), 'i', is computed at run time, and is no list");
        break;
    case 5:
        mb_node(&mb, "NonZero", "x", "z");
        mb_node(&mb, "Resize", "z,,,n", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "its input 'z' is of type int64");
        break;
    case 3:
        mb_node(&mb, "Compress", "x,i", "z");
        mb_output(&mb, "z");
        import_refused(&mb, "node 'Compress_0' (Compress): ");
        break;
    case 6: {
        int32_t number = 300;
        Onnx__TensorProto *t = mb_shape(&mb, "c", MB_DIMS(300));
        t->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
        t->n_int64_data = 0;
        t->int32_data = &number;
        t->n_int32_data = 1;
        set_type(mb_input(&mb, "u", MB_DIMS(1, 4)), ONNX__TENSOR_PROTO__DATA_TYPE__UINT8);
        mb_node(&mb, "Add", "u,c", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "constant 'c': element 0, 300, is no uint8");
        break;
    }
    case 7: /* a form of two operands, of which one is left out */
        mb_node(&mb, "Concat", "i,,i", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "node 'Concat_0' (Concat): input 1 is missing");
        break;
    case 8:
        mb_node(&mb, "NonZero", "x", "z");
        mb_node(&mb, "Tile", "z,n", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "input 1 (repeats), 'n', is computed at run time, and nothing says");
        break;
    case 9: /* from 0 to the number of elements in steps of 0 to that number */
        mb_node(&mb, "NonZero", "x", "z");
        mb_node(&mb, "Size", "z", "s");
        scalar(&mb, "zero", 0);
        mb_node(&mb, "Range", "zero,s,s", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "input 2 (delta), 's', can be 0");
        break;
    case 10:
        mb_node(&mb, "Slice", "x,n", "y");
        mb_output(&mb, "y");
        import_refused(&mb, "node 'Slice_0' (Slice): input 2 is missing");
        break;
    default:
        mb_node(&mb, "GatherElements", "x,x", "z");
        mb_output(&mb, "z");
        import_refused(&mb, "node 'GatherElements_0' (GatherElements): ");
    }
}
END_TEST

/* An index outside of its dimension ends the inference with an error that names the op. */
START_TEST(index_outside)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 5));
    set_type(mb_input(&mb, "i", MB_DIMS(1, 2)), 7);
    Onnx__NodeProto *node = mb_node(&mb, "GatherElements", "x,i", "y");
    mb_int(&mb, node, "axis", 1);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_cluster cluster;
    struct ad_tensor inputs[2], output;
    struct adaps_error err;
    for (int i = 0; i < 2; i++)
        random_input(&graph->values[graph->inputs[i]], 3, &inputs[i]);
    ad_tensor_set(&inputs[1], 1, 5);
    ad_fixture_cluster(&cluster, 1);
    struct adaps_plan *plan = ad_fixture_make(graph, &cluster, "single");
    ck_assert_int_eq(ad_fixture_infer(plan, plan->graph, 1, inputs, &output, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "op 'GatherElements_0' (GatherElements): ") &&
                      strstr(err.message, "5"),
                  "%s", err.message);
    for (int i = 0; i < 2; i++)
        ad_tensor_fini(&inputs[i]);
    adaps_plan_free(plan);
    mb_fini(&mb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import whole");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, classes_of_pixels);
    tcase_add_test(tc, best_boxes);
    tcase_add_test(tc, true_lengths);
    tcase_add_test(tc, as_large_as);
    tcase_add_test(tc, inputs_of_other_types);
    tcase_add_test(tc, not_a_number);
    tcase_add_test(tc, dequantised_weights);
    tcase_add_loop_test(tc, refusals, 0, 12);
    tcase_add_loop_test(tc, constant_outputs, 0, 2);
    tcase_add_test(tc, padded_to_the_most);
    tcase_add_test(tc, shapes_that_are_computed);
    tcase_add_test(tc, index_outside);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
