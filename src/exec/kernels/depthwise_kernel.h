/* Between exec/kernels/depthwise.c and its inner loops, one file for each instruction set. */
#ifndef AD_EXEC_KERNELS_DEPTHWISE_KERNEL_H
#define AD_EXEC_KERNELS_DEPTHWISE_KERNEL_H

#include <stdint.h>

#define AD_DEPTHWISE_PIXELS 8 /* of a tile, at most: neighbours in a row */

/* One vector of channels at the pixels of a tile. */
struct ad_depthwise_job {
    const float *in;      /* the first pixel's first tap, in the first row that is there */
    int64_t row, column;  /* between rows of taps, between columns of the input */
    int64_t rows;         /* of taps that lie in the input */
    int64_t first, end;   /* of the columns that the tile reads, those that lie in the input */
    const float *bias;    /* a vector */
    const float *weights; /* a vector for each tap, from the first row that is there */
    float *out;           /* of the first pixel */
    int64_t step;         /* between pixels */
    int64_t channels;     /* of a partial vector */
    float lo, hi;
};
typedef void ad_depthwise_function(const struct ad_depthwise_job *job);

/* By columns of the window (3, 5, 7), by stride (1, 2), by pixels - 1. */
#define AD_DEPTHWISE_WIDTHS 3
struct ad_depthwise_kernel {
    int lanes;
    ad_depthwise_function *tile[AD_DEPTHWISE_WIDTHS][2][AD_DEPTHWISE_PIXELS];
    ad_depthwise_function *partial[AD_DEPTHWISE_WIDTHS]; /* one pixel, less than a vector */
};

#if defined(__x86_64__)
extern const struct ad_depthwise_kernel ad_depthwise_avx512, ad_depthwise_fma3;
#endif

#endif
