/* Four floats at a time, with the compiler's vector types: exact elementwise IEEE arithmetic. A
 * partial vector is computed as a whole one, so a remainder rounds (and treats NaN) alike. */
#ifndef AD_EXEC_KERNELS_VEC_H
#define AD_EXEC_KERNELS_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

typedef float ad_v4 __attribute__((vector_size(16)));
typedef int32_t ad_m4 __attribute__((vector_size(16)));
typedef uint32_t ad_u4 __attribute__((vector_size(16)));

static inline ad_v4 ad_v4_load(const float *p)
{
    ad_v4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void ad_v4_store(float *p, ad_v4 v)
{
    memcpy(p, &v, sizeof v);
}

/* The first n lanes; the others are 0. */
static inline ad_v4 ad_v4_load_n(const float *p, int64_t n)
{
    ad_v4 v = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}

static inline void ad_v4_store_n(float *p, ad_v4 v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = v[i];
}

static inline ad_v4 ad_v4_all(float x)
{
    return (ad_v4){x, x, x, x};
}

static inline ad_v4 ad_v4_select(ad_m4 mask, ad_v4 yes, ad_v4 no)
{
    return (ad_v4)(((ad_m4)yes & mask) | ((ad_m4)no & ~mask));
}

/* NaN stays; of equal numbers x. */
static inline ad_v4 ad_v4_clamp(ad_v4 x, ad_v4 lo, ad_v4 hi)
{
    x = ad_v4_select(x < lo, lo, x);
    return ad_v4_select(x > hi, hi, x);
}

#endif
