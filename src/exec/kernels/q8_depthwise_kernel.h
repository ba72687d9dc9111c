/* Between exec/kernels/q8_depthwise.c and its inner loops, one file for each instruction set. */
#ifndef AD_EXEC_KERNELS_Q8_DEPTHWISE_KERNEL_H
#define AD_EXEC_KERNELS_Q8_DEPTHWISE_KERNEL_H

#include "exec/kernels/q8.h"

#define AD_Q8_DEPTHWISE_PIXELS 4 /* of a tile, at most */

/* A block of 4 * lanes channels at some neighbours in a row. A vector of sums v of the block has
 * channels 16 * (i / 4) + 4 * v + i % 4 in its lanes i: so they come out of the instructions that
 * interleave bytes. A block begins with three numbers of each channel, in vectors of this order:
 * what the sum begins with (int32), multiplier and bias of floats. Then come the weights: for each
 * group of `deep` rows of the window and each column, four vectors of `deep` weights by channel. */
struct ad_q8_depthwise_job {
    const uint8_t *const *in; /* [row][column]: channel 0 of each input pixel, or of a pad */
    int64_t columns, groups;  /* columns of inputs; groups of rows */
    int64_t taps;             /* columns of the window */
    int64_t channel, n;       /* the block's first; n are there, 4 * lanes at most */
    const char *block;
    uint8_t flip;     /* of inputs */
    void *const *out; /* by pixel: where channel 0 is stored */
    const struct ad_q8_out *how;
};
typedef void ad_q8_depthwise_function(const struct ad_q8_depthwise_job *job);

struct ad_q8_depthwise_kernel {
    int lanes, deep, pixels;
    int weight;     /* bytes of a lane's weights */
    bool is_signed; /* inputs are int8, else uint8; weights of one byte are int8 */
    ad_q8_depthwise_function *tile[2][2][AD_Q8_DEPTHWISE_PIXELS]; /* 3 or 5 columns next to each
                                                 other; stride 1 or 2; pixels - 1 */
    ad_q8_depthwise_function *any;                                /* one pixel, any window */
};

extern const struct ad_q8_depthwise_kernel ad_q8_depthwise_base;
#if defined(__x86_64__)
extern const struct ad_q8_depthwise_kernel ad_q8_depthwise_avx512, ad_q8_depthwise_half,
    ad_q8_depthwise_avxvnni, ad_q8_depthwise_avx2;
#elif defined(__aarch64__)
extern const struct ad_q8_depthwise_kernel ad_q8_depthwise_neon, ad_q8_depthwise_dot;
#endif

#endif
