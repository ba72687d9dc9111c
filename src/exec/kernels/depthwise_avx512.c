/* Depthwise tiles in 512-bit registers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET "avx512f,fma"
#define LANES 16
#define KERNEL ad_depthwise_avx512
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MIN(a, b) ((vec)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define MAX(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
#include "exec/kernels/depthwise_tile.h"
#endif
