/* Depthwise tiles in 256-bit registers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET "avx2,fma"
#define LANES 8
#define KERNEL ad_depthwise_fma3
#define FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MIN(a, b) ((vec)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define MAX(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#include "exec/kernels/depthwise_tile.h"
#endif
