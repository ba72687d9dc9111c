/* Convolutions of bytes for arm64 without dot products: 2 pixels x 8 channels. Each channel of a
 * pixel has a vector of four sums of its own, which are added up at the end: products of 8 inputs
 * are int16, which int32 take in pairs. */
#if defined(__aarch64__)
#include <arm_neon.h>

#define LANES 4
#define WIDE 1
#define ROWS 2
#define VECTORS 2
#define DEEP 16
#define DOT(acc, x, w) ((void)(x), (void)(w), acc) /* the tile below has its own loop */
#include "exec/kernels/q8_conv_tile.h"

INLINE int32x4_t products(int32x4_t acc, int8x16_t x, int8x16_t w)
{
    acc = vpadalq_s16(acc, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    return vpadalq_s16(acc, vmull_high_s8(x, w));
}

INLINE void long_tile(const int rows, const int vectors, const struct ad_q8_conv_job *job)
{
    const int channels = vectors * LANES;
    int32x4_t acc[ROWS][VECTORS * LANES];
    sums sum[ROWS][VECTORS];
    const char *panel = job->panel;
    const int8_t *w = (const int8_t *)panel + 4 * channels * 4;
    EACH_ROW _Pragma("GCC unroll 8") for (int c = 0; c < channels; c++) acc[m][c] = vdupq_n_s32(0);
    for (int64_t s = 0; s < job->steps; s++, w += channels * DEEP) {
        int8x16_t x[ROWS];
        EACH_ROW x[m] = vld1q_s8((const int8_t *)job->in[m] + s * DEEP);
#pragma GCC unroll 8
        for (int c = 0; c < channels; c++) {
            int8x16_t b = vld1q_s8(w + c * DEEP);
            EACH_ROW acc[m][c] = products(acc[m][c], x[m], b);
        }
    }
    EACH_ROW EACH_VECTOR
    {
        int32x4_t *a = &acc[m][v * LANES];
        int32x4_t four = vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3]));
        sum[m][v] = load_sums(panel + v * LANES * 4) + (sums)four;
    }
    store_tile(sum, rows, vectors, job);
}

#define LONG(rows, vectors)                                                                        \
    static void long_##rows##_##vectors(const struct ad_q8_conv_job *job)                          \
    {                                                                                              \
        long_tile(rows, vectors, job);                                                             \
    }
LONG(1, 1)
LONG(1, 2)
LONG(2, 1)
LONG(2, 2)

const struct ad_q8_conv_kernel ad_q8_conv_neon = {
    .lanes = LANES,
    .vectors = VECTORS,
    .rows = {2, 2},
    .deep = DEEP,
    .wide = WIDE,
    .is_signed = true,
    .take = take,
    .tile = {{long_1_1, long_1_2}, {long_2_1, long_2_2}},
};
#endif
