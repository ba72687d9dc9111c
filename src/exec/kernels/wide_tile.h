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

const struct ad_wide_kernels KERNELS = {pool, depthwise};
