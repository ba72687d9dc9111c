/* exec/kernels/q8_rows_kernel.h for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES and KERNELS, the name of what this file
 * defines. */
#include "exec/kernels/q8_lanes.h"
#include "exec/kernels/q8_rows_kernel.h"

#define BLOCK 4 /* vectors computed at the same time */

/* The numbers of n bytes, LANES at most; with a step of 0 all are the first. */
INLINE ints numbers(const uint8_t *p, int64_t step, int64_t n, uint8_t flip)
{
    few x = {0};
    if (step == 0)
        return (ints){0} + ((int32_t)(uint8_t)(*p ^ flip) - flip);
    if (n >= LANES)
        memcpy(&x, p, sizeof x);
    else
        memcpy(&x, p, (size_t)n);
    return __builtin_convertvector(x ^ flip, ints) - flip;
}

INLINE void store_few(uint8_t *to, few y, int64_t n)
{
    if (n >= LANES)
        memcpy(to, &y, sizeof y);
    else
        memcpy(to, &y, (size_t)n);
}

INLINE floats some_floats(const float *p, int64_t step, int64_t n)
{
    floats x = {0};
    if (step == 0)
        return x + *p;
    if (n >= LANES)
        memcpy(&x, p, sizeof x);
    else
        memcpy(&x, p, (size_t)n * sizeof *p);
    return x;
}

INLINE few limited(floats x, float lo, float hi, int32_t zero)
{
    x = smaller(greater(x, (floats){0} + lo), (floats){0} + hi);
    return narrow(nearest(x, zero));
}

INLINE floats to_floats(ints x)
{
    return __builtin_convertvector(x, floats);
}

/* --- arithmetic --- */

static FOR_TARGET void add(const struct ad_q8_binary_row *r, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        floats a = to_floats(numbers(r->a + i * r->sa, r->sa, n - i, r->flip_a));
        floats b = to_floats(numbers(r->b + i * r->sb, r->sb, n - i, r->flip_b));
        floats x = (floats){0} + r->fixed;
        x = x + a * r->scale_a;
        x = x + b * r->scale_b;
        store_few(r->out + i, limited(x, r->lo, r->hi, 0), n - i);
    }
}

static FOR_TARGET void multiply(const struct ad_q8_binary_row *r, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        ints a = numbers(r->a + i * r->sa, r->sa, n - i, r->flip_a) - r->zero_a;
        ints b = numbers(r->b + i * r->sb, r->sb, n - i, r->flip_b) - r->zero_b;
        floats x = to_floats(a) * to_floats(b); /* exact */
        x = x * r->scale_a;
        x = x + r->fixed;
        store_few(r->out + i, limited(x, r->lo, r->hi, 0), n - i);
    }
}

/* --- sums --- */

/* Elements [at, at + n) of what becomes of sums. */
INLINE void store_sums(sums acc, floats multiplier, floats bias, const struct ad_q8_out *how,
                       void *to, int64_t at, int64_t n)
{
    if (how->result == AD_Q8_BYTES) {
        floats x = to_floats((ints)acc) * multiplier;
        store_few((uint8_t *)to + at,
                  limited(x, (float)(how->lo - how->zero), (float)(how->hi - how->zero), how->zero),
                  n);
        return;
    }
    store_words(acc, &multiplier, &bias, how, to, at, n);
}

static FOR_TARGET void finish(const struct ad_q8_sum_row *r, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        sums a = {0}, b = {0};
        int64_t left = n - i < LANES ? n - i : LANES;
        memcpy(&a, r->a + i, (size_t)left * sizeof(int32_t));
        memcpy(&b, r->b + i, (size_t)left * sizeof(int32_t));
        store_sums(a + b, some_floats(r->multiplier + i * r->step, r->step, left), (floats){0},
                   r->how, r->out, i, left);
    }
}

/* --- pools --- */

/* The v-th of some vectors of n bytes in all. */
INLINE few bytes_at(const uint8_t *at, int v, const int vectors, int64_t n)
{
    few x = {0};
    if (v + 1 < vectors || n >= vectors * LANES)
        memcpy(&x, at + v * LANES, sizeof x);
    else
        memcpy(&x, at + v * LANES, (size_t)(n - v * LANES));
    return x;
}

INLINE void sum_block(const struct ad_q8_pool_row *r, int64_t c, const int vectors, int64_t n)
{
    sums acc[BLOCK];
    const uint8_t *line = r->first + c;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        acc[v] = (sums){0} + (uint32_t)r->begin;
    for (int64_t i = 0; i < r->rows; i++, line += r->row_step) {
        const uint8_t *at = line;
        for (int64_t k = 0; k < r->columns; k++, at += r->column_step)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                few x = bytes_at(at, v, vectors, n);
                acc[v] += __builtin_convertvector(x ^ r->flip, sums);
            }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        store_sums(acc[v], (floats){0} + r->multiplier, (floats){0}, r->how, r->out, c + v * LANES,
                   n - v * LANES < LANES ? n - v * LANES : LANES);
}

static FOR_TARGET void sum(const struct ad_q8_pool_row *r)
{
    int64_t c = 0;
    for (; c + BLOCK * LANES <= r->channels; c += BLOCK * LANES)
        sum_block(r, c, BLOCK, BLOCK * LANES);
    for (; c < r->channels; c += LANES)
        sum_block(r, c, 1, r->channels - c < LANES ? r->channels - c : LANES);
}

INLINE void mean_block(const struct ad_q8_pool_row *r, int64_t c, const int vectors, int64_t n)
{
    floats acc[BLOCK];
    const uint8_t *line = r->first + c;
    const ints zero = (ints){0} + (r->zero + r->flip);
    const floats scale = (floats){0} + r->scale;
    const int32_t out_zero = r->how->zero + r->out_flip;
    const float lo = (float)(r->how->lo + r->out_flip), hi = (float)(r->how->hi + r->out_flip);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        acc[v] = (floats){0};
    for (int64_t i = 0; i < r->rows; i++, line += r->row_step) {
        const uint8_t *at = line;
        for (int64_t k = 0; k < r->columns; k++, at += r->column_step)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                few x = bytes_at(at, v, vectors, n);
                floats y = to_floats(__builtin_convertvector(x ^ r->flip, ints) - zero);
                acc[v] = acc[v] + y * scale;
            }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        floats y = acc[v] / r->count;
        y = y / r->out_scale;
        y = y + (float)out_zero;
        store_few((uint8_t *)r->out + c + v * LANES, limited(y, lo, hi, 0) ^ r->out_flip,
                  n - v * LANES);
    }
}

static FOR_TARGET void mean(const struct ad_q8_pool_row *r)
{
    int64_t c = 0;
    for (; c + BLOCK * LANES <= r->channels; c += BLOCK * LANES)
        mean_block(r, c, BLOCK, BLOCK * LANES);
    for (; c < r->channels; c += LANES)
        mean_block(r, c, 1, r->channels - c < LANES ? r->channels - c : LANES);
}

/* Bytes of which the largest are found at a time. */
#if LANES >= 8
#define WIDE 32
#else
#define WIDE 16
#endif
typedef uint8_t wide __attribute__((vector_size(WIDE)));

INLINE wide larger(wide x, wide y)
{
#if defined(__x86_64__) && WIDE == 32
    return (wide)_mm256_max_epu8((__m256i)x, (__m256i)y);
#elif defined(__x86_64__)
    return (wide)_mm_max_epu8((__m128i)x, (__m128i)y);
#else
    wide more = (wide)(x > y);
    return (x & more) | (y & ~more);
#endif
}

static FOR_TARGET void most(const struct ad_q8_pool_row *r)
{
    const wide least = (wide){0} + (uint8_t)((uint8_t)r->how->lo ^ r->flip);
    const wide greatest = (wide){0} + (uint8_t)((uint8_t)r->how->hi ^ r->flip);
    for (int64_t c = 0; c < r->channels; c += WIDE) {
        const uint8_t *line = r->first + c;
        int64_t n = r->channels - c < WIDE ? r->channels - c : WIDE;
        wide acc = least;
        for (int64_t i = 0; i < r->rows; i++, line += r->row_step) {
            const uint8_t *at = line;
            for (int64_t k = 0; k < r->columns; k++, at += r->column_step) {
                wide x = {0};
                if (n == WIDE)
                    memcpy(&x, at, sizeof x);
                else
                    memcpy(&x, at, (size_t)n);
                acc = larger(acc, x ^ r->flip);
            }
        }
        acc = ~larger(~acc, ~greatest) ^ r->flip; /* the smaller */
        memcpy((uint8_t *)r->out + c, &acc, (size_t)n);
    }
}

/* --- resizing --- */

/* What element c and its neighbours of one tap stand for. */
INLINE floats meant(const struct ad_q8_mix_row *r, int i, int k, int64_t c)
{
    return to_floats(numbers(r->at[i][k] + c, 1, r->channels - c, r->flip) - r->zero) * r->scale;
}

INLINE floats mixed_at_once(const struct ad_q8_mix_row *r, int64_t c)
{
    floats all = {0};
    for (int i = 0; i < r->rows; i++)
        for (int k = 0; k < r->columns; k++) {
            float weight = r->column_weight[k] * r->row_weight[i];
            floats x = meant(r, i, k, c) * weight;
            all = i + k == 0 ? x : all + x;
        }
    return all;
}

INLINE floats mixed_by_rows(const struct ad_q8_mix_row *r, int64_t c)
{
    floats all = {0};
    for (int i = 0; i < r->rows; i++) {
        floats line = {0};
        for (int k = 0; k < r->columns; k++) {
            floats x = meant(r, i, k, c) * r->column_weight[k];
            line = k == 0 ? x : line + x;
        }
        line = line * r->row_weight[i];
        all = i == 0 ? line : all + line;
    }
    return all;
}

static FOR_TARGET void mix(const struct ad_q8_mix_row *r)
{
    for (int64_t c = 0; c < r->channels; c += LANES) {
        int64_t n = r->channels - c;
        floats all = r->at_once ? mixed_at_once(r, c) : mixed_by_rows(r, c);
        store_few(r->out + c,
                  limited(all / r->out_scale, (float)(r->lo - r->out_zero),
                          (float)(r->hi - r->out_zero), r->out_zero),
                  n);
    }
}

/* --- floats --- */

static FOR_TARGET void quantise(const struct ad_q8_float_row *r, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t left = n - i < LANES ? n - i : LANES;
        ints zero = numbers(r->zero + i * r->step, r->step, left, r->flip);
        floats x = some_floats(r->floats + i, 1, left);
        floats scale = some_floats(r->scale + i * r->step, r->step, left);
        if (left < LANES && r->step) /* what is not there is not divided by 0 */
            for (int64_t k = left; k < LANES; k++)
                scale[k] = 1;
        x = x / scale;
        x = smaller(greater(x, (floats){0} + (float)r->lo - to_floats(zero)),
                    (floats){0} + (float)r->hi - to_floats(zero));
        store_few(r->bytes + i, narrow(nearest(x, 0) + zero), left);
    }
}

static FOR_TARGET void dequantise(const struct ad_q8_float_row *r, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t left = n - i < LANES ? n - i : LANES;
        ints x = numbers(r->bytes + i, 1, left, r->flip);
        x -= numbers(r->zero + i * r->step, r->step, left, r->flip);
        floats y = to_floats(x) * some_floats(r->scale + i * r->step, r->step, left);
        memcpy(r->floats + i, &y, (size_t)left * sizeof *r->floats);
    }
}

const struct ad_q8_row_kernels KERNELS = {add, multiply, sum,        mean,  most,
                                          mix, quantise, dequantise, finish};
