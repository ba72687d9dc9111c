/* Normalisations over dims of a value: operators made of reductions and arithmetic. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

/* sqrt(mean of squares + epsilon), over the axes of a mask. */
static enum adaps_status root_mean_square(struct ad_node *node, unsigned mask, float epsilon,
                                          int value, int *out, struct adaps_error *err)
{
    enum adaps_status status = ad_draft_binary(node, AD_D_MUL, value, value, out, err);
    if (status == ADAPS_OK)
        status = ad_draft_reduce(node, AD_REDUCE_MEAN, mask, *out, out, err);
    if (status == ADAPS_OK)
        status = ad_draft_with_number(node, AD_D_ADD, *out, epsilon, out, err);
    return status == ADAPS_OK ? ad_draft_function(node, AD_FN_SQRT, *out, out, err) : status;
}

/* (x - mean) / spread, spread = sqrt(variance + epsilon), over the axes of a mask. */
struct normal {
    int mean, spread, result;
};

static enum adaps_status normalise(struct ad_node *node, unsigned mask, float epsilon, int value,
                                   struct normal *out, struct adaps_error *err)
{
    int centred;
    enum adaps_status status = ad_draft_reduce(node, AD_REDUCE_MEAN, mask, value, &out->mean, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_SUB, value, out->mean, &centred, err);
    if (status == ADAPS_OK)
        status = root_mean_square(node, mask, epsilon, centred, &out->spread, err);
    return status == ADAPS_OK
               ? ad_draft_binary(node, AD_D_DIV, centred, out->spread, &out->result, err)
               : status;
}

/* Input, scale and, with three inputs, bias: at least so many of them, and at most. */
static enum adaps_status read_normal(struct ad_node *node, int least, int most, float *epsilon,
                                     struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, least, most, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    return status == ADAPS_OK ? ad_node_float(node, "epsilon", 1e-5f, epsilon, err) : status;
}

/* value * input 1 + input 2, constants that have these dims after relabelling. */
static enum adaps_status scale_and_shift(struct ad_node *node, int rank, const int64_t *dims,
                                         int value, int *out, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    *out = value;
    for (int k = 1; k < 3 && status == ADAPS_OK; k++) {
        int operand;
        if (!ad_node_has(node, k))
            continue;
        const char *what = k == 1 ? "scale" : "bias";
        status = ad_node_float_weight(node, k, what, err);
        int64_t count = 1;
        for (int i = 0; i < rank; i++)
            count *= dims[i];
        if (status == ADAPS_OK && ad_node_input(node, k)->elements != count)
            return ad_node_fail(node, err,
                                "input %d (%s) has %" PRId64 " elements, expected %" PRId64, k,
                                what, ad_node_input(node, k)->elements, count);
        if (status == ADAPS_OK)
            status = ad_draft_reshape(node, node->inputs[k], rank, dims, &operand, err);
        if (status == ADAPS_OK)
            status = ad_draft_binary(node, k == 1 ? AD_D_MUL : AD_D_ADD, *out, operand, out, err);
    }
    return status;
}

/* With one number per channel, dim 1. */
static enum adaps_status scale_channels(struct ad_node *node, const struct ad_draft_value *in,
                                        int value, int *out, struct adaps_error *err)
{
    int64_t dims[AD_MAX_RANK];
    for (int i = 0; i < in->rank - 1; i++)
        dims[i] = i == 0 ? in->dims[1] : 1;
    return scale_and_shift(node, in->rank - 1, dims, value, out, err);
}

enum adaps_status ad_import_instance_norm(struct ad_node *node, struct adaps_error *err)
{
    struct normal n = {-1, -1, -1};
    float epsilon;
    int value = -1;
    enum adaps_status status = read_normal(node, 3, 3, &epsilon, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    if (in.rank < 3)
        return ad_node_fail(node, err, "input '%s' is of rank %d, at least 3 is needed", in.name,
                            in.rank);
    unsigned mask = ((1u << in.rank) - 1) & ~3u;
    status = normalise(node, mask, epsilon, node->inputs[0], &n, err);
    if (status == ADAPS_OK)
        status = scale_channels(node, &in, n.result, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* The dims from attribute axis on, as a mask. */
static enum adaps_status read_last_axes(struct ad_node *node, int *first, unsigned *mask,
                                        struct adaps_error *err)
{
    int64_t axis;
    int rank = ad_node_input(node, 0)->rank;
    enum adaps_status status = ad_node_int(node, "axis", -1, &axis, err);
    if (status == ADAPS_OK)
        status = ad_node_axis(node, axis, rank, first, err);
    if (status == ADAPS_OK)
        *mask = ((1u << rank) - 1) & ~((1u << *first) - 1);
    return status;
}

enum adaps_status ad_import_layer_norm(struct ad_node *node, struct adaps_error *err)
{
    struct normal n = {-1, -1, -1};
    float epsilon;
    int at = 0, value = -1;
    unsigned mask = 0;
    enum adaps_status status = read_normal(node, 2, 3, &epsilon, err);
    if (status == ADAPS_OK)
        status = read_last_axes(node, &at, &mask, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    status = normalise(node, mask, epsilon, node->inputs[0], &n, err);
    if (status == ADAPS_OK)
        status = scale_and_shift(node, in.rank - at, in.dims + at, n.result, &value, err);
    if (status != ADAPS_OK)
        return status;
    ad_node_set(node, value);
    if (node->proto->n_output > 1)
        ad_node_set_output(node, 1, n.mean);
    if (node->proto->n_output > 2) {
        status = ad_draft_function(node, AD_FN_RECIPROCAL, n.spread, &value, err);
        if (status == ADAPS_OK)
            ad_node_set_output(node, 2, value);
    }
    return status;
}

/* x / root mean square, times a scale that is stretched to the dims from axis on. */
enum adaps_status ad_import_rms_norm(struct ad_node *node, struct adaps_error *err)
{
    float epsilon;
    int at = 0, rank, value = -1;
    unsigned mask = 0;
    int64_t dims[AD_MAX_RANK];
    enum adaps_status status = read_normal(node, 2, 2, &epsilon, err);
    if (status == ADAPS_OK)
        status = read_last_axes(node, &at, &mask, err);
    if (status == ADAPS_OK)
        status = ad_node_float_weight(node, 1, "scale", err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value in = *ad_node_input(node, 0), scale = *ad_node_input(node, 1);
    if (scale.rank > in.rank - at || !ad_broadcast_dims(&in, &scale, &rank, dims) ||
        memcmp(dims, in.dims, (size_t)in.rank * sizeof *dims) != 0) {
        char have[128], wanted[128];
        return ad_node_fail(node, err, "input 1 (scale) is %s, which does not stretch to %s",
                            ad_dims_format(scale.rank, scale.dims, have, sizeof have),
                            ad_dims_format(in.rank - at, in.dims + at, wanted, sizeof wanted));
    }
    status = root_mean_square(node, mask, epsilon, node->inputs[0], &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_DIV, node->inputs[0], value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_binary(node, AD_D_MUL, value, node->inputs[1], &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* Groups of channels as rows; scale and bias are per channel from opset 21 on, before per group. */
enum adaps_status ad_import_group_norm(struct ad_node *node, struct adaps_error *err)
{
    struct normal n = {-1, -1, -1};
    float epsilon;
    int64_t groups;
    int value = -1;
    enum adaps_status status = read_normal(node, 3, 3, &epsilon, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "num_groups", 0, &groups, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    if (in.rank < 3 || groups < 1 || in.dims[1] % groups != 0)
        return ad_node_fail(node, err, "num_groups %" PRId64 " of a value of rank %d", groups,
                            in.rank);
    int64_t rows[] = {in.dims[0], groups, in.elements / in.dims[0] / groups};
    bool per_group = node->opset < 21;
    status = ad_draft_reshape(node, node->inputs[0], 3, rows, &value, err);
    if (status == ADAPS_OK)
        status = normalise(node, 4, epsilon, value, &n, err);
    value = n.result;
    const int64_t by_group[] = {groups, 1};
    if (status == ADAPS_OK && per_group)
        status = scale_and_shift(node, 2, by_group, value, &value, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, value, in.rank, in.dims, &value, err);
    if (status == ADAPS_OK && !per_group)
        status = scale_channels(node, &in, value, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}
