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

/* e^x for -87 <= x <= 0, within 2e-7 of it; a NaN stays. 2^n times the Taylor polynomial of e^r,
 * where |r| <= ln 2 / 2; n * ln 2 is subtracted in two parts, of which the first product is exact.
 */
static inline ad_v4 ad_v4_exp(ad_v4 x)
{
    static const float taylor[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24,
                                   1.0f / 6,    1.0f / 2,   1.0f,       1.0f};
    const ad_v4 magic = ad_v4_all(0x1.8p23f); /* its last bit is worth 1: adding it rounds */
    ad_v4 t = x * ad_v4_all(0x1.715476p+0f) + magic, n = t - magic;
    ad_v4 r = x - n * ad_v4_all(0x1.62e400p-1f) - n * ad_v4_all(0x1.7f7d1cp-20f);
    ad_v4 p = ad_v4_all(taylor[0]);
    for (int k = 1; k < 8; k++)
        p = p * r + ad_v4_all(taylor[k]);
    ad_u4 power = ((ad_u4)t - (ad_u4)magic + 127) << 23;
    return p * (ad_v4)power;
}

/* 1 / (1 + e^-x). The exponential is of -|x|, so that nothing overflows; below -87 it stays at
 * e^-87. */
static inline ad_v4 ad_v4_sigmoid(ad_v4 x)
{
    ad_v4 zero = {0, 0, 0, 0}, one = ad_v4_all(1.0f);
    ad_v4 down = ad_v4_select(x > zero, -x, x);
    ad_v4 e = ad_v4_exp(ad_v4_clamp(down, ad_v4_all(-87.0f), zero));
    return ad_v4_select(x > zero, one, e) / (one + e);
}

#endif
