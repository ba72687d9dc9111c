/* Vectors of LANES int32 and floats for kernels of bytes, for files that are compiled for an
 * instruction set (instruction_set.h); and how a vector of exact sums ends. */
#ifndef AD_EXEC_KERNELS_Q8_LANES_H
#define AD_EXEC_KERNELS_Q8_LANES_H

#include "exec/kernels/instruction_set.h"
#include "exec/kernels/q8.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t sums __attribute__((vector_size(4 * LANES))); /* of which a carry is dropped */
typedef uint8_t few __attribute__((vector_size(LANES)));
typedef uint8_t bytes __attribute__((vector_size(4 * LANES)));

INLINE sums load_sums(const void *p)
{
    sums v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE floats load_floats(const void *p)
{
    floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* x where it is greater (smaller), y where both are equal. */
#if defined(__x86_64__) && LANES == 16
INLINE floats greater(floats x, floats y)
{
    return (floats)_mm512_max_ps((__m512)x, (__m512)y);
}

INLINE floats smaller(floats x, floats y)
{
    return (floats)_mm512_min_ps((__m512)x, (__m512)y);
}
#elif defined(__x86_64__) && LANES == 8
INLINE floats greater(floats x, floats y)
{
    return (floats)_mm256_max_ps((__m256)x, (__m256)y);
}

INLINE floats smaller(floats x, floats y)
{
    return (floats)_mm256_min_ps((__m256)x, (__m256)y);
}
#elif defined(__x86_64__) && LANES == 4
INLINE floats greater(floats x, floats y)
{
    return (floats)_mm_max_ps((__m128)x, (__m128)y);
}

INLINE floats smaller(floats x, floats y)
{
    return (floats)_mm_min_ps((__m128)x, (__m128)y);
}
#else
INLINE floats choose(ints m, floats yes, floats no)
{
    return (floats)(((ints)yes & m) | ((ints)no & ~m));
}

INLINE floats greater(floats x, floats y)
{
    return choose(x > y, x, y);
}

INLINE floats smaller(floats x, floats y)
{
    return choose(x < y, x, y);
}
#endif

/* Half to even, of numbers within +-2^22, + zero: the last bit of the sum of floats is worth 1. */
INLINE ints nearest(floats x, int32_t zero)
{
    const floats shift = (floats){0} + 0x1.8p23f;
    const ints most = (ints)shift - zero;
    return (ints)(x + shift) - most;
}

/* ad_q8_round() of a vector. */
INLINE ints rounded(floats x, const struct ad_q8_out *how)
{
    x = greater(x, (floats){0} + (float)(how->lo - how->zero));
    return nearest(smaller(x, (floats){0} + (float)(how->hi - how->zero)), how->zero);
}

/* Numbers of bytes, as bytes. */
INLINE few narrow(ints y)
{
#if defined(__x86_64__) && LANES == 8
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)y),
                                    _mm256_extracti128_si256((__m256i)y, 1));
    const __m128i low = _mm_set1_epi16(255);
    words = _mm_and_si128(words, low);
    int64_t all = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
    few v;
    memcpy(&v, &all, sizeof v);
    return v;
#elif defined(__x86_64__) && LANES == 4
    const __m128i low = _mm_set1_epi32(255);
    __m128i words = _mm_packs_epi32(_mm_and_si128((__m128i)y, low), low);
    int32_t all = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    few v;
    memcpy(&v, &all, sizeof v);
    return v;
#else
    return __builtin_convertvector(y, few);
#endif
}

/* Stores elements [at, at + n) of `to`, LANES at most, as int32 or floats. */
INLINE void store_words(sums acc, const void *multiplier, const void *bias,
                        const struct ad_q8_out *how, void *to, int64_t at, int64_t n)
{
    floats x = (floats)acc;
    n = n < LANES ? n : LANES;
    if (how->result == AD_Q8_FLOATS) {
        x = __builtin_convertvector((ints)acc, floats) * load_floats(multiplier);
        x = x + load_floats(bias);
        x = smaller((floats){0} + how->clamp_max, greater((floats){0} + how->clamp_min, x));
    }
    float *p = (float *)to + at;
    if (n == LANES)
        memcpy(p, &x, sizeof x);
    else
        memcpy(p, &x, (size_t)n * sizeof *p);
}

#endif
