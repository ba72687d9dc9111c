/* Operators that run whole on one device: what stands at the end of a detector, and arithmetic of
 * integers and booleans. They work on dense arrays in ONNX order, of any of the element types.
 *
 * One table (whole.c) has a row per kind: its name, how many inputs it takes and which attributes.
 * The rule of its result's type and dims is here, for the import, for the verification of a plan,
 * and for the run itself; what computes it is in exec/kernels/whole.h.
 *
 * Some results have a length that only the run knows (NonZero, NonMaxSuppression): they are *open*.
 * Their dims in the graph are the most that they can be; a run finds the true ones. Whatever reads
 * an open value and keeps its dims is open, too.
 *
 * Where the run computes a shape, pads, repeats or limits, the result is open, and the attributes
 * in whose place these stand are the most that they may be (ad_whole_list()). */
#ifndef AD_IR_WHOLE_H
#define AD_IR_WHOLE_H

#include "base/tensor.h"

/* Names are ONNX', and so is what they compute, at opset 24 if nothing else is said. Attributes are
 * in `ints` and `floats`, in the order given here; what ONNX gives as an input that has to be
 * constant (axes, a shape, K) is an attribute, too. An input named x? may be left out if all after
 * it are left out. "LIST*" is one that stands for attributes, where a run computes them: int64, of
 * rank 1, as many as the attributes; it may be left out likewise. "any": all element types. */
enum ad_whole_kind {
    /* elementwise, numpy's broadcasting */
    AD_WHOLE_CAST,  /* x any -> `to`. Floats to integers: towards 0, out of range and NaN as
                       ONNX Runtime does on x86-64 (the lowest int64; else the lowest int32, then
                       cut); to bool: x != 0 */
    AD_WHOLE_ADD,   /* a, b: float32, int32, int64, uint8, int8; integers wrap around */
    AD_WHOLE_SUB,   /* likewise */
    AD_WHOLE_MUL,   /* likewise */
    AD_WHOLE_DIV,   /* likewise; integers towards 0; x / 0 is 0 and the lowest / -1 is itself */
    AD_WHOLE_MOD,   /* ints: fmod (0 or 1). Sign of the divisor, or with fmod of the dividend */
    AD_WHOLE_POW,   /* a float32: its type; a integer and b integer or float: a's type */
    AD_WHOLE_MIN,   /* 1..n inputs of one type; NaN when one is */
    AD_WHOLE_MAX,   /* likewise */
    AD_WHOLE_EQUAL, /* a, b any -> bool; NaN equals nothing */
    AD_WHOLE_LESS,  /* likewise */
    AD_WHOLE_LESS_EQUAL, /* ONNX' LessOrEqual */
    AD_WHOLE_GREATER,
    AD_WHOLE_GREATER_EQUAL,
    AD_WHOLE_AND, /* bool, bool -> bool */
    AD_WHOLE_OR,
    AD_WHOLE_XOR,
    AD_WHOLE_NOT,      /* bool -> bool */
    AD_WHOLE_BITWISE,  /* ints: 0 and, 1 or, 2 xor; integers of one type */
    AD_WHOLE_IS_NAN,   /* float32 -> bool */
    AD_WHOLE_IS_INF,   /* float32 -> bool; ints: detect_negative, detect_positive */
    AD_WHOLE_WHERE,    /* bool, a any, b of a's type */
    AD_WHOLE_ABS,      /* float32 and integers */
    AD_WHOLE_NEG,      /* likewise */
    AD_WHOLE_SIGN,     /* likewise */
    AD_WHOLE_ROUND,    /* float32: half to even */
    AD_WHOLE_CLIP,     /* x of any number type, min?, max? of its type; an empty (rank 1, dims 0)
                          min stands for none */
    AD_WHOLE_FUNCTION, /* float32; ints: enum ad_function (ir/graph.h); floats: alpha, beta, clamp
                          minimum and maximum: as AD_OP_UNARY computes it */
    /* the same elements elsewhere; any */
    AD_WHOLE_RESHAPE,   /* x, shape*; ints: the new dims, of which one may be -1 and 0 copies the
                           input's; the most that they may be are all the dims themselves */
    AD_WHOLE_UNSQUEEZE, /* ints: axes, >= 0, ascending, of the result */
    AD_WHOLE_SQUEEZE,   /* ints: axes, >= 0, ascending; none: all dims of 1 (closed inputs only) */
    AD_WHOLE_FLATTEN,   /* ints: axis, 0..rank */
    AD_WHOLE_TRANSPOSE, /* ints: perm */
    AD_WHOLE_CONCAT,    /* 1..n inputs of one type; ints: axis >= 0 */
    AD_WHOLE_SLICE,     /* x, starts*, ends*; ints: n axes, n starts, n ends, n steps; as ONNX
                           clamps them. Of starts and ends that a run computes: those of a slice
                           that is no shorter */
    AD_WHOLE_GATHER,    /* x, indices int32 or int64; ints: axis >= 0. Negative indices count from
                           the end */
    AD_WHOLE_GATHER_ELEMENTS,  /* likewise */
    AD_WHOLE_GATHER_ND,        /* x, indices int64; ints: batch_dims. The last dim of the indices
                                  is not open */
    AD_WHOLE_SCATTER_ND,       /* x, indices int64, updates; ints: reduction (0 none, 1 add, 2 mul,
                                  3 max, 4 min) */
    AD_WHOLE_SCATTER_ELEMENTS, /* x, indices, updates; ints: axis, reduction */
    AD_WHOLE_TILE,             /* x, repeats*; ints: repeats */
    AD_WHOLE_EXPAND,           /* x, shape*; ints: the shape to broadcast with */
    AD_WHOLE_PAD,   /* x, value?, pads*; ints: mode (0 constant, 1 reflect, 2 edge, 3 wrap), then
                       rank begins and rank ends (negative ones cut) */
    AD_WHOLE_TRILU, /* ints: upper (0 or 1), k */
    AD_WHOLE_REVERSE_SEQUENCE, /* x, lengths int64; ints: batch_axis, time_axis */
    /* along an axis */
    AD_WHOLE_ARG_MAX,      /* number types -> int64; ints: axis, keepdims, select_last_index. The
                              first NaN is the largest, as in numpy */
    AD_WHOLE_ARG_MIN,      /* likewise */
    AD_WHOLE_TOPK_INDICES, /* x, k*; number types -> int64: TopK's second output, sorted; of equal
                              elements the lower index first; NaN is above all numbers. ints: axis,
                              k, largest. k is cut to the length of the axis */
    AD_WHOLE_CUM_SUM,      /* float32, int32, int64; ints: axis, exclusive, reverse */
    AD_WHOLE_REDUCE,       /* number types (bool: max, min); ints: enum ad_reduction (ir/graph.h),
                              keepdims, then axes >= 0, ascending (none: all). Means of integers
                              towards 0. Of no elements: the neutral element; their mean is NaN, of
                              integers 0 */
    AD_WHOLE_SOFTMAX,      /* float32; ints: axis, as exec/kernels/softmax.h computes it */
    AD_WHOLE_ONE_HOT,      /* indices of any number type, values (2 elements: off, on) -> values'
                              type; ints: axis of the result >= 0, depth. Indices outside of
                              -depth..depth-1 are all off */
    /* the graph's own figures */
    AD_WHOLE_SHAPE, /* any -> int64 of rank 1; ints: start, end (0 <= start <= end <= rank) */
    AD_WHOLE_SIZE,  /* any -> int64 scalar */
    /* a length of their own: open */
    AD_WHOLE_NON_ZERO, /* any -> int64, rank x count */
    AD_WHOLE_NMS,      /* boxes float32 n x m x 4, scores n x classes x m -> int64, count x 3, in
                          ONNX' order; ints: center_point_box, most boxes per class (0: there
                          are no boxes); floats: iou threshold, score threshold (-INFINITY:
                          there is none). Of equal scores the lower index first; a box whose
                          score is NaN is never taken */
    AD_WHOLE_COMPRESS, /* x, condition bool; ints: axis, or -1 for the flattened input */
    AD_WHOLE_UNIQUE, /* number types, flattened -> the sorted values; ints: which output (0 values,
                        1 first indices, 2 inverse (closed), 3 counts; 1 to 3 int64), sorted, axis?
                        NaN equals NaN and is the greatest. Along an axis its slices are what is
                        compared, element by element */
    /* quantised */
    AD_WHOLE_QUANTIZE,   /* x float32 (or int32), scale, zero?; ints: axis, -1 where scale is one
                            number, block size (0: none) -> `to` (int8, uint8). Half to even,
                            saturated; NaN is the least */
    AD_WHOLE_DEQUANTIZE, /* x int8, uint8, int32, scale, zero?; ints: axis, block size -> float32 */
    AD_WHOLE_DYNAMIC_SCALE,  /* float32 -> float32 scalar: DynamicQuantizeLinear's second output; 1
                                where all elements are 0, as in ONNX Runtime */
    AD_WHOLE_DYNAMIC_ZERO,   /* float32 -> uint8 scalar: its third; QUANTIZE makes the first */
    AD_WHOLE_MATMUL,         /* float32 or integers of one type; numpy's matmul, ranks 1 and more */
    AD_WHOLE_MATMUL_INTEGER, /* a, b int8 or uint8, a's zero?, b's zero? (scalars, or by row of a
                                and column of b) -> int32 */
    AD_WHOLE_CONV_INTEGER,   /* x n x c x spatial, w, x's zero?, w's zero? (scalar or by output
                                channel) -> int32; ints: group, spatial strides, dilations, begins,
                                ends */
    /* a length of its own, later */
    AD_WHOLE_RANGE, /* start, limit, delta: scalars of int32 or int64 -> open, of their type; ints:
                       the most elements */
    AD_WHOLE_COUNT
};

/* Attributes of one operator. */
#define AD_WHOLE_MOST_INTS (4 * AD_MAX_RANK + 2)
#define AD_WHOLE_MOST_FLOATS 4
#define AD_WHOLE_MOST_INPUTS 1024
struct ad_whole {
    enum ad_whole_kind kind;
    enum adaps_type to; /* CAST, QUANTIZE; 0 elsewhere */
    const int64_t *ints;
    int nints;
    const float *floats;
    int nfloats;
};

/* A dense array in ONNX order. */
struct ad_array {
    enum adaps_type type;
    int rank;
    int64_t dims[AD_MAX_RANK]; /* may be 0 */
    bool open;                 /* dims are the most that they may be */
    void *data;                /* aligned to its elements; NULL where only the shape counts */
};

/* The elements of an array; its dims have been checked. */
int64_t ad_array_elements(const struct ad_array *array);

/* "NonMaxSuppression", ...; "?" for numbers that are no kind. */
const char *ad_whole_name(enum ad_whole_kind kind);

/* Sets of types. */
#define AD_TYPE_BIT(type) (1u << (type))
#define AD_TYPES_FLOAT AD_TYPE_BIT(ADAPS_FLOAT32)
#define AD_TYPES_BYTES (AD_TYPE_BIT(ADAPS_UINT8) | AD_TYPE_BIT(ADAPS_INT8))
#define AD_TYPES_INDICES (AD_TYPE_BIT(ADAPS_INT32) | AD_TYPE_BIT(ADAPS_INT64))
#define AD_TYPES_INTEGERS (AD_TYPES_BYTES | AD_TYPES_INDICES)
#define AD_TYPES_NUMBERS (AD_TYPES_FLOAT | AD_TYPES_INTEGERS)
#define AD_TYPES_BOOL AD_TYPE_BIT(ADAPS_BOOL)
#define AD_TYPES_ANY (AD_TYPES_NUMBERS | AD_TYPES_BOOL)

/* The types that input `input` of the kind may have. */
unsigned ad_whole_types(enum ad_whole_kind kind, int input);

/* The type and dims of the result, from the inputs' types and dims alone: nothing reads data.
 * out->data is left as it is. Checks all of the operator that does not depend on numbers: kind,
 * number of inputs, types, ranks, attributes; nothing is trusted, a plan may come from a stranger.
 * All dims of the result are in 0..2^31-1 and so is their product. ADAPS_EINPUT says the rule and
 * the values, without the operator's name. */
AD_MUST_CHECK enum adaps_status ad_whole_infer(const struct ad_whole *op,
                                               const struct ad_array *inputs, int ninputs,
                                               struct ad_array *out, struct adaps_error *err);

/* Whether input i stands for attributes: for `count` of them, from ints[at] on. */
bool ad_whole_list(const struct ad_whole *op, int i, int *at, int *count);

/* SLICE along axis ints[i] of `dim` elements: the first index and how many are taken. */
void ad_whole_slice(const struct ad_whole *op, int i, int64_t dim, int64_t *from, int64_t *count);

/* About how many operations it takes to compute it: for the cost model. Inputs as for infer. */
double ad_whole_work(const struct ad_whole *op, const struct ad_array *inputs, int ninputs,
                     const struct ad_array *out);

#endif
