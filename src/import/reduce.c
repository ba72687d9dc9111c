/* Reductions, LogSoftmax and LpNormalization, which are made of them. Means over height and
 * width are global average pools, and reductions of channels can be split by pixels. All others
 * reduce the last elements of each row, after a transposition where it takes one. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

/* --- one reduction --- */

/* The pool over all of a map (rank 4): means and maxima; other reductions by way of these. */
static enum adaps_status pool_all(struct ad_node *node, enum ad_reduction how, int value, int *out,
                                  struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    const int64_t dims[] = {in.dims[0], in.dims[1], 1, 1};
    bool mean = how == AD_REDUCE_MEAN || how == AD_REDUCE_SUM;
    struct ad_draft_op *op;
    enum adaps_status status = ADAPS_OK;
    if (how == AD_REDUCE_MIN)
        status = ad_draft_function(node, AD_FN_NEG, value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_op(node, mean ? AD_D_GAP : AD_D_MAXPOOL, 1, &value, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    if (!mean)
        op->window = (struct ad_window){.kh = (int32_t)in.dims[2],
                                        .kw = (int32_t)in.dims[3],
                                        .sh = 1,
                                        .sw = 1,
                                        .dh = 1,
                                        .dw = 1};
    *out = op->output;
    if (how == AD_REDUCE_MIN)
        return ad_draft_function(node, AD_FN_NEG, *out, out, err);
    if (how == AD_REDUCE_SUM)
        return ad_draft_with_number(node, AD_D_MUL, *out, (float)(in.dims[2] * in.dims[3]), out,
                                    err);
    return ADAPS_OK;
}

/* Over the axes of the mask, which stay as dims of 1, by an operator of its own. */
static enum adaps_status reduce_rows(struct ad_node *node, enum ad_reduction how, unsigned mask,
                                     int value, int *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    int32_t perm[AD_MAX_RANK];
    int n = 0;
    int64_t kept[AD_MAX_RANK], inner = 1;
    bool channels = in.rank == 4 && mask == 2;
    for (int last = 0; last < 2; last++) /* the dims that stay, then those that are reduced */
        for (int i = 0; i < in.rank; i++)
            if ((int)(mask >> i & 1) == last)
                perm[n++] = i;
    for (int i = 0; i < in.rank; i++) {
        bool goes = mask >> i & 1;
        kept[i] = goes ? 1 : in.dims[i];
        inner *= goes ? in.dims[i] : 1;
    }
    enum adaps_status status = ADAPS_OK;
    if (!channels)
        status = ad_draft_transpose(node, value, perm, &value, err);
    struct ad_draft_op *op;
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_REDUCE, 1, &value, in.rank, kept, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->reduction = how;
    op->inner = channels ? 0 : inner;
    *out = op->output;
    return ADAPS_OK;
}

enum adaps_status ad_draft_reduce(struct ad_node *node, enum ad_reduction how, unsigned mask,
                                  int value, int *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    bool map =
        in.rank == 4 && how != AD_REDUCE_PRODUCT && in.dims[2] <= 1 << 20 && in.dims[3] <= 1 << 20;
    enum adaps_status status = ADAPS_OK;
    *out = value;
    if (mask == 0)
        return ADAPS_OK;
    if (map && mask == 6 && in.dims[1] <= 1 << 20) { /* all pixels of a map with channels last */
        const int64_t kept[] = {in.dims[0], 1, 1, in.dims[3]};
        status = ad_draft_transpose(node, value, ad_channels_first, &value, err);
        if (status == ADAPS_OK)
            status = pool_all(node, how, value, &value, err);
        return status == ADAPS_OK ? ad_draft_reshape(node, value, 4, kept, out, err) : status;
    }
    if (!map || (mask & 0xc) != 0xc || (mask & 1))
        return reduce_rows(node, how, mask, value, out, err);
    if (mask & 2)
        status = reduce_rows(node, how, 2, value, &value, err);
    return status == ADAPS_OK ? pool_all(node, how, value, out, err) : status;
}

/* --- Reduce* --- */

/* The function before, the reduction, and the function after it. */
static const struct reduction_row {
    const char *type;
    enum ad_function before;
    bool square;
    enum ad_reduction how;
    enum ad_function after;
} reductions[] = {
    {"ReduceMean", AD_FN_NONE, false, AD_REDUCE_MEAN, AD_FN_NONE},
    {"ReduceSum", AD_FN_NONE, false, AD_REDUCE_SUM, AD_FN_NONE},
    {"ReduceMax", AD_FN_NONE, false, AD_REDUCE_MAX, AD_FN_NONE},
    {"ReduceMin", AD_FN_NONE, false, AD_REDUCE_MIN, AD_FN_NONE},
    {"ReduceProd", AD_FN_NONE, false, AD_REDUCE_PRODUCT, AD_FN_NONE},
    {"ReduceL1", AD_FN_ABS, false, AD_REDUCE_SUM, AD_FN_NONE},
    {"ReduceL2", AD_FN_NONE, true, AD_REDUCE_SUM, AD_FN_SQRT},
    {"ReduceSumSquare", AD_FN_NONE, true, AD_REDUCE_SUM, AD_FN_NONE},
    {"ReduceLogSum", AD_FN_NONE, false, AD_REDUCE_SUM, AD_FN_LOG},
};

static const struct reduction_row *row_of(const char *type)
{
    const struct reduction_row *row = reductions;
    while (strcmp(row->type, type) != 0) /* every operator that gets here has a row */
        row++;
    return row;
}

/* Axes, an attribute before opset `since`, as a mask; all without any, none with
 * noop_with_empty_axes. */
static enum adaps_status read_axes(struct ad_node *node, int64_t since, unsigned *mask,
                                   struct adaps_error *err)
{
    const int64_t *items = NULL;
    size_t count = 0;
    int64_t noop = 0;
    const struct ad_onnx_tensor *t;
    int rank = ad_node_input(node, 0)->rank;
    enum adaps_status status = ad_node_int(node, "noop_with_empty_axes", 0, &noop, err);
    if (status == ADAPS_OK && node->opset < since) {
        status =
            ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "axes", &items, &count, err), err);
    } else if (status == ADAPS_OK && ad_node_has(node, 1)) {
        status = ad_node_ints(node, 1, "axes", &t, err);
        if (status == ADAPS_OK) {
            items = t->i;
            count = t->count;
        }
    }
    *mask = count == 0 && noop == 0 ? (1u << rank) - 1 : 0;
    for (size_t i = 0; i < count && status == ADAPS_OK; i++) {
        int axis = 0;
        status = ad_node_axis(node, items[i], rank, &axis, err);
        if (status == ADAPS_OK && (*mask >> axis & 1))
            return ad_node_fail(node, err, "axis %d is named twice", axis);
        *mask |= 1u << axis;
    }
    return status;
}

/* Output 0 is `value`, without the reduced dims unless they are kept. */
static enum adaps_status finish(struct ad_node *node, int value, unsigned mask, int64_t keep,
                                struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    int64_t dims[AD_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < in.rank; i++)
        if (keep || !(mask >> i & 1))
            dims[rank++] = in.dims[i];
    enum adaps_status status = ad_draft_reshape(node, value, rank, dims, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* What reductions read beside their input, whose axes were an attribute before opset `since`. */
static enum adaps_status read_reduction(struct ad_node *node, int64_t since, unsigned *mask,
                                        int64_t *keep, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 1, node->opset < since ? 1 : 2, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = read_axes(node, since, mask, err);
    return status == ADAPS_OK ? ad_node_int(node, "keepdims", 1, keep, err) : status;
}

enum adaps_status ad_import_reduce(struct ad_node *node, struct adaps_error *err)
{
    const struct reduction_row *row = row_of(node->type);
    int64_t keep, since = strcmp(node->type, "ReduceSum") == 0 ? 13 : 18;
    unsigned mask = 0;
    enum adaps_status status = read_reduction(node, since, &mask, &keep, err);
    if (status != ADAPS_OK)
        return status;
    int value = node->inputs[0];
    if (row->before != AD_FN_NONE)
        status = ad_draft_function(node, row->before, value, &value, err);
    else if (row->square)
        status = ad_draft_binary(node, AD_D_MUL, value, value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reduce(node, row->how, mask, value, &value, err);
    if (status == ADAPS_OK && row->after != AD_FN_NONE)
        status = ad_draft_function(node, row->after, value, &value, err);
    return status == ADAPS_OK ? finish(node, value, mask, keep, err) : status;
}

/* x minus its maximum, and the logarithm of the sum of the exponentials of that. */
static enum adaps_status log_sum(struct ad_node *node, unsigned mask, int value, int *most,
                                 int *less, int *log, struct adaps_error *err)
{
    enum adaps_status status = ad_draft_reduce(node, AD_REDUCE_MAX, mask, value, most, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_SUB, value, *most, less, err);
    if (status == ADAPS_OK)
        status = ad_draft_function(node, AD_FN_EXP, *less, log, err);
    if (status == ADAPS_OK)
        status = ad_draft_reduce(node, AD_REDUCE_SUM, mask, *log, log, err);
    return status == ADAPS_OK ? ad_draft_function(node, AD_FN_LOG, *log, log, err) : status;
}

enum adaps_status ad_import_log_sum_exp(struct ad_node *node, struct adaps_error *err)
{
    int64_t keep;
    unsigned mask = 0;
    int most, less, log;
    enum adaps_status status = read_reduction(node, 18, &mask, &keep, err);
    if (status == ADAPS_OK)
        status = log_sum(node, mask, node->inputs[0], &most, &less, &log, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_ADD, log, most, &log, err);
    return status == ADAPS_OK ? finish(node, log, mask, keep, err) : status;
}

/* Before opset 13 over all dims from axis on, then over that dim. */
enum adaps_status ad_import_log_softmax(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis;
    int at = 0, most, less, log;
    unsigned mask = 0;
    bool flatten = node->opset < 13;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", flatten ? 1 : -1, &axis, err);
    int rank = status == ADAPS_OK ? ad_node_input(node, 0)->rank : 0;
    if (status == ADAPS_OK)
        status = ad_node_axis(node, axis, rank, &at, err);
    for (int i = at; i < rank && (i == at || flatten); i++)
        mask |= 1u << i;
    if (status == ADAPS_OK)
        status = log_sum(node, mask, node->inputs[0], &most, &less, &log, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_SUB, less, log, &log, err);
    if (status == ADAPS_OK)
        ad_node_set(node, log);
    return status;
}

/* Along one dim divided by the norm. */
enum adaps_status ad_import_lp_norm(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis, p;
    int at = 0, norm = -1, value = -1;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", -1, &axis, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "p", 2, &p, err);
    if (status == ADAPS_OK)
        status = ad_node_axis(node, axis, ad_node_input(node, 0)->rank, &at, err);
    if (status != ADAPS_OK)
        return status;
    int x = node->inputs[0];
    if (p == 1)
        status = ad_draft_function(node, AD_FN_ABS, x, &value, err);
    else if (p == 2)
        status = ad_draft_binary(node, AD_D_MUL, x, x, &value, err);
    else
        return ad_node_fail(node, err, "p %" PRId64 ": 1 and 2 are supported", p);
    if (status == ADAPS_OK)
        status = ad_draft_reduce(node, AD_REDUCE_SUM, 1u << at, value, &norm, err);
    if (status == ADAPS_OK && p == 2)
        status = ad_draft_function(node, AD_FN_SQRT, norm, &norm, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_DIV, x, norm, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}
