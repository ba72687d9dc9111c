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
