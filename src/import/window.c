#include "import/window.h"

#include <inttypes.h>
#include <string.h>

const char *const ad_axis_names[AD_AXES] = {"depth", "height", "width"};

enum adaps_status ad_window_sizes(struct ad_node *node, const char *name, int64_t lo,
                                  int64_t fallback, int32_t out[AD_AXES], bool *present,
                                  struct adaps_error *err)
{
    const int64_t *items;
    size_t count;
    enum adaps_status status =
        ad_node_prefix(node, ad_onnx_attr_ints(node->proto, name, &items, &count, err), err);
    if (status != ADAPS_OK)
        return status;
    *present = count > 0;
    int first = ad_first_axis(node);
    for (int i = 0; i < AD_AXES; i++)
        out[i] = (int32_t)(count == 0 ? fallback : lo);
    if (count == 0)
        return ADAPS_OK;
    if (count != (size_t)node->spatial)
        return ad_node_fail(node, err, "attribute '%s' has %zu numbers for %d spatial dimensions",
                            name, count, node->spatial);
    for (size_t i = 0; i < count; i++) {
        if (items[i] < lo || items[i] > AD_MAX_WINDOW)
            return ad_node_fail(node, err, "attribute '%s' holds %" PRId64 ": out of range", name,
                                items[i]);
        out[first + (int)i] = (int32_t)items[i];
    }
    return ADAPS_OK;
}

static enum adaps_status read_auto_pad(struct ad_node *node, enum ad_auto_pad *out,
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
            *out = (enum ad_auto_pad)i;
            return ADAPS_OK;
        }
    return ad_node_fail(node, err, "auto_pad '%s' is unknown", text);
}

static enum adaps_status read_pads(struct ad_node *node, struct ad_window3 *w,
                                   struct adaps_error *err)
{
    const int64_t *items;
    size_t count, n = (size_t)node->spatial;
    enum adaps_status status =
        ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "pads", &items, &count, err), err);
    if (status != ADAPS_OK || count == 0)
        return status;
    if (count != 2 * n)
        return ad_node_fail(node, err, "attribute 'pads' has %zu numbers for %d spatial dimensions",
                            count, node->spatial);
    for (size_t i = 0; i < count; i++) {
        if (items[i] < 0 || items[i] > AD_MAX_WINDOW)
            return ad_node_fail(node, err, "attribute 'pads' holds %" PRId64 ": out of range",
                                items[i]);
        int axis = (int)(i % n) + ad_first_axis(node);
        *(i < n ? &w->lo[axis] : &w->hi[axis]) = (int32_t)items[i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_window_read(struct ad_node *node, struct ad_window3 *w, enum ad_auto_pad *mode,
                                 struct adaps_error *err)
{
    bool present;
    enum adaps_status status = ad_window_sizes(node, "strides", 1, 1, w->s, &present, err);
    if (status == ADAPS_OK)
        status = ad_window_sizes(node, "dilations", 1, 1, w->d, &present, err);
    if (status == ADAPS_OK)
        status = read_auto_pad(node, mode, err);
    if (status == ADAPS_OK && *mode == AD_PAD_NOTSET)
        status = read_pads(node, w, err);
    return status;
}

/* One axis while pads and output are worked out. */
struct axis {
    const char *name;
    int64_t in, k, s, d, lo, hi, out;
};

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
    if (a->lo > AD_MAX_WINDOW || a->hi > AD_MAX_WINDOW)
        return ad_node_fail(node, err, "%s: padding of %" PRId64 "+%" PRId64 " is out of range",
                            a->name, a->lo, a->hi);
    return ADAPS_OK;
}

enum adaps_status ad_window_complete(struct ad_node *node, const struct ad_draft_value *in,
                                     const struct ad_window *extra, bool ceil_mode,
                                     struct ad_window3 *w, int64_t out[AD_AXES],
                                     struct adaps_error *err)
{
    const int32_t before[] = {0, extra->pt, extra->pl}, behind[] = {0, extra->pb, extra->pr};
    enum ad_auto_pad mode = AD_PAD_NOTSET;
    enum adaps_status status = ad_window_read(node, w, &mode, err);
    for (int i = 0; i < AD_AXES && status == ADAPS_OK; i++) {
        struct axis a = {ad_axis_names[i], ad_axis_size(in, i) + before[i] + behind[i],
                         w->k[i],          w->s[i],
                         w->d[i],          w->lo[i],
                         w->hi[i],         0};
        if (mode == AD_PAD_SAME_UPPER || mode == AD_PAD_SAME_LOWER)
            same_pads(&a, mode == AD_PAD_SAME_UPPER);
        int64_t declared = a.hi;
        status = output_length(node, &a, ceil_mode, err);
        w->declared[i] = (int32_t)(declared + behind[i]);
        w->lo[i] = (int32_t)a.lo + before[i];
        w->hi[i] = (int32_t)a.hi + behind[i];
        out[i] = a.out;
    }
    return status;
}

void ad_window_set(struct ad_draft_op *op, const struct ad_window3 *w, int rank)
{
    op->window = (struct ad_window){
        w->k[AD_HEIGHT],  w->k[AD_WIDTH],  w->s[AD_HEIGHT],        w->s[AD_WIDTH],
        w->d[AD_HEIGHT],  w->d[AD_WIDTH],  w->lo[AD_HEIGHT],       w->lo[AD_WIDTH],
        w->hi[AD_HEIGHT], w->hi[AD_WIDTH], w->declared[AD_HEIGHT], w->declared[AD_WIDTH]};
    if (rank == 5)
        op->depth = (struct ad_depth){w->k[AD_DEPTH],  w->s[AD_DEPTH],  w->d[AD_DEPTH],
                                      w->lo[AD_DEPTH], w->hi[AD_DEPTH], w->declared[AD_DEPTH]};
}

void ad_window_dims(const struct ad_draft_value *in, int64_t channels, const int64_t out[AD_AXES],
                    int64_t dims[AD_MAX_RANK])
{
    int n = in->rank - 2;
    dims[0] = in->dims[0];
    dims[1] = channels;
    for (int i = 0; i < n; i++)
        dims[2 + i] = out[AD_AXES - n + i];
}

enum adaps_status ad_node_map(struct ad_node *node, int *map, struct adaps_error *err)
{
    enum adaps_status status = ad_node_data(node, 0, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    *map = node->inputs[0];
    node->spatial = in.rank - 2;
    if (in.rank == 4 || in.rank == 5)
        return ADAPS_OK;
    if (in.rank != 3)
        return ad_node_fail(node, err,
                            "input '%s' is of rank %d: only sequences and feature maps of two or "
                            "three dimensions (rank 3 to 5, N x C x D x H x W) are supported",
                            in.name, in.rank);
    in.dims[3] = 1;
    return ad_draft_reshape(node, *map, 4, in.dims, map, err);
}

enum adaps_status ad_node_set_map(struct ad_node *node, int map, struct adaps_error *err)
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

void ad_node_take_pad(struct ad_node *node, int *source, struct ad_window *pads)
{
    const struct ad_draft_op *before = node->draft->values[*source].producer;
    if (!before || before->kind != AD_D_PAD ||
        !ad_draft_joins(node->draft, before->node, node->draft->node))
        return;
    *source = before->inputs[0];
    *pads = before->window;
}

enum adaps_status ad_node_pieces(struct ad_node *node, double count, struct adaps_error *err)
{
    if (node->spatial != 3)
        return ADAPS_OK;
    if (count > (double)node->draft->pieces_left)
        return ad_node_fail(node, err,
                            "over its depth it becomes about %.0f operators: more than the %d that "
                            "a model may become",
                            count, AD_MAX_PIECES);
    node->draft->pieces_left -= (int)count;
    return ADAPS_OK;
}

enum adaps_status ad_window_pieces(struct ad_node *node, const struct ad_window3 *w,
                                   const int64_t out[AD_AXES], struct adaps_error *err)
{
    /* by output depth: its taps, in order, the convolution; the result */
    return ad_node_pieces(
        node, (double)out[AD_DEPTH] * (w->d[AD_DEPTH] > 1 ? w->k[AD_DEPTH] + 3 : 3) + 1, err);
}
