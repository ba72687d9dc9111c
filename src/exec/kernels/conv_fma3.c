/* Convolution tiles of 6 pixels x 16 channels in 256-bit registers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET "avx2,fma"
#define LANES 8
#define ROWS 6
#define BROADCAST(p) ((vec)_mm256_broadcast_ss(p))
#define PERMUTE(x, i) ((vec)_mm256_permutevar8x32_ps((__m256)(x), (__m256i)(i)))
#define FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MIN(a, b) ((vec)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define MAX(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#include "exec/kernels/conv_tile.h"
#include "exec/kernels/winograd_tile.h"

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

const struct ad_conv_kernel ad_conv_fma3 = {
    .lanes = LANES,
    .rows = ROWS,
    .tile = {TILES(1), TILES(2), TILES(3), TILES(4), TILES(5), TILES(6)},
    .narrow = {narrow_1, narrow_2, narrow_3, narrow_4, narrow_5, narrow_6},
    .winograd = TRANSFORMS,
};
#endif
