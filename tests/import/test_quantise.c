/* import: files whose operators are quantised, in the forms in which they are written. */
#include "ir/quantised.h"
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define UINT8 ONNX__TENSOR_PROTO__DATA_TYPE__UINT8
#define INT8 ONNX__TENSOR_PROTO__DATA_TYPE__INT8
#define INT32 ONNX__TENSOR_PROTO__DATA_TYPE__INT32

/* Scale and zero point "NAME_s" and "NAME_z". */
static void parameters(struct mb *mb, const char *name, float scale, int64_t zero, int32_t type)
{
    char s[32], z[32];
    snprintf(s, sizeof s, "%s_s", name);
    snprintf(z, sizeof z, "%s_z", name);
    mb_weights(mb, s, MB_SCALAR, &scale);
    mb_typed(mb, z, MB_SCALAR, type, &zero);
}

static void quantise(struct mb *mb, const char *in, const char *by, const char *out)
{
    char inputs[96];
    snprintf(inputs, sizeof inputs, "%s,%s_s,%s_z", in, by, by);
    mb_node(mb, "QuantizeLinear", inputs, out);
}

static Onnx__NodeProto *dequantise(struct mb *mb, const char *in, const char *by, const char *out)
{
    char inputs[96];
    snprintf(inputs, sizeof inputs, "%s,%s_s,%s_z", in, by, by);
    return mb_node(mb, "DequantizeLinear", inputs, out);
}

/* `in` rounded to bytes and back, as `out`. */
static void round_to(struct mb *mb, const char *in, const char *by, const char *out)
{
    char bytes[64];
    snprintf(bytes, sizeof bytes, "%s_q", out);
    quantise(mb, in, by, bytes);
    dequantise(mb, bytes, by, out);
}

/* Filters 2 x 1 x 1 x 2, one scale each, and a bias of whole numbers. */
static void add_filters(struct mb *mb, int32_t type, bool whole_bias)
{
    static const int64_t w[] = {1, 255, 3, 130}, zero[] = {0, 0}, b[] = {7, -9};
    static const float s[] = {.25f, .5f};
    const float bias_scale[] = {.5f * s[0], .5f * s[1]}, other[] = {.01f, .02f};
    mb_typed(mb, "w_q", MB_DIMS(2, 1, 1, 2), type, w);
    mb_weights(mb, "w_s", MB_DIMS(2), s);
    mb_typed(mb, "w_z", MB_DIMS(2), type, zero);
    mb_int(mb, dequantise(mb, "w_q", "w", "w"), "axis", 0);
    mb_typed(mb, "b_q", MB_DIMS(2), INT32, b);
    mb_weights(mb, "b_s", MB_DIMS(2), whole_bias ? bias_scale : other);
    mb_typed(mb, "b_z", MB_DIMS(2), INT32, zero);
    mb_int(mb, dequantise(mb, "b_q", "b", "b"), "axis", 0);
}

static struct mb one_conv(int32_t weights, bool whole_bias)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", 1, -4, INT8);
    round_to(&mb, "x", "x", "xd");
    add_filters(&mb, weights, whole_bias);
    mb_node(&mb, "Conv", "xd,w,b", "c");
    mb_node(&mb, "Relu", "c", "r");
    round_to(&mb, "r", "y", "y");
    mb_output(&mb, "y");
    return mb;
}

static const struct ad_op *first_conv(const struct ad_graph *g)
{
    for (int i = 0; i < g->nops; i++)
        if (g->ops[i].kind == AD_OP_CONV)
            return &g->ops[i];
    ck_abort_msg("no convolution");
    return NULL;
}

static struct ad_quantised_row row_of(const struct ad_graph *g, const struct ad_op *op, int i)
{
    struct ad_quantised_row row;
    memcpy(&row, g->weights[op->bias].data + i * AD_QUANTISED_ROW_WORDS, sizeof row);
    return row;
}

static const int8_t *bytes_of(const struct ad_graph *g, const struct ad_op *op, int i)
{
    const struct ad_weight *w = &g->weights[op->weight];
    return (const int8_t *)(w->data + i * w->row_elements);
}

START_TEST(convolution)
{
    struct mb mb = one_conv(INT8, true);
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Conv,Unary");
    const struct ad_op *conv = first_conv(g);
    const struct ad_value *in = &g->values[conv->inputs[0]], *out = &g->values[conv->output];
    ck_assert(in->type == ADAPS_UINT8 && in->scale == .5f && in->zero == 3);
    ck_assert(out->type == ADAPS_INT8 && out->scale == 1 && out->zero == -4);
    ck_assert_int_eq(in->box.w, 4); /* elements, not words */
    ck_assert(conv->clamp_min == 0);
    ck_assert_int_eq(g->weights[conv->weight].row_elements, 1);
    ck_assert_int_eq(bytes_of(g, conv, 0)[1], -1);
    ck_assert_int_eq(bytes_of(g, conv, 1)[1], 130 - 256);
    ck_assert_int_eq(row_of(g, conv, 0).bias, 7);
    ck_assert_int_eq(row_of(g, conv, 1).bias, -9);
    ck_assert(row_of(g, conv, 1).scale == .5f);
    ck_assert_int_eq(row_of(g, conv, 1).zero, 0);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* PyTorch's exporter casts bytes to bytes behind each QuantizeLinear. */
START_TEST(cast_to_itself)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", 1, 4, UINT8);
    quantise(&mb, "x", "x", "xq");
    mb_int(&mb, mb_node(&mb, "Cast", "xq", "xc"), "to", UINT8);
    dequantise(&mb, "xc", "x", "xd");
    add_filters(&mb, INT8, true);
    mb_node(&mb, "Conv", "xd,w,b", "c");
    quantise(&mb, "c", "y", "cq");
    mb_int(&mb, mb_node(&mb, "Cast", "cq", "cc"), "to", UINT8);
    dequantise(&mb, "cc", "y", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Conv,Unary");
    done(&mb, g, NULL, NULL);
}
END_TEST

/* A mean over rows and columns, which drops them before it is quantised. */
START_TEST(mean_of_maps)
{
    for (int kept = 0; kept < 2; kept++) {
        struct mb mb;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4));
        parameters(&mb, "x", .5f, 3, UINT8);
        parameters(&mb, "y", .25f, -4, INT8);
        round_to(&mb, "x", "x", "xd");
        Onnx__NodeProto *mean = mb_node(&mb, "ReduceMean", "xd", "m");
        mb_ints(&mb, mean, "axes", MB_DIMS(2, 3));
        mb_int(&mb, mean, "keepdims", kept);
        round_to(&mb, "m", "y", "y");
        mb_output(&mb, "y");
        struct ad_graph *g = import_ok(&mb);
        int means = 0;
        for (int i = 0; i < g->nops; i++) {
            const struct ad_value *out = &g->values[g->ops[i].output];
            if (g->ops[i].kind != AD_OP_GAP)
                continue;
            means++;
            ck_assert(out->type == ADAPS_INT8 && out->scale == .25f && out->zero == -4);
        }
        ck_assert_int_eq(means, 1);
        ck_assert_int_eq(g->values[g->outputs[0]].rank, kept ? 4 : 2);
        done(&mb, g, NULL, NULL);
    }
}
END_TEST

/* Weights of uint8 are those of int8 that stand for the same numbers. */
START_TEST(unsigned_weights)
{
    struct mb mb = one_conv(UINT8, true);
    struct ad_graph *g = import_ok(&mb);
    const struct ad_op *conv = first_conv(g);
    ck_assert_int_eq(bytes_of(g, conv, 0)[0], 1 - 128);
    ck_assert_int_eq(bytes_of(g, conv, 0)[1], 255 - 128);
    ck_assert_int_eq(row_of(g, conv, 0).zero, -128);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* A bias that is no whole number of what sums count stays a float, and so does its convolution. */
START_TEST(bias_between)
{
    struct mb mb = one_conv(INT8, false);
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Unary,Conv,Unary,Unary");
    ck_assert(ad_value_is_float(&g->values[first_conv(g)->inputs[0]]));
    done(&mb, g, NULL, NULL);
}
END_TEST

/* What follows in floats gets floats. */
START_TEST(float_result)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    round_to(&mb, "x", "x", "xd");
    add_filters(&mb, INT8, true);
    mb_node(&mb, "Conv", "xd,w,b", "c");
    mb_node(&mb, "Sigmoid", "c", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Conv");
    ck_assert(ad_value_is_float(&g->values[first_conv(g)->output]));
    ck_assert_int_eq(first_conv(g)->function, AD_FN_SIGMOID);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* Elements that move keep their bytes; another scale afterwards is an operator of its own. */
START_TEST(moved)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 4, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", .25f, 3, UINT8);
    round_to(&mb, "x", "x", "a");
    mb_ints(&mb, mb_node(&mb, "MaxPool", "a", "p"), "kernel_shape", (const int64_t[]){2, 2, -9});
    round_to(&mb, "p", "x", "b");
    mb_ints(&mb, mb_node(&mb, "MaxPool", "b", "q"), "kernel_shape", (const int64_t[]){2, 2, -9});
    round_to(&mb, "q", "y", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,MaxPool,MaxPool,Unary,Unary");
    ck_assert(g->values[g->ops[2].output].scale == .5f);
    ck_assert(g->values[g->ops[3].output].scale == .25f);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* Sums and concatenations, of constants too; each operand has a scale of its own. */
START_TEST(several_operands)
{
    struct mb mb;
    static const int64_t k[] = {5, 250};
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 2, 2));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "k", .125f, 2, UINT8);
    parameters(&mb, "y", .25f, 3, UINT8);
    mb_typed(&mb, "k_q", MB_DIMS(1, 2, 1, 1), UINT8, k);
    dequantise(&mb, "k_q", "k", "kd");
    round_to(&mb, "x", "x", "a");
    mb_node(&mb, "Add", "a,kd", "s");
    round_to(&mb, "s", "y", "b");
    mb_int(&mb, mb_node(&mb, "Concat", "a,b", "c"), "axis", 1);
    round_to(&mb, "c", "y", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Add,Concat,Unary");
    const struct ad_value *constant = &g->values[g->ops[1].inputs[1]];
    ck_assert(constant->constant >= 0 && constant->scale == .125f && constant->zero == 2);
    const uint8_t *bytes = (const uint8_t *)g->weights[constant->constant].data;
    ck_assert_int_eq(bytes[0], 5);
    ck_assert_int_eq(bytes[1], 250);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* The forms of ONNX Runtime's older quantiser. */
START_TEST(operators_on_bytes)
{
    struct mb mb;
    static const int64_t w[] = {1, 255, 3, 130}, zero[] = {0, 0}, b[] = {7, -9};
    static const float s[] = {.25f, .5f};
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 4, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", 1, 4, UINT8);
    parameters(&mb, "z", 2, 5, UINT8);
    quantise(&mb, "x", "x", "xq");
    mb_typed(&mb, "w_q", MB_DIMS(2, 1, 1, 2), INT8, w);
    mb_weights(&mb, "w_s", MB_DIMS(2), s);
    mb_typed(&mb, "w_z", MB_DIMS(2), INT8, zero);
    mb_typed(&mb, "b", MB_DIMS(2), INT32, b);
    mb_node(&mb, "QLinearConv", "xq,x_s,x_z,w_q,w_s,w_z,y_s,y_z,b", "c");
    mb_ints(&mb, mb_node(&mb, "MaxPool", "c", "p"), "kernel_shape", (const int64_t[]){2, 1, -9});
    mb_node(&mb, "QLinearAdd", "p,y_s,y_z,p,y_s,y_z,z_s,z_z", "a")->domain =
        (char[]){"com.microsoft"};
    dequantise(&mb, "a", "z", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Unary,Conv,MaxPool,Add,Unary");
    ck_assert_int_eq(row_of(g, first_conv(g), 1).bias, -9);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* A network that takes and gives bytes: they are words at its ends. */
START_TEST(bytes_at_the_ends)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 4))->type->tensor_type->elem_type = UINT8;
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", 1, -4, INT8);
    dequantise(&mb, "x", "x", "xd");
    add_filters(&mb, INT8, true);
    mb_node(&mb, "Conv", "xd,w,b", "c");
    quantise(&mb, "c", "y", "y");
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    assert_kinds(g, "Whole,Unary,Reshape,Conv,Unary,Permute,Whole");
    ck_assert_int_eq(g->values[g->inputs[0]].type, ADAPS_UINT8);
    ck_assert_int_eq(g->values[g->outputs[0]].type, ADAPS_INT8);
    ck_assert(ad_value_is_quantised(&g->values[first_conv(g)->output]));
    done(&mb, g, NULL, NULL);
}
END_TEST

/* Reference: what the float operators make, rounded. */
START_TEST(same_numbers)
{
    struct mb mb = one_conv(INT8, true);
    struct ad_graph *g = import_ok(&mb);
    struct ad_tensor in, out = run_random(g, &in);
    static const float w[] = {.25f, -.25f, 1.5f, -63}, b[] = {.875f, -2.25f};
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < 9; i++) {
            float sum = b[o];
            for (int k = 0; k < 2; k++) {
                float x = in.data[i / 3 * 4 + i % 3 + k] / .5f;
                sum += w[2 * o + k] * .5f * rintf(fminf(fmaxf(x, -3), 252));
            }
            float want = fminf(rintf(fmaxf(sum, 0)), 131);
            ck_assert_float_eq(out.data[9 * o + i], want);
        }
    done(&mb, g, &in, &out);
}
END_TEST

/* Products of two computed matrices: to bytes, to floats, and in the form of the older quantiser.
 */
START_TEST(products)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4));
    mb_input(&mb, "y", MB_DIMS(1, 2, 4, 5));
    mb_input(&mb, "z", MB_DIMS(1, 2, 5, 6));
    mb_input(&mb, "v", MB_DIMS(6, 2));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", .25f, -4, INT8);
    parameters(&mb, "z", 2, 5, UINT8);
    round_to(&mb, "x", "x", "a");
    round_to(&mb, "y", "y", "b");
    quantise(&mb, "z", "z", "c");
    mb_node(&mb, "MatMul", "a,b", "ab");
    quantise(&mb, "ab", "z", "d");
    mb_node(&mb, "QLinearMatMul", "d,z_s,z_z,c,z_s,z_z,y_s,y_z", "e");
    dequantise(&mb, "e", "y", "ed");
    round_to(&mb, "v", "x", "f");
    mb_node(&mb, "MatMul", "ed,f", "y0");
    mb_output(&mb, "y0");
    struct ad_graph *g = import_ok(&mb);
    int found = 0;
    for (int i = 0; i < g->nops; i++) {
        const struct ad_value *out = &g->values[g->ops[i].output];
        if (g->ops[i].kind != AD_OP_MATMUL)
            continue;
        static const float scales[] = {2, .25f, 0};
        ck_assert_int_lt(found, 3);
        ck_assert_float_eq(out->scale, scales[found]);
        for (int k = 0; k < 2; k++)
            ck_assert(ad_value_is_quantised(&g->values[g->ops[i].inputs[k]]));
        found++;
    }
    ck_assert_int_eq(found, 3);
    done(&mb, g, NULL, NULL);
}
END_TEST

/* What could leave an int32 stays with floats. */
START_TEST(long_products)
{
    for (int depth = AD_QUANTISED_PRODUCTS; depth < AD_QUANTISED_PRODUCTS + 2; depth++) {
        struct mb mb;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, depth));
        mb_input(&mb, "y", MB_DIMS(depth, 1));
        parameters(&mb, "x", .5f, 3, UINT8);
        round_to(&mb, "x", "x", "a");
        round_to(&mb, "y", "x", "b");
        mb_node(&mb, "MatMul", "a,b", "c");
        round_to(&mb, "c", "x", "z");
        mb_output(&mb, "z");
        struct ad_graph *g = import_ok(&mb);
        bool bytes = false;
        for (int i = 0; i < g->nops; i++)
            if (g->ops[i].kind == AD_OP_MATMUL)
                bytes = ad_value_is_quantised(&g->values[g->ops[i].output]);
        ck_assert(bytes == (depth == AD_QUANTISED_PRODUCTS));
        done(&mb, g, NULL, NULL);
    }
}
END_TEST

/* Dynamic quantisation by constant weights becomes a product of bytes, which devices share. */
START_TEST(dynamic)
{
    static const int64_t w[] = {0, 255, 7, 30, 255, 1, 90, 128}, zero[] = {3, 120};
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 3, 4));
    mb_typed(&mb, "w", MB_DIMS(4, 2), UINT8, w);
    mb_typed(&mb, "w_z", MB_DIMS(2), UINT8, zero);
    mb_node(&mb, "DynamicQuantizeLinear", "x", "q,s,z");
    mb_node(&mb, "MatMulInteger", "q,w,z,w_z", "i");
    mb_int(&mb, mb_node(&mb, "Cast", "i", "y"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    struct ad_tensor in, out = run_random(g, &in);
    bool product = false;
    float least = 0, most = 0;
    for (int i = 0; i < g->nops; i++)
        product = product ||
                  (g->ops[i].weight >= 0 && ad_value_is_quantised(&g->values[g->ops[i].inputs[0]]));
    ck_assert(product);
    for (int i = 0; i < 24; i++) {
        least = fminf(least, in.data[i]);
        most = fmaxf(most, in.data[i]);
    }
    float scale = (most - least) / 255, z = rintf(-least / scale);
    for (int i = 0; i < 12; i++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) {
            float q = fminf(fmaxf(rintf(in.data[i / 2 * 4 + k] / scale) + z, 0), 255);
            sum += (q - z) * (float)(w[2 * k + i % 2] - zero[i % 2]);
        }
        ck_assert_float_eq(out.data[i], sum);
    }
    done(&mb, g, &in, &out);
}
END_TEST

/* The same of a convolution, whose zero point counts where the window lies on the map. */
START_TEST(dynamic_convolution)
{
    int64_t w[2 * 9];
    static const int64_t zero[] = {3, 120};
    struct mb mb;
    for (int i = 0; i < 18; i++)
        w[i] = i * 37 % 256;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 4, 5));
    mb_typed(&mb, "w", MB_DIMS(2, 1, 3, 3), UINT8, w);
    mb_typed(&mb, "w_z", MB_DIMS(2), UINT8, zero);
    mb_node(&mb, "DynamicQuantizeLinear", "x", "q,s,z");
    Onnx__NodeProto *conv = mb_node(&mb, "ConvInteger", "q,w,z,w_z", "i");
    mb_ints(&mb, conv, "pads", (const int64_t[]){1, 0, 1, 1, -9});
    mb_ints(&mb, conv, "strides", (const int64_t[]){2, 1, -9});
    mb_int(&mb, mb_node(&mb, "Cast", "i", "y"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    mb_output(&mb, "y");
    struct ad_graph *g = import_ok(&mb);
    struct ad_tensor in, out = run_random(g, &in);
    float least = 0, most = 0;
    ck_assert(ad_value_is_quantised(&g->values[first_conv(g)->inputs[0]]));
    for (int i = 0; i < 20; i++) {
        least = fminf(least, in.data[i]);
        most = fmaxf(most, in.data[i]);
    }
    float scale = (most - least) / 255, z = rintf(-least / scale);
    for (int i = 0; i < 16; i++) {
        float sum = 0;
        for (int k = 0; k < 9; k++) {
            int y = i / 4 % 2 * 2 - 1 + k / 3, x = i % 4 + k % 3;
            if (y < 0 || y > 3 || x > 4)
                continue;
            float q = fminf(fmaxf(rintf(in.data[y * 5 + x] / scale) + z, 0), 255);
            sum += (q - z) * (float)(w[i / 8 * 9 + k] - zero[i / 8]);
        }
        ck_assert_float_eq(out.data[i], sum);
    }
    done(&mb, g, &in, &out);
}
END_TEST

/* 258 products of the largest bytes are exact as floats, 259 need not be. */
START_TEST(dynamic_sums)
{
    static const int depths[] = {258, 259};
    for (int i = 0; i < 2; i++) {
        int64_t w[259];
        struct mb mb;
        for (int k = 0; k < depths[i]; k++)
            w[k] = 255;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(2, depths[i]));
        mb_typed(&mb, "w", MB_DIMS(depths[i], 1), UINT8, w);
        mb_node(&mb, "DynamicQuantizeLinear", "x", "q,s,z");
        mb_node(&mb, "MatMulInteger", "q,w,z", "y");
        mb_output(&mb, "y");
        struct ad_graph *g = import_ok(&mb);
        bool whole = false;
        for (int k = 0; k < g->nops; k++)
            whole = whole || (g->ops[k].kind == AD_OP_WHOLE &&
                              g->ops[k].whole.kind == AD_WHOLE_MATMUL_INTEGER);
        ck_assert(whole == (i == 1));
        done(&mb, g, NULL, NULL);
    }
}
END_TEST

/* Filters 1 x 2 x 3 x 3 in steps of 2: each output channel four rows of 2 x 2 taps, by place. */
static struct mb one_transposed(int32_t type)
{
    static const int64_t zero[] = {9, 9}, none[] = {0, 0}, b[] = {7, -9};
    static const float s[] = {.25f, .5f}, bias_scale[] = {.125f, .25f};
    int64_t w[18];
    struct mb mb;
    for (int i = 0; i < 18; i++)
        w[i] = 10 + i;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    parameters(&mb, "y", 4, -4, INT8);
    round_to(&mb, "x", "x", "xd");
    mb_typed(&mb, "w_q", MB_DIMS(1, 2, 3, 3), type, w);
    mb_weights(&mb, "w_s", MB_DIMS(2), s);
    mb_typed(&mb, "w_z", MB_DIMS(2), type, zero);
    mb_int(&mb, dequantise(&mb, "w_q", "w", "w"), "axis", 1);
    mb_typed(&mb, "b_q", MB_DIMS(2), INT32, b);
    mb_weights(&mb, "b_s", MB_DIMS(2), bias_scale);
    mb_typed(&mb, "b_z", MB_DIMS(2), INT32, none);
    mb_int(&mb, dequantise(&mb, "b_q", "b", "b"), "axis", 0);
    mb_ints(&mb, mb_node(&mb, "ConvTranspose", "xd,w,b", "c"), "strides",
            (const int64_t[]){2, 2, -9});
    mb_node(&mb, "Relu", "c", "r");
    round_to(&mb, "r", "y", "y");
    mb_output(&mb, "y");
    return mb;
}

START_TEST(transposed)
{
    static const int32_t types[] = {INT8, UINT8};
    for (int t = 0; t < 2; t++) {
        struct mb mb = one_transposed(types[t]);
        struct ad_graph *g = import_ok(&mb);
        int flip = types[t] == UINT8 ? 128 : 0;
        assert_kinds(g, "Unary,Conv,DepthToSpace,Unary");
        const struct ad_op *conv = first_conv(g);
        ck_assert(ad_quantised_alike(&g->values[conv->output], &g->values[g->ops[2].output]));
        ck_assert(conv->clamp_min == 0 && isinf(g->ops[2].clamp_min));
        ck_assert_int_eq(g->weights[conv->bias].rows, 8);
        for (int i = 0; i < 8; i++) { /* by place, then output */
            struct ad_quantised_row row = row_of(g, conv, i);
            ck_assert_int_eq(row.bias, i % 2 ? -9 : 7);
            ck_assert(row.scale == (i % 2 ? .5f : .25f));
            ck_assert_int_eq(row.zero, 9 - flip);
        }
        ck_assert_int_eq(bytes_of(g, conv, 1)[3], 10 + 9 - flip); /* the corner of output 1 */
        ck_assert_int_eq(bytes_of(g, conv, 7)[0], 9 - flip);      /* no tap: what stands for 0 */
        ck_assert_int_eq(bytes_of(g, conv, 7)[3], 10 + 13 - flip);
        struct ad_tensor in, out = run_random(g, &in);
        for (int i = 0; i < 2 * 7 * 9; i++) {
            int o = i / 63, y = i / 9 % 7, x = i % 9;
            float sum = o ? -2.25f : .875f;
            for (int k = 0; k < 9; k++) {
                int row = y - k / 3, column = x - k % 3;
                if (row % 2 || column % 2 || row < 0 || column < 0 || row > 4 || column > 6)
                    continue;
                float from = in.data[row / 2 * 4 + column / 2] / .5f;
                from = .5f * rintf(fminf(fmaxf(from, -3), 252));
                sum += (o ? .5f : .25f) * (float)(1 + 9 * o + k) * from;
            }
            ck_assert_float_eq(out.data[i], 4 * rintf(fminf(fmaxf(sum / 4, 0), 131)));
        }
        done(&mb, g, &in, &out);
    }
}
END_TEST

/* Resizing that mixes. A second reader of its floats keeps it from being one of bytes. */
static struct mb one_resize(const char *mode, const char *where, int rank, bool floats)
{
    static const float scales[] = {1, 1, 2.5f, 1.7f};
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", rank == 4 ? MB_DIMS(1, 3, 5, 7) : MB_DIMS(3, 5, 7));
    parameters(&mb, "x", .013f, 120, UINT8);
    parameters(&mb, "y", .0171f, -4, INT8);
    mb_weights(&mb, "scales", MB_DIMS(rank), scales + 4 - rank);
    round_to(&mb, "x", "x", "xd");
    Onnx__NodeProto *node = mb_node(&mb, "Resize", "xd,,scales", "c");
    mb_string(&mb, node, "mode", mode);
    mb_string(&mb, node, "coordinate_transformation_mode", where);
    round_to(&mb, "c", "y", "y");
    mb_output(&mb, "y");
    if (floats) {
        mb_node(&mb, "Neg", "c", "z");
        mb_output(&mb, "z");
    }
    return mb;
}

START_TEST(resized)
{
    static const char *const modes[] = {"linear", "cubic"};
    static const char *const where[] = {"half_pixel", "align_corners", "asymmetric",
                                        "pytorch_half_pixel"};
    for (int i = 0; i < 8; i++) {
        struct mb a = one_resize(modes[i % 2], where[i / 2], 4, false);
        struct mb b = one_resize(modes[i % 2], where[i / 2], 4, true);
        struct ad_graph *bytes = import_ok(&a), *floats = import_ok(&b);
        assert_kinds(bytes, "Unary,Resample,Unary");
        ck_assert(ad_value_is_quantised(&bytes->values[bytes->ops[1].output]));
        ck_assert(!ad_value_is_quantised(&floats->values[floats->ops[2].output]));
        done(&a, bytes, NULL, NULL);
        done(&b, floats, NULL, NULL);
    }
    struct mb lines = one_resize("linear", "half_pixel", 3, false);
    struct ad_graph *g = import_ok(&lines); /* dim by dim: with floats between */
    for (int i = 0; i < g->nops; i++)
        ck_assert(g->ops[i].kind != AD_OP_RESAMPLE || !ad_op_is_quantised(g, &g->ops[i]));
    done(&lines, g, NULL, NULL);
    lines = one_resize("nearest", "asymmetric", 3, false);
    g = import_ok(&lines);
    for (int i = 0; i < g->nops; i++)
        ck_assert(g->ops[i].kind != AD_OP_RESAMPLE || ad_op_is_quantised(g, &g->ops[i]));
    done(&lines, g, NULL, NULL);
}
END_TEST

START_TEST(refused)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 4, 4));
    parameters(&mb, "x", .5f, 3, UINT8);
    quantise(&mb, "x", "x", "xq");
    mb_node(&mb, "QLinearConv", "xq,x_s,x_z,xq,x_s", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "node 'QLinearConv_1' (QLinearConv): 5 inputs");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantise");
    TCase *tcase = tcase_create("quantise");
    tcase_add_test(tcase, convolution);
    tcase_add_test(tcase, cast_to_itself);
    tcase_add_test(tcase, mean_of_maps);
    tcase_add_test(tcase, unsigned_weights);
    tcase_add_test(tcase, bias_between);
    tcase_add_test(tcase, float_result);
    tcase_add_test(tcase, moved);
    tcase_add_test(tcase, several_operands);
    tcase_add_test(tcase, operators_on_bytes);
    tcase_add_test(tcase, bytes_at_the_ends);
    tcase_add_test(tcase, same_numbers);
    tcase_add_test(tcase, products);
    tcase_add_test(tcase, long_products);
    tcase_add_test(tcase, dynamic);
    tcase_add_test(tcase, dynamic_convolution);
    tcase_add_test(tcase, dynamic_sums);
    tcase_add_test(tcase, transposed);
    tcase_add_test(tcase, resized);
    tcase_add_test(tcase, refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
