/* The rules of operators that run whole: quantised values, and products of matrices. */
#include "ir/whole_rules.h"

#include <inttypes.h>

/* Whether a parameter has one number, or one for each index along an axis, or one for each block
 * along it. */
static enum adaps_status check_parameter(const struct ad_whole_rule *rule,
                                         const struct ad_array *parameter)
{
    const struct ad_array *x = &rule->in[0];
    int64_t axis = rule->op->ints[0], block = rule->op->ints[1];
    bool fits = block > 0 ? parameter->rank == x->rank : parameter->rank == 1;
    if (axis < 0)
        fits = parameter->rank == 0 ||
               (fits && ad_whole_same_dim(1, false, parameter->dims[0], parameter->open) >= 0);
    for (int d = 0; d < parameter->rank && fits && axis >= 0; d++) {
        int64_t dim = x->dims[block > 0 ? d : axis];
        if (block > 0 && d == axis)
            dim = (dim + block - 1) / block;
        fits = ad_whole_same_dim(dim, x->open, parameter->dims[d], parameter->open) >= 0;
    }
    char a[AD_MAX_RANK * 12], b[AD_MAX_RANK * 12];
    if (fits)
        return ADAPS_OK;
    return AD_WHOLE_FAIL(rule, "scale or zero of %s for %s, axis %" PRId64 ", blocks of %" PRId64,
                         ad_dims_format(parameter->rank, parameter->dims, a, sizeof a),
                         ad_dims_format(x->rank, x->dims, b, sizeof b), axis, block);
}

static enum adaps_status check_parameters(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, -1, rule->in[0].rank - 1, "the axis");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, rule->op->ints[0] < 0 ? 0 : INT32_MAX, "the block size");
    for (int i = 1; i < rule->n && status == ADAPS_OK; i++)
        status = check_parameter(rule, &rule->in[i]);
    return status == ADAPS_OK ? ad_whole_add_dims(rule, &rule->in[0], 0, rule->in[0].rank) : status;
}

enum adaps_status ad_whole_rule_quantize(const struct ad_whole_rule *rule)
{
    enum adaps_type to = rule->op->to;
    if (to != ADAPS_INT8 && to != ADAPS_UINT8)
        return AD_WHOLE_FAIL(rule, "type %s: int8 or uint8 is needed", ad_type_name(to));
    if (rule->n == 3 && rule->in[2].type != to)
        return AD_WHOLE_FAIL(rule, "a zero of type %s for %s", ad_type_name(rule->in[2].type),
                             ad_type_name(to));
    rule->out->type = to;
    return check_parameters(rule);
}

enum adaps_status ad_whole_rule_dequantize(const struct ad_whole_rule *rule)
{
    rule->out->type = ADAPS_FLOAT32;
    return check_parameters(rule);
}

enum adaps_status ad_whole_rule_dynamic_scale(const struct ad_whole_rule *rule)
{
    (void)rule; /* a number of the input's type */
    return ADAPS_OK;
}

enum adaps_status ad_whole_rule_dynamic_zero(const struct ad_whole_rule *rule)
{
    rule->out->type = ADAPS_UINT8;
    return ADAPS_OK;
}

/* numpy's: of rank 1 a row or a column, whose dimension the result lacks. */
enum adaps_status ad_whole_rule_matmul(const struct ad_whole_rule *rule)
{
    const struct ad_array *a = &rule->in[0], *b = &rule->in[1];
    char left[AD_MAX_RANK * 12], right[AD_MAX_RANK * 12];
    bool fits = a->rank > 0 && b->rank > 0 &&
                ad_whole_same_dim(a->dims[a->rank - 1], a->open,
                                  b->dims[b->rank > 1 ? b->rank - 2 : 0], b->open) >= 0;
    if (!fits)
        return AD_WHOLE_FAIL(rule, "%s times %s",
                             ad_dims_format(a->rank, a->dims, left, sizeof left),
                             ad_dims_format(b->rank, b->dims, right, sizeof right));
    struct ad_array batches[2] = {*a, *b};
    for (int i = 0; i < 2; i++)
        batches[i].rank = batches[i].rank > 2 ? batches[i].rank - 2 : 0;
    enum adaps_status status = ad_whole_broadcast(rule, batches, 2);
    if (status == ADAPS_OK && a->rank > 1)
        status = ad_whole_add_dim(rule, a->dims[a->rank - 2]);
    if (status == ADAPS_OK && b->rank > 1)
        status = ad_whole_add_dim(rule, b->dims[b->rank - 1]);
    rule->out->open = a->open || b->open;
    return status;
}

/* Whether a zero is there for all, or one for each of `dim`. */
static enum adaps_status check_zero(const struct ad_whole_rule *rule, int input, int64_t dim,
                                    bool open)
{
    if (rule->n <= input)
        return ADAPS_OK;
    const struct ad_array *zero = &rule->in[input];
    char dims[AD_MAX_RANK * 12];
    if (zero->type != rule->in[input - 2].type)
        return AD_WHOLE_FAIL(rule, "a zero of type %s for %s", ad_type_name(zero->type),
                             ad_type_name(rule->in[input - 2].type));
    if (zero->rank == 0 ||
        (zero->rank == 1 &&
         (zero->dims[0] == 1 || ad_whole_same_dim(dim, open, zero->dims[0], zero->open) >= 0)))
        return ADAPS_OK;
    return AD_WHOLE_FAIL(rule, "a zero of %s: one number, or %" PRId64,
                         ad_dims_format(zero->rank, zero->dims, dims, sizeof dims), dim);
}

enum adaps_status ad_whole_rule_matmul_integer(const struct ad_whole_rule *rule)
{
    const struct ad_array *a = &rule->in[0], *b = &rule->in[1];
    enum adaps_status status = ad_whole_rule_matmul(rule);
    rule->out->type = ADAPS_INT32;
    if (status == ADAPS_OK)
        status = check_zero(rule, 2, a->rank > 1 ? a->dims[a->rank - 2] : 1, a->open);
    if (status == ADAPS_OK)
        status = check_zero(rule, 3, b->rank > 1 ? b->dims[b->rank - 1] : 1, b->open);
    return status;
}

/* How often a window fits along axis `d` of the map; it is at most so often in an open one. */
static enum adaps_status add_positions(const struct ad_whole_rule *rule, int d, int spatial)
{
    static const char *const names[] = {"a stride", "a dilation", "a pad", "a pad"};
    const struct ad_array *x = &rule->in[0], *w = &rule->in[1];
    int64_t of[4];
    for (int k = 0; k < 4; k++) {
        enum adaps_status status =
            ad_whole_int(rule, 1 + k * spatial + d, k < 2 ? 1 : 0, INT32_MAX, names[k]);
        if (status != ADAPS_OK)
            return status;
        of[k] = rule->op->ints[1 + k * spatial + d];
    }
    int64_t taps = w->dims[2 + d], size = x->dims[2 + d] + of[2] + of[3];
    if (taps == 0)
        return AD_WHOLE_FAIL(rule, "a window of 0 elements");
    /* an open window may be of one tap */
    int64_t window = w->open ? 1 : of[1] * (taps - 1) + 1;
    if (window > size && !x->open)
        return AD_WHOLE_FAIL(rule, "a window of %" PRId64 " elements of %" PRId64, window, size);
    return ad_whole_add_dim(rule, window > size ? 0 : (size - window) / of[0] + 1);
}

enum adaps_status ad_whole_rule_conv_integer(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *w = &rule->in[1];
    int64_t groups = rule->op->ints[0];
    int spatial = x->rank - 2;
    char a[AD_MAX_RANK * 12], b[AD_MAX_RANK * 12];
    if (spatial < 1 || w->rank != x->rank || rule->op->nints != 1 + 4 * spatial)
        return AD_WHOLE_FAIL(rule, "a convolution of rank %d and %d, with %d attributes", x->rank,
                             w->rank, rule->op->nints);
    enum adaps_status status = ad_whole_int(rule, 0, 1, INT32_MAX, "the number of groups");
    if (status != ADAPS_OK)
        return status;
    bool fits = (w->open || w->dims[0] % groups == 0) &&
                ad_whole_same_dim(x->dims[1], x->open, w->dims[1] * groups, w->open) >= 0;
    if (!fits)
        return AD_WHOLE_FAIL(rule, "%s, filters of %s, %" PRId64 " groups",
                             ad_dims_format(x->rank, x->dims, a, sizeof a),
                             ad_dims_format(w->rank, w->dims, b, sizeof b), groups);
    rule->out->type = ADAPS_INT32;
    rule->out->open = x->open || w->open;
    status = ad_whole_add_dim(rule, x->dims[0]);
    if (status == ADAPS_OK)
        status = ad_whole_add_dim(rule, w->dims[0]);
    for (int d = 0; d < spatial && status == ADAPS_OK; d++)
        status = add_positions(rule, d, spatial);
    if (status == ADAPS_OK)
        status = check_zero(rule, 2, 1, false);
    return status == ADAPS_OK ? check_zero(rule, 3, w->dims[0], w->open) : status;
}
