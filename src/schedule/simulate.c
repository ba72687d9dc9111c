/* The simulated clocks: one per device, and one for each direction of each device's port; on a
 * shared medium one for all ports.
 *
 * Devices run ahead freely through COMPUTE steps and through RECVs whose message has an arrival
 * time. A SEND touches clocks that are shared, so SENDs are taken one at a time, the earliest ready
 * one first (ties: the lower device). That is the order in which they would really happen: whatever
 * a later step of any device does is ready no earlier than the one just taken. */
#include "schedule/clocks.h"

#include <math.h>
#include <string.h>

#define MAX_DURATION_NS 1000000000000000 /* 11 days: keeps sums of hostile numbers in range */

struct machine {
    const struct ad_graph *graph;
    const struct ad_cluster *cluster;
    struct ad_schedule *schedule;
    struct ad_clocks *clocks;
    int64_t *arrival; /* by tag; -1 = not sent yet */
    size_t ntags;
    int64_t clock[AD_MAX_DEVICES], up[AD_MAX_DEVICES], down[AD_MAX_DEVICES], medium;
    int64_t ready[AD_MAX_DEVICES]; /* of the SEND that the device has come to; -1: at none */
    int step[AD_MAX_DEVICES];
};

int64_t ad_clocks_ns(double seconds)
{
    double ns = seconds * 1e9;
    if (!(ns > 0))
        return 0;
    return ns < (double)MAX_DURATION_NS ? llround(ns) : MAX_DURATION_NS;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t compute_ns(const struct ad_graph *graph, const struct ad_device *device,
                          const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t images = graph->values[op->output].box.n, in = 0, r0, r1;
    for (int k = 0; k < op->ninputs; k++)
        in += graph->values[op->inputs[k]].box.n *
              ad_region_elements(ad_need(graph, op, k, task->region));
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    struct ad_work work =
        ad_cost_work(graph, op, images * ad_region_elements(task->region), in, r1 - r0);
    return ad_clocks_ns(ad_cost_seconds(device, &work));
}

int64_t ad_clocks_task_ns(struct ad_clocks *c, const struct ad_graph *graph,
                          const struct ad_cluster *cluster, int device, const struct ad_task *task)
{
    if (!c->times)
        return compute_ns(graph, &cluster->devices[device], task);
    int class = c->class[device];
    struct ad_time *known = ad_clocks_time(c, task, class);
    if (known->class != class || known->op != task->op ||
        memcmp(&known->region, &task->region, sizeof known->region) != 0)
        *known = (struct ad_time){task->op, class, task->region,
                                  compute_ns(graph, &cluster->devices[device], task)};
    return known->ns;
}

/* The clock of a device at a SEND once the message is copied and ready for the wire. */
static int64_t ready_ns(const struct machine *m, int device)
{
    const struct ad_step *step = &m->schedule->programs[device].steps[m->step[device]];
    const struct ad_device *sender = &m->cluster->devices[device];
    double bytes = (double)ad_region_bytes(m->graph, step->value, step->region);
    return plus(m->clock[device], ad_clocks_ns(bytes / (sender->table.memory_bw * sender->speed)));
}

/* Runs a device up to its next SEND, a RECV that must wait for one, or its end. */
static void advance(struct machine *m, int device)
{
    struct ad_program *p = &m->schedule->programs[device];
    m->ready[device] = -1;
    for (; m->step[device] < p->nsteps; m->step[device]++) {
        struct ad_step *step = &p->steps[m->step[device]];
        if (step->kind == AD_STEP_SEND) {
            m->ready[device] = ready_ns(m, device);
            return;
        }
        if (step->kind == AD_STEP_RECV && m->arrival[step->tag] < 0)
            return;
        step->start_ns = m->clock[device];
        if (step->kind == AD_STEP_RECV) {
            m->clock[device] = later(m->clock[device], m->arrival[step->tag]);
        } else {
            int64_t ns = 0;
            for (int t = 0; t < step->ntasks; t++)
                ns = plus(ns, ad_clocks_task_ns(m->clocks, m->graph, m->cluster, device,
                                                &p->tasks[step->first_task + t]));
            m->clock[device] = plus(m->clock[device], ns);
            m->schedule->busy_ns[device] = plus(m->schedule->busy_ns[device], ns);
        }
        step->end_ns = m->clock[device];
    }
}

static void send(struct machine *m, int device)
{
    struct ad_step *step = &m->schedule->programs[device].steps[m->step[device]];
    const struct ad_link *link =
        &m->cluster->links[(size_t)device * (size_t)m->cluster->ndevices + (size_t)step->peer];
    m->clock[device] = m->ready[device];
    int64_t wire =
        m->cluster->shared_medium ? m->medium : later(m->up[device], m->down[step->peer]);
    step->start_ns = later(m->clock[device], wire);
    double bytes = (double)ad_step_bytes(m->graph, step);
    step->end_ns = plus(step->start_ns, ad_clocks_ns(bytes / link->bandwidth));
    m->up[device] = m->down[step->peer] = m->medium = step->end_ns;
    m->arrival[step->tag] = plus(step->end_ns, ad_clocks_ns(link->latency));
    m->step[device]++;
    advance(m, device);
    if (m->ready[step->peer] < 0)
        advance(m, step->peer);
}

static enum adaps_status run(struct machine *m, struct adaps_error *err)
{
    int n = m->schedule->ndevices;
    for (int d = 0; d < n; d++)
        advance(m, d);
    for (;;) {
        int first = -1;
        for (int d = 0; d < n; d++)
            if (m->ready[d] >= 0 && (first < 0 || m->ready[d] < m->ready[first]))
                first = d;
        if (first < 0)
            break;
        send(m, first);
    }
    for (int d = 0; d < n; d++)
        if (m->step[d] < m->schedule->programs[d].nsteps)
            return ad_error_set(err, ADAPS_EINTERNAL,
                                "schedule: %s waits at step %d for a message that is never sent",
                                m->cluster->devices[d].name, m->step[d]);
    m->schedule->makespan_ns = m->clock[m->cluster->source];
    return ADAPS_OK;
}

/* Counts the SENDs; false unless every tag lies in 1 to that number. */
static bool count_tags(const struct ad_schedule *schedule, size_t *ntags)
{
    *ntags = 0;
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++)
            *ntags += schedule->programs[d].steps[i].kind == AD_STEP_SEND;
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            if (step->kind != AD_STEP_COMPUTE && (step->tag < 1 || step->tag > *ntags))
                return false;
        }
    return true;
}

/* Each distinct device once: equal tables and speeds take equal times. */
static void classify(struct ad_clocks *c, const struct ad_cluster *cluster)
{
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *a = &cluster->devices[d];
        c->class[d] = d;
        for (int e = 0; e < d && c->class[d] == d; e++) {
            const struct ad_device *b = &cluster->devices[e];
            if (a->speed == b->speed && a->table.constant_s == b->table.constant_s &&
                a->table.memory_bw == b->table.memory_bw &&
                memcmp(a->table.rate, b->table.rate, sizeof a->table.rate) == 0)
                c->class[d] = c->class[e];
        }
    }
}

bool ad_clocks_init(struct ad_clocks *out, const struct ad_graph *graph,
                    const struct ad_cluster *cluster)
{
    size_t want = (size_t)graph->nops * (size_t)cluster->ndevices * 8;
    *out = (struct ad_clocks){.ntimes = 1024};
    while (out->ntimes < want && out->ntimes < 65536)
        out->ntimes *= 2;
    classify(out, cluster);
    out->times = ad_calloc(out->ntimes, sizeof *out->times);
    for (size_t i = 0; out->times && i < out->ntimes; i++)
        out->times[i].op = -1;
    return out->times != NULL;
}

void ad_clocks_fini(struct ad_clocks *clocks)
{
    ad_free(clocks->times);
    ad_free(clocks->arrival);
    *clocks = (struct ad_clocks){0};
}

enum adaps_status ad_clocks_run(struct ad_clocks *clocks, const struct ad_graph *graph,
                                const struct ad_cluster *cluster, size_t ntags,
                                struct ad_schedule *schedule, struct adaps_error *err)
{
    struct machine m = {
        .graph = graph, .cluster = cluster, .schedule = schedule, .clocks = clocks, .ntags = ntags};
    while (clocks->room < ntags + 1)
        if (!ad_grow(&clocks->arrival, clocks->room, &clocks->room, sizeof *clocks->arrival))
            return ad_error_memory(err, "simulation", ntags);
    m.arrival = clocks->arrival;
    memset(m.arrival, -1, (ntags + 1) * sizeof *m.arrival);
    memset(schedule->busy_ns, 0, (size_t)schedule->ndevices * sizeof *schedule->busy_ns);
    return run(&m, err);
}

enum adaps_status ad_schedule_simulate(const struct ad_graph *graph,
                                       const struct ad_cluster *cluster,
                                       struct ad_schedule *schedule, struct adaps_error *err)
{
    struct ad_clocks clocks = {.times = NULL};
    size_t ntags;
    if (schedule->ndevices != cluster->ndevices || schedule->ndevices > AD_MAX_DEVICES)
        return ad_error_set(err, ADAPS_EINTERNAL, "schedule: %d programs for %d devices",
                            schedule->ndevices, cluster->ndevices);
    if (!count_tags(schedule, &ntags))
        return ad_error_set(err, ADAPS_EINTERNAL, "schedule: tags are not 1 to %zu", ntags);
    enum adaps_status status = ad_clocks_run(&clocks, graph, cluster, ntags, schedule, err);
    ad_clocks_fini(&clocks);
    return status;
}
