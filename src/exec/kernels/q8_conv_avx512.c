/* Convolutions of bytes in 512-bit registers: tiles of 6 pixels x 64 channels, or 12 x 32. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#define LANES 16
#define ROWS 12
#define VECTORS 4
#define WIDE 1
#define DOT(acc, x, w) ((sums)_mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(x), (__m512i)(w)))
#define REGISTER __m512i
#define FLOATS __m512
#define OF(name) _mm512_##name
#include "exec/kernels/q8_conv_kernel.h"
#include "exec/kernels/q8_lanes.h"
#include "exec/kernels/q8_x86.h"

/* All vectors of a pixel are joined, and their fours put into order. */
INLINE void store_joined(const floats *x, const int vectors, const struct ad_q8_conv_job *job,
                         uint8_t *to)
{
    floats all[4] = {{0}};
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        all[v] = x[v];
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i y = _mm512_permutexvar_epi32(order, (__m512i)join(all, job->how));
    const int64_t most = vectors * LANES, n = job->channels < most ? job->channels : most;
    if (n == 4 * LANES)
        _mm512_storeu_si512(to, y);
    else
        _mm512_mask_storeu_epi8(to, (UINT64_C(1) << n) - 1, y);
}
#define STORE_BYTES store_joined
#include "exec/kernels/q8_conv_tile.h"

#define TILES(rows)                                                                                \
    TILE(rows, 1)                                                                                  \
    TILE(rows, 2)                                                                                  \
    TILE(rows, 3)                                                                                  \
    TILE(rows, 4)
#define NARROW(rows)                                                                               \
    TILE(rows, 1)                                                                                  \
    TILE(rows, 2)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
NARROW(7)
NARROW(8)
NARROW(9)
NARROW(10)
NARROW(11)
NARROW(12)
#define ALL(rows)                                                                                  \
    {                                                                                              \
        tile_##rows##_1, tile_##rows##_2, tile_##rows##_3, tile_##rows##_4                         \
    }
#define TWO(rows)                                                                                  \
    {                                                                                              \
        tile_##rows##_1, tile_##rows##_2                                                           \
    }

const struct ad_q8_conv_kernel ad_q8_conv_avx512 = {
    .lanes = LANES,
    .vectors = VECTORS,
    .rows = {12, 12, 6, 6},
    .deep = 4,
    .wide = WIDE,
    .take = take,
    .tile = {ALL(1), ALL(2), ALL(3), ALL(4), ALL(5), ALL(6), TWO(7), TWO(8), TWO(9), TWO(10),
             TWO(11), TWO(12)},
};
#endif
