/* Convolutions of bytes in 256-bit registers: 6 pixels x 16 channels. Inputs and weights are int16,
 * whose products and sums of two are exact in int32. */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define ROWS 6
#define VECTORS 2
#define WIDE 2
#define DOT(acc, x, w) ((acc) + (sums)_mm256_madd_epi16((__m256i)(x), (__m256i)(w)))
#include "exec/kernels/q8_conv_tile.h"
#include "exec/kernels/q8_conv_two.h"

const struct ad_q8_conv_kernel ad_q8_conv_avx2 = TABLE;
#endif
