/* The rules of operators that run whole: along an axis, of the graph's own figures, and those with
 * a length of their own. */
#include "ir/graph.h"
#include "ir/whole_rules.h"

#include <inttypes.h>

/* The dims without those of `axes`, or with 1 in their places. */
static enum adaps_status add_reduced(const struct ad_whole_rule *rule, uint32_t axes, bool keep)
{
    const struct ad_array *in = &rule->in[0];
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < in->rank && status == ADAPS_OK; d++)
        if (keep || !(axes >> d & 1))
            status = ad_whole_add_dim(rule, axes >> d & 1 ? 1 : in->dims[d]);
    if (axes + 1 == 1u << in->rank) /* nothing is left that could be less */
        rule->out->open = false;
    return status;
}

enum adaps_status ad_whole_rule_arg(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    static const char *const names[] = {"the axis", "keepdims", "select_last_index"};
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < 3 && status == ADAPS_OK; i++)
        status = ad_whole_int(rule, i, 0, i ? 1 : in->rank - 1, names[i]);
    if (status != ADAPS_OK)
        return status;
    rule->out->type = ADAPS_INT64;
    status = add_reduced(rule, 1u << rule->op->ints[0], rule->op->ints[1]);
    if (status == ADAPS_OK && !in->open && in->dims[rule->op->ints[0]] == 0 &&
        ad_array_elements(rule->out) > 0)
        return AD_WHOLE_FAIL(rule, "none of the elements of axis %" PRId64 ", which is empty",
                             rule->op->ints[0]);
    return status;
}

enum adaps_status ad_whole_rule_topk(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    enum adaps_status status = ad_whole_int(rule, 0, 0, in->rank - 1, "the axis");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, INT64_MAX, "k");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 2, 0, 1, "largest");
    if (status == ADAPS_OK)
        status = ad_whole_add_dims(rule, in, 0, in->rank);
    if (status != ADAPS_OK)
        return status;
    int64_t *dim = &rule->out->dims[rule->op->ints[0]];
    *dim = *dim < rule->op->ints[1] ? *dim : rule->op->ints[1];
    rule->out->type = ADAPS_INT64;
    return ADAPS_OK;
}

enum adaps_status ad_whole_rule_cum_sum(const struct ad_whole_rule *rule)
{
    const struct ad_array *in = &rule->in[0];
    static const char *const names[] = {"the axis", "exclusive", "reverse"};
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < 3 && status == ADAPS_OK; i++)
        status = ad_whole_int(rule, i, 0, i ? 1 : in->rank - 1, names[i]);
    return status == ADAPS_OK ? ad_whole_add_dims(rule, in, 0, in->rank) : status;
}

enum adaps_status ad_whole_rule_reduce(const struct ad_whole_rule *rule)
{
    const struct ad_whole *op = rule->op;
    const struct ad_array *in = &rule->in[0];
    uint32_t axes = op->nints == 2 ? (1u << in->rank) - 1 : 0;
    enum adaps_status status = ad_whole_int(rule, 0, 0, AD_REDUCE_COUNT - 1, "the reduction");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, 1, "keepdims");
    for (int i = 2; i < op->nints && status == ADAPS_OK; i++) {
        status = ad_whole_int(rule, i, i > 2 ? op->ints[i - 1] + 1 : 0, in->rank - 1, "an axis");
        if (status == ADAPS_OK)
            axes |= 1u << op->ints[i];
    }
    if (status != ADAPS_OK)
        return status;
    if (in->type == ADAPS_BOOL && op->ints[0] != AD_REDUCE_MAX && op->ints[0] != AD_REDUCE_MIN)
        return AD_WHOLE_FAIL(rule, "of type bool there is only the least and the greatest");
    return add_reduced(rule, axes, op->ints[1]);
}

enum adaps_status ad_whole_rule_softmax(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, 0, rule->in[0].rank - 1, "the axis");
    return status == ADAPS_OK ? ad_whole_add_dims(rule, &rule->in[0], 0, rule->in[0].rank) : status;
}

enum adaps_status ad_whole_rule_one_hot(const struct ad_whole_rule *rule)
{
    const struct ad_array *indices = &rule->in[0], *values = &rule->in[1];
    if (values->rank != 1 || ad_whole_same_dim(2, false, values->dims[0], values->open) < 0)
        return AD_WHOLE_FAIL(rule, "the values are not a list of two");
    enum adaps_status status = ad_whole_int(rule, 0, 0, indices->rank, "the axis");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, INT32_MAX, "the depth");
    if (status != ADAPS_OK)
        return status;
    int axis = (int)rule->op->ints[0];
    rule->out->type = values->type;
    status = ad_whole_add_dims(rule, indices, 0, axis);
    if (status == ADAPS_OK)
        status = ad_whole_add_dim(rule, rule->op->ints[1]);
    return status == ADAPS_OK ? ad_whole_add_dims(rule, indices, axis, indices->rank) : status;
}

/* --- figures --- */

enum adaps_status ad_whole_rule_shape(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, 0, rule->in[0].rank, "start");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, rule->op->ints[0], rule->in[0].rank, "end");
    if (status != ADAPS_OK)
        return status;
    rule->out->type = ADAPS_INT64;
    rule->out->open = false;
    return ad_whole_add_dim(rule, rule->op->ints[1] - rule->op->ints[0]);
}

enum adaps_status ad_whole_rule_size(const struct ad_whole_rule *rule)
{
    rule->out->type = ADAPS_INT64;
    return ADAPS_OK;
}

/* --- a length of their own --- */

enum adaps_status ad_whole_rule_non_zero(const struct ad_whole_rule *rule)
{
    rule->out->type = ADAPS_INT64;
    rule->out->open = true;
    enum adaps_status status = ad_whole_add_dim(rule, rule->in[0].rank);
    return status == ADAPS_OK ? ad_whole_add_dim(rule, ad_array_elements(&rule->in[0])) : status;
}

enum adaps_status ad_whole_rule_nms(const struct ad_whole_rule *rule)
{
    const struct ad_array *boxes = &rule->in[0], *scores = &rule->in[1];
    char a[AD_MAX_RANK * 12], b[AD_MAX_RANK * 12];
    int64_t most = rule->op->ints[1], batches = -1, count = -1;
    float overlap = rule->op->floats[0], threshold = rule->op->floats[1];
    enum adaps_status status = ad_whole_int(rule, 0, 0, 1, "center_point_box");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, INT64_MAX, "the most boxes of a class");
    if (status != ADAPS_OK)
        return status;
    if (!(overlap >= 0 && overlap <= 1) || threshold != threshold)
        return AD_WHOLE_FAIL(rule, "thresholds %g of overlap and %g of the score", (double)overlap,
                             (double)threshold);
    if (boxes->rank == 3 && scores->rank == 3 && (boxes->dims[2] == 4 || boxes->open)) {
        batches = ad_whole_same_dim(boxes->dims[0], boxes->open, scores->dims[0], scores->open);
        count = ad_whole_same_dim(boxes->dims[1], boxes->open, scores->dims[2], scores->open);
    }
    if (batches < 0 || count < 0 || boxes->dims[2] < 4)
        return AD_WHOLE_FAIL(rule, "boxes of %s and scores of %s: n x m x 4, n x classes x m",
                             ad_dims_format(boxes->rank, boxes->dims, a, sizeof a),
                             ad_dims_format(scores->rank, scores->dims, b, sizeof b));
    rule->out->type = ADAPS_INT64;
    rule->out->open = true;
    status = ad_whole_add_dim(rule, batches * scores->dims[1] * (count < most ? count : most));
    return status == ADAPS_OK ? ad_whole_add_dim(rule, 3) : status;
}

enum adaps_status ad_whole_rule_compress(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *condition = &rule->in[1];
    if (condition->rank != 1)
        return AD_WHOLE_FAIL(rule, "a condition of rank %d: a list is needed", condition->rank);
    enum adaps_status status = ad_whole_int(rule, 0, -1, x->rank - 1, "the axis");
    if (status != ADAPS_OK)
        return status;
    int64_t axis = rule->op->ints[0], most = condition->dims[0];
    rule->out->open = true;
    if (axis < 0) {
        int64_t elements = ad_array_elements(x);
        return ad_whole_add_dim(rule, elements < most ? elements : most);
    }
    status = ad_whole_add_dims(rule, x, 0, x->rank);
    if (status == ADAPS_OK && rule->out->dims[axis] > most)
        rule->out->dims[axis] = most;
    return status;
}

enum adaps_status ad_whole_rule_unique(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, 0, 3, "the output");
    if (status == ADAPS_OK)
        status = ad_whole_int(rule, 1, 0, 1, "sorted");
    if (status != ADAPS_OK)
        return status;
    const struct ad_array *x = &rule->in[0];
    if (rule->op->ints[0] != 0)
        rule->out->type = ADAPS_INT64;
    if (rule->op->ints[0] != 2)
        rule->out->open = true;
    if (rule->op->nints == 2)
        return ad_whole_add_dim(rule, ad_array_elements(x));
    status = ad_whole_int(rule, 2, 0, x->rank - 1, "the axis");
    if (status != ADAPS_OK || rule->op->ints[0] != 0)
        return status == ADAPS_OK ? ad_whole_add_dim(rule, x->dims[rule->op->ints[2]]) : status;
    return ad_whole_add_dims(rule, x, 0, x->rank);
}

enum adaps_status ad_whole_rule_range(const struct ad_whole_rule *rule)
{
    for (int i = 0; i < rule->n; i++)
        if (rule->in[i].rank != 0)
            return AD_WHOLE_FAIL(rule, "input %d of rank %d: a number is needed", i,
                                 rule->in[i].rank);
    rule->out->open = true;
    enum adaps_status status = ad_whole_int(rule, 0, 0, INT32_MAX, "the most elements");
    return status == ADAPS_OK ? ad_whole_add_dim(rule, rule->op->ints[0]) : status;
}
