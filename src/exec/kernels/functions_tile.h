/* Functions of LANES floats, for files that are compiled for an instruction set.
 *
 * They are float32 polynomials with their rounding errors carried along where they would count: a
 * number is a sum hi + lo whose lo is below the last place of hi. What they take is additions,
 * multiplications and divisions in a fixed order, so they have the same bits on every processor and
 * at every width, and are within 2 ulp of the exact result (tests/exec/test_functions.c). Denormals
 * count as zero, as in all kernels.
 *
 * The gelus, mish and powers widen to double precision where float32 would lose too much. */
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
    const vec magic = all(0x1.8p23f);
    vec scale = choose(x < 0.0f, all(0x1p-16f), all(1.0f));
    vec t = x * -0x1.715476p+0f + magic, n = t - magic;
    vec s = (x + n * 0x1.62e400p-1f) + n * 0x1.7f7d1cp-20f;
    vec power = (vec)((((bits)t - (bits)magic) << 23) + (bits)scale);
    mask far = power > 1.0f;
    vec rest = power * (s * s * polynomial(k, 5, s) - s) + choose(far, scale, all(0.0f));
    vec below = choose(far, power, scale + power) + rest;
    return top / below * scale;
}

INLINE vec sigmoid(vec x)
{
    return over_plain_exponential(all(1.0f), sigmoid_range(x));
}

INLINE vec silu(vec x)
{
    vec near_x = sigmoid_range(x);
    return over_plain_exponential(choose(near_x < 0.0f, near_x, x), near_x);
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

/* x / 2 * (1 + erf(x / sqrt(2))), x times the normal distribution. On the left that is
 * e^(-z^2 / 2) P(t) / (z + 4), z = |x|, t = (z - 4) / (z + 4), and on the right 1 less it. */
INLINE vec gelu(vec x)
{
    static const float k[] = {-0x1.b99facp-15f, -0x1.ec099ap-13f, 0x1.632a04p-13f,
                              0x1.af9108p-10f,  -0x1.c93064p-9f,  -0x1.ee7c98p-8f,
                              0x1.eec64ep-5f,   -0x1.7dfee2p-3f,  0x1.8c6dbep-2f};
    vec a = absolute(x);
    struct wides w = widen(x), z, inverse, t;
    a = choose(a > 14.0f, all(14.0f), a);
    z = widen(a);
    inverse = widen(1.0f / (a + 4.0f));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        inverse.part[i] *= 2 - inverse.part[i] * (z.part[i] + 4); /* Newton's step */
        t.part[i] = (z.part[i] - 4) * inverse.part[i];
    }
    /* -z^2 / 2: the square of the upper half of z's digits is exact */
    vec b = choose(a > 13.19f, all(13.19f), a), upper = (vec)((bits)b & 0xfffff000);
    struct pair p = sum(-0.5f * upper * upper, (upper - b) * (0.5f * (upper + b)));
    struct pair e = exponential_pair(p.hi, p.lo, all(1.0f));
    struct wides hi = widen(e.hi), lo = widen(e.lo), rest = widen(polynomial(k, 9, narrow(t)));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        wide left = (hi.part[i] + lo.part[i]) * inverse.part[i] *
                    (0x1.82b4bb8d3562cp-1 + t.part[i] * (t.part[i] * rest.part[i] - 0x1.373e3cp-1));
        left = wide_choose(z.part[i] > 13.2, (wide){0}, left);
        w.part[i] *= wide_choose(w.part[i] > 0, 1 - left, left);
    }
    /* exactly half of what is near the denormals: processors differ in what they flush to zero when
     * a quotient or a sum is rounded up to the least normal number */
    return choose(absolute(x) < 0x1p-60f, x * 0.5f, narrow(w));
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
