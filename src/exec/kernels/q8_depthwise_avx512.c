/* Depthwise convolutions of bytes in 512-bit registers: 4 pixels x 64 channels. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#define LANES 16
#define PIXELS 4
#define DEEP 4
#define WEIGHT 4
#define IS_SIGNED false
#define REGISTER __m512i
#define FLOATS __m512
#define OF(name) _mm512_##name
#define DOT(acc, x, w)                                                                             \
    ((sums)_mm512_dpbusd_epi32((REGISTER)(acc), (REGISTER)(x), (REGISTER)load_sums(w)))
#include "exec/kernels/q8_lanes.h"
#include "exec/kernels/q8_depthwise_x86.h"
#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_avx512 = TABLE;
#endif
