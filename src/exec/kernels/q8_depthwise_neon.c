/* Depthwise convolutions of bytes for arm64 without dot products: 4 pixels x 16 channels, products
 * of int16. */
#if defined(__aarch64__)
#include <arm_neon.h>

#define LANES 4
#define PIXELS 4
#define DEEP 1
#define WEIGHT 2
#define IS_SIGNED true
#define DOT(acc, x, w)                                                                             \
    ((sums)vmlal_s16((int32x4_t)(acc), vget_low_s16((int16x8_t)(x)),                               \
                     vld1_s16((const int16_t *)(w))))
#include "exec/kernels/q8_lanes.h"

/* Inputs are in the lower half of each vector. */
INLINE void mix(const bytes *x, sums v[4])
{
    int16x8_t low = vmovl_s8(vget_low_s8((int8x16_t)x[0])), high = vmovl_high_s8((int8x16_t)x[0]);
    v[0] = (sums)low;
    v[1] = (sums)vextq_s16(low, low, 4);
    v[2] = (sums)high;
    v[3] = (sums)vextq_s16(high, high, 4);
}

#include "exec/kernels/q8_depthwise_arm.h"
#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_neon = TABLE;
#endif
