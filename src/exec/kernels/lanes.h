/* Vectors of LANES floats, for files that are compiled for an instruction set (instruction_set.h).
 * The operations are elementwise IEEE arithmetic without contraction (vec.h), so that the bits do
 * not depend on LANES. */
#ifndef AD_EXEC_KERNELS_LANES_H
#define AD_EXEC_KERNELS_LANES_H

#include "exec/kernels/instruction_set.h"
#include "exec/kernels/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));
typedef uint32_t bits __attribute__((vector_size(4 * LANES)));

INLINE vec all(float x)
{
    return (vec){0} + x;
}

#if defined(__x86_64__) && LANES == 8
/* -1 in the first n lanes, n < LANES; 0 in the others. */
INLINE __m256i first_lanes(int64_t n)
{
    const __m256i lane = {1LL << 32, 3LL << 32 | 2, 5LL << 32 | 4, 7LL << 32 | 6};
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}
#endif

/* The first n lanes; the others are not read, and are 0. */
INLINE vec load(const float *p, int64_t n)
{
    vec v = {0};
    if (n >= LANES) {
        memcpy(&v, p, sizeof v);
        return v;
    }
#if defined(__x86_64__) && LANES == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif defined(__x86_64__) && LANES == 8
    return (vec)_mm256_maskload_ps(p, first_lanes(n));
#else
    for (int64_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
#endif
}

/* The first n lanes. */
INLINE void store(float *p, vec v, int64_t n)
{
    if (n >= LANES) {
        memcpy(p, &v, sizeof v);
        return;
    }
#if defined(__x86_64__) && LANES == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
    float all[LANES];
    memcpy(all, &v, sizeof v);
    memcpy(p, all, (size_t)n * sizeof *p);
#endif
}

INLINE vec choose(mask m, vec yes, vec no)
{
    return (vec)(((mask)yes & m) | ((mask)no & ~m));
}

/* The greater and the smaller of two: y when either is a NaN or both are equal. */
#if defined(__x86_64__) && LANES == 16
INLINE vec greater(vec x, vec y)
{
    return (vec)_mm512_max_ps((__m512)x, (__m512)y);
}

INLINE vec smaller(vec x, vec y)
{
    return (vec)_mm512_min_ps((__m512)x, (__m512)y);
}
#elif defined(__x86_64__) && LANES == 8
INLINE vec greater(vec x, vec y)
{
    return (vec)_mm256_max_ps((__m256)x, (__m256)y);
}

INLINE vec smaller(vec x, vec y)
{
    return (vec)_mm256_min_ps((__m256)x, (__m256)y);
}
#elif defined(__x86_64__) && LANES == 4
INLINE vec greater(vec x, vec y)
{
    return (vec)_mm_max_ps((__m128)x, (__m128)y);
}

INLINE vec smaller(vec x, vec y)
{
    return (vec)_mm_min_ps((__m128)x, (__m128)y);
}
#else
INLINE vec greater(vec x, vec y)
{
    return choose(x > y, x, y);
}

INLINE vec smaller(vec x, vec y)
{
    return choose(x < y, x, y);
}
#endif

/* NaN stays; of equal numbers x. */
INLINE vec clamp(vec x, vec lo, vec hi)
{
    return smaller(hi, greater(lo, x));
}

#endif
