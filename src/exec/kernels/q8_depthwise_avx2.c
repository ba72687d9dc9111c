/* Depthwise convolutions of bytes in 256-bit registers: 2 pixels x 32 channels, products of int16.
 */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define PIXELS 2
#define DEEP 2
#define WEIGHT 4
#define IS_SIGNED false
#define REGISTER __m256i
#define FLOATS __m256
#define OF(name) _mm256_##name
#define DOT(acc, x, w) ((acc) + (sums)_mm256_madd_epi16((REGISTER)(x), (REGISTER)load_sums(w)))
#include "exec/kernels/q8_lanes.h"
#include "exec/kernels/q8_depthwise_x86.h"
#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_avx2 = TABLE;
#endif
