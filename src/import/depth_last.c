/* Values of rank 5 whose dim 2 is moved to the end, N x A x H x W x D, as detectors have them: for
 * each of A anchors and each pixel D numbers. Such a value is one of rank 4, N x (A H) x W x D,
 * with its channels last: a map with the rows of the anchors one below the other. So the Transpose
 * becomes one that orders channels and one to channels last, and operators on such values become
 * operators of rank 4, which src/import/channels_last.c turns. Slices and joins of the D numbers
 * are then those of channels, and the map lies in memory as the value does. */
#include "import/internal.h"

#include <string.h>

/* Dims 1 and 2 as one. */
static void merge(const int64_t from[5], int64_t to[4])
{
    to[0] = from[0];
    to[1] = from[1] * from[2];
    to[2] = from[3];
    to[3] = from[4];
}

/* Moves the ops that were added since there were `count` before place *at, which moves on. */
static void move_added(struct ad_draft *d, size_t count, size_t *at)
{
    for (; count < d->nops; count++) {
        struct ad_draft_op *added = d->ops[count];
        memmove(&d->ops[*at + 1], &d->ops[*at], (count - *at) * sizeof(struct ad_draft_op *));
        d->ops[(*at)++] = added;
    }
}

/* What made `result` now makes `value`, and a RESHAPE after place *at makes `result` of it. */
static enum adaps_status reshape_back(struct ad_node *node, int value, int result, size_t *at,
                                      struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    struct ad_draft_op *back;
    size_t count = d->nops;
    enum adaps_status status = ad_draft_op(node, AD_D_RESHAPE, 1, &value, d->values[result].rank,
                                           d->values[result].dims, &back, err);
    if (status != ADAPS_OK)
        return status;
    back->output = result; /* instead of the value that came with it, which has no reader */
    back->type = "Reshape";
    d->values[result].producer = back;
    size_t after = *at + 1;
    move_added(d, count, &after);
    return ADAPS_OK;
}

static bool moves_depth_last(const struct ad_draft *d, const struct ad_draft_op *op)
{
    static const int32_t perm[] = {0, 1, 3, 4, 2};
    return op->kind == AD_D_TRANSPOSE && d->values[op->output].rank == 5 &&
           memcmp(op->perm, perm, sizeof perm) == 0;
}

/* The Transpose at *at: dims 1 and 2 change places, then it is one to channels last of rank 4. */
static enum adaps_status split_transpose(struct ad_node *node, size_t *at, struct adaps_error *err)
{
    static const int32_t swap[AD_MAX_RANK] = {0, 2, 1, 3, 4};
    struct ad_draft *d = node->draft;
    struct ad_draft_op *op = d->ops[*at];
    const struct ad_draft_value in = d->values[op->inputs[0]];
    const int64_t map[] = {in.dims[0], in.dims[2], in.dims[1] * in.dims[3], in.dims[4]};
    int64_t last[4];
    int result = op->output, value, turned;
    size_t count = d->nops;
    merge(d->values[result].dims, last);
    enum adaps_status status = ad_draft_transpose(node, op->inputs[0], swap, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, 4, map, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_value(node, d->values[result].name, 4, last, &turned, err);
    if (status != ADAPS_OK)
        return status;
    move_added(d, count, at);
    op->inputs[0] = value;
    memcpy(op->perm, ad_channels_last, sizeof op->perm);
    op->output = turned;
    d->values[turned].producer = op;
    return reshape_back(node, turned, result, at, err);
}

/* Whether v is a value with channels last and its dim 1 in two. */
static bool is_merged(const struct ad_draft *d, int v)
{
    const struct ad_draft_op *op = d->values[v].producer;
    const struct ad_draft_value *to = &d->values[v];
    int64_t dims[4];
    if (!op || op->kind != AD_D_RESHAPE || to->rank != 5 || d->values[op->inputs[0]].rank != 4)
        return false;
    op = d->values[op->inputs[0]].producer;
    merge(to->dims, dims);
    return op && op->kind == AD_D_TRANSPOSE &&
           memcmp(op->perm, ad_channels_last, sizeof op->perm) == 0 &&
           memcmp(d->values[op->output].dims, dims, sizeof dims) == 0;
}

/* Dims as rank 5, by leading dims of 1. */
static void wide_dims(const struct ad_draft_value *v, int64_t dims[5])
{
    for (int i = 0; i < 5; i++)
        dims[i] = i < 5 - v->rank ? 1 : v->dims[i - (5 - v->rank)];
}

static bool has_dims_1_and_2_of(const int64_t *dims, const struct ad_draft_value *out)
{
    return dims[1] == out->dims[1] && dims[2] == out->dims[2];
}

/* Whether the operand's dims 1 and 2 can be one; constants are repeated for that. */
static bool can_merge(const struct ad_draft *d, int v, const struct ad_draft_value *out)
{
    int64_t dims[5];
    if (d->values[v].rank > 5)
        return false;
    wide_dims(&d->values[v], dims);
    return d->values[v].constant ||
           (d->values[v].rank == 5 && (dims[1] * dims[2] == 1 || has_dims_1_and_2_of(dims, out)));
}

/* A constant as rank 4, repeated along dim 1 or 2 where it has only the other one. */
static enum adaps_status merge_constant(struct ad_node *node, int *v,
                                        const struct ad_draft_value *out, struct adaps_error *err)
{
    struct ad_onnx_tensor tensor;
    int64_t dims[5], merged[4];
    enum adaps_status status = ADAPS_OK;
    wide_dims(&node->draft->values[*v], dims);
    if (dims[1] * dims[2] != 1 && !has_dims_1_and_2_of(dims, out)) {
        memcpy(dims + 1, out->dims + 1, 2 * sizeof *dims);
        status = ad_fold_stretched(node, *v, 5, dims, &tensor, err);
        if (status == ADAPS_OK)
            status = ad_draft_constant(node, &tensor, v, err);
    }
    merge(dims, merged);
    return status == ADAPS_OK ? ad_draft_reshape(node, *v, 4, merged, v, err) : status;
}

static bool stays(const struct ad_positions *p)
{
    return p->start == 0 && p->step == p->unit;
}

/* Whether the op does the same to values of rank 4. */
static bool keeps_dims_1_and_2(const struct ad_draft *d, const struct ad_draft_op *op)
{
    const struct ad_draft_value *in = &d->values[op->inputs[0]], *out = &d->values[op->output];
    if (out->rank != 5)
        return false;
    if (op->kind == AD_D_RESAMPLE)
        return has_dims_1_and_2_of(in->dims, out) && stays(&op->positions[1]) &&
               stays(&op->positions[2]);
    return op->kind == AD_D_UNARY || (op->kind >= AD_D_ADD && op->kind <= AD_D_PRELU) ||
           (op->kind == AD_D_CONCAT && op->axis > 2);
}

static enum adaps_status merge_inputs(struct ad_node *node, struct ad_draft_op *op, size_t *at,
                                      struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    const struct ad_draft_value out = d->values[op->output];
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++) {
        int64_t dims[5], merged[4];
        size_t count = d->nops;
        wide_dims(&d->values[op->inputs[k]], dims);
        merge(dims, merged);
        status = d->values[op->inputs[k]].constant
                     ? merge_constant(node, &op->inputs[k], &out, err)
                     : ad_draft_reshape(node, op->inputs[k], 4, merged, &op->inputs[k], err);
        move_added(d, count, at);
    }
    return status;
}

enum adaps_status ad_node_merge(struct ad_node *node, size_t *at, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    struct ad_draft_op *op = d->ops[*at];
    if (moves_depth_last(d, op))
        return split_transpose(node, at, err);
    bool wanted = false, possible = keeps_dims_1_and_2(d, op);
    for (int k = 0; k < op->ninputs && possible; k++) {
        wanted = wanted || is_merged(d, op->inputs[k]);
        possible = can_merge(d, op->inputs[k], &d->values[op->output]);
    }
    if (!wanted || !possible)
        return ADAPS_OK;
    int64_t dims[4];
    int result = op->output, merged;
    merge(d->values[result].dims, dims);
    enum adaps_status status = merge_inputs(node, op, at, err);
    if (status == ADAPS_OK)
        status = ad_draft_value(node, d->values[result].name, 4, dims, &merged, err);
    if (status != ADAPS_OK)
        return status;
    op->output = merged;
    d->values[merged].producer = op;
    if (op->kind == AD_D_CONCAT)
        op->axis--;
    if (op->kind == AD_D_RESAMPLE)
        memmove(&op->positions[2], &op->positions[3], 2 * sizeof *op->positions);
    return reshape_back(node, merged, result, at, err);
}
