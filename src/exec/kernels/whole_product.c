/* Operators that run whole: products of matrices, and convolutions of bytes. Integers wrap around.
 */
#include "exec/kernels/product.h"
#include "exec/kernels/whole_internal.h"

/* --- matrices --- */

/* Two arrays as matrices, and the pairs of them that are multiplied. */
struct matrices {
    int64_t rows, depth, columns, count;
    int rank;                     /* of the batches */
    int64_t dims[AD_MAX_RANK];    /* of the result's */
    int64_t step[2][AD_MAX_RANK]; /* matrices of a and b from one to the next */
};

static struct matrices matrices_of(const struct ad_array *a, const struct ad_array *b)
{
    struct matrices m = {.rows = a->rank > 1 ? a->dims[a->rank - 2] : 1,
                         .depth = a->dims[a->rank - 1],
                         .columns = b->rank > 1 ? b->dims[b->rank - 1] : 1,
                         .count = 1};
    const struct ad_array *operands[] = {a, b};
    m.rank = (a->rank > b->rank ? a->rank : b->rank) - 2;
    m.rank = m.rank > 0 ? m.rank : 0;
    for (int d = 0; d < m.rank; d++)
        m.dims[d] = 1;
    for (int k = 0; k < 2; k++) {
        int64_t step = 1;
        for (int d = operands[k]->rank - 3, o = m.rank - 1; d >= 0; d--, o--) {
            int64_t dim = operands[k]->dims[d];
            m.step[k][o] = dim == 1 ? 0 : step;
            m.dims[o] = dim == 1 ? m.dims[o] : dim;
            step *= dim;
        }
    }
    for (int d = 0; d < m.rank; d++)
        m.count *= m.dims[d];
    return m;
}

/* The matrices of a and b that make matrix `index` of the result. */
static void pair_at(const struct matrices *m, int64_t index, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = m->rank - 1; d >= 0; d--) {
        *a += index % m->dims[d] * m->step[0][d];
        *b += index % m->dims[d] * m->step[1][d];
        index /= m->dims[d];
    }
}

/* Whether an operand is one matrix for all, or has one for each. */
static bool is_one(const struct ad_array *operand, int64_t matrix)
{
    return ad_array_elements(operand) == matrix;
}

static enum adaps_status multiply_floats(const struct ad_whole_call *call, const struct matrices *m)
{
    const float *a = call->in[0].data, *b = call->in[1].data;
    float *out = call->out->data;
    int64_t of_a = m->rows * m->depth, of_b = m->depth * m->columns, of_out = m->rows * m->columns;
    bool one_a = is_one(&call->in[0], of_a), one_b = is_one(&call->in[1], of_b), each = true;
    for (int d = 0; d < m->rank; d++)
        each = each && (one_a || m->dims[d] == 1 || m->step[0][d] > 0) &&
               (one_b || m->dims[d] == 1 || m->step[1][d] > 0);
    struct ad_product p = {.a = a,
                           .b = b,
                           .out = out,
                           .count = each ? m->count : 1,
                           .rows = m->rows,
                           .depth = m->depth,
                           .columns = m->columns,
                           .one_a = one_a,
                           .one_b = one_b};
    size_t floats;
    if (!ad_product_scratch(&p, &floats) || !ad_size_mul(floats, sizeof *a, &floats))
        return ad_error_memory(call->err, "a product", SIZE_MAX);
    p.scratch = ad_alloc_aligned(floats);
    if (!p.scratch)
        return ad_error_memory(call->err, "a product", floats);
    for (int64_t k = 0; k < m->count; k += p.count) {
        int64_t at_a, at_b;
        pair_at(m, k, &at_a, &at_b);
        p.a = a + at_a * of_a;
        p.b = b + at_b * of_b;
        p.out = out + k * of_out;
        ad_product_run(&p, NULL);
    }
    ad_free(p.scratch);
    for (int64_t i = 0; i < m->count * of_out; i++)
        out[i] = ad_one_nan(out[i]);
    return ADAPS_OK;
}

/* A row of the result: the rows of b times the elements of a row of a. */
#define PRODUCTS(T, U)                                                                             \
    static void multiply_##T(const struct matrices *m, const T *a, const T *b, T *out)             \
    {                                                                                              \
        for (int64_t r = 0; r < m->rows; r++, a += m->depth, out += m->columns) {                  \
            memset(out, 0, (size_t)m->columns * sizeof *out);                                      \
            for (int64_t k = 0; k < m->depth; k++) {                                               \
                const T *row = b + k * m->columns;                                                 \
                for (int64_t i = 0; i < m->columns; i++)                                           \
                    out[i] = AD_WRAP_ADD(T, U, out[i], AD_WRAP_MUL(T, U, a[k], row[i]));           \
            }                                                                                      \
        }                                                                                          \
    }
PRODUCTS(uint8_t, uint8_t)
PRODUCTS(int8_t, uint8_t)
PRODUCTS(int32_t, uint32_t)
PRODUCTS(int64_t, uint64_t)

enum adaps_status ad_whole_run_matmul(const struct ad_whole_call *call)
{
    const struct ad_array *a = &call->in[0], *b = &call->in[1];
    struct matrices m = matrices_of(a, b);
    size_t bytes = ad_type_bytes(a->type);
    if (m.depth == 0) {
        memset(call->out->data, 0, (size_t)ad_array_elements(call->out) * bytes);
        return ADAPS_OK;
    }
    if (a->type == ADAPS_FLOAT32)
        return multiply_floats(call, &m);
    for (int64_t k = 0; k < m.count; k++) {
        int64_t at_a, at_b;
        pair_at(&m, k, &at_a, &at_b);
        const void *from_a = (const char *)a->data + (size_t)(at_a * m.rows * m.depth) * bytes;
        const void *from_b = (const char *)b->data + (size_t)(at_b * m.depth * m.columns) * bytes;
        void *to = (char *)call->out->data + (size_t)(k * m.rows * m.columns) * bytes;
        if (a->type == ADAPS_INT32)
            multiply_int32_t(&m, from_a, from_b, to);
        else if (a->type == ADAPS_INT64)
            multiply_int64_t(&m, from_a, from_b, to);
        else if (a->type == ADAPS_INT8)
            multiply_int8_t(&m, from_a, from_b, to);
        else
            multiply_uint8_t(&m, from_a, from_b, to);
    }
    return ADAPS_OK;
}

/* --- bytes less their zeros --- */

static int32_t byte_at(const struct ad_array *array, int64_t i)
{
    return array->type == ADAPS_INT8 ? ((const int8_t *)array->data)[i]
                                     : ((const uint8_t *)array->data)[i];
}

/* A zero for all, or the i-th; 0 where there is none. */
static int32_t zero_at(const struct ad_whole_call *call, int input, int64_t i)
{
    if (call->n <= input)
        return 0;
    return byte_at(&call->in[input], ad_array_elements(&call->in[input]) > 1 ? i : 0);
}

/* In rows of `inner`; element i of row r less the zero of r mod `rows`, or of i where that is 0. */
static int16_t *without_zeros(const struct ad_whole_call *call, int input, int64_t inner,
                              int64_t rows)
{
    const struct ad_array *x = &call->in[input];
    int64_t n = ad_array_elements(x);
    int16_t *out = ad_alloc_aligned((size_t)n * sizeof *out);
    for (int64_t at = 0; at < n && out; at += inner) {
        int32_t zero = rows > 0 ? zero_at(call, input + 2, at / inner % rows) : 0;
        for (int64_t i = 0; i < inner; i++)
            out[at + i] =
                (int16_t)(byte_at(x, at + i) - (rows > 0 ? zero : zero_at(call, input + 2, i)));
    }
    if (!out)
        (void)ad_error_memory(call->err, "integers", (size_t)n * sizeof *out);
    return out;
}

/* out[i] += the products of 4 factors and rows that lie `step` apart. */
static void add_four(int32_t *restrict out, const int16_t *factor, const int16_t *restrict row,
                     int64_t step, int64_t n)
{
    const int16_t *second = row + step, *third = second + step, *fourth = third + step;
    const int32_t a = factor[0], b = factor[1], c = factor[2], d = factor[3];
    for (int64_t i = 0; i < n; i++) {
        uint32_t sum = (uint32_t)(a * row[i]) + (uint32_t)(b * second[i]);
        sum += (uint32_t)(c * third[i]) + (uint32_t)(d * fourth[i]);
        out[i] = (int32_t)((uint32_t)out[i] + sum);
    }
}

static void add_one(int32_t *restrict out, int32_t factor, const int16_t *restrict row,
                    int64_t step, int64_t n)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = AD_WRAP_ADD(int32_t, uint32_t, out[i], factor * row[i]);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = AD_WRAP_ADD(int32_t, uint32_t, out[i], factor * row[i * step]);
}

static void multiply_bytes(const struct matrices *m, const int16_t *a, const int16_t *b,
                           int32_t *out)
{
    for (int64_t r = 0; r < m->rows; r++, a += m->depth, out += m->columns) {
        int64_t k = 0;
        memset(out, 0, (size_t)m->columns * sizeof *out);
        for (; k + 4 <= m->depth; k += 4)
            add_four(out, a + k, b + k * m->columns, m->columns, m->columns);
        for (; k < m->depth; k++)
            add_one(out, a[k], b + k * m->columns, 1, m->columns);
    }
}

enum adaps_status ad_whole_run_matmul_integer(const struct ad_whole_call *call)
{
    struct matrices m = matrices_of(&call->in[0], &call->in[1]);
    if (m.depth == 0) {
        memset(call->out->data, 0, (size_t)ad_array_elements(call->out) * sizeof(int32_t));
        return ADAPS_OK;
    }
    int16_t *a = without_zeros(call, 0, m.depth, m.rows);
    int16_t *b = a ? without_zeros(call, 1, m.columns, 0) : NULL;
    for (int64_t k = 0; k < m.count && b; k++) {
        int64_t at_a, at_b;
        pair_at(&m, k, &at_a, &at_b);
        multiply_bytes(&m, a + at_a * m.rows * m.depth, b + at_b * m.depth * m.columns,
                       (int32_t *)call->out->data + k * m.rows * m.columns);
    }
    ad_free(a);
    ad_free(b);
    return b ? ADAPS_OK : ADAPS_EINTERNAL;
}

/* --- convolutions --- */

/* The maps of one input and one output channel. */
struct maps {
    int spatial; /* dimensions */
    const int64_t *in, *out, *taps, *stride, *dilation, *begin;
};

/* The outputs [*from, *to) along an axis whose tap lies in the input. */
static void reached(const struct maps *m, int d, int64_t tap, int64_t *from, int64_t *to)
{
    int64_t first = tap * m->dilation[d] - m->begin[d]; /* what output 0 reads */
    int64_t end = m->in[d] - first;                     /* outputs times stride are below it */
    *from = first < 0 ? (-first + m->stride[d] - 1) / m->stride[d] : 0;
    *to = end > 0 ? (end - 1) / m->stride[d] + 1 : 0;
    *to = *to < m->out[d] ? *to : m->out[d];
}

/* Adds one tap of the window, at `tap` along each axis, to all outputs that it lies in the input
 * for. */
static void add_tap(const struct maps *m, const int64_t *tap, int32_t factor, const int16_t *x,
                    int32_t *out)
{
    int last = m->spatial - 1;
    int64_t from[AD_MAX_RANK], to[AD_MAX_RANK], index[AD_MAX_RANK];
    for (int d = 0; d <= last; d++) {
        reached(m, d, tap[d], &from[d], &to[d]);
        if (from[d] >= to[d])
            return;
        index[d] = from[d];
    }
    for (;;) {
        int64_t at_in = 0, at_out = 0;
        for (int d = 0; d <= last; d++) {
            at_in =
                at_in * m->in[d] + index[d] * m->stride[d] + tap[d] * m->dilation[d] - m->begin[d];
            at_out = at_out * m->out[d] + index[d];
        }
        add_one(out + at_out, factor, x + at_in, m->stride[last], to[last] - from[last]);
        int d = last - 1;
        for (; d >= 0 && ++index[d] == to[d]; d--)
            index[d] = from[d];
        if (d < 0)
            return;
    }
}

static int64_t product_of(const int64_t *dims, int n)
{
    int64_t product = 1;
    for (int d = 0; d < n; d++)
        product *= dims[d];
    return product;
}

/* One filter over the channels of its group. */
static void add_filter(const struct maps *m, int64_t channels, const int16_t *filter,
                       const int16_t *x, int32_t *out)
{
    int64_t size = product_of(m->in, m->spatial), taps = product_of(m->taps, m->spatial);
    memset(out, 0, (size_t)product_of(m->out, m->spatial) * sizeof *out);
    for (int64_t c = 0; c < channels; c++) {
        int64_t tap[AD_MAX_RANK] = {0};
        for (int64_t k = 0; k < taps; k++, filter++) {
            if (*filter != 0)
                add_tap(m, tap, *filter, x + c * size, out);
            for (int d = m->spatial - 1; d >= 0 && ++tap[d] == m->taps[d]; d--)
                tap[d] = 0;
        }
    }
}

enum adaps_status ad_whole_run_conv_integer(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0], *w = &call->in[1];
    const int64_t *ints = call->op->ints;
    int spatial = x->rank - 2;
    struct maps m = {spatial,  x->dims + 2,        call->out->dims + 2,   w->dims + 2,
                     ints + 1, ints + 1 + spatial, ints + 1 + 2 * spatial};
    int64_t channels = w->dims[1], filters = w->dims[0] / ints[0];
    int64_t map = product_of(m.in, spatial), made = product_of(m.out, spatial);
    int64_t taps = channels * product_of(m.taps, spatial);
    if (taps == 0 || ad_array_elements(x) == 0) {
        memset(call->out->data, 0, (size_t)ad_array_elements(call->out) * sizeof(int32_t));
        return ADAPS_OK;
    }
    if (ad_whole_conv_able(call))
        return ad_whole_conv_run(call);
    int16_t *in = without_zeros(call, 0, map, 1);
    int16_t *weights = in ? without_zeros(call, 1, taps, w->dims[0]) : NULL;
    for (int64_t n = 0; n < x->dims[0] && weights; n++)
        for (int64_t f = 0; f < w->dims[0]; f++)
            add_filter(&m, channels, weights + f * taps,
                       in + (n * x->dims[1] + f / filters * channels) * map,
                       (int32_t *)call->out->data + (n * w->dims[0] + f) * made);
    ad_free(in);
    ad_free(weights);
    return weights ? ADAPS_OK : ADAPS_EINTERNAL;
}
