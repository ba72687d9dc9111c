/* Loops over channels for the widest vectors that this processor has: pooling and depthwise
 * convolution of one output pixel. Elementwise IEEE arithmetic without contraction
 * (exec/kernels/vec.h), so the bits are the same whatever the width. */
#ifndef AD_EXEC_KERNELS_WIDE_H
#define AD_EXEC_KERNELS_WIDE_H

#include <stdint.h>

/* The taps of one window that lie in the input: pointers to the first, counts and distances. */
struct ad_wide_pool {
    const float *first;
    int64_t rows, columns, row_step, column_step;
    int64_t channels;
    float scale; /* of an average; 0: the largest */
    float lo, hi;
    float *out;
};

/* One tap of a depthwise convolution: channels of the input, and a weight for each. */
struct ad_wide_tap {
    const float *x, *w;
};
struct ad_wide_depthwise {
    const struct ad_wide_tap *taps;
    int64_t ntaps, channels;
    const float *bias;
    float lo, hi;
    float *out;
    int64_t out_step; /* between channels */
};

struct ad_wide_kernels {
    void (*pool)(const struct ad_wide_pool *job);
    void (*depthwise)(const struct ad_wide_depthwise *job);
};

/* The kernels for this processor. */
const struct ad_wide_kernels *ad_wide(void);

extern const struct ad_wide_kernels ad_wide_any;
#if defined(__x86_64__)
extern const struct ad_wide_kernels ad_wide_avx2, ad_wide_avx512;
#endif

#endif
