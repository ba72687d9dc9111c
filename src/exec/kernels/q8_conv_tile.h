/* The inner loops of exec/kernels/q8_conv.c for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES (sums of a vector), ROWS and VECTORS (of
 * a tile, at most), WIDE (bytes of an input, of which a step takes 4 bytes), IS_SIGNED (inputs are
 * int8, else uint8) and DOT(acc, x, w): each lane's sum of products of its inputs and weights,
 * without saturation. Where an instruction can take the inputs from one lane of a vector,
 * DOT_LANE(acc, x, i, w) is the same of the i-th 4 bytes of x. STORE_BYTES(x, vectors, job, to) may
 * store the bytes of a pixel's floats. */
#include "exec/kernels/q8_conv_kernel.h"
#include "exec/kernels/q8_lanes.h"

#define EACH_ROW _Pragma("GCC unroll 16") for (int m = 0; m < rows; m++)
#define EACH_VECTOR _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)

/* 4 bytes of inputs, in every lane. */
INLINE sums broadcast(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return (sums){0} + word;
}

#if defined(STORE_BYTES)
#define store_row(x, vectors, job, to) STORE_BYTES(x, vectors, job, to)
#else
INLINE void store_row(const floats *x, const int vectors, const struct ad_q8_conv_job *job,
                      uint8_t *to)
{
    EACH_VECTOR
    {
        few y = narrow(rounded(x[v], job->how));
        int64_t n = job->channels - v * LANES;
        if (n >= LANES)
            memcpy(to + v * LANES, &y, sizeof y);
        else if (n > 0)
            memcpy(to + v * LANES, &y, (size_t)n);
    }
}
#endif

INLINE void store_bytes(sums (*acc)[VECTORS], const int rows, const int vectors,
                        const struct ad_q8_conv_job *job)
{
    floats multiplier[VECTORS], x[VECTORS];
    EACH_VECTOR multiplier[v] =
        load_floats((const char *)job->panel + (2 * vectors + v) * LANES * 4);
    EACH_ROW
    {
        EACH_VECTOR x[v] = __builtin_convertvector((ints)acc[m][v], floats) * multiplier[v];
        store_row(x, vectors, job, (uint8_t *)job->out[m] + job->c0);
    }
}

INLINE void store_tile(sums (*acc)[VECTORS], const int rows, const int vectors,
                       const struct ad_q8_conv_job *job)
{
    const char *panel = job->panel;
    const int64_t row = (int64_t)vectors * LANES * 4;
    if (job->sums)
        EACH_ROW EACH_VECTOR acc[m][v] -=
            load_sums(panel + row + v * LANES * 4) * (uint32_t)job->sums[m];
    if (job->how->result == AD_Q8_BYTES) {
        store_bytes(acc, rows, vectors, job);
        return;
    }
    EACH_ROW
    {
        EACH_VECTOR
        {
            int64_t n = job->channels - v * LANES;
            const char *channel = panel + 2 * row + v * LANES * 4;
            if (n > 0)
                store_words(acc[m][v], channel, channel + row, job->how, job->out[m],
                            job->c0 + v * LANES, n);
        }
    }
}

INLINE void tile(const int rows, const int vectors, const struct ad_q8_conv_job *job)
{
    sums acc[ROWS][VECTORS];
    const char *panel = job->panel, *x[ROWS];
    const int64_t row = (int64_t)vectors * LANES * 4;
    const char *w = panel + 4 * row;
    EACH_ROW x[m] = job->in[m];
    EACH_ROW EACH_VECTOR acc[m][v] = load_sums(panel + v * LANES * 4);
    int64_t s = 0;
#if defined(DOT_LANE)
#define BY_LANE(i)                                                                                 \
    EACH_VECTOR                                                                                    \
    {                                                                                              \
        sums b = load_sums(w + (i)*row + v * LANES * 4);                                           \
        EACH_ROW acc[m][v] = DOT_LANE(acc[m][v], a[m], i, b);                                      \
    }
    for (; s + 4 <= job->steps; s += 4, w += 4 * row) {
        sums a[ROWS];
        EACH_ROW a[m] = load_sums(x[m] + s * 4);
        BY_LANE(0)
        BY_LANE(1)
        BY_LANE(2)
        BY_LANE(3)
    }
#endif
#pragma GCC unroll 2
    for (; s < job->steps; s++, w += row) {
        sums b[VECTORS];
        EACH_VECTOR b[v] = load_sums(w + v * LANES * 4);
        EACH_ROW
        {
            sums a = broadcast(x[m] + s * 4);
            EACH_VECTOR acc[m][v] = DOT(acc[m][v], a, b[v]);
        }
    }
    store_tile(acc, rows, vectors, job);
}

#if WIDE == 1
/* The last of n bytes, fewer than a vector, with words that overlap. */
#define TAKE_WORDS(type)                                                                           \
    do {                                                                                           \
        type first, last;                                                                          \
        memcpy(&first, from, sizeof first);                                                        \
        memcpy(&last, from + n - sizeof last, sizeof last);                                        \
        first ^= (type)UINT64_C(0x0101010101010101) * flip;                                        \
        last ^= (type)UINT64_C(0x0101010101010101) * flip;                                         \
        memcpy(to, &first, sizeof first);                                                          \
        memcpy(to + n - sizeof last, &last, sizeof last);                                          \
    } while (0)

INLINE void take_rest(uint8_t *to, const uint8_t *from, int64_t n, uint8_t flip)
{
    for (; n >= 16; n -= 8, from += 8, to += 8) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        word ^= UINT64_C(0x0101010101010101) * flip;
        memcpy(to, &word, sizeof word);
    }
    if (n >= 8)
        TAKE_WORDS(uint64_t);
    else if (n >= 4)
        TAKE_WORDS(uint32_t);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] ^ flip;
}

INLINE void take_vector(uint8_t *to, const uint8_t *from, uint8_t flip)
{
    bytes v;
    memcpy(&v, from, sizeof v);
    v ^= flip;
    memcpy(to, &v, sizeof v);
}

static FOR_TARGET void take(void *out, const uint8_t *from, int64_t step, int64_t rows, int64_t n,
                            int64_t room, uint8_t flip)
{
    const int64_t size = sizeof(bytes);
    uint8_t *to = out;
    if (n <= size && room >= size) {
        for (int64_t i = 0; i < rows; i++, to += n, from += step)
            take_vector(to, from, flip);
        return;
    }
    for (int64_t i = 0; i < rows; i++, to += n, from += step) {
        int64_t k = 0;
        for (; k + size <= n; k += size)
            take_vector(to + k, from + k, flip);
        if (k < n && n >= size)
            take_vector(to + n - size, from + n - size, flip);
        else
            take_rest(to + k, from + k, n - k, flip);
    }
}
#else
typedef int16_t halves __attribute__((vector_size(16)));
typedef uint8_t eight __attribute__((vector_size(8)));

static FOR_TARGET void take(void *out, const uint8_t *from, int64_t step, int64_t rows, int64_t n,
                            int64_t room, uint8_t flip)
{
    int16_t *to = out;
    (void)room;
    for (int64_t r = 0; r < rows; r++, to += n, from += step) {
        int64_t i = 0;
        for (; i + 8 <= n; i += 8) {
            eight v;
            memcpy(&v, from + i, sizeof v);
            halves wide = __builtin_convertvector(v ^ flip, halves);
            memcpy(to + i, &wide, sizeof wide);
        }
        for (; i < n; i++)
            to[i] = from[i] ^ flip;
    }
}
#endif

#define TILE(rows, vectors)                                                                        \
    static FOR_TARGET void tile_##rows##_##vectors(const struct ad_q8_conv_job *job)               \
    {                                                                                              \
        tile(rows, vectors, job);                                                                  \
    }
