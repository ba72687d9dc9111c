/* Deep copies of graphs. */
#include "ir/graph.h"

#include <string.h>

/* n elements of size bytes into the arena; a unique pointer for none, NULL without memory. */
static void *copy_bytes(struct ad_arena *arena, const void *from, size_t n, size_t size)
{
    void *to = ad_arena_alloc(arena, n ? n : 1, size);
    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

static bool copy_ops(struct ad_arena *arena, struct ad_op *ops, int n)
{
    for (int i = 0; i < n; i++) {
        ops[i].name = ad_arena_strdup(arena, ops[i].name);
        ops[i].type = ad_arena_strdup(arena, ops[i].type);
        ops[i].nodes = NULL;
        ops[i].nnodes = 0;
        ops[i].inputs = copy_bytes(arena, ops[i].inputs, (size_t)ops[i].ninputs, sizeof(int));
        ops[i].whole.ints = copy_bytes(arena, ops[i].whole.ints, (size_t)ops[i].whole.nints,
                                       sizeof *ops[i].whole.ints);
        ops[i].whole.floats = copy_bytes(arena, ops[i].whole.floats, (size_t)ops[i].whole.nfloats,
                                         sizeof *ops[i].whole.floats);
        if (!ops[i].name || !ops[i].type || !ops[i].inputs || !ops[i].whole.ints ||
            !ops[i].whole.floats)
            return false;
    }
    return true;
}

static bool copy_metadata(struct ad_arena *arena, const char **from, const char ***to)
{
    size_t n = 0;
    *to = NULL;
    if (!from)
        return true;
    while (from[n])
        n++;
    const char **copy = ad_arena_alloc(arena, n + 1, sizeof *copy);
    if (!copy)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(copy[i] = ad_arena_strdup(arena, from[i])))
            return false;
    *to = copy;
    return true;
}

static bool copy_graph(const struct ad_graph *from, struct ad_graph *to)
{
    struct ad_arena *arena = &to->arena;
    to->nops = from->nops;
    to->nvalues = from->nvalues;
    to->nweights = from->nweights;
    to->ninputs = from->ninputs;
    to->noutputs = from->noutputs;
    /* weights first, and without data at once: ad_graph_free() must not free the original's */
    to->weights = ad_arena_alloc(arena, (size_t)from->nweights + 1, sizeof *to->weights);
    if (!to->weights) {
        to->nweights = 0;
        return false;
    }
    for (int i = 0; i < from->nweights; i++) {
        to->weights[i] = from->weights[i];
        to->weights[i].data = NULL;
        to->weights[i].recipe = NULL;
        to->weights[i].name = NULL;
    }
    for (int i = 0; i < from->nweights; i++)
        if (!(to->weights[i].name = ad_arena_strdup(arena, from->weights[i].name)))
            return false;
    to->name = ad_arena_strdup(arena, from->name ? from->name : "");
    to->ops = copy_bytes(arena, from->ops, (size_t)from->nops, sizeof *to->ops);
    to->values = copy_bytes(arena, from->values, (size_t)from->nvalues, sizeof *to->values);
    to->inputs = copy_bytes(arena, from->inputs, (size_t)from->ninputs, sizeof(int));
    to->outputs = copy_bytes(arena, from->outputs, (size_t)from->noutputs, sizeof(int));
    if (!to->name || !to->ops || !to->values || !to->inputs || !to->outputs)
        return false;
    for (int i = 0; i < from->nvalues; i++)
        if (!(to->values[i].name = ad_arena_strdup(arena, from->values[i].name)))
            return false;
    return copy_ops(arena, to->ops, to->nops) &&
           copy_metadata(arena, from->metadata, &to->metadata);
}

enum adaps_status ad_graph_copy(const struct ad_graph *graph, struct ad_graph **out,
                                struct adaps_error *err)
{
    struct ad_graph *copy = ad_calloc(1, sizeof *copy);
    if (!copy || !copy_graph(graph, copy)) {
        ad_graph_free(copy);
        return ad_error_memory(err, "copy of the graph", sizeof *copy);
    }
    *out = copy;
    return ADAPS_OK;
}
