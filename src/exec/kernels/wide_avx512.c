/* exec/kernels/wide.h in 512-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512dq"
#define LANES 16
#define KERNELS ad_wide_avx512
#include "exec/kernels/wide_tile.h"
#endif
