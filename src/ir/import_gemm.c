/* Matrix products with a constant matrix. */
#include "ir/import_priv.h"

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
    struct ad_onnx_tensor factor;
    enum adaps_status status = ad_fold_tensor(node, 0, NULL, true, &factor, err);
    if (status != ADAPS_OK)
        return status;
    factor.f[0] = beta;
    int k;
    status = ad_draft_constant(node, &factor, &k, err);
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
        const struct ad_onnx_tensor *t, *f;
        status = ad_node_floats(node, 2, "addend", &t, err);
        struct ad_onnx_tensor scaled;
        if (status == ADAPS_OK)
            status = ad_fold_tensor(node, c->rank, c->dims, true, &scaled, err);
        if (status != ADAPS_OK)
            return status;
        f = t;
        for (size_t i = 0; i < f->count; i++)
            scaled.f[i] = beta * f->f[i];
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
    int64_t trans_a, trans_b, rows;
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

enum adaps_status ad_import_matmul(struct ad_node *node, struct adaps_error *err)
{
    int64_t rows;
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    if (in.rank < 1)
        return ad_node_fail(node, err, "input '%s' is a scalar", in.name);
    int64_t k = in.dims[in.rank - 1], flat[] = {in.elements / k, k};
    status = check_matrix(node, k, true, &rows, err);
    if (status != ADAPS_OK)
        return status;
    int a;
    status = ad_draft_reshape(node, node->inputs[0], 2, flat, &a, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_op *op;
    int64_t dims[] = {flat[0], rows};
    status = ad_draft_op(node, AD_D_FC, 1, &a, 2, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->weight = node->inputs[1];
    op->weight_transposed = true;
    op->rows = rows;
    in.dims[in.rank - 1] = rows;
    int out;
    status = ad_draft_reshape(node, op->output, in.rank, in.dims, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}
