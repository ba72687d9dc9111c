/* MatMulInteger and ConvInteger of what DynamicQuantizeLinear makes by constant weights, as ONNX
 * Runtime's dynamic quantiser writes them: operators that devices share, of those that are there.
 * The zero point of the data is computed at run time, and with integers sum of (x - zero) * w = sum
 * of x * w - zero * sum of w. The first sum is a layer of bytes of scale 1 and zero point 0
 * (quantise.c), the last one a constant; padding adds to neither. All are floats, which whole
 * numbers below 2^24 are exactly; weights with which they could be larger are left to the operator
 * that runs whole, which has the same bits. */
#include "import/operators.h"

#include <string.h>

#define EXACT (1 << 24)
#define MOST_BYTE 255 /* the largest magnitude of a byte and of a difference of two */

/* The weights: of each output `depth` bytes, each of which is a tap of a window. */
struct weights {
    int64_t outputs, depth, taps;
    int64_t output_step, step; /* bytes from one to the next */
    bool is_signed;
    int64_t zeros; /* how many there are: 1 or an output's each */
    int64_t *zero;
    float *one;    /* as many */
    int64_t *sums; /* of the weights less their zero, by output and tap */
};

/* Whether data and its zero point are DynamicQuantizeLinear's, and the weights and theirs, one or
 * one for each output, are constants in the file. */
static bool is_dynamic(const struct ad_node *node, int output_dim)
{
    if (node->ninputs < 3 || !ad_node_has(node, 0) || !ad_node_has(node, 1) ||
        !ad_node_has(node, 2))
        return false;
    const struct ad_draft_value *x = ad_node_input(node, 0), *w = ad_node_input(node, 1);
    const struct ad_draft_op *zero = ad_node_input(node, 2)->producer;
    int64_t zeros = 1;
    if (ad_node_has(node, 3) && !ad_node_constant(node, 3))
        return false;
    if (ad_node_has(node, 3))
        zeros = ad_node_input(node, 3)->elements;
    return zero && zero->kind == AD_D_WHOLE && zero->whole.kind == AD_WHOLE_DYNAMIC_ZERO &&
           x->type == ADAPS_UINT8 && !x->constant && !x->open && x->rank >= 2 && x->rank <= 4 &&
           w->constant && w->constant->proto && !w->constant->tensor.i && w->elements > 0 &&
           w->rank > output_dim && (zeros == 1 || zeros == w->dims[output_dim]);
}

static enum adaps_status read_zeros(struct ad_node *node, struct weights *w,
                                    struct adaps_error *err)
{
    struct ad_arena *arena = &node->draft->arena;
    const struct ad_onnx_tensor *t = NULL;
    enum adaps_status status = ADAPS_OK;
    if (ad_node_has(node, 3))
        status = ad_draft_tensor(node->draft, node->inputs[3], &t, err);
    if (status != ADAPS_OK)
        return status;
    w->zeros = t ? (int64_t)t->count : 1;
    w->zero = ad_arena_alloc(arena, (size_t)w->zeros, sizeof *w->zero);
    w->one = ad_arena_alloc(arena, (size_t)w->zeros, sizeof *w->one);
    if (!w->zero || !w->one)
        return ad_error_memory(err, "zero points", (size_t)w->zeros * sizeof *w->zero);
    for (int64_t i = 0; i < w->zeros; i++) {
        w->zero[i] = t ? t->i[i] : 0;
        w->one[i] = 1;
    }
    return ADAPS_OK;
}

/* Zero points and sums; *exact: whether no number on the way can reach EXACT. */
static enum adaps_status read_weights(struct ad_node *node, struct weights *w, bool *exact,
                                      struct adaps_error *err)
{
    uint8_t *bytes;
    size_t count;
    enum adaps_status status = read_zeros(node, w, err);
    w->is_signed = node->types[1] == ONNX__TENSOR_PROTO__DATA_TYPE__INT8;
    w->sums = ad_arena_alloc(&node->draft->arena, (size_t)(w->outputs * w->taps), sizeof *w->sums);
    if (status == ADAPS_OK && !w->sums)
        status = ad_error_memory(err, "sums", (size_t)(w->outputs * w->taps) * sizeof *w->sums);
    if (status == ADAPS_OK)
        status = ad_onnx_tensor_bytes(node->draft->model, ad_node_input(node, 1)->constant->proto,
                                      &bytes, &count, err);
    if (status != ADAPS_OK)
        return status;
    *exact = true;
    for (int64_t o = 0; o < w->outputs; o++) {
        int64_t zero = w->zero[w->zeros > 1 ? o : 0], reach = 0;
        for (int64_t t = 0; t < w->taps; t++)
            w->sums[o * w->taps + t] = 0;
        for (int64_t k = 0; k < w->depth; k++) {
            uint8_t byte = bytes[o * w->output_step + k * w->step];
            int64_t weight = (w->is_signed ? (int8_t)byte : byte) - zero;
            w->sums[o * w->taps + k % w->taps] += weight;
            reach += weight < 0 ? -weight : weight;
        }
        *exact = *exact && reach * MOST_BYTE < EXACT;
    }
    ad_free(bytes);
    return ADAPS_OK;
}

static enum adaps_status add_one(struct ad_node *node, int *out, struct adaps_error *err)
{
    struct ad_onnx_tensor one;
    enum adaps_status status = ad_fold_tensor(node, 0, NULL, true, &one, err);
    if (status != ADAPS_OK)
        return status;
    one.f[0] = 1;
    return ad_draft_constant(node, &one, out, err);
}

static enum adaps_status cast(struct ad_node *node, int value, int32_t from, int32_t to, int *out,
                              struct adaps_error *err)
{
    static char name[] = "to";
    Onnx__AttributeProto *attribute = ad_arena_alloc(&node->draft->arena, 1, sizeof *attribute);
    if (!attribute)
        return ad_error_memory(err, "attributes", sizeof *attribute);
    onnx__attribute_proto__init(attribute);
    attribute->name = name;
    attribute->i = to;
    attribute->has_i = attribute->has_type = true;
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    return ad_import_as(node, "Cast", &attribute, 1, 1, &value, &from, out, err);
}

/* What `type` makes of the data and the weights, both as the whole numbers that they are. */
static enum adaps_status multiply(struct ad_node *node, const struct weights *w, const char *type,
                                  int output_dim, int *out, struct adaps_error *err)
{
    static const int32_t real = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    int one, operands[2], inputs[2] = {node->inputs[0], -1};
    int32_t types[2] = {node->types[0], real}, floats[2] = {real, real};
    const struct ad_dequantised from = {.x = node->inputs[1],
                                        .type = w->is_signed ? ADAPS_INT8 : ADAPS_UINT8,
                                        .axis = w->zeros > 1 ? output_dim : 0,
                                        .count = w->zeros,
                                        .scale = w->one,
                                        .zero = w->zero};
    enum adaps_status status = add_one(node, &one, err);
    inputs[1] = one;
    if (status == ADAPS_OK)
        status =
            ad_import_as(node, "DequantizeLinear", NULL, 0, 2, inputs, types, &operands[0], err);
    if (status == ADAPS_OK)
        status = ad_draft_dequantised(node, &from, &operands[1], err);
    return status == ADAPS_OK
               ? ad_import_as(node, type, node->proto->attribute, node->proto->n_attribute, 2,
                              operands, floats, out, err)
               : status;
}

/* The product less the zero point times the sums, which are taken over, as integers. */
static enum adaps_status subtract(struct ad_node *node, int product, struct ad_onnx_tensor *sums,
                                  struct adaps_error *err)
{
    int constant, zero, value;
    enum adaps_status status = ad_draft_constant(node, sums, &constant, err);
    if (status == ADAPS_OK)
        status = cast(node, node->inputs[2], node->types[2], ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                      &zero, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, zero, 1, (const int64_t[]){1}, &zero, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_MUL, zero, constant, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_SUB, product, value, &value, err);
    if (status != ADAPS_OK)
        return status;
    node->draft->values[value].integral = true;
    return cast(node, value, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                ONNX__TENSOR_PROTO__DATA_TYPE__INT32, &value, err);
}

enum adaps_status ad_import_matmul_integer(struct ad_node *node, struct adaps_error *err)
{
    if (!is_dynamic(node, 1) || ad_node_input(node, 1)->rank != 2)
        return ad_import_whole(node, err);
    const struct ad_draft_value *x = ad_node_input(node, 0), *v = ad_node_input(node, 1);
    struct weights w = {.outputs = v->dims[1],
                        .depth = v->dims[0],
                        .taps = 1,
                        .output_step = 1,
                        .step = v->dims[1]};
    struct ad_onnx_tensor sums;
    bool exact, fits = v->dims[0] == x->dims[x->rank - 1];
    int product;
    enum adaps_status status = read_weights(node, &w, &exact, err);
    if (status == ADAPS_OK && !(exact && fits))
        return ad_import_whole(node, err);
    if (status == ADAPS_OK)
        status = multiply(node, &w, "MatMul", 1, &product, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, 1, &w.outputs, true, &sums, err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t o = 0; o < w.outputs; o++)
        sums.f[o] = (float)w.sums[o];
    return subtract(node, product, &sums, err);
}

/* --- convolutions --- */

/* Whether a convolution on floats says the same with these attributes. */
static bool is_plain(const struct ad_node *node)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++)
        if (strcmp(node->proto->attribute[i]->name, "auto_pad") == 0)
            return false;
    return true;
}

/* Whether a constant of about the map that it makes is small enough. */
static bool may_add_sums(const struct ad_node *node, int64_t outputs)
{
    const struct ad_draft_value *x = ad_node_input(node, 0);
    return x->dims[2] * x->dims[3] <= node->draft->fold_left / 4 / outputs;
}

/* The sum of the weights that lie on the map, of each output channel and pixel; without padding of
 * each channel. */
static void fill_sums(const struct weights *w, const struct ad_window *window,
                      const struct ad_draft_value *in, const struct ad_onnx_tensor *sums)
{
    int64_t rows = sums->dims[1], columns = sums->dims[2];
    float *to = sums->f;
    for (int64_t o = 0; o < w->outputs; o++)
        for (int64_t i = 0; i < rows * columns; i++) {
            int64_t y = i / columns * window->sh - window->pt, sum = 0;
            int64_t x = i % columns * window->sw - window->pl;
            for (int64_t t = 0; t < w->taps; t++) {
                int64_t iy = y + t / window->kw * window->dh, ix = x + t % window->kw * window->dw;
                if (iy >= 0 && iy < in->dims[2] && ix >= 0 && ix < in->dims[3])
                    sum += w->sums[o * w->taps + t];
            }
            *to++ = (float)sum;
        }
}

enum adaps_status ad_import_conv_integer(struct ad_node *node, struct adaps_error *err)
{
    if (!is_dynamic(node, 0) || ad_node_input(node, 0)->rank != 4 ||
        ad_node_input(node, 1)->rank != 4 || !is_plain(node))
        return ad_import_whole(node, err);
    const struct ad_draft_value *v = ad_node_input(node, 1);
    struct weights w = {.outputs = v->dims[0],
                        .depth = v->dims[1] * v->dims[2] * v->dims[3],
                        .taps = v->dims[2] * v->dims[3],
                        .output_step = v->dims[1] * v->dims[2] * v->dims[3],
                        .step = 1};
    struct ad_onnx_tensor sums;
    bool exact, fits = may_add_sums(node, w.outputs);
    int product;
    enum adaps_status status = read_weights(node, &w, &exact, err);
    if (status == ADAPS_OK && !(exact && fits))
        return ad_import_whole(node, err);
    if (status == ADAPS_OK)
        status = multiply(node, &w, "Conv", 0, &product, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_op *conv = node->draft->values[product].producer;
    const struct ad_window window = conv->window;
    const struct ad_draft_value *out = &node->draft->values[product];
    int64_t dims[] = {w.outputs, 1, 1};
    if (window.pt || window.pl || window.pb || window.pr) {
        dims[1] = out->dims[2];
        dims[2] = out->dims[3];
    }
    status = ad_fold_tensor(node, 3, dims, true, &sums, err);
    if (status != ADAPS_OK)
        return status;
    fill_sums(&w, &window, ad_node_input(node, 0), &sums);
    return subtract(node, product, &sums, err);
}

int ad_node_integral(const struct ad_node *node, int k)
{
    const struct ad_draft_op *op = ad_node_input(node, k)->producer;
    bool is = op && op->kind == AD_D_WHOLE && op->whole.kind == AD_WHOLE_CAST &&
              op->whole.to == ADAPS_INT32 && node->draft->values[op->inputs[0]].integral;
    return is ? op->inputs[0] : -1;
}
