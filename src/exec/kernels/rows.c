/* exec/kernels/rows.h in the registers that every processor of the kind has. */
#define LANES 4
#define ROWS ad_rows_any
#include "exec/kernels/choice.h"
#include "exec/kernels/rows_tile.h"

const struct ad_row_width ad_row_widths[] = {
    {LANES, ad_rows_any},
#if defined(__x86_64__)
    {8, ad_rows_avx2},
    {16, ad_rows_avx512},
#endif
    {0, NULL},
};

ad_row_kernel *ad_rows(void)
{
    int lanes = ad_choose_wide_lanes(ad_processor());
    const struct ad_row_width *width = ad_row_widths;
    while (width[1].run && width[1].lanes <= lanes)
        width++;
    return width->run;
}
