/* Activations, and arithmetic of two operands. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

enum adaps_status ad_draft_unary(struct ad_node *node, int value, struct ad_draft_op **out,
                                 struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    return ad_draft_op(node, AD_D_UNARY, 1, &value, in.rank, in.dims, out, err);
}

enum adaps_status ad_draft_function(struct ad_node *node, enum ad_function function, int value,
                                    int *out, struct adaps_error *err)
{
    struct ad_draft_op *op;
    enum adaps_status status = ad_draft_unary(node, value, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->function = function;
    *out = op->output;
    return ADAPS_OK;
}

enum adaps_status ad_draft_with_number(struct ad_node *node, enum ad_draft_kind kind, int value,
                                       float x, int *out, struct adaps_error *err)
{
    int k;
    enum adaps_status status = ad_draft_number(node, x, &k, err);
    return status == ADAPS_OK ? ad_draft_binary(node, kind, value, k, out, err) : status;
}

static enum adaps_status clamp(struct ad_node *node, float lo, float hi, struct adaps_error *err)
{
    struct ad_draft_op *op;
    enum adaps_status status = ad_draft_unary(node, node->inputs[0], &op, err);
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
    return clamp(node, lo < hi ? lo : hi, hi, err); /* ONNX: where they cross, max counts */
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
    {"Elu", AD_FN_ELU, 1, 1, 1},
    {"Selu", AD_FN_ELU, 2, 1.67326319217681884765625f, 1.05070102214813232421875f},
    {"Celu", AD_FN_CELU, 1, 1, 0},
    {"Softplus", AD_FN_SOFTPLUS, 0, 0, 0},
    {"Softsign", AD_FN_SOFTSIGN, 0, 0, 0},
    {"Mish", AD_FN_MISH, 0, 0, 0},
    {"Gelu", AD_FN_GELU, 0, 0, 0},
    {"Tanh", AD_FN_TANH, 0, 0, 0},
    {"Erf", AD_FN_ERF, 0, 0, 0},
    {"Exp", AD_FN_EXP, 0, 0, 0},
    {"Log", AD_FN_LOG, 0, 0, 0},
    {"Sqrt", AD_FN_SQRT, 0, 0, 0},
    {"Abs", AD_FN_ABS, 0, 0, 0},
    {"Neg", AD_FN_NEG, 0, 0, 0},
    {"Reciprocal", AD_FN_RECIPROCAL, 0, 0, 0},
    {"ThresholdedRelu", AD_FN_THRESHOLDED_RELU, 1, 1, 0},
    {"Floor", AD_FN_FLOOR, 0, 0, 0},
    {"Ceil", AD_FN_CEIL, 0, 0, 0},
};

static const struct function_row *function_of(const char *type)
{
    const struct function_row *row = functions;
    while (strcmp(row->type, type) != 0) /* every operator that gets here has a row */
        row++;
    return row;
}

/* Output 0 is this function of input 0. */
static enum adaps_status apply(struct ad_node *node, enum ad_function function, float alpha,
                               float beta, struct adaps_error *err)
{
    struct ad_draft_op *op;
    enum adaps_status status = ad_draft_unary(node, node->inputs[0], &op, err);
    if (status != ADAPS_OK)
        return status;
    op->function = function;
    op->alpha = alpha + 0.0f; /* -0 as +0, see clamp() */
    op->beta = beta + 0.0f;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

enum adaps_status ad_import_function(struct ad_node *node, struct adaps_error *err)
{
    const struct function_row *row = function_of(node->type);
    bool selu = strcmp(node->type, "Selu") == 0;
    if (ad_node_constant(node, 0) && ad_folds_constant(node->type))
        return ad_import_constant_unary(node, err);
    float alpha = row->alpha, beta = row->beta;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK && row->parameters > 0)
        status = ad_node_float(node, "alpha", alpha, &alpha, err);
    if (status == ADAPS_OK && row->parameters > 1)
        status = ad_node_float(node, selu ? "gamma" : "beta", beta, &beta, err);
    if (status != ADAPS_OK)
        return status;
    if (!isfinite(alpha) || !isfinite(beta) || (row->function == AD_FN_CELU && alpha == 0))
        return ad_node_fail(node, err, "alpha %g, beta %g", (double)alpha, (double)beta);
    return apply(node, row->function, alpha, beta, err);
}

/* x / (1 + e^(-alpha x)) */
enum adaps_status ad_import_swish(struct ad_node *node, struct adaps_error *err)
{
    float alpha;
    int gate = -1, value = -1;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "alpha", 1, &alpha, err);
    if (status != ADAPS_OK)
        return status;
    if (!isfinite(alpha))
        return ad_node_fail(node, err, "alpha %g", (double)alpha);
    if (alpha == 1)
        return apply(node, AD_FN_SILU, 0, 0, err);
    status = ad_draft_with_number(node, AD_D_MUL, node->inputs[0], alpha, &gate, err);
    if (status == ADAPS_OK)
        status = ad_draft_function(node, AD_FN_SIGMOID, gate, &gate, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_MUL, node->inputs[0], gate, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

enum adaps_status ad_import_gelu(struct ad_node *node, struct adaps_error *err)
{
    char approximate[16];
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_prefix(node,
                                ad_onnx_attr_string(node->proto, "approximate", "none", approximate,
                                                    sizeof approximate, err),
                                err);
    if (status != ADAPS_OK)
        return status;
    bool tanh = strcmp(approximate, "tanh") == 0;
    if (!tanh && strcmp(approximate, "none") != 0)
        return ad_node_fail(node, err, "approximate '%s' is unknown", approximate);
    return apply(node, tanh ? AD_FN_GELU_TANH : AD_FN_GELU, 0, 0, err);
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

static const struct binary_row {
    const char *type;
    enum ad_draft_kind kind;
} binaries[] = {
    {"Add", AD_D_ADD}, {"Sub", AD_D_SUB}, {"Mul", AD_D_MUL}, {"Div", AD_D_DIV},
    {"Sum", AD_D_ADD}, {"Min", AD_D_MIN}, {"Max", AD_D_MAX}, {"Mean", AD_D_ADD},
};

static enum ad_draft_kind binary_of(const char *type)
{
    const struct binary_row *row = binaries;
    while (strcmp(row->type, type) != 0) /* every operator that gets here has a row */
        row++;
    return row->kind;
}

enum adaps_status ad_draft_binary(struct ad_node *node, enum ad_draft_kind kind, int a, int b,
                                  int *out, struct adaps_error *err)
{
    const struct ad_draft_value *values = node->draft->values;
    const int inputs[2] = {a, b};
    int rank;
    int64_t dims[AD_MAX_RANK];
    if (!ad_broadcast_dims(&values[a], &values[b], &rank, dims)) {
        char x[128], y[128];
        return ad_node_fail(node, err, "operands of %s and %s do not fit each other",
                            ad_dims_format(values[a].rank, values[a].dims, x, sizeof x),
                            ad_dims_format(values[b].rank, values[b].dims, y, sizeof y));
    }
    struct ad_draft_op *op;
    enum adaps_status status = ad_draft_op(node, kind, 2, inputs, rank, dims, &op, err);
    if (status == ADAPS_OK)
        *out = op->output;
    return status;
}

enum adaps_status ad_node_combine(struct ad_node *node, enum ad_draft_kind kind, int a, int b,
                                  int *out, struct adaps_error *err)
{
    const struct ad_draft_value *values = node->draft->values;
    enum adaps_status status = ADAPS_OK;
    int value;
    if (values[a].constant && values[b].constant) {
        status = ad_fold_arithmetic(node, kind, a, b, &value, err);
    } else {
        status = need_float(node, a, err);
        if (status == ADAPS_OK)
            status = need_float(node, b, err);
        if (status == ADAPS_OK)
            status = ad_draft_binary(node, kind, a, b, &value, err);
    }
    if (status != ADAPS_OK)
        return status;
    ad_node_set(node, value);
    if (out)
        *out = value;
    return ADAPS_OK;
}

enum adaps_status ad_import_arithmetic(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status != ADAPS_OK)
        return status;
    int b = node->inputs[1];
    if (node->opset < 7)
        status = align_old_operand(node, &b, err);
    return status == ADAPS_OK
               ? ad_node_combine(node, binary_of(node->type), node->inputs[0], b, NULL, err)
               : status;
}

/* Sum, Min, Max, Mean: from the left. */
enum adaps_status ad_import_variadic(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, node->ninputs, INT32_MAX, err);
    if (status == ADAPS_OK && node->ninputs == 0)
        return ad_node_fail(node, err, "it has no inputs");
    if (status == ADAPS_OK)
        ad_node_set(node, node->inputs[0]);
    int count, value = node->ninputs > 0 ? node->inputs[0] : -1;
    for (int k = 1; k < node->ninputs && status == ADAPS_OK; k++)
        status = ad_node_combine(node, binary_of(node->type), value, node->inputs[k], &value, err);
    if (status != ADAPS_OK || strcmp(node->type, "Mean") != 0)
        return status;
    status = ad_draft_number(node, (float)node->ninputs, &count, err);
    return status == ADAPS_OK ? ad_node_combine(node, AD_D_DIV, value, count, NULL, err) : status;
}

/* The exponent as floats: Pow is the one operator whose operands may differ in type. */
static enum adaps_status float_exponent(struct ad_node *node, int *value, struct adaps_error *err)
{
    const struct ad_onnx_tensor *t;
    struct ad_onnx_tensor numbers;
    struct ad_draft_value v = node->draft->values[*value];
    enum adaps_status status = ad_draft_tensor(node->draft, *value, &t, err);
    if (status != ADAPS_OK || t->is_float)
        return status;
    status = ad_fold_tensor(node, v.rank, v.dims, true, &numbers, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t i = 0; i < t->count; i++)
        numbers.f[i] = (float)t->i[i];
    return ad_draft_constant(node, &numbers, value, err);
}

/* Powers of 2 and 1/2 become products and square roots, which are exact. */
enum adaps_status ad_import_pow(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status != ADAPS_OK)
        return status;
    int y = node->inputs[1];
    bool whole = false; /* the base is of integers, as the result then is */
    if (node->opset < 7)
        status = align_old_operand(node, &y, err);
    if (status == ADAPS_OK && ad_node_constant(node, 0)) {
        status = ad_draft_tensor(node->draft, node->inputs[0], &t, err);
        whole = status == ADAPS_OK && !t->is_float;
    }
    if (status == ADAPS_OK && ad_node_constant(node, 1) && !whole)
        status = float_exponent(node, &y, err);
    bool one = ad_node_constant(node, 1) && ad_node_input(node, 1)->elements == 1 &&
               ad_node_input(node, 1)->rank <= ad_node_input(node, 0)->rank;
    if (status == ADAPS_OK && one && !ad_node_constant(node, 0)) {
        status = ad_draft_tensor(node->draft, y, &t, err);
        if (status == ADAPS_OK && t->f[0] == 2)
            return ad_node_combine(node, AD_D_MUL, node->inputs[0], node->inputs[0], NULL, err);
        if (status == ADAPS_OK && t->f[0] == 0.5f)
            return apply(node, AD_FN_SQRT, 0, 0, err);
    }
    return status == ADAPS_OK ? ad_node_combine(node, AD_D_POW, node->inputs[0], y, NULL, err)
                              : status;
}

/* A slope per channel, which opset 6 gives as a vector, and MXNet's exporter later, too. */
enum adaps_status ad_import_prelu(struct ad_node *node, struct adaps_error *err)
{
    int slope;
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status != ADAPS_OK)
        return status;
    slope = node->inputs[1];
    const struct ad_draft_value *in = ad_node_input(node, 0), *s = ad_node_input(node, 1);
    bool channels = s->rank == 1 && s->dims[0] > 1 && in->rank > 2;
    if (channels &&
        (node->opset < 7 || (s->dims[0] == in->dims[1] && s->dims[0] != in->dims[in->rank - 1]))) {
        int64_t dims[AD_MAX_RANK];
        for (int i = 0; i < in->rank - 1; i++)
            dims[i] = i == 0 ? s->dims[0] : 1;
        status = ad_draft_reshape(node, slope, in->rank - 1, dims, &slope, err);
    }
    return status == ADAPS_OK ? ad_node_combine(node, AD_D_PRELU, node->inputs[0], slope, NULL, err)
                              : status;
}
