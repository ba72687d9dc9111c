/* exec/kernels/wide.h in 256-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define KERNELS ad_wide_avx2
#include "exec/kernels/wide_tile.h"
#endif
