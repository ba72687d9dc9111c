/* Rows of operators on bytes, in 256-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define KERNELS ad_q8_rows_avx2
#include "exec/kernels/q8_rows_tile.h"
#endif
