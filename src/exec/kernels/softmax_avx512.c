/* exec/kernels/softmax.h in 512-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512dq"
#define LANES 16
#define SOFTMAX ad_softmax_avx512
#include "exec/kernels/softmax_tile.h"
#endif
