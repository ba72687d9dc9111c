/* The table of kernels of operators that run whole, and what these share. */
#include "exec/kernels/whole.h"
#include "exec/kernels/whole_internal.h"

#include <inttypes.h>

static ad_whole_kernel *const kernels[AD_WHOLE_COUNT] = {
    [AD_WHOLE_CAST] = ad_whole_run_cast,
    [AD_WHOLE_ADD] = ad_whole_run_binary,
    [AD_WHOLE_SUB] = ad_whole_run_binary,
    [AD_WHOLE_MUL] = ad_whole_run_binary,
    [AD_WHOLE_DIV] = ad_whole_run_binary,
    [AD_WHOLE_MOD] = ad_whole_run_binary,
    [AD_WHOLE_POW] = ad_whole_run_pow,
    [AD_WHOLE_MIN] = ad_whole_run_extremes,
    [AD_WHOLE_MAX] = ad_whole_run_extremes,
    [AD_WHOLE_EQUAL] = ad_whole_run_binary,
    [AD_WHOLE_LESS] = ad_whole_run_binary,
    [AD_WHOLE_LESS_EQUAL] = ad_whole_run_binary,
    [AD_WHOLE_GREATER] = ad_whole_run_binary,
    [AD_WHOLE_GREATER_EQUAL] = ad_whole_run_binary,
    [AD_WHOLE_AND] = ad_whole_run_binary,
    [AD_WHOLE_OR] = ad_whole_run_binary,
    [AD_WHOLE_XOR] = ad_whole_run_binary,
    [AD_WHOLE_NOT] = ad_whole_run_unary,
    [AD_WHOLE_BITWISE] = ad_whole_run_binary,
    [AD_WHOLE_IS_NAN] = ad_whole_run_unary,
    [AD_WHOLE_IS_INF] = ad_whole_run_unary,
    [AD_WHOLE_WHERE] = ad_whole_run_where,
    [AD_WHOLE_ABS] = ad_whole_run_unary,
    [AD_WHOLE_NEG] = ad_whole_run_unary,
    [AD_WHOLE_SIGN] = ad_whole_run_unary,
    [AD_WHOLE_ROUND] = ad_whole_run_unary,
    [AD_WHOLE_CLIP] = ad_whole_run_clip,
    [AD_WHOLE_FUNCTION] = ad_whole_run_function,
    [AD_WHOLE_RESHAPE] = ad_whole_run_copy,
    [AD_WHOLE_UNSQUEEZE] = ad_whole_run_copy,
    [AD_WHOLE_SQUEEZE] = ad_whole_run_copy,
    [AD_WHOLE_FLATTEN] = ad_whole_run_copy,
    [AD_WHOLE_TRANSPOSE] = ad_whole_run_transpose,
    [AD_WHOLE_CONCAT] = ad_whole_run_concat,
    [AD_WHOLE_SLICE] = ad_whole_run_slice,
    [AD_WHOLE_GATHER] = ad_whole_run_gather,
    [AD_WHOLE_GATHER_ELEMENTS] = ad_whole_run_gather_elements,
    [AD_WHOLE_GATHER_ND] = ad_whole_run_gather_nd,
    [AD_WHOLE_SCATTER_ND] = ad_whole_run_scatter_nd,
    [AD_WHOLE_SCATTER_ELEMENTS] = ad_whole_run_scatter_elements,
    [AD_WHOLE_TILE] = ad_whole_run_tile,
    [AD_WHOLE_EXPAND] = ad_whole_run_expand,
    [AD_WHOLE_PAD] = ad_whole_run_pad,
    [AD_WHOLE_TRILU] = ad_whole_run_trilu,
    [AD_WHOLE_REVERSE_SEQUENCE] = ad_whole_run_reverse_sequence,
    [AD_WHOLE_ARG_MAX] = ad_whole_run_arg,
    [AD_WHOLE_ARG_MIN] = ad_whole_run_arg,
    [AD_WHOLE_TOPK_INDICES] = ad_whole_run_topk,
    [AD_WHOLE_CUM_SUM] = ad_whole_run_cum_sum,
    [AD_WHOLE_REDUCE] = ad_whole_run_reduce,
    [AD_WHOLE_SOFTMAX] = ad_whole_run_softmax,
    [AD_WHOLE_ONE_HOT] = ad_whole_run_one_hot,
    [AD_WHOLE_SHAPE] = ad_whole_run_shape,
    [AD_WHOLE_SIZE] = ad_whole_run_size,
    [AD_WHOLE_NON_ZERO] = ad_whole_run_non_zero,
    [AD_WHOLE_NMS] = ad_whole_run_nms,
    [AD_WHOLE_COMPRESS] = ad_whole_run_compress,
    [AD_WHOLE_UNIQUE] = ad_whole_run_unique,
    [AD_WHOLE_QUANTIZE] = ad_whole_run_quantize,
    [AD_WHOLE_DEQUANTIZE] = ad_whole_run_dequantize,
    [AD_WHOLE_DYNAMIC_SCALE] = ad_whole_run_dynamic,
    [AD_WHOLE_DYNAMIC_ZERO] = ad_whole_run_dynamic,
    [AD_WHOLE_MATMUL] = ad_whole_run_matmul,
    [AD_WHOLE_MATMUL_INTEGER] = ad_whole_run_matmul_integer,
    [AD_WHOLE_CONV_INTEGER] = ad_whole_run_conv_integer,
    [AD_WHOLE_RANGE] = ad_whole_run_range,
};

static enum adaps_status check_room(const struct ad_whole_call *call)
{
    int64_t elements = ad_array_elements(call->out);
    if (elements <= call->room)
        return ADAPS_OK;
    return ad_error_set(call->err, ADAPS_EINTERNAL, "%" PRId64 " elements, and room for %" PRId64,
                        elements, call->room);
}

/* The op with what the run has computed in the place of its attributes. Returns how many inputs are
 * left. */
static int resolve(const struct ad_whole *op, const struct ad_array *inputs, int ninputs,
                   int64_t *ints, struct ad_whole *out)
{
    int at, count, left = ninputs;
    *out = *op;
    for (int i = ninputs - 1; i > 0 && ad_whole_list(op, i, &at, &count); i--) {
        if (out->ints != ints && op->nints > 0)
            memcpy(ints, op->ints, (size_t)op->nints * sizeof *ints);
        if (count > 0)
            memcpy(ints + at, inputs[i].data, (size_t)count * sizeof *ints);
        out->ints = ints;
        left = i;
    }
    return left;
}

/* Whether the dims are within those of the attributes. */
static enum adaps_status check_most(const struct ad_array *result, const struct ad_array *most,
                                    struct adaps_error *err)
{
    char have[AD_MAX_RANK * 12], may[AD_MAX_RANK * 12];
    for (int d = 0; d < result->rank; d++)
        if (result->dims[d] > most->dims[d])
            return ad_error_set(err, ADAPS_EINPUT, "a result of %s, of at most %s",
                                ad_dims_format(result->rank, result->dims, have, sizeof have),
                                ad_dims_format(most->rank, most->dims, may, sizeof may));
    return ADAPS_OK;
}

enum adaps_status ad_whole_run(const struct ad_whole *op, const struct ad_array *inputs,
                               int ninputs, int64_t room, struct ad_array *out,
                               struct adaps_error *err)
{
    struct ad_array result = *out, most = *out;
    struct ad_whole resolved;
    int64_t ints[AD_WHOLE_MOST_INTS];
    enum adaps_status status = ad_whole_infer(op, inputs, ninputs, &most, err);
    if (status != ADAPS_OK)
        return status;
    int left = resolve(op, inputs, ninputs, ints, &resolved);
    status = ad_whole_infer(&resolved, inputs, left, &result, err);
    if (status == ADAPS_OK)
        status = check_most(&result, &most, err);
    struct ad_whole_call call = {&resolved, inputs, left, room, &result, err};
    if (status == ADAPS_OK && result.type != out->type)
        status = ad_error_set(err, ADAPS_EINTERNAL, "a result of %s, not %s",
                              ad_type_name(result.type), ad_type_name(out->type));
    if (status == ADAPS_OK && !result.open)
        status = check_room(&call);
    if (status == ADAPS_OK && (result.open || ad_array_elements(&result) > 0))
        status = kernels[op->kind](&call);
    result.open = false;
    if (status == ADAPS_OK)
        *out = result;
    return status;
}

/* --- what the kernels share --- */

struct ad_around ad_around_axis(const struct ad_array *array, int axis)
{
    struct ad_around around = {1, axis < array->rank ? array->dims[axis] : 1, 1};
    for (int d = 0; d < array->rank; d++)
        if (d != axis)
            *(d < axis ? &around.outer : &around.inner) *= array->dims[d];
    return around;
}

static int64_t stored_index(const struct ad_array *indices, int64_t i)
{
    return indices->type == ADAPS_INT32 ? ((const int32_t *)indices->data)[i]
                                        : ((const int64_t *)indices->data)[i];
}

int64_t ad_index_at(const struct ad_array *indices, int64_t i, int64_t n)
{
    int64_t index = stored_index(indices, i);
    index += index < 0 ? n : 0;
    return index >= 0 && index < n ? index : -1;
}

enum adaps_status ad_index_fail(const struct ad_whole_call *call, const struct ad_array *indices,
                                int64_t i, int64_t n)
{
    return ad_error_set(call->err, ADAPS_EINPUT,
                        "index %" PRId64 " is outside of a dimension of %" PRId64,
                        stored_index(indices, i), n);
}

enum adaps_status ad_whole_set_length(const struct ad_whole_call *call, int d, int64_t length)
{
    call->out->dims[d] = length;
    return check_room(call);
}

/* --- copies --- */

/* Adds a dimension inside of those that are there, or makes it one with the last. */
void ad_copy_nest_add(struct ad_copy_nest *nest, int64_t count, int64_t to, int64_t from)
{
    int last = nest->rank - 1;
    if (count == 1)
        return;
    if (last >= 0 && nest->to[last] == to * count && nest->from[last] == from * count) {
        nest->count[last] *= count;
        nest->to[last] = to;
        nest->from[last] = from;
        return;
    }
    nest->count[nest->rank] = count;
    nest->to[nest->rank] = to;
    nest->from[nest->rank++] = from;
}

#define TILE 32 /* of rows and columns, of which both fit the cache */

/* Two loops: over rows of which the elements lie `to` and `from` apart, `rows` of them. */
struct copy_plane {
    int64_t rows, row_to, row_from, n, to, from;
};

#define PLANE(T)                                                                                   \
    static void copy_plane_##T(const struct copy_plane *p, T *out, const T *in)                    \
    {                                                                                              \
        for (int64_t r0 = 0; r0 < p->rows; r0 += TILE)                                             \
            for (int64_t i0 = 0; i0 < p->n; i0 += TILE) {                                          \
                int64_t rows = p->rows - r0 < TILE ? p->rows : r0 + TILE;                          \
                int64_t n = p->n - i0 < TILE ? p->n : i0 + TILE;                                   \
                for (int64_t r = r0; r < rows; r++)                                                \
                    for (int64_t i = i0; i < n; i++)                                               \
                        out[r * p->row_to + i * p->to] = in[r * p->row_from + i * p->from];        \
            }                                                                                      \
    }
PLANE(uint8_t)
PLANE(uint32_t)
PLANE(uint64_t)

static void copy_plane(const struct copy_plane *p, size_t bytes, char *out, const char *in)
{
    if (p->to == 1 && p->from == 1) {
        for (int64_t r = 0; r < p->rows; r++)
            memcpy(out + r * p->row_to * (int64_t)bytes, in + r * p->row_from * (int64_t)bytes,
                   (size_t)p->n * bytes);
    } else if (bytes == 1) {
        copy_plane_uint8_t(p, (void *)out, (const void *)in);
    } else if (bytes == 4) {
        copy_plane_uint32_t(p, (void *)out, (const void *)in);
    } else {
        copy_plane_uint64_t(p, (void *)out, (const void *)in);
    }
}

void ad_copy_nest_run(const struct ad_copy_nest *nest, void *out, const void *in)
{
    int last = nest->rank - 1, row = last - 1;
    int64_t index[AD_COPY_RANK] = {0}, to = 0, from = 0, bytes = (int64_t)nest->bytes;
    struct copy_plane plane = {1, 0, 0, 1, 1, 1};
    for (int d = 0; d < nest->rank; d++)
        if (nest->count[d] == 0)
            return;
    if (last >= 0)
        plane = (struct copy_plane){1, 0, 0, nest->count[last], nest->to[last], nest->from[last]};
    for (int d = 0; d < row; d++) /* the one whose elements are adjacent in the input */
        if (nest->from[d] == 1)
            row = d;
    if (row >= 0) {
        plane.rows = nest->count[row];
        plane.row_to = nest->to[row];
        plane.row_from = nest->from[row];
    }
    for (;;) {
        copy_plane(&plane, nest->bytes, (char *)out + to * bytes, (const char *)in + from * bytes);
        int d = last - 1;
        for (; d >= 0; d--) { /* the next plane */
            if (d == row)
                continue;
            bool carry = ++index[d] == nest->count[d];
            to += nest->to[d] * (carry ? 1 - nest->count[d] : 1);
            from += nest->from[d] * (carry ? 1 - nest->count[d] : 1);
            if (!carry)
                break;
            index[d] = 0;
        }
        if (d < 0)
            return;
    }
}

/* --- order --- */

uint64_t ad_rank_key(const struct ad_array *array, int64_t i)
{
    const uint64_t sign = UINT64_C(1) << 63;
    switch (array->type) {
    case ADAPS_FLOAT32: {
        float x = ((const float *)array->data)[i];
        uint32_t bits;
        if (x != x)
            return UINT64_MAX;
        x = x == 0 ? 0 : x;
        memcpy(&bits, &x, sizeof bits);
        return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
    }
    case ADAPS_INT32:
        return (uint64_t)((const int32_t *)array->data)[i] ^ sign;
    case ADAPS_INT64:
        return (uint64_t)((const int64_t *)array->data)[i] ^ sign;
    case ADAPS_INT8:
        return (uint64_t)((const int8_t *)array->data)[i] ^ sign;
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        break;
    }
    return ((const uint8_t *)array->data)[i];
}

void ad_heap_sink(struct ad_ranked *heap, int64_t n, int64_t at, bool first_on_top)
{
    struct ad_ranked item = heap[at];
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && ad_ranked_before(&heap[child + 1], &heap[child]) == first_on_top)
            child++;
        if (ad_ranked_before(&heap[child], &item) != first_on_top)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

void ad_heap_make(struct ad_ranked *heap, int64_t n, bool first_on_top)
{
    for (int64_t at = n / 2 - 1; at >= 0; at--)
        ad_heap_sink(heap, n, at, first_on_top);
}

void ad_heap_sort(struct ad_ranked *heap, int64_t n)
{
    for (int64_t left = n - 1; left > 0; left--) {
        struct ad_ranked last = heap[0];
        heap[0] = heap[left];
        heap[left] = last;
        ad_heap_sink(heap, left, 0, false);
    }
}
