/* exec/kernels/rows.h for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES and ROWS, the name of the kernel. */
#include "exec/kernels/functions_tile.h"
#include "exec/kernels/rows.h"

/* For long_row() */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("schedule-insns")
#endif

/* What the inner loop has of a row. */
struct limits {
    vec lo, hi, alpha, beta;
};

INLINE struct limits limits_of(const struct ad_row *r)
{
    return (struct limits){all(r->lo), all(r->hi), all(r->alpha), all(r->beta)};
}

/* clamp(alpha * x + beta, 0, 1) */
INLINE vec hard_sigmoid(vec x, const struct limits *l)
{
    return clamp(x * l->alpha + l->beta, all(0.0f), all(1.0f));
}

INLINE vec apply(enum ad_function function, vec x, const struct limits *l)
{
    switch (function) {
    case AD_FN_ELU:
        return elu(x, l->alpha, l->beta);
    case AD_FN_CELU:
        return celu(x, l->alpha);
    case AD_FN_SOFTPLUS:
        return softplus(x);
    case AD_FN_SOFTSIGN:
        return x / (1.0f + absolute(x));
    case AD_FN_MISH:
        return mish(x);
    case AD_FN_GELU:
        return gelu(x);
    case AD_FN_GELU_TANH:
        return gelu_tanh(x);
    case AD_FN_TANH:
        return tangent(x);
    case AD_FN_ERF:
        return error_function(x);
    case AD_FN_EXP:
        return exponential(x);
    case AD_FN_LOG:
        return logarithm(x);
    case AD_FN_SQRT:
        return root(x);
    case AD_FN_ABS:
        return absolute(x);
    case AD_FN_NEG:
        return -x;
    case AD_FN_RECIPROCAL:
        return 1.0f / x;
    case AD_FN_THRESHOLDED_RELU:
        return choose(x > l->alpha, x, all(0.0f));
    case AD_FN_FLOOR:
        return down(x);
    case AD_FN_CEIL:
        return up(x);
    case AD_FN_LEAKY_RELU: /* kinds of their own */
    case AD_FN_SIGMOID:
    case AD_FN_SILU:
    case AD_FN_HARD_SIGMOID:
    case AD_FN_HARD_SWISH:
    case AD_FN_NONE:
    case AD_FN_COUNT:
        break;
    }
    return x;
}

INLINE vec combine(enum ad_elementwise_kind kind, enum ad_function function, vec a, vec b,
                   const struct limits *l)
{
    switch (kind) {
    case AD_ELEMENTWISE_COPY:
    case AD_ELEMENTWISE_CLAMP:
    case AD_ELEMENTWISE_COUNT:
        break;
    case AD_ELEMENTWISE_ADD:
        a = a + b;
        break;
    case AD_ELEMENTWISE_SUB:
        a = a - b;
        break;
    case AD_ELEMENTWISE_MUL:
        a = a * b;
        break;
    case AD_ELEMENTWISE_DIV:
        a = a / b;
        break;
    case AD_ELEMENTWISE_MIN: /* NaN if either is */
        a = choose((a < b) | (a != a), a, b);
        break;
    case AD_ELEMENTWISE_MAX:
        a = choose((a > b) | (a != a), a, b);
        break;
    case AD_ELEMENTWISE_POW:
        a = power(a, b);
        break;
    case AD_ELEMENTWISE_PRELU:
        a = choose(a < 0.0f, a * b, a);
        break;
    case AD_ELEMENTWISE_LEAKY_RELU:
        a = choose(a < 0.0f, a * l->alpha, a);
        break;
    case AD_ELEMENTWISE_SIGMOID:
        a = sigmoid(a);
        break;
    case AD_ELEMENTWISE_SILU:
        a = silu(a);
        break;
    case AD_ELEMENTWISE_HARD_SIGMOID:
        a = hard_sigmoid(a, l);
        break;
    case AD_ELEMENTWISE_HARD_SWISH:
        a = a * hard_sigmoid(a, l);
        break;
    case AD_ELEMENTWISE_FUNCTION:
        a = apply(function, a, l);
        break;
    }
    return a;
}

INLINE vec gather(const float *p, int64_t stride, int64_t n)
{
    vec v = {0};
    if (stride == 1)
        return load(p, n);
    if (stride == 0)
        return all(*p);
    for (int64_t i = 0; i < n && i < LANES; i++)
        v[i] = p[i * stride];
    return v;
}

INLINE void scatter(float *p, int64_t stride, int64_t n, vec v)
{
    if (stride == 1)
        store(p, v, n);
    else
        for (int64_t i = 0; i < n && i < LANES; i++)
            p[i * stride] = v[i];
}

/* The vector at i, of which n elements are there. A partial vector is computed as a whole one, so
 * that a remainder has the same bits. */
INLINE vec at(enum ad_elementwise_kind kind, const struct ad_row *r, const struct limits *l,
              int64_t sa, int64_t sb, int64_t i, int64_t n)
{
    vec a = gather(r->a + i * sa, sa, n);
    vec b = ad_elementwise_is_binary(kind) ? gather(r->b + i * sb, sb, n) : a;
    return clamp(combine(kind, AD_FN_NONE, a, b, l), l->lo, l->hi);
}

/* The loop of a kind of few operations: known strides make its code. */
INLINE void loop(enum ad_elementwise_kind kind, const struct ad_row *r, int64_t so, int64_t sa,
                 int64_t sb, int64_t n)
{
    const struct limits l = limits_of(r);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        scatter(r->out + i * so, so, LANES, at(kind, r, &l, sa, sb, i, LANES));
    if (i < n)
        scatter(r->out + i * so, so, n - i, at(kind, r, &l, sa, sb, i, n - i));
}

INLINE void row(enum ad_elementwise_kind kind, const struct ad_row *r, int64_t n)
{
    bool unary = !ad_elementwise_is_binary(kind), lines = r->so == 1 && r->sa == 1;
    if (lines && (unary || r->sb == 1))
        loop(kind, r, 1, 1, 1, n);
    else if (!unary && lines && r->sb == 0)
        loop(kind, r, 1, 1, 0, n);
    else if (!unary && r->so == 1 && r->sa == 0 && r->sb == 1)
        loop(kind, r, 1, 0, 1, n);
    else
        loop(kind, r, r->so, r->sa, r->sb, n);
}

/* Elements of a block of long_row(), of which n are there; those after them are 0. */
static FOR_TARGET __attribute__((noinline)) const float *gather_block(float *block, const float *p,
                                                                      int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < 2 * LANES; i++)
        block[i] = i < n ? p[i * stride] : 0;
    return block;
}

static FOR_TARGET __attribute__((noinline)) void scatter_block(float *p, int64_t stride, int64_t n,
                                                               const float *block)
{
    for (int64_t i = 0; i < n && i < 2 * LANES; i++)
        p[i * stride] = block[i];
}

/* The loop of a function of many operations, for all strides: blocks of two vectors, whose chains
 * of operations are interleaved by the compiler's scheduling. */
INLINE void long_row(enum ad_elementwise_kind kind, enum ad_function function,
                     const struct ad_row *r, int64_t n)
{
    const struct limits l = limits_of(r);
    const bool binary = ad_elementwise_is_binary(kind);
    bool bounded = r->lo > -__builtin_inff() || r->hi < __builtin_inff();
    bool lines = r->so == 1 && r->sa == 1 && (!binary || r->sb == 1);
    float block[3][2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        bool whole = lines && i + 2 * LANES <= n;
        const float *a = r->a + i, *b = binary ? r->b + i : a;
        float *out = whole ? r->out + i : block[2];
        if (!whole) {
            a = gather_block(block[0], r->a + i * r->sa, r->sa, n - i);
            b = binary ? gather_block(block[1], r->b + i * r->sb, r->sb, n - i) : a;
        }
        vec x = load(a, LANES), y = load(a + LANES, LANES);
        x = combine(kind, function, x, binary ? load(b, LANES) : x, &l);
        y = combine(kind, function, y, binary ? load(b + LANES, LANES) : y, &l);
        if (bounded) {
            x = clamp(x, l.lo, l.hi);
            y = clamp(y, l.lo, l.hi);
        }
        memcpy(out, &x, sizeof x);
        memcpy(out + LANES, &y, sizeof y);
        if (!whole)
            scatter_block(r->out + i * r->so, r->so, n - i, out);
    }
}

#define FUNCTION(name)                                                                             \
    case name:                                                                                     \
        long_row(AD_ELEMENTWISE_FUNCTION, name, r, n);                                             \
        break;

static FOR_TARGET void row_function(const struct ad_row *r, int64_t n)
{
    switch (r->function) { /* each with a loop of its own */
        FUNCTION(AD_FN_ELU)
        FUNCTION(AD_FN_CELU)
        FUNCTION(AD_FN_SOFTPLUS)
        FUNCTION(AD_FN_SOFTSIGN)
        FUNCTION(AD_FN_MISH)
        FUNCTION(AD_FN_GELU)
        FUNCTION(AD_FN_GELU_TANH)
        FUNCTION(AD_FN_TANH)
        FUNCTION(AD_FN_ERF)
        FUNCTION(AD_FN_EXP)
        FUNCTION(AD_FN_LOG)
        FUNCTION(AD_FN_SQRT)
        FUNCTION(AD_FN_ABS)
        FUNCTION(AD_FN_NEG)
        FUNCTION(AD_FN_RECIPROCAL)
        FUNCTION(AD_FN_THRESHOLDED_RELU)
        FUNCTION(AD_FN_FLOOR)
        FUNCTION(AD_FN_CEIL)
    case AD_FN_LEAKY_RELU:
    case AD_FN_SIGMOID:
    case AD_FN_SILU:
    case AD_FN_HARD_SIGMOID:
    case AD_FN_HARD_SWISH:
    case AD_FN_NONE:
    case AD_FN_COUNT:
        break;
    }
}

#define KIND(name)                                                                                 \
    case name:                                                                                     \
        row(name, r, n);                                                                           \
        break;

#define LONG_KIND(name)                                                                            \
    case name:                                                                                     \
        long_row(name, AD_FN_NONE, r, n);                                                          \
        break;

FOR_TARGET void ROWS(enum ad_elementwise_kind kind, const struct ad_row *r, int64_t n)
{
    switch (kind) {
        KIND(AD_ELEMENTWISE_CLAMP)
        KIND(AD_ELEMENTWISE_ADD)
        KIND(AD_ELEMENTWISE_SUB)
        KIND(AD_ELEMENTWISE_MUL)
        KIND(AD_ELEMENTWISE_DIV)
        KIND(AD_ELEMENTWISE_MIN)
        KIND(AD_ELEMENTWISE_MAX)
        LONG_KIND(AD_ELEMENTWISE_POW)
        KIND(AD_ELEMENTWISE_PRELU)
        KIND(AD_ELEMENTWISE_LEAKY_RELU)
        LONG_KIND(AD_ELEMENTWISE_SIGMOID)
        LONG_KIND(AD_ELEMENTWISE_SILU)
        KIND(AD_ELEMENTWISE_HARD_SIGMOID)
        KIND(AD_ELEMENTWISE_HARD_SWISH)
    case AD_ELEMENTWISE_FUNCTION:
        row_function(r, n);
        break;
    case AD_ELEMENTWISE_COPY:
    case AD_ELEMENTWISE_COUNT:
        break;
    }
}
