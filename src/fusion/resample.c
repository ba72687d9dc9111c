/* Resampling along one axis, both ways. The element at which an output stands moves one way only,
 * up or down: what an interval of outputs takes follows from its ends, and from the places where it
 * crosses an edge of the input. */
#include "fusion/resample.h"
#include "fusion/rules.h"

/* The element that output i stands at, or for LINEAR and CUBIC the one before it. It may lie
 * outside. */
static int64_t element_of(const struct ad_resampling *r, int axis, int64_t i)
{
    const struct ad_positions *p = &r->axis[axis];
    int64_t at = p->step * i + p->start;
    switch (r->method) {
    case AD_METHOD_CEIL:
        return -ad_floor_div(-at, p->unit);
    case AD_METHOD_ROUND_DOWN:
        return -ad_floor_div(p->unit - 2 * at, 2 * p->unit);
    case AD_METHOD_ROUND_UP:
        return ad_floor_div(2 * at + p->unit, 2 * p->unit);
    default:
        return ad_floor_div(at, p->unit);
    }
}

static int32_t clip(int64_t at, int64_t size)
{
    return (int32_t)(at < 0 ? 0 : at >= size ? size - 1 : at);
}

static struct ad_taps one_tap(const struct ad_resampling *r, int64_t size, int64_t at)
{
    bool outside = at < 0 || at >= size;
    if (outside && r->edge == AD_EDGE_FILL)
        return (struct ad_taps){.count = 0};
    if (outside && r->edge == AD_EDGE_REFLECT)
        at = at < 0 ? -at : 2 * (size - 1) - at;
    return (struct ad_taps){.count = 1, .at = {clip(at, size)}, .weight = {1}};
}

/* Keys' cubic convolution at a distance of t after the second of four elements. */
static void cubic_weights(double a, double t, double w[4])
{
    double u = 1 - t, before = 1 + t, after = 1 + u;
    w[0] = ((a * before - 5 * a) * before + 8 * a) * before - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    w[3] = ((a * after - 5 * a) * after + 8 * a) * after - 4 * a;
}

static struct ad_taps cubic_taps(const struct ad_resampling *r, int64_t size, int64_t at, double t)
{
    struct ad_taps taps = {.count = 4};
    double w[4], sum = 0;
    cubic_weights((double)r->cubic, t, w);
    for (int k = 0; k < 4; k++) {
        bool outside = at - 1 + k < 0 || at - 1 + k >= size;
        taps.at[k] = clip(at - 1 + k, size);
        if (outside && r->exclude_outside)
            w[k] = 0;
        sum += w[k];
    }
    for (int k = 0; k < 4; k++)
        taps.weight[k] = (float)(r->exclude_outside ? w[k] / sum : w[k]);
    return taps;
}

struct ad_taps ad_resample_taps(const struct ad_resampling *r, int axis, int64_t size, int64_t i)
{
    const struct ad_positions *p = &r->axis[axis];
    int64_t at = element_of(r, axis, i);
    if (r->method < AD_METHOD_LINEAR || ad_positions_same(p))
        return one_tap(r, size, at);
    int64_t rest = p->step * i + p->start - at * p->unit;
    double t = (double)rest / (double)p->unit;
    if (r->method == AD_METHOD_CUBIC)
        return cubic_taps(r, size, at, t);
    struct ad_taps taps = {.count = rest > 0 ? 2 : 1,
                           .at = {clip(at, size), clip(at + 1, size)},
                           .weight = {(float)(1 - t), (float)t}};
    return taps;
}

/* The first output of [lo, hi) from which on elements are at least `bound` (at most, when positions
 * descend); hi when there is none. */
static int64_t reaches(const struct ad_resampling *r, int axis, int64_t lo, int64_t hi,
                       int64_t bound)
{
    bool up = r->axis[axis].step >= 0;
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2, at = element_of(r, axis, middle);
        if (up ? at >= bound : at <= bound)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Widens [*first, *end) by what output i takes. */
static void take(const struct ad_resampling *r, int axis, int64_t size, int64_t i, int64_t *first,
                 int64_t *end)
{
    struct ad_taps taps = ad_resample_taps(r, axis, size, i);
    for (int k = 0; k < taps.count; k++) {
        *first = taps.at[k] < *first ? taps.at[k] : *first;
        *end = taps.at[k] >= *end ? (int64_t)taps.at[k] + 1 : *end;
    }
}

bool ad_resample_need(const struct ad_resampling *r, int axis, int64_t size, int64_t *lo,
                      int64_t *hi)
{
    int64_t first = INT64_MAX, end = 0, cut[4] = {*lo, *lo, *hi, *hi};
    if (*lo >= *hi)
        return false;
    if (r->edge != AD_EDGE_REPEAT) { /* cut where it enters the input, and where it leaves it */
        bool up = r->axis[axis].step >= 0;
        cut[1] = reaches(r, axis, *lo, *hi, up ? 0 : size - 1);
        cut[2] = reaches(r, axis, cut[1], *hi, up ? size : -1);
    }
    for (int k = 0; k < 3; k++)
        if (cut[k] < cut[k + 1]) {
            take(r, axis, size, cut[k], &first, &end);
            take(r, axis, size, cut[k + 1] - 1, &first, &end);
        }
    if (first >= end)
        return false;
    *lo = first;
    *hi = end;
    return true;
}

void ad_resample_yield(const struct ad_resampling *r, int axis, struct ad_resampled n, int64_t lo,
                       int64_t hi, int32_t *first, int32_t *end)
{
    int64_t start = 0;
    *first = *end = 0;
    for (int64_t i = 0; i < n.outputs; i++) {
        int64_t from = INT64_MAX, to = 0;
        take(r, axis, n.size, i, &from, &to);
        if (from < to && (from < lo || to > hi))
            start = i + 1;
        else if (i + 1 - start > *end - *first) {
            *first = (int32_t)start;
            *end = (int32_t)(i + 1);
        }
    }
}

static struct ad_resampled along(const struct ad_graph *graph, const struct ad_op *op, int axis)
{
    return (struct ad_resampled){ad_box_along(&ad_op_input(graph, op, 0)->box, axis),
                                 ad_box_along(&ad_op_output(graph, op)->box, axis)};
}

struct ad_region ad_need_resample(const struct ad_graph *graph, const struct ad_op *op, int k,
                                  struct ad_region out)
{
    const struct ad_box *in = &ad_op_input(graph, op, k)->box;
    int64_t lo[3] = {out.h0, out.w0, out.c0}, hi[3] = {out.h1, out.w1, out.c1};
    for (int axis = 0; axis < 3; axis++)
        if (!ad_resample_need(&op->resampling, axis, ad_box_along(in, axis), &lo[axis], &hi[axis]))
            return ad_region_none();
    return (struct ad_region){(int32_t)lo[0], (int32_t)hi[0], (int32_t)lo[1],
                              (int32_t)hi[1], (int32_t)lo[2], (int32_t)hi[2]};
}

static void set_axis(struct ad_region *r, int axis, int32_t first, int32_t end)
{
    int32_t *lo[3] = {&r->h0, &r->w0, &r->c0}, *hi[3] = {&r->h1, &r->w1, &r->c1};
    *lo[axis] = first;
    *hi[axis] = end;
}

/* As with windows: rows, columns and channels that are all there, or along one axis only outputs
 * that take nothing. */
struct ad_region ad_yield_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   const struct ad_region *given)
{
    const struct ad_resampling *r = &op->resampling;
    struct ad_region have = ad_region_present(graph, op, given, 0);
    struct ad_region best = ad_region_none(), inside = best;
    int32_t lo[3] = {have.h0, have.w0, have.c0}, hi[3] = {have.h1, have.w1, have.c1}, first, end;
    for (int axis = 0; axis < 3; axis++) {
        struct ad_region blank = ad_region_whole(&graph->values[op->output]);
        struct ad_resampled n = along(graph, op, axis);
        if (r->edge == AD_EDGE_FILL) {
            ad_resample_yield(r, axis, n, 0, 0, &first, &end);
            set_axis(&blank, axis, first, end);
            if (ad_region_elements(blank) > ad_region_elements(best))
                best = blank;
        }
        ad_resample_yield(r, axis, n, lo[axis], hi[axis], &first, &end);
        set_axis(&inside, axis, first, end);
    }
    if (!ad_region_empty(have) && ad_region_elements(inside) > ad_region_elements(best))
        best = inside;
    return best;
}

/* Extends [*lo, *hi) to the nearest output that takes something, if any does. */
static void reach(const struct ad_resampling *r, int axis, struct ad_resampled n, int32_t *lo,
                  int32_t *hi)
{
    int64_t a = *lo, b = *hi;
    if (ad_resample_need(r, axis, n.size, &a, &b))
        return;
    for (int32_t step = 1; *lo - step >= 0 || *hi + step <= n.outputs; step++) {
        a = *hi + step - 1, b = a + 1;
        if (b <= n.outputs && ad_resample_need(r, axis, n.size, &a, &b)) {
            *hi += step;
            return;
        }
        a = *lo - step, b = a + 1;
        if (a >= 0 && ad_resample_need(r, axis, n.size, &a, &b)) {
            *lo -= step;
            return;
        }
    }
}

struct ad_region ad_allow_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   struct ad_region out)
{
    if (op->resampling.edge != AD_EDGE_FILL)
        return out;
    reach(&op->resampling, AD_ALONG_H, along(graph, op, AD_ALONG_H), &out.h0, &out.h1);
    reach(&op->resampling, AD_ALONG_W, along(graph, op, AD_ALONG_W), &out.w0, &out.w1);
    reach(&op->resampling, AD_ALONG_C, along(graph, op, AD_ALONG_C), &out.c0, &out.c1);
    return out;
}
