/* One row of an elementwise operator, for the widest vectors that this processor has. The bits are
 * the same whatever the width (exec/kernels/lanes.h). */
#ifndef AD_EXEC_KERNELS_ROWS_H
#define AD_EXEC_KERNELS_ROWS_H

#include "exec/kernels/kernels.h"

/* n elements along the innermost dimension. */
struct ad_row {
    float *out;
    const float *a, *b; /* b: NULL for unary kinds */
    int64_t so, sa, sb; /* strides */
    float lo, hi, alpha, beta;
    enum ad_function function; /* of AD_ELEMENTWISE_FUNCTION */
};

/* What an activation needs, in place; `out` and `a` are the caller's to set. */
static inline struct ad_row ad_row_of(const struct ad_activation *then)
{
    return (struct ad_row){.so = 1,
                           .sa = 1,
                           .lo = then->clamp_min,
                           .hi = then->clamp_max,
                           .alpha = then->alpha,
                           .beta = then->beta,
                           .function = then->function};
}

/* Of any kind but AD_ELEMENTWISE_COPY. */
typedef void ad_row_kernel(enum ad_elementwise_kind kind, const struct ad_row *row, int64_t n);

/* The kernel for this processor. */
ad_row_kernel *ad_rows(void);

/* Those of all widths, the narrowest first; after the last, run is NULL. This processor has those
 * of at most ad_choose_wide_lanes() lanes. */
struct ad_row_width {
    int lanes;
    ad_row_kernel *run;
};
extern const struct ad_row_width ad_row_widths[];

extern ad_row_kernel ad_rows_any;
#if defined(__x86_64__)
extern ad_row_kernel ad_rows_avx2, ad_rows_avx512;
#endif

#endif
