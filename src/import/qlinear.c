/* Nodes that read and make bytes: QLinearConv and its kind, those of domain com.microsoft that ONNX
 * Runtime writes among them, and operators that only move elements. They become what they stand
 * for: DequantizeLinear, the operator on floats, QuantizeLinear; quantise.c makes operators on
 * bytes of all such. */
#include "import/operators.h"

#include <string.h>

#define MOST_OPERANDS 1024

/* A triple is an operand, its scale and its zero point. */
struct qlinear {
    struct ad_onnx_operator row;
    const char *core;    /* the operator on floats */
    int first, operands; /* where the triples begin; how many, -1: all that there are */
    int result;          /* where scale and zero point of the result are */
    int bias;            /* -1: none */
};

#define ROW(type_, attributes_)                                                                    \
    {                                                                                              \
        .type = type_, .import = ad_import_qlinear, .since = 10, .attributes = attributes_,        \
        .takes = AD_TAKES_ANY                                                                      \
    }

static const struct qlinear table[] = {
    {ROW("QGemm", "alpha transA transB"), "Gemm", 0, 2, 7, 6},
    {ROW("QLinearAdd", ""), "Add", 0, 2, 6, -1},
    {ROW("QLinearAveragePool",
         "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides"),
     "AveragePool", 0, 1, 3, -1},
    {ROW("QLinearConcat", "axis"), "Concat", 2, -1, 0, -1},
    {ROW("QLinearConv", "auto_pad dilations group kernel_shape pads strides"), "Conv", 0, 2, 6, 8},
    {ROW("QLinearGlobalAveragePool", "channels_last"), "GlobalAveragePool", 0, 1, 3, -1},
    {ROW("QLinearLeakyRelu", "alpha"), "LeakyRelu", 0, 1, 3, -1},
    {ROW("QLinearMatMul", ""), "MatMul", 0, 2, 6, -1},
    {ROW("QLinearMul", ""), "Mul", 0, 2, 6, -1},
    {ROW("QLinearSigmoid", ""), "Sigmoid", 0, 1, 3, -1},
    {ROW("QLinearSoftmax", "axis opset"), "Softmax", 0, 1, 3, -1},
};

static const struct qlinear *row_of(const char *type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].row.type, type) == 0)
            return &table[i];
    return NULL;
}

const struct ad_onnx_operator *ad_qlinear_operator_of(const char *type)
{
    const struct qlinear *q = row_of(type);
    return q ? &q->row : NULL;
}

enum adaps_status ad_import_as(struct ad_node *node, const char *type,
                               Onnx__AttributeProto **attributes, size_t nattributes, int ninputs,
                               int *inputs, int32_t *types, int *out, struct adaps_error *err)
{
    Onnx__NodeProto *proto = ad_arena_alloc(&node->draft->arena, 1, sizeof *proto);
    if (!proto)
        return ad_error_memory(err, "nodes", sizeof *proto);
    *proto = *node->proto;
    proto->attribute = attributes;
    proto->n_attribute = nattributes;
    struct ad_node as = *node;
    as.proto = proto;
    as.type = type;
    as.ninputs = ninputs;
    as.inputs = inputs;
    as.types = types;
    enum adaps_status status = ad_onnx_operator_of(type)->import(&as, err);
    const struct ad_name *name = ad_names_find(&node->draft->names, proto->output[0]);
    if (status == ADAPS_OK && (!name || name->value < 0))
        return ad_node_fail(node, err, "it has no output");
    *out = status == ADAPS_OK ? name->value : -1;
    return status;
}

/* The scale and zero point that are with an operand, -1 where there is none. */
static enum adaps_status dequantise(struct ad_node *node, int value, int scale, int zero,
                                    int32_t type, int64_t axis, int *out, struct adaps_error *err)
{
    int inputs[] = {value, scale, zero};
    int32_t types[] = {type, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, type};
    Onnx__AttributeProto *attribute = ad_arena_alloc(&node->draft->arena, 1, sizeof *attribute);
    if (!attribute)
        return ad_error_memory(err, "attributes", sizeof *attribute);
    onnx__attribute_proto__init(attribute);
    static char name[] = "axis";
    attribute->name = name;
    attribute->i = axis;
    attribute->has_i = attribute->has_type = true;
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    return ad_import_as(node, "DequantizeLinear", &attribute, 1, zero >= 0 ? 3 : 2, inputs, types,
                        out, err);
}

static enum adaps_status quantise(struct ad_node *node, int value, int scale, int zero,
                                  int32_t type, int *out, struct adaps_error *err)
{
    int inputs[] = {value, scale, zero};
    int32_t types[] = {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                       type};
    return ad_import_as(node, "QuantizeLinear", NULL, 0, zero >= 0 ? 3 : 2, inputs, types, out,
                        err);
}

static int input_at(const struct ad_node *node, int k)
{
    return ad_node_has(node, k) ? node->inputs[k] : -1;
}

/* Of a convolution's or product's second operand: the axis of its scales. */
static int64_t weight_axis(const struct ad_node *node, const struct qlinear *q)
{
    int64_t transposed = 0;
    if (strcmp(q->core, "Conv") == 0)
        return 0;
    if (ad_onnx_attr_int(node->proto, "transB", 0, &transposed, NULL) != ADAPS_OK)
        transposed = 0;
    return transposed ? 0 : -1;
}

/* The bias counts products of the operands' scales. */
static enum adaps_status add_bias(struct ad_node *node, const struct qlinear *q, int *out,
                                  struct adaps_error *err)
{
    const struct ad_onnx_tensor *x, *w;
    struct ad_dequantised from = {.x = node->inputs[q->bias], .type = ADAPS_INT32};
    bool is_float = true;
    enum adaps_status status = ad_node_floats(node, 1, "scale of x", &x, err);
    if (status == ADAPS_OK)
        status = ad_node_floats(node, 4, "scale of w", &w, err);
    if (status == ADAPS_OK && !ad_node_constant(node, q->bias))
        status = ad_node_fail(node, err, "its bias is computed at run time");
    if (status == ADAPS_OK)
        status = ad_draft_check(node->draft, from.x, &is_float, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *bias = &node->draft->values[from.x];
    if (is_float || x->count != 1 || bias->rank != 1 ||
        (w->count != 1 && (int64_t)w->count != bias->dims[0]))
        return ad_node_fail(node, err, "a bias of %zu scales", w->count);
    float *scale = ad_arena_alloc(&node->draft->arena, w->count, sizeof *scale);
    int64_t *zero = ad_arena_alloc(&node->draft->arena, w->count, sizeof *zero);
    if (!scale || !zero)
        return ad_error_memory(err, "scales", w->count * sizeof *zero);
    for (size_t i = 0; i < w->count; i++) {
        scale[i] = x->f[0] * w->f[i];
        zero[i] = 0;
    }
    from.count = (int64_t)w->count;
    from.scale = scale;
    from.zero = zero;
    return ad_draft_dequantised(node, &from, out, err);
}

/* The operator's own attributes. Those that only these forms have must say nothing. */
static enum adaps_status keep_attributes(struct ad_node *node, Onnx__AttributeProto ***out,
                                         size_t *count, struct adaps_error *err)
{
    const Onnx__NodeProto *proto = node->proto;
    int64_t last;
    enum adaps_status status = ad_node_int(node, "channels_last", 0, &last, err);
    if (status == ADAPS_OK && last != 0)
        status = ad_node_fail(node, err, "channels in the last dimension are not supported");
    *out =
        ad_arena_alloc(&node->draft->arena, proto->n_attribute + 1, sizeof(Onnx__AttributeProto *));
    if (status == ADAPS_OK && !*out)
        status = ad_error_memory(err, "attributes", proto->n_attribute);
    *count = 0;
    for (size_t i = 0; i < proto->n_attribute && status == ADAPS_OK; i++)
        if (strcmp(proto->attribute[i]->name, "channels_last") != 0 &&
            strcmp(proto->attribute[i]->name, "opset") != 0)
            (*out)[(*count)++] = proto->attribute[i];
    return status;
}

/* QLinearConv and its kind. */
enum adaps_status ad_import_qlinear(struct ad_node *node, struct adaps_error *err)
{
    const struct qlinear *q = row_of(node->type);
    int n = q->operands < 0 ? (node->ninputs - q->first) / 3 : q->operands, value;
    Onnx__AttributeProto **attributes;
    size_t nattributes;
    if (n < 1 || n > MOST_OPERANDS || node->ninputs < q->first + 3 * n)
        return ad_node_fail(node, err, "%d inputs", node->ninputs);
    int *inputs = ad_arena_alloc(&node->draft->arena, (size_t)n + 1, sizeof *inputs);
    int32_t *types = ad_arena_alloc(&node->draft->arena, (size_t)n + 1, sizeof *types);
    if (!inputs || !types)
        return ad_error_memory(err, "operands", (size_t)n * sizeof *inputs);
    enum adaps_status status = keep_attributes(node, &attributes, &nattributes, err);
    for (int k = 0; k < n && status == ADAPS_OK; k++) {
        int at = q->first + 3 * k;
        if (!ad_node_has(node, at) || !ad_node_has(node, at + 1))
            return ad_node_fail(node, err, "input %d is missing", at);
        status = dequantise(node, node->inputs[at], node->inputs[at + 1], input_at(node, at + 2),
                            node->types[at], k == 1 ? weight_axis(node, q) : 0, &inputs[k], err);
        types[k] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    }
    if (status == ADAPS_OK && q->bias >= 0 && ad_node_has(node, q->bias)) {
        types[n] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
        status = add_bias(node, q, &inputs[n++], err);
    }
    if (status == ADAPS_OK)
        status =
            ad_import_as(node, q->core, attributes, nattributes, n, inputs, types, &value, err);
    bool bytes = ad_node_has(node, q->result);
    if (status == ADAPS_OK && !bytes && strcmp(q->core, "Gemm") != 0)
        status = ad_node_fail(node, err, "input %d is missing", q->result);
    if (status == ADAPS_OK && bytes)
        status = quantise(node, value, node->inputs[q->result], input_at(node, q->result + 1),
                          q->result + 1 < node->ninputs ? node->types[q->result + 1]
                                                        : node->types[q->first],
                          &value, err);
    return status;
}

/* --- operators that only move elements --- */

static const char *const movers[] = {"Concat",  "DepthToSpace", "Flatten",   "Identity",
                                     "MaxPool", "Reshape",      "Slice",     "SpaceToDepth",
                                     "Split",   "Squeeze",      "Transpose", "Unsqueeze"};

static bool is_bytes(const struct ad_draft_value *v)
{
    return !v->open && v->rank > 0 && (v->type == ADAPS_INT8 || v->type == ADAPS_UINT8);
}

/* The QuantizeLinear that makes a value; NULL: none does. */
static const struct ad_draft_op *maker_of(const struct ad_node *node, int k)
{
    const struct ad_draft_op *op = ad_node_input(node, k)->producer;
    return op && op->kind == AD_D_WHOLE && op->whole.kind == AD_WHOLE_QUANTIZE ? op : NULL;
}

bool ad_node_moves_bytes(const struct ad_node *node)
{
    bool moves = false;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        moves = moves || strcmp(node->type, movers[i]) == 0;
    const struct ad_draft_op *first = NULL;
    for (int k = 0; k < node->ninputs && moves; k++) {
        if (!ad_node_has(node, k))
            continue;
        if (ad_node_constant(node, k)) {
            moves = k > 0 && strcmp(node->type, "Concat") != 0;
            continue;
        }
        const struct ad_draft_op *maker = maker_of(node, k);
        first = first ? first : maker;
        moves = is_bytes(ad_node_input(node, k)) && maker && maker->ninputs == first->ninputs;
        for (int i = 1; moves && i < maker->ninputs; i++)
            moves = node->draft->values[maker->inputs[i]].constant &&
                    node->draft->values[maker->inputs[i]].constant ==
                        node->draft->values[first->inputs[i]].constant;
    }
    return moves && first;
}

/* Requires that it moves bytes: through floats, which are the same numbers. */
enum adaps_status ad_import_moved_bytes(struct ad_node *node, ad_import_fn *import,
                                        struct adaps_error *err)
{
    int32_t *types = ad_arena_alloc(&node->draft->arena, (size_t)node->ninputs + 1, sizeof *types);
    int32_t type = node->types[0];
    const struct ad_draft_op *maker = maker_of(node, 0);
    enum adaps_status status =
        types ? ADAPS_OK : ad_error_memory(err, "types", (size_t)node->ninputs * sizeof *types);
    for (int k = 0; k < node->ninputs && status == ADAPS_OK; k++) {
        types[k] = node->types[k];
        if (!ad_node_has(node, k) || ad_node_constant(node, k))
            continue;
        const struct ad_draft_op *from = maker_of(node, k);
        types[k] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
        status =
            dequantise(node, node->inputs[k], from->inputs[1],
                       from->ninputs > 2 ? from->inputs[2] : -1, type, 0, &node->inputs[k], err);
    }
    node->types = types;
    if (status == ADAPS_OK)
        status = import(node, err);
    for (size_t k = 0; k < node->proto->n_output && status == ADAPS_OK; k++) {
        const char *key = node->proto->output[k];
        const struct ad_name *name = *key ? ad_names_find(&node->draft->names, key) : NULL;
        int value = name ? name->value : -1;
        if (value < 0 || node->draft->values[value].constant ||
            node->draft->values[value].type != ADAPS_FLOAT32)
            continue;
        status = quantise(node, value, maker->inputs[1], maker->ninputs > 2 ? maker->inputs[2] : -1,
                          type, &value, err);
        if (status == ADAPS_OK)
            ad_node_set_output(node, k, value);
    }
    return status;
}
