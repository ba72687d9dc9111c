/* Functions made of exponentials, logarithms and the error function. */
#include "exec/kernels/functions.h"

#include <math.h>

typedef double d2 __attribute__((vector_size(16)));
typedef int64_t l2 __attribute__((vector_size(16)));
typedef uint64_t u2 __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))

INLINE d2 all(double x)
{
    return (d2){x, x};
}

INLINE d2 choose(l2 mask, d2 yes, d2 no)
{
    return (d2)(((l2)yes & mask) | ((l2)no & ~mask));
}

INLINE d2 absolute(d2 x)
{
    return (d2)((l2)x & (l2){INT64_MAX, INT64_MAX});
}

/* |x| with the sign of y. */
INLINE d2 with_sign(d2 x, d2 y)
{
    return (d2)(((l2)x & (l2){INT64_MAX, INT64_MAX}) | ((l2)y & (l2){INT64_MIN, INT64_MIN}));
}

/* Horner's rule, the highest power first. */
INLINE d2 polynomial(const double *k, int n, d2 x)
{
    d2 p = all(k[0]);
    for (int i = 1; i < n; i++)
        p = p * x + all(k[i]);
    return p;
}

/* e^x; 0 or infinity in single precision where x is out of range, and NaN of NaN. 2^n times the
 * Taylor polynomial of e^r, |r| <= ln 2 / 2. */
INLINE d2 exponential(d2 x)
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
    const d2 magic = all(0x1.8p52); /* its last bit is worth 1: adding it rounds */
    x = choose(x < all(-200), all(-200), x);
    x = choose(x > all(200), all(200), x);
    d2 t = x * all(0x1.71547652b82fep+0) + magic, n = t - magic;
    d2 r = x - n * all(0x1.62e42fee00000p-1) - n * all(0x1.a39ef35793c76p-33);
    d2 power = (d2)(((u2)t - (u2)magic + 1023) << 52);
    return polynomial(taylor, 13, r) * power;
}

/* ln x: with m between sqrt(1/2) and sqrt(2), x = m * 2^n, ln m = 2 artanh((m - 1) / (m + 1)). */
INLINE d2 logarithm(d2 x)
{
    static const double odd[] = {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3,  2.0};
    const u2 root = (u2)all(0x1.6a09e667f3bcdp-1); /* sqrt(1/2) */
    u2 above = ((u2)x - root) & (u2){~0xfffffffffffffULL, ~0xfffffffffffffULL};
    d2 m = (d2)((u2)x - above);
    d2 n = {(double)((int64_t)above[0] >> 52), (double)((int64_t)above[1] >> 52)};
    d2 s = (m - 1) / (m + 1);
    d2 y = n * all(0x1.62e42fefa39efp-1) + s * polynomial(odd, 10, s * s);
    y = choose(x > all(0x1p1000), x, y);
    y = choose(x == all(0), all(-__builtin_inf()), y);
    return choose((x < all(0)) | (x != x), all(__builtin_nan("")), y);
}

INLINE d2 hyperbolic_tangent(d2 x)
{
    d2 a = absolute(x), e = exponential(-2 * a);
    d2 y = with_sign((1 - e) / (1 + e), x);
    return choose(a < all(1e-5), x, y); /* the series is x - x^3 / 3 */
}

/* The error function: x times a polynomial that interpolates erf(sqrt(u)) / sqrt(u) at Chebyshev
 * nodes of 0 <= u <= 16, in u / 8 - 1; off by at most 2e-11. From 4 on it is 1 (but for 2e-8). */
INLINE d2 error_function(d2 x)
{
    static const double k[] = {
        1.2873439118266106e-05,  -3.6683578703862921e-05, 3.2982456711276115e-05,
        -7.2461723210012882e-05, 0.00029513188287854151,  -0.00067279701917349096,
        0.0012770806053725081,   -0.0025306729126311571,  0.0048612517812974456,
        -0.008629832318652976,   0.014347219487743375,    -0.022466264031068921,
        0.03306107292757976,     -0.0457664633750718,     0.05988686034844512,
        -0.074727728388956263,   0.090208996179852383,    -0.10771044890857308,
        0.13167511686670375,     -0.17657623321425711,    0.35353099564340268};
    d2 y = x * polynomial(k, 21, x * x * all(0.125) - 1);
    return choose(absolute(x) >= all(4), with_sign(all(1), x), y);
}

/* --- by element type --- */

struct halves {
    d2 lo, hi;
};

INLINE struct halves widen(ad_v4 x)
{
    return (struct halves){{(double)x[0], (double)x[1]}, {(double)x[2], (double)x[3]}};
}

INLINE ad_v4 narrow(d2 lo, d2 hi)
{
    return (ad_v4){(float)lo[0], (float)lo[1], (float)hi[0], (float)hi[1]};
}

/* A kernel of double-precision x, alpha a, beta b. */
#define KERNEL(name, expression)                                                                   \
    INLINE d2 name##_half(d2 x, double a, double b)                                                \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return expression;                                                                         \
    }                                                                                              \
    static ad_v4 name(ad_v4 x, ad_v4 alpha, ad_v4 beta)                                            \
    {                                                                                              \
        struct halves h = widen(x);                                                                \
        double a = (double)alpha[0], b = (double)beta[0];                                          \
        return narrow(name##_half(h.lo, a, b), name##_half(h.hi, a, b));                           \
    }

INLINE d2 soft_plus(d2 x)
{
    d2 top = choose(x < all(0), all(0), x);
    return top + logarithm(1 + exponential(-absolute(x)));
}

/* x * tanh(ln(1 + e^x)) = x * w / (w + 2) with w = e^x (e^x + 2). */
INLINE d2 mish_of(d2 x)
{
    d2 e = exponential(choose(x > all(40), all(40), x)), w = e * (e + 2);
    return x * (w / (w + 2));
}

#define ROOT_HALF 0.70710678118654752 /* sqrt(1/2) */
#define ROOT_2_PI 0.79788456080286536 /* sqrt(2 / pi) */

KERNEL(elu, choose(x < all(0), a *(exponential(x) - 1), x) * b)
KERNEL(celu, choose(x < all(0), a *(exponential(x / a) - 1), x))
KERNEL(softplus, soft_plus(x))
KERNEL(softsign, x / (1 + absolute(x)))
KERNEL(mish, mish_of(x))
KERNEL(gelu, 0.5 * x * (1 + error_function(x * ROOT_HALF)))
KERNEL(gelu_tanh, 0.5 * x * (1 + hyperbolic_tangent(ROOT_2_PI * (x + 0.044715 * x * x * x))))
KERNEL(tangent, hyperbolic_tangent(x))
KERNEL(error, error_function(x))
KERNEL(exponent, exponential(x))
KERNEL(natural_log, logarithm(x))

/* --- exact ones --- */

static ad_v4 root(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return (ad_v4){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
}

static ad_v4 magnitude(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return (ad_v4)((ad_m4)x & (ad_m4){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX});
}

static ad_v4 negative(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return -x;
}

static ad_v4 reciprocal(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return ad_v4_all(1.0f) / x;
}

static ad_v4 threshold(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)beta;
    return ad_v4_select(x > alpha, x, (ad_v4){0, 0, 0, 0});
}

static ad_v4 down(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return (ad_v4){floorf(x[0]), floorf(x[1]), floorf(x[2]), floorf(x[3])};
}

static ad_v4 up(ad_v4 x, ad_v4 alpha, ad_v4 beta)
{
    (void)alpha;
    (void)beta;
    return (ad_v4){ceilf(x[0]), ceilf(x[1]), ceilf(x[2]), ceilf(x[3])};
}

ad_function_kernel *ad_function_kernel_of(enum ad_function function)
{
    static ad_function_kernel *const kernels[AD_FN_COUNT] = {
        [AD_FN_ELU] = elu,
        [AD_FN_CELU] = celu,
        [AD_FN_SOFTPLUS] = softplus,
        [AD_FN_SOFTSIGN] = softsign,
        [AD_FN_MISH] = mish,
        [AD_FN_GELU] = gelu,
        [AD_FN_GELU_TANH] = gelu_tanh,
        [AD_FN_TANH] = tangent,
        [AD_FN_ERF] = error,
        [AD_FN_EXP] = exponent,
        [AD_FN_LOG] = natural_log,
        [AD_FN_SQRT] = root,
        [AD_FN_ABS] = magnitude,
        [AD_FN_NEG] = negative,
        [AD_FN_RECIPROCAL] = reciprocal,
        [AD_FN_THRESHOLDED_RELU] = threshold,
        [AD_FN_FLOOR] = down,
        [AD_FN_CEIL] = up,
    };
    return kernels[function];
}

/* --- powers --- */

/* Whether y is a whole number; whether it is odd. Beyond 2^53 all numbers are even. */
INLINE l2 is_whole(d2 y)
{
    const d2 magic = all(0x1.8p52);
    return (absolute(y) >= all(0x1p52)) | (((y + magic) - magic) == y);
}

INLINE d2 power_half(d2 x, d2 y)
{
    d2 half = y * 0.5, r = exponential(y * logarithm(absolute(x)));
    l2 odd = is_whole(y) & ~is_whole(half), below = x < all(0);
    r = choose(below & odd, -r, r);
    r = choose(below & ~is_whole(y), all(__builtin_nan("")), r);
    r = choose(x == all(1), all(1), r);
    return choose(y == all(0), all(1), r);
}

ad_v4 ad_v4_pow(ad_v4 x, ad_v4 y)
{
    struct halves p = widen(x), q = widen(y);
    return narrow(power_half(p.lo, q.lo), power_half(p.hi, q.hi));
}
