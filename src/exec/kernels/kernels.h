/* Our own kernels: everything that is not a product of matrices. They work on strided operands (any
 * part of any buffer, without packing), and each output element is the result of the same
 * operations in the same order wherever its tile begins or ends: no contraction, and vector
 * remainders go through the same arithmetic. Denormals count as zero, as in XNNPACK. Strides are in
 * elements. */
#ifndef AD_EXEC_KERNELS_KERNELS_H
#define AD_EXEC_KERNELS_KERNELS_H

#include "exec/kernels/xnn.h"

/* A part of a buffer: n x h x w x c elements, channels adjacent. Elements are floats or, of
 * quantised values, bytes; then only copies read it, and what exec/kernels/q8.h has. */
struct ad_view {
    float *data;
    int64_t n, h, w, c;
    int64_t sn, sh, sw;
    bool bytes;
};

/* So many elements on. */
static inline float *ad_element_at(const float *data, bool bytes, int64_t elements)
{
    return (float *)(uintptr_t)((const char *)data + elements * (bytes ? 1 : 4));
}
static inline float *ad_view_at(const struct ad_view *view, int64_t elements)
{
    return ad_element_at(view->data, view->bytes, elements);
}

/* At least so many units of work, so that all threads end at about the same time. */
#define AD_UNITS_PER_THREAD 4

/* Calls run(self, image, y, x0, x1) for all pixels of `view`, on the threads of the pool: columns
 * [x0, x1) of a row of an image, all of them where there are rows enough for every thread. */
typedef void ad_strip_function(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1);
void ad_strips_run(const struct ad_view *view, ad_strip_function *run, const void *self,
                   struct pthreadpool *pool);

/* --- elementwise, strided copies --- */

enum ad_elementwise_kind {
    AD_ELEMENTWISE_COPY,
    AD_ELEMENTWISE_CLAMP, /* of a; may be in place, as the functions may */
    AD_ELEMENTWISE_ADD,   /* clamp(a + b) */
    AD_ELEMENTWISE_SUB,
    AD_ELEMENTWISE_MUL,
    AD_ELEMENTWISE_DIV,
    AD_ELEMENTWISE_MIN,
    AD_ELEMENTWISE_MAX,
    AD_ELEMENTWISE_POW,
    AD_ELEMENTWISE_PRELU,
    AD_ELEMENTWISE_LEAKY_RELU, /* clamp(function(a)), see enum ad_function */
    AD_ELEMENTWISE_SIGMOID,
    AD_ELEMENTWISE_SILU,
    AD_ELEMENTWISE_HARD_SIGMOID,
    AD_ELEMENTWISE_HARD_SWISH,
    AD_ELEMENTWISE_FUNCTION, /* any of those in exec/kernels/functions_tile.h */
    AD_ELEMENTWISE_COUNT
};

static inline bool ad_elementwise_is_binary(enum ad_elementwise_kind kind)
{
    return kind >= AD_ELEMENTWISE_ADD && kind <= AD_ELEMENTWISE_PRELU;
}

/* The unary kind that computes a function and the clamp after it. */
enum ad_elementwise_kind ad_elementwise_kind_of(enum ad_function function);

/* What becomes of what an operator has computed: clamp(function(x)), a unary kind. COPY: nothing.
 */
struct ad_activation {
    enum ad_elementwise_kind kind;
    enum ad_function function; /* of AD_ELEMENTWISE_FUNCTION */
    float alpha, beta, clamp_min, clamp_max;
};

#define AD_ND_RANK AD_MAX_RANK

/* A loop nest over an output and its operands; innermost dimension last. Stride 0 of an operand
 * repeats it. Clamping keeps NaN, and keeps -0 at a bound of 0. */
struct ad_elementwise {
    enum ad_elementwise_kind kind;
    int rank;
    int64_t count[AD_ND_RANK];
    int64_t stride[3][AD_ND_RANK]; /* of out, a, b */
    float *out;
    const float *a, *b; /* b for binary kinds only */
    bool bytes;         /* COPY only: elements are bytes */
    float clamp_min, clamp_max;
    enum ad_function function; /* of AD_ELEMENTWISE_FUNCTION */
    float alpha, beta;         /* of the functions */
};

/* Element by element over the shape of `out`; an operand's dimension of 1 is repeated. `b` is NULL
 * for all but the binary kinds. */
struct ad_elementwise ad_elementwise_views(enum ad_elementwise_kind kind, const struct ad_view *out,
                                           const struct ad_view *a, const struct ad_view *b);

/* Drops dimensions of 1 and merges those that every operand has adjacent. The nest is right without
 * this, only slower. */
void ad_elementwise_simplify(struct ad_elementwise *e);
void ad_elementwise_run(const struct ad_elementwise *e, struct pthreadpool *pool);

/* Between ONNX order (NCHW, dense) and NHWC memory; both directions are copies. */
struct ad_elementwise ad_elementwise_from_nchw(const struct ad_view *out, const float *nchw);
struct ad_elementwise ad_elementwise_to_nchw(float *nchw, const struct ad_view *in);

/* out dim i = view dim perm[i]; both dense. Without `merge` all dimensions are kept, for a caller
 * who gives some of them other strides. */
struct ad_elementwise ad_elementwise_permute(float *out, const float *in, int rank,
                                             const int64_t *view_dims, const int32_t *perm,
                                             bool merge);

/* --- pooling --- */

/* Max or average over windows. `out` views rows [h0, ...) and columns [w0, ...) of the result; `in`
 * views rows [in_h0, ...) and columns [in_w0, ...) of the input, of which at least what the windows
 * read must be there. size_h, size_w: the whole input. Every window reads some input. Averages are
 * over what lies in the input, or with count_include_pad in the declared padding too (window.pt,
 * pl, real_pb, real_pr). */
struct ad_pooling {
    bool average, count_include_pad;
    struct ad_window window;
    struct ad_view in, out;
    int64_t in_h0, in_w0, h0, w0;
    int64_t size_h, size_w;
    float clamp_min, clamp_max;
};
void ad_pooling_run(const struct ad_pooling *p, struct pthreadpool *pool);

/* --- local response normalisation across channels --- */

/* ONNX LRN: out = x / (bias + alpha / size * sum)^beta, where the sum is over the squares of
 * channels c - floor((size-1)/2) .. c + ceil((size-1)/2) within the value, in this order. `out`
 * views channels [c0, ...), `in` channels [in_c0, ...) of `channels`. */
struct ad_lrn {
    struct ad_view in, out;
    int64_t in_c0, c0, channels;
    int32_t size;
    float alpha, beta, bias;
};
void ad_lrn_run(const struct ad_lrn *l, struct pthreadpool *pool);

#endif
