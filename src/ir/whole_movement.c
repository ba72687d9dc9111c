/* The rules of operators that run whole: the same elements elsewhere. */
#include "ir/whole_rules.h"

#include <inttypes.h>

static enum adaps_status add_most_dims(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < rule->op->nints && status == ADAPS_OK; d++)
        status = ad_whole_add_dim(rule, rule->op->ints[d]);
    return status;
}

/* Dims that are copied from the input cancel out of what -1 stands for, so that it is known for
 * empty inputs, too. */
enum adaps_status ad_whole_rule_reshape(const struct ad_whole_rule *rule)
{
    const struct ad_whole *op = rule->op;
    const struct ad_array *in = &rule->in[0];
    int64_t given = 1, left = 1;
    int free = -1;
    uint32_t copied = 0;
    bool empty = false;
    enum adaps_status status = ADAPS_OK;
    if (rule->computed)
        return add_most_dims(rule);
    for (int d = 0; d < op->nints && status == ADAPS_OK; d++) {
        int64_t dim = op->ints[d];
        if (dim < -1 || dim > INT32_MAX)
            return AD_WHOLE_FAIL(rule, "new dimension %d is %" PRId64, d, dim);
        if (dim == -1 && free >= 0)
            return AD_WHOLE_FAIL(rule, "new dimensions %d and %d are both -1", free, d);
        if (dim == 0 && d >= in->rank)
            return AD_WHOLE_FAIL(rule, "new dimension %d is copied from a rank of %d", d, in->rank);
        if (dim > 0 && __builtin_mul_overflow(given, dim, &given))
            return AD_WHOLE_FAIL(rule, "the product of the new dimensions is out of range");
        if (dim == 0)
            copied |= 1u << d;
        if (dim == 0)
            empty |= in->dims[d] == 0;
        if (dim == -1)
            free = d;
        status = ad_whole_add_dim(rule, dim == 0 ? in->dims[d] : dim < 0 ? 0 : dim);
    }
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d < in->rank; d++)
        left *= copied >> d & 1 ? 1 : in->dims[d];
    if (!in->open && (free >= 0 ? left % given != 0 : left != given && !empty))
        return AD_WHOLE_FAIL(rule, "%" PRId64 " elements do not make %s%" PRId64, left,
                             free >= 0 ? "a multiple of " : "", given);
    if (free >= 0)
        rule->out->dims[free] = left / given;
    return ADAPS_OK;
}

/* Whether the attributes are axes of a rank, ascending. */
static enum adaps_status check_axes(const struct ad_whole_rule *rule, int rank, uint32_t *axes)
{
    *axes = 0;
    for (int i = 0; i < rule->op->nints; i++) {
        enum adaps_status status =
            ad_whole_int(rule, i, i ? rule->op->ints[i - 1] + 1 : 0, rank - 1, "an axis");
        if (status != ADAPS_OK)
            return status;
        *axes |= 1u << rule->op->ints[i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_rule_unsqueeze(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    int rank = in->rank + rule->op->nints, from = 0;
    uint32_t axes;
    if (rank > AD_MAX_RANK)
        return AD_WHOLE_FAIL(rule, "a result of rank %d: at most %d is supported", rank,
                             AD_MAX_RANK);
    enum adaps_status status = check_axes(rule, rank, &axes);
    for (int d = 0; d < rank && status == ADAPS_OK; d++)
        status = ad_whole_add_dim(rule, axes >> d & 1 ? 1 : in->dims[from++]);
    return status;
}

enum adaps_status ad_whole_rule_squeeze(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    bool all = rule->op->nints == 0;
    uint32_t axes;
    enum adaps_status status = check_axes(rule, in->rank, &axes);
    if (status == ADAPS_OK && all && ad_array_is_open(in))
        return AD_WHOLE_FAIL(rule,
                             "the axes are not given, and the dimensions known to a run only");
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++) {
        if (axes >> d & 1 ? in->dims[d] == 0 || (in->dims[d] > 1 && !in->open) : false)
            return AD_WHOLE_FAIL(rule, "dimension %d is %" PRId64 ", not 1", d, in->dims[d]);
        if (all ? in->dims[d] != 1 : !(axes >> d & 1))
            status = ad_whole_add_dim(rule, in->dims[d]);
    }
    return status;
}

enum adaps_status ad_whole_rule_flatten(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    int64_t products[2] = {1, 1};
    enum adaps_status status = ad_whole_int(rule, 0, 0, in->rank, "the axis");
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++)
        products[d >= rule->op->ints[0]] *= in->dims[d];
    for (int i = 0; i < 2 && status == ADAPS_OK; i++)
        status = ad_whole_add_dim(rule, products[i]);
    return status;
}

enum adaps_status ad_whole_rule_transpose(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    uint32_t seen = 0;
    if (rule->op->nints != in->rank)
        return AD_WHOLE_FAIL(rule, "a permutation of %d dimensions of %d", rule->op->nints,
                             in->rank);
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++) {
        status = ad_whole_int(rule, d, 0, in->rank - 1, "a dimension of the permutation");
        if (status != ADAPS_OK)
            return status;
        if (seen >> rule->op->ints[d] & 1)
            return AD_WHOLE_FAIL(rule, "a permutation with dimension %" PRId64 " twice",
                                 rule->op->ints[d]);
        seen |= 1u << rule->op->ints[d];
        status = ad_whole_add_dim(rule, in->dims[rule->op->ints[d]]);
    }
    return status;
}

enum adaps_status ad_whole_rule_concat(const struct ad_whole_rule *rule)
{
    const struct ad_array *first = &rule->in[0];
    char a[AD_MAX_RANK * 12], b[AD_MAX_RANK * 12];
    enum adaps_status status = ad_whole_int(rule, 0, 0, first->rank - 1, "the axis");
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d < first->rank; d++) {
        int64_t dim = first->dims[d];
        bool open = first->open;
        for (int i = 1; i < rule->n; i++) {
            const struct ad_array *in = &rule->in[i];
            bool fits = in->rank == first->rank;
            if (fits && d == rule->op->ints[0]) {
                dim += in->dims[d]; /* 1024 of 31 bits */
            } else if (fits) {
                dim = ad_whole_same_dim(dim, open, in->dims[d], in->open);
                fits = dim >= 0;
                open = open && in->open;
            }
            if (!fits)
                return AD_WHOLE_FAIL(rule, "input %d of %s beside %s along axis %" PRId64, i,
                                     ad_dims_format(in->rank, in->dims, b, sizeof b),
                                     ad_dims_format(first->rank, first->dims, a, sizeof a),
                                     rule->op->ints[0]);
        }
        status = ad_whole_add_dim(rule, dim);
        if (status != ADAPS_OK)
            return status;
    }
    for (int i = 0; i < rule->n; i++)
        rule->out->open |= rule->in[i].open;
    return ADAPS_OK;
}

/* --- slices --- */

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

void ad_whole_slice(const struct ad_whole *op, int i, int64_t dim, int64_t *from, int64_t *count)
{
    int n = op->nints / 4;
    int64_t start = op->ints[n + i], end = op->ints[2 * n + i], step = op->ints[3 * n + i], span;
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    if (step > 0) {
        start = clamp(start, 0, dim);
        span = clamp(end, 0, dim) - start;
    } else {
        start = clamp(start, 0, dim - 1);
        span = start - clamp(end, -1, dim - 1);
        step = step == INT64_MIN ? INT64_MAX : -step;
    }
    *from = start;
    *count = dim > 0 && span > 0 ? (span - 1) / step + 1 : 0;
}

/* The most that a slice of up to `dim` elements has. The length grows and shrinks in straight lines
 * between the places where an end of the slice begins to be cut. */
static int64_t most_of_slice(const struct ad_whole *op, int i, int64_t dim)
{
    int n = op->nints / 4;
    int64_t ends[] = {0, dim, op->ints[n + i], op->ints[2 * n + i]}, most = 0;
    for (int k = 0; k < 4; k++) {
        int64_t at = ends[k] == INT64_MIN ? INT64_MAX : ends[k] < 0 ? -ends[k] : ends[k];
        if (at > dim)
            continue;
        for (int64_t d = at > 1 ? at - 2 : 0; d <= at + 2 && d <= dim; d++) {
            int64_t from, count;
            ad_whole_slice(op, i, d, &from, &count);
            most = count > most ? count : most;
        }
    }
    return most;
}

enum adaps_status ad_whole_rule_slice(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    int n = rule->op->nints / 4;
    uint32_t seen = 0;
    if (rule->op->nints % 4 != 0)
        return AD_WHOLE_FAIL(rule, "%d attributes are not axes, starts, ends and steps",
                             rule->op->nints);
    enum adaps_status status = ad_whole_rule_same(rule);
    for (int i = 0; i < n && status == ADAPS_OK; i++) {
        int64_t axis = rule->op->ints[i], from;
        status = ad_whole_int(rule, i, 0, in->rank - 1, "an axis");
        if (status != ADAPS_OK)
            break;
        if (seen >> axis & 1)
            return AD_WHOLE_FAIL(rule, "axis %" PRId64 " twice", axis);
        if (rule->op->ints[3 * n + i] == 0)
            return AD_WHOLE_FAIL(rule, "a step of 0 along axis %" PRId64, axis);
        seen |= 1u << axis;
        ad_whole_slice(rule->op, i, in->dims[axis], &from, &rule->out->dims[axis]);
        if (in->open)
            rule->out->dims[axis] = most_of_slice(rule->op, i, in->dims[axis]);
    }
    return status;
}

/* --- larger ones --- */

enum adaps_status ad_whole_rule_tile(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    if (rule->op->nints != in->rank)
        return AD_WHOLE_FAIL(rule, "%d repeats of %d dimensions", rule->op->nints, in->rank);
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++) {
        status = ad_whole_int(rule, d, 0, INT32_MAX, "a repeat");
        if (status == ADAPS_OK)
            status = ad_whole_add_dim(rule, in->dims[d] * rule->op->ints[d]);
    }
    return status;
}

enum adaps_status ad_whole_rule_expand(const struct ad_whole_rule *rule)
{
    struct ad_array pair[2] = {rule->in[0], {.rank = rule->op->nints, .open = rule->computed}};
    for (int d = 0; d < rule->op->nints; d++) {
        enum adaps_status status = ad_whole_int(rule, d, 0, INT32_MAX, "a dimension of the shape");
        if (status != ADAPS_OK)
            return status;
        pair[1].dims[d] = rule->op->ints[d];
    }
    return ad_whole_broadcast(rule, pair, 2);
}

/* What negative pads cut, and what the others add. */
static enum adaps_status pad_dim(const struct ad_whole_rule *rule, int d)
{
    const struct ad_array *in = &rule->in[0];
    int64_t cut = 0, added = 0, mode = rule->op->ints[0];
    for (int end = 0; end < 2; end++) {
        int index = 1 + end * in->rank + d;
        enum adaps_status status = ad_whole_int(rule, index, -INT32_MAX, INT32_MAX, "a pad");
        if (status != ADAPS_OK)
            return status;
        int64_t pad = rule->op->ints[index];
        *(pad < 0 ? &cut : &added) += pad < 0 ? -pad : pad;
    }
    int64_t left = in->dims[d] - cut;
    if (rule->computed)
        return ad_whole_add_dim(rule, left + added > 0 ? left + added : 0);
    if (left < 0 && !in->open)
        return AD_WHOLE_FAIL(rule, "dimension %d of %" PRId64 " is cut by %" PRId64, d, in->dims[d],
                             cut);
    if (left <= 0 && added > 0 && mode != 0)
        return AD_WHOLE_FAIL(rule, "dimension %d has nothing to pad with", d);
    return ad_whole_add_dim(rule, (left < 0 ? 0 : left) + added);
}

enum adaps_status ad_whole_rule_pad(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    if (rule->op->nints != 1 + 2 * in->rank)
        return AD_WHOLE_FAIL(rule, "%d pads of %d dimensions", rule->op->nints - 1, in->rank);
    if (rule->n >= 2 &&
        (rule->in[1].rank > 1 || (rule->in[1].rank == 1 && rule->in[1].dims[0] != 1)))
        return AD_WHOLE_FAIL(rule, "the value to pad with is not one number");
    enum adaps_status status = ad_whole_int(rule, 0, 0, 3, "the mode");
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++)
        status = pad_dim(rule, d);
    return status;
}

enum adaps_status ad_whole_rule_trilu(const struct ad_whole_rule *rule)
{
    if (rule->in[0].rank < 2)
        return AD_WHOLE_FAIL(rule, "a triangle of rank %d", rule->in[0].rank);
    enum adaps_status status = ad_whole_int(rule, 0, 0, 1, "upper");
    return status == ADAPS_OK ? ad_whole_rule_same(rule) : status;
}

enum adaps_status ad_whole_rule_reverse_sequence(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0], *lengths = &rule->in[1];
    int64_t batch = rule->op->ints[0], time = rule->op->ints[1];
    if (in->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        return AD_WHOLE_FAIL(rule,
                             "batch axis %" PRId64 " and time axis %" PRId64
                             " of rank %d: 0 and 1, or 1 and 0",
                             batch, time, in->rank);
    enum adaps_status status = ad_whole_rule_same(rule);
    if (status != ADAPS_OK)
        return status;
    int64_t dim = lengths->rank == 1 ? ad_whole_same_dim(in->dims[batch], in->open,
                                                         lengths->dims[0], lengths->open)
                                     : -1;
    if (dim < 0)
        return AD_WHOLE_FAIL(rule, "the lengths are not a list of one for each sequence");
    rule->out->dims[batch] = dim;
    return ADAPS_OK;
}
