/* The operator table: one row per kind of op, with all that is a fact and not code. What must be
 * code is found through tables by kind as well: the region rules in fusion/rules.c, the kernels in
 * exec/engine/operators.c. */
#ifndef AD_IR_OPERATORS_H
#define AD_IR_OPERATORS_H

#include "ir/graph.h"

/* The fields of struct ad_op that mean something for some kinds only. A plan file carries them for
 * these kinds alone, but for weight, bias (-1 elsewhere) and groups, which are in it for all. */
enum ad_fields {
    AD_FIELD_WINDOW = 1 << 0, /* window: a sliding window */
    AD_FIELD_BLOCKS = 1 << 1, /* window: sh x sw are the blocks, pt and pl what is cropped */
    AD_FIELD_GROUPS = 1 << 2,
    AD_FIELD_WEIGHT = 1 << 3, /* weight, and bias unless it is -1 */
    AD_FIELD_COUNT_PAD = 1 << 4,
    AD_FIELD_LRN = 1 << 5,  /* lrn_* */
    AD_FIELD_ROWS = 1 << 6, /* outer, inner */
    AD_FIELD_REDUCTION = 1 << 7,
    AD_FIELD_VIEW = 1 << 8, /* view_rank, view_dims, perm */
    AD_FIELD_BLOCK = 1 << 9,
    AD_FIELD_CHANNEL_MAJOR = 1 << 10,
    AD_FIELD_RESAMPLING = 1 << 11,
    AD_FIELD_CHANNELS = 1 << 12,   /* inner: channels of a block */
    AD_FIELD_WHOLE = 1 << 13,      /* whole; such kinds read and make values of any type */
    AD_FIELD_ROW_SCALES = 1 << 14, /* weight, unless it is -1: rows of quantised operators */
};

/* What of its input a part of the output reads along one axis. The exact rule is fusion/'s. */
enum ad_reach {
    AD_REACH_SAME,  /* the same part; all of a dimension of 1 that is repeated */
    AD_REACH_NEAR,  /* the elements around it: a window */
    AD_REACH_OTHER, /* elements elsewhere, but not all */
    AD_REACH_ALL,   /* all (of its group, where there are groups) */
    AD_REACH_WHOLE, /* all, and the output is computed whole along this axis */
};

/* Classes of operators that share a rate. */
enum ad_cost_class {
    AD_COST_CONV,     /* dense convolution */
    AD_COST_WINOGRAD, /* the same by Winograd's algorithm (ir/winograd.h) */
    AD_COST_GROUPED,  /* grouped, not depthwise */
    AD_COST_DEPTHWISE,
    AD_COST_FC,
    AD_COST_POOL,
    AD_COST_ELEMENTWISE, /* arithmetic, activations, softmax, LRN */
    AD_COST_COPY,        /* concat, reshape, permute, space-to-depth, pack, unpack */
    AD_COST_INT8_CONV,   /* the first, fourth and fifth of quantised values; the first, products of
                          * two computed matrices, too */
    AD_COST_INT8_DEPTHWISE,
    AD_COST_INT8_FC,
    AD_COST_CLASSES
};

/* The class whose rate counts where a board has none of this one; itself: boards must have it. */
enum ad_cost_class ad_cost_stand_in(enum ad_cost_class class);

/* What an op's work is counted in, times `units`. */
enum ad_measure {
    AD_PER_OUTPUT,   /* elements of the output */
    AD_PER_INPUT,    /* elements of the input */
    AD_PER_TAP,      /* elements that an output is made of: of its window, or resampled */
    AD_PER_MAC,      /* multiply-accumulates */
    AD_PER_LRN,      /* elements of the output, for each `units` plus the size of the window */
    AD_PER_PRODUCT,  /* products of numbers: elements of the output, each of `inner` */
    AD_PER_FUNCTION, /* elements of the output, each as dear as the op's function */
    AD_PER_WHOLE,    /* what ad_whole_work() says */
};

/* Which quantised values (ir/quantised.h) a kind reads and makes. */
enum ad_quantised_rule {
    AD_QUANTISED_NEVER,
    AD_QUANTISED_SAME,   /* all operands, and the output as the input */
    AD_QUANTISED_EACH,   /* all operands and the output, each with a scale of its own */
    AD_QUANTISED_SUMMED, /* all operands, and weights, if any, of bytes; the output, made of sums
                          * of their products, is quantised or float */
    AD_QUANTISED_EITHER, /* input and output, each quantised or float */
    AD_QUANTISED_FOLDED, /* sums; the output is sums, or, with a weight, quantised or float */
};

struct ad_check; /* ir/check.h */

struct ad_operator {
    const char *name;       /* "Conv", "MaxPool", ... for messages and tables */
    const char *short_name; /* of shapes, in devices files and reports */
    int type;               /* 1, 2 or 3: see ad_op_type() in blocks/ */
    int inputs;             /* how many; AD_VARIADIC: one or more. Kinds of one take no constant */
    uint32_t fields;        /* enum ad_fields */
    enum ad_reach h, w, c;  /* of all ops of the kind that fusion/ lets be split at all */
    enum ad_cost_class class; /* convolutions: see ad_cost_class_of_kind() */
    enum ad_measure measure;
    double units;
    bool elementwise; /* a binary operation with broadcasting */
    bool activation;  /* computes nothing but its function and clamp */
    bool in_place;    /* its inputs side by side: they may lie in the result from the start */
    bool residual;    /* a sum, which a convolution that makes one operand can do as it stores */
    bool rearranges;  /* the output is the input's elements as one row, in some order */
    bool keeps_zeros; /* the output has about as many zeros as the input */
    enum ad_quantised_rule quantised;
    enum adaps_status (*check)(const struct ad_check *check); /* the rules of its own fields */
};

#define AD_VARIADIC 0

extern const struct ad_operator ad_operators[AD_OP_COUNT];

/* The row of a kind that is known to be one. */
static inline const struct ad_operator *ad_operator_of(enum ad_op_kind kind)
{
    return &ad_operators[kind];
}

/* Whether ops of a kind have all of these fields. */
static inline bool ad_kind_has(enum ad_op_kind kind, uint32_t fields)
{
    return (ad_operators[kind].fields & fields) == fields;
}

/* "?" for numbers that are no kind. */
const char *ad_op_kind_name(enum ad_op_kind kind);

/* Whether it is an elementwise operation of two operands. */
static inline bool ad_op_is_binary(const struct ad_op *op)
{
    return ad_operators[op->kind].elementwise;
}

static inline bool ad_op_has_window(const struct ad_op *op)
{
    return ad_kind_has(op->kind, AD_FIELD_WINDOW);
}

/* Filters that slide over the input. */
static inline bool ad_op_is_conv(const struct ad_op *op)
{
    return ad_kind_has(op->kind, AD_FIELD_WINDOW | AD_FIELD_WEIGHT);
}

/* Each output has weights for the whole input. */
static inline bool ad_op_is_dense(const struct ad_op *op)
{
    return ad_kind_has(op->kind, AD_FIELD_WEIGHT) && !ad_op_has_window(op);
}

/* Whether a function comes after what an op of the kind computes, as a pass of its own. */
static inline bool ad_function_follows(enum ad_op_kind kind, enum ad_function function)
{
    return function != AD_FN_NONE && !ad_operators[kind].activation;
}

/* True for a convolution whose groups equal its input channels. */
bool ad_op_is_depthwise(const struct ad_graph *graph, const struct ad_op *op);

/* Whether an op with a view moves channels within their pixels only (ShuffleNet's shuffle): it
 * needs all of a pixel's channels, and nothing else. */
bool ad_op_shuffles_channels(const struct ad_graph *graph, const struct ad_op *op);

#endif
