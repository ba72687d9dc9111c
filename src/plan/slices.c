/* Which rows of which weights a device needs. */
#include "plan/internal.h"

#include <stdlib.h>

static int compare_slices(const void *a, const void *b)
{
    const struct ad_slice *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    if (x->row0 != y->row0)
        return x->row0 < y->row0 ? -1 : 1;
    return (x->row1 > y->row1) - (x->row1 < y->row1);
}

/* What one task takes: at most 2 + ninputs slices, into out; returns how many. */
static size_t task_slices(const struct ad_graph *graph, const struct ad_task *task,
                          struct ad_slice *out)
{
    const struct ad_op *op = &graph->ops[task->op];
    size_t n = 0;
    int64_t r0, r1;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    if (r0 < r1 && op->weight >= 0)
        out[n++] = (struct ad_slice){.weight = op->weight, .row0 = r0, .row1 = r1};
    if (r0 < r1 && op->bias >= 0)
        out[n++] = (struct ad_slice){.weight = op->bias, .row0 = r0, .row1 = r1};
    for (int k = 0; k < op->ninputs; k++) {
        int constant = graph->values[op->inputs[k]].constant;
        if (constant >= 0)
            out[n++] = (struct ad_slice){.weight = constant, .row0 = 0, .row1 = 1};
    }
    return n;
}

enum adaps_status ad_slices_find(const struct ad_graph *graph, const struct ad_schedule *first,
                                 const struct ad_stream *stream, int device, struct ad_slices *out,
                                 struct adaps_error *err)
{
    size_t room = 0, count = 0, distinct = 0;
    out->items = NULL;
    out->count = 0;
    for (int t = 0; t < stream->nturns; t++) {
        const struct ad_program *program = &ad_stream_turn(stream, first, t)->programs[device];
        for (int i = 0; i < program->ntasks; i++)
            room += 2 + (size_t)graph->ops[program->tasks[i].op].ninputs;
    }
    if (room > AD_PLAN_MAX_OPERANDS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the tasks of one device read %zu operands: at most %d", room,
                            AD_PLAN_MAX_OPERANDS);
    struct ad_slice *items = ad_calloc(room, sizeof *items);
    if (!items)
        return ad_error_memory(err, "weight slices", room * sizeof *items);
    for (int t = 0; t < stream->nturns; t++) {
        const struct ad_program *program = &ad_stream_turn(stream, first, t)->programs[device];
        for (int i = 0; i < program->ntasks; i++)
            count += task_slices(graph, &program->tasks[i], items + count);
    }
    qsort(items, count, sizeof *items, compare_slices);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_slices(&items[i], &items[distinct - 1]) != 0)
            items[distinct++] = items[i];
    out->items = items;
    out->count = (int)distinct;
    return ADAPS_OK;
}

uint64_t ad_slice_bytes(const struct adaps_plan *plan, const struct ad_slice *slice)
{
    uint64_t row = (uint64_t)plan->graph->weights[slice->weight].row_elements;
    return (uint64_t)(slice->row1 - slice->row0) * row * sizeof(float);
}
