/* MaxPool, AveragePool, the global pools, Pad. */
#include "import/window.h"

#include <inttypes.h>
#include <string.h>

/* A pool that reads nothing but its own pixel does nothing: it is left out. */
static bool is_identity_window(const struct ad_window3 *w)
{
    for (int i = 0; i < AD_AXES; i++)
        if (w->k[i] != 1 || w->s[i] != 1 || w->lo[i] + w->hi[i] != 0)
            return false;
    return true;
}

static bool is_dilated(const struct ad_window3 *w)
{
    for (int i = 0; i < AD_AXES; i++)
        if (w->d[i] != 1 && w->k[i] != 1)
            return true;
    return false;
}

/* No window lies in the padding alone. */
static bool pads_fit(const struct ad_window3 *w, const struct ad_window *extra)
{
    return extra->pt + w->lo[AD_HEIGHT] < w->k[AD_HEIGHT] &&
           extra->pb + w->hi[AD_HEIGHT] < w->k[AD_HEIGHT] &&
           extra->pl + w->lo[AD_WIDTH] < w->k[AD_WIDTH] &&
           extra->pr + w->hi[AD_WIDTH] < w->k[AD_WIDTH];
}

/* Operators that a pool over depth becomes: a slice for each input depth and a maximum for each
 * tap, or, for means, a convolution whose filters are made on import. */
static enum adaps_status count_pieces(struct ad_node *node, const struct ad_draft_value *in,
                                      enum ad_draft_kind kind, const struct ad_window3 *w,
                                      int64_t depth, struct adaps_error *err)
{
    double filters = (double)in->dims[1] * (double)depth * (double)ad_axis_size(in, AD_DEPTH);
    if (kind == AD_D_MAXPOOL)
        return ad_node_pieces(
            node, (double)ad_axis_size(in, AD_DEPTH) + (double)depth * w->k[AD_DEPTH] + 2, err);
    if (node->spatial == 3 && filters > (double)node->draft->fold_left)
        return ad_node_fail(node, err, "means over depth would take %.0f factors: too many",
                            filters);
    if (node->spatial == 3)
        node->draft->fold_left -= (int64_t)filters;
    return ad_node_pieces(node, 5, err);
}

/* How many taps of window o lie in [from, to) of this axis. */
static int64_t taps_within(const struct ad_window3 *w, int axis, int64_t o, int64_t from,
                           int64_t to)
{
    int64_t first = o * w->s[axis] - w->lo[axis], d = w->d[axis];
    int64_t before = first < from ? (from - first + d - 1) / d : 0;
    int64_t until = first < to ? (to - first + d - 1) / d : 0;
    until = until < w->k[axis] ? until : w->k[axis];
    return until > before ? until - before : 0;
}

/* 1 / what a window counts, for every place of a map; -1 in *map where that is the same as 1 /
 * all its taps. */
static enum adaps_status count_taps(struct ad_node *node, const struct ad_draft_value *in,
                                    const struct ad_window3 *w, const int64_t out[AD_AXES],
                                    bool count_pad, int *map, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    const struct ad_draft_value one_channel = {.rank = in->rank, .dims = {1}};
    int64_t dims[AD_MAX_RANK], all = (int64_t)w->k[0] * w->k[1] * w->k[2];
    bool same = true;
    *map = -1;
    ad_window_dims(&one_channel, 1, out, dims);
    enum adaps_status status = ad_fold_tensor(node, in->rank, dims, true, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t k = 0; k < t.count && status == ADAPS_OK; k++) {
        int64_t at = (int64_t)k, count = 1;
        for (int i = AD_AXES - 1; i >= 0; i--) {
            int64_t from = count_pad ? -w->lo[i] : 0;
            int64_t to = ad_axis_size(in, i) + (count_pad ? w->declared[i] : 0);
            count *= taps_within(w, i, at % out[i], from, to);
            at /= out[i];
        }
        if (count == 0)
            status = ad_node_fail(node, err, "a window lies wholly in the padding");
        same = same && count == all;
        t.f[k] = (float)(1.0 / (double)count);
    }
    if (status == ADAPS_OK && !same)
        return ad_draft_constant(node, &t, map, err);
    ad_onnx_tensor_fini(&t);
    return status;
}

/* An average with dilations: a convolution of each channel by itself, whose filters are made here,
 * and where windows count different numbers of taps, a factor for each place. */
static enum adaps_status dilated_average(struct ad_node *node, int source,
                                         const struct ad_window3 *w, const int64_t out[AD_AXES],
                                         bool count_pad, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[source];
    struct ad_onnx_tensor t;
    struct ad_draft_op *op;
    int64_t dims[AD_MAX_RANK], kernel[AD_AXES] = {w->k[0], w->k[1], w->k[2]};
    int factors = -1, filters = -1, value;
    enum adaps_status status = count_taps(node, &in, w, out, count_pad, &factors, err);
    if (status == ADAPS_OK)
        status = ad_window_pieces(node, w, out, err);
    ad_window_dims(&in, 1, kernel, dims);
    dims[0] = in.dims[1];
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in.rank, dims, true, &t, err);
    if (status != ADAPS_OK)
        return status;
    double taps = (double)kernel[0] * (double)kernel[1] * (double)kernel[2];
    for (size_t k = 0; k < t.count; k++)
        t.f[k] = factors < 0 ? (float)(1 / taps) : 1;
    status = ad_draft_constant(node, &t, &filters, err);
    ad_window_dims(&in, in.dims[1], out, dims);
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_CONV, 1, &source, in.rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_window3 whole = *w; /* a convolution's padding is all declared */
    memcpy(whole.declared, whole.hi, sizeof whole.declared);
    ad_window_set(op, &whole, in.rank);
    op->groups = (int32_t)in.dims[1];
    op->weight = filters;
    op->rows = in.dims[1];
    value = op->output;
    if (factors >= 0)
        status = ad_draft_binary(node, AD_D_MUL, value, factors, &value, err);
    return status == ADAPS_OK ? ad_node_set_map(node, value, err) : status;
}

/* ceil_mode, kernel_shape and what makes a pool of kind `kind`. */
static enum adaps_status import_pool(struct ad_node *node, int source, enum ad_draft_kind kind,
                                     bool global, bool count_pad, struct adaps_error *err)
{
    struct ad_window3 w = {0};
    struct ad_window extra = {0};
    int64_t ceil_mode = 0, out[AD_AXES];
    bool present, own_pads = false;
    const int map = source;
    const struct ad_draft_value *in = &node->draft->values[source];
    enum adaps_status status = ad_window_sizes(node, "kernel_shape", 1, 0, w.k, &present, err);
    if (status == ADAPS_OK && !present && !global)
        return ad_node_fail(node, err, "attribute 'kernel_shape' is missing");
    if (status == ADAPS_OK)
        status = ad_node_int(node, "ceil_mode", 0, &ceil_mode, err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < AD_AXES && global; i++) {
        if (ad_axis_size(in, i) > AD_MAX_WINDOW)
            return ad_node_fail(node, err,
                                "an input of %" PRId64 " in one dimension is out of range",
                                ad_axis_size(in, i));
        w.k[i] = (int32_t)ad_axis_size(in, i);
    }
    status = ad_window_complete(node, in, &extra, ceil_mode != 0, &w, out, err);
    for (int i = 0; i < AD_AXES; i++)
        own_pads = own_pads || w.lo[i] || w.hi[i];
    /* The padding of a Pad node counts in an average. It is taken over where the pool's own
     * padding counts, too, or where there is none. */
    if (status == ADAPS_OK && kind == AD_D_AVGPOOL && !ceil_mode && (count_pad || !own_pads)) {
        ad_node_take_pad(node, &source, &extra);
        if (source != map && !pads_fit(&w, &extra)) {
            source = map;
        } else if (source != map) {
            const struct ad_window3 bare = {.k = {w.k[0], w.k[1], w.k[2]}};
            in = &node->draft->values[source];
            w = bare;
            count_pad = true;
            status = ad_window_complete(node, in, &extra, false, &w, out, err);
        }
    }
    if (status != ADAPS_OK)
        return status;
    if (is_identity_window(&w))
        return ad_node_set_map(node, source, err);
    if (kind == AD_D_AVGPOOL && is_dilated(&w))
        return dilated_average(node, source, &w, out, count_pad, err);
    status = count_pieces(node, in, kind, &w, out[AD_DEPTH], err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_op *op;
    int64_t dims[AD_MAX_RANK];
    int rank = in->rank;
    ad_window_dims(in, in->dims[1], out, dims);
    status = ad_draft_op(node, kind, 1, &source, rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    ad_window_set(op, &w, rank);
    op->count_include_pad = count_pad;
    return ad_node_set_map(node, op->output, err);
}

enum adaps_status ad_import_maxpool(struct ad_node *node, struct adaps_error *err)
{
    int map = -1;
    int64_t storage_order = 0;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_map(node, &map, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "storage_order", 0, &storage_order, err);
    if (status != ADAPS_OK)
        return status;
    if (storage_order != 0)
        return ad_node_fail(node, err, "storage_order %" PRId64 " is not supported", storage_order);
    return import_pool(node, map, AD_D_MAXPOOL, strcmp(node->type, "GlobalMaxPool") == 0, false,
                       err);
}

enum adaps_status ad_import_averagepool(struct ad_node *node, struct adaps_error *err)
{
    int map = -1;
    int64_t count_pad = 0;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_map(node, &map, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "count_include_pad", 0, &count_pad, err);
    if (status != ADAPS_OK)
        return status;
    return import_pool(node, map, AD_D_AVGPOOL, false, count_pad != 0, err);
}

enum adaps_status ad_import_gap(struct ad_node *node, struct adaps_error *err)
{
    int map = -1;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_map(node, &map, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = &node->draft->values[map];
    static const struct ad_window3 none;
    static const int64_t one[AD_AXES] = {1, 1, 1};
    struct ad_draft_op *op;
    int64_t dims[AD_MAX_RANK];
    int rank = in->rank;
    ad_window_dims(in, in->dims[1], one, dims);
    status = count_pieces(node, in, AD_D_GAP, &none, 1, err);
    if (status == ADAPS_OK)
        status = ad_draft_op(node, AD_D_GAP, 1, &map, rank, dims, &op, err);
    return status == ADAPS_OK ? ad_node_set_map(node, op->output, err) : status;
}

/* All pads of a Pad node, 2 * rank of them: attribute before opset 11, input 1 from then on. */
static enum adaps_status read_pad_amounts(struct ad_node *node, int rank, int64_t *pads,
                                          float *value, struct adaps_error *err)
{
    const int64_t *items = NULL;
    size_t count = 0;
    const struct ad_onnx_tensor *t;
    enum adaps_status status;
    *value = 0;
    if (node->opset < 11) {
        status = ad_node_float(node, "value", 0, value, err);
        if (status == ADAPS_OK)
            status = ad_node_prefix(
                node, ad_onnx_attr_ints(node->proto, "pads", &items, &count, err), err);
    } else {
        status = ad_node_ints(node, 1, "pads", &t, err);
        if (status == ADAPS_OK) {
            items = t->i;
            count = t->count;
        }
        if (status == ADAPS_OK && ad_node_has(node, 2)) {
            status = ad_node_floats(node, 2, "value", &t, err);
            if (status == ADAPS_OK && t->count != 1)
                return ad_node_fail(node, err, "input 2 (value) has %zu elements", t->count);
            if (status == ADAPS_OK)
                *value = t->f[0];
        }
    }
    if (status != ADAPS_OK)
        return status;
    int64_t axes[AD_MAX_RANK];
    size_t naxes = (size_t)rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    if (ad_node_has(node, 3)) {
        status = ad_node_ints(node, 3, "axes", &t, err);
        if (status != ADAPS_OK)
            return status;
        if (t->count > (size_t)rank)
            return ad_node_fail(node, err, "%zu axes for rank %d", t->count, rank);
        naxes = t->count;
        memcpy(axes, t->i, naxes * sizeof *axes);
    }
    if (count != 2 * naxes)
        return ad_node_fail(node, err, "%zu pads for %zu axes", count, naxes);
    for (size_t i = 0; i < naxes; i++) {
        int axis;
        status = ad_node_axis(node, axes[i], rank, &axis, err);
        if (status != ADAPS_OK)
            return status;
        pads[axis] = items[i];
        pads[rank + axis] = items[naxes + i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_import_pad(struct ad_node *node, struct adaps_error *err)
{
    char mode[32];
    float value;
    int64_t pads[2 * AD_MAX_RANK] = {0};
    enum adaps_status status = ad_node_arity(node, 1, 4, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_prefix(
            node, ad_onnx_attr_string(node->proto, "mode", "constant", mode, sizeof mode, err),
            err);
    const struct ad_draft_value *in = status == ADAPS_OK ? ad_node_input(node, 0) : NULL;
    if (status == ADAPS_OK)
        status = read_pad_amounts(node, in->rank, pads, &value, err);
    if (status != ADAPS_OK)
        return status;
    bool any = false, around_pixels = strcmp(mode, "constant") == 0 && value == 0;
    for (int i = 0; i < 2 * in->rank; i++) {
        any = any || pads[i] != 0;
        bool spatial = in->rank == 4 && i % 4 >= 2;
        around_pixels = around_pixels && (pads[i] == 0 || spatial) && pads[i] >= 0;
        if (pads[i] > AD_MAX_WINDOW)
            return ad_node_fail(node, err, "padding of %" PRId64 " in dimension %d", pads[i],
                                i % in->rank);
    }
    if (!any) {
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    if (!around_pixels) /* else a window may take it over */
        return ad_draft_pad(node, mode, value, pads, err);
    struct ad_draft_op *op;
    int64_t dims[] = {in->dims[0], in->dims[1], in->dims[2] + pads[2] + pads[6],
                      in->dims[3] + pads[3] + pads[7]};
    status = ad_draft_op(node, AD_D_PAD, 1, node->inputs, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->window =
        ad_window_pad((int32_t)pads[2], (int32_t)pads[3], (int32_t)pads[6], (int32_t)pads[7]);
    ad_node_set(node, op->output);
    return ADAPS_OK;
}
