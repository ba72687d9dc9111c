/* Matrix products. With a constant matrix they become dense layers or convolutions of one tap, else
 * sums of products. */
#include "import/window.h"

#include <inttypes.h>
#include <string.h>

/* Input 1 as the weights of a product with k columns of the left operand: a float constant of
 * rank 2. *rows is the number of outputs. */
static enum adaps_status check_matrix(struct ad_node *node, int64_t k, bool transposed,
                                      int64_t *rows, struct adaps_error *err)
{
    enum adaps_status status = ad_node_float_weight(node, 1, "matrix", err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *b = ad_node_input(node, 1);
    char dims[128];
    ad_dims_format(b->rank, b->dims, dims, sizeof dims);
    if (b->rank != 2 || b->elements == 0)
        return ad_node_fail(node, err, "matrix '%s' is %s: only rank 2 is supported", b->name,
                            dims);
    *rows = transposed ? b->dims[1] : b->dims[0];
    int64_t depth = transposed ? b->dims[0] : b->dims[1];
    if (depth != k)
        return ad_node_fail(node, err, "matrix '%s' is %s%s, but the input has %" PRId64 " columns",
                            b->name, dims, transposed ? "" : " (transposed)", k);
    return ADAPS_OK;
}

static enum adaps_status row_vector(struct ad_node *node, int64_t count, double **out,
                                    struct adaps_error *err)
{
    *out = ad_arena_alloc(&node->draft->arena, (size_t)count, sizeof **out);
    return *out ? ADAPS_OK : ad_error_memory(err, "row factors", (size_t)count * sizeof **out);
}

/* beta * C as a constant or computed value of its own, for an ADD. */
static enum adaps_status scale_addend(struct ad_node *node, float beta, int *value,
                                      struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    if (beta == 1.0f)
        return ADAPS_OK;
    int k;
    enum adaps_status status = ad_draft_number(node, beta, &k, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_op *op;
    int inputs[] = {*value, k};
    status = ad_draft_op(node, AD_D_MUL, 2, inputs, d->values[*value].rank, d->values[*value].dims,
                         &op, err);
    if (status == ADAPS_OK)
        *value = op->output;
    return status;
}

/* A constant C that is the same for all rows becomes the bias. */
static enum adaps_status take_bias(struct ad_node *node, struct ad_draft_op *op, float beta,
                                   struct adaps_error *err)
{
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ad_node_floats(node, 2, "addend", &t, err);
    if (status == ADAPS_OK)
        status = row_vector(node, op->rows, &op->bias, err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t i = 0; i < op->rows; i++)
        op->bias[i] = (double)beta * (double)t->f[t->count == 1 ? 0 : i];
    return ADAPS_OK;
}

/* alpha * A * B is `op`; adds beta * C. */
static enum adaps_status add_addend(struct ad_node *node, struct ad_draft_op *op, float beta,
                                    struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    const struct ad_draft_value *c = ad_node_input(node, 2), *y = &d->values[op->output];
    int64_t dims[AD_MAX_RANK];
    int rank, value = node->inputs[2];
    if (c->rank > 2 || !ad_broadcast_dims(c, y, &rank, dims) ||
        memcmp(dims, y->dims, 2 * sizeof *dims) != 0) {
        char x[128];
        return ad_node_fail(node, err, "addend '%s' is %s, which does not fit the product", c->name,
                            ad_dims_format(c->rank, c->dims, x, sizeof x));
    }
    bool one_row = c->rank < 2 || c->dims[0] == 1;
    if (c->constant && one_row)
        return take_bias(node, op, beta, err);
    enum adaps_status status = ADAPS_OK;
    if (c->constant) {
        const struct ad_onnx_tensor *t;
        status = ad_node_floats(node, 2, "addend", &t, err);
        struct ad_onnx_tensor scaled;
        if (status == ADAPS_OK)
            status = ad_fold_tensor(node, c->rank, c->dims, true, &scaled, err);
        if (status != ADAPS_OK)
            return status;
        for (size_t i = 0; i < t->count; i++)
            scaled.f[i] = beta * t->f[i];
        status = ad_draft_constant(node, &scaled, &value, err);
    } else {
        status = scale_addend(node, beta, &value, err);
    }
    struct ad_draft_op *sum;
    int inputs[] = {op->output, value};
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_ADD, 2, inputs, 2, dims, &sum, err);
    if (status == ADAPS_OK)
        ad_node_set(node, sum->output);
    return status;
}

enum adaps_status ad_import_gemm(struct ad_node *node, struct adaps_error *err)
{
    int64_t trans_a, trans_b, rows = 0;
    float alpha, beta;
    enum adaps_status status = ad_node_arity(node, 2, 3, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "transA", 0, &trans_a, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "transB", 0, &trans_b, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "alpha", 1, &alpha, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "beta", 1, &beta, err);
    if (status != ADAPS_OK)
        return status;
    int a = node->inputs[0];
    if (ad_node_input(node, 0)->rank != 2)
        return ad_node_fail(node, err, "input '%s' is of rank %d, expected 2",
                            ad_node_input(node, 0)->name, ad_node_input(node, 0)->rank);
    if (trans_a != 0) {
        static const int32_t swap[AD_MAX_RANK] = {1, 0};
        status = ad_draft_transpose(node, a, swap, &a, err);
        if (status != ADAPS_OK)
            return status;
    }
    const struct ad_draft_value *in = &node->draft->values[a];
    status = check_matrix(node, in->dims[1], trans_b == 0, &rows, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_op *op;
    int64_t dims[] = {in->dims[0], rows};
    status = ad_draft_op(node, AD_D_FC, 1, &a, 2, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->weight = node->inputs[1];
    op->weight_transposed = trans_b == 0;
    op->rows = rows;
    ad_node_set(node, op->output);
    if (alpha != 1.0f) {
        status = row_vector(node, rows, &op->scale, err);
        for (int64_t i = 0; status == ADAPS_OK && i < rows; i++)
            op->scale[i] = (double)alpha;
    }
    if (status == ADAPS_OK && ad_node_has(node, 2))
        status = add_addend(node, op, beta, err);
    return status;
}

/* --- MatMul --- */

#define MAX_PRODUCTS (1 << 26) /* of two operands that are computed at run time */

/* rows of weights of `k` numbers each, columns of a constant matrix when `transposed`. */
struct matrix {
    int value; /* of rank 2 */
    bool transposed;
    int64_t rows;
};

/* A convolution of one tap: N x k*groups x H x W becomes N x rows x H x W. */
static enum adaps_status convolve(struct ad_node *node, int a, int filters, bool transposed,
                                  int64_t groups, int64_t rows, int *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[a];
    struct ad_draft_op *op;
    in.dims[1] = rows;
    enum adaps_status status = ad_draft_op(node, AD_D_CONV, 1, &a, 4, in.dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->window = ad_window_pad(0, 0, 0, 0);
    op->groups = (int32_t)groups;
    op->weight = filters;
    op->weight_transposed = transposed;
    op->rows = rows;
    *out = op->output;
    return ADAPS_OK;
}

/* What works on the last dim of rank 4 works on the channels of a map. */
static enum adaps_status multiply_pixels(struct ad_node *node, int a, const struct matrix *m,
                                         int *out, struct adaps_error *err)
{
    const int64_t *dims = node->draft->values[m->value].dims;
    const int64_t filters[] = {dims[0], dims[1], 1, 1};
    int by = m->value;
    enum adaps_status status = ad_draft_transpose(node, a, ad_channels_first, &a, err);
    if (status == ADAPS_OK && !m->transposed)
        status = ad_draft_reshape(node, by, 4, filters, &by, err);
    if (status == ADAPS_OK)
        status = convolve(node, a, by, m->transposed, 1, m->rows, out, err);
    return status == ADAPS_OK ? ad_draft_transpose(node, *out, ad_channels_last, out, err) : status;
}

/* The last dim of `a` times the matrix. */
static enum adaps_status multiply(struct ad_node *node, int a, const struct matrix *m, int *out,
                                  struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[a];
    struct ad_draft_op *op;
    if (in.rank == 4)
        return multiply_pixels(node, a, m, out, err);
    int64_t k = in.dims[in.rank - 1], flat[] = {in.elements / k, k};
    enum adaps_status status = ad_draft_reshape(node, a, 2, flat, &a, err);
    flat[1] = in.dims[in.rank - 1] = m->rows;
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_FC, 1, &a, 2, flat, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->weight = m->value;
    op->weight_transposed = m->transposed;
    op->rows = m->rows;
    return ad_draft_reshape(node, op->output, in.rank, in.dims, out, err);
}

static enum adaps_status swap_last(struct ad_node *node, int value, int *out,
                                   struct adaps_error *err)
{
    const struct ad_draft_value *v = &node->draft->values[value];
    int32_t perm[AD_MAX_RANK];
    for (int i = 0; i < AD_MAX_RANK; i++)
        perm[i] = i < v->rank - 2 || i >= v->rank ? i : 2 * v->rank - 3 - i;
    return v->constant ? ad_fold_transpose(node, value, perm, out, err)
                       : ad_draft_transpose(node, value, perm, out, err);
}

/* Refuses operands whose last dims do not fit each other. */
static enum adaps_status refuse_operands(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_draft_value *a = ad_node_input(node, 0), *b = ad_node_input(node, 1);
    char x[128], y[128];
    return ad_node_fail(node, err, "operands of %s and %s do not fit each other",
                        ad_dims_format(a->rank, a->dims, x, sizeof x),
                        ad_dims_format(b->rank, b->dims, y, sizeof y));
}

/* Several constant matrices, each for a part of `a`, or all of them for all of it: channels are
 * (matrix, column), and matrices are groups. */
static enum adaps_status multiply_batch(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_draft_value a = *ad_node_input(node, 0), b = *ad_node_input(node, 1);
    int shared = 0, own = 0, lead = 0;
    while (b.dims[lead] == 1)
        lead++; /* dims of 1 before the first that has several matrices */
    int64_t matrices = 1, others = 1, k = b.dims[b.rank - 2], n = b.dims[b.rank - 1];
    for (int i = lead; i < b.rank - 2; i++) {
        int at = i - b.rank + a.rank;
        int64_t has = at < 0 ? 1 : a.dims[at];
        shared += has == 1;
        own += has == b.dims[i];
        matrices *= b.dims[i];
    }
    if (a.rank < 2 || a.dims[a.rank - 1] != k)
        return refuse_operands(node, err);
    int count = b.rank - 2 - lead;
    if (own != count && shared != count)
        return ad_node_fail(node, err, "some of its matrices are for all of '%s', some for parts",
                            a.name);
    int64_t dims[AD_MAX_RANK], m = a.dims[a.rank - 2], groups = own == count ? matrices : 1;
    int rank = a.rank > b.rank ? a.rank : b.rank;
    for (int i = 0; i < rank - 2; i++) {
        int p = i - rank + a.rank, q = i - rank + b.rank;
        dims[i] = q >= lead ? b.dims[q] : p >= 0 ? a.dims[p] : 1;
        others *= q >= lead ? 1 : dims[i];
    }
    dims[rank - 2] = m;
    dims[rank - 1] = n;
    const int64_t parts[] = {others, groups, m, k}, map[] = {others, groups * k, m, 1};
    const int64_t filters[] = {matrices * n, k, 1, 1}, results[] = {others, matrices, n, m};
    int by, value;
    enum adaps_status status = swap_last(node, node->inputs[1], &by, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, by, 4, filters, &by, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, node->inputs[0], 4, parts, &value, err);
    if (status == ADAPS_OK)
        status = swap_last(node, value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, 4, map, &value, err);
    if (status == ADAPS_OK)
        status = convolve(node, value, by, false, groups, matrices * n, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, 4, results, &value, err);
    if (status == ADAPS_OK)
        status = swap_last(node, value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, rank, dims, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* Whether all dims before the last two are 1. */
static bool is_one_matrix(const struct ad_draft_value *v)
{
    return v->elements == v->dims[v->rank - 2] * v->dims[v->rank - 1];
}

/* Two operands that are computed at run time, with as many matrices or one for all of the other's:
 * *out is NULL where they have others. */
static enum adaps_status multiply_matrices(struct ad_node *node, struct ad_draft_op **out,
                                           struct adaps_error *err)
{
    const struct ad_draft_value *a = ad_node_input(node, 0), *b = ad_node_input(node, 1);
    int64_t dims[AD_MAX_RANK];
    int rank = a->rank > b->rank ? a->rank : b->rank;
    bool same = a->rank == b->rank, one = is_one_matrix(a) || is_one_matrix(b);
    /* the operand whose matrices are those of the result */
    const struct ad_draft_value *more =
        is_one_matrix(b) && !(is_one_matrix(a) && b->rank == rank) ? a : b;
    for (int i = 0; same && i < rank - 2; i++)
        same = a->dims[i] == b->dims[i];
    *out = NULL;
    if (more->rank != rank || (!same && !one))
        return ADAPS_OK;
    memcpy(dims, more->dims, sizeof dims);
    dims[rank - 2] = a->dims[a->rank - 2];
    dims[rank - 1] = b->dims[b->rank - 1];
    int64_t depth = a->dims[a->rank - 1];
    enum adaps_status status =
        ad_draft_op(node, AD_D_MATMUL, 2, node->inputs, rank, dims, out, err);
    if (status == ADAPS_OK)
        (*out)->inner = depth;
    return status;
}

/* Two operands that are computed at run time. Where matrices are repeated in some dims only: every
 * product, and sums of these. */
static enum adaps_status multiply_computed(struct ad_node *node, struct adaps_error *err)
{
    struct ad_draft_value a = *ad_node_input(node, 0), b = *ad_node_input(node, 1);
    int left, right, value;
    if (a.rank < 2 || b.rank < 2 || a.rank >= AD_MAX_RANK || b.rank >= AD_MAX_RANK ||
        a.dims[a.rank - 1] != b.dims[b.rank - 2])
        return refuse_operands(node, err);
    struct ad_draft_op *op;
    enum adaps_status status = multiply_matrices(node, &op, err);
    if (status == ADAPS_OK && op)
        ad_node_set(node, op->output);
    if (status != ADAPS_OK || op)
        return status;
    status = swap_last(node, node->inputs[1], &right, err);
    if (status != ADAPS_OK)
        return status;
    b = node->draft->values[right];
    a.dims[a.rank] = a.dims[a.rank - 1];
    a.dims[a.rank - 1] = 1;
    b.dims[b.rank] = b.dims[b.rank - 1];
    b.dims[b.rank - 1] = b.dims[b.rank - 2];
    b.dims[b.rank - 2] = 1;
    status = ad_draft_reshape(node, node->inputs[0], a.rank + 1, a.dims, &left, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, right, b.rank + 1, b.dims, &right, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_MUL, left, right, &value, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value all = node->draft->values[value];
    if (all.elements > MAX_PRODUCTS)
        return ad_node_fail(node, err,
                            "%" PRId64 " products of operands that are computed at run time: at "
                            "most %d are supported",
                            all.elements, MAX_PRODUCTS);
    status = ad_draft_reduce(node, AD_REDUCE_SUM, 1u << (all.rank - 1), value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, all.rank - 1, all.dims, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* A constant matrix times a computed value: the product of the transposed operands, swapped. */
static enum adaps_status multiply_left(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_draft_value a = *ad_node_input(node, 0), b = *ad_node_input(node, 1);
    struct matrix m = {node->inputs[0], false, a.dims[0]};
    int value;
    enum adaps_status status = ad_node_float_weight(node, 0, "matrix", err);
    if (status == ADAPS_OK && (a.rank != 2 || b.rank < 2 || a.dims[1] != b.dims[b.rank - 2]))
        status = refuse_operands(node, err);
    if (status == ADAPS_OK)
        status = swap_last(node, node->inputs[1], &value, err);
    if (status == ADAPS_OK)
        status = multiply(node, value, &m, &value, err);
    if (status == ADAPS_OK)
        status = swap_last(node, value, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

enum adaps_status ad_import_matmul(struct ad_node *node, struct adaps_error *err)
{
    struct matrix m = {.transposed = true};
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status != ADAPS_OK)
        return status;
    if (ad_node_constant(node, 0) && !ad_node_constant(node, 1))
        return multiply_left(node, err);
    status = ad_node_data(node, 0, err);
    if (status != ADAPS_OK)
        return status;
    if (!ad_node_constant(node, 1))
        return multiply_computed(node, err);
    status = ad_node_float_weight(node, 1, "matrix", err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value in = *ad_node_input(node, 0), b = *ad_node_input(node, 1);
    if (in.rank < 1 || b.rank < 1 || b.elements == 0)
        return refuse_operands(node, err);
    bool vector = b.rank == 1;
    int64_t k = b.dims[vector ? 0 : b.rank - 2];
    int64_t matrix[] = {k, vector ? 1 : b.dims[b.rank - 1]};
    if (b.elements > matrix[0] * matrix[1])
        return multiply_batch(node, err);
    if (k != in.dims[in.rank - 1] || (b.rank > in.rank && b.rank > 2))
        return refuse_operands(node, err);
    m.rows = matrix[1];
    int out;
    status = ad_draft_reshape(node, node->inputs[1], 2, matrix, &m.value, err);
    if (status == ADAPS_OK)
        status = multiply(node, node->inputs[0], &m, &out, err);
    if (status == ADAPS_OK && vector)
        status = ad_draft_reshape(node, out, in.rank - 1, in.dims, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}
