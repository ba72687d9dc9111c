/* Resampling (enum ad_op_kind RESAMPLE): which elements of the input an output takes, and how much
 * of each. Axes are AD_ALONG_H, _W and _C, as in ad_resampling.axis. All of it is integer
 * arithmetic but the weights, which are of basic arithmetic in double precision: the same on every
 * machine. */
#ifndef AD_FUSION_RESAMPLE_H
#define AD_FUSION_RESAMPLE_H

#include "fusion/region.h"

/* What output i takes along one axis: `count` elements of the input, in ascending order (one at an
 * edge may be there several times). 0 outside of the input: the output is `fill`. */
struct ad_taps {
    int count;
    int32_t at[4];
    float weight[4]; /* 1 when it is the only one */
};
struct ad_taps ad_resample_taps(const struct ad_resampling *r, int axis, int64_t size, int64_t i);

/* How many outputs of one axis there are, and of how many inputs they are made. */
struct ad_resampled {
    int64_t size, outputs;
};

/* The smallest interval with all inputs that outputs [*lo, *hi) take, in place; false (and nothing
 * changes) when they take none. */
bool ad_resample_need(const struct ad_resampling *r, int axis, int64_t size, int64_t *lo,
                      int64_t *hi);

/* The longest run of outputs that take nothing but inputs [lo, hi), the first of several. With lo =
 * hi: which take nothing. */
void ad_resample_yield(const struct ad_resampling *r, int axis, struct ad_resampled n, int64_t lo,
                       int64_t hi, int32_t *first, int32_t *end);

/* Whether the positions along an axis are those of the input. */
static inline bool ad_positions_same(const struct ad_positions *p)
{
    return p->step == p->unit && p->start == 0;
}

#endif
