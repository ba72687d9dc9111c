/* The inner loops of exec/kernels/q8_depthwise.c for one instruction set, which the including file
 * names (exec/kernels/instruction_set.h): it also defines LANES (sums of a vector), PIXELS (of a
 * tile, at most), DEEP (rows that are taken together), WEIGHT (bytes of a lane's weights),
 * IS_SIGNED, and the functions
 *   mix(x, v)       from DEEP rows of 4 * LANES channels four vectors, whose lanes have a channel's
 *                   inputs each
 *   DOT(acc, x, w)  each lane's sum of products; w: where a vector of weights lies
 *   join(x, how)    four vectors of floats, as bytes in the order of channels
 * A column of inputs is mixed once for all pixels that read it. */
#include "exec/kernels/q8_depthwise_kernel.h"

#define BLOCK (4 * LANES)
#define STEP (LANES * WEIGHT)
#define FOUR _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++)

INLINE bytes load_bytes(const uint8_t *p, const bool whole, int64_t n)
{
    bytes x = {0};
    if (whole) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if defined(__AVX512BW__) && LANES == 16
    return (bytes)_mm512_maskz_loadu_epi8((__mmask64)((UINT64_C(1) << n) - 1), p);
#else
    memcpy(&x, p, (size_t)n);
    return x;
#endif
}

/* Of any result but bytes: one channel after the other. */
static FOR_TARGET void store_plain(const sums acc[4], const struct ad_q8_depthwise_job *job,
                                   void *out)
{
    const float *multiplier = (const float *)job->block + BLOCK, *bias = multiplier + BLOCK;
    const struct ad_q8_out *how = job->how;
    for (int i = 0; i < BLOCK; i++) {
        int v = i % 16 / 4, lane = i / 16 * 4 + i % 4;
        if (i >= job->n)
            return;
        int32_t sum = (int32_t)acc[v][lane];
        if (how->result == AD_Q8_SUMS) {
            ((int32_t *)out)[job->channel + i] = sum;
            continue;
        }
        float x = (float)sum * multiplier[v * LANES + lane];
        x = x + bias[v * LANES + lane];
        x = how->clamp_min > x ? how->clamp_min : x;
        ((float *)out)[job->channel + i] = how->clamp_max < x ? how->clamp_max : x;
    }
}

INLINE void store_pixel(const sums acc[4], const bool whole, const struct ad_q8_depthwise_job *job,
                        void *out)
{
    const struct ad_q8_out *how = job->how;
    const char *multiplier = job->block + BLOCK * 4;
    if (how->result != AD_Q8_BYTES) {
        store_plain(acc, job, out);
        return;
    }
    floats x[4];
    FOUR x[v] =
        __builtin_convertvector((ints)acc[v], floats) * load_floats(multiplier + v * LANES * 4);
    bytes all = join(x, how);
    uint8_t *to = (uint8_t *)out + job->channel;
    if (whole) {
        memcpy(to, &all, sizeof all);
        return;
    }
#if defined(__AVX512BW__) && LANES == 16
    _mm512_mask_storeu_epi8(to, (__mmask64)((UINT64_C(1) << job->n) - 1), (__m512i)all);
#else
    memcpy(to, &all, (size_t)job->n);
#endif
}

INLINE void mix_column(const bool whole, const struct ad_q8_depthwise_job *job, int64_t group,
                       int64_t column, sums v[4])
{
    bytes x[DEEP];
    const uint8_t *const *in = job->in + group * DEEP * job->columns + column;
#pragma GCC unroll 4
    for (int i = 0; i < DEEP; i++)
        x[i] = load_bytes(in[i * job->columns] + job->channel, whole, job->n) ^ job->flip;
    mix(x, v);
}

/* taps, stride and pixels are constants. */
INLINE void tile(const int taps, const int stride, const int pixels, const bool whole,
                 const struct ad_q8_depthwise_job *job)
{
    sums acc[PIXELS][4];
    const int columns = (pixels - 1) * stride + taps;
    const char *w = job->block + 3 * BLOCK * 4;
#pragma GCC unroll 4
    for (int m = 0; m < pixels; m++)
        FOUR acc[m][v] = load_sums(job->block + v * LANES * 4);
    for (int64_t group = 0; group < job->groups; group++, w += taps * 4 * STEP) {
#pragma GCC unroll 16
        for (int j = 0; j < columns; j++) {
            sums x[4];
            mix_column(whole, job, group, j, x);
#pragma GCC unroll 4
            for (int m = 0; m < pixels; m++) {
                const int tap = j - m * stride;
                if (tap >= 0 && tap < taps)
                    FOUR acc[m][v] = DOT(acc[m][v], x[v], w + (tap * 4 + v) * STEP);
            }
        }
    }
#pragma GCC unroll 4
    for (int m = 0; m < pixels; m++)
        store_pixel(acc[m], whole, job, job->out[m]);
}

INLINE void one(const bool whole, const struct ad_q8_depthwise_job *job)
{
    sums acc[4], x[4];
    const char *w = job->block + 3 * BLOCK * 4;
    FOUR acc[v] = load_sums(job->block + v * LANES * 4);
    for (int64_t group = 0; group < job->groups; group++)
        for (int64_t j = 0; j < job->taps; j++, w += 4 * STEP) {
            mix_column(whole, job, group, j, x);
            FOUR acc[v] = DOT(acc[v], x[v], w + v * STEP);
        }
    store_pixel(acc, whole, job, job->out[0]);
}

static FOR_TARGET void any(const struct ad_q8_depthwise_job *job)
{
    if (job->n >= BLOCK)
        one(true, job);
    else
        one(false, job);
}

#define TILE(taps, stride, pixels)                                                                 \
    static FOR_TARGET void tile_##taps##_##stride##_##pixels(                                      \
        const struct ad_q8_depthwise_job *job)                                                     \
    {                                                                                              \
        if (job->n >= BLOCK)                                                                       \
            tile(taps, stride, pixels, true, job);                                                 \
        else                                                                                       \
            tile(taps, stride, pixels, false, job);                                                \
    }
#define TWO_TILES(taps, stride)                                                                    \
    TILE(taps, stride, 1)                                                                          \
    TILE(taps, stride, 2)
TWO_TILES(3, 1)
TWO_TILES(3, 2)
TWO_TILES(5, 1)
TWO_TILES(5, 2)
#if PIXELS > 2
#define MORE_TILES(taps, stride)                                                                   \
    TILE(taps, stride, 3)                                                                          \
    TILE(taps, stride, 4)
MORE_TILES(3, 1)
MORE_TILES(3, 2)
MORE_TILES(5, 1)
MORE_TILES(5, 2)
#define TILES(taps, stride)                                                                        \
    {                                                                                              \
        tile_##taps##_##stride##_1, tile_##taps##_##stride##_2, tile_##taps##_##stride##_3,        \
            tile_##taps##_##stride##_4                                                             \
    }
#else
#define TILES(taps, stride)                                                                        \
    {                                                                                              \
        tile_##taps##_##stride##_1, tile_##taps##_##stride##_2                                     \
    }
#endif
#define TABLE                                                                                      \
    {                                                                                              \
        .lanes = LANES, .deep = DEEP, .pixels = PIXELS, .weight = WEIGHT, .is_signed = IS_SIGNED,  \
        .tile = {{TILES(3, 1), TILES(3, 2)}, {TILES(5, 1), TILES(5, 2)}}, .any = any               \
    }
