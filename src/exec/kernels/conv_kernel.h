/* Between exec/kernels/conv.c and its inner loops, one file for each instruction set. */
#ifndef AD_EXEC_KERNELS_CONV_KERNEL_H
#define AD_EXEC_KERNELS_CONV_KERNEL_H

#include "exec/kernels/winograd_kernel.h"

#include <stdbool.h>

#define AD_CONV_ROWS 14 /* pixels of a tile, at most */

/* One panel of output channels at some pixels. */
struct ad_conv_job {
    const float *const *in;  /* [tap][AD_CONV_ROWS]: the channels of an input pixel, or zeros; the
                                first of a tap NULL: all of them are zeros */
    int64_t first;           /* of these the first that is an input */
    int64_t taps, depth;     /* depth: input channels of an output channel */
    const float *weights;    /* bias, then [tap][input channel], rows as wide as the panel */
    float *const *out;       /* by pixel */
    const float *const *add; /* by pixel; NULL: nothing is added */
    int64_t c0, channels;    /* out[m] + c0 is stored to, so many; at most the panel's width */
    float lo, hi;
    bool padded;        /* -0 becomes 0, as it would by adding products of zeros */
    const float *ahead; /* weights that somebody will want next: one line of them is fetched for */
    int64_t ahead_step; /* each tap and channel, each so many floats after the one before */
};
typedef void ad_conv_function(const struct ad_conv_job *job);

/* Panels are `lanes` or 2 * lanes wide. */
struct ad_conv_kernel {
    int lanes, rows;
    ad_conv_function *tile[AD_CONV_ROWS][2]; /* by pixels - 1, and by panel width / lanes - 1 */
    ad_conv_function *narrow[AD_CONV_ROWS];  /* groups of `depth` (a power of 2) inputs and outputs:
                                                a panel is one vector of them */
    struct ad_winograd_transforms winograd;
};

/* That of this processor. */
const struct ad_conv_kernel *ad_conv_kernel(void);

extern const struct ad_conv_kernel ad_conv_base;
#if defined(__x86_64__)
extern const struct ad_conv_kernel ad_conv_avx512, ad_conv_fma3;
#elif defined(__aarch64__)
extern const struct ad_conv_kernel ad_conv_neon;
#endif

#endif
