/* exec/kernels/softmax.h in 256-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define SOFTMAX ad_softmax_avx2
#include "exec/kernels/softmax_tile.h"
#endif
