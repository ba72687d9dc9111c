/* Convolution tiles of 14 pixels x 32 channels in 512-bit registers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET "avx512f,fma"
#define LANES 16
#define ROWS 14
#define BROADCAST(p) ((vec)_mm512_set1_ps(*(p)))
#define PERMUTE(x, i) ((vec)_mm512_permutexvar_ps((__m512i)(i), (__m512)(x)))
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MIN(a, b) ((vec)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define MAX(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
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
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)

const struct ad_conv_kernel ad_conv_avx512 = {
    .lanes = LANES,
    .rows = ROWS,
    .tile = {TILES(1), TILES(2), TILES(3), TILES(4), TILES(5), TILES(6), TILES(7), TILES(8),
             TILES(9), TILES(10), TILES(11), TILES(12), TILES(13), TILES(14)},
    .narrow = {narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6, narrow_7, narrow_8,
               narrow_9, narrow_10, narrow_11, narrow_12, narrow_13, narrow_14},
    .winograd = TRANSFORMS,
};
#endif
