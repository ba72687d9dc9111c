/* Which rule an operator follows; shared by the files of fusion/ and search/. */
#ifndef AD_FUSION_RULES_H
#define AD_FUSION_RULES_H

#include "fusion/region.h"

/* Whether other regions than the empty and the whole one exist for this value. */
static inline bool ad_value_splits(const struct ad_value *value)
{
    return value->format == AD_NHWC || value->rank == 2;
}

/* Whether a part of the op's output can be computed alone. All other operators read everything and
 * compute everything. */
bool ad_op_splits(const struct ad_graph *graph, const struct ad_op *op);

static inline bool ad_op_has_window(const struct ad_op *op)
{
    return op->kind == AD_OP_CONV || op->kind == AD_OP_MAXPOOL || op->kind == AD_OP_AVGPOOL;
}

/* One axis of a sliding window: output o reads the inputs o * stride - pad + j * dilation for
 * 0 <= j < taps that lie within [0, size). */
struct ad_axis {
    int64_t taps, stride, dilation, pad;
    int64_t size;    /* of the input */
    int64_t outputs; /* of the output */
};
struct ad_axis ad_axis_h(const struct ad_graph *graph, const struct ad_op *op);
struct ad_axis ad_axis_w(const struct ad_graph *graph, const struct ad_op *op);

/* The smallest interval with all inputs that the outputs [*lo, *hi) read, in place; false when they
 * read nothing but padding (then *lo, *hi are unchanged). */
bool ad_axis_need(const struct ad_axis *axis, int64_t *lo, int64_t *hi);

/* ad_need() and ad_yield() of SPACE_TO_DEPTH (space_to_depth.c), for a non-empty `out`. */
struct ad_region ad_need_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                        struct ad_region out);
struct ad_region ad_yield_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                         struct ad_region have);

#endif
