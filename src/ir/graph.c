#include "ir/graph.h"

#include <string.h>

void ad_graph_free(struct ad_graph *graph)
{
    if (!graph)
        return;
    ad_graph_drop_weights(graph);
    ad_arena_fini(&graph->arena);
    ad_free(graph);
}

const char *ad_op_kind_name(enum ad_op_kind kind)
{
    static const char *const names[AD_OP_COUNT] = {
        [AD_OP_CONV] = "Conv",
        [AD_OP_MAXPOOL] = "MaxPool",
        [AD_OP_AVGPOOL] = "AveragePool",
        [AD_OP_GAP] = "GlobalAveragePool",
        [AD_OP_FC] = "FC",
        [AD_OP_ADD] = "Add",
        [AD_OP_MUL] = "Mul",
        [AD_OP_UNARY] = "Unary",
        [AD_OP_CONCAT] = "Concat",
        [AD_OP_SOFTMAX] = "Softmax",
        [AD_OP_LRN] = "LRN",
        [AD_OP_PERMUTE] = "Permute",
        [AD_OP_RESHAPE] = "Reshape",
        [AD_OP_SUB] = "Sub",
        [AD_OP_DIV] = "Div",
        [AD_OP_SPACE_TO_DEPTH] = "SpaceToDepth",
        [AD_OP_MIN] = "Min",
        [AD_OP_MAX] = "Max",
        [AD_OP_POW] = "Pow",
        [AD_OP_PRELU] = "PRelu",
        [AD_OP_RESAMPLE] = "Resample",
        [AD_OP_DEPTH_TO_SPACE] = "DepthToSpace",
        [AD_OP_REDUCE] = "Reduce",
    };
    return (unsigned)kind < AD_OP_COUNT ? names[kind] : "?";
}

const char *ad_function_name(enum ad_function function)
{
    static const char *const names[AD_FN_COUNT] = {
        [AD_FN_NONE] = "",
        [AD_FN_LEAKY_RELU] = "LeakyRelu",
        [AD_FN_SIGMOID] = "Sigmoid",
        [AD_FN_SILU] = "SiLU",
        [AD_FN_HARD_SIGMOID] = "HardSigmoid",
        [AD_FN_HARD_SWISH] = "HardSwish",
        [AD_FN_ELU] = "Elu",
        [AD_FN_CELU] = "Celu",
        [AD_FN_SOFTPLUS] = "Softplus",
        [AD_FN_SOFTSIGN] = "Softsign",
        [AD_FN_MISH] = "Mish",
        [AD_FN_GELU] = "Gelu",
        [AD_FN_GELU_TANH] = "GeluTanh",
        [AD_FN_TANH] = "Tanh",
        [AD_FN_ERF] = "Erf",
        [AD_FN_EXP] = "Exp",
        [AD_FN_LOG] = "Log",
        [AD_FN_SQRT] = "Sqrt",
        [AD_FN_ABS] = "Abs",
        [AD_FN_NEG] = "Neg",
        [AD_FN_RECIPROCAL] = "Reciprocal",
        [AD_FN_THRESHOLDED_RELU] = "ThresholdedRelu",
        [AD_FN_FLOOR] = "Floor",
        [AD_FN_CEIL] = "Ceil",
    };
    return (unsigned)function < AD_FN_COUNT ? names[function] : "?";
}

bool ad_op_is_binary(const struct ad_op *op)
{
    switch (op->kind) {
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        return true;
    default:
        return false;
    }
}

bool ad_op_is_depthwise(const struct ad_graph *graph, const struct ad_op *op)
{
    return op->kind == AD_OP_CONV && op->groups == graph->values[op->inputs[0]].box.c;
}

bool ad_op_shuffles_channels(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *in = &graph->values[op->inputs[0]];
    const struct ad_value *out = &graph->values[op->output];
    const int64_t pixels[] = {in->box.n, in->box.h, in->box.w};
    if (op->kind != AD_OP_PERMUTE || in->format != AD_NHWC || out->format != AD_NHWC ||
        !ad_same_box(in, out) || op->view_rank < 4)
        return false;
    for (int i = 0; i < 3; i++)
        if (op->perm[i] != i || op->view_dims[i] != pixels[i])
            return false;
    return true;
}

const char *ad_graph_metadata(const struct ad_graph *graph, const char *key)
{
    for (const char **pair = graph->metadata; pair && *pair; pair += 2)
        if (strcmp(pair[0], key) == 0)
            return pair[1];
    return NULL;
}
