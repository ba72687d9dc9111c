/* Convolutions of bytes in 512-bit registers: tiles of 6 pixels x 64 channels, or 12 x 32. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#define LANES 16
#define ROWS 12
#define VECTORS 4
#define WIDE 1
#define DOT(acc, x, w) ((sums)_mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(x), (__m512i)(w)))
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
