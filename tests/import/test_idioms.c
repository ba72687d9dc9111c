/* ir/import: activations by name and as exporters spell them out, run-time Sub and Div, and
 * space-to-depth as an operator and as a chain of reshapes and transposes. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- activations by name --- */

static double hard_sigmoid(double x, double alpha, double beta)
{
    return fmin(fmax(alpha * x + beta, 0), 1);
}

static double leaky(double x)
{
    return x < 0 ? (double)0.1f * x : x;
}

static double leaky_default(double x)
{
    return x < 0 ? (double)0.01f * x : x;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double hard_default(double x)
{
    return hard_sigmoid(x, (double)0.2f, 0.5);
}

static double hard_given(double x)
{
    return hard_sigmoid(x, 0.5, 0.25);
}

static double sixth(double x)
{
    return hard_sigmoid(x, 1.0 / 6, 0.5);
}

static double hard_swish(double x)
{
    return x * sixth(x);
}

static double elu(double x)
{
    return x < 0 ? (double)0.7f * expm1(x) : x;
}

static double selu(double x)
{
    return 1.0507009873554804935 * (x < 0 ? 1.6732632423543772848 * expm1(x) : x);
}

static double celu(double x)
{
    return x < 0 ? 2 * expm1(x / 2) : x;
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double softsign(double x)
{
    return x / (1 + fabs(x));
}

static double negative(double x)
{
    return -x;
}

static double threshold(double x)
{
    return x > (double)0.6f ? x : 0;
}

static const struct {
    const char *type;
    float alpha, beta; /* NAN: not given */
    double (*want)(double x);
    enum ad_function function;
} functions[] = {
    {"LeakyRelu", 0.1f, NAN, leaky, AD_FN_LEAKY_RELU},
    {"LeakyRelu", NAN, NAN, leaky_default, AD_FN_LEAKY_RELU},
    {"Sigmoid", NAN, NAN, sigmoid, AD_FN_SIGMOID},
    {"HardSigmoid", NAN, NAN, hard_default, AD_FN_HARD_SIGMOID},
    {"HardSigmoid", 0.5f, 0.25f, hard_given, AD_FN_HARD_SIGMOID},
    {"HardSwish", NAN, NAN, hard_swish, AD_FN_HARD_SWISH},
    {"Elu", 0.7f, NAN, elu, AD_FN_ELU},
    {"Selu", NAN, NAN, selu, AD_FN_ELU},
    {"Celu", 2, NAN, celu, AD_FN_CELU},
    {"Softplus", NAN, NAN, softplus, AD_FN_SOFTPLUS},
    {"Softsign", NAN, NAN, softsign, AD_FN_SOFTSIGN},
    {"Tanh", NAN, NAN, tanh, AD_FN_TANH},
    {"Erf", NAN, NAN, erf, AD_FN_ERF},
    {"Exp", NAN, NAN, exp, AD_FN_EXP},
    {"Abs", NAN, NAN, fabs, AD_FN_ABS},
    {"Neg", NAN, NAN, negative, AD_FN_NEG},
    {"ThresholdedRelu", 0.6f, NAN, threshold, AD_FN_THRESHOLDED_RELU},
    {"Floor", NAN, NAN, floor, AD_FN_FLOOR},
    {"Ceil", NAN, NAN, ceil, AD_FN_CEIL},
};

static void add_function(struct mb *mb, size_t i, const char *in, const char *out)
{
    Onnx__NodeProto *node = mb_node(mb, functions[i].type, in, out);
    if (!isnan(functions[i].alpha))
        mb_float(mb, node, "alpha", functions[i].alpha);
    if (!isnan(functions[i].beta))
        mb_float(mb, node, "beta", functions[i].beta);
}

/* Alone, on values of every rank. The inputs are made wide enough for all branches by a factor. */
START_TEST(functions_alone)
{
    static const int64_t shapes[][5] = {{2, 3, 4, 5, -9}, {2, 7, -9}, {2, 3, 4, -9}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 14);
        mb_input(&mb, "x", shapes[k]);
        mb_weights(&mb, "eight", MB_SCALAR, (const float[]){8});
        mb_node(&mb, "Mul", "x,eight", "wide");
        mb_node(&mb, "Identity", "wide", "both");
        mb_output(&mb, "both"); /* so that nothing is fused */
        add_function(&mb, (size_t)_i, "wide", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "Mul,Unary");
        ck_assert_int_eq(graph->ops[1].function, functions[_i].function);
        ck_assert_str_eq(graph->ops[1].type, functions[_i].type);
        int first = graph->outputs[0]; /* run_random() gives output 0 */
        graph->outputs[0] = graph->outputs[1];
        graph->outputs[1] = first;
        struct ad_tensor y = run_random(graph, &x);
        for (size_t i = 0; i < y.count; i++)
            assert_near(y.data[i], functions[_i].want(8 * (double)x.data[i]));
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* Into the convolution before it; a clamp after it goes along, one before it does not. */
START_TEST(functions_fused)
{
    static const char *const kinds[] = {"Conv", "Conv", "Conv,Unary", "Conv,Unary"};
    for (int form = 0; form < 4; form++) {
        struct mb mb;
        mb_init(&mb, 14);
        mb_input(&mb, "x", MB_DIMS(1, 2, 6, 5));
        mb_weights(&mb, "w", MB_DIMS(3, 2, 3, 3), NULL);
        mb_weights(&mb, "low", MB_SCALAR, (const float[]){0.25f});
        mb_node(&mb, "Conv", "x,w", "c");
        if (form == 2) /* the function of a clamped value */
            mb_node(&mb, "Relu", "c", "r");
        add_function(&mb, (size_t)_i, form == 2 ? "r" : "c", form == 0 || form == 3 ? "y" : "f");
        if (form == 1 || form == 2)
            mb_node(&mb, "Clip", "f,low", "y");
        mb_output(&mb, "y");
        if (form == 3) /* others read the convolution, too */
            mb_output(&mb, "c");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, kinds[form]);
        const struct ad_op *op = &graph->ops[graph->nops - 1];
        ck_assert_int_eq(op->function, functions[_i].function);
        ck_assert(op->clamp_min == (form == 1 || form == 2 ? 0.25f : -INFINITY));
        ck_assert(form != 2 || graph->ops[0].clamp_min == 0);
        if (form == 0) {
            char type[64];
            snprintf(type, sizeof type, "Conv+%s", functions[_i].type);
            ck_assert_str_eq(op->type, type);
        }
        done(&mb, graph, NULL, NULL);
    }
}
END_TEST

/* What the fused op computes is what its two halves compute. */
START_TEST(fused_is_the_function_of_the_sum)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 14);
    mb_input(&mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_weights(&mb, "w", MB_DIMS(1, 3, 1, 1), (const float[]){4, -3, 2});
    mb_node(&mb, "Conv", "x,w", "c");
    add_function(&mb, (size_t)_i, "c", "f");
    mb_weights(&mb, "high", MB_SCALAR, (const float[]){0.75f});
    mb_node(&mb, "Clip", "f,,high", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv");
    struct ad_tensor y = run_random(graph, &x);
    for (int i = 0; i < 16; i++) {
        double sum =
            4 * (double)x.data[i] - 3 * (double)x.data[16 + i] + 2 * (double)x.data[32 + i];
        assert_near(y.data[i], fmin(functions[_i].want(sum), 0.75));
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* --- activations spelled out --- */

/* x, made wide by a factor that also is an output. Each line is "TYPE inputs output"; then y. */
static const struct idiom {
    const char *lines[6];
    const char *kinds;
    enum ad_function function; /* of the last op */
    double (*want)(double x);
} idioms[] = {
    /* hard sigmoids */
    {{"Add x,three a", "Clip a,zero,six b", "Div b,six y"}, "Unary", AD_FN_HARD_SIGMOID, sixth},
    {{"Add three,x a", "Clip a,zero,six b", "Mul sixth,b y"}, "Unary", AD_FN_HARD_SIGMOID, sixth},
    /* hard swishes */
    {{"HardSigmoid x h", "Mul x,h y"}, "Unary", AD_FN_HARD_SWISH, NULL},
    {{"HardSigmoid x h", "Mul h,x y"}, "Unary", AD_FN_HARD_SWISH, NULL},
    {{"Add x,three a", "Clip a,zero,six b", "Div b,six c", "Mul x,c y"},
     "Unary",
     AD_FN_HARD_SWISH,
     hard_swish},
    {{"Add x,three a", "Clip a,zero,six b", "Mul b,sixth c", "Mul c,x y"},
     "Unary",
     AD_FN_HARD_SWISH,
     hard_swish},
    {{"Add x,three a", "Clip a,zero,six b", "Mul x,b c", "Div c,six y"},
     "Unary",
     AD_FN_HARD_SWISH,
     hard_swish},
    {{"Add three,x a", "Clip a,zero,six b", "Mul b,x c", "Mul c,sixth y"},
     "Unary",
     AD_FN_HARD_SWISH,
     hard_swish},
    {{"Sigmoid x s", "Mul x,s y"}, "Unary", AD_FN_SILU, silu},
    {{"Sigmoid x s", "Mul s,x y"}, "Unary", AD_FN_SILU, silu},
    {{"Softplus x s", "Tanh s h", "Mul x,h y"}, "Unary", AD_FN_MISH, NULL},
    {{"Div x,root a", "Erf a b", "Add b,one c", "Mul x,c m", "Mul m,half y"},
     "Unary",
     AD_FN_GELU,
     NULL},
    {{"Mul x,half a", "Div x,root b", "Erf b c", "Add one,c h", "Mul a,h y"},
     "Unary",
     AD_FN_GELU,
     NULL},
    {{"Div x,root b", "Erf b c", "Add one,c h", "Mul h,half a", "Mul a,x y"},
     "Unary",
     AD_FN_GELU,
     NULL},
    {{"Div x,root b", "Erf b c", "Add six,c h", "Mul h,half a", "Mul a,x y"},
     "Div,Add,Mul,Mul",
     AD_FN_NONE,
     NULL},
    /* not quite: another scale, another clamp, another operand, several readers */
    {{"Add x,three a", "Clip a,zero,six b", "Div b,three y"}, "Add,Div", AD_FN_NONE, NULL},
    {{"Add x,three a", "Clip a,three,six b", "Div b,six y"}, "Add,Div", AD_FN_NONE, NULL},
    {{"Add x,three a", "Relu a b", "Div b,six y"}, "Add,Div", AD_FN_NONE, NULL},
    {{"Add x,three a", "Clip a,zero,six b", "Div six,b y"}, "Add,Div", AD_FN_NONE, NULL},
    {{"Add x,three a", "Clip a,zero,six b", "Mul a,b c", "Div c,six y"},
     "Add,Unary,Mul,Div",
     AD_FN_NONE,
     NULL},
    {{"Add x,three a", "Clip a,zero,six b", "Div b,six c", "Mul a,c y"},
     "Add,Unary,Div,Mul",
     AD_FN_NONE,
     NULL},
    {{"Sigmoid x s", "Mul s,s y"}, "Unary,Mul", AD_FN_NONE, NULL},
    {{"Sigmoid x s", "Mul x,s m", "Add m,s y"}, "Unary,Mul,Add", AD_FN_NONE, NULL},
    {{"Relu x r", "Mul x,r y"}, "Unary,Mul", AD_FN_NONE, NULL},
};

/* The numbers of the nodes one by one, for idioms without a formula. */
static double spelled_out(const struct idiom *idiom, double x)
{
    static const char names[] = "xabchsmry";
    double values[sizeof names] = {x};
    for (int i = 0; i < 6 && idiom->lines[i]; i++) {
        char type[16], inputs[32], output[8], *rest;
        double in[3] = {0, -INFINITY, INFINITY}, out;
        ck_assert_int_eq(sscanf(idiom->lines[i], "%15s %31s %7s", type, inputs, output), 3);
        int n = 0;
        for (char *t = strtok_r(inputs, ",", &rest); t; t = strtok_r(NULL, ",", &rest))
            in[n++] = strcmp(t, "three") == 0   ? 3
                      : strcmp(t, "six") == 0   ? 6
                      : strcmp(t, "zero") == 0  ? 0
                      : strcmp(t, "sixth") == 0 ? 1.0 / 6
                      : strcmp(t, "one") == 0   ? 1
                      : strcmp(t, "half") == 0  ? 0.5
                      : strcmp(t, "root") == 0  ? sqrt(2)
                                                : values[strchr(names, *t) - names];
        out = strcmp(type, "Add") == 0           ? in[0] + in[1]
              : strcmp(type, "Mul") == 0         ? in[0] * in[1]
              : strcmp(type, "Div") == 0         ? in[0] / in[1]
              : strcmp(type, "Relu") == 0        ? fmax(in[0], 0)
              : strcmp(type, "Sigmoid") == 0     ? sigmoid(in[0])
              : strcmp(type, "Erf") == 0         ? erf(in[0])
              : strcmp(type, "Tanh") == 0        ? tanh(in[0])
              : strcmp(type, "Softplus") == 0    ? log1p(exp(in[0]))
              : strcmp(type, "HardSigmoid") == 0 ? hard_default(in[0])
                                                 : fmin(fmax(in[0], in[1]), in[2]);
        values[strchr(names, *output) - names] = out;
    }
    return values[strchr(names, 'y') - names];
}

START_TEST(activations_spelled_out)
{
    const struct idiom *idiom = &idioms[_i];
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 3, 9, 8));
    mb_weights(&mb, "three", MB_SCALAR, (const float[]){3});
    mb_weights(&mb, "six", MB_DIMS(1), (const float[]){6});
    mb_weights(&mb, "zero", MB_SCALAR, (const float[]){0});
    mb_weights(&mb, "sixth", MB_DIMS(1, 1, 1, 1), (const float[]){1.0f / 6});
    mb_weights(&mb, "one", MB_SCALAR, (const float[]){1});
    mb_weights(&mb, "half", MB_SCALAR, (const float[]){0.5f});
    mb_weights(&mb, "root", MB_SCALAR, (const float[]){1.41421354f});
    for (int i = 0; i < 6 && idiom->lines[i]; i++) {
        char type[16], inputs[32], output[8];
        ck_assert_int_eq(sscanf(idiom->lines[i], "%15s %31s %7s", type, inputs, output), 3);
        mb_node(&mb, type, inputs, output);
    }
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, idiom->kinds);
    ck_assert_int_eq(graph->ops[graph->nops - 1].function, idiom->function);
    struct ad_tensor y = run_random(graph, &x);
    for (size_t i = 0; i < y.count; i++) {
        double want = spelled_out(idiom, (double)x.data[i]);
        assert_near(y.data[i], want);
        if (idiom->want)
            ck_assert(fabs(idiom->want((double)x.data[i]) - want) < 1e-12);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* The gate of a squeeze-and-excite block, and a block's activation, become parts of convolutions.
 */
START_TEST(block_with_gate)
{
    struct mb mb;
    mb_init(&mb, 11);
    mb_input(&mb, "x", MB_DIMS(1, 4, 6, 6));
    mb_weights(&mb, "w", MB_DIMS(4, 4, 1, 1), NULL);
    mb_weights(&mb, "three", MB_SCALAR, (const float[]){3});
    mb_weights(&mb, "six", MB_SCALAR, (const float[]){6});
    mb_weights(&mb, "zero", MB_SCALAR, (const float[]){0});
    mb_node(&mb, "Conv", "x,w", "c");
    mb_node(&mb, "Add", "c,three", "a");
    mb_node(&mb, "Clip", "a,zero,six", "b");
    mb_node(&mb, "Div", "b,six", "d");
    mb_node(&mb, "Mul", "c,d", "e"); /* hard swish */
    mb_node(&mb, "GlobalAveragePool", "e", "g");
    mb_node(&mb, "Conv", "g,w", "h");
    mb_node(&mb, "Add", "h,three", "i");
    mb_node(&mb, "Clip", "i,zero,six", "j");
    mb_node(&mb, "Div", "j,six", "k"); /* hard sigmoid */
    mb_node(&mb, "Mul", "k,e", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv,AveragePool,GlobalAveragePool,Conv,Mul");
    ck_assert_int_eq(graph->ops[0].function, AD_FN_HARD_SWISH);
    ck_assert_str_eq(graph->ops[0].type, "Conv+HardSwish");
    ck_assert_int_eq(graph->ops[3].function, AD_FN_HARD_SIGMOID);
    ck_assert(fabsf(graph->ops[3].alpha - 1.0f / 6) < 1e-7f && graph->ops[3].beta == 0.5f);
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* --- Sub and Div --- */

START_TEST(subtraction_and_division)
{
    for (int form = 0; form < 4; form++) {
        bool divide = form & 1, constant_first = form & 2;
        struct mb mb;
        struct ad_tensor x;
        static const float numbers[] = {2, -3, 4};
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(2, 3, 2, 2));
        mb_weights(&mb, "k", MB_DIMS(3, 1, 1), numbers);
        mb_node(&mb, divide ? "Div" : "Sub", constant_first ? "k,x" : "x,k", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, divide ? "Div" : "Sub");
        struct ad_tensor y = run_random(graph, &x);
        for (size_t i = 0; i < y.count; i++) {
            double a = (double)x.data[i], b = (double)numbers[i / 4 % 3];
            double want = constant_first ? (divide ? b / a : b - a) : (divide ? a / b : a - b);
            assert_near(y.data[i], want);
        }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* --- space to depth --- */

#define N 2
#define C 3
#define H 4
#define W 6
#define B 2

/* y[n][k][h][w] of a space-to-depth of x[n][c][y][x]. */
static float moved(const struct ad_tensor *x, bool channel_major, int n, int k, int h, int w)
{
    int place = channel_major ? k % (B * B) : k / C, c = channel_major ? k / (B * B) : k % C;
    return x->data[((n * C + c) * H + h * B + place / B) * W + w * B + place % B];
}

static void check_moved(struct mb *mb, bool channel_major)
{
    struct ad_tensor x;
    struct ad_graph *graph = import_ok(mb);
    assert_kinds(graph, "SpaceToDepth");
    ck_assert_int_eq(graph->ops[0].channel_major, channel_major);
    ck_assert_int_eq(graph->ops[0].block, B);
    struct ad_tensor y = run_random(graph, &x);
    int i = 0;
    for (int n = 0; n < N; n++)
        for (int k = 0; k < C * B * B; k++)
            for (int h = 0; h < H / B; h++)
                for (int w = 0; w < W / B; w++)
                    ck_assert(y.data[i++] == moved(&x, channel_major, n, k, h, w));
    done(mb, graph, &x, &y);
}

START_TEST(space_to_depth_operator)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(N, C, H, W));
    mb_int(&mb, mb_node(&mb, "SpaceToDepth", "x", "y"), "blocksize", B);
    mb_output(&mb, "y");
    check_moved(&mb, false);
}
END_TEST

/* Reshape, Transpose, Reshape: as tf2onnx and Torch's pixel_unshuffle come out. */
START_TEST(space_to_depth_by_one_transpose)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(N, C, H, W));
    mb_shape(&mb, "split", MB_DIMS(N, C, H / B, B, W / B, B));
    mb_shape(&mb, "joined", MB_DIMS(N, C * B * B, H / B, W / B));
    mb_node(&mb, "Reshape", "x,split", "s");
    const int64_t *perm = _i ? MB_DIMS(0, 1, 3, 5, 2, 4) : MB_DIMS(0, 3, 5, 1, 2, 4);
    mb_ints(&mb, mb_node(&mb, "Transpose", "s", "t"), "perm", perm);
    mb_node(&mb, "Reshape", "t,joined", "y");
    mb_output(&mb, "y");
    check_moved(&mb, _i);
}
END_TEST

/* Torch's pixel_shuffle before it had an operator, and as tf2onnx writes DepthToSpace. */
START_TEST(depth_to_space_by_one_transpose)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(N, C * B * B, H, W));
    const int64_t *split = _i ? MB_DIMS(N, C, B, B, H, W) : MB_DIMS(N, B, B, C, H, W);
    mb_shape(&mb, "split", split);
    mb_shape(&mb, "joined", MB_DIMS(N, C, H * B, W * B));
    mb_node(&mb, "Reshape", "x,split", "s");
    const int64_t *perm = _i ? MB_DIMS(0, 1, 4, 2, 5, 3) : MB_DIMS(0, 3, 4, 1, 5, 2);
    mb_ints(&mb, mb_node(&mb, "Transpose", "s", "t"), "perm", perm);
    mb_node(&mb, "Reshape", "t,joined", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "DepthToSpace");
    ck_assert_int_eq(graph->ops[0].channel_major, _i);
    struct ad_tensor y = run_random(graph, &x);
    int i = 0;
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)
            for (int h = 0; h < H * B; h++)
                for (int w = 0; w < W * B; w++) {
                    int place = h % B * B + w % B, k = _i ? c * B * B + place : place * C + c;
                    ck_assert(y.data[i++] == x.data[((n * C * B * B + k) * H + h / B) * W + w / B]);
                }
    done(&mb, graph, &x, &y);
}
END_TEST

/* ShuffleNet's: groups and channels change places. */
START_TEST(shuffle_of_channels)
{
    static const int sizes[][2] = {{2, 3}, {3, 2}, {4, 4}};
    int groups = sizes[_i][0], depth = sizes[_i][1], channels = groups * depth;
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 11);
    mb_input(&mb, "x", MB_DIMS(N, channels, H, W));
    mb_shape(&mb, "split", MB_DIMS(N, groups, depth, H, W));
    mb_shape(&mb, "joined", MB_DIMS(N, -1, H, W));
    mb_node(&mb, "Reshape", "x,split", "s");
    mb_ints(&mb, mb_node(&mb, "Transpose", "s", "t"), "perm", MB_DIMS(0, 2, 1, 3, 4));
    mb_node(&mb, "Reshape", "t,joined", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Permute");
    ck_assert_str_eq(graph->ops[0].type, "ChannelShuffle");
    struct ad_tensor y = run_random(graph, &x);
    int i = 0;
    for (int n = 0; n < N; n++)
        for (int c = 0; c < channels; c++)
            for (int p = 0; p < H * W; p++)
                ck_assert(y.data[i++] ==
                          x.data[(n * channels + c % groups * depth + c / groups) * H * W + p]);
    done(&mb, graph, &x, &y);
}
END_TEST

/* Three transposes with reshapes between them: as PyTorch ports of YOLOv2's "reorg" come out. */
START_TEST(space_to_depth_by_three_transposes)
{
    struct mb mb;
    mb_init(&mb, 11);
    mb_input(&mb, "x", MB_DIMS(N, C, H, W));
    mb_shape(&mb, "s1", MB_DIMS(N, C, H / B, B, W / B, B));
    mb_shape(&mb, "s2", MB_DIMS(N, C, H / B * (W / B), B * B));
    mb_shape(&mb, "s3", MB_DIMS(N, C, B * B, H / B, W / B));
    mb_shape(&mb, "s4", MB_DIMS(N, -1, H / B, W / B));
    mb_node(&mb, "Reshape", "x,s1", "a");
    mb_ints(&mb, mb_node(&mb, "Transpose", "a", "b"), "perm", MB_DIMS(0, 1, 2, 4, 3, 5));
    mb_node(&mb, "Reshape", "b,s2", "c");
    mb_ints(&mb, mb_node(&mb, "Transpose", "c", "d"), "perm", MB_DIMS(0, 1, 3, 2));
    mb_node(&mb, "Reshape", "d,s3", "e");
    mb_ints(&mb, mb_node(&mb, "Transpose", "e", "f"), "perm", MB_DIMS(0, 2, 1, 3, 4));
    mb_node(&mb, "Reshape", "f,s4", "y");
    mb_output(&mb, "y");
    check_moved(&mb, false);
}
END_TEST

/* Other transposes between the same shapes: computed as they stand. */
START_TEST(other_rearrangements)
{
    static const int64_t perms[][6] = {
        {0, 1, 5, 3, 2, 4}, {0, 5, 3, 1, 2, 4}, {0, 3, 1, 5, 2, 4}, {0, 1, 3, 5, 4, 2}};
    static const int64_t split[6] = {N, C, H / B, B, W / B, B};
    const int64_t *p = perms[_i];
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(N, C, H, W));
    mb_shape(&mb, "split", MB_DIMS(N, C, H / B, B, W / B, B));
    mb_shape(&mb, "joined", MB_DIMS(N, C * B * B, H / B, W / B));
    mb_node(&mb, "Reshape", "x,split", "s");
    mb_ints(&mb, mb_node(&mb, "Transpose", "s", "t"), "perm",
            MB_DIMS(p[0], p[1], p[2], p[3], p[4], p[5]));
    mb_node(&mb, "Reshape", "t,joined", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    for (int i = 0; i < graph->nops; i++)
        ck_assert_int_ne(graph->ops[i].kind, AD_OP_SPACE_TO_DEPTH);
    struct ad_tensor y = run_random(graph, &x);
    for (int64_t k = 0; k < (int64_t)y.count; k++) {
        int64_t index[6], rest = k, from = 0;
        for (int i = 5; i >= 0; i--) {
            index[p[i]] = rest % split[p[i]];
            rest /= split[p[i]];
        }
        for (int i = 0; i < 6; i++)
            from = from * split[i] + index[i];
        ck_assert(y.data[k] == x.data[from]);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* nn.LocalResponseNorm as exported: an average over a depth of channels, which a constant If may
 * squeeze. `size` channels; `start` zeros before them. */
static struct ad_graph *spelled_lrn(struct mb *mb, int size, int start, bool branch)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(2, 7, 3, 4));
    mb_shape(mb, "deep", MB_DIMS(2, 1, 7, 3, -1));
    mb_shape(mb, "flat", MB_DIMS(2, 7, 3, 4));
    mb_shape(mb, "pads", MB_DIMS(0, 0, start, 0, 0, 0, 0, size - 1 - start, 0, 0));
    mb_weights(mb, "alpha", MB_SCALAR, (const float[]){0.8f});
    mb_weights(mb, "beta", MB_SCALAR, (const float[]){0.75f});
    mb_weights(mb, "k", MB_SCALAR, (const float[]){1.5f});
    mb_node(mb, "Relu", "x", "r");
    mb_node(mb, "Mul", "r,r", "s");
    mb_node(mb, "Reshape", "s,deep", "d");
    mb_node(mb, "Pad", "d,pads", "p");
    mb_ints(mb, mb_node(mb, "AveragePool", "p", "a"), "kernel_shape", MB_DIMS(size, 1, 1));
    if (branch) {
        mb_shape(mb, "axis", MB_DIMS(1));
        mb_node(mb, "Shape", "a", "dims");
        mb_node(mb, "Gather", "dims,axis", "size");
        mb_node(mb, "Equal", "size,axis", "yes");
        Onnx__NodeProto *node = mb_node(mb, "If", "yes", "q");
        mb_branch_begin(mb);
        mb_node(mb, "Squeeze", "a,axis", "squeezed");
        mb_branch_end(mb, node, "then_branch", "squeezed");
        mb_branch_begin(mb);
        mb_node(mb, "Identity", "a", "same");
        mb_branch_end(mb, node, "else_branch", "same");
    } else {
        mb_node(mb, "Identity", "a", "q");
    }
    mb_node(mb, "Reshape", "q,flat", "f");
    mb_node(mb, "Mul", "f,alpha", "m");
    mb_node(mb, "Add", "m,k", "b");
    mb_node(mb, "Pow", "b,beta", "w");
    mb_node(mb, "Div", "r,w", "y");
    mb_output(mb, "y");
    return import_ok(mb);
}

/* An even window is not ONNX's, whose middle is one further: there it stays what it is. */
START_TEST(local_response_norm)
{
    static const struct {
        int size, start;
        bool branch, found;
    } cases[] = {
        {5, 2, true, true}, {5, 2, false, true}, {4, 2, true, false}, {5, 1, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        struct ad_tensor x;
        struct ad_graph *graph = spelled_lrn(&mb, cases[i].size, cases[i].start, cases[i].branch);
        if (cases[i].found)
            assert_kinds(graph, "Unary,LRN");
        else
            ck_assert_int_gt(graph->nops, 4);
        struct ad_tensor y = run_random(graph, &x);
        for (int n = 0; n < 2; n++)
            for (int c = 0; c < 7; c++)
                for (int p = 0; p < 12; p++) {
                    double sum = 0;
                    for (int k = 0; k < cases[i].size; k++) {
                        int at = c - cases[i].start + k;
                        double v = at < 0 || at > 6 ? 0 : (double)x.data[(n * 7 + at) * 12 + p];
                        sum += v > 0 ? v * v : 0;
                    }
                    double v = fmax((double)x.data[(n * 7 + c) * 12 + p], 0);
                    assert_near(y.data[(n * 7 + c) * 12 + p],
                                v / pow((double)0.8f * sum / cases[i].size + 1.5, 0.75));
                }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* Branches read what is made after the If in the file, have constants and branches of their own,
 * and may use each other's names. */
START_TEST(constant_branches)
{
    for (int which = 0; which < 2; which++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, 3));
        mb_shape(&mb, "cond", MB_DIMS(which));
        mb_shape(&mb, "yes", MB_DIMS(1));
        Onnx__NodeProto *outer = mb_node(&mb, "If", "cond", "q");
        mb_branch_begin(&mb);
        mb_weights(&mb, "two", MB_SCALAR, (const float[]){2});
        mb_node(&mb, "Mul", "later,two", "inner");
        mb_branch_end(&mb, outer, "then_branch", "inner");
        mb_branch_begin(&mb);
        Onnx__NodeProto *nested = mb_node(&mb, "If", "yes", "inner");
        mb_branch_begin(&mb);
        mb_node(&mb, "Neg", "later", "deep");
        mb_branch_end(&mb, nested, "then_branch", "deep");
        mb_branch_begin(&mb);
        mb_node(&mb, "NoSuchOperator", "nowhere", "deep");
        mb_branch_end(&mb, nested, "else_branch", "deep");
        mb_branch_end(&mb, outer, "else_branch", "inner");
        mb_node(&mb, "Abs", "x", "later");
        mb_node(&mb, "Exp", "q", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        struct ad_tensor y = run_random(graph, &x);
        for (size_t i = 0; i < 3; i++)
            assert_near(y.data[i], exp(fabs((double)x.data[i]) * (which ? 2 : -1)));
        done(&mb, graph, &x, &y);
    }
}
END_TEST

static void build_if(struct mb *mb, Onnx__NodeProto **node, const char *condition)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3));
    mb_shape(mb, "yes", MB_DIMS(1));
    mb_shape(mb, "both", MB_DIMS(1, 1));
    *node = mb_node(mb, "If", condition, "y");
    mb_output(mb, "y");
}

START_TEST(refused_branches)
{
    static const struct {
        const char *condition, *type, *inputs, *made, *output, *reason;
    } cases[] = {
        {"x", "Neg", "x", "m", "m", "input 0 (condition), 'x', must be a constant"},
        {"both", "Neg", "x", "m", "m", "a condition of 2 elements"},
        {"yes", "Neg", "gone", "m", "m", "'gone', which its branch reads, is not there"},
        {"yes", "Neg", "m", "m", "m", "'m', which its branch reads, is not there"},
        {"yes", "Neg", "y", "m", "m", "part of a cycle"},
        {"yes", "Neg", "x", "x", "x", "'x' is defined in its branch and outside of it"},
        {"yes", "Neg", "x", "m", "z", "nothing computes output 'z' of its branch"},
        {"yes", "Loop", "x", "m", "m", "(Loop): this operator is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        Onnx__NodeProto *node;
        build_if(&mb, &node, cases[i].condition);
        mb_branch_begin(&mb);
        mb_node(&mb, cases[i].type, cases[i].inputs, cases[i].made);
        mb_branch_end(&mb, node, "then_branch", cases[i].output);
        import_refused(&mb, cases[i].reason);
    }
    struct mb mb;
    Onnx__NodeProto *node;
    build_if(&mb, &node, "yes");
    import_refused(&mb, "a branch without as many outputs");
}
END_TEST

int main(void)
{
    int nfunctions = (int)(sizeof functions / sizeof *functions);
    Suite *suite = suite_create("idioms");
    TCase *tc = tcase_create("all");
    tcase_add_loop_test(tc, functions_alone, 0, nfunctions);
    tcase_add_test(tc, local_response_norm);
    tcase_add_test(tc, constant_branches);
    tcase_add_test(tc, refused_branches);
    tcase_add_loop_test(tc, functions_fused, 0, nfunctions);
    tcase_add_loop_test(tc, fused_is_the_function_of_the_sum, 0, nfunctions);
    tcase_add_loop_test(tc, activations_spelled_out, 0, (int)(sizeof idioms / sizeof *idioms));
    tcase_add_test(tc, block_with_gate);
    tcase_add_test(tc, subtraction_and_division);
    tcase_add_test(tc, space_to_depth_operator);
    tcase_add_loop_test(tc, space_to_depth_by_one_transpose, 0, 2);
    tcase_add_loop_test(tc, depth_to_space_by_one_transpose, 0, 2);
    tcase_add_loop_test(tc, shuffle_of_channels, 0, 3);
    tcase_add_test(tc, space_to_depth_by_three_transposes);
    tcase_add_loop_test(tc, other_rearrangements, 0, 4);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
