/* Operators with a sliding window, and their neighbours: Conv, MaxPool, AveragePool, the global
 * pools, Pad, BatchNormalization, LRN. */
#include "ir/import_priv.h"

#include <inttypes.h>
#include <string.h>

#define MAX_WINDOW (1 << 20)

/* Two ints of an attribute, each in lo..MAX_WINDOW; *present tells whether it is there. */
static enum adaps_status pair(struct ad_node *node, const char *name, int64_t lo, int64_t fallback,
                              int32_t *h, int32_t *w, bool *present, struct adaps_error *err)
{
    const int64_t *items;
    size_t count;
    enum adaps_status status =
        ad_node_prefix(node, ad_onnx_attr_ints(node->proto, name, &items, &count, err), err);
    if (status != ADAPS_OK)
        return status;
    *present = count > 0;
    *h = *w = (int32_t)fallback;
    if (count == 0)
        return ADAPS_OK;
    if (count != (size_t)node->spatial)
        return ad_node_fail(node, err, "attribute '%s' has %zu numbers for %d spatial dimensions",
                            name, count, node->spatial);
    for (size_t i = 0; i < count; i++)
        if (items[i] < lo || items[i] > MAX_WINDOW)
            return ad_node_fail(node, err, "attribute '%s' holds %" PRId64 ": out of range", name,
                                items[i]);
    *h = (int32_t)items[0];
    *w = node->spatial == 1 ? 1 : (int32_t)items[1];
    return ADAPS_OK;
}

/* One axis while pads and output are worked out. */
struct axis {
    const char *name;
    int64_t in, k, s, d, lo, hi, out;
};

enum auto_pad { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static enum adaps_status read_auto_pad(struct ad_node *node, enum auto_pad *out,
                                       struct adaps_error *err)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    char text[32];
    enum adaps_status status = ad_node_prefix(
        node, ad_onnx_attr_string(node->proto, "auto_pad", "NOTSET", text, sizeof text, err), err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum auto_pad)i;
            return ADAPS_OK;
        }
    return ad_node_fail(node, err, "auto_pad '%s' is unknown", text);
}

/* Pads of the axis for SAME: out = ceil(in / stride). */
static void same_pads(struct axis *a, bool upper)
{
    int64_t out = (a->in + a->s - 1) / a->s;
    int64_t total = (out - 1) * a->s + a->d * (a->k - 1) + 1 - a->in;
    if (total < 0)
        total = 0;
    a->lo = upper ? total / 2 : total - total / 2;
    a->hi = total - a->lo;
}

/* Output length. With ceil_mode a window that starts in the closing padding is left out, and hi
 * grows to what the last window needs. */
static enum adaps_status output_length(struct ad_node *node, struct axis *a, bool ceil_mode,
                                       struct adaps_error *err)
{
    int64_t span = a->d * (a->k - 1) + 1, room = a->in + a->lo + a->hi - span;
    if (room < 0)
        return ad_node_fail(node, err,
                            "%s: a window of %" PRId64 " does not fit into %" PRId64
                            " elements padded by %" PRId64 "+%" PRId64,
                            a->name, span, a->in, a->lo, a->hi);
    a->out = room / a->s + 1;
    if (ceil_mode && room % a->s != 0 && a->out * a->s < a->in + a->lo) {
        a->hi = a->out * a->s + span - a->in - a->lo;
        a->out++;
    }
    if (a->lo > MAX_WINDOW || a->hi > MAX_WINDOW)
        return ad_node_fail(node, err, "%s: padding of %" PRId64 "+%" PRId64 " is out of range",
                            a->name, a->lo, a->hi);
    return ADAPS_OK;
}

static enum adaps_status read_pads(struct ad_node *node, struct ad_window *w,
                                   struct adaps_error *err)
{
    const int64_t *items;
    size_t count;
    enum adaps_status status =
        ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "pads", &items, &count, err), err);
    if (status != ADAPS_OK || count == 0)
        return status;
    if (count != 2 * (size_t)node->spatial)
        return ad_node_fail(node, err, "attribute 'pads' has %zu numbers for %d spatial dimensions",
                            count, node->spatial);
    for (size_t i = 0; i < count; i++)
        if (items[i] < 0 || items[i] > MAX_WINDOW)
            return ad_node_fail(node, err, "attribute 'pads' holds %" PRId64 ": out of range",
                                items[i]);
    w->pt = (int32_t)items[0];
    w->pb = (int32_t)items[node->spatial];
    w->pl = node->spatial == 1 ? 0 : (int32_t)items[1];
    w->pr = node->spatial == 1 ? 0 : (int32_t)items[3];
    return ADAPS_OK;
}

/* Input 0 as a feature map. Sequences (rank 3) become maps of one column. */
static enum adaps_status need_map(struct ad_node *node, int *map, struct adaps_error *err)
{
    enum adaps_status status = ad_node_data(node, 0, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    *map = node->inputs[0];
    if (in.rank == 4)
        return ADAPS_OK;
    if (in.rank != 3)
        return ad_node_fail(node, err,
                            "input '%s' is of rank %d: only sequences and two-dimensional feature "
                            "maps (rank 3 and 4, N x C x H x W) are supported",
                            in.name, in.rank);
    in.dims[3] = 1;
    node->spatial = 1;
    return ad_draft_reshape(node, *map, 4, in.dims, map, err);
}

/* Output 0 is this map, without its column where the input has none. */
static enum adaps_status set_map(struct ad_node *node, int map, struct adaps_error *err)
{
    int64_t dims[AD_MAX_RANK];
    enum adaps_status status = ADAPS_OK;
    memcpy(dims, node->draft->values[map].dims, sizeof dims);
    if (node->spatial == 1)
        status = ad_draft_reshape(node, map, 3, dims, &map, err);
    if (status == ADAPS_OK)
        ad_node_set(node, map);
    return status;
}

/* Zero padding by a Pad node before a convolution or an average: *source is what that node pads,
 * and its pads come on top of the window's own. */
static void take_pad(struct ad_node *node, int *source, struct ad_window *pads)
{
    const struct ad_draft_op *before = node->draft->values[*source].producer;
    if (!before || before->kind != AD_D_PAD)
        return;
    *source = before->inputs[0];
    *pads = before->window;
}

/* Everything of the window from the attributes but kh, kw, which are set. `extra` are the pads
 * taken from a Pad node; `in` is the value before those. On return out_h, out_w are the output's.
 */
static enum adaps_status complete_window(struct ad_node *node, const struct ad_draft_value *in,
                                         const struct ad_window *extra, bool ceil_mode,
                                         struct ad_window *w, int64_t *out_h, int64_t *out_w,
                                         struct adaps_error *err)
{
    bool present;
    enum auto_pad mode = NOTSET;
    enum adaps_status status = pair(node, "strides", 1, 1, &w->sh, &w->sw, &present, err);
    if (status == ADAPS_OK)
        status = pair(node, "dilations", 1, 1, &w->dh, &w->dw, &present, err);
    if (status == ADAPS_OK)
        status = read_auto_pad(node, &mode, err);
    if (status == ADAPS_OK && mode == NOTSET)
        status = read_pads(node, w, err);
    if (status != ADAPS_OK)
        return status;
    struct axis a[2] = {
        {"height", in->dims[2] + extra->pt + extra->pb, w->kh, w->sh, w->dh, w->pt, w->pb, 0},
        {"width", in->dims[3] + extra->pl + extra->pr, w->kw, w->sw, w->dw, w->pl, w->pr, 0}};
    for (int i = 0; i < 2; i++) {
        if (mode == SAME_UPPER || mode == SAME_LOWER)
            same_pads(&a[i], mode == SAME_UPPER);
        int64_t declared = a[i].hi;
        status = output_length(node, &a[i], ceil_mode, err);
        if (status != ADAPS_OK)
            return status;
        *(i ? &w->real_pr : &w->real_pb) = (int32_t)(declared + (i ? extra->pr : extra->pb));
    }
    w->pt = (int32_t)a[0].lo + extra->pt;
    w->pb = (int32_t)a[0].hi + extra->pb;
    w->pl = (int32_t)a[1].lo + extra->pl;
    w->pr = (int32_t)a[1].hi + extra->pr;
    *out_h = a[0].out;
    *out_w = a[1].out;
    return ADAPS_OK;
}

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

/* The filters, input 1: a float constant of the input's rank, as rank 4, of at least one element.
 * kernel_shape, if it is there, must be theirs. */
static enum adaps_status read_filters(struct ad_node *node, int *filters, struct ad_window *w,
                                      struct adaps_error *err)
{
    int32_t kh = 0, kw = 0;
    bool present = false;
    enum adaps_status status = ad_node_float_weight(node, 1, "weights", err);
    if (status == ADAPS_OK)
        status = pair(node, "kernel_shape", 1, 0, &kh, &kw, &present, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value v = *ad_node_input(node, 1);
    char dims[128];
    ad_dims_format(v.rank, v.dims, dims, sizeof dims);
    if (v.rank != 2 + node->spatial || v.elements == 0)
        return ad_node_fail(node, err, "weights '%s' are %s, expected rank %d", v.name, dims,
                            2 + node->spatial);
    if (node->spatial == 1)
        v.dims[3] = 1;
    if (v.dims[2] > MAX_WINDOW || v.dims[3] > MAX_WINDOW)
        return ad_node_fail(node, err, "weights '%s' are %s: out of range", v.name, dims);
    if (present && (kh != v.dims[2] || kw != v.dims[3]))
        return ad_node_fail(node, err,
                            "kernel_shape %dx%d, but the weights '%s' are %" PRId64 "x%" PRId64,
                            (int)kh, (int)kw, v.name, v.dims[2], v.dims[3]);
    w->kh = (int32_t)v.dims[2];
    w->kw = (int32_t)v.dims[3];
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
                                       int64_t *groups, struct ad_window *w,
                                       struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 2, 3, err);
    if (status == ADAPS_OK)
        status = need_map(node, source, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "group", 1, groups, err);
    return status == ADAPS_OK ? read_filters(node, filters, w, err) : status;
}

/* And what they become: `op` has its input and dimensions. */
static enum adaps_status finish_conv(struct ad_node *node, struct ad_draft_op *op,
                                     const struct ad_window *w, int64_t groups, int filters,
                                     struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    op->window = *w;
    op->groups = (int32_t)groups;
    op->weight = filters;
    op->rows = node->draft->values[op->output].dims[1];
    if (ad_node_has(node, 2))
        status = read_row_vector(node, 2, "bias", op->rows, &op->bias, err);
    return status == ADAPS_OK ? set_map(node, op->output, err) : status;
}

enum adaps_status ad_import_conv(struct ad_node *node, struct adaps_error *err)
{
    struct ad_window w = {0}, extra = {0};
    int64_t groups, out_h, out_w;
    int source, filters = -1;
    enum adaps_status status = read_operands(node, &source, &filters, &groups, &w, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *values = node->draft->values;
    int64_t rows = values[filters].dims[0];
    status = check_groups(node, groups, values[source].dims[1], rows, values[filters].dims[1], err);
    if (status != ADAPS_OK)
        return status;
    take_pad(node, &source, &extra);
    const struct ad_draft_value *in = &node->draft->values[source];
    status = complete_window(node, in, &extra, false, &w, &out_h, &out_w, err);
    if (status != ADAPS_OK)
        return status;
    int64_t dims[] = {in->dims[0], rows, out_h, out_w};
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_CONV, 1, &source, 4, dims, &op, err);
    return status == ADAPS_OK ? finish_conv(node, op, &w, groups, filters, err) : status;
}

/* Output length of one axis of a transposed convolution, and what is cropped from its beginning. */
static enum adaps_status transposed_length(struct ad_node *node, struct axis *a, enum auto_pad mode,
                                           int64_t extra, int64_t wanted, struct adaps_error *err)
{
    int64_t full = a->s * (a->in - 1) + extra + a->d * (a->k - 1) + 1;
    if (extra >= a->s && extra >= a->d)
        return ad_node_fail(node, err,
                            "%s: output_padding %" PRId64 " with stride %" PRId64
                            " and dilation %" PRId64,
                            a->name, extra, a->s, a->d);
    if (wanted == 0 && (mode == SAME_UPPER || mode == SAME_LOWER))
        wanted = a->in * a->s;
    if (wanted > 0) {
        int64_t total = full > wanted ? full - wanted : 0;
        a->lo = mode == SAME_UPPER ? total / 2 : total - total / 2;
        a->out = wanted;
    } else {
        a->out = full - a->lo - a->hi;
    }
    if (a->out < 1 || a->lo >= full)
        return ad_node_fail(node, err, "%s: nothing is left of %" PRId64 " outputs", a->name, full);
    if (a->s > AD_MAX_BLOCK)
        return ad_node_fail(node, err, "%s: a stride of %" PRId64 ": at most %d is supported",
                            a->name, a->s, AD_MAX_BLOCK);
    return ADAPS_OK;
}

/* All attributes; w->pt and pl become what is cropped, whatever they were called. */
static enum adaps_status transposed_window(struct ad_node *node, const struct ad_draft_value *in,
                                           struct ad_window *w, int64_t out[2],
                                           struct adaps_error *err)
{
    int32_t extra[2], wanted[2];
    bool present;
    enum auto_pad mode = NOTSET;
    enum adaps_status status = pair(node, "strides", 1, 1, &w->sh, &w->sw, &present, err);
    if (status == ADAPS_OK)
        status = pair(node, "dilations", 1, 1, &w->dh, &w->dw, &present, err);
    if (status == ADAPS_OK)
        status = pair(node, "output_padding", 0, 0, &extra[0], &extra[1], &present, err);
    if (status == ADAPS_OK)
        status = pair(node, "output_shape", 1, 0, &wanted[0], &wanted[1], &present, err);
    if (status == ADAPS_OK)
        status = read_auto_pad(node, &mode, err);
    if (status == ADAPS_OK && mode == NOTSET)
        status = read_pads(node, w, err);
    if (node->spatial == 1) {
        extra[1] = 0;
        wanted[1] = 0;
    }
    struct axis a[2] = {{"height", in->dims[2], w->kh, w->sh, w->dh, w->pt, w->pb, 0},
                        {"width", in->dims[3], w->kw, w->sw, w->dw, w->pl, w->pr, 0}};
    for (int i = 0; i < 2 && status == ADAPS_OK; i++) {
        status = transposed_length(node, &a[i], mode, extra[i], wanted[i], err);
        out[i] = a[i].out;
    }
    w->pt = (int32_t)a[0].lo;
    w->pl = (int32_t)a[1].lo;
    w->pb = w->pr = 0;
    return status;
}

/* The filters of all places of a block, with zeros where the kernel's size is no multiple of the
 * stride: made on import, and so within what that may make. */
static enum adaps_status count_filters(struct ad_node *node, const struct ad_window *w,
                                       int64_t channels, int64_t groups, int64_t rows,
                                       struct adaps_error *err)
{
    int64_t taps_h = (w->dh * ((int64_t)w->kh - 1) + w->sh) / w->sh;
    int64_t taps_w = (w->dw * ((int64_t)w->kw - 1) + w->sw) / w->sw;
    double count = (double)(taps_h * w->sh) * (double)(taps_w * w->sw) * (double)rows *
                   (double)(channels / groups);
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
    struct ad_window w = {0};
    int64_t groups, out[2];
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
    if (status != ADAPS_OK)
        return status;
    int64_t dims[] = {in.dims[0], rows, out[0], out[1]};
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_CONV_TRANSPOSE, 1, &source, 4, dims, &op, err);
    return status == ADAPS_OK ? finish_conv(node, op, &w, groups, filters, err) : status;
}

/* Where a pool reads nothing but its own pixel it is no operator at all. */
static bool is_identity_window(const struct ad_window *w)
{
    return w->kh == 1 && w->kw == 1 && w->sh == 1 && w->sw == 1 && w->pt + w->pb == 0 &&
           w->pl + w->pr == 0;
}

/* ceil_mode, kernel_shape and what makes a pool of kind `kind`. */
static enum adaps_status import_pool(struct ad_node *node, int source, enum ad_draft_kind kind,
                                     bool global, bool count_pad, struct adaps_error *err)
{
    struct ad_window w = {0}, extra = {0};
    int64_t ceil_mode = 0, out_h, out_w;
    bool present;
    const int map = source;
    const struct ad_draft_value *in = &node->draft->values[source];
    enum adaps_status status = pair(node, "kernel_shape", 1, 0, &w.kh, &w.kw, &present, err);
    if (status == ADAPS_OK && !present && !global)
        return ad_node_fail(node, err, "attribute 'kernel_shape' is missing");
    if (status == ADAPS_OK)
        status = ad_node_int(node, "ceil_mode", 0, &ceil_mode, err);
    if (status != ADAPS_OK)
        return status;
    if (global && (in->dims[2] > MAX_WINDOW || in->dims[3] > MAX_WINDOW))
        return ad_node_fail(node, err, "an input of %" PRId64 "x%" PRId64 " is out of range",
                            in->dims[2], in->dims[3]);
    if (global) {
        w.kh = (int32_t)in->dims[2];
        w.kw = (int32_t)in->dims[3];
    }
    status = complete_window(node, in, &extra, ceil_mode != 0, &w, &out_h, &out_w, err);
    /* Padding of a Pad node counts in an average: taken over where own padding counts, too, or
     * where there is none. */
    bool own_pads = w.pt || w.pl || w.pb || w.pr;
    if (status == ADAPS_OK && kind == AD_D_AVGPOOL && !ceil_mode && (count_pad || !own_pads)) {
        take_pad(node, &source, &extra);
        bool fits = extra.pt + w.pt < w.kh && extra.pb + w.pb < w.kh && extra.pl + w.pl < w.kw &&
                    extra.pr + w.pr < w.kw; /* no window in the padding alone */
        if (source != map && !fits) {
            source = map;
        } else if (source != map) {
            in = &node->draft->values[source];
            w = (struct ad_window){.kh = w.kh, .kw = w.kw};
            count_pad = true;
            status = complete_window(node, in, &extra, false, &w, &out_h, &out_w, err);
        }
    }
    if (status != ADAPS_OK)
        return status;
    if (w.dh != 1 || w.dw != 1)
        if (kind == AD_D_AVGPOOL)
            return ad_node_fail(node, err, "dilations of an average are not supported");
    if (is_identity_window(&w))
        return set_map(node, source, err);
    struct ad_draft_op *op;
    int64_t dims[] = {in->dims[0], in->dims[1], out_h, out_w};
    status = ad_draft_op(node, kind, 1, &source, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->window = w;
    op->count_include_pad = count_pad;
    return set_map(node, op->output, err);
}

enum adaps_status ad_import_maxpool(struct ad_node *node, struct adaps_error *err)
{
    int map = -1;
    int64_t storage_order = 0;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = need_map(node, &map, err);
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
        status = need_map(node, &map, err);
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
        status = need_map(node, &map, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = &node->draft->values[map];
    int64_t dims[] = {in->dims[0], in->dims[1], 1, 1};
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_GAP, 1, &map, 4, dims, &op, err);
    return status == ADAPS_OK ? set_map(node, op->output, err) : status;
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
        if (pads[i] > MAX_WINDOW)
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
    op->window = (struct ad_window){.kh = 1,
                                    .kw = 1,
                                    .sh = 1,
                                    .sw = 1,
                                    .dh = 1,
                                    .dw = 1,
                                    .pt = (int32_t)pads[2],
                                    .pl = (int32_t)pads[3],
                                    .pb = (int32_t)pads[6],
                                    .pr = (int32_t)pads[7],
                                    .real_pb = (int32_t)pads[6],
                                    .real_pr = (int32_t)pads[7]};
    ad_node_set(node, op->output);
    return ADAPS_OK;
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
    if (training != 0 || spatial != 1)
        return ad_node_fail(node, err, "%s is not supported",
                            training ? "training_mode" : "normalisation per element (spatial 0)");
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
        status = need_map(node, &map, err);
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
    if (size < 1 || size > MAX_WINDOW)
        return ad_node_fail(node, err, "size %" PRId64 " is out of range", size);
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_LRN, 1, &map, 4, node->draft->values[map].dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->lrn_size = (int32_t)size;
    op->lrn_alpha = alpha;
    op->lrn_beta = beta;
    op->lrn_bias = bias;
    return set_map(node, op->output, err);
}
