/* Strategy `dn2pciot`, after F. M. C. de Oliveira and E. Borin, "Partitioning Convolutional Neural
 * Networks to Maximize the Inference Rate on Constrained IoT Devices" (Future Internet 2019).
 *
 * Modelled: the network as a graph whose vertices go to devices within their memory, what a layer
 * shares once on each device that has some of it, what goes to the same device once
 * (work_graph.h); moves and swaps between all devices with locking (kernighan_lin.h), for the
 * inference rate or, under the objective traffic, for the bytes; starts: algorithm 3 (layers in
 * order, what is left of one on the next device with room), layers and bands dealt by speed, random
 * ones, or a plan that is given.
 *
 * Interpreted: a vertex is a band of an op, not a neuron, and the bands of an op lie on devices in
 * the order of the devices file, as layouts have them (work_ops.h). Beside what the vertices of a
 * device take there are buffers, which the graph knows nothing of: the memory limits are set by
 * what the schedule takes, and the moves are made again. Of all starts the clocks decide. */
#include "base/mem.h"
#include "search/published/kernighan_lin.h"
#include "search/published/published.h"
#include "search/published/work_ops.h"

#include <math.h>

#define RANDOM_STARTS 4
#define CORRECTIONS 4 /* of the memory limits, for each start */
#define PATIENCE 100
#define CERTIFYING 12 /* searches for the smallest memory that would do */

struct finder {
    struct ad_eval *eval;
    struct ad_best *best;
    struct ad_work_ops ops;
    struct ad_layout layout;
    int *part;
    int64_t *used;   /* by device: what the graph says */
    int64_t *memory; /* by device: what there is */
    int64_t least; /* of all schedules since the last beginning: the need of the neediest device */
};

/* --- starts --- */

/* By speed: the device of what begins after this part of the whole. */
static int dealt(const struct ad_context *context, double part)
{
    int n = context->problem->cluster->ndevices, d = 0;
    double all = 0, upto = context->speed[0];
    for (int k = 0; k < n; k++)
        all += context->speed[k];
    while (d + 1 < n && part * all >= upto)
        upto += context->speed[++d];
    return d;
}

static void start_with_bands(struct finder *f)
{
    const struct ad_work_ops *ops = &f->ops;
    for (int v = 0; v < ops->graph.nvertices; v++) {
        int op = ops->op[v];
        if (op >= 0)
            f->part[v] = dealt(ops->context, (double)(v - ops->first[op]) /
                                                 (ops->first[op + 1] - ops->first[op]));
    }
}

/* Whole layers, by what they take to compute. */
static void start_with_layers(struct finder *f)
{
    const struct ad_work_ops *ops = &f->ops;
    double all = 0, upto = 0;
    for (int v = 0; v < ops->graph.nvertices; v++)
        all += ops->graph.work[v];
    for (int i = 0; i < ops->context->problem->graph->nops; i++) {
        int d = dealt(ops->context, all > 0 ? upto / all : 0);
        for (int v = ops->first[i]; v < ops->first[i + 1]; v++) {
            f->part[v] = d;
            upto += ops->graph.work[v];
        }
    }
}

/* Bytes that a vertex would add to a device. has[op * ndevices + d]: some of its op. */
static int64_t need(const struct ad_work_ops *ops, const bool *has, int v, int d)
{
    int op = ops->op[v];
    return ops->graph.memory[v] + (has[op * ops->graph.ndevices + d] ? 0 : ops->graph.shared[op]);
}

/* Algorithm 3. What finds no room stays with the source. */
static enum adaps_status start_greedy(struct finder *f)
{
    const struct ad_work_ops *ops = &f->ops;
    const int *order = ops->context->order;
    int n = ops->graph.ndevices, nops = ops->context->problem->graph->nops;
    bool *has = ad_calloc((size_t)nops * (size_t)n + 1, sizeof *has);
    if (!has)
        return ad_error_memory(f->eval->err, "layers", (size_t)nops * (size_t)n);
    for (int d = 0; d < n; d++)
        f->used[d] = 0;
    for (int i = 0; i < nops; i++)
        for (int v = ops->first[i], k = 0; v < ops->first[i + 1]; v++) {
            while (k < n && f->used[order[k]] + need(ops, has, v, order[k]) > ops->limit[order[k]])
                k++;
            f->part[v] = order[k < n ? k : 0];
            f->used[f->part[v]] += need(ops, has, v, f->part[v]);
            has[i * n + f->part[v]] = true;
        }
    ad_free(has);
    return ADAPS_OK;
}

static enum adaps_status start_at_random(struct finder *f, int k)
{
    struct adaps_error why;
    uint64_t seed = f->eval->context->problem->seed + (uint64_t)k;
    enum adaps_status status = ad_work_random(&f->ops.graph, f->ops.fixed, seed, f->part, &why);
    if (status == ADAPS_NO) /* the moves make what is too much less */
        return ADAPS_OK;
    return status == ADAPS_OK ? status : ad_error_set(f->eval->err, status, "%s", why.message);
}

/* --- from a start --- */

/* Sets the limits so that with what the schedule takes beside the graph's bytes devices are full.
 * *fits: none has too little memory. */
static enum adaps_status correct_limits(struct finder *f, bool *fits)
{
    const struct ad_schedule *schedule;
    int64_t most = 0;
    *fits = true;
    if (!f->eval->context->memory_matters)
        return ADAPS_OK;
    enum adaps_status status = ad_scorer_run(f->eval->scorer, &f->eval->scratch, true, &schedule);
    if (status == ADAPS_OK)
        status = ad_work_memory(&f->ops.graph, f->part, f->used, f->eval->err);
    for (int d = 0; status == ADAPS_OK && d < f->ops.graph.ndevices; d++) {
        *fits = *fits && schedule->memory[d] <= f->memory[d];
        f->ops.limit[d] = f->memory[d] - (schedule->memory[d] - f->used[d]);
        most = schedule->memory[d] > most ? schedule->memory[d] : most;
    }
    f->least = status == ADAPS_OK && most < f->least ? most : f->least;
    return status;
}

static enum adaps_status try_part(struct finder *f)
{
    ad_work_ops_layout(&f->ops, f->part, &f->layout);
    return ad_eval_try(f->eval, &f->layout, f->best, NULL);
}

/* The start and what the moves make of it, until it fits. */
static enum adaps_status climb(struct finder *f)
{
    const struct ad_search_problem *p = f->eval->context->problem;
    const struct ad_kl_options options = {
        .objective = p->objective == AD_OBJECTIVE_TRAFFIC ? AD_WORK_BYTES : AD_WORK_RATE,
        .fixed = f->ops.fixed,
        .seed = p->seed,
        .patience = PATIENCE,
        .allows = ad_work_ops_allows,
        .data = &f->ops};
    bool fits = false;
    ad_work_ops_sort(&f->ops, f->part);
    enum adaps_status status = try_part(f);
    if (status == ADAPS_OK)
        status = correct_limits(f, &fits);
    fits = false;
    for (int i = 0; i < CORRECTIONS && status == ADAPS_OK && !fits && !ad_eval_late(f->eval); i++) {
        status = ad_kl_improve(&f->ops.graph, &options, f->part, NULL, f->eval->err);
        if (status == ADAPS_OK)
            status = try_part(f);
        if (status == ADAPS_OK)
            status = correct_limits(f, &fits);
    }
    return status;
}

/* The k-th start; false: there is none. */
static bool start(struct finder *f, int k, enum adaps_status *status)
{
    const struct ad_assignment *from = f->eval->context->problem->from;
    *status = ADAPS_OK;
    if (from) {
        ad_work_ops_of(&f->ops, from, f->part);
        return k == 0;
    }
    if (k == 0)
        *status = start_greedy(f);
    else if (k == 1)
        start_with_layers(f);
    else if (k == 2)
        start_with_bands(f);
    else
        *status = start_at_random(f, k - 3);
    return k < 3 + RANDOM_STARTS;
}

/* All starts, within f->memory: what is found follows from that and the seed. */
static enum adaps_status find(struct finder *f)
{
    enum adaps_status status = ADAPS_OK;
    f->least = INT64_MAX;
    for (int d = 0; d < f->ops.graph.ndevices; d++)
        f->ops.limit[d] = f->memory[d];
    for (int k = 0; !(f->best->valid && ad_eval_late(f->eval)); k++) {
        ad_work_ops_sort(&f->ops, f->part); /* what is fixed lies where it does */
        if (!start(f, k, &status))
            break;
        if (status == ADAPS_OK)
            status = climb(f);
        if (status != ADAPS_OK)
            break;
    }
    return status;
}

/* After nothing fitted: the least memory with which, on every device, the same search finds
 * something. */
static enum adaps_status find_least(struct finder *f)
{
    enum adaps_status status = ADAPS_OK;
    int64_t least = f->least;
    for (int i = 0; i < CERTIFYING && status == ADAPS_OK && !ad_eval_late(f->eval); i++) {
        for (int d = 0; d < f->ops.graph.ndevices; d++)
            f->memory[d] = least;
        status = find(f);
        if (f->least <= least)
            break;
        least += least / 64 * (i + 1); /* what was seen on another way need not be found on this */
    }
    f->eval->enough_memory = least;
    return status;
}

enum adaps_status ad_dn2pciot_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct finder f = {.eval = eval, .best = best};
    enum adaps_status status = ad_work_ops_init(&f.ops, eval->context, eval->err);
    size_t n = (size_t)f.ops.graph.nvertices;
    if (status == ADAPS_OK)
        status = ad_layout_init(&f.layout, p->graph->nops, p->cluster->ndevices, eval->err);
    f.part = ad_calloc(n, sizeof *f.part);
    f.used = ad_calloc((size_t)p->cluster->ndevices, sizeof *f.used);
    f.memory = ad_calloc((size_t)p->cluster->ndevices, sizeof *f.memory);
    if (status == ADAPS_OK && (!f.part || !f.used || !f.memory))
        status = ad_error_memory(eval->err, "vertices", n * sizeof *f.part);
    for (int d = 0; status == ADAPS_OK && d < p->cluster->ndevices; d++)
        f.memory[d] = f.ops.limit[d];
    if (status == ADAPS_OK)
        status = find(&f);
    if (status == ADAPS_OK && best->valid && best->score.excess_bytes > 0 && f.least < INT64_MAX)
        status = find_least(&f);
    eval->space_log10 = (double)n * log10(p->cluster->ndevices);
    ad_free(f.part);
    ad_free(f.used);
    ad_free(f.memory);
    ad_layout_fini(&f.layout);
    ad_work_ops_fini(&f.ops);
    return status;
}
