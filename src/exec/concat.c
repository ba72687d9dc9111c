/* Concatenations without copies: their inputs lie where they belong in the result, which their
 * producers write to with the distance of its pixels; what reads an input reads it there. */
#include "exec/engine_priv.h"
#include "fusion/rules.h"

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

/* The values that messages bring with other bits than their producers have. */
static void find_rounded(const struct ad_program *program, bool *rounded)
{
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_RECV && ad_encoding_lossy(step->encoding))
            rounded[step->value] = true;
    }
}

/* Which values may lie in another: pixels, computed or received here, of no op that wants them
 * dense. Inputs of the network are left where they are, and so is what arrives rounded: others may
 * have written exact elements there. */
static void find_movable(const struct ad_graph *graph, const struct ad_buffer *buffers,
                         const bool *rounded, bool *movable)
{
    for (int v = 0; v < graph->nvalues; v++)
        movable[v] = graph->values[v].format == AD_NHWC && graph->values[v].constant < 0 &&
                     !ad_region_empty(buffers[v].box) && !rounded[v];
    for (int i = 0; i < graph->ninputs; i++)
        movable[graph->inputs[i]] = false;
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

/* The result of a concatenation whose inputs all lie in a row in one value already (a longer
 * concatenation) lies there, too. */
static void join(const struct ad_graph *graph, const struct ad_op *op, struct ad_buffer *buffers)
{
    int root = buffers[op->inputs[0]].root;
    int64_t start = buffers[op->inputs[0]].shift, offset = 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_buffer *in = &buffers[op->inputs[k]];
        if (root < 0 || in->root != root || in->shift != start + offset)
            return;
        offset += graph->values[op->inputs[k]].box.c;
    }
    buffers[op->output].root = root;
    buffers[op->output].shift = start;
}

/* Inputs of a concatenation that lie nowhere else yet. */
static void move_inputs(const struct ad_graph *graph, const struct ad_op *op, const bool *movable,
                        struct ad_buffer *buffers)
{
    const struct ad_buffer *out = &buffers[op->output];
    int root = out->root >= 0 ? out->root : op->output;
    int64_t shift = out->shift;
    for (int k = 0; k < op->ninputs; k++) {
        struct ad_buffer *in = &buffers[op->inputs[k]];
        if (movable[op->inputs[k]] && in->root < 0) {
            in->root = root;
            in->shift = shift;
        }
        shift += graph->values[op->inputs[k]].box.c;
    }
}

/* What lies in a value makes it larger, and live longer. */
static void grow_roots(const struct ad_graph *graph, struct ad_buffer *buffers)
{
    for (int v = 0; v < graph->nvalues; v++) {
        if (buffers[v].root < 0)
            continue;
        struct ad_buffer *root = &buffers[buffers[v].root];
        struct ad_region part = buffers[v].box;
        part.c0 += (int32_t)buffers[v].shift;
        part.c1 += (int32_t)buffers[v].shift;
        root->box = ad_region_hull(root->box, part);
        root->first = buffers[v].first < root->first ? buffers[v].first : root->first;
        root->last = buffers[v].last > root->last ? buffers[v].last : root->last;
    }
}

enum adaps_status ad_concats_find(const struct adaps_plan *plan, int device,
                                  struct ad_buffer *buffers, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    const struct ad_program *program = &plan->schedule.programs[device];
    size_t nvalues = (size_t)graph->nvalues, nops = (size_t)graph->nops;
    bool *movable = ad_calloc(nvalues, sizeof *movable), *here = ad_calloc(nops, sizeof *here);
    bool *rounded = ad_calloc(nvalues, sizeof *rounded);
    enum adaps_status status = ADAPS_OK;
    if (!movable || !here || !rounded) {
        status = ad_error_memory(err, "program", 2 * nvalues + nops);
        goto out;
    }
    find_rounded(program, rounded);
    find_movable(graph, buffers, rounded, movable);
    for (int t = 0; t < program->ntasks; t++)
        here[program->tasks[t].op] |= !ad_region_empty(program->tasks[t].region);
    for (int i = graph->nops - 1; i >= 0; i--) { /* what reads a value comes before what makes it */
        const struct ad_op *op = &graph->ops[i];
        if (!here[i] || !is_plain(graph, op) || rounded[op->output])
            continue;
        if (buffers[op->output].root < 0 && movable[op->output])
            join(graph, op, buffers);
        move_inputs(graph, op, movable, buffers);
    }
    grow_roots(graph, buffers);
out:
    ad_free(movable);
    ad_free(rounded);
    ad_free(here);
    return status;
}
