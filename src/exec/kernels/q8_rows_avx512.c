/* Rows of operators on bytes, in 512-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512dq,avx2"
#define LANES 16
#define KERNELS ad_q8_rows_avx512
#include "exec/kernels/q8_rows_tile.h"
#endif
