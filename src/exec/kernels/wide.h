/* Loops over channels for the widest vectors that this processor has: pooling, depthwise
 * convolution and resizing of one output pixel. Elementwise IEEE arithmetic without contraction
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

/* Elements that a resized pixel takes, at most 4 rows of at most 4 columns: the first channel of
 * each. A row is the sum of its columns times their weights; the output is the sum of the rows
 * times theirs. */
struct ad_wide_mix {
    int rows, columns;
    const float *at[4][4];
    float row_weight[4], column_weight[4];
    int64_t channels;
    float *out;
};

struct ad_wide_kernels {
    void (*pool)(const struct ad_wide_pool *job);
    void (*depthwise)(const struct ad_wide_depthwise *job);
    void (*mix)(const struct ad_wide_mix *job);
};

/* The kernels for this processor. */
const struct ad_wide_kernels *ad_wide(void);

extern const struct ad_wide_kernels ad_wide_any;
#if defined(__x86_64__)
extern const struct ad_wide_kernels ad_wide_avx2, ad_wide_avx512;
#endif

#endif
