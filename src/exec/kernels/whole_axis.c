/* Operators that run whole: along an axis, and the graph's own figures. */
#include "exec/kernels/softmax.h"
#include "exec/kernels/whole_internal.h"

/* --- the greatest and the least --- */

/* Whether x comes before the best one so far. Of equal ones the last, if that is wanted. */
#define BEFORE(x, best) (least ? (x) < (best) : (x) > (best))

/* Row after row along the axis: the best of each place in a row of `inner`. */
#define ARGS(T, IS_NAN)                                                                            \
    static void arg_##T(const T *x, const struct ad_around *a, bool least, bool last,              \
                        int64_t *out, T *best)                                                     \
    {                                                                                              \
        for (int64_t i = 0; i < a->inner; i++) {                                                   \
            best[i] = x[i];                                                                        \
            out[i] = 0;                                                                            \
        }                                                                                          \
        for (int64_t k = 1; k < a->n; k++) {                                                       \
            x += a->inner;                                                                         \
            for (int64_t i = 0; i < a->inner; i++) {                                               \
                bool same = x[i] == best[i] || (IS_NAN(x[i]) && IS_NAN(best[i]));                  \
                bool nan = IS_NAN(x[i]) && !IS_NAN(best[i]);                                       \
                bool take = BEFORE(x[i], best[i]) || nan || (last && same);                        \
                best[i] = take ? x[i] : best[i];                                                   \
                out[i] = take ? k : out[i];                                                        \
            }                                                                                      \
        }                                                                                          \
    }
#define NEVER(x) ((void)(x), false)
#define DIFFERS(x) ((x) != (x))
ARGS(uint8_t, NEVER)
ARGS(int8_t, NEVER)
ARGS(int32_t, NEVER)
ARGS(int64_t, NEVER)
ARGS(float, DIFFERS)

enum adaps_status ad_whole_run_arg(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    struct ad_around a = ad_around_axis(x, (int)call->op->ints[0]);
    bool least = call->op->kind == AD_WHOLE_ARG_MIN, last = call->op->ints[2];
    size_t size = ad_type_bytes(x->type), bytes = (size_t)a.inner * size;
    void *best = ad_alloc_aligned(bytes);
    if (!best)
        return ad_error_memory(call->err, "the best elements", bytes);
    for (int64_t k = 0; k < a.outer; k++) {
        int64_t *to = (int64_t *)call->out->data + k * a.inner;
        const void *from = (const char *)x->data + (size_t)(k * a.n * a.inner) * size;
        switch (x->type) {
        case ADAPS_FLOAT32:
            arg_float(from, &a, least, last, to, best);
            break;
        case ADAPS_INT8:
            arg_int8_t(from, &a, least, last, to, best);
            break;
        case ADAPS_INT32:
            arg_int32_t(from, &a, least, last, to, best);
            break;
        case ADAPS_INT64:
            arg_int64_t(from, &a, least, last, to, best);
            break;
        case ADAPS_UINT8:
        case ADAPS_BOOL:
            arg_uint8_t(from, &a, least, last, to, best);
            break;
        }
    }
    ad_free(best);
    return ADAPS_OK;
}

/* --- the greatest k --- */

/* The first k of the order, sorted: a heap of the best so far, the last of them on top. */
static void select_first(const struct ad_array *x, int64_t start, int64_t n, int64_t step,
                         bool largest, struct ad_ranked *heap, int64_t k)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = ad_rank_key(x, start + i * step);
        struct ad_ranked item = {largest ? ~key : key, i};
        if (i < k) {
            heap[i] = item;
            if (i == k - 1)
                ad_heap_make(heap, k, false);
        } else if (item.key < heap[0].key) {
            heap[0] = item;
            ad_heap_sink(heap, k, 0, false);
        }
    }
    ad_heap_sort(heap, k);
}

enum adaps_status ad_whole_run_topk(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    int axis = (int)call->op->ints[0];
    struct ad_around a = ad_around_axis(x, axis);
    int64_t k = call->out->dims[axis];
    struct ad_ranked *heap = ad_calloc((size_t)k, sizeof *heap);
    if (!heap)
        return ad_error_memory(call->err, "the first elements", (size_t)k * sizeof *heap);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            select_first(x, o * a.n * a.inner + i, a.n, a.inner, call->op->ints[2], heap, k);
            int64_t *to = (int64_t *)call->out->data + o * k * a.inner + i;
            for (int64_t j = 0; j < k; j++)
                to[j * a.inner] = heap[j].index;
        }
    ad_free(heap);
    return ADAPS_OK;
}

/* --- running sums --- */

/* Row by row: the sum of the row before and one row of x. */
#define SUMS(T, ADD, ONE)                                                                          \
    static void sums_##T(const T *x, T *out, const struct ad_around *a, bool exclusive,            \
                         bool reverse)                                                             \
    {                                                                                              \
        int64_t step = reverse ? -a->inner : a->inner;                                             \
        if (reverse) {                                                                             \
            x += (a->n - 1) * a->inner;                                                            \
            out += (a->n - 1) * a->inner;                                                          \
        }                                                                                          \
        for (int64_t i = 0; i < a->inner; i++)                                                     \
            out[i] = exclusive ? 0 : ONE(x[i]);                                                    \
        for (int64_t k = 1; k < a->n; k++) {                                                       \
            const T *before = out, *added = exclusive ? x : x + step;                              \
            x += step;                                                                             \
            out += step;                                                                           \
            for (int64_t i = 0; i < a->inner; i++)                                                 \
                out[i] = ADD(before[i], added[i]);                                                 \
        }                                                                                          \
    }
#define ADD_INT32(a, b) AD_WRAP_ADD(int32_t, uint32_t, a, b)
#define ADD_INT64(a, b) AD_WRAP_ADD(int64_t, uint64_t, a, b)
#define ADD_FLOAT(a, b) ad_one_nan((a) + (b))
SUMS(int32_t, ADD_INT32, )
SUMS(int64_t, ADD_INT64, )
SUMS(float, ADD_FLOAT, ad_one_nan)

enum adaps_status ad_whole_run_cum_sum(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    struct ad_around a = ad_around_axis(x, (int)call->op->ints[0]);
    bool exclusive = call->op->ints[1], reverse = call->op->ints[2];
    for (int64_t k = 0; k < a.outer; k++) {
        size_t at = (size_t)(k * a.n * a.inner) * ad_type_bytes(x->type);
        const void *from = (const char *)x->data + at;
        void *to = (char *)call->out->data + at;
        if (x->type == ADAPS_FLOAT32)
            sums_float(from, to, &a, exclusive, reverse);
        else if (x->type == ADAPS_INT32)
            sums_int32_t(from, to, &a, exclusive, reverse);
        else
            sums_int64_t(from, to, &a, exclusive, reverse);
    }
    return ADAPS_OK;
}

/* --- softmax --- */

static void softmax_rows(const float *in, float *out, int64_t rows, int64_t n)
{
    struct ad_softmax s = {.in = {(float *)in, 1, 1, rows, n, rows * n, rows * n, n},
                           .out = {out, 1, 1, rows, n, rows * n, rows * n, n}};
    ad_softmax_run(&s, NULL);
}

/* Rows of the axis are turned to lie side by side, and back. */
static void turn(float *out, const float *in, int64_t rows, int64_t columns)
{
    struct ad_copy_nest nest = {.bytes = sizeof *in};
    ad_copy_nest_add(&nest, columns, rows, 1);
    ad_copy_nest_add(&nest, rows, 1, columns);
    ad_copy_nest_run(&nest, out, in);
}

enum adaps_status ad_whole_run_softmax(const struct ad_whole_call *call)
{
    const float *x = call->in[0].data;
    float *out = call->out->data;
    struct ad_around a = ad_around_axis(&call->in[0], (int)call->op->ints[0]);
    int64_t block = a.n * a.inner;
    size_t bytes = (size_t)block * sizeof *x;
    if (a.inner == 1) {
        softmax_rows(x, out, a.outer, a.n);
        return ADAPS_OK;
    }
    float *rows = ad_alloc_aligned(2 * bytes);
    if (!rows)
        return ad_error_memory(call->err, "softmax", 2 * bytes);
    for (int64_t k = 0; k < a.outer; k++) {
        turn(rows, x + k * block, a.n, a.inner);
        softmax_rows(rows, rows + block, a.inner, a.n);
        turn(out + k * block, rows + block, a.inner, a.n);
    }
    ad_free(rows);
    return ADAPS_OK;
}

/* --- one hot --- */

/* As an index: floats are cut; out of range is an index that is nowhere. */
static int64_t hot_index(const struct ad_array *indices, int64_t i)
{
    switch (indices->type) {
    case ADAPS_FLOAT32:
        return ad_int64_of(((const float *)indices->data)[i]);
    case ADAPS_INT32:
        return ((const int32_t *)indices->data)[i];
    case ADAPS_INT64:
        return ((const int64_t *)indices->data)[i];
    case ADAPS_INT8:
        return ((const int8_t *)indices->data)[i];
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        break;
    }
    return ((const uint8_t *)indices->data)[i];
}

enum adaps_status ad_whole_run_one_hot(const struct ad_whole_call *call)
{
    const struct ad_array *indices = &call->in[0];
    struct ad_around a = ad_around_axis(call->out, (int)call->op->ints[0]);
    int64_t size = (int64_t)ad_type_bytes(call->out->type), all = ad_array_elements(call->out);
    const char *off = call->in[1].data, *on = off + size;
    char *out = call->out->data;
    for (int64_t i = 0; i < all; i++)
        memcpy(out + i * size, off, (size_t)size);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            int64_t index = hot_index(indices, o * a.inner + i);
            index += index < 0 ? a.n : 0;
            if (index >= 0 && index < a.n)
                memcpy(out + ((o * a.n + index) * a.inner + i) * size, on, (size_t)size);
        }
    return ADAPS_OK;
}

/* --- figures --- */

enum adaps_status ad_whole_run_shape(const struct ad_whole_call *call)
{
    memcpy(call->out->data, call->in[0].dims + call->op->ints[0],
           (size_t)call->out->dims[0] * sizeof *call->in[0].dims);
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_size(const struct ad_whole_call *call)
{
    *(int64_t *)call->out->data = ad_array_elements(&call->in[0]);
    return ADAPS_OK;
}
