/* Operators that run whole: of one operand, element by element. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/whole_internal.h"

/* to[i] = EXPR of x */
#define EACH(OUT, IN, EXPR)                                                                        \
    do {                                                                                           \
        OUT *to = call->out->data;                                                                 \
        const IN *from = call->in[0].data;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            IN x = from[i];                                                                        \
            to[i] = (EXPR);                                                                        \
        }                                                                                          \
    } while (0)

#define CASTS(T)                                                                                   \
    static void cast_##T(const struct ad_whole_call *call, int64_t n)                              \
    {                                                                                              \
        switch (call->out->type) {                                                                 \
        case ADAPS_FLOAT32:                                                                        \
            EACH(float, T, (float)x);                                                              \
            break;                                                                                 \
        case ADAPS_UINT8:                                                                          \
            EACH(uint8_t, T, (uint8_t)x);                                                          \
            break;                                                                                 \
        case ADAPS_INT8:                                                                           \
            EACH(int8_t, T, (int8_t)x);                                                            \
            break;                                                                                 \
        case ADAPS_INT32:                                                                          \
            EACH(int32_t, T, (int32_t)x);                                                          \
            break;                                                                                 \
        case ADAPS_INT64:                                                                          \
            EACH(int64_t, T, (int64_t)x);                                                          \
            break;                                                                                 \
        case ADAPS_BOOL:                                                                           \
            EACH(uint8_t, T, x != 0);                                                              \
            break;                                                                                 \
        }                                                                                          \
    }
CASTS(uint8_t)
CASTS(int8_t)
CASTS(int32_t)
CASTS(int64_t)

static void cast_float(const struct ad_whole_call *call, int64_t n)
{
    switch (call->out->type) {
    case ADAPS_FLOAT32:
        memcpy(call->out->data, call->in[0].data, (size_t)n * sizeof(float));
        break;
    case ADAPS_UINT8:
        EACH(uint8_t, float, (uint8_t)ad_int32_of(x));
        break;
    case ADAPS_INT8:
        EACH(int8_t, float, (int8_t)ad_int32_of(x));
        break;
    case ADAPS_INT32:
        EACH(int32_t, float, ad_int32_of(x));
        break;
    case ADAPS_INT64:
        EACH(int64_t, float, ad_int64_of(x));
        break;
    case ADAPS_BOOL:
        EACH(uint8_t, float, x != 0);
        break;
    }
}

/* A bool is 1 whatever bits it has. */
static void cast_bool(const struct ad_whole_call *call, int64_t n)
{
    switch (call->out->type) {
    case ADAPS_FLOAT32:
        EACH(float, uint8_t, x ? 1 : 0);
        break;
    case ADAPS_INT32:
        EACH(int32_t, uint8_t, x ? 1 : 0);
        break;
    case ADAPS_INT64:
        EACH(int64_t, uint8_t, x ? 1 : 0);
        break;
    case ADAPS_UINT8:
    case ADAPS_INT8:
    case ADAPS_BOOL:
        EACH(uint8_t, uint8_t, x ? 1 : 0);
        break;
    }
}

enum adaps_status ad_whole_run_cast(const struct ad_whole_call *call)
{
    int64_t n = ad_array_elements(call->out);
    switch (call->in[0].type) {
    case ADAPS_FLOAT32:
        cast_float(call, n);
        break;
    case ADAPS_UINT8:
        cast_uint8_t(call, n);
        break;
    case ADAPS_INT8:
        cast_int8_t(call, n);
        break;
    case ADAPS_INT32:
        cast_int32_t(call, n);
        break;
    case ADAPS_INT64:
        cast_int64_t(call, n);
        break;
    case ADAPS_BOOL:
        cast_bool(call, n);
        break;
    }
    return ADAPS_OK;
}

/* --- ABS, NEG, SIGN and others --- */

#define INTEGERS(T, U)                                                                             \
    static void unary_##T(const struct ad_whole_call *call, int64_t n)                             \
    {                                                                                              \
        switch (call->op->kind) {                                                                  \
        case AD_WHOLE_NEG:                                                                         \
            EACH(T, T, AD_WRAP_SUB(T, U, 0, x));                                                   \
            break;                                                                                 \
        case AD_WHOLE_ABS:                                                                         \
            EACH(T, T, x > 0 ? x : AD_WRAP_SUB(T, U, 0, x));                                       \
            break;                                                                                 \
        default: /* SIGN */                                                                        \
            EACH(T, T, x > 0 ? 1 : x == 0 ? 0 : -1);                                               \
        }                                                                                          \
    }
INTEGERS(uint8_t, uint8_t)
INTEGERS(int8_t, uint8_t)
INTEGERS(int32_t, uint32_t)
INTEGERS(int64_t, uint64_t)

static void unary_float(const struct ad_whole_call *call, int64_t n)
{
    const struct ad_whole *op = call->op;
    bool negative = op->kind == AD_WHOLE_IS_INF && op->ints[0];
    bool positive = op->kind == AD_WHOLE_IS_INF && op->ints[1];
    switch (op->kind) {
    case AD_WHOLE_NEG:
        EACH(float, float, ad_one_nan(-x));
        break;
    case AD_WHOLE_ABS:
        EACH(float, float, ad_one_nan(fabsf(x)));
        break;
    case AD_WHOLE_SIGN:
        EACH(float, float, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : NAN);
        break;
    case AD_WHOLE_ROUND:
        EACH(float, float, ad_one_nan(rintf(x)));
        break;
    case AD_WHOLE_IS_NAN:
        EACH(uint8_t, float, x != x);
        break;
    default: /* IS_INF */
        EACH(uint8_t, float, (positive && x == INFINITY) || (negative && x == -INFINITY));
    }
}

static void unary_bool(const struct ad_whole_call *call, int64_t n)
{
    EACH(uint8_t, uint8_t, !x); /* NOT */
}

enum adaps_status ad_whole_run_unary(const struct ad_whole_call *call)
{
    static void (*const kernels[])(const struct ad_whole_call *call, int64_t n) = {
        [ADAPS_FLOAT32] = unary_float, [ADAPS_UINT8] = unary_uint8_t, [ADAPS_INT8] = unary_int8_t,
        [ADAPS_INT32] = unary_int32_t, [ADAPS_INT64] = unary_int64_t, [ADAPS_BOOL] = unary_bool,
    };
    kernels[call->in[0].type](call, ad_array_elements(call->out));
    return ADAPS_OK;
}

/* --- limits --- */

/* Where the least is above the greatest, all become the greatest. NaN stays. */
#define LIMITS(T, LOWEST, HIGHEST, KEEP)                                                           \
    static void clip_##T(const struct ad_whole_call *call, const void *min, const void *max,       \
                         int64_t n)                                                                \
    {                                                                                              \
        const T lo = min ? *(const T *)min : (T)(LOWEST);                                          \
        const T hi = max ? *(const T *)max : (T)(HIGHEST);                                         \
        EACH(T, T, KEEP((x < lo ? lo : x) > hi ? hi : x < lo ? lo : x));                           \
    }
LIMITS(uint8_t, 0, UINT8_MAX, )
LIMITS(int8_t, INT8_MIN, INT8_MAX, )
LIMITS(int32_t, INT32_MIN, INT32_MAX, )
LIMITS(int64_t, INT64_MIN, INT64_MAX, )
LIMITS(float, -INFINITY, INFINITY, ad_one_nan)

enum adaps_status ad_whole_run_clip(const struct ad_whole_call *call)
{
    const void *limits[2] = {NULL, NULL};
    int64_t n = ad_array_elements(call->out);
    for (int i = 1; i < call->n; i++)
        if (ad_array_elements(&call->in[i]) == 1)
            limits[i - 1] = call->in[i].data;
    switch (call->out->type) {
    case ADAPS_FLOAT32:
        clip_float(call, limits[0], limits[1], n);
        break;
    case ADAPS_INT8:
        clip_int8_t(call, limits[0], limits[1], n);
        break;
    case ADAPS_INT32:
        clip_int32_t(call, limits[0], limits[1], n);
        break;
    case ADAPS_INT64:
        clip_int64_t(call, limits[0], limits[1], n);
        break;
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        clip_uint8_t(call, limits[0], limits[1], n);
        break;
    }
    return ADAPS_OK;
}

/* --- functions --- */

enum adaps_status ad_whole_run_function(const struct ad_whole_call *call)
{
    const struct ad_whole *op = call->op;
    enum ad_function function = (enum ad_function)op->ints[0];
    struct ad_elementwise e = {.kind = ad_elementwise_kind_of(function),
                               .rank = 1,
                               .count = {ad_array_elements(call->out)},
                               .stride = {{1}, {1}},
                               .out = call->out->data,
                               .a = call->in[0].data,
                               .clamp_min = op->floats[2],
                               .clamp_max = op->floats[3],
                               .function = function,
                               .alpha = op->floats[0],
                               .beta = op->floats[1]};
    ad_elementwise_run(&e, NULL);
    return ADAPS_OK;
}
