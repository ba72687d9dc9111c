#include "ir/concat.h"
#include "base/mem.h"

/* Whether the op takes or makes the value as one row of floats, not as pixels at a distance. */
static bool wants_dense(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = &graph->values[op->output];
    if (out->format != AD_NHWC || op->kind == AD_OP_FC)
        return true;
    if (op->kind == AD_OP_PERMUTE)
        return !ad_op_shuffles_channels(graph, op);
    return op->kind == AD_OP_RESHAPE && !ad_same_box(&graph->values[op->inputs[0]], out);
}

void ad_concats_movable(const struct ad_graph *graph, bool *movable)
{
    for (int v = 0; v < graph->nvalues; v++)
        movable[v] = graph->values[v].format == AD_NHWC && graph->values[v].producer >= 0;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        if (!wants_dense(graph, op))
            continue;
        movable[op->output] = false;
        for (int k = 0; k < op->ninputs; k++)
            movable[op->inputs[k]] = false;
    }
}

/* Whether the result is its inputs and nothing else. */
static bool is_plain(const struct ad_graph *graph, const struct ad_op *op)
{
    return op->kind == AD_OP_CONCAT && graph->values[op->output].format == AD_NHWC &&
           ad_op_is_bare(op);
}

/* Where a concatenation's result begins: in which value, and at which of its channels. */
static struct ad_place result_of(const struct ad_op *op, const struct ad_place *places)
{
    const struct ad_place *out = &places[op->output];
    return (struct ad_place){out->root >= 0 ? out->root : op->output, out->shift};
}

/* The result of a concatenation whose inputs all lie in a row in one value already (a longer
 * concatenation) lies there, too. */
static void join(const struct ad_graph *graph, const struct ad_op *op, struct ad_place *places)
{
    struct ad_place first = places[op->inputs[0]];
    int64_t offset = 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_place *in = &places[op->inputs[k]];
        if (first.root < 0 || in->root != first.root || in->shift != first.shift + offset)
            return;
        offset += graph->values[op->inputs[k]].box.c;
    }
    places[op->output] = first;
}

void ad_concats_place(const struct ad_graph *graph, const bool *joins, const bool *movable,
                      struct ad_place *places)
{
    for (int v = 0; v < graph->nvalues; v++)
        places[v] = (struct ad_place){.root = -1};
    for (int i = graph->nops - 1; i >= 0; i--) { /* what reads a value comes before what makes it */
        const struct ad_op *op = &graph->ops[i];
        if (!is_plain(graph, op) || (joins && !joins[i]))
            continue;
        if (places[op->output].root < 0 && movable[op->output])
            join(graph, op, places);
        struct ad_place part = result_of(op, places);
        for (int k = 0; k < op->ninputs; k++) {
            int in = op->inputs[k];
            if (movable[in] && places[in].root < 0)
                places[in] = part;
            part.shift += graph->values[in].box.c;
        }
    }
}

enum adaps_status ad_concats_mark(struct ad_graph *graph, struct adaps_error *err)
{
    size_t n = (size_t)graph->nvalues;
    bool *movable = ad_calloc(n, sizeof *movable);
    struct ad_place *places = ad_calloc(n, sizeof *places);
    enum adaps_status status =
        movable && places ? ADAPS_OK : ad_error_memory(err, "graph", n * sizeof *places);
    if (status == ADAPS_OK) {
        ad_concats_movable(graph, movable);
        ad_concats_place(graph, NULL, movable, places);
    }
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        struct ad_op *op = &graph->ops[i];
        op->placed = 0;
        if (!is_plain(graph, op))
            continue;
        struct ad_place part = result_of(op, places);
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_place *in = &places[op->inputs[k]];
            int64_t channels = graph->values[op->inputs[k]].box.c;
            if (in->root == part.root && in->shift == part.shift)
                op->placed += channels;
            part.shift += channels;
        }
    }
    ad_free(movable);
    ad_free(places);
    return status;
}
