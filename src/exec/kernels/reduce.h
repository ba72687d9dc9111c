/* The kernel of reductions: of the channels of each pixel, or of the rows of a matrix. The order of
 * operations depends on the number of elements alone. */
#ifndef AD_EXEC_KERNELS_REDUCE_H
#define AD_EXEC_KERNELS_REDUCE_H

#include "exec/kernels/kernels.h"

/* `out` has one channel per pixel of `in`. */
struct ad_reduce {
    enum ad_reduction how;
    struct ad_view in, out;
};
void ad_reduce_run(const struct ad_reduce *r, struct pthreadpool *pool);

#endif
