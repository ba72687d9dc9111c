/* What the kernels of operators that run whole share. Private to whole*.c. */
#ifndef AD_EXEC_KERNELS_WHOLE_INTERNAL_H
#define AD_EXEC_KERNELS_WHOLE_INTERNAL_H

#include "base/mem.h"
#include "exec/kernels/whole.h"

#include <math.h>
#include <string.h>

/* Loops in vectors, also where their length is not known. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* One run. Type and dims of the result have been inferred and checked, and there is room for it;
 * but of kinds with a length of their own the dims are the most, and the kernel checks the room. */
struct ad_whole_call {
    const struct ad_whole *op;
    const struct ad_array *in;
    int n;
    int64_t room;
    struct ad_array *out;
    struct adaps_error *err;
};

typedef enum adaps_status ad_whole_kernel(const struct ad_whole_call *call);

/* Of NaNs there is one kind: processors make different ones. */
static inline float ad_one_nan(float x)
{
    return x == x ? x : NAN;
}

/* As a cast of ONNX Runtime on x86-64. */
static inline int64_t ad_int64_of(float x)
{
    return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN;
}

static inline int32_t ad_int32_of(float x)
{
    return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN;
}

/* Integers wrap around; to be used with the unsigned type of the same size. */
#define AD_WRAP_ADD(T, U, a, b) ((T)((U)(a) + (U)(b)))
#define AD_WRAP_SUB(T, U, a, b) ((T)((U)(a) - (U)(b)))
#define AD_WRAP_MUL(T, U, a, b) ((T)((U)(a) * (U)(b)))

/* The least and the greatest of two floats: NaN if one is, the first of equal ones. */
static inline float ad_least(float a, float b)
{
    return ad_one_nan(b < a || b != b ? b : a);
}

static inline float ad_greatest(float a, float b)
{
    return ad_one_nan(b > a || b != b ? b : a);
}

/* Around an axis: elements before it, along it, after it. */
struct ad_around {
    int64_t outer, n, inner;
};
struct ad_around ad_around_axis(const struct ad_array *array, int axis);

/* The index that stands at `i` of an array of int32 or int64, counted from the end if negative;
 * -1 when it is outside of a dimension of n. */
int64_t ad_index_at(const struct ad_array *indices, int64_t i, int64_t n);

/* ADAPS_EINPUT, for the index at `i`. */
enum adaps_status ad_index_fail(const struct ad_whole_call *call, const struct ad_array *indices,
                                int64_t i, int64_t n);

/* Sets the first dim of a result whose length has been found, or another one. ADAPS_EINTERNAL when
 * there is no room. */
AD_MUST_CHECK enum adaps_status ad_whole_set_length(const struct ad_whole_call *call, int d,
                                                    int64_t length);

/* Copies of elements of some bytes (1, 4 or 8): a loop nest, innermost dimension last, strides in
 * elements. */
#define AD_COPY_RANK (2 * AD_MAX_RANK)
struct ad_copy_nest {
    size_t bytes;
    int rank;
    int64_t count[AD_COPY_RANK], to[AD_COPY_RANK], from[AD_COPY_RANK];
};
void ad_copy_nest_add(struct ad_copy_nest *nest, int64_t count, int64_t to, int64_t from);
void ad_copy_nest_run(const struct ad_copy_nest *nest, void *out, const void *in);

/* Numbers in an order: of equal keys the lower index first. */
struct ad_ranked {
    uint64_t key;
    int64_t index;
};

/* The key of element i of a number type: greater numbers have greater keys, -0 that of 0, NaN the
 * greatest. */
uint64_t ad_rank_key(const struct ad_array *array, int64_t i);

static inline bool ad_ranked_before(const struct ad_ranked *a, const struct ad_ranked *b)
{
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

/* A heap whose last element in the order, or first, is on top. */
void ad_heap_sink(struct ad_ranked *heap, int64_t n, int64_t at, bool first_on_top);
void ad_heap_make(struct ad_ranked *heap, int64_t n, bool first_on_top);

/* Sorts a heap that was made with the last on top, in place. */
void ad_heap_sort(struct ad_ranked *heap, int64_t n);

/* whole_elementwise.c, whole_unary.c */
ad_whole_kernel ad_whole_run_binary, ad_whole_run_extremes, ad_whole_run_pow, ad_whole_run_where,
    ad_whole_run_cast, ad_whole_run_unary, ad_whole_run_clip, ad_whole_run_function;

/* whole_movement.c */
ad_whole_kernel ad_whole_run_copy, ad_whole_run_transpose, ad_whole_run_concat, ad_whole_run_slice,
    ad_whole_run_tile, ad_whole_run_expand, ad_whole_run_pad, ad_whole_run_trilu,
    ad_whole_run_reverse_sequence;

/* whole_gather.c */
ad_whole_kernel ad_whole_run_gather, ad_whole_run_gather_elements, ad_whole_run_gather_nd,
    ad_whole_run_scatter_nd, ad_whole_run_scatter_elements;

/* whole_axis.c, whole_reduce.c */
ad_whole_kernel ad_whole_run_arg, ad_whole_run_topk, ad_whole_run_cum_sum, ad_whole_run_reduce,
    ad_whole_run_softmax, ad_whole_run_one_hot, ad_whole_run_shape, ad_whole_run_size;

/* whole_open.c, whole_nms.c */
ad_whole_kernel ad_whole_run_non_zero, ad_whole_run_nms, ad_whole_run_compress, ad_whole_run_unique,
    ad_whole_run_range;

/* whole_quantised.c, whole_product.c */
ad_whole_kernel ad_whole_run_quantize, ad_whole_run_dequantize, ad_whole_run_dynamic,
    ad_whole_run_matmul, ad_whole_run_matmul_integer, ad_whole_run_conv_integer;

/* whole_conv.c: whether the kernels of bytes can compute a ConvInteger: of maps whose sums fit an
 * int32; and that. */
bool ad_whole_conv_able(const struct ad_whole_call *call);
ad_whole_kernel ad_whole_conv_run;

#endif
