/* Rows of operators on bytes, for the widest vectors that this processor has. The bits are the same
 * whatever the width. */
#ifndef AD_EXEC_KERNELS_Q8_ROWS_KERNEL_H
#define AD_EXEC_KERNELS_Q8_ROWS_KERNEL_H

#include "exec/kernels/q8.h"

/* n elements of two operands. A byte's number is (byte ^ flip) - flip. */
struct ad_q8_binary_row {
    uint8_t *out;
    const uint8_t *a, *b;
    int64_t sa, sb; /* strides: 0 or 1 */
    uint8_t flip_a, flip_b;
    float scale_a, scale_b, fixed; /* of sums: (fixed + a * scale_a) + b * scale_b */
    int32_t zero_a, zero_b;        /* of products: (a - zero_a) * (b - zero_b) * scale_a + fixed */
    float lo, hi;
};

/* The taps of one window that lie in the input. */
struct ad_q8_pool_row {
    const uint8_t *first;
    int64_t rows, columns, row_step, column_step;
    int64_t channels;
    uint8_t flip;
    int32_t begin; /* of a sum of (byte ^ flip) */
    float multiplier;
    /* Of a mean: of the input, the divisor of its numbers, of the result. */
    int32_t zero;
    float scale, count, out_scale;
    uint8_t out_flip;
    const struct ad_q8_out *how;
    void *out;
};

/* Elements that a resized pixel takes, as struct ad_wide_mix. */
struct ad_q8_mix_row {
    int rows, columns;
    bool at_once; /* each times both its weights; else columns, then rows */
    const uint8_t *at[4][4];
    float row_weight[4], column_weight[4];
    int64_t channels;
    uint8_t flip;
    int32_t zero; /* of the input */
    float scale, out_scale;
    int32_t out_zero, lo, hi;
    uint8_t *out;
};

/* Bytes and floats; scale and zero of each channel if there is a step of 1, else of all. */
struct ad_q8_float_row {
    float *floats;
    uint8_t *bytes;
    uint8_t flip;
    const float *scale;
    const uint8_t *zero;
    int64_t step;
    int32_t lo, hi;
};

/* Sums that are added, and what becomes of them. */
struct ad_q8_sum_row {
    const int32_t *a, *b;
    const float *multiplier;
    int64_t step;
    const struct ad_q8_out *how;
    void *out;
};

struct ad_q8_row_kernels {
    void (*add)(const struct ad_q8_binary_row *row, int64_t n);
    void (*multiply)(const struct ad_q8_binary_row *row, int64_t n);
    void (*sum)(const struct ad_q8_pool_row *row);
    void (*mean)(const struct ad_q8_pool_row *row);
    void (*most)(const struct ad_q8_pool_row *row);
    void (*mix)(const struct ad_q8_mix_row *row);
    void (*quantise)(const struct ad_q8_float_row *row, int64_t n);
    void (*dequantise)(const struct ad_q8_float_row *row, int64_t n);
    void (*finish)(const struct ad_q8_sum_row *row, int64_t n);
};

/* The kernels for this processor. */
const struct ad_q8_row_kernels *ad_q8_row_kernels(void);

extern const struct ad_q8_row_kernels ad_q8_rows_any;
#if defined(__x86_64__)
extern const struct ad_q8_row_kernels ad_q8_rows_avx2, ad_q8_rows_avx512;
#endif

#endif
