/* ir/import: forms that some exporters write, element by element against what they mean. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define CHANNELS 3
#define PIXELS 20 /* 4 x 5 */

/* Numbers of a channel each, which the models below use. */
static const float scale[] = {0.5f, -1, 2}, shift[] = {0.1f, 0.2f, -0.3f}, mean[] = {1, 0, -1},
                   variance[] = {1, 2, 3}, slope[] = {0.1f, 0.2f, 0.3f}, four = 4, half = 0.5f;

/* MXNet says that normalisation is not spatial, and gives PRelu its slopes as a vector. */
static void build_mxnet(struct mb *mb)
{
    mb_weights(mb, "s", MB_DIMS(3), scale);
    mb_weights(mb, "b", MB_DIMS(3), shift);
    mb_weights(mb, "m", MB_DIMS(3), mean);
    mb_weights(mb, "v", MB_DIMS(3), variance);
    mb_weights(mb, "slope", MB_DIMS(3), slope);
    mb_int(mb, mb_node(mb, "BatchNormalization", "x,s,b,m,v", "n"), "spatial", 0);
    mb_node(mb, "PRelu", "n,slope", "y");
}

static double want_mxnet(const float *x, size_t i)
{
    size_t c = i / PIXELS;
    double n =
        ((double)x[i] - (double)mean[c]) / sqrt((double)variance[c] + 1e-5) * (double)scale[c] +
        (double)shift[c];
    return n < 0 ? n * (double)slope[c] : n;
}

static void build_mean(struct mb *mb)
{
    mb_node(mb, "Abs", "x", "a");
    mb_weights(mb, "b", MB_DIMS(3, 1, 1), shift);
    mb_node(mb, "Mean", "x,a,b", "y");
}

static double want_mean(const float *x, size_t i)
{
    return ((double)x[i] + fabs((double)x[i]) + (double)shift[i / PIXELS]) / 3;
}

static void build_norm(struct mb *mb)
{
    mb_int(mb, mb_node(mb, "LpNormalization", "x", "y"), "axis", 1);
}

static double want_norm(const float *x, size_t i)
{
    double sum = 0;
    for (size_t c = 0; c < CHANNELS; c++)
        sum += pow((double)x[c * PIXELS + i % PIXELS], 2);
    return (double)x[i] / sqrt(sum);
}

static void build_norm1(struct mb *mb)
{
    Onnx__NodeProto *node = mb_node(mb, "LpNormalization", "x", "y");
    mb_int(mb, node, "p", 1);
}

static double want_norm1(const float *x, size_t i)
{
    double sum = 0;
    for (size_t w = 0; w < 5; w++)
        sum += fabs((double)x[i / 5 * 5 + w]);
    return (double)x[i] / sum;
}

/* A model of float16 is computed in float32. */
static void build_half(struct mb *mb)
{
    mb->proto->graph->input[0]->type->tensor_type->elem_type =
        ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    mb_weights(mb, "half", MB_SCALAR, &half);
    mb_int(mb, mb_node(mb, "Cast", "half", "h"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16);
    mb_int(mb, mb_node(mb, "Cast", "x", "xh"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16);
    mb_node(mb, "Mul", "xh,h", "p");
    mb_int(mb, mb_node(mb, "Cast", "p", "d"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE);
    mb_int(mb, mb_node(mb, "Cast", "d", "y"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
}

static double want_half(const float *x, size_t i)
{
    return (double)x[i] / 2;
}

/* Functions of constants: sqrt(4) and 1 / exp(-|-log(4)|), both 2 or 4. */
static void build_folded(struct mb *mb)
{
    mb_weights(mb, "four", MB_SCALAR, &four);
    mb_node(mb, "Sqrt", "four", "two");
    mb_node(mb, "Log", "four", "l");
    mb_node(mb, "Neg", "l", "n");
    mb_node(mb, "Abs", "n", "a");
    mb_node(mb, "Neg", "a", "n2");
    mb_node(mb, "Exp", "n2", "e");
    mb_node(mb, "Reciprocal", "e", "r");
    mb_node(mb, "Mul", "x,two", "p");
    mb_node(mb, "Add", "p,r", "y");
}

static double want_folded(const float *x, size_t i)
{
    return 2 * (double)x[i] + 4;
}

/* Where a comparison holds x, elsewhere -4 x; 0.1 and 0.2 are by channel, some of x are these. */
static void build_where(struct mb *mb, const char *type)
{
    static const float minus = -4;
    mb_weights(mb, "b", MB_DIMS(3, 1, 1), shift);
    mb_weights(mb, "minus", MB_SCALAR, &minus);
    mb_node(mb, "Max", "x,b", "v"); /* as large as b in many places */
    mb_node(mb, type, "v,b", "c");
    mb_node(mb, "Mul", "x,minus", "other");
    mb_node(mb, "Where", "c,x,other", "y");
}

static double want_where(const float *x, size_t i, bool when_equal, bool when_greater)
{
    bool greater = x[i] > shift[i / PIXELS];
    return (greater ? when_greater : when_equal) ? (double)x[i] : -4 * (double)x[i];
}

#define COMPARISON(type, when_equal, when_greater)                                                 \
    static void build_##type(struct mb *mb)                                                        \
    {                                                                                              \
        build_where(mb, #type);                                                                    \
    }                                                                                              \
    static double want_##type(const float *x, size_t i)                                            \
    {                                                                                              \
        return want_where(x, i, when_equal, when_greater);                                         \
    }
COMPARISON(Greater, false, true)
COMPARISON(GreaterOrEqual, true, true)
COMPARISON(Less, false, false)
COMPARISON(LessOrEqual, true, false)
COMPARISON(Equal, true, false)

/* A mask times what it is of, as a threshold is spelled out. */
static void build_mask(struct mb *mb)
{
    mb_weights(mb, "half", MB_SCALAR, &half);
    mb_node(mb, "Less", "half,x", "c");
    mb_int(mb, mb_node(mb, "Cast", "c", "f"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    mb_node(mb, "Mul", "x,f", "y");
}

static double want_mask(const float *x, size_t i)
{
    return x[i] > half ? (double)x[i] : 0;
}

/* A condition that is a constant, and what is chosen else, which may be infinite. */
static void build_columns(struct mb *mb)
{
    static const int64_t odd[] = {0, 1, 0, 1, 0};
    static const float ends[] = {-INFINITY, 1, 2, 3, INFINITY};
    mb_shape(mb, "ints", MB_DIMS(odd[0], odd[1], odd[2], odd[3], odd[4]));
    mb_int(mb, mb_node(mb, "Cast", "ints", "c"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__BOOL);
    mb_weights(mb, "ends", MB_DIMS(5), ends);
    mb_node(mb, "Where", "c,x,ends", "w");
    mb_node(mb, "Max", "w,low", "m");
    mb_node(mb, "Min", "m,four", "y");
    mb_weights(mb, "four", MB_SCALAR, &four);
    mb_weights(mb, "low", MB_SCALAR, &mean[2]);
}

static double want_columns(const float *x, size_t i)
{
    static const double ends[] = {-1, 1, 2, 3, 4};
    return i % 5 % 2 ? (double)x[i] : ends[i % 5];
}

static const struct {
    const char *name;
    void (*build)(struct mb *mb);
    double (*want)(const float *x, size_t i);
    int64_t opset;
} cases[] = {
    {"mxnet", build_mxnet, want_mxnet, 8},
    {"mean", build_mean, want_mean, 8},
    {"norm", build_norm, want_norm, 13},
    {"norm of order 1", build_norm1, want_norm1, 13},
    {"float16", build_half, want_half, 13},
    {"folded", build_folded, want_folded, 13},
    {"Greater", build_Greater, want_Greater, 13},
    {"GreaterOrEqual", build_GreaterOrEqual, want_GreaterOrEqual, 13},
    {"Less", build_Less, want_Less, 9},
    {"LessOrEqual", build_LessOrEqual, want_LessOrEqual, 16},
    {"Equal", build_Equal, want_Equal, 13},
    {"mask", build_mask, want_mask, 13},
    {"columns", build_columns, want_columns, 13},
};

/* Loop: cases. */
START_TEST(elements)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, cases[_i].opset);
    mb_input(&mb, "x", MB_DIMS(1, CHANNELS, 4, 5));
    cases[_i].build(&mb);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    ck_assert_uint_eq(y.count, CHANNELS * PIXELS);
    for (size_t i = 0; i < y.count; i++) {
        double want = cases[_i].want(x.data, i);
        ck_assert_msg(fabs((double)y.data[i] - want) <= 1e-5 * fmax(1, fabs(want)),
                      "%s: element %zu is %g, expected %g", cases[_i].name, i, (double)y.data[i],
                      want);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* Scales or sizes of some axes are those of all with 1 for the others. */
START_TEST(axes_of_a_resize)
{
    static const float two[] = {2, 2};
    for (int sizes = 0; sizes < 2; sizes++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 18);
        mb_input(&mb, "x", MB_DIMS(1, 3, 4, 5));
        mb_weights(&mb, "scales", MB_DIMS(2), two);
        mb_shape(&mb, "sizes", MB_DIMS(10, 8));
        Onnx__NodeProto *node = mb_node(&mb, "Resize", sizes ? "x,,,sizes" : "x,,scales", "y");
        mb_ints(&mb, node, "axes", sizes ? MB_DIMS(-1, 2) : MB_DIMS(2, 3));
        mb_string(&mb, node, "coordinate_transformation_mode", "asymmetric");
        mb_string(&mb, node, "nearest_mode", "floor");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_dims(graph, graph->outputs[0], "1x3x8x10");
        struct ad_tensor y = run_random(graph, &x);
        for (int i = 0; i < 240; i++)
            ck_assert(y.data[i] == x.data[i / 80 * 20 + i / 20 % 4 * 5 + i % 10 / 2]);
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* Over the channels of every depth. */
START_TEST(normalised_volume)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 4, 3, 5, 2));
    Onnx__NodeProto *node = mb_node(&mb, "LRN", "x", "y");
    mb_int(&mb, node, "size", 3);
    mb_float(&mb, node, "alpha", 0.5f);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    for (int i = 0; i < 120; i++) {
        double sum = 0;
        for (int c = i / 30 - 1; c <= i / 30 + 1; c++)
            sum += c < 0 || c > 3 ? 0 : pow((double)x.data[c * 30 + i % 30], 2);
        assert_near(y.data[i], (double)x.data[i] / pow(1 + 0.5 / 3 * sum, 0.75));
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* A picture of bytes, channels last, that a Cast makes floats of (TensorFlow's exports), is one of
 * floats; where anything else reads it, it stays what it is. */
START_TEST(integer_inputs)
{
    static const int32_t types[] = {2, 3, 6, 7};
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4))->type->tensor_type->elem_type = 2;
    mb_int(&mb, mb_node(&mb, "Cast", "x", "f"), "to", 1);
    mb_node(&mb, "Shape", "x", "s");
    mb_node(&mb, "Reshape", "f,s", "g");
    mb_node(&mb, "Relu", "g", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    ck_assert_int_eq(graph->nops, 1);
    struct ad_tensor y = run_random(graph, &x);
    for (size_t i = 0; i < 24; i++)
        ck_assert(y.data[i] == (x.data[i] > 0 ? x.data[i] : 0));
    done(&mb, graph, &x, &y);

    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4))->type->tensor_type->elem_type = types[k];
        mb_int(&mb, mb_node(&mb, "Cast", "x", "y"), "to", 1);
        mb_output(&mb, "y");
        mb_output(&mb, "x");
        graph = import_ok(&mb);
        ck_assert_int_eq(graph->values[graph->inputs[0]].type, (enum adaps_type)types[k]);
        ck_assert_int_eq(graph->values[graph->outputs[1]].type, (enum adaps_type)types[k]);
        done(&mb, graph, NULL, NULL);
    }
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4))->type->tensor_type->elem_type = 4;
    mb_node(&mb, "Identity", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "input 'x' is of type uint16, which is only supported where Casts");
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4))->type->tensor_type->elem_type = 7;
    mb_node(&mb, "Relu", "x", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "node 'Relu_0' (Relu): its input 'x' is of type int64: only floats");
}
END_TEST

/* Powers of constants: of integers, which are a shape here, and of a float by an integer. */
START_TEST(constant_powers)
{
    static const float three = 3;
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 24));
    mb_shape(&mb, "base", MB_DIMS(-2, 7, 3, 4));
    mb_shape(&mb, "exponent", MB_DIMS(4, 0, 2, 0));
    mb_node(&mb, "Pow", "base,exponent", "shape"); /* 16x1x9x1 */
    mb_node(&mb, "Reshape", "x,shape", "r");
    mb_weights(&mb, "three", MB_SCALAR, &three);
    mb_shape(&mb, "two", MB_DIMS(2));
    mb_node(&mb, "Pow", "three,two", "nine");
    mb_node(&mb, "Mul", "r,nine", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "16x1x9x1");
    struct ad_tensor y = run_random(graph, &x);
    for (size_t i = 0; i < 144; i++)
        ck_assert(y.data[i] == x.data[i] * 9);
    done(&mb, graph, &x, &y);
}
END_TEST

/* Constants of no elements among what is joined. */
START_TEST(nothing_joined)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 3, 4, 5));
    mb_weights(&mb, "e", MB_DIMS(1, 0, 4, 5), NULL);
    mb_int(&mb, mb_node(&mb, "Concat", "e,x,e,x", "c"), "axis", 1);
    mb_int(&mb, mb_node(&mb, "Concat", "e,x", "d"), "axis", 1);
    mb_int(&mb, mb_node(&mb, "Concat", "c,d", "y"), "axis", 1);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "1x9x4x5");
    struct ad_tensor y = run_random(graph, &x);
    for (size_t i = 0; i < 180; i++)
        ck_assert(y.data[i] == x.data[i % 60]);
    done(&mb, graph, &x, &y);
}
END_TEST

/* Floats that are made floats of another size stay where they are. */
START_TEST(cast_weights)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 5));
    mb_weights(&mb, "w", MB_DIMS(5, 3), NULL);
    mb_int(&mb, mb_node(&mb, "Cast", "w", "h"), "to", 10);
    mb_int(&mb, mb_node(&mb, "Cast", "h", "f"), "to", 1);
    mb_node(&mb, "Gemm", "x,f", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    ck_assert_str_eq(graph->weights[0].name, "w");
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* Along channels, rows and columns; constants, too. */
START_TEST(tiles)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4));
    mb_shape(&mb, "r", MB_DIMS(1, 2, 3, 2));
    mb_node(&mb, "Tile", "x,r", "t");
    mb_weights(&mb, "c", MB_DIMS(1, 4, 1, 2), (const float[]){0, 1, 2, 3, 4, 5, 6, 7});
    mb_shape(&mb, "s", MB_DIMS(1, 1, 9, 4));
    mb_node(&mb, "Tile", "c,s", "d");
    mb_node(&mb, "Add", "t,d", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "1x4x9x8");
    struct ad_tensor y = run_random(graph, &x);
    for (size_t i = 0; i < 288; i++) {
        size_t c = i / 72, h = i / 8 % 9, w = i % 8;
        float want = x.data[c % 2 * 12 + h % 3 * 4 + w % 4] + (float)(c * 2 + w % 2);
        ck_assert_msg(y.data[i] == want, "%zu: %g, not %g", i, (double)y.data[i], (double)want);
    }
    done(&mb, graph, &x, &y);
    for (int k = 0; k < 3; k++) {
        static const char *const reasons[] = {"0 times along axis 2", "257 times along axis 2",
                                              "3 repeats for rank 4"};
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4));
        mb_shape(&mb, "r", k == 2 ? MB_DIMS(1, 1, 1) : MB_DIMS(1, 1, k * 257, 1));
        mb_node(&mb, "Tile", "x,r", "y");
        mb_output(&mb, "y");
        import_refused(&mb, reasons[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import forms");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, elements, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, axes_of_a_resize);
    tcase_add_test(tc, normalised_volume);
    tcase_add_test(tc, integer_inputs);
    tcase_add_test(tc, constant_powers);
    tcase_add_test(tc, nothing_joined);
    tcase_add_test(tc, cast_weights);
    tcase_add_test(tc, tiles);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
