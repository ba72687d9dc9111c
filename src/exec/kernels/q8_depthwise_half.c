/* Depthwise convolutions of at most 32 channels of bytes by AVX-512 VNNI, in 256-bit registers: 4
 * pixels x 32 channels. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#define LANES 8
#define PIXELS 4
#define DEEP 4
#define WEIGHT 4
#define IS_SIGNED false
#define REGISTER __m256i
#define FLOATS __m256
#define OF(name) _mm256_##name
#define DOT(acc, x, w)                                                                             \
    ((sums)_mm256_dpbusd_epi32((REGISTER)(acc), (REGISTER)(x), (REGISTER)load_sums(w)))
#include "exec/kernels/q8_lanes.h"
#include "exec/kernels/q8_depthwise_x86.h"
#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_half = TABLE;
#endif
