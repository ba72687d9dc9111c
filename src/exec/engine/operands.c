/* What tasks read and write: regions of values, rows of the device's weight slices, and weights
 * that are packed once for several tasks. */
#include "exec/engine/internal.h"

#include <string.h>

struct ad_view ad_task_input(const struct ad_build *build, const struct ad_task *task, int k)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->inputs[k]],
                          ad_need(build->plan->graph, op, k, task->region));
}

struct ad_view ad_task_output(const struct ad_build *build, const struct ad_task *task)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->output], task->region);
}

static const struct ad_slice *slice_of(const struct ad_build *build, int weight, int64_t r0,
                                       int64_t r1)
{
    const struct ad_slices *slices = &build->plan->slices[build->device];
    for (int i = 0; i < slices->count; i++) {
        const struct ad_slice *s = &slices->items[i];
        if (s->weight == weight && s->row0 <= r0 && s->row1 >= r1)
            return s;
    }
    return NULL;
}

enum adaps_status ad_task_weight(const struct ad_build *build, int weight, int64_t r0, int64_t r1,
                                 int64_t rows, float *to, struct adaps_error *err)
{
    const struct ad_weight *w = &build->plan->graph->weights[weight];
    const struct ad_slice *slice = slice_of(build, weight, r0, r1);
    if (!slice)
        return ad_error_set(err, ADAPS_EINTERNAL,
                            "the plan has no slice with rows %lld:%lld of '%s'", (long long)r0,
                            (long long)r1, w->name);
    memset(to + (r1 - r0) * w->row_elements, 0,
           (size_t)((rows - (r1 - r0)) * w->row_elements) * sizeof *to);
    return build->weights->read(build->weights, slice, r0, r1, to, err);
}

enum adaps_status ad_task_weights(const struct ad_build *build, const struct ad_op *op, int64_t r0,
                                  int64_t r1, int64_t channels, float **kernel, float **bias,
                                  struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    struct ad_rows *rows = build->rows;
    size_t row = (size_t)graph->weights[op->weight].row_elements;
    size_t beside = op->bias >= 0 ? (size_t)graph->weights[op->bias].row_elements : 0;
    size_t count = (size_t)channels * row, bytes;
    bytes = (count + (size_t)channels * beside) * sizeof **kernel;
    if (bytes > rows->bytes) {
        ad_free(rows->data);
        *rows = (struct ad_rows){ad_alloc_aligned(bytes), bytes};
        if (!rows->data) {
            rows->bytes = 0;
            return ad_error_memory(err, "weights", bytes);
        }
    }
    *kernel = rows->data;
    *bias = op->bias >= 0 ? rows->data + count : NULL;
    enum adaps_status status = ad_task_weight(build, op->weight, r0, r1, channels, *kernel, err);
    if (status == ADAPS_OK && *bias)
        status = ad_task_weight(build, op->bias, r0, r1, channels, *bias, err);
    return status;
}

/* Whether the weights of both are packed alike. */
static bool packs_alike(const struct ad_graph *graph, const struct ad_op *a, const struct ad_op *b)
{
    const struct ad_window *v = &a->window, *w = &b->window;
    return a->kind == b->kind && a->weight == b->weight && a->bias == b->bias &&
           a->groups == b->groups && a->winograd == b->winograd && memcmp(v, w, sizeof *v) == 0 &&
           ad_task_choice(graph, a).kernels == ad_task_choice(graph, b).kernels;
}

struct ad_shared_weights *ad_shared_weights_new(const struct ad_graph *graph)
{
    struct ad_shared_weights *table = ad_calloc((size_t)graph->nops, sizeof *table);
    int *firsts = ad_calloc((size_t)graph->nweights, sizeof *firsts); /* op + 1 by weight */
    for (int i = 0; table && firsts && i < graph->nops; i++) {
        int weight = graph->ops[i].weight;
        int *first = weight < 0 ? NULL : &firsts[weight];
        table[i].first = i;
        if (first && *first == 0)
            *first = i + 1;
        if (first && packs_alike(graph, &graph->ops[i], &graph->ops[*first - 1]))
            table[i].first = *first - 1;
    }
    if (!firsts && table) {
        ad_free(table);
        table = NULL;
    }
    ad_free(firsts);
    return table;
}

struct ad_packed *ad_shared_weights_of(struct ad_shared_weights *table, int op, int64_t r0,
                                       int64_t r1, bool *found)
{
    struct ad_shared_weights *shared = &table[table[op].first];
    size_t i = 0;
    while (i < shared->count && (shared->items[i].r0 != r0 || shared->items[i].r1 != r1))
        i++;
    if (found)
        *found = i < shared->count;
    if (i == shared->count) {
        if (!ad_grow(&shared->items, shared->count, &shared->room, sizeof *shared->items))
            return NULL;
        shared->items[shared->count++] = (struct ad_packed_rows){.r0 = r0, .r1 = r1};
    }
    return &shared->items[i].packed;
}

void ad_shared_weights_free(struct ad_shared_weights *table, int nops)
{
    for (int i = 0; table && i < nops; i++)
        ad_free(table[i].items);
    ad_free(table);
}
