/* What a part of an operator's output asks of its executor: bounds, weights, padding. */
#include "fusion/fused.h"
#include "fusion/rules.h"

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

static struct ad_region allow_window(const struct ad_graph *graph, const struct ad_op *op,
                                     struct ad_region out)
{
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    if (op->kind == AD_OP_CONV && op->groups > 1) {
        int64_t per_group = whole.c1 / op->groups;
        out.c0 = (int32_t)(out.c0 / per_group * per_group);
        out.c1 = (int32_t)((out.c1 + per_group - 1) / per_group * per_group);
    }
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    reach_input(&rows, &out.h0, &out.h1);
    reach_input(&columns, &out.w0, &out.w1);
    if (op->kind == AD_OP_CONV && ad_region_pixels(out) == 1) {
        if (whole.w1 > 1)
            widen(&out.w0, &out.w1, whole.w1);
        else if (whole.h1 > 1)
            widen(&out.h0, &out.h1, whole.h1);
    }
    return out;
}

struct ad_region ad_region_allow(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out)
{
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    out = ad_region_intersect(out, whole);
    if (ad_region_empty(out))
        return ad_region_none();
    if (!ad_op_splits(graph, op))
        return whole;
    if (ad_op_has_window(op))
        return allow_window(graph, op, out);
    if (op->kind == AD_OP_RESAMPLE)
        return ad_allow_resample(graph, op, out);
    if (op->kind == AD_OP_SOFTMAX || op->kind == AD_OP_PERMUTE) {
        out.c0 = whole.c0;
        out.c1 = whole.c1;
    }
    return out;
}

bool ad_region_allowed(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out)
{
    return ad_region_equal(ad_region_allow(graph, op, out), out);
}

void ad_weight_slice(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out,
                     int64_t *r0, int64_t *r1)
{
    out = ad_region_intersect(out, ad_region_whole(&graph->values[op->output]));
    bool sliced = (op->kind == AD_OP_CONV || op->kind == AD_OP_FC) && !ad_region_empty(out);
    *r0 = sliced ? out.c0 : 0;
    *r1 = sliced ? out.c1 : 0;
}

static int64_t window_start(const struct ad_axis *axis, int64_t output)
{
    return output * axis->stride - axis->pad;
}

static int64_t window_end(const struct ad_axis *axis, int64_t output)
{
    return window_start(axis, output) + (axis->taps - 1) * axis->dilation + 1;
}

struct ad_tile_pads ad_tile_pads(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out)
{
    if (ad_region_empty(out))
        return (struct ad_tile_pads){0, 0, 0, 0};
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
