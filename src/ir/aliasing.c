#include "ir/aliasing.h"
#include "base/mem.h"
#include "ir/operators.h"
#include "ir/quantised.h"

/* Whether the op takes and makes whole values as one row of floats, not as pixels at a distance. */
static bool wants_dense(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = &graph->values[op->output];
    if (out->format != AD_NHWC)
        return true;
    if (!ad_operator_of(op->kind)->rearranges)
        return false;
    return ad_kind_has(op->kind, AD_FIELD_VIEW) ? !ad_op_shuffles_channels(graph, op)
                                                : !ad_same_box(&graph->values[op->inputs[0]], out);
}

void ad_alias_movable(const struct ad_graph *graph, bool *movable)
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
    const struct ad_value *out = &graph->values[op->output];
    bool alike = ad_operator_of(op->kind)->in_place && out->format == AD_NHWC && ad_op_is_bare(op);
    for (int k = 0; k < op->ninputs && alike; k++) /* quantised ones may have to be converted */
        alike = ad_quantised_alike(&graph->values[op->inputs[k]], out);
    return alike;
}

/* Where a concatenation's result begins: in which value, and at which of its channels. */
static struct ad_alias result_of(const struct ad_op *op, const struct ad_alias *aliases)
{
    const struct ad_alias *out = &aliases[op->output];
    return (struct ad_alias){out->root >= 0 ? out->root : op->output, out->shift};
}

/* When all inputs of a concatenation already lie in one value, one after the other (they are parts
 * of a longer concatenation), its result lies in that value, too. */
static void join(const struct ad_graph *graph, const struct ad_op *op, struct ad_alias *aliases)
{
    struct ad_alias first = aliases[op->inputs[0]];
    int64_t offset = 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_alias *in = &aliases[op->inputs[k]];
        if (first.root < 0 || in->root != first.root || in->shift != first.shift + offset)
            return;
        offset += graph->values[op->inputs[k]].box.c;
    }
    aliases[op->output] = first;
}

void ad_alias_place(const struct ad_graph *graph, const bool *joins, const bool *movable,
                    struct ad_alias *aliases)
{
    for (int v = 0; v < graph->nvalues; v++)
        aliases[v] = (struct ad_alias){.root = -1};
    for (int i = graph->nops - 1; i >= 0; i--) { /* what reads a value comes before what makes it */
        const struct ad_op *op = &graph->ops[i];
        if (!is_plain(graph, op) || (joins && !joins[i]))
            continue;
        if (aliases[op->output].root < 0 && movable[op->output])
            join(graph, op, aliases);
        struct ad_alias part = result_of(op, aliases);
        for (int k = 0; k < op->ninputs; k++) {
            int in = op->inputs[k];
            if (movable[in] && aliases[in].root < 0)
                aliases[in] = part;
            part.shift += graph->values[in].box.c;
        }
    }
}

enum adaps_status ad_alias_mark(struct ad_graph *graph, struct adaps_error *err)
{
    size_t n = (size_t)graph->nvalues;
    bool *movable = ad_calloc(n, sizeof *movable);
    struct ad_alias *aliases = ad_calloc(n, sizeof *aliases);
    enum adaps_status status =
        movable && aliases ? ADAPS_OK : ad_error_memory(err, "graph", n * sizeof *aliases);
    if (status == ADAPS_OK) {
        ad_alias_movable(graph, movable);
        ad_alias_place(graph, NULL, movable, aliases);
    }
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        struct ad_op *op = &graph->ops[i];
        op->aliased = 0;
        if (!is_plain(graph, op))
            continue;
        struct ad_alias part = result_of(op, aliases);
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_alias *in = &aliases[op->inputs[k]];
            int64_t channels = graph->values[op->inputs[k]].box.c;
            if (in->root == part.root && in->shift == part.shift)
                op->aliased += channels;
            part.shift += channels;
        }
    }
    ad_free(movable);
    ad_free(aliases);
    return status;
}
