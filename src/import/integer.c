/* MatMulInteger of what DynamicQuantizeLinear makes by constant weights, as ONNX Runtime's dynamic
 * quantiser writes it: an operator that devices share, of operators that are there. The zero point
 * of the data is computed at run time, and with integers
 *     sum of (x - zero) * w = sum of x * w - zero * sum of w.
 * The first sum is a product of bytes of scale 1 and zero point 0 (quantise.c), the last one a
 * constant. All are floats, which whole numbers below 2^24 are exactly; weights with which they
 * could be larger are left to the operator that runs whole, which has the same bits. */
#include "import/operators.h"

#define EXACT (1 << 24)
#define MOST_BYTE 255 /* the largest magnitude of a byte and of a difference of two */

/* The weights: columns of `depth` bytes, and of each column a zero point. */
struct weights {
    int64_t depth, columns;
    int64_t zeros; /* how many there are: 1 or a column's each */
    int64_t *zero;
    float *one; /* as many */
};

/* Whether this is the form, but for the weights' numbers. */
static bool is_dynamic(const struct ad_node *node)
{
    if (node->ninputs < 3 || !ad_node_has(node, 0) || !ad_node_has(node, 1) ||
        !ad_node_has(node, 2))
        return false;
    const struct ad_draft_value *x = ad_node_input(node, 0), *w = ad_node_input(node, 1);
    const struct ad_draft_op *zero = ad_node_input(node, 2)->producer;
    bool ends = !ad_node_has(node, 3) ||
                (ad_node_constant(node, 3) && (ad_node_input(node, 3)->elements == 1 ||
                                               ad_node_input(node, 3)->elements == w->dims[1]));
    return zero && zero->kind == AD_D_WHOLE && zero->whole.kind == AD_WHOLE_DYNAMIC_ZERO &&
           x->type == ADAPS_UINT8 && !x->constant && !x->open && x->rank >= 2 && x->rank <= 4 &&
           w->constant && w->constant->proto && !w->constant->tensor.i && w->rank == 2 &&
           w->elements > 0 && w->dims[0] == x->dims[x->rank - 1] && ends;
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

/* The sum of each column, as a constant; *exact: whether no number on the way can reach EXACT. */
static enum adaps_status add_sums(struct ad_node *node, const struct weights *w, bool is_signed,
                                  int *out, bool *exact, struct adaps_error *err)
{
    struct ad_onnx_tensor sums;
    uint8_t *bytes;
    size_t count;
    enum adaps_status status = ad_onnx_tensor_bytes(
        node->draft->model, ad_node_input(node, 1)->constant->proto, &bytes, &count, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_fold_tensor(node, 1, &w->columns, true, &sums, err);
    *exact = status == ADAPS_OK;
    for (int64_t c = 0; c < w->columns && *exact; c++) {
        int64_t zero = w->zero[w->zeros > 1 ? c : 0], sum = 0, reach = 0;
        for (int64_t k = 0; k < w->depth; k++) {
            uint8_t byte = bytes[k * w->columns + c];
            int64_t weight = (is_signed ? (int8_t)byte : byte) - zero;
            sum += weight;
            reach += weight < 0 ? -weight : weight;
        }
        sums.f[c] = (float)sum;
        *exact = reach * MOST_BYTE < EXACT;
    }
    ad_free(bytes);
    return status == ADAPS_OK ? ad_draft_constant(node, &sums, out, err) : status;
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

/* The data times the weights, both as the whole numbers that they are. */
static enum adaps_status multiply(struct ad_node *node, const struct weights *w, int *out,
                                  struct adaps_error *err)
{
    static const int32_t real = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    int one, operands[2], inputs[2] = {node->inputs[0], -1};
    int32_t types[2] = {node->types[0], real}, floats[2] = {real, real};
    const struct ad_dequantised from = {
        .x = node->inputs[1],
        .type = node->types[1] == ONNX__TENSOR_PROTO__DATA_TYPE__INT8 ? ADAPS_INT8 : ADAPS_UINT8,
        .axis = w->zeros > 1 ? 1 : 0,
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
    return status == ADAPS_OK ? ad_import_as(node, "MatMul", NULL, 0, 2, operands, floats, out, err)
                              : status;
}

enum adaps_status ad_import_matmul_integer(struct ad_node *node, struct adaps_error *err)
{
    struct weights w;
    int sums, product, zero, value;
    bool exact;
    if (!is_dynamic(node))
        return ad_import_whole(node, err);
    w.depth = ad_node_input(node, 1)->dims[0];
    w.columns = ad_node_input(node, 1)->dims[1];
    enum adaps_status status = read_zeros(node, &w, err);
    if (status == ADAPS_OK)
        status = add_sums(node, &w, node->types[1] == ONNX__TENSOR_PROTO__DATA_TYPE__INT8, &sums,
                          &exact, err);
    if (status == ADAPS_OK && !exact)
        return ad_import_whole(node, err);
    if (status == ADAPS_OK)
        status = multiply(node, &w, &product, err);
    if (status == ADAPS_OK)
        status = cast(node, node->inputs[2], node->types[2], ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                      &zero, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, zero, 1, (const int64_t[]){1}, &zero, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_MUL, zero, sums, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_SUB, product, value, &value, err);
    if (status != ADAPS_OK)
        return status;
    node->draft->values[value].integral = true;
    return cast(node, value, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                ONNX__TENSOR_PROTO__DATA_TYPE__INT32, &value, err);
}

int ad_node_integral(const struct ad_node *node, int k)
{
    const struct ad_draft_op *op = ad_node_input(node, k)->producer;
    bool is = op && op->kind == AD_D_WHOLE && op->whole.kind == AD_WHOLE_CAST &&
              op->whole.to == ADAPS_INT32 && node->draft->values[op->inputs[0]].integral;
    return is ? op->inputs[0] : -1;
}
