/* exec/kernels/rows.h in the registers that every processor of the kind has. */
#define LANES 4
#define ROWS ad_rows_any
#include "exec/kernels/choice.h"
#include "exec/kernels/rows_tile.h"

ad_row_kernel *ad_rows(void)
{
    int lanes = ad_choose_wide_lanes(ad_processor());
#if defined(__x86_64__)
    if (lanes == 16)
        return ad_rows_avx512;
    if (lanes == 8)
        return ad_rows_avx2;
#else
    (void)lanes;
#endif
    return ad_rows_any;
}
