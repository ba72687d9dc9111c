/* Operators that run whole: elements by index. */
#include "exec/kernels/whole_internal.h"

/* The first index that is outside of a dimension of n; -1 when none is. */
static int64_t first_outside(const struct ad_array *indices, int64_t n)
{
    int64_t count = ad_array_elements(indices);
    for (int64_t i = 0; i < count; i++)
        if (ad_index_at(indices, i, n) < 0)
            return i;
    return -1;
}

enum adaps_status ad_whole_run_gather(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0], *indices = &call->in[1];
    struct ad_around around = ad_around_axis(x, (int)call->op->ints[0]);
    int64_t run = around.inner * (int64_t)ad_type_bytes(x->type);
    int64_t count = ad_array_elements(indices), outside = first_outside(indices, around.n);
    char *to = call->out->data;
    if (outside >= 0)
        return ad_index_fail(call, indices, outside, around.n);
    for (int64_t k = 0; k < around.outer; k++) {
        const char *from = (const char *)x->data + k * around.n * run;
        for (int64_t i = 0; i < count; i++, to += run) {
            const char *element = from + ad_index_at(indices, i, around.n) * run;
            if (run == 4)
                memcpy(to, element, 4);
            else
                memcpy(to, element, (size_t)run);
        }
    }
    return ADAPS_OK;
}

/* --- along an axis, an index for each element --- */

/* A row of indices: element i stands at base + i * step + index * stride of x. */
struct index_row {
    int64_t first; /* index */
    int64_t n, base, step, stride;
};

typedef enum adaps_status index_row_fn(const struct ad_whole_call *call,
                                       const struct index_row *row, int64_t size);

/* Calls run for each row of indices. */
static enum adaps_status each_index_row(const struct ad_whole_call *call, index_row_fn *run)
{
    const struct ad_array *x = &call->in[0], *indices = &call->in[1];
    int axis = (int)call->op->ints[0], last = x->rank - 1;
    int64_t strides[AD_MAX_RANK], index[AD_MAX_RANK] = {0}, stride = 1;
    int64_t count = ad_array_elements(indices);
    for (int d = last; d >= 0; d--) {
        strides[d] = stride;
        stride *= x->dims[d];
    }
    struct index_row row = {
        .n = indices->dims[last], .step = axis == last ? 0 : 1, .stride = strides[axis]};
    for (row.first = 0; row.first < count; row.first += row.n) {
        row.base = 0;
        for (int d = 0; d < last; d++)
            row.base += d == axis ? 0 : index[d] * strides[d];
        enum adaps_status status = run(call, &row, x->dims[axis]);
        if (status != ADAPS_OK)
            return status;
        for (int d = last - 1; d >= 0 && ++index[d] == indices->dims[d]; d--)
            index[d] = 0;
    }
    return ADAPS_OK;
}

static enum adaps_status gather_row(const struct ad_whole_call *call, const struct index_row *row,
                                    int64_t size)
{
    const struct ad_array *x = &call->in[0], *indices = &call->in[1];
    size_t bytes = ad_type_bytes(x->type);
    for (int64_t i = 0; i < row->n; i++) {
        int64_t at = ad_index_at(indices, row->first + i, size);
        if (at < 0)
            return ad_index_fail(call, indices, row->first + i, size);
        at = row->base + i * row->step + at * row->stride;
        memcpy((char *)call->out->data + (size_t)(row->first + i) * bytes,
               (const char *)x->data + (size_t)at * bytes, bytes);
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_gather_elements(const struct ad_whole_call *call)
{
    return each_index_row(call, gather_row);
}

/* --- updates --- */

enum { NONE, ADD, MUL, MAX, MIN };

#define UPDATES(T, ADDED, MULTIPLIED, LESSER, GREATER)                                             \
    static void update_##T(int64_t how, T *to, const T *from, int64_t n)                           \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T a = to[i], b = from[i];                                                              \
            to[i] = how == ADD ? ADDED : how == MUL ? MULTIPLIED : how == MAX ? GREATER : LESSER;  \
        }                                                                                          \
    }
#define INTEGER_UPDATES(T, U)                                                                      \
    UPDATES(T, AD_WRAP_ADD(T, U, a, b), AD_WRAP_MUL(T, U, a, b), a<b ? a : b, a> b ? a : b)
INTEGER_UPDATES(uint8_t, uint8_t)
INTEGER_UPDATES(int8_t, uint8_t)
INTEGER_UPDATES(int32_t, uint32_t)
INTEGER_UPDATES(int64_t, uint64_t)
UPDATES(float, ad_one_nan(a + b), ad_one_nan(a *b), ad_least(a, b), ad_greatest(a, b))

/* n elements of the result from place `to` on, with those of the updates from `from` on. */
static void update(const struct ad_whole_call *call, int64_t how, int64_t to, int64_t from,
                   int64_t n)
{
    size_t bytes = ad_type_bytes(call->out->type);
    void *out = (char *)call->out->data + (size_t)to * bytes;
    const void *in = (const char *)call->in[2].data + (size_t)from * bytes;
    if (how == NONE) {
        memcpy(out, in, (size_t)n * bytes);
        return;
    }
    switch (call->out->type) {
    case ADAPS_FLOAT32:
        update_float(how, out, in, n);
        break;
    case ADAPS_INT8:
        update_int8_t(how, out, in, n);
        break;
    case ADAPS_INT32:
        update_int32_t(how, out, in, n);
        break;
    case ADAPS_INT64:
        update_int64_t(how, out, in, n);
        break;
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        update_uint8_t(how, out, in, n);
        break;
    }
}

static void begin_with_input(const struct ad_whole_call *call)
{
    memcpy(call->out->data, call->in[0].data,
           (size_t)ad_array_elements(call->out) * ad_type_bytes(call->out->type));
}

static enum adaps_status scatter_row(const struct ad_whole_call *call, const struct index_row *row,
                                     int64_t size)
{
    const struct ad_array *indices = &call->in[1];
    for (int64_t i = 0; i < row->n; i++) {
        int64_t at = ad_index_at(indices, row->first + i, size);
        if (at < 0)
            return ad_index_fail(call, indices, row->first + i, size);
        update(call, call->op->ints[1], row->base + i * row->step + at * row->stride,
               row->first + i, 1);
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_scatter_elements(const struct ad_whole_call *call)
{
    begin_with_input(call);
    return each_index_row(call, scatter_row);
}

/* --- by tuples of indices --- */

/* How x is addressed by tuples from dimension `batch` on. */
struct tuples {
    int64_t batches, count; /* of x and of the indices; tuples of a batch */
    int64_t of_batch, run;  /* elements of x: of a batch, at a tuple */
    int batch, size;
};

static struct tuples tuples_of(const struct ad_array *x, const struct ad_array *indices, int batch)
{
    struct tuples t = {1, 1, 1, 1, batch, (int)indices->dims[indices->rank - 1]};
    for (int d = 0; d < batch; d++)
        t.batches *= x->dims[d];
    for (int d = batch; d < indices->rank - 1; d++)
        t.count *= indices->dims[d];
    for (int d = batch; d < x->rank; d++) {
        t.of_batch *= x->dims[d];
        t.run *= d < batch + t.size ? 1 : x->dims[d];
    }
    return t;
}

/* Where the tuple from element `first` of the indices on points to, in a batch. */
static enum adaps_status tuple_at(const struct ad_whole_call *call, const struct tuples *t,
                                  int64_t first, int64_t *at)
{
    const struct ad_array *x = &call->in[0], *indices = &call->in[1];
    int64_t place = 0;
    for (int k = 0; k < t->size; k++) {
        int64_t n = x->dims[t->batch + k], index = ad_index_at(indices, first + k, n);
        if (index < 0)
            return ad_index_fail(call, indices, first + k, n);
        place = place * n + index;
    }
    *at = place * t->run;
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_gather_nd(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    struct tuples t = tuples_of(x, &call->in[1], (int)call->op->ints[0]);
    int64_t bytes = (int64_t)ad_type_bytes(x->type), first = 0, at = 0;
    char *to = call->out->data;
    for (int64_t b = 0; b < t.batches; b++)
        for (int64_t k = 0; k < t.count; k++, first += t.size, to += t.run * bytes) {
            enum adaps_status status = tuple_at(call, &t, first, &at);
            if (status != ADAPS_OK)
                return status;
            memcpy(to, (const char *)x->data + (b * t.of_batch + at) * bytes,
                   (size_t)(t.run * bytes));
        }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_scatter_nd(const struct ad_whole_call *call)
{
    struct tuples t = tuples_of(&call->in[0], &call->in[1], 0);
    begin_with_input(call);
    for (int64_t k = 0; k < t.count; k++) {
        int64_t at = 0;
        enum adaps_status status = tuple_at(call, &t, k * t.size, &at);
        if (status != ADAPS_OK)
            return status;
        update(call, call->op->ints[0], at, k * t.run, t.run);
    }
    return ADAPS_OK;
}
