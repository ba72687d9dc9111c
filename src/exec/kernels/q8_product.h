/* Products of matrices of bytes that are both computed at run time, as attention has them. Each is
 * a 1x1 convolution (exec/kernels/q8_conv.h) whose pixels are the rows of a and whose weights, the
 * columns of b, are packed at each run. */
#ifndef AD_EXEC_KERNELS_Q8_PRODUCT_H
#define AD_EXEC_KERNELS_Q8_PRODUCT_H

#include "exec/kernels/q8.h"

/* out = a * b for each of `count` matrices: a is rows x depth, b depth x columns, all dense, one
 * after the other. */
struct ad_q8_product {
    const uint8_t *a, *b;
    struct ad_q8 a_is, b_is; /* of these, all but the scales */
    struct ad_q8_out out;    /* its dims and strides are not read */
    int64_t count, rows, depth, columns;
    bool one_a, one_b;  /* this operand is one matrix, for all */
    float multiplier;   /* of bytes and floats */
    size_t slice_bytes; /* of packed columns that stay in the cache beside the rows */
    void *scratch;      /* ad_q8_product_scratch() bytes, aligned as ad_alloc_aligned() does */
};

/* What b takes packed. False on overflow, and for a depth beyond AD_Q8_DEPTH. */
bool ad_q8_product_scratch(const struct ad_q8_product *product, size_t *bytes);

void ad_q8_product_run(const struct ad_q8_product *product, struct pthreadpool *pool);

#endif
