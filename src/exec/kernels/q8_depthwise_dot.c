/* Depthwise convolutions of bytes by the dot products of ARMv8.2: 4 pixels x 16 channels. */
#if defined(__aarch64__)
#include <arm_neon.h>

#define TARGET "arch=armv8.2-a+dotprod"
#define LANES 4
#define PIXELS 4
#define DEEP 4
#define WEIGHT 4
#define IS_SIGNED true
#define DOT(acc, x, w)                                                                             \
    ((sums)vdotq_s32((int32x4_t)(acc), (int8x16_t)(x), vld1q_s8((const int8_t *)(w))))
#include "exec/kernels/q8_lanes.h"

INLINE void mix(const bytes *x, sums v[4])
{
    uint16x8_t low = (uint16x8_t)vzip1q_u8((uint8x16_t)x[0], (uint8x16_t)x[1]);
    uint16x8_t high = (uint16x8_t)vzip2q_u8((uint8x16_t)x[0], (uint8x16_t)x[1]);
    uint16x8_t low2 = (uint16x8_t)vzip1q_u8((uint8x16_t)x[2], (uint8x16_t)x[3]);
    uint16x8_t high2 = (uint16x8_t)vzip2q_u8((uint8x16_t)x[2], (uint8x16_t)x[3]);
    v[0] = (sums)vzip1q_u16(low, low2);
    v[1] = (sums)vzip2q_u16(low, low2);
    v[2] = (sums)vzip1q_u16(high, high2);
    v[3] = (sums)vzip2q_u16(high, high2);
}

#include "exec/kernels/q8_depthwise_arm.h"
#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_dot = TABLE;
#endif
