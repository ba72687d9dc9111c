/* The typed graph: what remains of an ONNX model after import and simplification.
 *
 * Ops are in topological order; every value has one producer (an op, a graph input, or a constant).
 * Batch normalisation, identities, dropout and constants are gone; activations are fused: a
 * function, and a clamp after it.
 *
 * Every value has its ONNX dims and a physical box n x h x w x c, in which it lies in memory:
 *
 *   AD_NHWC   rank 4 only; ONNX N,C,H,W; memory order n,h,w,c. May be split over h, w, c.
 *
 *   AD_PLAIN  any rank; memory is ONNX row-major; the box is n=1,h=1,w=1,c=elements, except rank
 *             2, where n = dims[0], c = dims[1] (so N x C features may be split over c).
 *
 * In both cases n*h*w*c is the number of elements.
 *
 * Float values take 4 bytes an element. Quantised ones (ir/quantised.h) are of type int8 or uint8,
 * take a byte an element, and stand for (x - zero) * scale; they are split as floats are. So are
 * sums of their products, of type int32, which are quantised values of 4 bytes.
 *
 * Other values of other types than float32, and those that are open (ir/whole.h), are AD_PLAIN,
 * never split, and read and made by WHOLE ops only. They lie in words of 4 bytes, as many as their
 * box (n=1,h=1,w=1,c) says: the elements one after the other, zeros up to a whole word; of an open
 * value the true dims follow, int64 each, from the next even word after the room for the most
 * elements. So buffers, messages and weights count words of 4 bytes, whatever is in them. */
#ifndef AD_IR_GRAPH_H
#define AD_IR_GRAPH_H

#include "base/digest.h"
#include "base/mem.h"
#include "ir/whole.h"

#include <math.h>

enum ad_op_kind {
    AD_OP_CONV,    /* NHWC -> NHWC; window, groups, weight, bias?, clamp */
    AD_OP_MAXPOOL, /* NHWC -> NHWC; window, clamp; padding never wins */
    AD_OP_AVGPOOL, /* NHWC -> NHWC; window (no dilation), count_include_pad, clamp */
    AD_OP_GAP,     /* NHWC -> NHWC with h = w = 1: mean over h, w */
    AD_OP_FC,      /* box n x (h*w*c) -> n x out; weight rows follow the input's memory order */
    AD_OP_ADD,     /* two inputs; see broadcasting below; clamp */
    AD_OP_MUL,     /* likewise */
    AD_OP_UNARY,   /* elementwise, any format: the activation alone */
    AD_OP_CONCAT,  /* 1..n inputs. NHWC: along c. PLAIN: outer x len_i -> outer x sum(len_i) */
    AD_OP_SOFTMAX, /* NHWC: over c at each n,h,w. PLAIN: over the last `inner` elements, by row */
    AD_OP_LRN,     /* NHWC -> NHWC, across channels, ONNX LRN */
    AD_OP_PERMUTE, /* out dim i (of view_rank dims) = in dim perm[i]; memory order of view_dims */
    AD_OP_RESHAPE, /* the same elements in the same memory order, another box */
    AD_OP_SUB,     /* like ADD */
    AD_OP_DIV,
    AD_OP_SPACE_TO_DEPTH, /* NHWC -> NHWC, blocks of pixels become channels; see below */
    AD_OP_MIN,            /* like ADD; these four and ADD, SUB, MUL, DIV are the binary ops */
    AD_OP_MAX,
    AD_OP_POW,            /* a^b */
    AD_OP_PRELU,          /* a < 0 ? a * b : a */
    AD_OP_RESAMPLE,       /* NHWC -> NHWC: slices, padding, resizing; see struct ad_resampling */
    AD_OP_DEPTH_TO_SPACE, /* NHWC -> NHWC, channels become blocks of pixels; see below */
    AD_OP_REDUCE, /* NHWC: over c at each n,h,w. PLAIN: `outer` rows of `inner` elements to one each
                   */
    AD_OP_MATMUL, /* PLAIN, two inputs: products of `outer` pairs of matrices, rows x inner by inner
                     x columns, the last two dims of the result; an input may be one matrix, for all
                   */
    AD_OP_FOLD,  /* NHWC -> NHWC: adds neighbouring blocks of `inner` channels: channel k of block b
                    is the sum of channels k of the input's blocks 2 b and 2 b + 1. Of sums of
                    quantised values the last one (with a weight: what the layer's output channels
                    have beside their weights) makes bytes or floats */
    AD_OP_WHOLE, /* any number of PLAIN values of any type -> a PLAIN one: `whole` says what */
    AD_OP_COUNT
};

/* What an activation does to x before its clamp; s stands for clamp(alpha * x + beta, 0, 1). */
enum ad_function {
    AD_FN_NONE,         /* x: the clamp alone */
    AD_FN_LEAKY_RELU,   /* x < 0 ? alpha * x : x */
    AD_FN_SIGMOID,      /* 1 / (1 + e^-x) */
    AD_FN_SILU,         /* x / (1 + e^-x) */
    AD_FN_HARD_SIGMOID, /* s */
    AD_FN_HARD_SWISH,   /* x * s */
    AD_FN_ELU,          /* beta * (x < 0 ? alpha * (e^x - 1) : x); Selu too */
    AD_FN_CELU,         /* x < 0 ? alpha * (e^(x / alpha) - 1) : x */
    AD_FN_SOFTPLUS,     /* ln(1 + e^x) */
    AD_FN_SOFTSIGN,     /* x / (1 + |x|) */
    AD_FN_MISH,         /* x * tanh(ln(1 + e^x)) */
    AD_FN_GELU,         /* x / 2 * (1 + erf(x / sqrt(2))) */
    AD_FN_GELU_TANH,    /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */
    AD_FN_TANH,
    AD_FN_ERF,
    AD_FN_EXP,
    AD_FN_LOG,
    AD_FN_SQRT,
    AD_FN_ABS,
    AD_FN_NEG,
    AD_FN_RECIPROCAL,
    AD_FN_THRESHOLDED_RELU, /* x > alpha ? x : 0 */
    AD_FN_FLOOR,
    AD_FN_CEIL,
    AD_FN_COUNT
};

/* Sliding window. Pads are in input elements; pb/pr already hold what ceil_mode and auto_pad add,
 * so that out = (in + pads - dilation*(k-1) - 1) / stride + 1 exactly by floor division. For
 * average pooling with ceil_mode the window may reach past the declared padding: real_pb/real_pr
 * are the pads of the file (they count under count_include_pad, the excess does not). Conv: real_*
 * = p*. */
struct ad_window {
    int32_t kh, kw, sh, sw, dh, dw;
    int32_t pt, pl, pb, pr;
    int32_t real_pb, real_pr;
};

enum ad_reduction {
    AD_REDUCE_SUM,
    AD_REDUCE_MEAN,
    AD_REDUCE_MAX,
    AD_REDUCE_MIN,
    AD_REDUCE_PRODUCT,
    AD_REDUCE_COUNT
};

/* RESAMPLE: along h, w and c (in this order) output i stands at (step * i + start) / unit of the
 * input. LINEAR and CUBIC mix the 2 or 4 elements around it, the others take one. Outside of the
 * input there is `fill` (FILL), the element at the edge (REPEAT; always with LINEAR and CUBIC,
 * which leave channels in place), or the element as far inside the edge as this one is outside
 * (REFLECT, at most size - 1). */
enum ad_method {
    AD_METHOD_FLOOR,
    AD_METHOD_CEIL,
    AD_METHOD_ROUND_DOWN, /* the nearer one, of equally near ones the lower */
    AD_METHOD_ROUND_UP,
    AD_METHOD_LINEAR,
    AD_METHOD_CUBIC, /* Keys, with coefficient `cubic` */
    AD_METHOD_COUNT
};
enum ad_edge { AD_EDGE_FILL, AD_EDGE_REPEAT, AD_EDGE_REFLECT, AD_EDGE_COUNT };
struct ad_positions {
    int64_t step, start, unit; /* unit > 0 */
};
struct ad_resampling {
    enum ad_method method;
    enum ad_edge edge;
    struct ad_positions axis[3];
    float fill, cubic;
    bool exclude_outside; /* CUBIC: elements outside have no weight, the others all of it */
};

enum ad_format { AD_NHWC, AD_PLAIN };

struct ad_box {
    int64_t n, h, w, c;
};

struct ad_value {
    const char *name; /* the ONNX value's name */
    int rank;
    int64_t dims[AD_MAX_RANK]; /* ONNX order */
    enum ad_format format;
    enum adaps_type type;
    bool open;    /* dims are the most that they may be; only a run knows the true ones */
    float scale;  /* of a quantised value, > 0; 0: it is none */
    int32_t zero; /* likewise: what stands for 0, one of its type's numbers */
    struct ad_box box;
    int producer; /* op index; -1 for graph inputs and constants */
    int constant; /* index of the weight that holds it in memory order; -1 when computed or fed */
};

struct ad_recipe;

/* A parameter tensor. Its leading dimension `rows` is the output channel (feature) that a device
 * may hold a slice of: rows [r0,r1) are contiguous. Convolution: O x kh x kw x I/groups (OHWI, also
 * depthwise). FC: out x in. Bias: out. Constant operands of elementwise ops: rows = 1.
 *
 * Its numbers are in data, or made from the model's file by recipe, or not there (both NULL: a plan
 * was loaded, or they were dropped). The weight owns both; moving them to another weight is
 * ad_weight_move(), reading them ad_weight_read() (ir/weight.h). */
struct ad_weight {
    const char *name;
    int64_t rows, row_elements;
    float *data; /* rows * row_elements floats */
    struct ad_recipe *recipe;
    struct ad_digest digest; /* of the bytes of all rows */
};

struct ad_op {
    enum ad_op_kind kind;
    const char *name; /* ONNX node name ("" allowed in files; then "OpType_index") */
    const char *type; /* the ONNX operator it came from, "Conv+Relu" after fusion */
    int ninputs;
    int *inputs;      /* value indices; elementwise and concat may have constants among them */
    const int *nodes; /* where the import was asked for them: the nodes of the file that it came
                         from, by index, the one that it is named after first; none of an op that
                         only changes the format of a value. NULL in other graphs */
    int nnodes;
    int output;
    int weight, bias; /* weight indices, -1 for none */
    struct ad_window window;
    int32_t winograd; /* CONV: m of Winograd's F(m x m, 3 x 3) (ir/winograd.h), by which all devices
                         compute it; 0: directly */
    int32_t groups;
    int32_t partial; /* CONV: its groups are so many blocks of input channels, of which FOLDs add
                        the results (ir/partial.h); 0: they are none */
    bool count_include_pad;
    enum ad_function function;  /* fused activation, of any kind of op, */
    float alpha, beta;          /* its parameters, 0 when it has none, */
    float clamp_min, clamp_max; /* and the limits after it; -INFINITY, INFINITY when none */
    int32_t lrn_size;
    float lrn_alpha, lrn_beta, lrn_bias;
    int64_t outer, inner; /* CONCAT, SOFTMAX and REDUCE on PLAIN values; MATMUL; FOLD: inner */
    int64_t aliased;      /* CONCAT: channels of the output whose inputs lie in it from the start,
                            and are not copied (ad_alias_mark()); follows from the graph */
    enum ad_reduction reduction;
    int view_rank; /* PERMUTE: the input's elements seen as view_dims, in memory order */
    int64_t view_dims[AD_MAX_RANK];
    int32_t perm[AD_MAX_RANK];
    int32_t block; /* SPACE_TO_DEPTH: 1..AD_MAX_BLOCK, divides height and width */
    bool channel_major;
    struct ad_resampling resampling;
    struct ad_whole whole; /* WHOLE; its arrays belong to the graph's arena */
};

/* SPACE_TO_DEPTH: output h, w, channel k is input h * block + i, w * block + j, c, where k counts
 * (i * block + j) * channels + c, as the ONNX operator does, or with channel_major
 * (c * block + i) * block + j, as Torch's pixel_unshuffle. */
#define AD_MAX_BLOCK 64

/* DEPTH_TO_SPACE is the way back, with blocks of window.sh x window.sw pixels: input h, w, channel
 * k goes to output h * sh + i - pt, w * sw + j - pl, c, where k counts (i * sw + j) * channels + c,
 * or with channel_major (c * sh + i) * sw + j. What falls outside of the output is cropped. */

/* Broadcasting of binary ops: when both operands and the result are AD_NHWC, each dimension
 * of an operand's box equals the result's or is 1. Otherwise all three are AD_PLAIN and the ONNX
 * dims (<= 6 after merging) broadcast numpy-style from the right. */

struct ad_graph {
    struct ad_arena arena; /* owns names, arrays and ops; not the weights' numbers */
    const char *name;
    struct ad_op *ops;
    int nops;
    struct ad_value *values;
    int nvalues;
    struct ad_weight *weights;
    int nweights;
    int *inputs, ninputs; /* value indices of the network's inputs (fed at run time) */
    int *outputs, noutputs;
    /* metadata_props of the ONNX file, as pairs key, value; NULL-terminated array of 2n entries */
    const char **metadata;
};

/* Frees everything, the weights' numbers too. NULL is fine. */
void ad_graph_free(struct ad_graph *graph);

/* Deep copy without the weights' numbers. */
AD_MUST_CHECK enum adaps_status ad_graph_copy(const struct ad_graph *graph, struct ad_graph **out,
                                              struct adaps_error *err);

/* Frees only the weights' numbers, and lets go of the model's file. */
void ad_graph_drop_weights(struct ad_graph *graph);

/* Whether it is what all kinds of ops read and make: float32 of known dims. */
static inline bool ad_value_is_float(const struct ad_value *value)
{
    return value->type == ADAPS_FLOAT32 && !value->open;
}

static inline bool ad_value_is_quantised(const struct ad_value *value)
{
    return value->scale > 0;
}

/* Whether its box counts its elements, so that it may be split; else the box counts words. */
static inline bool ad_value_is_dense(const struct ad_value *value)
{
    return ad_value_is_float(value) || ad_value_is_quantised(value);
}

/* Whether it is sums of products of quantised values, which FOLDs add (ir/partial.h). */
static inline bool ad_value_is_sums(const struct ad_value *value)
{
    return ad_value_is_quantised(value) && value->type == ADAPS_INT32;
}

/* Bytes of each of what its box counts. */
static inline int64_t ad_value_unit(const struct ad_value *value)
{
    return ad_value_is_quantised(value) && !ad_value_is_sums(value) ? 1 : 4;
}

/* The box of a value of this type, scale and these dims, each >= 1. Rank 4 in AD_NHWC. The box in
 * the value given is not read. */
struct ad_box ad_box_of(const struct ad_value *value);

/* The word at which the true dims of an open value begin. */
int64_t ad_value_dims_word(const struct ad_value *value);

/* A value's type and dims, without data. */
struct ad_array ad_value_array(const struct ad_value *value);

static inline int64_t ad_box_elements(struct ad_box box)
{
    return box.n * box.h * box.w * box.c;
}

/* Bytes of a whole value. */
static inline int64_t ad_value_bytes(const struct ad_value *value)
{
    return ad_value_unit(value) * ad_box_elements(value->box);
}

/* The words of n values together, such as all inputs. */
static inline int64_t ad_values_elements(const struct ad_graph *graph, const int *values, int n)
{
    int64_t elements = 0;
    for (int i = 0; i < n; i++)
        elements += ad_box_elements(graph->values[values[i]].box);
    return elements;
}

static inline bool ad_same_box(const struct ad_value *a, const struct ad_value *b)
{
    return a->box.n == b->box.n && a->box.h == b->box.h && a->box.w == b->box.w &&
           a->box.c == b->box.c;
}

static inline bool ad_same_shape(const struct ad_value *a, const struct ad_value *b)
{
    return a->format == b->format && ad_same_box(a, b);
}

/* Whether the op has neither a function nor clamps. */
static inline bool ad_op_is_bare(const struct ad_op *op)
{
    return op->function == AD_FN_NONE && op->clamp_min == -INFINITY && op->clamp_max == INFINITY;
}

/* About how many operations a WHOLE op takes (ad_whole_work()). */
double ad_op_work(const struct ad_graph *graph, const struct ad_op *op);

/* "LeakyRelu", "HardSwish", ...; "" for AD_FN_NONE. */
const char *ad_function_name(enum ad_function function);

/* The value of a metadata key, or NULL. */
const char *ad_graph_metadata(const struct ad_graph *graph, const char *key);

/* Checks every invariant stated above (indices, order, one producer, boxes, windows, weight sizes,
 * broadcasts, groups): used after import and after loading a plan from a stranger. With
 * `with_data`, all weights must have their numbers. ADAPS_EINPUT names op and rule. All sizes stay
 * below 2^31 elements per value and 2^31 bytes*4 per weight. */
AD_MUST_CHECK enum adaps_status ad_graph_verify(const struct ad_graph *graph, bool with_data,
                                                struct adaps_error *err);

/* Whether the network gives it out. */
static inline bool ad_value_is_output(const struct ad_graph *graph, int value)
{
    for (int i = 0; i < graph->noutputs; i++)
        if (graph->outputs[i] == value)
            return true;
    return false;
}

#endif
