/* Where values lie: hulls, lives, one arena, and parts of buffers as views and spans. */
#include "exec/engine/internal.h"
#include "exec/engine/memory.h"

#include <string.h>

/* --- hulls and lives --- */

/* Where a region lies in the buffer's box: a band of what passes from row 0 on. */
static struct ad_region held(const struct ad_buffer *b, struct ad_region region)
{
    if (b->passing) {
        region.h1 -= region.h0;
        region.h0 = 0;
    }
    return region;
}

static void touch(const struct ad_graph *graph, struct ad_buffer *buffers, int value,
                  struct ad_region region, int tick)
{
    struct ad_buffer *b = &buffers[value];
    if (ad_region_empty(region) || graph->values[value].constant >= 0)
        return;
    region = held(b, region);
    if (ad_region_empty(b->box)) {
        b->box = region;
        b->first = tick;
        b->last = tick;
        return;
    }
    b->box = ad_region_hull(b->box, region);
    b->last = tick;
}

/* Task t of a program: a fused one reads its inputs when the next one runs, and that does not read
 * its result. */
static void touch_task(const struct ad_graph *graph, struct ad_buffer *buffers,
                       const struct ad_task *tasks, const bool *fused, int t, int tick)
{
    const struct ad_op *op = &graph->ops[tasks[t].op];
    bool first = fused && fused[t];
    int nowhere = fused && t > 0 && fused[t - 1] ? graph->ops[tasks[t - 1].op].output : -1;
    for (int k = 0; k < op->ninputs; k++)
        if (op->inputs[k] != nowhere)
            touch(graph, buffers, op->inputs[k], ad_need(graph, op, k, tasks[t].region),
                  first ? tick + 1 : tick);
    if (!first)
        touch(graph, buffers, op->output, tasks[t].region, tick);
}

/* What each buffer holds. */
static void settle(const struct ad_graph *graph, struct ad_buffer *buffers)
{
    for (int v = 0; v < graph->nvalues; v++) {
        struct ad_buffer *b = &buffers[v];
        b->lies = b->root < 0 ? b->box : buffers[b->root].box;
        b->lies.c0 -= (int32_t)b->shift;
        b->lies.c1 -= (int32_t)b->shift;
    }
}

/* Whether a buffer has memory of its own in the arena. */
static bool is_placed(const struct ad_graph *graph, const struct ad_buffer *buffers, int value)
{
    return !ad_region_empty(buffers[value].box) && graph->values[value].constant < 0 &&
           buffers[value].root < 0;
}

enum adaps_status ad_buffers_find(const struct ad_graph *graph, const struct ad_program *program,
                                  bool inputs, bool outputs, const bool *fused, const bool *passing,
                                  struct ad_buffer *buffers, int *nticks, struct adaps_error *err)
{
    int tick = 0;
    if (program->ntasks > INT32_MAX - program->nsteps)
        return ad_error_set(err, ADAPS_EINTERNAL, "%d steps and %d tasks are too many",
                            program->nsteps, program->ntasks);
    for (int i = 0; i < graph->nvalues; i++)
        buffers[i] = (struct ad_buffer){.n = graph->values[i].box.n,
                                        .unit = ad_value_unit(&graph->values[i]),
                                        .root = -1,
                                        .passing = passing && passing[i]};
    for (int i = 0; inputs && i < graph->ninputs; i++)
        touch(graph, buffers, graph->inputs[i], ad_region_whole(&graph->values[graph->inputs[i]]),
              -1);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind != AD_STEP_COMPUTE)
            touch(graph, buffers, step->value, step->region, tick++);
        else
            for (int t = 0; t < step->ntasks; t++)
                touch_task(graph, buffers, program->tasks, fused, step->first_task + t, tick++);
    }
    for (int i = 0; outputs && i < graph->noutputs; i++)
        touch(graph, buffers, graph->outputs[i], ad_region_whole(&graph->values[graph->outputs[i]]),
              tick);
    *nticks = tick;
    enum adaps_status status = ad_alias_find(graph, program, buffers, err);
    if (status == ADAPS_OK)
        settle(graph, buffers);
    return status;
}

/* --- the arena --- */

static enum adaps_status buffer_bytes(const struct ad_buffer *b, const char *name, size_t *bytes,
                                      struct adaps_error *err)
{
    if (!ad_size_mul((size_t)ad_region_elements(b->lies), (size_t)b->n, bytes) ||
        !ad_size_mul(*bytes, (size_t)b->unit, bytes))
        return ad_error_set(err, ADAPS_EINTERNAL, "value '%s' exceeds the address space", name);
    return ADAPS_OK;
}

/* Blocks in the order buffers, scratch in, scratch out; absent ones are left out. */
static enum adaps_status list_blocks(const struct ad_graph *graph, const struct ad_program *program,
                                     const struct ad_buffer *buffers,
                                     const struct ad_scratch *scratch, struct ad_extent *blocks,
                                     size_t *count, struct adaps_error *err)
{
    *count = 0;
    for (int i = 0; i < graph->nvalues; i++) {
        if (!is_placed(graph, buffers, i))
            continue;
        struct ad_extent *block = &blocks[(*count)++];
        *block = (struct ad_extent){.first = buffers[i].first, .last = buffers[i].last};
        enum adaps_status status =
            buffer_bytes(&buffers[i], graph->values[i].name, &block->bytes, err);
        if (status != ADAPS_OK)
            return status;
    }
    int tick = 0;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind != AD_STEP_COMPUTE) {
            tick++;
            continue;
        }
        for (int t = step->first_task; t < step->first_task + step->ntasks; t++, tick++) {
            if (scratch[t].in_bytes)
                blocks[(*count)++] = (struct ad_extent){scratch[t].in_bytes, tick, tick, 0};
            if (scratch[t].out_bytes)
                blocks[(*count)++] = (struct ad_extent){scratch[t].out_bytes, tick, tick, 0};
        }
    }
    return ADAPS_OK;
}

static void point(const struct ad_graph *graph, const struct ad_program *program,
                  struct ad_buffer *buffers, struct ad_scratch *scratch,
                  const struct ad_extent *blocks, char *arena)
{
    size_t next = 0;
    for (int i = 0; i < graph->nvalues; i++)
        if (is_placed(graph, buffers, i))
            buffers[i].data = (float *)(arena + blocks[next++].offset);
    for (int i = 0; i < graph->nvalues; i++)
        if (buffers[i].root >= 0)
            buffers[i].data = buffers[buffers[i].root].data;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        int n = step->kind == AD_STEP_COMPUTE ? step->ntasks : 0;
        for (int t = step->first_task; t < step->first_task + n; t++) {
            if (scratch[t].in_bytes)
                scratch[t].in = (float *)(arena + blocks[next++].offset);
            if (scratch[t].out_bytes)
                scratch[t].out = (float *)(arena + blocks[next++].offset);
        }
    }
}

enum adaps_status ad_buffers_place(const struct ad_graph *graph, const struct ad_program *program,
                                   struct ad_buffer *buffers, struct ad_scratch *scratch,
                                   float **arena, size_t *bytes, struct adaps_error *err)
{
    size_t room = (size_t)graph->nvalues + 2 * (size_t)program->ntasks;
    size_t count;
    struct ad_extent *blocks = ad_calloc(room, sizeof *blocks);
    if (!blocks)
        return ad_error_memory(err, "arena plan", room * sizeof *blocks);
    enum adaps_status status = list_blocks(graph, program, buffers, scratch, blocks, &count, err);
    if (status == ADAPS_OK)
        status = ad_memory_plan(blocks, count, AD_XNN_SLACK, bytes, err);
    if (status == ADAPS_OK) {
        *arena = ad_alloc_aligned(*bytes);
        if (*arena) {
            memset(*arena, 0, *bytes); /* its pages come now, not in the first inference */
            point(graph, program, buffers, scratch, blocks, (char *)*arena);
        } else {
            status = ad_error_memory(err, "activations", *bytes);
        }
    }
    ad_free(blocks);
    return status;
}

/* --- parts --- */

struct ad_view ad_buffer_view(const struct ad_buffer *buffer, struct ad_region region)
{
    const struct ad_region *box = &buffer->lies;
    region = held(buffer, region);
    int64_t sw = box->c1 - box->c0, sh = sw * (box->w1 - box->w0), sn = sh * (box->h1 - box->h0);
    int64_t first = (region.h0 - box->h0) * sh + (region.w0 - box->w0) * sw + (region.c0 - box->c0);
    return (struct ad_view){
        .data = buffer->data ? ad_element_at(buffer->data, buffer->unit == 1, first) : NULL,
        .n = buffer->n,
        .h = region.h1 - region.h0,
        .w = region.w1 - region.w0,
        .c = region.c1 - region.c0,
        .sn = sn,
        .sh = sh,
        .sw = sw,
        .bytes = buffer->unit == 1,
    };
}

enum adaps_status ad_buffer_spans(const struct ad_buffer *buffer, struct ad_region region,
                                  struct ad_span_list *out, struct adaps_error *err)
{
    *out = (struct ad_span_list){.count = 0};
    if (ad_region_empty(region))
        return ADAPS_OK;
    struct ad_view v = ad_buffer_view(buffer, region);
    struct ad_elementwise nest = ad_elementwise_views(AD_ELEMENTWISE_COPY, &v, &v, NULL);
    int last = nest.rank - 1;
    if (nest.stride[0][last] != 1 && nest.count[last] > 1) { /* single elements apart */
        nest.count[nest.rank] = 1;
        nest.stride[0][nest.rank] = 1;
        last = nest.rank++;
    }
    size_t count = 1;
    for (int d = 0; d < last - 1; d++)
        count *= (size_t)nest.count[d];
    out->spans = ad_calloc(count, sizeof *out->spans);
    if (!out->spans)
        return ad_error_memory(err, "message", count * sizeof *out->spans);
    out->count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int64_t offset = 0, rest = (int64_t)i;
        for (int d = last - 2; d >= 0; rest /= nest.count[d], d--)
            offset += rest % nest.count[d] * nest.stride[0][d];
        out->spans[i] = (struct ad_span){
            .base = ad_view_at(&v, offset),
            .runs = last > 0 ? (size_t)nest.count[last - 1] : 1,
            .run_bytes = (size_t)(nest.count[last] * buffer->unit),
            .run_stride = last > 0 ? (size_t)(nest.stride[0][last - 1] * buffer->unit) : 0,
        };
    }
    return ADAPS_OK;
}
