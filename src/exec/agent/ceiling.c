#include "exec/agent/ceiling.h"
#include "base/units.h"
#include "exec/engine/internal.h"

#include <inttypes.h>

#define FIXED_BYTES ((double)(16 << 20))    /* threads, sockets, descriptions of operators */
#define UNPACKED_BYTES ((double)(64 << 20)) /* at most, of weights that are being packed */

/* Counted in double, in which nothing overflows. */
struct count {
    const struct adaps_plan *plan;
    int device, threads;
    size_t slice;
    struct ad_buffer *buffers;
    struct ad_shared_weights *shared;
    double packed, scratch, messages;
};

static double ends_of(const struct adaps_plan *plan)
{
    const struct ad_graph *graph = plan->graph;
    return (double)(ad_values_elements(graph, graph->inputs, graph->ninputs) +
                    ad_values_elements(graph, graph->outputs, graph->noutputs)) *
           sizeof(float);
}

/* What a turn's program takes beside its buffers. */
static enum adaps_status count_turn(struct count *c, int turn, struct adaps_error *err)
{
    const struct ad_graph *graph = c->plan->graph;
    const struct ad_program *program = &ad_plan_turn(c->plan, turn)->programs[c->device];
    int flights = ad_stream_most(&c->plan->stream, turn), nticks;
    int buffered = ad_stream_buffered(&c->plan->stream, &c->plan->schedule, turn, c->device);
    bool source = c->device == c->plan->cluster.source;
    double most = 0, moved = 0;
    enum adaps_status status =
        ad_buffers_find(graph, program, source, source, NULL, NULL, c->buffers, &nticks, err);
    for (int t = 0; t < program->ntasks && status == ADAPS_OK; t++) {
        struct ad_scratch scratch;
        const struct ad_task *task = &program->tasks[t];
        status = ad_task_scratch(graph, c->buffers, task, c->threads, &scratch, err);
        if (status != ADAPS_OK)
            break;
        double bytes = (double)scratch.in_bytes + (double)scratch.out_bytes;
        most = bytes > most ? bytes : most;
        c->packed += ad_task_bytes(graph, task, c->slice, c->shared);
    }
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind != AD_STEP_COMPUTE)
            moved += (double)ad_region_bytes(graph, step->value, step->region);
    }
    c->scratch += buffered * most;
    c->messages += flights * moved;
    return status;
}

/* Of the device's slices. */
static double largest_slice(const struct adaps_plan *plan, int device)
{
    const struct ad_slices *slices = &plan->slices[device];
    double largest = 0;
    for (int i = 0; i < slices->count; i++) {
        double bytes = (double)ad_slice_bytes(plan, &slices->items[i]);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

enum adaps_status ad_ceiling_find(const struct adaps_plan *plan, int device, int threads,
                                  struct ad_ceiling *out, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    size_t nvalues = (size_t)graph->nvalues;
    int64_t planned[AD_MAX_DEVICES], weights[AD_MAX_DEVICES];
    double largest = largest_slice(plan, device);
    struct count c = {.plan = plan,
                      .device = device,
                      .threads = threads,
                      .slice = ad_task_slice_bytes(NULL),
                      .buffers = ad_calloc(nvalues, sizeof *c.buffers),
                      .shared = ad_shared_weights_new(graph)};
    enum adaps_status status = c.buffers && c.shared
                                   ? ad_stream_memory(graph, &plan->cluster, &plan->schedule,
                                                      &plan->stream, planned, weights, err)
                                   : ad_error_memory(err, "session", nvalues * sizeof *c.buffers);
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++)
        status = count_turn(&c, t, err);
    if (status == ADAPS_OK) {
        double all = (double)planned[device], packing = c.packed - (double)weights[device];
        all += packing > 0 ? packing : 0;
        all += c.scratch + c.messages + FIXED_BYTES;
        all += largest < UNPACKED_BYTES ? largest : UNPACKED_BYTES;
        if (device == plan->cluster.source)
            all += (plan->stream.frames + 1) * ends_of(plan);
        *out =
            (struct ad_ceiling){(uint64_t)planned[device], all < 1e18 ? (uint64_t)all : UINT64_MAX};
    }
    ad_free(c.buffers);
    ad_shared_weights_free(c.shared, graph->nops);
    return status;
}

enum adaps_status ad_ceiling_check(const struct adaps_plan *plan, int device, int threads,
                                   uint64_t left, struct adaps_error *err)
{
    struct ad_ceiling ceiling;
    char needed[32], given[32];
    uint64_t memory = plan->cluster.devices[device].memory;
    enum adaps_status status = ad_ceiling_find(plan, device, threads, &ceiling, err);
    if (status != ADAPS_OK)
        return status;
    ad_format_bytes((double)ceiling.planned, needed, sizeof needed);
    if (memory > 0 && ceiling.planned > memory)
        return ad_error_set(
            err, ADAPS_EAGENT,
            "the plan takes %s of memory here, more than the %s of its devices file", needed,
            ad_format_bytes((double)memory, given, sizeof given));
    ad_format_bytes((double)ceiling.bytes, needed, sizeof needed);
    if (ceiling.bytes > left)
        return ad_error_set(err, ADAPS_EAGENT,
                            "the session takes up to %s of memory here, and %s are left for it",
                            needed, ad_format_bytes((double)left, given, sizeof given));
    return ADAPS_OK;
}
