/* Sliding windows: convolutions and pools. */
#include "fusion/rules.h"

struct ad_axis ad_op_axis(const struct ad_graph *graph, const struct ad_op *op, int along)
{
    struct ad_axis axis = along == AD_ALONG_H ? ad_axis_h(graph, op) : ad_axis_w(graph, op);
    if (!ad_op_has_window(op)) {
        axis.taps = axis.stride = ad_kind_has(op->kind, AD_FIELD_BLOCK) ? op->block : 1;
        axis.dilation = axis.grid = 1;
        axis.pad = 0;
    }
    return axis;
}

/* The first input that output o reads, -1 when it reads padding only. A window that starts before
 * the input reads next the first of its taps that is inside: with dilation that need not be 0. */
static int64_t first_read(const struct ad_axis *a, int64_t o)
{
    int64_t at = o * a->stride - a->pad;
    if (at < 0) {
        int64_t j = ad_ceil_div(-at, a->dilation);
        if (j >= a->taps)
            return -1;
        at += j * a->dilation;
    }
    return at < a->size ? at : -1;
}

/* The last input that output o reads, -1 when it reads padding only. */
static int64_t last_read(const struct ad_axis *a, int64_t o)
{
    int64_t start = o * a->stride - a->pad;
    int64_t at = start + (a->taps - 1) * a->dilation;
    if (at >= a->size)
        at -= ad_ceil_div(at - (a->size - 1), a->dilation) * a->dilation;
    return at >= start && at >= 0 ? at : -1;
}

bool ad_axis_need_any(const struct ad_axis *a, int64_t *lo, int64_t *hi)
{
    int64_t extent = (a->taps - 1) * a->dilation;
    int64_t first = -1, last = -1;
    /* From the first window that reaches the input to the first that starts in it. */
    int64_t o = ad_ceil_div(a->pad - extent, a->stride);
    for (o = o > *lo ? o : *lo; o < *hi && first != 0; o++) {
        int64_t at = first_read(a, o);
        if (at >= 0 && (first < 0 || at < first))
            first = at;
        if (o * a->stride >= a->pad)
            break;
    }
    /* From the last window that starts before the end to the last that ends before it. */
    o = ad_floor_div(a->size - 1 + a->pad, a->stride);
    for (o = o < *hi - 1 ? o : *hi - 1; o >= *lo && last != a->size - 1; o--) {
        int64_t at = last_read(a, o);
        if (at > last)
            last = at;
        if (o * a->stride - a->pad + extent < a->size)
            break;
    }
    if (first < 0)
        return false;
    *lo = first;
    *hi = last + 1;
    return true;
}

struct ad_region ad_need_window(const struct ad_graph *graph, const struct ad_op *op, int k,
                                struct ad_region out)
{
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    int64_t h0 = out.h0, h1 = out.h1, w0 = out.w0, w1 = out.w1;
    if (!ad_axis_need(&rows, &h0, &h1) || !ad_axis_need(&columns, &w0, &w1))
        return ad_region_none();
    struct ad_region in = {(int32_t)h0, (int32_t)h1, (int32_t)w0, (int32_t)w1, out.c0, out.c1};
    if (ad_op_is_conv(op)) {
        int64_t per_group_in = ad_op_input(graph, op, k)->box.c / op->groups;
        int64_t per_group_out = ad_op_output(graph, op)->box.c / op->groups;
        in.c0 = (int32_t)(out.c0 / per_group_out * per_group_in);
        in.c1 = (int32_t)(ad_ceil_div(out.c1, per_group_out) * per_group_in);
    }
    return in;
}

/* axis_yield() where all outputs read some input, without dilation. */
static struct ad_run plain_yield(const struct ad_axis *a, int64_t lo, int64_t hi)
{
    int64_t first = lo > 0 ? ad_ceil_div(lo + a->pad, a->stride) : 0;
    int64_t end = hi < a->size ? ad_floor_div(hi + a->pad - a->taps, a->stride) + 1 : a->outputs;
    end = end < a->outputs ? end : a->outputs;
    if (a->grid > 1) { /* inwards */
        first += (a->grid - first % a->grid) % a->grid;
        end -= end < a->outputs ? end % a->grid : 0;
    }
    return first < end ? (struct ad_run){(int32_t)first, (int32_t)end} : (struct ad_run){0, 0};
}

/* The longest run of outputs, between lines of the grid, whose inputs all lie in [lo, hi), the
 * first of several. With lo = hi these are the outputs that read padding only. */
static struct ad_run axis_yield(const struct ad_axis *a, int64_t lo, int64_t hi)
{
    struct ad_run best = {0, 0};
    int64_t start = 0;
    if (a->outputs > 0 && ad_axis_plain(a, 0) && ad_axis_plain(a, a->outputs - 1))
        return plain_yield(a, lo, hi);
    for (int64_t o = 0; o < a->outputs; o++) {
        int64_t first = first_read(a, o);
        bool line = (o + 1) % a->grid == 0 || o + 1 == a->outputs;
        if (first >= 0 && (first < lo || last_read(a, o) >= hi))
            start = o - o % a->grid + a->grid;
        else if (line && o + 1 - start > best.hi - best.lo)
            best = (struct ad_run){(int32_t)start, (int32_t)(o + 1)};
    }
    return best;
}

/* A box of outputs is computable when its rows and columns (and groups) are all present, or when
 * all its rows, or all its columns, read padding only. */
struct ad_region ad_yield_window(const struct ad_graph *graph, const struct ad_op *op,
                                 const struct ad_region *given)
{
    struct ad_region have = ad_region_present(graph, op, given, 0);
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    struct ad_region whole = ad_region_whole(ad_op_output(graph, op));
    struct ad_region best = ad_region_none();
    if (!ad_region_empty(have)) {
        struct ad_run h = axis_yield(&rows, have.h0, have.h1);
        struct ad_run w = axis_yield(&columns, have.w0, have.w1);
        best = (struct ad_region){h.lo, h.hi, w.lo, w.hi, have.c0, have.c1};
    }
    if (ad_op_is_conv(op) && !ad_region_empty(best)) {
        int64_t per_group_in = ad_op_input(graph, op, 0)->box.c / op->groups;
        int64_t per_group_out = ad_op_output(graph, op)->box.c / op->groups;
        best.c0 = (int32_t)(ad_ceil_div(have.c0, per_group_in) * per_group_out);
        best.c1 = (int32_t)(have.c1 / per_group_in * per_group_out);
    }
    struct ad_region blank_rows = whole, blank_columns = whole;
    struct ad_run h = axis_yield(&rows, 0, 0), w = axis_yield(&columns, 0, 0);
    blank_rows.h0 = h.lo, blank_rows.h1 = h.hi;
    blank_columns.w0 = w.lo, blank_columns.w1 = w.hi;
    return ad_region_larger(ad_region_larger(ad_region_larger(ad_region_none(), best), blank_rows),
                            blank_columns);
}

/* Extends [*lo, *hi) to the nearest output that reads something, when it reads padding only. */
static void reach_input(const struct ad_axis *axis, int32_t *lo, int32_t *hi)
{
    int64_t a = *lo, b = *hi;
    if (ad_axis_plain(axis, a) || ad_axis_need(axis, &a, &b))
        return;
    a = 0, b = axis->outputs;
    if (!ad_axis_need(axis, &a, &b))
        return; /* nor does any other output */
    for (int32_t step = 1;; step++) {
        a = *hi - 1 + step, b = a + 1;
        if (b <= axis->outputs && ad_axis_need(axis, &a, &b)) {
            *hi += step;
            return;
        }
        a = *lo - step, b = a + 1;
        if (a >= 0 && ad_axis_need(axis, &a, &b)) {
            *lo -= step;
            return;
        }
    }
}

/* One more element, forwards where there is room. */
static void widen(int32_t *lo, int32_t *hi, int32_t size)
{
    if (*hi < size)
        ++*hi;
    else
        --*lo;
}

struct ad_region ad_allow_window(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out)
{
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    if (ad_op_is_conv(op) && op->groups > 1) {
        int64_t per_group = whole.c1 / op->groups;
        out.c0 = (int32_t)(out.c0 / per_group * per_group);
        out.c1 = (int32_t)((out.c1 + per_group - 1) / per_group * per_group);
    }
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    reach_input(&rows, &out.h0, &out.h1);
    reach_input(&columns, &out.w0, &out.w1);
    if (ad_op_is_conv(op) && ad_region_pixels(out) == 1) {
        if (whole.w1 > 1)
            widen(&out.w0, &out.w1, whole.w1);
        else if (whole.h1 > 1)
            widen(&out.h0, &out.h1, whole.h1);
    }
    return out;
}

static int64_t window_start(const struct ad_axis *axis, int64_t output)
{
    return output * axis->stride - axis->pad;
}

static int64_t window_end(const struct ad_axis *axis, int64_t output)
{
    return window_start(axis, output) + (axis->taps - 1) * axis->dilation + 1;
}

struct ad_region ad_region_computed(const struct ad_graph *graph, const struct ad_op *op,
                                    struct ad_region out)
{
    if (op->winograd == 0 || ad_region_empty(out))
        return out;
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    int64_t h0 = out.h0, h1 = out.h1, w0 = out.w0, w1 = out.w1;
    ad_axis_widen(&rows, &h0, &h1);
    ad_axis_widen(&columns, &w0, &w1);
    return (struct ad_region){(int32_t)h0, (int32_t)h1, (int32_t)w0, (int32_t)w1, out.c0, out.c1};
}

struct ad_tile_pads ad_tile_pads(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out)
{
    if (ad_region_empty(out))
        return (struct ad_tile_pads){0, 0, 0, 0};
    out = ad_region_computed(graph, op, out);
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    int64_t top = window_start(&rows, out.h0), bottom = window_end(&rows, out.h1 - 1);
    int64_t left = window_start(&columns, out.w0), right = window_end(&columns, out.w1 - 1);
    struct ad_region in = ad_need(graph, op, 0, out);
    if (ad_region_empty(in)) {
        in.h0 = in.h1 = (int32_t)bottom;
        in.w0 = in.w1 = (int32_t)right;
    }
    return (struct ad_tile_pads){(int32_t)(in.h0 - top), (int32_t)(in.w0 - left),
                                 (int32_t)(bottom - in.h1), (int32_t)(right - in.w1)};
}
