/* Functions of LANES floats, for files that are compiled for an instruction set.
 *
 * They are float32 polynomials with their rounding errors carried along where they would count: a
 * number is a sum hi + lo whose lo is below the last place of hi. What they take is additions,
 * multiplications and divisions in a fixed order, so they have the same bits on every processor and
 * at every width, and are within 2 ulp of the exact result (tests/exec/test_functions.c). Denormals
 * count as zero, as in all kernels.
 *
 * Mish, the gelu with tanh and powers widen to double precision where float32 would lose too much.
 */
#include "exec/kernels/lanes.h"

#if LANES > 4
#include <immintrin.h>
#endif

/* Half of the lanes in double precision. */
typedef double wide __attribute__((vector_size(4 * LANES)));
typedef int64_t wide_mask __attribute__((vector_size(4 * LANES)));
typedef uint64_t wide_bits __attribute__((vector_size(4 * LANES)));
typedef float half __attribute__((vector_size(2 * LANES)));

struct pair {
    vec hi, lo;
};

INLINE vec absolute(vec x)
{
    return (vec)((mask)x & INT32_MAX);
}

/* |x| with the sign of y. */
INLINE vec with_sign(vec x, vec y)
{
    return (vec)(((mask)x & INT32_MAX) | ((mask)y & INT32_MIN));
}

/* The upper 12 of the 24 digits. */
INLINE vec upper_half(vec x)
{
    return (vec)((bits)x & 0xfffff000);
}

/* Horner's rule, the highest power first. */
INLINE vec polynomial(const float *k, const int n, vec x)
{
    vec p = all(k[0]);
#pragma GCC unroll 16
    for (int i = 1; i < n; i++)
        p = p * x + k[i];
    return p;
}

/* hi + lo of a + b, where |a| >= |b| or a is 0 (Dekker's Fast2Sum). */
INLINE struct pair sum(vec a, vec b)
{
    vec hi = a + b;
    return (struct pair){hi, b - (hi - a)};
}

/* hi + lo of a + b (Knuth's 2Sum). */
INLINE struct pair any_sum(vec a, vec b)
{
    vec hi = a + b, part = hi - a;
    return (struct pair){hi, (a - (hi - part)) + (b - part)};
}

/* --- exponentials --- */

/* e^x = 2^n (1 + r + rest), |r| <= ln 2 / 2. */
struct reduced {
    vec r, rest;
    mask n;
};

/* Of x + low, low below the last place of x. n * ln 2 is subtracted in two parts, of which the
 * first product is exact; what r rounds off is in the rest. */
INLINE struct reduced reduce(vec x, vec low)
{
    /* (e^r - 1 - r) / r^2, within 2e-9 */
    static const float k[] = {0x1.a12516p-13f, 0x1.6d434ep-10f, 0x1.1110e0p-7f,
                              0x1.5554e8p-5f,  0x1.555556p-3f,  0.5f};
    const vec magic = all(0x1.8p23f); /* its last bit is worth 1: adding it rounds */
    vec t = x * 0x1.715476p+0f + magic, n = t - magic;
    vec near = x - n * 0x1.62e400p-1f, rest = n * 0x1.7f7d1cp-20f - low;
    vec r = near - rest;
    rest = (near - r) - rest;
    return (struct reduced){r, rest + r * r * polynomial(k, 6, r), (mask)((bits)t - (bits)magic)};
}

/* 2^n, -127 <= n <= 127, of which 2^-127 is 0. */
INLINE vec power_of_two(mask n)
{
    return (vec)(((bits)n + 127) << 23);
}

/* e^x of any x. */
INLINE vec exponential(vec x)
{
    struct reduced e = reduce(clamp(x, all(-88.0f), all(89.0f)), all(0.0f));
    mask half = e.n >> 1; /* 2^128 is no float */
    return (1.0f + (e.r + e.rest)) * power_of_two(half) * power_of_two(e.n - half);
}

/* e^(x + low) of -88 <= x <= 0, low below the last place of x; within 1 ulp, as nothing is carried
 * along. At -88 it is 0. */
INLINE vec exponential_plain(vec x, vec low)
{
    /* (e^r - 1 - r) / r^2, so that e^r is within 4e-9 */
    static const float k[] = {0x1.6a4b38p-10f, 0x1.12398ep-7f, 0x1.5558b2p-5f, 0x1.555492p-3f,
                              0x1.fffffcp-2f};
    const vec magic = all(0x1.8p23f); /* whose last 9 bits are 0 */
    vec t = x * 0x1.715476p+0f + magic, n = t - magic;
    vec r = (x - n * 0x1.62e400p-1f) - (n * 0x1.7f7d1cp-20f - low);
    vec power = (vec)(((bits)t + 127) << 23);
    return (1.0f + (r + r * r * polynomial(k, 5, r))) * power;
}

/* scale * e^(x + low), where that is 2^-126 to 2^127; scale is a power of two. */
INLINE struct pair exponential_pair(vec x, vec low, vec scale)
{
    struct reduced e = reduce(x, low);
    struct pair p = sum(all(1.0f), e.r);
    p = sum(p.hi, p.lo + e.rest);
    scale = (vec)(((bits)e.n << 23) + (bits)scale);
    return (struct pair){p.hi * scale, p.lo * scale};
}

/* e^x of x <= 0. */
INLINE struct pair exponential_below(vec x)
{
    x = choose(x < -88.0f, all(-88.0f), x); /* of which that is 0 */
    return exponential_pair(x, all(0.0f), all(1.0f));
}

/* e^x - 1 of x <= 0, with small relative error. */
INLINE struct pair exponential_minus_1(vec x)
{
    struct reduced e = reduce(choose(x < -88.0f, all(-88.0f), x), all(0.0f));
    vec scale = power_of_two(e.n);
    struct pair p = sum(scale - 1.0f, scale * e.r);
    return sum(p.hi, p.lo + scale * e.rest);
}

/* --- made of exponentials --- */

/* Something near 1 / x, within an eighth: the exponent is negated, the fraction nearly so. */
INLINE vec inverse_of(vec x)
{
    return (vec)(0x7ef311c7 - (bits)x);
}

/* Where 1 / (1 + e^-x) is all but 0 and 1. */
INLINE vec sigmoid_range(vec x)
{
    return clamp(x, all(-94.0f), all(80.0f));
}

/* top / (1 + e^-(x + low)), of an x in that range; at its lower end, 0. near_top: top in that
 * range: infinities must not go into the correction. For x < 0 the denominator is 2^-16 of itself,
 * so that it is not too great, and the quotient no denormal before it is multiplied. */
INLINE vec over_exponential(vec top, vec near_top, vec x, vec low)
{
    vec scale = choose(x < 0.0f, all(0x1p-16f), all(1.0f));
    struct pair e = exponential_pair(-x, -low, scale), d = any_sum(scale, e.hi);
    vec inverse = inverse_of(d.hi);
    vec q = top / d.hi - near_top * inverse * ((d.lo + e.lo) * inverse);
    return choose(x <= -94.0f, with_sign(all(0.0f), top), q * scale);
}

/* top / (1 + e^-x), top >= -94, of an x in that range: the same in half the time, as nothing is
 * carried along. With s = x + n ln 2, 1 + e^-x = 1 + 2^n + 2^n (s^2 P(s) - s), whose powers of two
 * are added exactly, or the larger one last. What is below the least normal number becomes 0 as it
 * is scaled. */
INLINE vec over_plain_exponential(vec top, vec x)
{
    /* (e^-s - 1 + s) / s^2, so that e^-s is within 4e-9 */
    static const float k[] = {0x1.6a4b38p-10f, -0x1.12398ep-7f, 0x1.5558b2p-5f, -0x1.555492p-3f,
                              0x1.fffffcp-2f};
    const vec magic = all(0x1.8p23f); /* whose last 9 bits are 0 */
    mask far = x < -1.0f;
    vec scaled_1 = (vec)(far & (mask)all(0x1p-16f)), plain_1 = (vec)(~far & (mask)all(1.0f));
    vec scale = (vec)((bits)scaled_1 | (bits)plain_1);
    vec t = x * -0x1.715476p+0f + magic, n = t - magic;
    vec s = (x + n * 0x1.62e400p-1f) + n * 0x1.7f7d1cp-20f;
    vec power = (vec)(((bits)t << 23) + (bits)scale);
    vec rest = power * (s * s * polynomial(k, 5, s) - s) + scaled_1;
    return top / ((power + plain_1) + rest) * scale;
}

INLINE vec sigmoid(vec x)
{
    return over_plain_exponential(all(1.0f), sigmoid_range(x));
}

INLINE vec silu(vec x)
{
    vec top = greater(all(-94.0f), x);
    return over_plain_exponential(top, smaller(all(80.0f), top));
}

/* With E = e^-2|x| - 1: -E / (2 + E) = q, and 1 / (2 + E) = (1 + q) / 2. */
INLINE vec tangent(vec x)
{
    struct pair e = exponential_minus_1(-2.0f * absolute(x));
    struct pair d = sum(all(2.0f), e.hi);
    vec q = -e.hi / d.hi;
    vec lost = -e.lo - q * (d.lo + e.lo);
    return with_sign(q + lost * (0.5f + 0.5f * q), x);
}

INLINE vec elu(vec x, vec alpha, vec beta)
{
    struct pair e = exponential_minus_1(choose(x > 0.0f, all(0.0f), x));
    return choose(x < 0.0f, alpha * e.hi, x) * beta;
}

INLINE vec celu(vec x, vec alpha)
{
    vec y = x / alpha;
    struct pair e = exponential_minus_1(choose(y > 0.0f, all(0.0f), y));
    vec minus_1 = choose(y > 0.0f, exponential(y) - 1.0f, e.hi);
    return choose((x < 0.0f) & (absolute(y) > 0x1p-60f), alpha * minus_1, x);
}

/* ln(1 + f) with f the sum, -0.3 <= f <= 0.42: f - f^2 / 2 + s (f^2 / 2 + R), s = f / (2 + f),
 * where 2 artanh(s) = 2 s + s R. */
INLINE vec logarithm_near_1(vec f, vec low, vec n)
{
    static const float odd[] = {2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3};
    vec s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
    vec rest = s * (half + z * polynomial(odd, 5, z)) + n * 0x1.2fefa4p-17f;
    vec y = f - (half - (rest + (low - low * f)));
    return n * 0x1.62e300p-1f + y;
}

INLINE vec logarithm(vec x)
{
    const bits root = (bits)all(0x1.6a09e6p-1f); /* sqrt(1/2) */
    bits above = ((bits)x - root) & 0xff800000;
    vec m = (vec)((bits)x - above); /* sqrt(1/2) <= m < sqrt(2) */
    vec n = __builtin_convertvector((mask)above >> 23, vec);
    vec y = logarithm_near_1(m - 1.0f, all(0.0f), n);
    y = choose(x == __builtin_inff(), x, y);
    y = choose(x == 0.0f, all(-__builtin_inff()), y);
    return choose((x < 0.0f) | (x != x), all(__builtin_nanf("")), y);
}

/* ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|). */
INLINE vec softplus(vec x)
{
    struct pair e = exponential_below(-absolute(x));
    mask far = e.hi > 0x1.a8279ap-2f; /* sqrt(2) - 1: 1 + e = 2 (1 + (e - 1) / 2) */
    vec f = choose(far, (e.hi - 1.0f) * 0.5f, e.hi), low = choose(far, e.lo * 0.5f, e.lo);
    vec y = logarithm_near_1(f, low, choose(far, all(1.0f), all(0.0f)));
    return choose(x < 0.0f, all(0.0f), x) + y;
}

/* --- the error function and the normal distribution --- */

/* x + x P(x^2) below 0.92, from there 1 - e^L(x), L = ln erfc; 1 (but for 2e-8) from 4 on. */
INLINE vec error_function(vec x)
{
    static const float near[] = {0x1.5cd5d0p-14f, -0x1.aa44fcp-11f, 0x1.54c958p-8f, -0x1.b80eccp-6f,
                                 0x1.ce2e0ep-4f,  -0x1.812742p-2f,  0x1.06eba8p-3f};
    static const float far[] = {0x1.b93140p-20f, -0x1.835e50p-15f, 0x1.3963c6p-11f,
                                -0x1.382f88p-8f, 0x1.b10bbap-6f,   -0x1.c2f26ep-4f,
                                -0x1.437d32p-1f, -0x1.215740p+0f,  0x1.5001dep-12f};
    vec a = absolute(x), y = x + x * polynomial(near, 7, x * x);
    y = choose(a < 0x1p-60f, x * 0x1.20dd76p+0f, y); /* 2 / sqrt(pi); the sum has denormals */
    a = choose(a > 4.0f, all(4.0f), a);
    return choose(a < 0.92f, y, with_sign(1.0f - exponential(polynomial(far, 9, a)), x));
}

struct wides {
    wide part[2];
};

#if LANES == 4
#define LOW 0, 1
#define HIGH 2, 3
#elif LANES == 8
#define LOW 0, 1, 2, 3
#define HIGH 4, 5, 6, 7
#else
#define LOW 0, 1, 2, 3, 4, 5, 6, 7
#define HIGH 8, 9, 10, 11, 12, 13, 14, 15
#endif

/* The compiler's own conversions of vectors take several instructions where one does. */
INLINE wide widen_half(half x)
{
#if LANES == 16
    return (wide)_mm512_cvtps_pd((__m256)x);
#elif LANES == 8
    return (wide)_mm256_cvtps_pd((__m128)x);
#else
    return __builtin_convertvector(x, wide);
#endif
}

INLINE half narrow_half(wide x)
{
#if LANES == 16
    return (half)_mm512_cvtpd_ps((__m512d)x);
#elif LANES == 8
    return (half)_mm256_cvtpd_ps((__m256d)x);
#else
    return __builtin_convertvector(x, half);
#endif
}

INLINE struct wides widen(vec x)
{
    return (struct wides){{widen_half(__builtin_shufflevector(x, x, LOW)),
                           widen_half(__builtin_shufflevector(x, x, HIGH))}};
}

INLINE vec narrow(struct wides x)
{
    return __builtin_shufflevector(narrow_half(x.part[0]), narrow_half(x.part[1]), LOW, HIGH);
}

INLINE wide wide_choose(wide_mask m, wide yes, wide no)
{
    return (wide)(((wide_mask)yes & m) | ((wide_mask)no & ~m));
}

INLINE wide wide_clamp(wide x, double lo, double hi)
{
    x = wide_choose(x < lo, (wide){0} + lo, x);
    return wide_choose(x > hi, (wide){0} + hi, x);
}

INLINE struct pair pair_of(struct wides x)
{
    vec hi = narrow(x);
    struct wides rounded = widen(hi);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        x.part[i] -= rounded.part[i];
    return (struct pair){hi, narrow(x)};
}

/* The entries of a table of 16 by the last four bits of each index. */
INLINE vec look_up(const float *table, bits index)
{
#if LANES == 16
    return (vec)_mm512_permutexvar_ps((__m512i)index, _mm512_loadu_ps(table));
#elif LANES == 8
    __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)index);
    __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), (__m256i)index);
    return (vec)_mm256_blendv_ps(low, high, (__m256)(index << 28));
#else
    vec v;
    for (int i = 0; i < LANES; i++)
        v[i] = table[index[i] & 15];
    return v;
#endif
}

/* x / 2 * (1 + erf(x / sqrt(2))), x times the normal distribution. On the left, with |x| = c + h, c
 * the whole number next to it, that is x * e^-ch * (e^(-c^2 / 2) * P(h)), with a P for each c; ch
 * is exact. What the second factor has of powers of two is multiplied last. On the right it is x
 * less as much. */
INLINE vec gelu(vec x)
{
    static const float k[] = {0x1.6a4b38p-10f, -0x1.12398ep-7f, 0x1.5558b2p-5f, -0x1.555492p-3f,
                              0x1.fffffcp-2f};
    static const float scale[16] = {1.0f,     0x1p-1f,  0x1p-3f,   0x1p-7f,  0x1p-12f,
                                    0x1p-19f, 0x1p-26f, 0x1p-36f,  0x1p-47f, 0x1p-59f,
                                    0x1p-73f, 0x1p-88f, 0x1p-104f, 0x1p-122f};
    /* by power, the highest first, then the rest of the lowest; by c */
    static const float factor[10][16] = {
        {0x1.d905aep-13f, 0x1.254a12p-13f, 0x1.775dfap-13f, 0x1.f986fep-13f, 0x1.cb812cp-13f,
         0x1.290af6p-12f, 0x1.17ff14p-13f, 0x1.853404p-13f, 0x1.8e673cp-13f, 0x1.2f4b1ep-13f,
         0x1.55646p-13f, 0x1.1bf042p-13f, 0x1.5dde02p-14f, 0x1.4ce5ap-14f},
        {0x1.ed32dcp-12f, 0x1.2d3064p-10f, 0x1.7a33bcp-11f, 0x1.5460ep-11f, 0x1.cd1e38p-12f,
         0x1.dc186ep-12f, 0x1.7591a6p-13f, 0x1.bc8e5p-13f, 0x1.8f1022p-13f, 0x1.0d74bap-13f,
         0x1.10a02cp-13f, 0x1.9c917cp-14f, 0x1.d12da2p-15f, 0x1.958548p-15f},
        {0x1.56e77ep-11f, -0x1.9c2d3ap-10f, -0x1.dc0e7p-10f, -0x1.305f12p-9f, -0x1.0a1d1ap-9f,
         -0x1.5026acp-9f, -0x1.3855d2p-10f, -0x1.ad8e58p-10f, -0x1.b5d3b6p-10f, -0x1.4aeff8p-10f,
         -0x1.72b1fap-10f, -0x1.337498p-10f, -0x1.7975a4p-11f, -0x1.571056p-11f},
        {-0x1.505faap-7f, -0x1.356666p-7f, -0x1.651e9p-8f, -0x1.3086f2p-8f, -0x1.8f3c52p-9f,
         -0x1.936938p-9f, -0x1.385734p-10f, -0x1.702b66p-10f, -0x1.4865d6p-10f, -0x1.b93bb4p-11f,
         -0x1.bcc6eep-11f, -0x1.4f6238p-11f, -0x1.7962a8p-12f, -0x1.3c93a2p-12f},
        {0x1.26baeep-14f, 0x1.b1399ep-7f, 0x1.b5835p-7f, 0x1.04287ep-6f, 0x1.b454bp-7f,
         0x1.0cbf24p-6f, 0x1.eb8088p-8f, 0x1.4e5eb4p-7f, 0x1.525676p-7f, 0x1.fcacp-8f,
         0x1.1bbc8p-7f, 0x1.d53e96p-8f, 0x1.1f5654p-8f, 0x1.0461a8p-8f},
        {0x1.104ec6p-4f, 0x1.b13a4cp-5f, 0x1.b58336p-6f, 0x1.5ae1a8p-6f, 0x1.b454fep-7f,
         0x1.adfeb8p-7f, 0x1.47aafcp-8f, 0x1.7e22d4p-8f, 0x1.525698p-8f, 0x1.c426f4p-9f,
         0x1.c5f9ep-9f, 0x1.55449ep-9f, 0x1.7f1d1ep-10f, 0x1.40777ap-10f},
        {0x1.261ce8p-21f, -0x1.55429ap-4f, -0x1.16392cp-4f, -0x1.2c89cep-4f, -0x1.df8294p-5f,
         -0x1.1f052p-4f, -0x1.01dfdap-5f, -0x1.5ad762p-5f, -0x1.5c31bep-5f, -0x1.044602p-5f,
         -0x1.212872p-5f, -0x1.dcb708p-6f, -0x1.23346p-6f, -0x1.07605ap-6f},
        {-0x1.988454p-2f, -0x1.554298p-3f, -0x1.16392ap-4f, -0x1.90b7cp-5f, -0x1.df8294p-6f,
         -0x1.cb3b66p-6f, -0x1.57d522p-7f, -0x1.8c63dcp-7f, -0x1.5c31bep-7f, -0x1.ceb558p-8f,
         -0x1.cea71ap-8f, -0x1.5ab3a8p-8f, -0x1.8445d2p-9f, -0x1.4427dp-9f},
        {0x1p-1f, 0x1.44ed0cp-2f, 0x1.74bcf8p-3f, 0x1.61de2p-3f, 0x1.09ad7ap-3f, 0x1.33ca3p-3f,
         0x1.0f30fp-4f, 0x1.683c36p-4f, 0x1.669d2cp-4f, 0x1.0a7afcp-4f, 0x1.26c75ep-4f,
         0x1.e468e6p-5f, 0x1.272b32p-5f, 0x1.0a70aap-5f},
        {0, -0x1.20d37ep-28f, 0x1.64ec3p-30f, -0x1.9e928ap-29f, -0x1.56a002p-28f, -0x1.bd98fap-28f,
         -0x1.feda56p-29f, 0x1.d66912p-30f, 0x1.21aabap-29f, -0x1.38466p-30f, 0x1.09f622p-29f,
         -0x1.143c66p-30f, -0x1.9333b8p-30f, -0x1.cc7898p-31f}};
    const vec magic = all(0x1.8p23f);
    vec near = clamp(x, all(-13.1875f), all(13.1875f)), z = absolute(near); /* at the end, -0 */
    vec whole = z + magic, c = whole - magic, h = z - c, u = c * h;
    vec t = u * -0x1.715476p+0f + magic, n = t - magic;
    vec s = (u + n * 0x1.62e400p-1f) + n * 0x1.7f7d1cp-20f;
    vec minus_1 = s * s * polynomial(k, 5, s) - s; /* e^-s - 1 */
    vec power = (vec)(((bits)t << 23) + (bits)look_up(scale, (bits)whole));
    vec p = look_up(factor[0], (bits)whole);
#pragma GCC unroll 8
    for (int i = 1; i < 8; i++)
        p = p * h + look_up(factor[i], (bits)whole);
    struct pair f = sum(look_up(factor[8], (bits)whole), p * h);
    f.lo += look_up(factor[9], (bits)whole);
    /* Products of the upper halves of the digits are exact: f * e^-s, then x times that. */
    vec upper = upper_half(f.hi), upper_1 = upper_half(minus_1);
    vec rest = upper * (minus_1 - upper_1) + ((f.hi - upper) * minus_1 + f.lo);
    f = sum(f.hi, upper * upper_1);
    vec upper_x = upper_half(near);
    upper = upper_half(f.hi);
    rest = ((near - upper_x) * f.hi + upper_x * (f.hi - upper)) + near * (f.lo + rest);
    vec y = (upper_x * upper + rest) * power;
    y = choose(x > 0.0f, x - y, y);
    /* exactly half of what is near the denormals: processors differ in what they flush to zero when
     * a quotient or a sum is rounded up to the least normal number */
    return choose(absolute(x) < 0x1p-60f, x * 0.5f, y);
}

/* x / 2 * (1 + tanh(u / 2)) = x / (1 + e^-u), u = 2 sqrt(2 / pi) (x + 0.044715 x^3). */
INLINE vec gelu_tanh(vec x)
{
    struct wides w = widen(x);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        wide v = w.part[i];
        w.part[i] = wide_clamp(v * (1.5957691216057308 + 0.07135481627260025 * (v * v)), -128, 128);
    }
    struct pair u = pair_of(w);
    return over_exponential(x, sigmoid_range(x), sigmoid_range(u.hi), u.lo);
}

/* x * tanh(ln(1 + e^x)). With e = e^-|x| the second factor is (1 + 2 e) / (1 + 2 e + 2 e^2) for x >
 * 0, else e (e + 2) / (e (e + 2) + 2). Far on the left that is e, and 2^16 of itself, so that it is
 * no denormal before it is multiplied. */
INLINE vec mish(vec x)
{
    mask far = x < -64.0f;
    vec a = absolute(x);
    a = choose(a > 98.0f, all(98.0f), a);
    a = choose((x > 0.0f) & (a > 80.0f), all(80.0f), a);
    struct pair p = exponential_pair(-a, all(0.0f), choose(far, all(0x1p16f), all(1.0f)));
    struct wides w = widen(x), hi = widen(p.hi), lo = widen(p.lo);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        wide_mask up = w.part[i] > 0;
        wide e = hi.part[i] + lo.part[i], top = wide_choose(up, 1 + 2 * e, e * (e + 2));
        w.part[i] *= top / (top + wide_choose(up, 2 * e * e, (wide){0} + 2));
    }
    vec y = narrow(w) * choose(far, all(0x1p-16f), all(1.0f));
    return choose(x < -98.0f, all(-0.0f), y);
}

/* --- powers, in double precision --- */

/* Horner's rule, the highest power first. */
INLINE wide wide_polynomial(const double *k, const int n, wide x)
{
    wide p = (wide){0} + k[0];
#pragma GCC unroll 16
    for (int i = 1; i < n; i++)
        p = p * x + k[i];
    return p;
}

INLINE wide wide_absolute(wide x)
{
    return (wide)((wide_mask)x & INT64_MAX);
}

/* e^x; 0 or infinity in single precision where x is out of range, and NaN of NaN. 2^n times the
 * Taylor polynomial of e^r, |r| <= ln 2 / 2. */
INLINE wide wide_exponential(wide x)
{
    static const double taylor[] = {1.0 / 479001600,
                                    1.0 / 39916800,
                                    1.0 / 3628800,
                                    1.0 / 362880,
                                    1.0 / 40320,
                                    1.0 / 5040,
                                    1.0 / 720,
                                    1.0 / 120,
                                    1.0 / 24,
                                    1.0 / 6,
                                    1.0 / 2,
                                    1.0,
                                    1.0};
    const wide magic = (wide){0} + 0x1.8p52; /* its last bit is worth 1: adding it rounds */
    x = wide_clamp(x, -200, 200);
    wide t = x * 0x1.71547652b82fep+0 + magic, n = t - magic;
    wide r = x - n * 0x1.62e42fee00000p-1 - n * 0x1.a39ef35793c76p-33;
    wide power = (wide)(((wide_bits)t - (wide_bits)magic + 1023) << 52);
    return wide_polynomial(taylor, 13, r) * power;
}

/* ln x: with m between sqrt(1/2) and sqrt(2), x = m * 2^n, ln m = 2 artanh((m - 1) / (m + 1)). */
INLINE wide wide_logarithm(wide x)
{
    static const double odd[] = {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3,  2.0};
    const wide_bits root = (wide_bits)((wide){0} + 0x1.6a09e667f3bcdp-1); /* sqrt(1/2) */
    const wide magic = (wide){0} + 0x1.8p52;
    wide_bits above = ((wide_bits)x - root) & ~0xfffffffffffffULL;
    wide m = (wide)((wide_bits)x - above);
    /* above / 2^52 + 1024 is a whole number from 0 on, which magic's last bits take in */
    wide n = (wide)((wide_bits)magic + ((above + (1024ULL << 52)) >> 52)) - magic - 1024;
    wide s = (m - 1) / (m + 1);
    wide y = n * 0x1.62e42fefa39efp-1 + s * wide_polynomial(odd, 10, s * s);
    y = wide_choose(x > 0x1p1000, x, y);
    y = wide_choose(x == 0, (wide){0} - __builtin_inf(), y);
    return wide_choose((x < 0) | (x != x), (wide){0} + __builtin_nan(""), y);
}

/* Whether y is a whole number. Beyond 2^53 all are, and even. */
INLINE wide_mask is_whole(wide y)
{
    const wide magic = (wide){0} + 0x1.8p52;
    return (wide_absolute(y) >= 0x1p52) | (((y + magic) - magic) == y);
}

/* x^y. Of a negative x only whole powers are numbers; x^0 is 1. */
INLINE vec power(vec base, vec exponent)
{
    struct wides xs = widen(base), ys = widen(exponent);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        wide x = xs.part[i], y = ys.part[i];
        wide r = wide_exponential(y * wide_logarithm(wide_absolute(x)));
        wide_mask odd = is_whole(y) & ~is_whole(y * 0.5), below = x < 0;
        r = wide_choose(below & odd, -r, r);
        r = wide_choose(below & ~is_whole(y), (wide){0} + __builtin_nan(""), r);
        r = wide_choose(x == 1, (wide){0} + 1, r);
        xs.part[i] = wide_choose(y == 0, (wide){0} + 1, r);
    }
    return narrow(xs);
}

/* --- exact ones --- */

INLINE vec root(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
}

INLINE vec down(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = __builtin_floorf(x[i]);
    return x;
}

INLINE vec up(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = __builtin_ceilf(x[i]);
    return x;
}
