/* Depthwise convolutions that XNNPACK has no fast kernel for: windows that have not 3, 4, 9 or 25
 * taps (7x7 runs ten times as fast here), and several output channels per input channel. Each
 * output element is bias + x0 * w0 + x1 * w1 + ... over the taps that lie in the input, in their
 * order, every operation rounded: the same bits on every processor. */
#ifndef AD_EXEC_KERNELS_DEPTHWISE_H
#define AD_EXEC_KERNELS_DEPTHWISE_H

#include "exec/kernels/kernels.h"

#define AD_DEPTHWISE_TAPS 1024 /* larger windows are XNNPACK's */

struct ad_depthwise {
    struct ad_view in, out; /* out.c = multiplier * in.c; in.h = 0: only padding is read */
    struct ad_window window;
    int32_t top, left;   /* padding */
    int64_t multiplier;  /* output channel c is of input channel c / multiplier */
    const float *packed; /* ad_depthwise_pack() */
    float clamp_min, clamp_max;
};

/* Floats that `channels` input channels take packed. False on overflow. */
bool ad_depthwise_packed(int64_t channels, int64_t multiplier, int64_t taps, size_t *floats);

/* kernel: (channels * multiplier) x taps; bias: channels * multiplier or NULL. */
void ad_depthwise_pack(float *packed, int64_t channels, int64_t multiplier, int64_t taps,
                       const float *kernel, const float *bias);

void ad_depthwise_run(const struct ad_depthwise *d, struct pthreadpool *pool);

#endif
