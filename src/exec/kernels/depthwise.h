/* Depthwise convolutions. Each output element is bias + x0 * w0 + x1 * w1 + ... over the taps that
 * lie in the input, in their order: the same whatever the tile, in vectors of any width.
 *
 * Tiled ones, on x86 with fused multiply-adds, compute some neighbours in a row at a time, which
 * share inputs and weights in registers (exec/kernels/depthwise_tile.h). The others take any window
 * and several output channels per input channel; they round every operation, so they have the same
 * bits on every processor. exec/kernels/choice.h says which is taken. */
#ifndef AD_EXEC_KERNELS_DEPTHWISE_H
#define AD_EXEC_KERNELS_DEPTHWISE_H

#include "exec/kernels/kernels.h"

#define AD_DEPTHWISE_TAPS 1024 /* larger windows are XNNPACK's */

struct ad_depthwise {
    struct ad_view in, out; /* out.c = multiplier * in.c; in.h = 0: only padding is read */
    struct ad_window window;
    int32_t top, left;  /* padding */
    int64_t multiplier; /* output channel c is of input channel c / multiplier */
    bool tiled;
    const float *packed; /* ad_depthwise_pack() */
    float clamp_min, clamp_max;
    struct ad_activation then; /* of the clamped sums, while they are in the cache */
};

/* Whether there are tiles for a window, with so many columns, so far apart, and this stride. */
bool ad_depthwise_able(int64_t columns, int64_t stride, int64_t dilation);

/* Floats that so many input channels take packed. False on overflow. */
bool ad_depthwise_packed(const struct ad_depthwise *d, int64_t channels, size_t *floats);

/* kernel: (channels * multiplier) x taps; bias: channels * multiplier or NULL. */
void ad_depthwise_pack(const struct ad_depthwise *d, int64_t channels, float *packed,
                       const float *kernel, const float *bias);

void ad_depthwise_run(const struct ad_depthwise *d, struct pthreadpool *pool);

#endif
