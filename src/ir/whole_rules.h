/* The rules of operators that run whole, by family; what the rows of the table in whole.c infer.
 * Private to ir/. */
#ifndef AD_IR_WHOLE_RULES_H
#define AD_IR_WHOLE_RULES_H

#include "ir/whole.h"

/* What is being inferred. The number of inputs and attributes, the inputs' dims, and the types that
 * the table gives have been checked. */
struct ad_whole_rule {
    const struct ad_whole *op;
    const struct ad_array *in;
    int n;
    struct ad_array *out; /* type and open are what the first input has; no dims */
    bool computed;        /* the run computes what attributes else say: they are the most */
    struct adaps_error *err;
};

/* ADAPS_EINPUT with the rule that is broken. */
#define AD_WHOLE_FAIL(rule, ...) ad_error_set((rule)->err, ADAPS_EINPUT, __VA_ARGS__)

/* Whether the array has dims that a run may find to be less. */
static inline bool ad_array_is_open(const struct ad_array *array)
{
    return array->open && array->rank > 0;
}

/* Whether attribute `index` lies in [least, most]; `what` names it in the message. */
AD_MUST_CHECK enum adaps_status ad_whole_int(const struct ad_whole_rule *rule, int index,
                                             int64_t least, int64_t most, const char *what);

/* Adds a dim to the result. More than AD_MAX_RANK of them, or one out of range, is ADAPS_EINPUT. */
AD_MUST_CHECK enum adaps_status ad_whole_add_dim(const struct ad_whole_rule *rule, int64_t dim);

/* Adds dims [from, to) of an array. */
AD_MUST_CHECK enum adaps_status ad_whole_add_dims(const struct ad_whole_rule *rule,
                                                  const struct ad_array *of, int from, int to);

/* The dims of the inputs, broadcast to each other by numpy's rule, become those of the result. An
 * input that is open makes it open. */
AD_MUST_CHECK enum adaps_status ad_whole_broadcast(const struct ad_whole_rule *rule,
                                                   const struct ad_array *arrays, int n);

/* What two dims that have to be equal may be at most, or -1 when they cannot be equal. */
static inline int64_t ad_whole_same_dim(int64_t a, bool a_open, int64_t b, bool b_open)
{
    if ((!a_open && !b_open && a != b) || (!a_open && b_open && a > b) ||
        (a_open && !b_open && b > a))
        return -1;
    return a < b ? a : b;
}

typedef enum adaps_status ad_whole_rule_fn(const struct ad_whole_rule *rule);

/* whole_elementwise.c */
ad_whole_rule_fn ad_whole_rule_cast, ad_whole_rule_same, ad_whole_rule_broadcast, ad_whole_rule_mod,
    ad_whole_rule_compare, ad_whole_rule_bitwise, ad_whole_rule_to_bool, ad_whole_rule_where,
    ad_whole_rule_clip, ad_whole_rule_function;

/* whole_movement.c */
ad_whole_rule_fn ad_whole_rule_reshape, ad_whole_rule_unsqueeze, ad_whole_rule_squeeze,
    ad_whole_rule_flatten, ad_whole_rule_transpose, ad_whole_rule_concat, ad_whole_rule_slice,
    ad_whole_rule_tile, ad_whole_rule_expand, ad_whole_rule_pad, ad_whole_rule_trilu,
    ad_whole_rule_reverse_sequence;

/* whole_gather.c */
ad_whole_rule_fn ad_whole_rule_gather, ad_whole_rule_gather_elements, ad_whole_rule_gather_nd,
    ad_whole_rule_scatter_nd, ad_whole_rule_scatter_elements;

/* whole_axis.c: along an axis, figures, lengths of their own */
ad_whole_rule_fn ad_whole_rule_arg, ad_whole_rule_topk, ad_whole_rule_cum_sum, ad_whole_rule_reduce,
    ad_whole_rule_softmax, ad_whole_rule_one_hot, ad_whole_rule_shape, ad_whole_rule_size,
    ad_whole_rule_non_zero, ad_whole_rule_nms, ad_whole_rule_compress, ad_whole_rule_unique,
    ad_whole_rule_range;

/* whole_quantised.c */
ad_whole_rule_fn ad_whole_rule_quantize, ad_whole_rule_dequantize, ad_whole_rule_dynamic_scale,
    ad_whole_rule_dynamic_zero, ad_whole_rule_matmul, ad_whole_rule_matmul_integer,
    ad_whole_rule_conv_integer;

#endif
