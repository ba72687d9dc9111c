/* exec/kernels/rows.h in 256-bit registers. */
#if defined(__x86_64__)
#define TARGET "avx2"
#define LANES 8
#define ROWS ad_rows_avx2
#include "exec/kernels/rows_tile.h"
#endif
