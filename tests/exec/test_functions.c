/* Functions of floats beside the C library's long double, over all exponents; the same bits at
 * every width, place and stride. */
#include "base/digest.h"
#include "base/mem.h"
#include "base/rng.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/rows.h"
#include "exec/kernels/xnn.h"
#include "support/run_suite.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA 1.2f
#define BETA 0.9f
#define MANTISSAS 24 /* by exponent and sign: a few at the ends, the others random */

typedef long double real;

static real sigmoid(real x)
{
    return 1 / (1 + expl(-x));
}

static real silu(real x)
{
    return x < -20000 ? -0.0L : x / (1 + expl(-x));
}

static real elu(real x)
{
    return (real)BETA * (x < 0 ? (real)ALPHA * expm1l(x) : x);
}

static real celu(real x)
{
    return x < 0 ? (real)ALPHA * expm1l(x / (real)ALPHA) : x;
}

static real softplus(real x)
{
    return fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}

static real softsign(real x)
{
    return x / (1 + fabsl(x));
}

static real mish(real x)
{
    return x < -20000 ? -0.0L : x * tanhl(softplus(x));
}

static real gelu(real x)
{
    return x < -1000 ? -0.0L : x / 2 * erfcl(-x / sqrtl(2));
}

static real gelu_tanh(real x)
{
    real u = 2 * sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x);
    return u < -20000 ? -0.0L : x / (1 + expl(-u));
}

static real negative(real x)
{
    return -x;
}

static real reciprocal(real x)
{
    return 1 / x;
}

static real threshold(real x)
{
    return x > (real)ALPHA ? x : 0;
}

static real hard_sigmoid(real x)
{
    float y = (float)x * ALPHA + BETA; /* as ONNX defines it, in single precision */
    return (real)(y < 0 ? 0 : y > 1 ? 1 : y);
}

static real hard_swish(real x)
{
    return x * hard_sigmoid(x);
}

static const struct function {
    const char *name;
    enum ad_elementwise_kind kind;
    enum ad_function function;
    real (*exact)(real x);
} functions[] = {
    {"sigmoid", AD_ELEMENTWISE_SIGMOID, AD_FN_NONE, sigmoid},
    {"silu", AD_ELEMENTWISE_SILU, AD_FN_NONE, silu},
    {"hard sigmoid", AD_ELEMENTWISE_HARD_SIGMOID, AD_FN_NONE, hard_sigmoid},
    {"hard swish", AD_ELEMENTWISE_HARD_SWISH, AD_FN_NONE, hard_swish},
    {"elu", AD_ELEMENTWISE_FUNCTION, AD_FN_ELU, elu},
    {"celu", AD_ELEMENTWISE_FUNCTION, AD_FN_CELU, celu},
    {"softplus", AD_ELEMENTWISE_FUNCTION, AD_FN_SOFTPLUS, softplus},
    {"softsign", AD_ELEMENTWISE_FUNCTION, AD_FN_SOFTSIGN, softsign},
    {"mish", AD_ELEMENTWISE_FUNCTION, AD_FN_MISH, mish},
    {"gelu", AD_ELEMENTWISE_FUNCTION, AD_FN_GELU, gelu},
    {"gelu with tanh", AD_ELEMENTWISE_FUNCTION, AD_FN_GELU_TANH, gelu_tanh},
    {"tanh", AD_ELEMENTWISE_FUNCTION, AD_FN_TANH, tanhl},
    {"erf", AD_ELEMENTWISE_FUNCTION, AD_FN_ERF, erfl},
    {"exp", AD_ELEMENTWISE_FUNCTION, AD_FN_EXP, expl},
    {"log", AD_ELEMENTWISE_FUNCTION, AD_FN_LOG, logl},
    {"sqrt", AD_ELEMENTWISE_FUNCTION, AD_FN_SQRT, sqrtl},
    {"abs", AD_ELEMENTWISE_FUNCTION, AD_FN_ABS, fabsl},
    {"neg", AD_ELEMENTWISE_FUNCTION, AD_FN_NEG, negative},
    {"reciprocal", AD_ELEMENTWISE_FUNCTION, AD_FN_RECIPROCAL, reciprocal},
    {"thresholded relu", AD_ELEMENTWISE_FUNCTION, AD_FN_THRESHOLDED_RELU, threshold},
    {"floor", AD_ELEMENTWISE_FUNCTION, AD_FN_FLOOR, floorl},
    {"ceil", AD_ELEMENTWISE_FUNCTION, AD_FN_CEIL, ceill},
};
#define FUNCTIONS (int)(sizeof functions / sizeof *functions)

/* Denormals count as zero on threads of a pool alone. */
struct job {
    ad_row_kernel *run;
    const struct function *function;
    struct ad_row row;
    int64_t n;
};

static void run_job(void *data, size_t index)
{
    struct job *job = data;
    (void)index;
    job->run(job->function->kind, &job->row, job->n);
}

static void run(ad_row_kernel *kernel, const struct function *function, const float *x, float *out,
                int64_t stride, int64_t n)
{
    struct job job = {kernel,
                      function,
                      {.out = out,
                       .a = x,
                       .so = stride,
                       .sa = stride,
                       .lo = -INFINITY,
                       .hi = INFINITY,
                       .alpha = ALPHA,
                       .beta = BETA,
                       .function = function->function},
                      n};
    ad_pool_run(NULL, run_job, &job, 1);
}

/* Every exponent with a few mantissas, both signs. *n: how many. The caller's (ad_free). */
static float *all_exponents(int64_t *n)
{
    struct ad_rng rng = {7};
    float *x = ad_calloc(2 * 254 * MANTISSAS, sizeof *x);
    ck_assert_ptr_nonnull(x);
    *n = 0;
    for (uint32_t exponent = 1; exponent < 255; exponent++)
        for (int i = 0; i < MANTISSAS; i++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                uint32_t mantissa = i == 0 ? 0 : i == 1 ? 0x7fffff : ad_rng_below(&rng, 0x800000);
                uint32_t bits = sign << 31 | exponent << 23 | mantissa;
                memcpy(&x[(*n)++], &bits, sizeof bits);
            }
    return x;
}

/* What is hardly below the least normal number may be zero. */
static const float least = FLT_MIN * (1 + 4 * FLT_EPSILON);

static double ulps(float got, real want)
{
    int exponent = ilogbl(want);
    return (double)(fabsl((real)got - want) / ldexpl(1, (exponent < -126 ? -126 : exponent) - 23));
}

START_TEST(within_two_ulps)
{
    const struct function *f = &functions[_i];
    int64_t n;
    float *x = all_exponents(&n), *y = ad_calloc((size_t)n, sizeof *y);
    run(ad_rows(), f, x, y, 1, n);
    for (int64_t i = 0; i < n; i++) {
        real want = f->exact((real)x[i]);
        if (isnan(want) || isnan(y[i]))
            ck_assert_msg(isnan(want) && isnan(y[i]), "%s of %.9g: %.9g", f->name, (double)x[i],
                          (double)y[i]);
        else if (fabsl(want) < least)
            ck_assert_msg(fabsf(y[i]) <= least, "%s of %.9g: %.9g, not 0", f->name, (double)x[i],
                          (double)y[i]);
        else if (isinf(y[i]))
            ck_assert_msg((float)want == y[i], "%s of %.9g: infinite, not %Lg", f->name,
                          (double)x[i], want);
        else
            ck_assert_msg(ulps(y[i], want) <= 2, "%s of %.9g: %.9g, off by %.2f ulp", f->name,
                          (double)x[i], (double)y[i], ulps(y[i], want));
    }
    ad_free(x);
    ad_free(y);
}
END_TEST

/* Also alone, and with elements between that must not change. */
START_TEST(same_bits_everywhere)
{
    const struct function *f = &functions[_i];
    int64_t n, lanes = ad_choose_wide_lanes(ad_processor());
    float *x = all_exponents(&n), *want = ad_calloc((size_t)n, sizeof *want);
    float *got = ad_calloc((size_t)n, sizeof *got);
    run(ad_rows_any, f, x, want, 1, n);
    for (const struct ad_row_width *w = ad_row_widths; w->run && w->lanes <= lanes; w++) {
        run(w->run, f, x, got, 1, n);
        ck_assert_msg(memcmp(got, want, (size_t)n * sizeof *got) == 0, "%s, %d lanes", f->name,
                      w->lanes);
        for (int64_t i = 0, part = 1; i + part <= n; i += part, part = part % 70 + 1) {
            run(w->run, f, x + i, got + i, 1, part);
            ck_assert_mem_eq(got + i, want + i, (size_t)part * sizeof *got);
        }
        memset(got, 0, (size_t)n * sizeof *got);
        run(w->run, f, x, got, 3, n / 3);
        for (int64_t i = 0; i < n; i++) {
            const float zero = 0;
            ck_assert_mem_eq(got + i, i % 3 == 0 && i / 3 < n / 3 ? want + i : &zero, sizeof zero);
        }
    }
    ad_free(x);
    ad_free(want);
    ad_free(got);
}
END_TEST

/* The bits that were there when this was written, on whatever processor. A change of a function
 * shows here: say so in the commit. */
START_TEST(pinned_bits)
{
    int64_t n;
    float *x = all_exponents(&n), *y = ad_calloc((size_t)n * FUNCTIONS, sizeof *y);
    for (int k = 0; k < FUNCTIONS; k++)
        run(ad_rows(), &functions[k], x, y + k * n, 1, n);
    for (int64_t i = 0; i < n * FUNCTIONS; i++)
        y[i] = isnan(y[i]) ? 0.5f : y[i];
    struct ad_digest digest = ad_digest_of(y, (size_t)(n * FUNCTIONS) * sizeof *y);
    char text[17];
    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", digest.bytes[i]);
    ck_assert_str_eq(text, "da4c8975a575879d");
    ad_free(x);
    ad_free(y);
}
END_TEST

START_TEST(ends_of_the_line)
{
    const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    static const struct {
        const char *name;
        float of_infinity, of_minus_infinity;
    } ends[] = {
        {"sigmoid", 1, 0},
        {"silu", INFINITY, -0.0f},
        {"tanh", 1, -1},
        {"erf", 1, -1},
        {"exp", INFINITY, 0},
        {"log", INFINITY, NAN},
        {"softplus", INFINITY, 0},
        {"elu", INFINITY, -ALPHA * BETA},
        {"mish", INFINITY, -0.0f},
        {"gelu with tanh", INFINITY, -0.0f},
        {"celu", INFINITY, -ALPHA},
    };
    for (int k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];
        float y[5];
        run(ad_rows(), f, special, y, 1, 5);
        if (f->function != AD_FN_THRESHOLDED_RELU)
            ck_assert_msg(isnan(y[0]), "%s of NaN: %g", f->name, (double)y[0]);
        float at_zero = (float)f->exact(0);
        ck_assert_msg(y[3] == at_zero, "%s of 0: %g", f->name, (double)y[3]);
        ck_assert_msg(y[4] == at_zero || isinf(at_zero), "%s of -0: %g", f->name, (double)y[4]);
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            if (strcmp(ends[i].name, f->name) == 0) {
                float below = ends[i].of_minus_infinity;
                ck_assert_msg(y[1] == ends[i].of_infinity, "%s of infinity: %g", f->name,
                              (double)y[1]);
                ck_assert_msg(y[2] == below || (isnan(y[2]) && isnan(below)), "%s of -infinity: %g",
                              f->name, (double)y[2]);
            }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("functions");
    TCase *tc = tcase_create("functions");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, within_two_ulps, 0, FUNCTIONS);
    tcase_add_loop_test(tc, same_bits_everywhere, 0, FUNCTIONS);
    tcase_add_test(tc, pinned_bits);
    tcase_add_test(tc, ends_of_the_line);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
