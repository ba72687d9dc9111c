/* Winograd's transforms for one instruction set. The including file has included
 * exec/kernels/conv_tile.h, whose vectors these are. Points: see exec/kernels/winograd.h; P and Q
 * are those of m = 4. */
#include "exec/kernels/winograd_kernel.h"
#include "ir/winograd.h"

#define P 0.75f
#define Q 1.5f

/* The first n lanes; the others are 0. */
INLINE vec load_some(const float *p, int64_t n)
{
    if (n == LANES)
        return load(p);
    vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

INLINE vec times(float a, vec x, vec b)
{
    return FMA((vec){0} + a, x, b);
}

/* m + 2 inputs, `step` apart, become as many factors, in place. */
INLINE void spread_line(const int m, vec *d, const int step)
{
    vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (m == 2) {
        d[0] = d0 - d2;
        d[step] = d1 + d2;
        d[2 * step] = d2 - d1;
        d[3 * step] = d1 - d3;
        return;
    }
    vec d4 = d[4 * step], d5 = d[5 * step];
    vec p = times(-Q * Q, d2, d4), pp = times(-Q * Q, d1, d3);
    vec q = times(-P * P, d2, d4), qq = times(-P * P, d1, d3);
    d[0] = times(P * P * Q * Q, d0, times(-(P * P + Q * Q), d2, d4));
    d[step] = times(P, pp, p);
    d[2 * step] = times(-P, pp, p);
    d[3 * step] = times(Q, qq, q);
    d[4 * step] = times(-Q, qq, q);
    d[5 * step] = times(P * P * Q * Q, d1, times(-(P * P + Q * Q), d3, d5));
}

/* m + 2 sums, `step` apart, become m outputs, in place. */
INLINE void gather_line(const int m, vec *s, const int step)
{
    vec s0 = s[0], s1 = s[step], s2 = s[2 * step], s3 = s[3 * step];
    if (m == 2) {
        s[0] = s0 + s1 + s2;
        s[step] = s1 - s2 - s3;
        return;
    }
    vec s4 = s[4 * step], s5 = s[5 * step];
    vec even = s1 + s2, odd = s1 - s2, far = s3 + s4, far_odd = s3 - s4;
    s[0] = s0 + even + far;
    s[step] = times(P, odd, far_odd * Q);
    s[2 * step] = times(P * P, even, far * (Q * Q));
    s[3 * step] = times(P * P * P, odd, times(Q * Q * Q, far_odd, s5));
}

/* n of the channels from c on: a vector of them, or less. */
INLINE void spread_channels(const int m, const int kh, const int kw, int64_t c, int64_t n,
                            const struct ad_winograd_spread *job)
{
    const int rows = ad_winograd_inputs(m, kh), columns = ad_winograd_inputs(m, kw);
    vec d[AD_WINOGRAD_PRODUCTS];
#pragma GCC unroll 36
    for (int i = 0; i < rows * columns; i++)
        d[i] = load_some(job->in[i] + c, n);
    if (kh == 3) {
#pragma GCC unroll 6
        for (int j = 0; j < columns; j++)
            spread_line(m, d + j, columns);
    }
    if (kw == 3) {
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
            spread_line(m, d + i * columns, 1);
    }
#pragma GCC unroll 36
    for (int i = 0; i < rows * columns; i++)
        memcpy(job->out + i * job->step + c, &d[i],
               n == LANES ? sizeof *d : (size_t)n * sizeof(float));
}

INLINE void spread(const int m, const int kh, const int kw, const struct ad_winograd_spread *job)
{
    int64_t c = 0;
    for (; c + LANES <= job->channels; c += LANES)
        spread_channels(m, kh, kw, c, LANES, job);
    if (c < job->channels)
        spread_channels(m, kh, kw, c, job->channels - c, job);
}

INLINE vec gathered(vec x, int64_t c, int64_t n, int i, const struct ad_winograd_gather *job)
{
    if (job->add)
        x += load_some(job->add[i] + c, n);
    return clamp(x, job->lo, job->hi);
}

INLINE void gather_channels(const int m, const int kh, const int kw, int64_t c, int64_t n,
                            const struct ad_winograd_gather *job)
{
    const int rows = ad_winograd_inputs(m, kh), columns = ad_winograd_inputs(m, kw);
    const int out_rows = ad_winograd_tile(m, kh), out_columns = ad_winograd_tile(m, kw);
    vec s[AD_WINOGRAD_PRODUCTS], bias = load_some(job->bias + c, n);
#pragma GCC unroll 36
    for (int i = 0; i < rows * columns; i++)
        s[i] = load_some(job->in + i * job->step + c, n);
    if (kh == 3) {
#pragma GCC unroll 6
        for (int j = 0; j < columns; j++)
            gather_line(m, s + j, columns);
    }
    if (kw == 3) {
#pragma GCC unroll 4
        for (int i = 0; i < out_rows; i++)
            gather_line(m, s + i * columns, 1);
    }
#pragma GCC unroll 4
    for (int i = 0; i < out_rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < out_columns; j++) {
            int at = i * out_columns + j;
            if (!job->out[at])
                continue;
            vec x = gathered(s[i * columns + j] + bias, c, n, at, job);
            memcpy(job->out[at] + c, &x, n == LANES ? sizeof x : (size_t)n * sizeof(float));
        }
}

INLINE void gather(const int m, const int kh, const int kw, const struct ad_winograd_gather *job)
{
    int64_t c = 0;
    for (; c + LANES <= job->channels; c += LANES)
        gather_channels(m, kh, kw, c, LANES, job);
    if (c < job->channels)
        gather_channels(m, kh, kw, c, job->channels - c, job);
}

#define TRANSFORM(m, kh, kw)                                                                       \
    static FOR_TARGET void spread_##m##_##kh##kw(const struct ad_winograd_spread *job)             \
    {                                                                                              \
        spread(m, kh, kw, job);                                                                    \
    }                                                                                              \
    static FOR_TARGET void gather_##m##_##kh##kw(const struct ad_winograd_gather *job)             \
    {                                                                                              \
        gather(m, kh, kw, job);                                                                    \
    }
#define TRANSFORM_OF(m, kh, kw)                                                                    \
    {                                                                                              \
        spread_##m##_##kh##kw, gather_##m##_##kh##kw                                               \
    }

TRANSFORM(2, 3, 3)
TRANSFORM(2, 3, 1)
TRANSFORM(2, 1, 3)
TRANSFORM(4, 3, 3)
TRANSFORM(4, 3, 1)
TRANSFORM(4, 1, 3)

#define TRANSFORMS                                                                                 \
    {                                                                                              \
        {                                                                                          \
            {TRANSFORM_OF(2, 3, 3), TRANSFORM_OF(2, 3, 1), TRANSFORM_OF(2, 1, 3)},                 \
                {TRANSFORM_OF(4, 3, 3), TRANSFORM_OF(4, 3, 1), TRANSFORM_OF(4, 1, 3)},             \
        }                                                                                          \
    }
