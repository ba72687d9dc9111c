/* Plans in memory: made from a schedule, or from another plan. */
#include "plan/internal.h"
#include "ir/weight.h"

#include <limits.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

struct adaps_plan *ad_plan_alloc(int ndevices)
{
    struct adaps_plan *plan = ad_calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->slices = ad_calloc((size_t)ndevices, sizeof *plan->slices);
    plan->single_device = -1;
    plan->search_s = NAN;
    plan->stream = AD_STREAM_ONE;
    if (!plan->slices) {
        ad_free(plan);
        return NULL;
    }
    return plan;
}

void adaps_plan_free(struct adaps_plan *plan)
{
    if (!plan)
        return;
    for (int d = 0; plan->slices && d < plan->cluster.ndevices; d++)
        ad_free(plan->slices[d].items);
    ad_free(plan->slices);
    for (int i = 0; i < plan->nspares; i++)
        ad_spare_free(&plan->spares[i]);
    ad_free(plan->spares);
    ad_graph_free(plan->graph);
    ad_cluster_fini(&plan->cluster);
    ad_schedule_fini(&plan->schedule);
    ad_stream_fini(&plan->stream);
    ad_free(plan->model_path);
    ad_free(plan->plan_path);
    for (int t = 0; t < plan->nassignments; t++)
        ad_assignment_fini(&plan->assignment[t]);
    ad_free(plan->assignment);
    ad_free(plan);
}

enum adaps_status ad_plan_seal(struct adaps_plan *plan, struct adaps_error *err)
{
    void *data;
    size_t size;
    enum adaps_status status = ad_plan_pack(plan, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    plan->digest = ad_plan_digest(data, size);
    ad_free(data);
    return ADAPS_OK;
}

/* Makes all slices whole weights, which needs no numbers to digest. */
static void widen_slices(const struct ad_graph *graph, struct ad_slices *slices)
{
    int distinct = 0;
    for (int i = 0; i < slices->count; i++) {
        struct ad_slice s = slices->items[i];
        if (distinct > 0 && slices->items[distinct - 1].weight == s.weight)
            continue;
        s.row0 = 0;
        s.row1 = graph->weights[s.weight].rows;
        slices->items[distinct++] = s;
    }
    slices->count = distinct;
}

/* Finds every device's slices and digests their rows: whole weights by what the graph says of them,
 * parts from their rows, which `numbers` has. With `whole` there are only whole ones. */
static enum adaps_status fill_slices(struct adaps_plan *plan, const struct ad_graph *numbers,
                                     bool whole, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_slices *slices = plan->slices;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        enum adaps_status status =
            ad_slices_find(graph, &plan->schedule, &plan->stream, d, &slices[d], err);
        if (status != ADAPS_OK)
            return status;
        if (whole)
            widen_slices(graph, &slices[d]);
        for (int i = 0; i < slices[d].count; i++) {
            struct ad_slice *slice = &slices[d].items[i];
            const struct ad_weight *weight = &graph->weights[slice->weight];
            if (slice->row0 == 0 && slice->row1 == weight->rows) {
                slice->digest = weight->digest;
                continue;
            }
            status = ad_weight_digest(&numbers->weights[slice->weight], slice->row0, slice->row1,
                                      &slice->digest, err);
            if (status != ADAPS_OK)
                return status;
        }
    }
    return ADAPS_OK;
}

/* The schedule of everything on one device of the cluster. */
static enum adaps_status build_single(const struct ad_graph *graph,
                                      const struct ad_cluster *cluster, int device, bool u8,
                                      struct ad_schedule *out, struct adaps_error *err)
{
    struct ad_assignment all;
    enum adaps_status status = ad_assignment_init(&all, graph->nops, cluster->ndevices, err);
    if (status != ADAPS_OK)
        return status;
    all.u8 = u8;
    for (int i = 0; i < graph->nops; i++)
        *ad_assigned(&all, i, device) = ad_region_whole(&graph->values[graph->ops[i].output]);
    status = ad_schedule_build(graph, cluster, &all, out, err);
    ad_assignment_fini(&all);
    return status;
}

static bool fits_memory(const struct ad_cluster *cluster, const struct ad_schedule *schedule)
{
    for (int d = 0; d < cluster->ndevices; d++)
        if (cluster->devices[d].memory != 0 && schedule->memory[d] > 0 &&
            (uint64_t)schedule->memory[d] > cluster->devices[d].memory)
            return false;
    return true;
}

/* The fastest single device, by the same simulated clocks; sending inputs to it and outputs back
 * counts. */
static enum adaps_status find_best_single(const struct ad_graph *graph,
                                          const struct ad_cluster *cluster, bool u8,
                                          struct adaps_plan *plan, struct adaps_error *err)
{
    plan->single_device = -1;
    plan->single_ns = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        struct ad_schedule single = {0};
        enum adaps_status status = build_single(graph, cluster, d, u8, &single, err);
        if (status != ADAPS_OK)
            return status;
        if (fits_memory(cluster, &single) &&
            (plan->single_device < 0 || single.makespan_ns < plan->single_ns)) {
            plan->single_device = d;
            plan->single_ns = single.makespan_ns;
        }
        ad_schedule_fini(&single);
    }
    return ADAPS_OK;
}

enum adaps_status ad_plan_make(struct ad_graph *graph, struct ad_cluster *cluster,
                               struct ad_schedule *schedule, const struct ad_provenance *provenance,
                               struct adaps_plan **out, struct adaps_error *err)
{
    int ndevices = cluster->ndevices;
    struct adaps_plan *plan = ad_plan_alloc(ndevices);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    plan->model_digest = provenance->model_digest;
    snprintf(plan->strategy, sizeof plan->strategy, "%s", provenance->strategy);
    plan->threshold = provenance->threshold;
    plan->gather_type3 = provenance->gather_type3;
    plan->visited = provenance->visited;
    plan->space_log10 = provenance->space_log10;
    plan->search_s = provenance->search_s;
    plan->lower_bound_ns = provenance->lower_bound_ns;
    if (provenance->note)
        snprintf(plan->note, sizeof plan->note, "%s", provenance->note);

    /* Borrowed until nothing can fail any more; then they are the plan's. */
    plan->graph = graph;
    plan->cluster = *cluster;
    plan->schedule = *schedule;
    if (provenance->stream)
        plan->stream = *provenance->stream;
    enum adaps_status status = ADAPS_OK;
    plan->model_path = ad_strdup(provenance->model_path);
    if (!plan->model_path)
        status = ad_error_memory(err, "plan", strlen(provenance->model_path) + 1);
    if (status == ADAPS_OK)
        status = fill_slices(plan, provenance->numbers ? provenance->numbers : graph, false, err);
    if (status == ADAPS_OK)
        status = find_best_single(graph, cluster, provenance->u8, plan, err);
    if (status == ADAPS_OK)
        status = ad_plan_seal(plan, err);
    if (status != ADAPS_OK) {
        for (int d = 0; d < ndevices; d++)
            ad_free(plan->slices[d].items);
        plan->graph = NULL;
        memset(&plan->cluster, 0, sizeof plan->cluster);
        memset(&plan->schedule, 0, sizeof plan->schedule);
        plan->stream = AD_STREAM_ONE;
        adaps_plan_free(plan);
        return status;
    }
    memset(cluster, 0, sizeof *cluster);
    memset(schedule, 0, sizeof *schedule);
    if (provenance->stream)
        *provenance->stream = AD_STREAM_ONE;
    *out = plan;
    return ADAPS_OK;
}

/* A cluster of only the source device, without address and memory limit: this process. */
static enum adaps_status cluster_of_one(const struct ad_cluster *from, struct ad_cluster *to,
                                        struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_init(to, 1, err);
    if (status != ADAPS_OK)
        return status;
    ad_cluster_set_device(to, 0, &from->devices[from->source]);
    to->devices[0].address[0] = '\0';
    to->devices[0].key[0] = '\0';
    to->devices[0].memory = 0;
    to->devices[0].source = true;
    to->links[0] = (struct ad_link){.bandwidth = 1e9, .latency = 0}; /* never used; a valid value */
    to->source = 0;
    return ADAPS_OK;
}

static enum adaps_status copy_paths(const struct adaps_plan *from, struct adaps_plan *to,
                                    struct adaps_error *err)
{
    to->model_path = ad_strdup(from->model_path);
    to->plan_path = from->plan_path ? ad_strdup(from->plan_path) : NULL;
    if (!to->model_path || (from->plan_path && !to->plan_path))
        return ad_error_memory(err, "plan", strlen(from->model_path) + 1);
    return ADAPS_OK;
}

enum adaps_status ad_plan_single(const struct adaps_plan *plan, struct adaps_plan **out,
                                 struct adaps_error *err)
{
    struct adaps_plan *single = ad_plan_alloc(1);
    if (!single)
        return ad_error_memory(err, "plan", sizeof *single);
    enum adaps_status status = cluster_of_one(&plan->cluster, &single->cluster, err);
    if (status == ADAPS_OK)
        status = copy_paths(plan, single, err);
    if (status == ADAPS_OK)
        status = ad_graph_copy(plan->graph, &single->graph, err);
    if (status == ADAPS_OK)
        status = build_single(single->graph, &single->cluster, 0, false, &single->schedule, err);
    if (status == ADAPS_OK)
        status = fill_slices(single, single->graph, true, err);
    if (status == ADAPS_OK) {
        single->model_digest = plan->model_digest;
        single->single_device = 0;
        single->single_ns = single->schedule.makespan_ns;
        snprintf(single->strategy, sizeof single->strategy, "single");
        status = ad_plan_seal(single, err);
    }
    if (status != ADAPS_OK) {
        adaps_plan_free(single);
        return status;
    }
    *out = single;
    return ADAPS_OK;
}

/* Where the devices of these names are. */
static enum adaps_status take_addresses(const struct adaps_plan *plan,
                                        const struct ad_cluster *from, struct ad_cluster *to,
                                        struct adaps_error *err)
{
    for (int d = 0; d < to->ndevices; d++) {
        struct ad_device *device = &to->devices[d];
        int found = ad_cluster_find(from, device->name);
        if (found < 0 && ad_plan_works(plan, d))
            return ad_error_set(err, ADAPS_EINPUT,
                                "there is no device '%s', which the plan gives work to",
                                device->name);
        if (found < 0)
            continue;
        memcpy(device->address, from->devices[found].address, sizeof device->address);
        memcpy(device->key, from->devices[found].key, sizeof device->key);
    }
    return ADAPS_OK;
}

enum adaps_status ad_plan_readdress(struct adaps_plan *plan, const struct ad_cluster *cluster,
                                    struct adaps_plan **out, struct adaps_error *err)
{
    struct ad_cluster addressed;
    enum adaps_status status = ad_cluster_copy(&plan->cluster, &addressed, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_spare *spares = NULL;
    struct adaps_plan *other = ad_calloc(1, sizeof *other);
    if (!other)
        status = ad_error_memory(err, "plan", sizeof *other);
    if (status == ADAPS_OK)
        status = take_addresses(plan, cluster, &addressed, err);
    if (status == ADAPS_OK)
        status = ad_spares_readdress(plan, &addressed, &spares, err);
    if (status == ADAPS_OK) {
        *other = *plan; /* all but the clusters is borrowed until nothing can fail */
        other->cluster = addressed;
        other->spares = spares;
        status = ad_plan_seal(other, err);
    }
    if (status != ADAPS_OK) {
        ad_spares_drop(spares, plan->nspares);
        ad_free(other);
        ad_cluster_fini(&addressed);
        return status;
    }
    ad_spares_drop(plan->spares, plan->nspares);
    ad_cluster_fini(&plan->cluster);
    ad_free(plan);
    *out = other;
    return ADAPS_OK;
}

struct adaps_plan ad_plan_view(const struct adaps_plan *plan, int turn)
{
    struct adaps_plan view = *plan;
    view.schedule = *ad_plan_turn(plan, turn);
    view.schedule.memory = plan->schedule.memory;
    view.assignment = turn < plan->nassignments ? &plan->assignment[turn] : NULL;
    return view;
}

enum adaps_status ad_plan_energy(const struct adaps_plan *plan, struct ad_energy_figures *out,
                                 struct adaps_error *err)
{
    return ad_energy_figures(plan->graph, &plan->cluster, &plan->schedule, &plan->stream, out, err);
}

int ad_plan_share(const struct adaps_plan *plan, int turn, int *of)
{
    *of = plan->stream.ndeal > 0 ? plan->stream.ndeal : 1;
    return ad_stream_share(&plan->stream, turn);
}

static void add_peers(const struct ad_program *program, struct ad_peers *peers)
{
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_COMPUTE)
            continue;
        peers->any[step->peer] = true;
        peers->sent_to[step->peer] |= step->kind == AD_STEP_SEND;
    }
}

struct ad_peers ad_plan_peers(const struct adaps_plan *plan, int device)
{
    struct ad_peers peers = {0};
    for (int t = 0; t < plan->stream.nturns; t++)
        add_peers(&ad_plan_turn(plan, t)->programs[device], &peers);
    return peers;
}

bool ad_plan_works(const struct adaps_plan *plan, int device)
{
    for (int t = 0; t < plan->stream.nturns; t++)
        if (ad_plan_turn(plan, t)->programs[device].nsteps > 0)
            return true;
    return false;
}

static bool lossy_program(const struct ad_program *program)
{
    for (int i = 0; i < program->nsteps; i++)
        if (program->steps[i].kind == AD_STEP_SEND && ad_encoding_lossy(program->steps[i].encoding))
            return true;
    return false;
}

bool ad_plan_lossy(const struct adaps_plan *plan)
{
    for (int t = 0; t < plan->stream.nturns; t++)
        for (int d = 0; d < plan->cluster.ndevices; d++)
            if (lossy_program(&ad_plan_turn(plan, t)->programs[d]))
                return true;
    return false;
}
