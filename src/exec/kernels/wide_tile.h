/* exec/kernels/wide.h for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES and KERNELS, the name of what this file
 * defines. */
#include "exec/kernels/lanes.h"
#include "exec/kernels/wide.h"

#include <stdbool.h>

#define BLOCK 4 /* vectors computed at the same time */

INLINE void store_clamped(float *p, int64_t step, int64_t n, vec v, float lo, float hi)
{
    v = clamp(v, all(lo), all(hi));
    if (step == 1)
        store(p, v, n);
    else
        for (int64_t i = 0; i < n && i < LANES; i++)
            p[i * step] = v[i];
}

INLINE vec fold(bool average, vec acc, vec x)
{
    return average ? acc + x : greater(x, acc);
}

/* A block is `vectors` vectors of channels from channel c on, of which n are there: all but the
 * last vector are whole. So many elements of vector v are there. */
INLINE int64_t part(int v, const int vectors, int64_t n)
{
    return v + 1 < vectors ? LANES : n - LANES * v;
}

/* Calls block(..., c, vectors, n) for all channels. */
#define BY_BLOCKS(channels, block, ...)                                                            \
    do {                                                                                           \
        int64_t c = 0, left;                                                                       \
        for (; (left = (channels)-c) >= BLOCK * LANES; c += BLOCK * LANES)                         \
            block(__VA_ARGS__, c, BLOCK, BLOCK *LANES);                                            \
        if (left > 3 * LANES)                                                                      \
            block(__VA_ARGS__, c, 4, left);                                                        \
        else if (left > 2 * LANES)                                                                 \
            block(__VA_ARGS__, c, 3, left);                                                        \
        else if (left > LANES)                                                                     \
            block(__VA_ARGS__, c, 2, left);                                                        \
        else if (left > 0)                                                                         \
            block(__VA_ARGS__, c, 1, left);                                                        \
    } while (0)
_Static_assert(BLOCK == 4, "a case for each number of vectors");

INLINE void pool_block(bool average, const struct ad_wide_pool *j, int64_t c, const int vectors,
                       int64_t n)
{
    const float *line = j->first + c;
    vec acc[BLOCK];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        acc[v] = load(line + LANES * v, part(v, vectors, n));
    for (int64_t i = 0; i < j->rows; i++, line += j->row_step) {
        const float *at = i > 0 ? line : line + j->column_step;
        for (int64_t k = i > 0 ? 0 : 1; k < j->columns; k++, at += j->column_step)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                acc[v] = fold(average, acc[v], load(at + LANES * v, part(v, vectors, n)));
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        store_clamped(j->out + c + LANES * v, 1, part(v, vectors, n),
                      average ? acc[v] * j->scale : acc[v], j->lo, j->hi);
}

static FOR_TARGET void pool(const struct ad_wide_pool *j)
{
    if (j->scale != 0)
        BY_BLOCKS(j->channels, pool_block, true, j);
    else
        BY_BLOCKS(j->channels, pool_block, false, j);
}

INLINE void depthwise_block(const struct ad_wide_depthwise *j, int64_t c, const int vectors,
                            int64_t n)
{
    vec acc[BLOCK];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        acc[v] = load(j->bias + c + LANES * v, part(v, vectors, n));
    for (int64_t t = 0; t < j->ntaps; t++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            int64_t at = c + LANES * v, k = part(v, vectors, n);
            acc[v] += load(j->taps[t].x + at, k) * load(j->taps[t].w + at, k);
        }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        store_clamped(j->out + (c + LANES * v) * j->out_step, j->out_step, part(v, vectors, n),
                      acc[v], j->lo, j->hi);
}

static FOR_TARGET void depthwise(const struct ad_wide_depthwise *j)
{
    BY_BLOCKS(j->channels, depthwise_block, j);
}

/* Two rows of two columns; n channels from channel c on. */
struct four {
    const float *at[4];
    vec left, right, upper, lower;
};

INLINE vec mixed_four(const struct four *f, int64_t c, int64_t n)
{
    vec upper = load(f->at[0] + c, n) * f->left + load(f->at[1] + c, n) * f->right;
    vec lower = load(f->at[2] + c, n) * f->left + load(f->at[3] + c, n) * f->right;
    return upper * f->upper + lower * f->lower;
}

INLINE void mix_four(const struct ad_wide_mix *j)
{
    const struct four f = {{j->at[0][0], j->at[0][1], j->at[1][0], j->at[1][1]},
                           all(j->column_weight[0]),
                           all(j->column_weight[1]),
                           all(j->row_weight[0]),
                           all(j->row_weight[1])};
    float *out = j->out;
    int64_t c = 0, n = j->channels;
    for (; c + LANES <= n; c += LANES)
        store(out + c, mixed_four(&f, c, LANES), LANES);
    if (c < n)
        store(out + c, mixed_four(&f, c, n - c), n - c);
}

/* The same of any rows and columns. */
INLINE vec mixed(const struct ad_wide_mix *j, int64_t c, int64_t n)
{
    vec sum = {0};
    for (int i = 0; i < j->rows; i++) {
        vec line = {0};
        for (int k = 0; k < j->columns; k++) {
            vec term = load(j->at[i][k] + c, n) * j->column_weight[k];
            line = k == 0 ? term : line + term;
        }
        line = line * j->row_weight[i];
        sum = i == 0 ? line : sum + line;
    }
    return sum;
}

static FOR_TARGET void mix(const struct ad_wide_mix *j)
{
    if (j->rows == 2 && j->columns == 2)
        mix_four(j);
    else
        for (int64_t c = 0; c < j->channels; c += LANES)
            store(j->out + c, mixed(j, c, j->channels - c), j->channels - c);
}

const struct ad_wide_kernels KERNELS = {pool, depthwise, mix};
