/* exec/kernels/rows.h in 512-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx512f,avx512dq"
#define LANES 16
#define ROWS ad_rows_avx512
#include "exec/kernels/rows_tile.h"
#endif
