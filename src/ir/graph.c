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

const char *ad_graph_metadata(const struct ad_graph *graph, const char *key)
{
    for (const char **pair = graph->metadata; pair && *pair; pair += 2)
        if (strcmp(pair[0], key) == 0)
            return pair[1];
    return NULL;
}

/* Words of so many elements of a type. */
static int64_t words_of(enum adaps_type type, int64_t elements)
{
    return (elements * (int64_t)ad_type_bytes(type) + 3) / 4;
}

static int64_t even(int64_t words)
{
    return words + words % 2;
}

struct ad_box ad_box_of(const struct ad_value *value)
{
    const int64_t *dims = value->dims;
    if (value->format == AD_NHWC)
        return (struct ad_box){dims[0], dims[2], dims[3], dims[1]};
    if (value->rank == 2 && ad_value_is_dense(value))
        return (struct ad_box){dims[0], 1, 1, dims[1]};
    int64_t elements = 1;
    for (int i = 0; i < value->rank; i++)
        elements *= dims[i];
    if (ad_value_is_dense(value))
        return (struct ad_box){1, 1, 1, elements};
    int64_t words = words_of(value->type, elements);
    return (struct ad_box){1, 1, 1, value->open ? even(words) + 2 * value->rank : words};
}

int64_t ad_value_dims_word(const struct ad_value *value)
{
    return value->box.c - 2 * value->rank;
}

struct ad_array ad_value_array(const struct ad_value *value)
{
    struct ad_array array = {.type = value->type, .rank = value->rank, .open = value->open};
    memcpy(array.dims, value->dims, sizeof array.dims);
    return array;
}

#define WORK_INPUTS 8 /* the work of operators with more inputs depends on the first ones alone */

double ad_op_work(const struct ad_graph *graph, const struct ad_op *op)
{
    struct ad_array inputs[WORK_INPUTS];
    struct ad_array out = ad_value_array(&graph->values[op->output]);
    int n = op->ninputs < WORK_INPUTS ? op->ninputs : WORK_INPUTS;
    for (int k = 0; k < n; k++)
        inputs[k] = ad_value_array(&graph->values[op->inputs[k]]);
    return ad_whole_work(&op->whole, inputs, n, &out);
}
