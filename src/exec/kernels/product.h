/* Products of matrices that are both computed at run time, as attention has them. Each element is a
 * sum from zero, in the order of the depth, with fused multiply-adds: the tiles of convolutions
 * (exec/kernels/conv.h) compute them. */
#ifndef AD_EXEC_KERNELS_PRODUCT_H
#define AD_EXEC_KERNELS_PRODUCT_H

#include "exec/kernels/kernels.h"

/* out = a * b for each of `count` matrices: a is rows x depth, b depth x columns, all dense, one
 * after the other. */
struct ad_product {
    const float *a, *b;
    float *out;
    int64_t count, rows, depth, columns;
    bool one_a, one_b; /* this operand is one matrix, for all */
    float *scratch;    /* ad_product_scratch() floats */
};

/* What b takes packed. False on overflow. */
bool ad_product_scratch(const struct ad_product *product, size_t *floats);

void ad_product_run(const struct ad_product *product, struct pthreadpool *pool);

#endif
