/* The rules of operators that run whole: elements by index. */
#include "ir/whole_rules.h"

#include <inttypes.h>

enum adaps_status ad_whole_rule_gather(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1];
    enum adaps_status status = ad_whole_int(rule, 0, 0, x->rank - 1, "the axis");
    int axis = status == ADAPS_OK ? (int)rule->op->ints[0] : 0;
    rule->out->open |= indices->open;
    if (status == ADAPS_OK)
        status = ad_whole_add_dims(rule, x, 0, axis);
    if (status == ADAPS_OK)
        status = ad_whole_add_dims(rule, indices, 0, indices->rank);
    return status == ADAPS_OK ? ad_whole_add_dims(rule, x, axis + 1, x->rank) : status;
}

/* Whether the indices of elements along an axis fit x: of the same rank, and along the other axes
 * no longer. */
static enum adaps_status check_element_indices(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1];
    enum adaps_status status = ad_whole_int(rule, 0, 0, x->rank - 1, "the axis");
    if (status != ADAPS_OK)
        return status;
    if (indices->rank != x->rank)
        return AD_WHOLE_FAIL(rule, "indices of rank %d of rank %d", indices->rank, x->rank);
    for (int d = 0; d < x->rank; d++)
        if (d != rule->op->ints[0] && indices->dims[d] > x->dims[d] && !indices->open)
            return AD_WHOLE_FAIL(rule, "%" PRId64 " indices along axis %d of %" PRId64,
                                 indices->dims[d], d, x->dims[d]);
    return ADAPS_OK;
}

enum adaps_status ad_whole_rule_gather_elements(const struct ad_whole_rule *rule)
{
    enum adaps_status status = check_element_indices(rule);
    rule->out->open = rule->in[1].open;
    return status == ADAPS_OK ? ad_whole_add_dims(rule, &rule->in[1], 0, rule->in[1].rank) : status;
}

/* An element or a slice for each tuple of the last dim; `batch` leading dims are those of x. */
static enum adaps_status check_tuples(const struct ad_whole_rule *rule, int batch, int *tuple)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1];
    int64_t last = indices->rank > batch ? indices->dims[indices->rank - 1] : 0;
    if (last < 1 || last > x->rank - batch)
        return AD_WHOLE_FAIL(rule, "tuples of %" PRId64 " indices into %d dimensions", last,
                             x->rank - batch);
    *tuple = (int)last;
    return ADAPS_OK;
}

enum adaps_status ad_whole_rule_gather_nd(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1];
    int tuple = 0, batch = 0;
    enum adaps_status status = ad_whole_int(rule, 0, 0, AD_MAX_RANK, "batch_dims");
    if (status == ADAPS_OK) {
        batch = (int)rule->op->ints[0];
        status = check_tuples(rule, batch, &tuple);
    }
    for (int d = 0; d < batch && status == ADAPS_OK; d++) {
        int64_t dim = ad_whole_same_dim(x->dims[d], x->open, indices->dims[d], indices->open);
        if (dim < 0)
            return AD_WHOLE_FAIL(rule, "%" PRId64 " batches of indices for %" PRId64 " of the data",
                                 indices->dims[d], x->dims[d]);
        status = ad_whole_add_dim(rule, dim);
    }
    rule->out->open |= indices->open;
    if (status == ADAPS_OK)
        status = ad_whole_add_dims(rule, indices, batch, indices->rank - 1);
    return status == ADAPS_OK ? ad_whole_add_dims(rule, x, batch + tuple, x->rank) : status;
}

static enum adaps_status check_reduction(const struct ad_whole_rule *rule, int index)
{
    enum adaps_status status = ad_whole_int(rule, index, 0, 4, "the reduction");
    if (status == ADAPS_OK && rule->op->ints[index] != 0 && rule->in[0].type == ADAPS_BOOL)
        return AD_WHOLE_FAIL(rule, "a reduction of type bool");
    return status;
}

enum adaps_status ad_whole_rule_scatter_nd(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1], *updates = &rule->in[2];
    int tuple = 0;
    enum adaps_status status = check_tuples(rule, 0, &tuple);
    if (status == ADAPS_OK)
        status = check_reduction(rule, 0);
    if (status != ADAPS_OK)
        return status;
    bool fits = updates->rank == indices->rank - 1 + x->rank - tuple;
    for (int d = 0; d < updates->rank && fits; d++) {
        bool of_indices = d < indices->rank - 1;
        const struct ad_array *of = of_indices ? indices : x;
        int64_t dim = of->dims[of_indices ? d : d - (indices->rank - 1) + tuple];
        fits = ad_whole_same_dim(dim, of->open, updates->dims[d], updates->open) >= 0;
    }
    char dims[AD_MAX_RANK * 12];
    if (!fits)
        return AD_WHOLE_FAIL(rule, "updates of %s are not a slice for each tuple of indices",
                             ad_dims_format(updates->rank, updates->dims, dims, sizeof dims));
    return ad_whole_add_dims(rule, x, 0, x->rank);
}

enum adaps_status ad_whole_rule_scatter_elements(const struct ad_whole_rule *rule)
{
    const struct ad_array *x = &rule->in[0], *indices = &rule->in[1], *updates = &rule->in[2];
    enum adaps_status status = check_element_indices(rule);
    if (status == ADAPS_OK)
        status = check_reduction(rule, 1);
    if (status != ADAPS_OK)
        return status;
    bool fits = updates->rank == indices->rank;
    for (int d = 0; d < updates->rank && fits; d++)
        fits = ad_whole_same_dim(indices->dims[d], indices->open, updates->dims[d],
                                 updates->open) >= 0;
    char dims[AD_MAX_RANK * 12];
    if (!fits)
        return AD_WHOLE_FAIL(rule, "updates of %s are not one for each index",
                             ad_dims_format(updates->rank, updates->dims, dims, sizeof dims));
    return ad_whole_add_dims(rule, x, 0, x->rank);
}
