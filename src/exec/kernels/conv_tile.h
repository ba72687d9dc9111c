/* The inner loops of exec/kernels/conv.c for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES (floats of a vector), ROWS (pixels of a
 * tile), FMA(a, b, c) = a * b + c, MIN(a, b) and MAX(a, b), which are b when either is a NaN or
 * both are equal, BROADCAST(p), a vector of *p read from memory (compilers make two instructions of
 * it, of which one takes the place of a multiply-add), and PERMUTE(x, i), elements i of x. ROWS * 2
 * sums, two vectors of weights and one of input are to fit the registers. Where an instruction can
 * multiply by one element of a vector, FMA_LANE(a, i, b, c) = a[i] * b + c, for vectors of four;
 * ROWS vectors of input are then to fit as well. FINISH_WHOLE(acc, rows, vectors, job) may do what
 * finish() does, where all channels of the panel are stored.
 *
 * Each output element is bias + x0 * w0 + x1 * w1 + ..., in the order of the taps and channels,
 * with fused multiply-adds: the same on every processor that has them, and what XNNPACK computes
 * there. Taps that are padding for all pixels of a tile are left out, which changes nothing. */
#include "exec/kernels/conv_kernel.h"
#include "exec/kernels/instruction_set.h"

#include <stdbool.h>
#include <string.h>

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));

INLINE vec load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* A NaN stays; of equal numbers x. */
INLINE vec clamp(vec x, float lo, float hi)
{
    return MIN((vec){0} + hi, MAX((vec){0} + lo, x));
}

/* Adds what is to be added to the sums of a tile, clamps them, and stores `channels` of each pixel.
 */
INLINE void finish(vec (*acc)[2], const int rows, const int vectors, const struct ad_conv_job *job)
{
    if (job->padded) {
#pragma GCC unroll 16
        for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                acc[m][v] += (vec){0};
    }
#if defined(FINISH_WHOLE)
    if (job->channels >= vectors * LANES) {
        FINISH_WHOLE(acc, rows, vectors, job);
        return;
    }
#endif
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            int64_t at = job->c0 + v * LANES, n = job->channels - v * LANES;
            if (n >= LANES) {
                vec x = job->add ? acc[m][v] + load(job->add[m] + at) : acc[m][v];
                x = clamp(x, job->lo, job->hi);
                memcpy(job->out[m] + at, &x, sizeof x);
            } else if (n > 0) {
                vec x = {0};
                if (job->add)
                    memcpy(&x, job->add[m] + at, (size_t)n * sizeof(float));
                x = clamp(job->add ? acc[m][v] + x : acc[m][v], job->lo, job->hi);
                memcpy(job->out[m] + at, &x, (size_t)n * sizeof(float));
            }
        }
    }
}

#if defined(FMA_LANE)
#define BY_ELEMENT(i)                                                                              \
    do {                                                                                           \
        vec b[2];                                                                                  \
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) b[v] =                           \
            load(w + ((i)*vectors + v) * LANES);                                                   \
        _Pragma("GCC unroll 16") for (int m = 0; m < rows; m++)                                    \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) acc[m][v] =                  \
                FMA_LANE(a[m], i, b[v], acc[m][v]);                                                \
    } while (0)

/* Four input channels. Panels are so narrow that every other line is enough to fetch. */
INLINE void four(vec (*acc)[2], const int rows, const int vectors, const float *const *x, int64_t c,
                 const float *w, const float *ahead, int64_t step)
{
    vec a[ROWS];
    __builtin_prefetch(ahead, 0, 2);
    __builtin_prefetch(ahead + 2 * step, 0, 2);
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++)
        a[m] = load(x[m] + c);
    BY_ELEMENT(0);
    BY_ELEMENT(1);
    BY_ELEMENT(2);
    BY_ELEMENT(3);
}
#endif

INLINE void tile(const int rows, const int vectors, const struct ad_conv_job *job)
{
    vec acc[ROWS][2];
    const float *w = job->weights, *ahead = job->ahead;
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            acc[m][v] = load(w + v * LANES);
    w += vectors * LANES;
    for (int64_t t = 0; t < job->taps; t++) {
        const float *x[ROWS];
        if (!job->in[t * AD_CONV_ROWS]) {
            w += job->depth * vectors * LANES;
            continue;
        }
#pragma GCC unroll 16
        for (int m = 0; m < rows; m++)
            x[m] = job->in[t * AD_CONV_ROWS + m] + job->first;
        int64_t c = 0;
#if defined(FMA_LANE)
        for (; c + 4 <= job->depth; c += 4, w += 4 * vectors * LANES, ahead += 4 * job->ahead_step)
            four(acc, rows, vectors, x, c, w, ahead, job->ahead_step);
#endif
#pragma GCC unroll 2
        for (; c < job->depth; c++, w += vectors * LANES, ahead += job->ahead_step) {
            vec b[2];
            __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                b[v] = load(w + v * LANES);
#pragma GCC unroll 16
            for (int m = 0; m < rows; m++) {
                vec a = BROADCAST(x[m] + c);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++)
                    acc[m][v] = FMA(a, b[v], acc[m][v]);
            }
        }
    }
    finish(acc, rows, vectors, job);
}

/* n inputs, as many as the panel has outputs: a vector, or less. */
INLINE vec inputs(const float *p, const bool whole, int64_t n)
{
    vec v = {0};
    if (whole)
        return load(p);
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}

/* Each lane's k-th factor is the k-th input of its group. */
INLINE void narrow(const int rows, const bool whole, const struct ad_conv_job *job)
{
    vec acc[ROWS][2];
    const float *w = job->weights + LANES;
    ivec group;
    for (int i = 0; i < LANES; i++)
        group[i] = i & -(int32_t)job->depth;
#pragma GCC unroll 16
    for (int m = 0; m < rows; m++)
        acc[m][0] = load(job->weights);
    for (int64_t t = 0; t < job->taps; t++) {
        const float *x[ROWS];
        if (!job->in[t * AD_CONV_ROWS]) {
            w += job->depth * LANES;
            continue;
        }
#pragma GCC unroll 16
        for (int m = 0; m < rows; m++)
            x[m] = job->in[t * AD_CONV_ROWS + m] + job->first;
        ivec from = group;
        for (int64_t c = 0; c < job->depth; c++, w += LANES, from += 1) {
            vec b = load(w);
#pragma GCC unroll 16
            for (int m = 0; m < rows; m++)
                acc[m][0] = FMA(PERMUTE(inputs(x[m], whole, job->channels), from), b, acc[m][0]);
        }
    }
    finish(acc, rows, 1, job);
}

#define TILE(rows)                                                                                 \
    static FOR_TARGET void tile_##rows##_1(const struct ad_conv_job *job)                          \
    {                                                                                              \
        tile(rows, 1, job);                                                                        \
    }                                                                                              \
    static FOR_TARGET void tile_##rows##_2(const struct ad_conv_job *job)                          \
    {                                                                                              \
        tile(rows, 2, job);                                                                        \
    }                                                                                              \
    static FOR_TARGET void narrow_##rows(const struct ad_conv_job *job)                            \
    {                                                                                              \
        if (job->channels >= LANES)                                                                \
            narrow(rows, true, job);                                                               \
        else                                                                                       \
            narrow(rows, false, job);                                                              \
    }
#define TILES(rows)                                                                                \
    {                                                                                              \
        tile_##rows##_1, tile_##rows##_2                                                           \
    }
