/* Which rule an operator follows; shared by the files of fusion/ and search/. */
#ifndef AD_FUSION_RULES_H
#define AD_FUSION_RULES_H

#include "fusion/region.h"
#include "ir/operators.h"

/* Whether other regions than the empty and the whole one exist for this value. */
static inline bool ad_value_splits(const struct ad_value *value)
{
    return value->format == AD_NHWC || value->rank == 2;
}

/* Whether a part of the op's output can be computed alone. All other operators read everything and
 * compute everything. */
bool ad_op_splits(const struct ad_graph *graph, const struct ad_op *op);

/* One axis of a sliding window: output o reads the inputs o * stride - pad + j * dilation for
 * 0 <= j < taps that lie within [0, size). */
struct ad_axis {
    int64_t taps, stride, dilation, pad;
    int64_t size;    /* of the input */
    int64_t outputs; /* of the output */
};

static inline struct ad_axis ad_axis_h(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    const struct ad_box *in = &graph->values[op->inputs[0]].box;
    return (struct ad_axis){w->kh, w->sh, w->dh, w->pt, in->h, graph->values[op->output].box.h};
}

static inline struct ad_axis ad_axis_w(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    const struct ad_box *in = &graph->values[op->inputs[0]].box;
    return (struct ad_axis){w->kw, w->sw, w->dw, w->pl, in->w, graph->values[op->output].box.w};
}

/* Whether there is no dilation and output o reads some input: nearly always. */
static inline bool ad_axis_plain(const struct ad_axis *a, int64_t o)
{
    int64_t start = o * a->stride - a->pad;
    return a->dilation == 1 && start + a->taps > 0 && start < a->size;
}

/* ad_axis_need() for any outputs. */
bool ad_axis_need_any(const struct ad_axis *axis, int64_t *lo, int64_t *hi);

/* The smallest interval with all inputs that the outputs [*lo, *hi) read, in place; false when they
 * read nothing but padding (then *lo, *hi are unchanged). */
static inline bool ad_axis_need(const struct ad_axis *a, int64_t *lo, int64_t *hi)
{
    if (*lo >= *hi || !ad_axis_plain(a, *lo) || !ad_axis_plain(a, *hi - 1))
        return ad_axis_need_any(a, lo, hi);
    int64_t first = *lo * a->stride - a->pad, end = (*hi - 1) * a->stride - a->pad + a->taps;
    *lo = first > 0 ? first : 0;
    *hi = end < a->size ? end : a->size;
    return true;
}

/* ad_need(), ad_yield() and ad_region_allow() of RESAMPLE (resample.c), for a non-empty `out`. */
struct ad_region ad_need_resample(const struct ad_graph *graph, const struct ad_op *op,
                                  struct ad_region out);
struct ad_region ad_yield_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   struct ad_region have);
struct ad_region ad_allow_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   struct ad_region out);

/* ad_need() and ad_yield() of DEPTH_TO_SPACE (depth_to_space.c), likewise. */
struct ad_region ad_need_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                                        struct ad_region out);
struct ad_region ad_yield_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                                         struct ad_region have);

/* ad_need() and ad_yield() of SPACE_TO_DEPTH (space_to_depth.c), for a non-empty `out`. */
struct ad_region ad_need_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                        struct ad_region out);
struct ad_region ad_yield_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                         struct ad_region have);

#endif
