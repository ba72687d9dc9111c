/* Convolutions of bytes in 256-bit registers, by the VEX form of VNNI: 6 pixels x 16 channels. */
#if defined(__x86_64__)
#define TARGET "avx2,avxvnni"
#define LANES 8
#define ROWS 6
#define VECTORS 2
#define WIDE 1
#define DOT(acc, x, w) ((sums)_mm256_dpbusd_avx_epi32((__m256i)(acc), (__m256i)(x), (__m256i)(w)))
#include "exec/kernels/q8_conv_tile.h"
#include "exec/kernels/q8_conv_two.h"

const struct ad_q8_conv_kernel ad_q8_conv_avxvnni = TABLE;
#endif
