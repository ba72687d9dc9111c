/* Operators that run whole: of two and more operands, with broadcasting. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/whole_internal.h"

#define MOST_OPERANDS 3

/* Loops over the result, innermost last; strides in elements, 0 where an operand is repeated. The
 * innermost stride of an operand is 0 or 1. */
struct nest {
    int rank;
    int64_t count[AD_MAX_RANK], stride[MOST_OPERANDS][AD_MAX_RANK];
};

static bool continues(const struct nest *nest, int d, const int64_t *inner, int64_t count,
                      int operands)
{
    bool one = true;
    for (int k = 0; k < operands; k++)
        one = one && nest->stride[k][d] == inner[k] * count;
    return one;
}

static struct nest nest_of(const struct ad_array *out, const struct ad_array *const *in, int n)
{
    struct nest nest = {0};
    int64_t strides[MOST_OPERANDS][AD_MAX_RANK] = {{0}};
    for (int k = 0; k < n; k++) {
        int64_t stride = 1;
        for (int d = in[k]->rank - 1, o = out->rank - 1; d >= 0; d--, o--) {
            strides[k][o] = in[k]->dims[d] == 1 ? 0 : stride;
            stride *= in[k]->dims[d];
        }
    }
    for (int d = 0; d < out->rank; d++) {
        int64_t inner[MOST_OPERANDS], count = out->dims[d];
        for (int k = 0; k < n; k++)
            inner[k] = strides[k][d];
        if (count == 1)
            continue;
        int to = nest.rank;
        if (to > 0 && continues(&nest, to - 1, inner, count, n))
            to--;
        nest.count[to] = to < nest.rank ? nest.count[to] * count : count;
        for (int k = 0; k < n; k++)
            nest.stride[k][to] = inner[k];
        nest.rank = to + 1;
    }
    return nest;
}

/* A row: what the inner loop has. */
struct row {
    const struct ad_whole *op;
    void *out;
    const void *in[MOST_OPERANDS];
    int64_t stride[MOST_OPERANDS];
};
typedef void row_kernel(const struct row *row, int64_t n);

static void run_rows(const struct ad_whole_call *call, const struct ad_array *const *in, int n,
                     row_kernel *kernel)
{
    struct nest nest = nest_of(call->out, in, n);
    int last = nest.rank - 1;
    int64_t index[AD_MAX_RANK] = {0}, at[MOST_OPERANDS] = {0}, done = 0;
    int64_t size = (int64_t)ad_type_bytes(call->out->type);
    struct row row = {.op = call->op};
    int64_t length = last >= 0 ? nest.count[last] : 1;
    for (int k = 0; k < n; k++)
        row.stride[k] = last >= 0 ? nest.stride[k][last] : 0;
    for (;;) {
        row.out = (char *)call->out->data + done * size;
        for (int k = 0; k < n; k++)
            row.in[k] = (const char *)in[k]->data + at[k] * (int64_t)ad_type_bytes(in[k]->type);
        kernel(&row, length);
        done += length;
        int d = last - 1;
        for (; d >= 0; d--) { /* the next row */
            bool carry = ++index[d] == nest.count[d];
            for (int k = 0; k < n; k++)
                at[k] += nest.stride[k][d] * (carry ? 1 - nest.count[d] : 1);
            if (!carry)
                break;
            index[d] = 0;
        }
        if (d < 0)
            return;
    }
}

/* --- two operands --- */

/* to[i] = EXPR of a and b, in loops of their own for an operand that is repeated. */
#define EACH(OUT, IN, EXPR)                                                                        \
    do {                                                                                           \
        OUT *to = row->out;                                                                        \
        const IN *p = row->in[0], *q = row->in[1];                                                 \
        if (row->stride[0] && row->stride[1]) {                                                    \
            for (int64_t i = 0; i < n; i++) {                                                      \
                IN a = p[i], b = q[i];                                                             \
                to[i] = (EXPR);                                                                    \
            }                                                                                      \
        } else if (row->stride[0]) {                                                               \
            const IN b = *q;                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                IN a = p[i];                                                                       \
                to[i] = (EXPR);                                                                    \
            }                                                                                      \
        } else if (row->stride[1]) {                                                               \
            const IN a = *p;                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                IN b = q[i];                                                                       \
                to[i] = (EXPR);                                                                    \
            }                                                                                      \
        } else {                                                                                   \
            const IN a = *p, b = *q;                                                               \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i] = (EXPR);                                                                    \
        }                                                                                          \
    } while (0)

/* Towards 0; x / 0 is 0. */
static inline int64_t divide(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? AD_WRAP_SUB(int64_t, uint64_t, 0, a) : a / b;
}

/* The remainder has the sign of b, or of a. */
static inline int64_t remainder_of(int64_t a, int64_t b, bool of_dividend)
{
    int64_t r = b == 0 || b == -1 ? 0 : a % b;
    return r != 0 && !of_dividend && (r < 0) != (b < 0) ? r + b : r;
}

#define COMPARISONS(T)                                                                             \
    case AD_WHOLE_EQUAL:                                                                           \
        EACH(uint8_t, T, a == b);                                                                  \
        break;                                                                                     \
    case AD_WHOLE_LESS:                                                                            \
        EACH(uint8_t, T, a < b);                                                                   \
        break;                                                                                     \
    case AD_WHOLE_LESS_EQUAL:                                                                      \
        EACH(uint8_t, T, a <= b);                                                                  \
        break;                                                                                     \
    case AD_WHOLE_GREATER:                                                                         \
        EACH(uint8_t, T, a > b);                                                                   \
        break;                                                                                     \
    case AD_WHOLE_GREATER_EQUAL:                                                                   \
        EACH(uint8_t, T, a >= b);                                                                  \
        break;

#define INTEGERS(T, U)                                                                             \
    static void binary_##T(const struct row *row, int64_t n)                                       \
    {                                                                                              \
        const struct ad_whole *op = row->op;                                                       \
        bool of_dividend = op->kind == AD_WHOLE_MOD && op->ints[0];                                \
        int64_t bits = op->kind == AD_WHOLE_BITWISE ? op->ints[0] : 0;                             \
        switch (op->kind) {                                                                        \
            COMPARISONS(T)                                                                         \
        case AD_WHOLE_ADD:                                                                         \
            EACH(T, T, AD_WRAP_ADD(T, U, a, b));                                                   \
            break;                                                                                 \
        case AD_WHOLE_SUB:                                                                         \
            EACH(T, T, AD_WRAP_SUB(T, U, a, b));                                                   \
            break;                                                                                 \
        case AD_WHOLE_MUL:                                                                         \
            EACH(T, T, AD_WRAP_MUL(T, U, a, b));                                                   \
            break;                                                                                 \
        case AD_WHOLE_DIV:                                                                         \
            EACH(T, T, (T)divide(a, b));                                                           \
            break;                                                                                 \
        case AD_WHOLE_MOD:                                                                         \
            EACH(T, T, (T)remainder_of(a, b, of_dividend));                                        \
            break;                                                                                 \
        case AD_WHOLE_MIN:                                                                         \
            EACH(T, T, a < b ? a : b);                                                             \
            break;                                                                                 \
        case AD_WHOLE_MAX:                                                                         \
            EACH(T, T, a > b ? a : b);                                                             \
            break;                                                                                 \
        default: /* BITWISE */                                                                     \
            if (bits == 0)                                                                         \
                EACH(T, T, a &b);                                                                  \
            else if (bits == 1)                                                                    \
                EACH(T, T, a | b);                                                                 \
            else                                                                                   \
                EACH(T, T, a ^ b);                                                                 \
        }                                                                                          \
    }
INTEGERS(uint8_t, uint8_t)
INTEGERS(int8_t, uint8_t)
INTEGERS(int32_t, uint32_t)
INTEGERS(int64_t, uint64_t)

static void binary_float(const struct row *row, int64_t n)
{
    switch (row->op->kind) {
        COMPARISONS(float)
    case AD_WHOLE_ADD:
        EACH(float, float, ad_one_nan(a + b));
        break;
    case AD_WHOLE_SUB:
        EACH(float, float, ad_one_nan(a - b));
        break;
    case AD_WHOLE_MUL:
        EACH(float, float, ad_one_nan(a * b));
        break;
    case AD_WHOLE_DIV:
        EACH(float, float, ad_one_nan(a / b));
        break;
    case AD_WHOLE_MIN:
        EACH(float, float, ad_least(a, b));
        break;
    case AD_WHOLE_MAX:
        EACH(float, float, ad_greatest(a, b));
        break;
    default: /* MOD: exact */
        EACH(float, float, ad_one_nan(fmodf(a, b)));
    }
}

static void binary_bool(const struct row *row, int64_t n)
{
    switch (row->op->kind) {
    case AD_WHOLE_AND:
        EACH(uint8_t, uint8_t, a && b);
        break;
    case AD_WHOLE_OR:
        EACH(uint8_t, uint8_t, a || b);
        break;
    case AD_WHOLE_XOR:
        EACH(uint8_t, uint8_t, !a != !b);
        break;
    default: /* comparisons of 0 and 1 */
        binary_uint8_t(row, n);
    }
}

static row_kernel *const binaries[] = {
    [ADAPS_FLOAT32] = binary_float, [ADAPS_UINT8] = binary_uint8_t, [ADAPS_INT8] = binary_int8_t,
    [ADAPS_INT32] = binary_int32_t, [ADAPS_INT64] = binary_int64_t, [ADAPS_BOOL] = binary_bool,
};

enum adaps_status ad_whole_run_binary(const struct ad_whole_call *call)
{
    const struct ad_array *in[] = {&call->in[0], &call->in[1]};
    run_rows(call, in, 2, binaries[call->in[0].type]);
    return ADAPS_OK;
}

/* The result so far with one input after the other. */
enum adaps_status ad_whole_run_extremes(const struct ad_whole_call *call)
{
    const struct ad_array *in[] = {&call->in[0], &call->in[0]};
    for (int i = 0; i < call->n; i++) {
        in[1] = &call->in[i];
        run_rows(call, in, 2, binaries[call->out->type]);
        in[0] = call->out;
    }
    return ADAPS_OK;
}

/* --- a choice of two --- */

/* x or y, without a branch. */
#define CHOOSE(T, set, x, y) ((T)(((x) & (T) - (T)(set)) | ((y) & (T) ~(T) - (T)(set))))

#define CHOICE(T)                                                                                  \
    static void choice_##T(const struct row *row, int64_t n)                                       \
    {                                                                                              \
        T *to = row->out;                                                                          \
        const uint8_t *which = row->in[0];                                                         \
        const T *a = row->in[1], *b = row->in[2];                                                  \
        int64_t sa = row->stride[1], sb = row->stride[2];                                          \
        if (row->stride[0] == 0) {                                                                 \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i] = *which ? a[i * sa] : b[i * sb];                                            \
        } else if (sa && sb) {                                                                     \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i] = CHOOSE(T, which[i] != 0, a[i], b[i]);                                      \
        } else if (sa) {                                                                           \
            const T y = *b;                                                                        \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i] = CHOOSE(T, which[i] != 0, a[i], y);                                         \
        } else {                                                                                   \
            const T x = *a;                                                                        \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i] = CHOOSE(T, which[i] != 0, x, b[i * sb]);                                    \
        }                                                                                          \
    }
CHOICE(uint8_t)
CHOICE(uint32_t)
CHOICE(uint64_t)

enum adaps_status ad_whole_run_where(const struct ad_whole_call *call)
{
    const struct ad_array *in[] = {&call->in[0], &call->in[1], &call->in[2]};
    size_t bytes = ad_type_bytes(call->out->type);
    run_rows(call, in, 3,
             bytes == 1   ? choice_uint8_t
             : bytes == 4 ? choice_uint32_t
                          : choice_uint64_t);
    return ADAPS_OK;
}

/* --- powers --- */

/* By squaring; integers wrap around. 1 / 0 is 0. */
static int64_t integer_power(int64_t a, int64_t b)
{
    uint64_t power = 1, base = (uint64_t)a;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b /= 2, base *= base)
        power *= b % 2 ? base : 1;
    return (int64_t)power;
}

/* One power of floats, by the same kernel as many. */
static float float_power(float a, float b)
{
    float power;
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_POW,
                               .rank = 1,
                               .count = {1},
                               .out = &power,
                               .a = &a,
                               .b = &b,
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    ad_elementwise_run(&e, NULL);
    return power;
}

/* Of an integer: exact where the result is one. */
static int64_t mixed_power(int64_t a, float b)
{
    if (b == rintf(b) && fabsf(b) < 0x1p31f)
        return integer_power(a, (int64_t)b);
    if (b == 0.5f && a >= 0)
        return (int64_t)sqrt((double)a);
    return ad_int64_of(float_power((float)a, b));
}

#define POWERS(T)                                                                                  \
    static void power_##T##_int64(const struct row *row, int64_t n)                                \
    {                                                                                              \
        const int64_t *b = row->in[1];                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((T *)row->out)[i] = (T)integer_power(((const T *)row->in[0])[i * row->stride[0]],     \
                                                  b[i * row->stride[1]]);                          \
    }                                                                                              \
    static void power_##T##_float(const struct row *row, int64_t n)                                \
    {                                                                                              \
        const float *b = row->in[1];                                                               \
        for (int64_t i = 0; i < n; i++)                                                            \
            ((T *)row->out)[i] = (T)mixed_power(((const T *)row->in[0])[i * row->stride[0]],       \
                                                b[i * row->stride[1]]);                            \
    }
POWERS(uint8_t)
POWERS(int8_t)
POWERS(int32_t)
POWERS(int64_t)

static void run_float_powers(const struct ad_whole_call *call, const struct ad_array *const *in)
{
    struct nest nest = nest_of(call->out, in, 2);
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_POW,
                               .rank = nest.rank > 0 ? nest.rank : 1,
                               .count = {1},
                               .out = call->out->data,
                               .a = in[0]->data,
                               .b = in[1]->data,
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    int64_t stride = 1;
    for (int d = nest.rank - 1; d >= 0; d--) {
        e.count[d] = nest.count[d];
        e.stride[0][d] = stride;
        e.stride[1][d] = nest.stride[0][d];
        e.stride[2][d] = nest.stride[1][d];
        stride *= nest.count[d];
    }
    ad_elementwise_run(&e, NULL);
    float *out = call->out->data;
    for (int64_t i = 0; i < stride; i++)
        out[i] = ad_one_nan(out[i]);
}

/* The exponents as float32 for a base of floats, else float32 or int64. */
enum adaps_status ad_whole_run_pow(const struct ad_whole_call *call)
{
    static row_kernel *const by_float[] = {
        [ADAPS_UINT8] = power_uint8_t_float,
        [ADAPS_INT8] = power_int8_t_float,
        [ADAPS_INT32] = power_int32_t_float,
        [ADAPS_INT64] = power_int64_t_float,
    };
    static row_kernel *const by_int64[] = {
        [ADAPS_UINT8] = power_uint8_t_int64,
        [ADAPS_INT8] = power_int8_t_int64,
        [ADAPS_INT32] = power_int32_t_int64,
        [ADAPS_INT64] = power_int64_t_int64,
    };
    struct ad_array b = call->in[1];
    const struct ad_array *in[] = {&call->in[0], &b};
    bool floats = call->out->type == ADAPS_FLOAT32;
    enum adaps_type wanted = floats || b.type == ADAPS_FLOAT32 ? ADAPS_FLOAT32 : ADAPS_INT64;
    void *converted = NULL;
    if (b.type != wanted) {
        size_t bytes = (size_t)ad_array_elements(&b) * ad_type_bytes(wanted);
        converted = ad_alloc_aligned(bytes);
        if (!converted)
            return ad_error_memory(call->err, "exponents", bytes);
        struct ad_whole cast = {.kind = AD_WHOLE_CAST, .to = wanted};
        struct ad_array to = b;
        to.type = wanted;
        to.data = converted;
        struct ad_whole_call of_b = {&cast, &call->in[1], 1, ad_array_elements(&b), &to, call->err};
        enum adaps_status status = ad_whole_run_cast(&of_b);
        if (status != ADAPS_OK) {
            ad_free(converted);
            return status;
        }
        b = to;
    }
    if (floats)
        run_float_powers(call, in);
    else
        run_rows(call, in, 2, (wanted == ADAPS_FLOAT32 ? by_float : by_int64)[call->out->type]);
    ad_free(converted);
    return ADAPS_OK;
}
