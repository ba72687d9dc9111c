/* Softmax over the channels of pixels, in the widest vectors that this processor has. The sum has
 * one order of additions, whatever the width, and the rest is basic arithmetic
 * (exec/kernels/functions_tile.h): the bits are the same on every processor. Denormals count as
 * zero. */
#ifndef AD_EXEC_KERNELS_SOFTMAX_H
#define AD_EXEC_KERNELS_SOFTMAX_H

#include "exec/kernels/kernels.h"

/* e^(x - m) / sum of all e^(x - m), m the greatest of a pixel's channels. All of them are NaN where
 * one is NaN or infinity, or all are -infinity. */
struct ad_softmax {
    struct ad_view in, out; /* of one shape */
};
void ad_softmax_run(const struct ad_softmax *s, struct pthreadpool *pool);

/* One row of n > 0 channels. */
typedef void ad_softmax_kernel(const float *in, float *out, int64_t n);

/* Those of all widths, the narrowest first; after the last, run is NULL. This processor has those
 * of at most ad_choose_wide_lanes() lanes. */
struct ad_softmax_width {
    int lanes;
    ad_softmax_kernel *run;
};
extern const struct ad_softmax_width ad_softmax_widths[];

extern ad_softmax_kernel ad_softmax_any;
#if defined(__x86_64__)
extern ad_softmax_kernel ad_softmax_avx2, ad_softmax_avx512;
#endif

#endif
