/* Convolutions, BatchNormalization, LRN. */
#include "import/window.h"

#include <inttypes.h>
#include <string.h>

/* The bias input k as doubles in the arena. */
static enum adaps_status read_row_vector(struct ad_node *node, int k, const char *what,
                                         int64_t count, double **out, struct adaps_error *err)
{
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ad_node_floats(node, k, what, &t, err);
    if (status != ADAPS_OK)
        return status;
    if (t->count != (size_t)count || ad_node_input(node, k)->rank != 1)
        return ad_node_fail(node, err,
                            "input %d (%s), '%s', has %zu elements in rank %d, expected "
                            "%" PRId64 " in rank 1",
                            k, what, ad_node_input(node, k)->name, t->count,
                            ad_node_input(node, k)->rank, count);
    *out = ad_arena_alloc(&node->draft->arena, (size_t)count, sizeof **out);
    if (!*out)
        return ad_error_memory(err, what, (size_t)count * sizeof **out);
    for (int64_t i = 0; i < count; i++)
        (*out)[i] = (double)t->f[i];
    return ADAPS_OK;
}

/* The filters, input 1: a float constant of the input's rank, as rank 4 or 5, of at least one
 * element. kernel_shape, if it is there, must be theirs. */
static enum adaps_status read_filters(struct ad_node *node, int *filters, struct ad_window3 *w,
                                      struct adaps_error *err)
{
    int32_t k[AD_AXES];
    bool present = false;
    enum adaps_status status = ad_node_float_weight(node, 1, "weights", err);
    if (status == ADAPS_OK)
        status = ad_window_sizes(node, "kernel_shape", 1, 0, k, &present, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value v = *ad_node_input(node, 1);
    char dims[128];
    ad_dims_format(v.rank, v.dims, dims, sizeof dims);
    if (v.rank != 2 + node->spatial || v.elements == 0)
        return ad_node_fail(node, err, "weights '%s' are %s, expected rank %d", v.name, dims,
                            2 + node->spatial);
    if (node->spatial == 1) {
        v.rank = 4;
        v.dims[3] = 1;
    }
    bool differs = false;
    int64_t wanted[AD_AXES];
    for (int i = 0; i < AD_AXES; i++) {
        int64_t size = ad_axis_size(&v, i);
        if (size > AD_MAX_WINDOW)
            return ad_node_fail(node, err, "weights '%s' are %s: out of range", v.name, dims);
        w->k[i] = (int32_t)size;
        wanted[i] = k[i];
        differs = differs || (present && k[i] != size);
    }
    if (differs) {
        int first = ad_first_axis(node);
        char have[64];
        ad_dims_format(node->spatial, wanted + first, dims, sizeof dims);
        ad_dims_format(node->spatial, v.dims + 2, have, sizeof have);
        return ad_node_fail(node, err, "kernel_shape %s, but the weights '%s' are %s", dims, v.name,
                            have);
    }
    *filters = node->inputs[1];
    return node->spatial == 1 ? ad_draft_reshape(node, *filters, 4, v.dims, filters, err)
                              : ADAPS_OK;
}

/* Filters of `depth` input channels of a group each, for so many outputs. */
static enum adaps_status check_groups(struct ad_node *node, int64_t groups, int64_t channels,
                                      int64_t outputs, int64_t depth, struct adaps_error *err)
{
    char dims[128];
    const struct ad_draft_value *v = ad_node_input(node, 1);
    if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
        return ad_node_fail(node, err,
                            "group %" PRId64 " does not divide %" PRId64 " input and %" PRId64
                            " output channels",
                            groups, channels, outputs);
    if (depth != channels / groups)
        return ad_node_fail(
            node, err,
            "weights '%s' are %s, but the input has %" PRId64 " channels in %" PRId64 " groups",
            v->name, ad_dims_format(v->rank, v->dims, dims, sizeof dims), channels, groups);
    return ADAPS_OK;
}

/* What convolutions of both kinds read: input, group, filters. */
static enum adaps_status read_operands(struct ad_node *node, int *source, int *filters,
                                       int64_t *groups, struct ad_window3 *w,
                                       struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 2, 3, err);
    if (status == ADAPS_OK)
        status = ad_node_map(node, source, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "group", 1, groups, err);
    return status == ADAPS_OK ? read_filters(node, filters, w, err) : status;
}

/* And what they become. */
static enum adaps_status add_conv(struct ad_node *node, enum ad_draft_kind kind, int source,
                                  int filters, const struct ad_window3 *w, int64_t groups,
                                  int64_t rows, const int64_t out[AD_AXES], struct adaps_error *err)
{
    const struct ad_draft_value *in = &node->draft->values[source];
    int64_t dims[AD_MAX_RANK];
    int rank = in->rank;
    struct ad_draft_op *op;
    ad_window_dims(in, rows, out, dims);
    enum adaps_status status = ad_draft_op(node, kind, 1, &source, rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    ad_window_set(op, w, rank);
    op->groups = (int32_t)groups;
    op->weight = filters;
    op->rows = rows;
    if (ad_node_has(node, 2))
        status = read_row_vector(node, 2, "bias", op->rows, &op->bias, err);
    return status == ADAPS_OK ? ad_node_set_map(node, op->output, err) : status;
}

enum adaps_status ad_import_conv(struct ad_node *node, struct adaps_error *err)
{
    struct ad_window3 w = {0};
    struct ad_window extra = {0};
    int64_t groups, out[AD_AXES];
    int source, filters = -1;
    enum adaps_status status = read_operands(node, &source, &filters, &groups, &w, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *values = node->draft->values;
    int64_t rows = values[filters].dims[0];
    status = check_groups(node, groups, values[source].dims[1], rows, values[filters].dims[1], err);
    if (status != ADAPS_OK)
        return status;
    ad_node_take_pad(node, &source, &extra);
    status = ad_window_complete(node, &node->draft->values[source], &extra, false, &w, out, err);
    if (status == ADAPS_OK)
        status = ad_window_pieces(node, &w, out, err);
    return status == ADAPS_OK
               ? add_conv(node, AD_D_CONV, source, filters, &w, groups, rows, out, err)
               : status;
}

/* Output length of one axis of a transposed convolution; lo: what is cropped from its beginning. */
static enum adaps_status transposed_length(struct ad_node *node, struct ad_window3 *w, int i,
                                           int64_t in, enum ad_auto_pad mode, int64_t extra,
                                           int64_t wanted, int64_t *out, struct adaps_error *err)
{
    const char *name = ad_axis_names[i];
    int64_t full = w->s[i] * (in - 1) + extra + (int64_t)w->d[i] * (w->k[i] - 1) + 1;
    if (extra >= w->s[i] && extra >= w->d[i])
        return ad_node_fail(node, err,
                            "%s: output_padding %" PRId64 " with stride %d and dilation %d", name,
                            extra, (int)w->s[i], (int)w->d[i]);
    if (wanted == 0 && (mode == AD_PAD_SAME_UPPER || mode == AD_PAD_SAME_LOWER))
        wanted = in * w->s[i];
    *out = wanted > 0 ? wanted : full - w->lo[i] - w->hi[i];
    if (wanted > 0) {
        int64_t total = full > wanted ? full - wanted : 0;
        int64_t lo = mode == AD_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        w->lo[i] = (int32_t)(lo < AD_MAX_WINDOW ? lo : AD_MAX_WINDOW);
    }
    if (*out < 1 || w->lo[i] >= full)
        return ad_node_fail(node, err, "%s: nothing is left of %" PRId64 " outputs", name, full);
    if (w->s[i] > AD_MAX_BLOCK)
        return ad_node_fail(node, err, "%s: a stride of %d: at most %d is supported", name,
                            (int)w->s[i], AD_MAX_BLOCK);
    w->hi[i] = 0;
    return ADAPS_OK;
}

/* All attributes; w->lo becomes what is cropped, by whichever attribute it is given. */
static enum adaps_status transposed_window(struct ad_node *node, const struct ad_draft_value *in,
                                           struct ad_window3 *w, int64_t out[AD_AXES],
                                           struct adaps_error *err)
{
    int32_t extra[AD_AXES], wanted[AD_AXES];
    bool present, sized = false;
    enum ad_auto_pad mode = AD_PAD_NOTSET;
    enum adaps_status status = ad_window_sizes(node, "output_padding", 0, 0, extra, &present, err);
    if (status == ADAPS_OK)
        status = ad_window_sizes(node, "output_shape", 1, 0, wanted, &sized, err);
    if (status == ADAPS_OK)
        status = ad_window_read(node, w, &mode, err);
    for (int i = 0; i < AD_AXES && status == ADAPS_OK; i++) {
        bool there = i >= AD_AXES - node->spatial || (node->spatial == 1 && i == AD_HEIGHT);
        there = there && !(node->spatial == 1 && i == AD_WIDTH);
        status =
            transposed_length(node, w, i, ad_axis_size(in, i), there ? mode : AD_PAD_NOTSET,
                              there ? extra[i] : 0, there && sized ? wanted[i] : 0, &out[i], err);
    }
    return status;
}

/* The filters of all places of a block, with zeros where the kernel's size is no multiple of the
 * stride: made on import, and so within what that may make. */
static enum adaps_status count_filters(struct ad_node *node, const struct ad_window3 *w,
                                       int64_t channels, int64_t groups, int64_t rows,
                                       struct adaps_error *err)
{
    double count = (double)rows * (double)(channels / groups);
    for (int i = 0; i < AD_AXES; i++) {
        int64_t taps = (w->d[i] * ((int64_t)w->k[i] - 1) + w->s[i]) / w->s[i];
        count *= (double)(taps * w->s[i]);
    }
    if (count > (double)node->draft->fold_left)
        return ad_node_fail(node, err,
                            "its filters would have %.0f elements: too many for what the model "
                            "holds",
                            count);
    node->draft->fold_left -= (int64_t)count;
    return ADAPS_OK;
}

enum adaps_status ad_import_conv_transpose(struct ad_node *node, struct adaps_error *err)
{
    struct ad_window3 w = {0};
    int64_t groups, out[AD_AXES];
    int source, filters = -1;
    enum adaps_status status = read_operands(node, &source, &filters, &groups, &w, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = node->draft->values[source], k = node->draft->values[filters];
    int64_t rows = groups > 0 && groups <= INT32_MAX ? k.dims[1] * groups : 0;
    status =
        check_groups(node, groups, in.dims[1], rows, k.dims[0] / (groups > 0 ? groups : 1), err);
    if (status == ADAPS_OK)
        status = transposed_window(node, &in, &w, out, err);
    if (status == ADAPS_OK)
        status = count_filters(node, &w, in.dims[1], groups, rows, err);
    if (status == ADAPS_OK) /* by block of output depths: taps, order, convolution, places, order */
        status = ad_node_pieces(
            node, 5.0 * ((double)out[AD_DEPTH] / w.s[AD_DEPTH] + w.k[AD_DEPTH] + 2), err);
    return status == ADAPS_OK
               ? add_conv(node, AD_D_CONV_TRANSPOSE, source, filters, &w, groups, rows, out, err)
               : status;
}

/* y = (x - mean) / sqrt(var + epsilon) * scale + bias as one multiplier and one addend per channel.
 */
enum adaps_status ad_import_batchnorm(struct ad_node *node, struct adaps_error *err)
{
    static const char *const what[] = {"", "scale", "bias", "mean", "variance"};
    double *v[5] = {NULL};
    float epsilon;
    int64_t training, spatial;
    enum adaps_status status = ad_node_arity(node, 5, 5, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "epsilon", 1e-5f, &epsilon, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "training_mode", 0, &training, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "spatial", 1, &spatial, err);
    if (status != ADAPS_OK)
        return status;
    if (training != 0)
        return ad_node_fail(node, err, "training_mode is not supported");
    if (spatial != 1 && ad_node_input(node, 1)->rank != 1) /* MXNet sets it for channels as well */
        return ad_node_fail(node, err, "normalisation per element (spatial 0) is not supported");
    const struct ad_draft_value *in = ad_node_input(node, 0);
    int rank = in->rank;
    int64_t dims[AD_MAX_RANK];
    memcpy(dims, in->dims, sizeof dims);
    if (rank < 2)
        return ad_node_fail(node, err, "input '%s' is of rank %d, at least 2 is needed", in->name,
                            rank);
    for (int k = 1; k < 5 && status == ADAPS_OK; k++)
        status = read_row_vector(node, k, what[k], dims[1], &v[k], err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t c = 0; c < dims[1]; c++) {
        double spread = v[4][c] + (double)epsilon;
        if (!(spread > 0))
            return ad_node_fail(node, err, "variance %g of channel %" PRId64 " with epsilon %g",
                                v[4][c], c, (double)epsilon);
        v[1][c] /= sqrt(spread);
        v[2][c] -= v[3][c] * v[1][c];
    }
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_AFFINE, 1, node->inputs, rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->rows = dims[1];
    op->scale = v[1];
    op->bias = v[2];
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

enum adaps_status ad_import_lrn(struct ad_node *node, struct adaps_error *err)
{
    int map = -1;
    int64_t size = 0;
    float alpha, beta, bias;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_map(node, &map, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "size", 0, &size, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "alpha", 1e-4f, &alpha, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "beta", 0.75f, &beta, err);
    if (status == ADAPS_OK)
        status = ad_node_float(node, "bias", 1.0f, &bias, err);
    if (status != ADAPS_OK)
        return status;
    if (size < 1 || size > AD_MAX_WINDOW)
        return ad_node_fail(node, err, "size %" PRId64 " is out of range", size);
    const struct ad_draft_value in = node->draft->values[map];
    struct ad_draft_op *op;
    status = ad_node_pieces(node, 2.0 * (double)ad_axis_size(&in, AD_DEPTH) + 1, err);
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_LRN, 1, &map, in.rank, in.dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->lrn_size = (int32_t)size;
    op->lrn_alpha = alpha;
    op->lrn_beta = beta;
    op->lrn_bias = bias;
    return ad_node_set_map(node, op->output, err);
}
