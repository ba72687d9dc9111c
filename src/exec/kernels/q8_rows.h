/* Operators on bytes but for convolutions: strided operands, any part of a map, the same bits on
 * every processor (docs/numerics.md). */
#ifndef AD_EXEC_KERNELS_Q8_ROWS_H
#define AD_EXEC_KERNELS_Q8_ROWS_H

#include "exec/kernels/q8.h"

/* --- tables --- */

/* What each byte becomes, by its bit pattern: as if it were made a float, `function` computed by
 * the kernels for floats, and the result made a byte. AD_ELEMENTWISE_COPY: another scale. */
void ad_q8_table_make(uint8_t table[256], const struct ad_q8 *in, const struct ad_q8 *out,
                      const struct ad_activation *function);

/* out = table[in], or a copy when table is NULL; may be in place. Both of one shape. */
struct ad_q8_map {
    struct ad_q8_view in, out;
    const uint8_t *table;
};
void ad_q8_map_run(const struct ad_q8_map *m, struct pthreadpool *pool);

/* --- arithmetic --- */

/* Of a and b, whose dimensions are those of out, or 1: repeated; may be in place. */
struct ad_q8_binary {
    bool multiply; /* else add */
    struct ad_q8_view a, b, out;
    struct ad_q8 a_is, b_is, out_is;
    int32_t lo, hi; /* numbers of out's type: of a fused clamp */
};
void ad_q8_binary_run(const struct ad_q8_binary *b, struct pthreadpool *pool);

/* Adds int32 sums of two blocks of inputs, and finishes them as a convolution would. */
struct ad_q8_sum {
    struct ad_q8_out a, b, out; /* a and b: AD_Q8_SUMS, of the shape of out */
    const float *multiplier;    /* by channel; NULL: out is AD_Q8_SUMS */
};
void ad_q8_sum_run(const struct ad_q8_sum *s, struct pthreadpool *pool);

/* --- pools --- */

/* As struct ad_pooling. Averages: AD_Q8_BYTES, or AD_Q8_SUMS: of (x - zero), without a division.
 * The largest is AD_Q8_BYTES of the input's scale. */
struct ad_q8_pooling {
    bool average, count_include_pad;
    struct ad_window window;
    struct ad_q8_view in;
    struct ad_q8 in_is, out_is;
    struct ad_q8_out out;
    int64_t in_h0, in_w0, h0, w0;
    int64_t size_h, size_w;
};
void ad_q8_pooling_run(const struct ad_q8_pooling *p, struct pthreadpool *pool);

/* What a sum of `count` is multiplied by to become an average: float32(scale_x / (scale_y *
 * count)). */
float ad_q8_average(const struct ad_q8 *in, const struct ad_q8 *out, int64_t count);

/* --- floats --- */

/* Between floats and bytes, of one shape. scale and zero are those of `is`; or, if `scales` is not
 * NULL, of each channel, `zeros` (bytes of the type) may be NULL: 0. */
struct ad_q8_floats {
    struct ad_view floats;
    struct ad_q8_view bytes;
    struct ad_q8 is;
    const float *scales;
    const uint8_t *zeros;
};
void ad_q8_quantise_run(const struct ad_q8_floats *q, struct pthreadpool *pool);
void ad_q8_dequantise_run(const struct ad_q8_floats *q, struct pthreadpool *pool);

/* Softmax over the channels, at most so many: as if by floats. */
#define AD_Q8_SOFTMAX 16384
struct ad_q8_softmax {
    struct ad_q8_view in, out;
    struct ad_q8 in_is, out_is;
};
void ad_q8_softmax_run(const struct ad_q8_softmax *s, struct pthreadpool *pool);

#endif
