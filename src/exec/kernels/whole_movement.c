/* Operators that run whole: the same elements elsewhere. */
#include "exec/kernels/whole_internal.h"

static int64_t bytes_of(const struct ad_array *array)
{
    return ad_array_elements(array) * (int64_t)ad_type_bytes(array->type);
}

/* Elements from one of a dimension to the next. */
static int64_t stride_of(const struct ad_array *array, int axis)
{
    int64_t stride = 1;
    for (int d = axis + 1; d < array->rank; d++)
        stride *= array->dims[d];
    return stride;
}

enum adaps_status ad_whole_run_copy(const struct ad_whole_call *call)
{
    memcpy(call->out->data, call->in[0].data, (size_t)bytes_of(call->out));
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_transpose(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    struct ad_copy_nest nest = {.bytes = ad_type_bytes(in->type)};
    for (int d = 0; d < in->rank; d++)
        ad_copy_nest_add(&nest, call->out->dims[d], stride_of(call->out, d),
                         stride_of(in, (int)call->op->ints[d]));
    ad_copy_nest_run(&nest, call->out->data, in->data);
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_concat(const struct ad_whole_call *call)
{
    int axis = (int)call->op->ints[0];
    int64_t size = (int64_t)ad_type_bytes(call->out->type), at = 0;
    struct ad_around whole = ad_around_axis(call->out, axis);
    for (int i = 0; i < call->n; i++) {
        struct ad_around part = ad_around_axis(&call->in[i], axis);
        int64_t run = part.n * part.inner * size, step = whole.n * whole.inner * size;
        char *to = (char *)call->out->data + at;
        const char *from = call->in[i].data;
        for (int64_t k = 0; k < part.outer && run > 0; k++)
            memcpy(to + k * step, from + k * run, (size_t)run);
        at += run;
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_slice(const struct ad_whole_call *call)
{
    const struct ad_whole *op = call->op;
    const struct ad_array *in = &call->in[0];
    int64_t first = 0, steps[AD_MAX_RANK], size = (int64_t)ad_type_bytes(in->type);
    int n = op->nints / 4;
    struct ad_copy_nest nest = {.bytes = (size_t)size};
    for (int d = 0; d < in->rank; d++)
        steps[d] = 1;
    for (int i = 0; i < n; i++) {
        int axis = (int)op->ints[i];
        int64_t from, count;
        ad_whole_slice(op, i, in->dims[axis], &from, &count);
        first += from * stride_of(in, axis);
        steps[axis] = count > 1 ? op->ints[3 * n + i] : 1; /* of one it may be any number */
    }
    for (int d = 0; d < in->rank; d++)
        ad_copy_nest_add(&nest, call->out->dims[d], stride_of(call->out, d),
                         stride_of(in, d) * steps[d]);
    ad_copy_nest_run(&nest, call->out->data, (const char *)in->data + first * size);
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_tile(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    struct ad_copy_nest nest = {.bytes = ad_type_bytes(in->type)};
    for (int d = 0; d < in->rank; d++) {
        int64_t stride = stride_of(call->out, d);
        ad_copy_nest_add(&nest, call->op->ints[d], stride * in->dims[d], 0);
        ad_copy_nest_add(&nest, in->dims[d], stride, stride_of(in, d));
    }
    ad_copy_nest_run(&nest, call->out->data, in->data);
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_expand(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    int skipped = call->out->rank - in->rank;
    struct ad_copy_nest nest = {.bytes = ad_type_bytes(in->type)};
    for (int d = 0; d < call->out->rank; d++) {
        bool repeated = d < skipped || in->dims[d - skipped] == 1;
        ad_copy_nest_add(&nest, call->out->dims[d], stride_of(call->out, d),
                         repeated ? 0 : stride_of(in, d - skipped));
    }
    ad_copy_nest_run(&nest, call->out->data, in->data);
    return ADAPS_OK;
}

/* --- padding --- */

enum { CONSTANT, REFLECT, EDGE, WRAP };

/* Along an axis: [first, first + left) of the input stays, and stands in the output from `before`
 * on. */
struct padded {
    int64_t first, left, before;
};

static struct padded padded_of(const struct ad_whole_call *call, int d)
{
    const struct ad_array *in = &call->in[0];
    int64_t begin = call->op->ints[1 + d], end = call->op->ints[1 + in->rank + d];
    struct padded padded = {.first = begin < 0 ? -begin : 0, .before = begin > 0 ? begin : 0};
    padded.left = in->dims[d] - padded.first + (end < 0 ? end : 0);
    return padded;
}

/* The index of what is left that stands at i, which counts from its first. */
static int64_t mirrored(int64_t i, int64_t n, int64_t mode)
{
    int64_t period = mode == REFLECT ? 2 * (n - 1) : n;
    if (mode == EDGE || n == 1)
        return i < 0 ? 0 : i < n ? i : n - 1;
    i %= period;
    i += i < 0 ? period : 0;
    return i < n ? i : period - i;
}

/* Every element of the output with `value`. */
static void fill(const struct ad_array *out, const void *value)
{
    size_t size = ad_type_bytes(out->type), bytes = (size_t)bytes_of(out);
    char *to = out->data;
    memcpy(to, value, size);
    for (size_t done = size; done < bytes;) {
        size_t n = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, n);
        done += n;
    }
}

static void pad_with_value(const struct ad_whole_call *call)
{
    static const char zero[8];
    const struct ad_array *in = &call->in[0];
    int64_t size = (int64_t)ad_type_bytes(in->type), to = 0, from = 0;
    struct ad_copy_nest nest = {.bytes = (size_t)size};
    fill(call->out, call->n > 1 ? call->in[1].data : zero);
    for (int d = 0; d < in->rank; d++) {
        struct padded padded = padded_of(call, d);
        ad_copy_nest_add(&nest, padded.left, stride_of(call->out, d), stride_of(in, d));
        to += padded.before * stride_of(call->out, d);
        from += padded.first * stride_of(in, d);
    }
    if (ad_array_elements(in) > 0)
        ad_copy_nest_run(&nest, (char *)call->out->data + to * size,
                         (const char *)in->data + from * size);
}

#define PAD_ROW(T)                                                                                 \
    static void pad_row_##T(T *to, const T *from, const int64_t *at, int64_t n)                    \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = from[at[i]];                                                                   \
    }
PAD_ROW(uint8_t)
PAD_ROW(uint32_t)
PAD_ROW(uint64_t)

/* `at` has for each index along each axis of the output what it adds to the place in the input. */
static void pad_rows(const struct ad_whole_call *call, int64_t *const *at)
{
    const struct ad_array *in = &call->in[0], *out = call->out;
    int last = out->rank - 1;
    int64_t size = (int64_t)ad_type_bytes(in->type), rows = ad_array_elements(out), n;
    int64_t index[AD_MAX_RANK] = {0};
    n = out->dims[last];
    rows /= n;
    for (int64_t row = 0; row < rows; row++) {
        char *to = (char *)out->data + row * n * size;
        const char *from = in->data;
        for (int d = 0; d < last; d++)
            from += at[d][index[d]] * size;
        if (size == 1)
            pad_row_uint8_t((void *)to, (const void *)from, at[last], n);
        else if (size == 4)
            pad_row_uint32_t((void *)to, (const void *)from, at[last], n);
        else
            pad_row_uint64_t((void *)to, (const void *)from, at[last], n);
        for (int d = last - 1; d >= 0 && ++index[d] == out->dims[d]; d--)
            index[d] = 0;
    }
}

enum adaps_status ad_whole_run_pad(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0], *out = call->out;
    int64_t all = 0, mode = call->op->ints[0], *at[AD_MAX_RANK];
    if (mode == CONSTANT) {
        pad_with_value(call);
        return ADAPS_OK;
    }
    if (in->rank == 0)
        return ad_whole_run_copy(call);
    for (int d = 0; d < in->rank; d++)
        all += out->dims[d];
    int64_t *table = ad_calloc((size_t)all, sizeof *table), *next = table;
    if (!table)
        return ad_error_memory(call->err, "padding", (size_t)all * sizeof *table);
    for (int d = 0; d < in->rank; next += out->dims[d], d++) {
        struct padded padded = padded_of(call, d);
        at[d] = next;
        for (int64_t i = 0; i < out->dims[d]; i++)
            next[i] =
                (padded.first + mirrored(i - padded.before, padded.left, mode)) * stride_of(in, d);
    }
    pad_rows(call, at);
    ad_free(table);
    return ADAPS_OK;
}

/* --- parts of matrices, and sequences --- */

enum adaps_status ad_whole_run_trilu(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    int64_t rows = in->dims[in->rank - 2], columns = in->dims[in->rank - 1];
    int64_t size = (int64_t)ad_type_bytes(in->type), all = ad_array_elements(in) / columns;
    bool upper = call->op->ints[0];
    int64_t k = call->op->ints[1];
    k = k < -rows ? -rows : k > columns ? columns : k;
    for (int64_t row = 0; row < all; row++) {
        int64_t border = row % rows + k + !upper; /* the first column on the right side of it */
        border = (border < 0 ? 0 : border > columns ? columns : border) * size;
        char *to = (char *)call->out->data + row * columns * size;
        const char *from = (const char *)in->data + row * columns * size;
        memset(upper ? to : to + border, 0, (size_t)(upper ? border : columns * size - border));
        memcpy(upper ? to + border : to, upper ? from + border : from,
               (size_t)(upper ? columns * size - border : border));
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_reverse_sequence(const struct ad_whole_call *call)
{
    const struct ad_array *in = &call->in[0];
    int batch = (int)call->op->ints[0], time = 1 - batch;
    int64_t run = stride_of(in, 1) * (int64_t)ad_type_bytes(in->type), steps = in->dims[time];
    int64_t of_batch = (batch == 0 ? in->dims[1] : 1) * run;
    int64_t of_time = (time == 0 ? in->dims[1] : 1) * run;
    const int64_t *lengths = call->in[1].data;
    for (int64_t b = 0; b < in->dims[batch]; b++) {
        if (lengths[b] < 0 || lengths[b] > steps)
            return ad_error_set(call->err, ADAPS_EINPUT, "a sequence of %lld in %lld steps",
                                (long long)lengths[b], (long long)steps);
        for (int64_t t = 0; t < steps; t++) {
            int64_t from = t < lengths[b] ? lengths[b] - 1 - t : t;
            memcpy((char *)call->out->data + b * of_batch + t * of_time,
                   (const char *)in->data + b * of_batch + from * of_time, (size_t)run);
        }
    }
    return ADAPS_OK;
}
