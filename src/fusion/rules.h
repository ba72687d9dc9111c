/* The region rules by kind of operator, and what their files share. */
#ifndef AD_FUSION_RULES_H
#define AD_FUSION_RULES_H

#include "fusion/reads.h"
#include "ir/operators.h"
#include "ir/winograd.h"

/* Whether other regions than the empty and the whole one exist for this value. */
static inline bool ad_value_splits(const struct ad_value *value)
{
    return value->format == AD_NHWC || (value->rank == 2 && ad_value_is_dense(value));
}

/* Whether a part of the op's output can be computed alone. All other operators read everything and
 * compute everything. */
bool ad_op_splits(const struct ad_graph *graph, const struct ad_op *op);

/* --- sliding windows (window.c) --- */

/* A window of several pixels. */
static inline bool ad_op_has_halo(const struct ad_op *op)
{
    return ad_op_has_window(op) && (op->window.kh > 1 || op->window.kw > 1);
}

/* One axis of a sliding window: output o takes the inputs o * stride - pad + j * dilation for
 * 0 <= j < taps that lie within [0, size); where outputs are computed on a grid (ir/winograd.h),
 * it reads what all between the lines around it take. */
struct ad_axis {
    int64_t taps, stride, dilation, pad;
    int64_t size;    /* of the input */
    int64_t outputs; /* of the output */
    int64_t grid;    /* outputs computed together: ad_winograd_grid(), nearly always 1 */
};

static inline struct ad_axis ad_axis_h(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    const struct ad_box *in = &graph->values[op->inputs[0]].box;
    return (struct ad_axis){w->kh,
                            w->sh,
                            w->dh,
                            w->pt,
                            in->h,
                            graph->values[op->output].box.h,
                            ad_winograd_grid(op->winograd, w->kh, w->dh)};
}

static inline struct ad_axis ad_axis_w(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    const struct ad_box *in = &graph->values[op->inputs[0]].box;
    return (struct ad_axis){w->kw,
                            w->sw,
                            w->dw,
                            w->pl,
                            in->w,
                            graph->values[op->output].box.w,
                            ad_winograd_grid(op->winograd, w->kw, w->dw)};
}

/* How the rows (AD_ALONG_H) or columns of the output read those of input 0, seen as a window: of
 * one tap where they do so one by one, of a block for space-to-depth. */
struct ad_axis ad_op_axis(const struct ad_graph *graph, const struct ad_op *op, int along);

/* Whether there is no dilation and output o reads some input: nearly always. */
static inline bool ad_axis_plain(const struct ad_axis *a, int64_t o)
{
    int64_t start = o * a->stride - a->pad;
    return a->dilation == 1 && start + a->taps > 0 && start < a->size;
}

/* Widens the outputs [*lo, *hi) to lines of the grid. */
static inline void ad_axis_widen(const struct ad_axis *a, int64_t *lo, int64_t *hi)
{
    if (a->grid == 1 || *lo >= *hi)
        return;
    *lo -= *lo % a->grid;
    *hi += (a->grid - *hi % a->grid) % a->grid;
    *hi = *hi < a->outputs ? *hi : a->outputs;
}

/* ad_axis_need() for any outputs, from line to line of the grid. */
bool ad_axis_need_any(const struct ad_axis *axis, int64_t *lo, int64_t *hi);

/* The smallest interval with all inputs that the outputs [*lo, *hi) read, in place; false when they
 * read nothing but padding (then *lo, *hi are unchanged). */
static inline bool ad_axis_need(const struct ad_axis *a, int64_t *lo, int64_t *hi)
{
    ad_axis_widen(a, lo, hi);
    if (*lo >= *hi || !ad_axis_plain(a, *lo) || !ad_axis_plain(a, *hi - 1))
        return ad_axis_need_any(a, lo, hi);
    int64_t first = *lo * a->stride - a->pad, end = (*hi - 1) * a->stride - a->pad + a->taps;
    *lo = first > 0 ? first : 0;
    *hi = end < a->size ? end : a->size;
    return true;
}

/* --- one rule per kind (rules.c) --- */

/* The rules of a kind. They are asked only about ops that split and regions that are inside of the
 * output and not empty. A kind without rules is computed whole. */
struct ad_region_rule {
    bool (*splits)(const struct ad_graph *graph, const struct ad_op *op); /* NULL: always */
    struct ad_region (*need)(const struct ad_graph *graph, const struct ad_op *op, int k,
                             struct ad_region out);
    struct ad_region (*yield)(const struct ad_graph *graph, const struct ad_op *op,
                              const struct ad_region *have);
    struct ad_region (*allow)(const struct ad_graph *graph, const struct ad_op *op,
                              struct ad_region out); /* NULL: any part may be computed alone */
    enum ad_reading reads[AD_ALONG];
    void (*mark)(const struct ad_graph *graph, const struct ad_op *op, const struct ad_marks *out,
                 struct ad_marks *in); /* AD_READS_BLOCK: ad_reads_mark(), else NULL */
};

/* Of a kind, or of what is none: never NULL. */
const struct ad_region_rule *ad_region_rule(enum ad_op_kind kind);

/* What is there of input k: constants always are, whole. */
struct ad_region ad_region_present(const struct ad_graph *graph, const struct ad_op *op,
                                   const struct ad_region *have, int k);

static inline const struct ad_value *ad_op_input(const struct ad_graph *graph,
                                                 const struct ad_op *op, int k)
{
    return &graph->values[op->inputs[k]];
}

static inline const struct ad_value *ad_op_output(const struct ad_graph *graph,
                                                  const struct ad_op *op)
{
    return &graph->values[op->output];
}

/* Positions lo to hi - 1 along an axis. */
struct ad_run {
    int32_t lo, hi;
};

/* The larger of two regions, the first of equal ones. */
static inline struct ad_region ad_region_larger(struct ad_region a, struct ad_region b)
{
    return ad_region_elements(b) > ad_region_elements(a) ? b : a;
}

/* a / b to the next lower and the next higher whole number; b > 0. */
static inline int64_t ad_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t ad_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* window.c */
struct ad_region ad_need_window(const struct ad_graph *graph, const struct ad_op *op, int k,
                                struct ad_region out);
struct ad_region ad_yield_window(const struct ad_graph *graph, const struct ad_op *op,
                                 const struct ad_region *have);
struct ad_region ad_allow_window(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out);

/* operands.c */
bool ad_splits_broadcast(const struct ad_graph *graph, const struct ad_op *op);
struct ad_region ad_need_broadcast(const struct ad_graph *graph, const struct ad_op *op, int k,
                                   struct ad_region out);
struct ad_region ad_yield_broadcast(const struct ad_graph *graph, const struct ad_op *op,
                                    const struct ad_region *have);
struct ad_region ad_need_concat(const struct ad_graph *graph, const struct ad_op *op, int k,
                                struct ad_region out);
struct ad_region ad_yield_concat(const struct ad_graph *graph, const struct ad_op *op,
                                 const struct ad_region *have);

/* resample.c */
struct ad_region ad_need_resample(const struct ad_graph *graph, const struct ad_op *op, int k,
                                  struct ad_region out);
struct ad_region ad_yield_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   const struct ad_region *have);
struct ad_region ad_allow_resample(const struct ad_graph *graph, const struct ad_op *op,
                                   struct ad_region out);

/* depth_to_space.c */
struct ad_region ad_need_depth_to_space(const struct ad_graph *graph, const struct ad_op *op, int k,
                                        struct ad_region out);
struct ad_region ad_yield_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                                         const struct ad_region *have);
void ad_mark_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                            const struct ad_marks *out, struct ad_marks *in);

/* space_to_depth.c */
struct ad_region ad_need_space_to_depth(const struct ad_graph *graph, const struct ad_op *op, int k,
                                        struct ad_region out);
struct ad_region ad_yield_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                         const struct ad_region *have);
void ad_mark_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                            const struct ad_marks *out, struct ad_marks *in);

#endif
