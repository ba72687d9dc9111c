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
    return average ? acc + x : choose(x > acc, x, acc);
}

/* Pools `vectors` vectors of channels from channel c on, of which n are there. */
INLINE void pool_block(bool average, const struct ad_wide_pool *j, int64_t c, const int vectors,
                       int64_t n)
{
    const float *line = j->first + c;
    vec acc[BLOCK];
    for (int v = 0; v < vectors; v++)
        acc[v] = load(line + LANES * v, n);
    for (int64_t i = 0; i < j->rows; i++, line += j->row_step) {
        const float *at = i > 0 ? line : line + j->column_step;
        for (int64_t k = i > 0 ? 0 : 1; k < j->columns; k++, at += j->column_step)
            for (int v = 0; v < vectors; v++)
                acc[v] = fold(average, acc[v], load(at + LANES * v, n));
    }
    for (int v = 0; v < vectors; v++)
        store_clamped(j->out + c + LANES * v, 1, n, average ? acc[v] * j->scale : acc[v], j->lo,
                      j->hi);
}

INLINE void pool_all(bool average, const struct ad_wide_pool *j)
{
    int64_t c = 0;
    for (; c + BLOCK * LANES <= j->channels; c += BLOCK * LANES)
        pool_block(average, j, c, BLOCK, LANES);
    for (; c + LANES <= j->channels; c += LANES)
        pool_block(average, j, c, 1, LANES);
    if (c < j->channels)
        pool_block(average, j, c, 1, j->channels - c);
}

static FOR_TARGET void pool(const struct ad_wide_pool *j)
{
    if (j->scale != 0)
        pool_all(true, j);
    else
        pool_all(false, j);
}

INLINE void depthwise_block(const struct ad_wide_depthwise *j, int64_t c, const int vectors,
                            int64_t n)
{
    vec acc[BLOCK];
    for (int v = 0; v < vectors; v++)
        acc[v] = load(j->bias + c + LANES * v, n);
    for (int64_t t = 0; t < j->ntaps; t++)
        for (int v = 0; v < vectors; v++)
            acc[v] += load(j->taps[t].x + c + LANES * v, n) * load(j->taps[t].w + c + LANES * v, n);
    for (int v = 0; v < vectors; v++)
        store_clamped(j->out + (c + LANES * v) * j->out_step, j->out_step, n, acc[v], j->lo, j->hi);
}

static FOR_TARGET void depthwise(const struct ad_wide_depthwise *j)
{
    int64_t c = 0;
    for (; c + BLOCK * LANES <= j->channels; c += BLOCK * LANES)
        depthwise_block(j, c, BLOCK, LANES);
    for (; c + LANES <= j->channels; c += LANES)
        depthwise_block(j, c, 1, LANES);
    if (c < j->channels)
        depthwise_block(j, c, 1, j->channels - c);
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
