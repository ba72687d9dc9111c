/* Assignments, steps and schedules as data. */
#include "schedule/internal.h"

#include <string.h>

const char *ad_order_name(enum ad_order order)
{
    static const char *const names[AD_ORDERS] = {[AD_ORDER_GRAPH] = "graph",
                                                 [AD_ORDER_READY] = "ready",
                                                 [AD_ORDER_PIECES] = "pieces",
                                                 [AD_ORDER_EDGES] = "edges",
                                                 [AD_ORDER_CORES] = "cores"};
    return names[order];
}

enum adaps_status ad_assignment_init(struct ad_assignment *out, int nops, int ndevices,
                                     struct adaps_error *err)
{
    size_t count;
    *out = (struct ad_assignment){.nops = nops, .ndevices = ndevices, .hub = -1};
    if (nops < 0 || ndevices < 1 || !ad_size_mul((size_t)nops, (size_t)ndevices, &count))
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment of %d ops to %d devices", nops,
                            ndevices);
    out->region = ad_calloc(count, sizeof *out->region);
    out->early = ad_calloc((size_t)nops, sizeof *out->early);
    out->encoding = ad_calloc((size_t)ndevices * (size_t)ndevices, sizeof *out->encoding);
    if (out->region && out->early && out->encoding)
        return ADAPS_OK;
    ad_assignment_fini(out);
    return ad_error_memory(err, "assignment", count);
}

void ad_assignment_fini(struct ad_assignment *assignment)
{
    ad_free(assignment->region);
    ad_free(assignment->early);
    ad_free(assignment->encoding);
    *assignment = (struct ad_assignment){0};
}

bool ad_assignment_same(const struct ad_assignment *a, const struct ad_assignment *b)
{
    size_t nops = (size_t)a->nops, count = nops * (size_t)a->ndevices;
    return a->hub == b->hub && a->u8 == b->u8 && a->input_chunks == b->input_chunks &&
           a->band_chunks == b->band_chunks && a->order == b->order &&
           memcmp(a->early, b->early, nops * sizeof *a->early) == 0 &&
           memcmp(a->encoding, b->encoding, (size_t)a->ndevices * (size_t)a->ndevices) == 0 &&
           memcmp(a->region, b->region, count * sizeof *a->region) == 0;
}

void ad_assignment_copy(const struct ad_assignment *from, struct ad_assignment *to)
{
    size_t nops = (size_t)from->nops, count = nops * (size_t)from->ndevices;
    to->hub = from->hub;
    to->u8 = from->u8;
    to->input_chunks = from->input_chunks;
    to->band_chunks = from->band_chunks;
    to->order = from->order;
    memcpy(to->early, from->early, nops * sizeof *to->early);
    memcpy(to->region, from->region, count * sizeof *to->region);
    memcpy(to->encoding, from->encoding, (size_t)from->ndevices * (size_t)from->ndevices);
}

void ad_assignment_put_in_order(struct ad_assignment *a)
{
    a->order = AD_ORDER_GRAPH;
    a->input_chunks = a->band_chunks = 0;
    memset(a->early, 0, (size_t)a->nops * sizeof *a->early);
}

void ad_assignment_encode(struct ad_assignment *a, enum ad_encoding encoding)
{
    memset(a->encoding, (int)encoding, (size_t)a->ndevices * (size_t)a->ndevices);
}

enum adaps_status ad_assignment_check(const struct ad_graph *graph,
                                      const struct ad_cluster *cluster,
                                      const struct ad_assignment *assignment,
                                      struct adaps_error *err)
{
    int n = assignment->ndevices;
    if (assignment->nops != graph->nops || n != cluster->ndevices)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: %d ops and %d devices for %d and %d",
                            assignment->nops, n, graph->nops, cluster->ndevices);
    if (assignment->hub < -1 || assignment->hub >= n)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: hub %d of %d devices",
                            assignment->hub, n);
    if (assignment->band_chunks < 0 || assignment->band_chunks > AD_MAX_CHUNKS)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: bands in %d chunks",
                            assignment->band_chunks);
    for (int i = 0; i < n * n; i++)
        if (assignment->encoding[i] >= AD_ENCODINGS || assignment->encoding[i] == AD_ENCODING_U8)
            return ad_error_set(err, ADAPS_EINTERNAL, "assignment: a link of encoding %u",
                                assignment->encoding[i]);
    if (assignment->input_chunks < 0 || assignment->input_chunks > AD_MAX_CHUNKS)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: inputs in %d chunks",
                            assignment->input_chunks);
    for (int i = 0; i < graph->nops; i++)
        for (int d = 0; d < n; d++) {
            struct ad_region r = assignment->region[(size_t)i * (size_t)n + (size_t)d];
            if (!ad_region_allowed(graph, &graph->ops[i], r)) {
                char text[96];
                return ad_error_set(
                    err, ADAPS_EINTERNAL, "assignment: %s may not compute %s of %s",
                    cluster->devices[d].name,
                    ad_region_format(r, ad_region_whole(&graph->values[graph->ops[i].output]), text,
                                     sizeof text),
                    graph->ops[i].name);
            }
        }
    return ADAPS_OK;
}

int64_t ad_step_bytes(const struct ad_graph *graph, const struct ad_step *step)
{
    const struct ad_value *value = &graph->values[step->value];
    int64_t elements = value->box.n * ad_region_elements(step->region);
    return ad_value_is_quantised(value) ? elements * ad_value_unit(value)
                                        : ad_encoding_bytes(step->encoding, elements);
}

int64_t ad_schedule_end_ns(const struct ad_schedule *schedule, int ndevices)
{
    int64_t last = schedule->makespan_ns > 0 ? schedule->makespan_ns : 1;
    for (int d = 0; d < ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++)
            if (schedule->programs[d].steps[i].end_ns > last)
                last = schedule->programs[d].steps[i].end_ns;
    return last;
}

void ad_schedule_fini(struct ad_schedule *schedule)
{
    ad_arena_fini(&schedule->arena);
    memset(schedule, 0, sizeof *schedule);
}
