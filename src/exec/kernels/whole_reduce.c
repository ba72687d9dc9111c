/* Operators that run whole: reductions over any axes. The elements of a sum are added in the order
 * in which they lie, each to its own sum. */
#include "exec/kernels/whole_internal.h"
#include "ir/graph.h"

/* Loops over the input, innermost last; `to` is 0 along dimensions that are reduced. */
struct reduction {
    enum ad_reduction how;
    int rank;
    int64_t count[AD_MAX_RANK], to[AD_MAX_RANK];
};

/* A row of n elements, onto as many results or onto one. */
typedef void row_fn(enum ad_reduction how, void *out, const void *in, int64_t n, bool onto_one);

#define LOOP(EXPR)                                                                                 \
    if (onto_one) {                                                                                \
        ACC a = *to;                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            ACC x = (ACC)from[i];                                                                  \
            a = (EXPR);                                                                            \
        }                                                                                          \
        *to = a;                                                                                   \
    } else {                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            ACC a = to[i], x = (ACC)from[i];                                                       \
            to[i] = (EXPR);                                                                        \
        }                                                                                          \
    }

#define ROWS(T, ADDED, MULTIPLIED, LESSER, GREATER)                                                \
    static void rows_##T(enum ad_reduction how, void *out, const void *in, int64_t n,              \
                         bool onto_one)                                                            \
    {                                                                                              \
        typedef T ACC;                                                                             \
        ACC *to = out;                                                                             \
        const T *from = in;                                                                        \
        switch (how) {                                                                             \
        case AD_REDUCE_MAX:                                                                        \
            LOOP(GREATER)                                                                          \
            break;                                                                                 \
        case AD_REDUCE_MIN:                                                                        \
            LOOP(LESSER)                                                                           \
            break;                                                                                 \
        case AD_REDUCE_PRODUCT:                                                                    \
            LOOP(MULTIPLIED)                                                                       \
            break;                                                                                 \
        default: /* SUM, and MEAN before it is divided */                                          \
            LOOP(ADDED)                                                                            \
        }                                                                                          \
    }
#define INTEGERS(T, U)                                                                             \
    ROWS(T, AD_WRAP_ADD(T, U, a, x), AD_WRAP_MUL(T, U, a, x), a<x ? a : x, a> x ? a : x)           \
    static void sums_##T(enum ad_reduction how, void *out, const void *in, int64_t n,              \
                         bool onto_one)                                                            \
    {                                                                                              \
        typedef int64_t ACC;                                                                       \
        ACC *to = out;                                                                             \
        const T *from = in;                                                                        \
        (void)how;                                                                                 \
        LOOP(AD_WRAP_ADD(int64_t, uint64_t, a, x))                                                 \
    }
INTEGERS(uint8_t, uint8_t)
INTEGERS(int8_t, uint8_t)
INTEGERS(int32_t, uint32_t)
INTEGERS(int64_t, uint64_t)
/* NaN stays. */
ROWS(float, a + x, a *x, a<x || a != a ? a : x, a> x || a != a ? a : x)

static row_fn *const rows_of[] = {
    [ADAPS_FLOAT32] = rows_float, [ADAPS_UINT8] = rows_uint8_t, [ADAPS_INT8] = rows_int8_t,
    [ADAPS_INT32] = rows_int32_t, [ADAPS_INT64] = rows_int64_t, [ADAPS_BOOL] = rows_uint8_t,
};
/* Of 64 bits, for means. */
static row_fn *const sums_of[] = {
    [ADAPS_UINT8] = sums_uint8_t,
    [ADAPS_INT8] = sums_int8_t,
    [ADAPS_INT32] = sums_int32_t,
    [ADAPS_INT64] = sums_int64_t,
};

static struct reduction reduction_of(const struct ad_whole_call *call)
{
    const struct ad_whole *op = call->op;
    const struct ad_array *in = &call->in[0];
    struct reduction r = {.how = (enum ad_reduction)op->ints[0]};
    uint32_t axes = op->nints == 2 ? UINT32_MAX : 0;
    int64_t strides[AD_MAX_RANK], stride = 1;
    for (int i = 2; i < op->nints; i++)
        axes |= 1u << op->ints[i];
    for (int d = in->rank - 1; d >= 0; d--) {
        strides[d] = axes >> d & 1 ? 0 : stride;
        stride *= axes >> d & 1 ? 1 : in->dims[d];
    }
    for (int d = 0; d < in->rank; d++) {
        int last = r.rank - 1;
        if (last >= 0 && r.to[last] == strides[d] * in->dims[d]) {
            r.count[last] *= in->dims[d];
            r.to[last] = strides[d];
        } else {
            r.count[r.rank] = in->dims[d];
            r.to[r.rank++] = strides[d];
        }
    }
    return r;
}

static void reduce(const struct reduction *r, row_fn *rows, void *out, size_t out_bytes,
                   const void *in, size_t in_bytes)
{
    int last = r->rank - 1;
    int64_t index[AD_MAX_RANK] = {0}, to = 0, done = 0;
    int64_t n = last >= 0 ? r->count[last] : 1;
    for (;;) {
        rows(r->how, (char *)out + (size_t)to * out_bytes,
             (const char *)in + (size_t)done * in_bytes, n, last < 0 || r->to[last] == 0);
        done += n;
        int d = last - 1;
        for (; d >= 0; d--) { /* the next row */
            bool carry = ++index[d] == r->count[d];
            to += r->to[d] * (carry ? 1 - r->count[d] : 1);
            if (!carry)
                break;
            index[d] = 0;
        }
        if (d < 0)
            return;
    }
}

/* The neutral element everywhere. The mean of no floats is NaN, as 0 / 0 is. */
static void begin(enum ad_reduction how, struct ad_array *out, int64_t n)
{
    const bool max = how == AD_REDUCE_MAX, min = how == AD_REDUCE_MIN;
    int64_t one = how == AD_REDUCE_PRODUCT;
    for (int64_t i = 0; i < n; i++)
        switch (out->type) {
        case ADAPS_FLOAT32:
            ((float *)out->data)[i] = max ? -INFINITY : min ? INFINITY : (float)one;
            break;
        case ADAPS_UINT8:
            ((uint8_t *)out->data)[i] = (uint8_t)(max ? 0 : min ? UINT8_MAX : one);
            break;
        case ADAPS_INT8:
            ((int8_t *)out->data)[i] = (int8_t)(max ? INT8_MIN : min ? INT8_MAX : one);
            break;
        case ADAPS_INT32:
            ((int32_t *)out->data)[i] = (int32_t)(max ? INT32_MIN : min ? INT32_MAX : one);
            break;
        case ADAPS_INT64:
            ((int64_t *)out->data)[i] = max ? INT64_MIN : min ? INT64_MAX : one;
            break;
        case ADAPS_BOOL:
            ((uint8_t *)out->data)[i] = min;
            break;
        }
}

static void divide_sums(struct ad_array *out, const int64_t *sums, int64_t n, int64_t count)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t mean = count > 0 ? sums[i] / count : 0;
        switch (out->type) {
        case ADAPS_INT8:
            ((int8_t *)out->data)[i] = (int8_t)mean;
            break;
        case ADAPS_INT32:
            ((int32_t *)out->data)[i] = (int32_t)mean;
            break;
        case ADAPS_INT64:
            ((int64_t *)out->data)[i] = mean;
            break;
        case ADAPS_FLOAT32:
        case ADAPS_UINT8:
        case ADAPS_BOOL:
            ((uint8_t *)out->data)[i] = (uint8_t)mean;
            break;
        }
    }
}

static void finish_floats(enum ad_reduction how, float *out, int64_t n, int64_t count)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = ad_one_nan(how == AD_REDUCE_MEAN ? out[i] / (float)count : out[i]);
}

enum adaps_status ad_whole_run_reduce(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    struct ad_array *out = call->out;
    struct reduction r = reduction_of(call);
    int64_t elements = ad_array_elements(in), n = ad_array_elements(out), count = elements / n;
    size_t bytes = ad_type_bytes(in->type);
    if (r.how == AD_REDUCE_MEAN && in->type != ADAPS_FLOAT32) {
        int64_t *sums = ad_calloc((size_t)n, sizeof *sums);
        if (!sums)
            return ad_error_memory(call->err, "sums", (size_t)n * sizeof *sums);
        if (elements > 0)
            reduce(&r, sums_of[in->type], sums, sizeof *sums, in->data, bytes);
        divide_sums(out, sums, n, count);
        ad_free(sums);
        return ADAPS_OK;
    }
    begin(r.how, out, n);
    if (elements > 0)
        reduce(&r, rows_of[in->type], out->data, bytes, in->data, bytes);
    if (in->type == ADAPS_FLOAT32)
        finish_floats(r.how, out->data, n, count);
    return ADAPS_OK;
}
