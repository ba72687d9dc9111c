/* The inner loops of exec/kernels/depthwise.c for one instruction set, which the including file
 * names (exec/kernels/instruction_set.h): it also defines LANES (floats of a vector), KERNEL, the
 * name of what this file defines, FMA(a, b, c) = a * b + c, MIN(a, b) and MAX(a, b), which are b
 * when either is a NaN or both are equal.
 *
 * A tile is some pixels of a row by one vector of channels. The weights of a row of the window stay
 * in registers, and each input is read once for all pixels that take it. Each output element is
 * bias + x0 * w0 + x1 * w1 + ... over the taps that lie in the input, in their order, with fused
 * multiply-adds: the same whatever the tile and the width. */
#include "exec/kernels/depthwise_kernel.h"
#include "exec/kernels/instruction_set.h"

#include <stdbool.h>
#include <string.h>

typedef float vec __attribute__((vector_size(4 * LANES)));

/* n elements: a vector, or less. */
INLINE vec load(const float *p, const bool whole, int64_t n)
{
    vec v = {0};
    if (whole)
        memcpy(&v, p, sizeof v);
    else
        memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}

/* One row of taps: column i of the input is tap i - m * stride of pixel m. */
INLINE void row_of_taps(vec *acc, const int pixels, const int taps, const int stride,
                        const bool inside, const bool whole, const struct ad_depthwise_job *j,
                        const float *in, const float *weights)
{
    vec w[7];
#pragma GCC unroll 7
    for (int k = 0; k < taps; k++)
        w[k] = load(weights + k * LANES, true, LANES);
#pragma GCC unroll 24
    for (int i = 0; i < (pixels - 1) * stride + taps; i++) {
        if (!inside && (i < j->first || i >= j->end))
            continue;
        vec x = load(in + i * j->column, whole, j->channels);
#pragma GCC unroll 8
        for (int m = 0; m < pixels; m++)
            if (i - m * stride >= 0 && i - m * stride < taps)
                acc[m] = FMA(x, w[i - m * stride], acc[m]);
    }
}

INLINE void tile(const int pixels, const int taps, const int stride, const bool whole,
                 const struct ad_depthwise_job *j)
{
    vec acc[AD_DEPTHWISE_PIXELS];
    const float *in = j->in, *weights = j->weights;
#pragma GCC unroll 8
    for (int m = 0; m < pixels; m++)
        acc[m] = load(j->bias, true, LANES);
    if (whole && j->first <= 0 && j->end >= (pixels - 1) * stride + taps)
        for (int64_t i = 0; i < j->rows; i++, in += j->row, weights += taps * LANES)
            row_of_taps(acc, pixels, taps, stride, true, whole, j, in, weights);
    else
        for (int64_t i = 0; i < j->rows; i++, in += j->row, weights += taps * LANES)
            row_of_taps(acc, pixels, taps, stride, false, whole, j, in, weights);
    vec lo = (vec){0} + j->lo, hi = (vec){0} + j->hi;
#pragma GCC unroll 8
    for (int m = 0; m < pixels; m++) {
        vec x = MIN(hi, MAX(lo, acc[m]));
        if (whole)
            memcpy(j->out + m * j->step, &x, sizeof x);
        else
            memcpy(j->out + m * j->step, &x, (size_t)j->channels * sizeof(float));
    }
}

#define TILE(pixels, taps, stride)                                                                 \
    static FOR_TARGET void tile_##pixels##_##taps##_##stride(const struct ad_depthwise_job *job)   \
    {                                                                                              \
        tile(pixels, taps, stride, true, job);                                                     \
    }
#define TILES(taps, stride)                                                                        \
    TILE(1, taps, stride)                                                                          \
    TILE(2, taps, stride)                                                                          \
    TILE(3, taps, stride)                                                                          \
    TILE(4, taps, stride)                                                                          \
    TILE(5, taps, stride)                                                                          \
    TILE(6, taps, stride)                                                                          \
    TILE(7, taps, stride)                                                                          \
    TILE(8, taps, stride)
#define WIDTH(taps)                                                                                \
    TILES(taps, 1)                                                                                 \
    TILES(taps, 2)                                                                                 \
    static FOR_TARGET void partial_##taps(const struct ad_depthwise_job *job)                      \
    {                                                                                              \
        tile(1, taps, 1, false, job);                                                              \
    }
WIDTH(3)
WIDTH(5)
WIDTH(7)

#define NAMES(taps, stride)                                                                        \
    {                                                                                              \
        tile_1_##taps##_##stride, tile_2_##taps##_##stride, tile_3_##taps##_##stride,              \
            tile_4_##taps##_##stride, tile_5_##taps##_##stride, tile_6_##taps##_##stride,          \
            tile_7_##taps##_##stride, tile_8_##taps##_##stride                                     \
    }

const struct ad_depthwise_kernel KERNEL = {
    .lanes = LANES,
    .tile = {{NAMES(3, 1), NAMES(3, 2)}, {NAMES(5, 1), NAMES(5, 2)}, {NAMES(7, 1), NAMES(7, 2)}},
    .partial = {partial_3, partial_5, partial_7},
};
