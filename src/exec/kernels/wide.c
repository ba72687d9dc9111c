/* exec/kernels/wide.h in the registers that every processor of the kind has. */
#define LANES 4
#define KERNELS ad_wide_any
#include "exec/kernels/choice.h"
#include "exec/kernels/wide_tile.h"

const struct ad_wide_kernels *ad_wide(void)
{
    int lanes = ad_choose_wide_lanes(ad_processor());
#if defined(__x86_64__)
    if (lanes == 16)
        return &ad_wide_avx512;
    if (lanes == 8)
        return &ad_wide_avx2;
#else
    (void)lanes;
#endif
    return &ad_wide_any;
}
