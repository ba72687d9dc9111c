/* Convolutions of bytes by the dot products of ARMv8.2: 8 pixels x 8 channels in 32 registers, as
 * in exec/kernels/conv_neon.c. */
#if defined(__aarch64__)
#include <arm_neon.h>

#if defined(__GNUC__) && !defined(__clang__)
/* Else GCC loads weights early, runs out of registers and moves sums about. */
#pragma GCC optimize("no-schedule-insns")
#endif

#define TARGET "arch=armv8.2-a+dotprod"
#define LANES 4
#define ROWS 8
#define VECTORS 2
#define WIDE 1
#define DOT(acc, x, w) ((sums)vdotq_s32((int32x4_t)(acc), (int8x16_t)(w), (int8x16_t)(x)))
#define DOT_LANE(acc, x, i, w)                                                                     \
    ((sums)vdotq_laneq_s32((int32x4_t)(acc), (int8x16_t)(w), (int8x16_t)(x), i))
#include "exec/kernels/q8_conv_tile.h"

#define TILES(rows)                                                                                \
    TILE(rows, 1)                                                                                  \
    TILE(rows, 2)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#define TWO(rows)                                                                                  \
    {                                                                                              \
        tile_##rows##_1, tile_##rows##_2                                                           \
    }

const struct ad_q8_conv_kernel ad_q8_conv_dot = {
    .lanes = LANES,
    .vectors = VECTORS,
    .rows = {8, 8},
    .deep = 4,
    .wide = WIDE,
    .is_signed = true,
    .take = take,
    .tile = {TWO(1), TWO(2), TWO(3), TWO(4), TWO(5), TWO(6), TWO(7), TWO(8)},
};
#endif
