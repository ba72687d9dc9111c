/* Activations, and arithmetic of two operands. */
#include "ir/import_priv.h"

#include <inttypes.h>
#include <string.h>

static enum adaps_status clamp(struct ad_node *node, float lo, float hi, struct adaps_error *err)
{
    const struct ad_draft_value *in = ad_node_input(node, 0);
    struct ad_draft_op *op;
    enum adaps_status status =
        ad_draft_op(node, AD_D_UNARY, 1, node->inputs, in->rank, in->dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->clamp_min = lo + 0.0f; /* -0 as +0: a plan file does not tell them apart */
    op->clamp_max = hi;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

enum adaps_status ad_import_relu(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    return status == ADAPS_OK ? clamp(node, 0, INFINITY, err) : status;
}

/* A bound given as input k from opset 11 on. */
static enum adaps_status bound_input(struct ad_node *node, int k, const char *what, float *bound,
                                     struct adaps_error *err)
{
    const struct ad_onnx_tensor *t;
    if (!ad_node_has(node, k))
        return ADAPS_OK;
    enum adaps_status status = ad_node_floats(node, k, what, &t, err);
    if (status != ADAPS_OK)
        return status;
    if (t->count != 1)
        return ad_node_fail(node, err, "input %d (%s) has %zu elements", k, what, t->count);
    *bound = t->f[0];
    return ADAPS_OK;
}

enum adaps_status ad_import_clip(struct ad_node *node, struct adaps_error *err)
{
    float lo = -INFINITY, hi = INFINITY;
    enum adaps_status status = ad_node_arity(node, 1, node->opset < 11 ? 1 : 3, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK && node->opset < 11) {
        status = ad_node_float(node, "min", lo, &lo, err);
        if (status == ADAPS_OK)
            status = ad_node_float(node, "max", hi, &hi, err);
    } else if (status == ADAPS_OK) {
        status = bound_input(node, 1, "min", &lo, err);
        if (status == ADAPS_OK)
            status = bound_input(node, 2, "max", &hi, err);
    }
    if (status != ADAPS_OK)
        return status;
    if (isnan(lo) || isnan(hi))
        return ad_node_fail(node, err, "a bound is not a number");
    return clamp(node, lo < hi ? lo : hi, hi, err); /* ONNX: max wins where they cross */
}

/* Functions of one operand and their parameters' defaults. */
static const struct function_row {
    const char *type;
    enum ad_function function;
    int parameters; /* how many of alpha, beta are attributes */
    float alpha, beta;
} functions[] = {
    {"LeakyRelu", AD_FN_LEAKY_RELU, 1, 0.01f, 0},
    {"Sigmoid", AD_FN_SIGMOID, 0, 0, 0},
    {"HardSigmoid", AD_FN_HARD_SIGMOID, 2, 0.2f, 0.5f},
    {"HardSwish", AD_FN_HARD_SWISH, 0, 1.0f / 6, 0.5f},
};

static const struct function_row *function_of(const char *type)
{
    const struct function_row *row = functions;
    while (strcmp(row->type, type) != 0) /* those of the table of operators are all here */
        row++;
    return row;
}

enum adaps_status ad_import_function(struct ad_node *node, struct adaps_error *err)
{
    const struct function_row *row = function_of(node->type);
    float alpha = row->alpha, beta = row->beta;
    struct ad_draft_op *op;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK && row->parameters > 0)
        status = ad_node_float(node, "alpha", alpha, &alpha, err);
    if (status == ADAPS_OK && row->parameters > 1)
        status = ad_node_float(node, "beta", beta, &beta, err);
    if (status != ADAPS_OK)
        return status;
    if (!isfinite(alpha) || !isfinite(beta))
        return ad_node_fail(node, err, "alpha %g, beta %g", (double)alpha, (double)beta);
    const struct ad_draft_value *in = ad_node_input(node, 0);
    status = ad_draft_op(node, AD_D_UNARY, 1, node->inputs, in->rank, in->dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->function = row->function;
    op->alpha = alpha + 0.0f; /* -0 as +0, see clamp() */
    op->beta = beta + 0.0f;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

bool ad_broadcast_dims(const struct ad_draft_value *a, const struct ad_draft_value *b, int *rank,
                       int64_t *dims)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < *rank; i++) {
        int p = i - (*rank - a->rank), q = i - (*rank - b->rank);
        int64_t x = p < 0 ? 1 : a->dims[p], y = q < 0 ? 1 : b->dims[q];
        if (x != y && x != 1 && y != 1)
            return false;
        dims[i] = x == 1 ? y : x;
    }
    return true;
}

/* Before opset 7 the second operand is stretched only on demand, and stands at `axis`: a
 * re-labelled value with trailing dims of 1. */
static enum adaps_status align_old_operand(struct ad_node *node, int *b, struct adaps_error *err)
{
    int64_t broadcast, axis;
    int at;
    const struct ad_draft_value *p = ad_node_input(node, 0), *q = ad_node_input(node, 1);
    enum adaps_status status = ad_node_int(node, "broadcast", 0, &broadcast, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", p->rank - q->rank, &axis, err);
    if (status != ADAPS_OK)
        return status;
    if (broadcast == 0) {
        if (p->rank != q->rank || memcmp(p->dims, q->dims, sizeof p->dims) != 0)
            return ad_node_fail(node, err, "operands differ in shape, and broadcast is not set");
        return ADAPS_OK;
    }
    if (q->rank == 0)
        return ADAPS_OK;
    status = ad_node_axis(node, axis, p->rank > 0 ? p->rank : 1, &at, err);
    if (status != ADAPS_OK)
        return status;
    if (at + q->rank > p->rank)
        return ad_node_fail(node, err, "axis %d with operands of rank %d and %d", at, p->rank,
                            q->rank);
    int64_t dims[AD_MAX_RANK];
    int rank = p->rank - at;
    for (int i = 0; i < rank; i++)
        dims[i] = i < q->rank ? q->dims[i] : 1;
    return ad_draft_reshape(node, *b, rank, dims, b, err);
}

static enum adaps_status need_float(struct ad_node *node, int value, struct adaps_error *err)
{
    bool is_float;
    if (!node->draft->values[value].constant)
        return ADAPS_OK;
    enum adaps_status status = ad_draft_check(node->draft, value, &is_float, err);
    if (status == ADAPS_OK && !is_float)
        return ad_node_fail(node, err, "operand '%s' is not of a float type",
                            node->draft->values[value].name);
    return status;
}

static enum ad_draft_kind arithmetic_of(const char *type)
{
    switch (type[0]) {
    case 'A':
        return AD_D_ADD;
    case 'S':
        return AD_D_SUB;
    case 'M':
        return AD_D_MUL;
    default:
        return AD_D_DIV;
    }
}

enum adaps_status ad_import_arithmetic(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status != ADAPS_OK)
        return status;
    int inputs[2] = {node->inputs[0], node->inputs[1]};
    if (node->opset < 7)
        status = align_old_operand(node, &inputs[1], err);
    if (status != ADAPS_OK)
        return status;
    if (ad_node_constant(node, 0) && ad_node_constant(node, 1))
        return ad_fold_arithmetic(node, inputs[0], inputs[1], err);
    for (int k = 0; k < 2 && status == ADAPS_OK; k++)
        status = need_float(node, inputs[k], err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *a = &node->draft->values[inputs[0]];
    const struct ad_draft_value *b = &node->draft->values[inputs[1]];
    int rank;
    int64_t dims[AD_MAX_RANK];
    if (!ad_broadcast_dims(a, b, &rank, dims)) {
        char x[128], y[128];
        return ad_node_fail(node, err, "operands of %s and %s do not fit each other",
                            ad_dims_format(a->rank, a->dims, x, sizeof x),
                            ad_dims_format(b->rank, b->dims, y, sizeof y));
    }
    struct ad_draft_op *op;
    status = ad_draft_op(node, arithmetic_of(node->type), 2, inputs, rank, dims, &op, err);
    if (status == ADAPS_OK)
        ad_node_set(node, op->output);
    return status;
}
