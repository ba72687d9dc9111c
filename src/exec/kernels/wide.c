/* exec/kernels/wide.h in the registers that every processor of the kind has. */
#define LANES 4
#define KERNELS ad_wide_any
#include "exec/kernels/wide_tile.h"

const struct ad_wide_kernels *ad_wide(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &ad_wide_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &ad_wide_avx2;
#endif
    return &ad_wide_any;
}
