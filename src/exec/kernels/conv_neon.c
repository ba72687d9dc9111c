/* Convolution tiles of 8 pixels x 8 channels in the 32 128-bit registers of arm64: 16 sums, 8
 * vectors of input, each with four channels of a pixel, and what of the weights is on its way. */
#if defined(__aarch64__)
#include "exec/kernels/conv_kernel.h"

#include <arm_neon.h>
#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
/* Else GCC loads weights early, runs out of registers and moves sums about. */
#pragma GCC optimize("no-schedule-insns")
#endif

#define LANES 4
#define ROWS 8
#define BROADCAST(p) ((vec)vld1q_dup_f32(p))
#define FMA(a, b, c) ((vec)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define FMA_LANE(a, i, b, c)                                                                       \
    ((vec)vfmaq_laneq_f32((float32x4_t)(c), (float32x4_t)(b), (float32x4_t)(a), i))
#define MIN(a, b) smaller((float32x4_t)(a), (float32x4_t)(b))
#define MAX(a, b) larger((float32x4_t)(a), (float32x4_t)(b))
#define PERMUTE(x, i) permute((float32x4_t)(x), (int32x4_t)(i))

#define FINISH_WHOLE(acc, rows, vectors, job) finish_whole(acc, rows, vectors, job)

typedef float vec __attribute__((vector_size(16)));

static inline vec smaller(float32x4_t a, float32x4_t b)
{
    return (vec)vbslq_f32(vcltq_f32(a, b), a, b);
}

static inline vec larger(float32x4_t a, float32x4_t b)
{
    return (vec)vbslq_f32(vcgtq_f32(a, b), a, b);
}

/* The bytes of element i are 4 * i to 4 * i + 3. */
static inline vec permute(float32x4_t x, int32x4_t i)
{
    uint32x4_t at = vmlaq_n_u32(vdupq_n_u32(0x03020100), vreinterpretq_u32_s32(i), 0x04040404);
    return (vec)vqtbl1q_u8(vreinterpretq_u8_f32(x), vreinterpretq_u8_u32(at));
}

/* The sums of a tile all of whose channels are stored. A bound at infinity is none. */
static inline __attribute__((always_inline)) void
finish_whole(vec (*acc)[2], const int rows, const int vectors, const struct ad_conv_job *job)
{
    float *const *out = job->out;
    int64_t c0 = job->c0;
    float lo = job->lo, hi = job->hi;
#define EACH                                                                                       \
    _Pragma("GCC unroll 16") for (int m = 0; m < rows; m++)                                        \
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)
    if (job->add)
        EACH acc[m][v] += (vec)vld1q_f32(job->add[m] + c0 + v * LANES);
    if (lo > -INFINITY)
        EACH acc[m][v] = MAX(vdupq_n_f32(lo), acc[m][v]);
    if (hi < INFINITY)
        EACH acc[m][v] = MIN(vdupq_n_f32(hi), acc[m][v]);
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++) {
        float *to = out[m] + c0;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            vst1q_f32(to + v * LANES, (float32x4_t)acc[m][v]);
    }
#undef EACH
}

#include "exec/kernels/conv_tile.h"
#include "exec/kernels/winograd_tile.h"

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)

const struct ad_conv_kernel ad_conv_neon = {
    .lanes = LANES,
    .rows = ROWS,
    .tile = {TILES(1), TILES(2), TILES(3), TILES(4), TILES(5), TILES(6), TILES(7), TILES(8)},
    .narrow = {narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6, narrow_7, narrow_8},
    .winograd = TRANSFORMS,
};
#endif
