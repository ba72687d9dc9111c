/* Activations that take more than a few operations, four elements at a time. They are computed in
 * double precision of basic arithmetic and square roots alone and rounded once, so that they have
 * the same bits on every processor and are within about an ulp of the exact result. */
#ifndef AD_EXEC_KERNELS_FUNCTIONS_H
#define AD_EXEC_KERNELS_FUNCTIONS_H

#include "exec/kernels/vec.h"
#include "ir/graph.h"

typedef ad_v4 ad_function_kernel(ad_v4 x, ad_v4 alpha, ad_v4 beta);

/* NULL for those that exec/kernels/elementwise.c computes itself (AD_FN_NONE, the sigmoids, ...).
 */
ad_function_kernel *ad_function_kernel_of(enum ad_function function);

/* x^y. Of a negative x only whole powers are numbers; x^0 is 1. */
ad_v4 ad_v4_pow(ad_v4 x, ad_v4 y);

#endif
