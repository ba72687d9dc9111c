/* The table of operators that run whole, and what all of them have to keep. */
#include "ir/whole.h"
#include "ir/whole_rules.h"

#include <inttypes.h>
#include <string.h>

#define MANY AD_WHOLE_MOST_INPUTS
#define ONE_TYPE 0xff /* of `same`: all inputs have the first one's type */

/* A row. Inputs beyond the third have the third's types. */
static const struct {
    const char *name;
    int least, most;           /* inputs */
    int least_ints, most_ints; /* attributes */
    int floats;
    ad_whole_rule_fn *infer;
    uint16_t types[3]; /* of inputs: AD_TYPES_*; 0: none there */
    uint8_t same;      /* bit i: input i has the first one's type; bit 2 of those beyond it, too */
} rows[AD_WHOLE_COUNT] = {
#define ANY AD_TYPES_ANY
#define NUM AD_TYPES_NUMBERS
#define INT AD_TYPES_INTEGERS
#define IDX AD_TYPES_INDICES
#define I64 AD_TYPE_BIT(ADAPS_INT64)
#define F32 AD_TYPES_FLOAT
#define BIT AD_TYPES_BOOL
#define I8U8 AD_TYPES_BYTES
    [AD_WHOLE_CAST] = {"Cast", 1, 1, 0, 0, 0, ad_whole_rule_cast, {ANY}, 0},
    [AD_WHOLE_ADD] = {"Add", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_SUB] = {"Sub", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_MUL] = {"Mul", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_DIV] = {"Div", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_MOD] = {"Mod", 2, 2, 1, 1, 0, ad_whole_rule_mod, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_POW] = {"Pow", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM}, 0},
    [AD_WHOLE_MIN] = {"Min", 1, MANY, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_MAX] = {"Max", 1, MANY, 0, 0, 0, ad_whole_rule_broadcast, {NUM, NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_EQUAL] = {"Equal", 2, 2, 0, 0, 0, ad_whole_rule_compare, {ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_LESS] = {"Less", 2, 2, 0, 0, 0, ad_whole_rule_compare, {ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_LESS_EQUAL] =
        {"LessOrEqual", 2, 2, 0, 0, 0, ad_whole_rule_compare, {ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_GREATER] = {"Greater", 2, 2, 0, 0, 0, ad_whole_rule_compare, {ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_GREATER_EQUAL] =
        {"GreaterOrEqual", 2, 2, 0, 0, 0, ad_whole_rule_compare, {ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_AND] = {"And", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {BIT, BIT}, 0},
    [AD_WHOLE_OR] = {"Or", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {BIT, BIT}, 0},
    [AD_WHOLE_XOR] = {"Xor", 2, 2, 0, 0, 0, ad_whole_rule_broadcast, {BIT, BIT}, 0},
    [AD_WHOLE_NOT] = {"Not", 1, 1, 0, 0, 0, ad_whole_rule_same, {BIT}, 0},
    [AD_WHOLE_BITWISE] = {"Bitwise", 2, 2, 1, 1, 0, ad_whole_rule_bitwise, {INT, INT}, ONE_TYPE},
    [AD_WHOLE_IS_NAN] = {"IsNaN", 1, 1, 0, 0, 0, ad_whole_rule_to_bool, {F32}, 0},
    [AD_WHOLE_IS_INF] = {"IsInf", 1, 1, 2, 2, 0, ad_whole_rule_to_bool, {F32}, 0},
    [AD_WHOLE_WHERE] = {"Where", 3, 3, 0, 0, 0, ad_whole_rule_where, {BIT, ANY, ANY}, 0},
    [AD_WHOLE_ABS] = {"Abs", 1, 1, 0, 0, 0, ad_whole_rule_same, {NUM}, 0},
    [AD_WHOLE_NEG] = {"Neg", 1, 1, 0, 0, 0, ad_whole_rule_same, {NUM}, 0},
    [AD_WHOLE_SIGN] = {"Sign", 1, 1, 0, 0, 0, ad_whole_rule_same, {NUM}, 0},
    [AD_WHOLE_ROUND] = {"Round", 1, 1, 0, 0, 0, ad_whole_rule_same, {F32}, 0},
    [AD_WHOLE_CLIP] = {"Clip", 1, 3, 0, 0, 0, ad_whole_rule_clip, {NUM, NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_FUNCTION] = {"Function", 1, 1, 1, 1, 4, ad_whole_rule_function, {F32}, 0},
    [AD_WHOLE_RESHAPE] = {"Reshape", 1, 2, 0, 8, 0, ad_whole_rule_reshape, {ANY, I64}, 0},
    [AD_WHOLE_UNSQUEEZE] = {"Unsqueeze", 1, 1, 0, 8, 0, ad_whole_rule_unsqueeze, {ANY}, 0},
    [AD_WHOLE_SQUEEZE] = {"Squeeze", 1, 1, 0, 8, 0, ad_whole_rule_squeeze, {ANY}, 0},
    [AD_WHOLE_FLATTEN] = {"Flatten", 1, 1, 1, 1, 0, ad_whole_rule_flatten, {ANY}, 0},
    [AD_WHOLE_TRANSPOSE] = {"Transpose", 1, 1, 0, 8, 0, ad_whole_rule_transpose, {ANY}, 0},
    [AD_WHOLE_CONCAT] =
        {"Concat", 1, MANY, 1, 1, 0, ad_whole_rule_concat, {ANY, ANY, ANY}, ONE_TYPE},
    [AD_WHOLE_SLICE] = {"Slice", 1, 3, 0, 32, 0, ad_whole_rule_slice, {ANY, I64, I64}, 0},
    [AD_WHOLE_GATHER] = {"Gather", 2, 2, 1, 1, 0, ad_whole_rule_gather, {ANY, IDX}, 0},
    [AD_WHOLE_GATHER_ELEMENTS] =
        {"GatherElements", 2, 2, 1, 1, 0, ad_whole_rule_gather_elements, {ANY, IDX}, 0},
    [AD_WHOLE_GATHER_ND] = {"GatherND", 2, 2, 1, 1, 0, ad_whole_rule_gather_nd, {ANY, I64}, 0},
    [AD_WHOLE_SCATTER_ND] =
        {"ScatterND", 3, 3, 1, 1, 0, ad_whole_rule_scatter_nd, {ANY, I64, ANY}, 1 << 2},
    [AD_WHOLE_SCATTER_ELEMENTS] =
        {"ScatterElements", 3, 3, 2, 2, 0, ad_whole_rule_scatter_elements, {ANY, IDX, ANY}, 1 << 2},
    [AD_WHOLE_TILE] = {"Tile", 1, 2, 0, 8, 0, ad_whole_rule_tile, {ANY, I64}, 0},
    [AD_WHOLE_EXPAND] = {"Expand", 1, 2, 0, 8, 0, ad_whole_rule_expand, {ANY, I64}, 0},
    [AD_WHOLE_PAD] = {"Pad", 1, 3, 1, 17, 0, ad_whole_rule_pad, {ANY, ANY, I64}, 1 << 1},
    [AD_WHOLE_TRILU] = {"Trilu", 1, 1, 2, 2, 0, ad_whole_rule_trilu, {ANY}, 0},
    [AD_WHOLE_REVERSE_SEQUENCE] =
        {"ReverseSequence", 2, 2, 2, 2, 0, ad_whole_rule_reverse_sequence, {ANY, I64}, 0},
    [AD_WHOLE_ARG_MAX] = {"ArgMax", 1, 1, 3, 3, 0, ad_whole_rule_arg, {NUM}, 0},
    [AD_WHOLE_ARG_MIN] = {"ArgMin", 1, 1, 3, 3, 0, ad_whole_rule_arg, {NUM}, 0},
    [AD_WHOLE_TOPK_INDICES] = {"TopK", 1, 2, 3, 3, 0, ad_whole_rule_topk, {NUM, I64}, 0},
    [AD_WHOLE_CUM_SUM] = {"CumSum", 1, 1, 3, 3, 0, ad_whole_rule_cum_sum, {F32 | IDX}, 0},
    [AD_WHOLE_REDUCE] = {"Reduce", 1, 1, 2, 10, 0, ad_whole_rule_reduce, {ANY}, 0},
    [AD_WHOLE_SOFTMAX] = {"Softmax", 1, 1, 1, 1, 0, ad_whole_rule_softmax, {F32}, 0},
    [AD_WHOLE_ONE_HOT] = {"OneHot", 2, 2, 2, 2, 0, ad_whole_rule_one_hot, {NUM, ANY}, 0},
    [AD_WHOLE_SHAPE] = {"Shape", 1, 1, 2, 2, 0, ad_whole_rule_shape, {ANY}, 0},
    [AD_WHOLE_SIZE] = {"Size", 1, 1, 0, 0, 0, ad_whole_rule_size, {ANY}, 0},
    [AD_WHOLE_NON_ZERO] = {"NonZero", 1, 1, 0, 0, 0, ad_whole_rule_non_zero, {ANY}, 0},
    [AD_WHOLE_NMS] = {"NonMaxSuppression", 2, 2, 2, 2, 2, ad_whole_rule_nms, {F32, F32}, 0},
    [AD_WHOLE_COMPRESS] = {"Compress", 2, 2, 1, 1, 0, ad_whole_rule_compress, {ANY, BIT}, 0},
    [AD_WHOLE_UNIQUE] = {"Unique", 1, 1, 2, 3, 0, ad_whole_rule_unique, {NUM}, 0},
    [AD_WHOLE_QUANTIZE] = {"QuantizeLinear",
                           2,
                           3,
                           2,
                           2,
                           0,
                           ad_whole_rule_quantize,
                           {F32 | AD_TYPE_BIT(ADAPS_INT32), F32, I8U8},
                           0},
    [AD_WHOLE_DEQUANTIZE] = {"DequantizeLinear",
                             2,
                             3,
                             2,
                             2,
                             0,
                             ad_whole_rule_dequantize,
                             {I8U8 | AD_TYPE_BIT(ADAPS_INT32), F32, ANY},
                             1 << 2},
    [AD_WHOLE_DYNAMIC_SCALE] =
        {"DynamicQuantizeLinear", 1, 1, 0, 0, 0, ad_whole_rule_dynamic_scale, {F32}, 0},
    [AD_WHOLE_DYNAMIC_ZERO] =
        {"DynamicQuantizeLinear", 1, 1, 0, 0, 0, ad_whole_rule_dynamic_zero, {F32}, 0},
    [AD_WHOLE_MATMUL] = {"MatMul", 2, 2, 0, 0, 0, ad_whole_rule_matmul, {NUM, NUM}, ONE_TYPE},
    [AD_WHOLE_MATMUL_INTEGER] =
        {"MatMulInteger", 2, 4, 0, 0, 0, ad_whole_rule_matmul_integer, {I8U8, I8U8, I8U8}, 0},
    [AD_WHOLE_CONV_INTEGER] =
        {"ConvInteger", 2, 4, 5, 25, 0, ad_whole_rule_conv_integer, {I8U8, I8U8, I8U8}, 0},
    [AD_WHOLE_RANGE] = {"Range", 3, 3, 1, 1, 0, ad_whole_rule_range, {IDX, IDX, IDX}, ONE_TYPE},
};

const char *ad_whole_name(enum ad_whole_kind kind)
{
    return (unsigned)kind < AD_WHOLE_COUNT ? rows[kind].name : "?";
}

unsigned ad_whole_types(enum ad_whole_kind kind, int input)
{
    return rows[kind].types[input < 3 ? input : 2];
}

int64_t ad_array_elements(const struct ad_array *array)
{
    int64_t elements = 1;
    for (int d = 0; d < array->rank; d++)
        elements *= array->dims[d];
    return elements;
}

/* Dims of 0 do not hide how large the others are: the product of any of them is in range, so that
 * strides are, too. */
static bool dims_in_range(const struct ad_array *array)
{
    int64_t product = 1;
    for (int d = 0; d < array->rank; d++) {
        if (array->dims[d] < 0 || array->dims[d] > INT32_MAX)
            return false;
        if (array->dims[d] > 0 && product > INT32_MAX / array->dims[d])
            return false;
        product *= array->dims[d] > 0 ? array->dims[d] : 1;
    }
    return true;
}

static enum adaps_status check_dims(const struct ad_array *array, const char *what,
                                    struct adaps_error *err)
{
    char dims[AD_MAX_RANK * 24];
    if (dims_in_range(array))
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT, "%s of %s: more than %d elements", what,
                        ad_dims_format(array->rank, array->dims, dims, sizeof dims), INT32_MAX);
}

static enum adaps_status check_input(const struct ad_whole_rule *rule, int i)
{
    const struct ad_array *in = &rule->in[i];
    int of_row = i < 3 ? i : 2;
    unsigned types = ad_whole_types(rule->op->kind, i);
    if (in->rank < 0 || in->rank > AD_MAX_RANK)
        return AD_WHOLE_FAIL(rule, "input %d of rank %d: at most %d is supported", i, in->rank,
                             AD_MAX_RANK);
    if (ad_type_bytes(in->type) == 0 || !(types & AD_TYPE_BIT(in->type)))
        return AD_WHOLE_FAIL(rule, "input %d of type %s", i, ad_type_name(in->type));
    if (rows[rule->op->kind].same >> of_row & 1 && in->type != rule->in[0].type)
        return AD_WHOLE_FAIL(rule, "input %d of type %s beside %s", i, ad_type_name(in->type),
                             ad_type_name(rule->in[0].type));
    return check_dims(in, "an input", rule->err);
}

bool ad_whole_list(const struct ad_whole *op, int i, int *at, int *count)
{
    *at = 0;
    *count = op->nints;
    switch (op->kind) {
    case AD_WHOLE_RESHAPE:
    case AD_WHOLE_TILE:
    case AD_WHOLE_EXPAND:
        return i == 1;
    case AD_WHOLE_TOPK_INDICES:
        *at = *count = 1;
        return i == 1;
    case AD_WHOLE_PAD:
        *at = 1;
        *count = op->nints - 1;
        return i == 2;
    case AD_WHOLE_SLICE:
        *count = op->nints / 4;
        *at = i * *count;
        return i == 1 || i == 2;
    default:
        return false;
    }
}

/* *any: there are inputs that stand for attributes. */
static enum adaps_status check_lists(const struct ad_whole_rule *rule, bool *any)
{
    int at, count;
    *any = false;
    for (int i = 1; i < rule->n && i < 3; i++) {
        const struct ad_array *list = &rule->in[i];
        if (!ad_whole_list(rule->op, i, &at, &count))
            continue;
        *any = true;
        if (list->rank != 1 || list->open || list->dims[0] != count)
            return AD_WHOLE_FAIL(rule, "input %d is not a list of %d", i, count);
    }
    return ADAPS_OK;
}

static enum adaps_status check_counts(const struct ad_whole_rule *rule)
{
    const struct ad_whole *op = rule->op;
    if ((unsigned)op->kind >= AD_WHOLE_COUNT)
        return AD_WHOLE_FAIL(rule, "kind %d is none", (int)op->kind);
    if (rule->n < rows[op->kind].least || rule->n > rows[op->kind].most)
        return AD_WHOLE_FAIL(rule, "%d inputs, not %d to %d", rule->n, rows[op->kind].least,
                             rows[op->kind].most);
    if (op->nints < rows[op->kind].least_ints || op->nints > rows[op->kind].most_ints)
        return AD_WHOLE_FAIL(rule, "%d integer attributes, not %d to %d", op->nints,
                             rows[op->kind].least_ints, rows[op->kind].most_ints);
    if (op->nfloats != rows[op->kind].floats)
        return AD_WHOLE_FAIL(rule, "%d float attributes, not %d", op->nfloats,
                             rows[op->kind].floats);
    if (op->to && op->kind != AD_WHOLE_CAST && op->kind != AD_WHOLE_QUANTIZE)
        return AD_WHOLE_FAIL(rule, "a type that it is made to: %s", ad_type_name(op->to));
    return ADAPS_OK;
}

enum adaps_status ad_whole_infer(const struct ad_whole *op, const struct ad_array *inputs,
                                 int ninputs, struct ad_array *out, struct adaps_error *err)
{
    struct ad_array result = {0};
    struct ad_whole_rule rule = {op, inputs, ninputs, &result, false, err};
    enum adaps_status status = check_counts(&rule);
    for (int i = 0; i < ninputs && status == ADAPS_OK; i++)
        status = check_input(&rule, i);
    if (status == ADAPS_OK)
        status = check_lists(&rule, &rule.computed);
    if (status != ADAPS_OK)
        return status;
    result.type = inputs[0].type;
    result.open = ad_array_is_open(&inputs[0]);
    status = rows[op->kind].infer(&rule);
    if (status == ADAPS_OK)
        status = check_dims(&result, "a result", err);
    if (status != ADAPS_OK)
        return status;
    result.open = (result.open || rule.computed) && result.rank > 0;
    result.data = out->data;
    *out = result;
    return ADAPS_OK;
}

/* --- what the rules share --- */

enum adaps_status ad_whole_int(const struct ad_whole_rule *rule, int index, int64_t least,
                               int64_t most, const char *what)
{
    int64_t value = rule->op->ints[index];
    if (value >= least && value <= most)
        return ADAPS_OK;
    return AD_WHOLE_FAIL(rule, "%s is %" PRId64 ", not in %" PRId64 "..%" PRId64, what, value,
                         least, most);
}

enum adaps_status ad_whole_add_dim(const struct ad_whole_rule *rule, int64_t dim)
{
    if (rule->out->rank == AD_MAX_RANK)
        return AD_WHOLE_FAIL(rule, "a result of more than %d dimensions", AD_MAX_RANK);
    if (dim < 0 || dim > INT32_MAX)
        return AD_WHOLE_FAIL(rule, "dimension %d of the result is %" PRId64, rule->out->rank, dim);
    rule->out->dims[rule->out->rank++] = dim;
    return ADAPS_OK;
}

enum adaps_status ad_whole_add_dims(const struct ad_whole_rule *rule, const struct ad_array *of,
                                    int from, int to)
{
    enum adaps_status status = ADAPS_OK;
    for (int d = from; d < to && status == ADAPS_OK; d++)
        status = ad_whole_add_dim(rule, of->dims[d]);
    return status;
}

/* A dim of the result so far and that of one more array. An open one may be 1, or as the other; of
 * two open ones either may be 1. */
static bool broadcast_dim(int64_t *dim, bool *open, int64_t other, bool other_open)
{
    if (!*open && !other_open) {
        if (*dim != other && *dim != 1 && other != 1)
            return false;
        *dim = *dim == 1 ? other : *dim;
    } else if (*open && other_open) {
        *dim = *dim > other ? *dim : other;
    } else if (*open ? other != 1 : *dim == 1) {
        *open = other_open;
        *dim = other;
    }
    return true;
}

enum adaps_status ad_whole_broadcast(const struct ad_whole_rule *rule,
                                     const struct ad_array *arrays, int n)
{
    struct ad_array *out = rule->out;
    bool open[AD_MAX_RANK] = {false};
    char a[AD_MAX_RANK * 12], b[AD_MAX_RANK * 12];
    out->rank = 0;
    out->open = false;
    for (int i = 0; i < n; i++)
        out->rank = out->rank > arrays[i].rank ? out->rank : arrays[i].rank;
    for (int d = 0; d < out->rank; d++)
        out->dims[d] = 1;
    for (int i = 0; i < n; i++) {
        int skipped = out->rank - arrays[i].rank;
        out->open |= ad_array_is_open(&arrays[i]);
        for (int d = 0; d < arrays[i].rank; d++)
            if (!broadcast_dim(&out->dims[skipped + d], &open[skipped + d], arrays[i].dims[d],
                               arrays[i].open))
                return AD_WHOLE_FAIL(rule, "%s beside %s: neither equal nor 1",
                                     ad_dims_format(out->rank, out->dims, a, sizeof a),
                                     ad_dims_format(arrays[i].rank, arrays[i].dims, b, sizeof b));
    }
    return ADAPS_OK;
}

/* --- work --- */

/* About the logarithm to base 2: the same on every machine. */
static double depth_of(int64_t n)
{
    double depth = 1;
    for (; n > 1; n /= 2)
        depth++;
    return depth;
}

/* Operations that a product of a convolution of maps counts as: the kernels of bytes compute it. */
#define OF_MAPS 0.1

double ad_whole_work(const struct ad_whole *op, const struct ad_array *inputs, int ninputs,
                     const struct ad_array *out)
{
    double in = 0, made = (double)ad_array_elements(out), filter;
    int64_t first = ad_array_elements(&inputs[0]);
    for (int i = 0; i < ninputs; i++)
        in += (double)ad_array_elements(&inputs[i]);
    switch (op->kind) {
    case AD_WHOLE_MATMUL:
    case AD_WHOLE_MATMUL_INTEGER: /* of the first one's rows with columns */
        return in + 2 * made * (double)inputs[0].dims[inputs[0].rank - 1];
    case AD_WHOLE_CONV_INTEGER: /* each output is as long as a filter */
        filter = (double)ad_array_elements(&inputs[1]) /
                 (double)(inputs[1].dims[0] > 0 ? inputs[1].dims[0] : 1);
        return in + made * (1 + filter * (inputs[0].rank == 4 ? OF_MAPS : 2));
    case AD_WHOLE_FUNCTION:
    case AD_WHOLE_SOFTMAX:
        return 10 * made;
    case AD_WHOLE_POW:
        return 30 * made;
    case AD_WHOLE_UNIQUE:
        return in * depth_of(first);
    case AD_WHOLE_TOPK_INDICES:
        return 2 * in + made * depth_of(first);
    case AD_WHOLE_NMS: /* most are compared with some */
        return 8 * in + made * depth_of(first);
    default:
        return in + made;
    }
}
