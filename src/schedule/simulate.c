/* The simulated clocks: one per device, and one for each direction of each device's port; on a
 * shared medium one for all ports.
 *
 * Devices run ahead freely through COMPUTE steps and through RECVs whose message has an arrival
 * time. A SEND touches clocks that are shared, so SENDs are taken one at a time, the one first
 * whose message leaves first (on a shared medium: the earliest ready one; ties: the lower device).
 * That is the order in which they would really happen: nothing that a later step of any device
 * sends leaves earlier than the one just taken. */
#include "schedule/clocks.h"

#include <math.h>
#include <string.h>

#define MAX_DURATION_NS 1000000000000000 /* 11 days: keeps sums of hostile numbers in range */

struct machine {
    const struct ad_cluster *cluster;
    const struct ad_timed_program *timed;
    struct ad_program *steps; /* nullable */
    const int64_t *latency;
    int64_t *arrival; /* by tag; -1 = not sent yet */
    int64_t *busy;
    int64_t limit;
    bool over; /* beyond the limit */
    int64_t clock[AD_MAX_DEVICES];
    struct ad_ports ports;
    /* Of the SEND that the device has come to: when it is ready (-1: at none), and may leave. */
    int64_t ready[AD_MAX_DEVICES], leave[AD_MAX_DEVICES];
    size_t at[AD_MAX_DEVICES]; /* the step that comes next */
};

int64_t ad_clocks_ns(double seconds)
{
    double ns = seconds * 1e9;
    if (!(ns > 0))
        return 0;
    return ns < (double)MAX_DURATION_NS ? llround(ns) : MAX_DURATION_NS;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a task takes that reads `in` elements. */
static int64_t work_ns(const struct ad_graph *graph, const struct ad_device *device,
                       const struct ad_task *task, int64_t in)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t images = graph->values[op->output].box.n, r0, r1;
    struct ad_region computed = ad_region_computed(graph, op, task->region);
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    struct ad_work work =
        ad_cost_work(graph, op, images * ad_region_elements(computed), in, r1 - r0);
    return ad_clocks_ns(ad_cost_seconds(device, &work));
}

int64_t ad_clocks_reading_ns(const struct ad_graph *graph, const struct ad_device *device,
                             const struct ad_task *task, const struct ad_region *reads)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t in = 0;
    for (int k = 0; k < op->ninputs; k++)
        in += graph->values[op->inputs[k]].box.n * ad_region_elements(reads[k]);
    return work_ns(graph, device, task, in);
}

static int64_t compute_ns(const struct ad_graph *graph, const struct ad_device *device,
                          const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t in = 0;
    for (int k = 0; k < op->ninputs; k++)
        in += graph->values[op->inputs[k]].box.n *
              ad_region_elements(ad_need(graph, op, k, task->region));
    return work_ns(graph, device, task, in);
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

int64_t ad_clocks_copy_ns(const struct ad_cluster *cluster, int from, enum ad_encoding encoding,
                          int64_t bytes)
{
    const struct ad_device *sender = &cluster->devices[from];
    return ad_clocks_ns((double)bytes / (sender->table.memory_bw * sender->speed) +
                        ad_cost_encode_seconds(sender, encoding, false, bytes));
}

int64_t ad_clocks_decode_ns(const struct ad_cluster *cluster, int to, enum ad_encoding encoding,
                            int64_t bytes)
{
    return ad_clocks_ns(ad_cost_encode_seconds(&cluster->devices[to], encoding, true, bytes));
}

int64_t ad_clocks_overlapped_ns(const struct ad_cluster *cluster, int device, int64_t bytes)
{
    const struct ad_device *d = &cluster->devices[device];
    double rate = d->table.message_bw, seconds = d->table.message_s;
    return ad_clocks_ns((seconds + (rate > 0 ? (double)bytes / rate : 0)) / d->speed);
}

int64_t ad_schedule_wire_ns(const struct ad_cluster *cluster, int from, int to, int64_t bytes)
{
    size_t pair = (size_t)from * (size_t)cluster->ndevices + (size_t)to;
    return ad_clocks_ns((double)bytes / cluster->links[pair].bandwidth);
}

int64_t ad_schedule_task_ns(const struct ad_graph *graph, const struct ad_cluster *cluster,
                            int device, const struct ad_task *task)
{
    return compute_ns(graph, &cluster->devices[device], task);
}

static void note_times(struct machine *m, int device, int64_t start, int64_t end)
{
    if (m->steps) {
        m->steps[device].steps[m->at[device]].start_ns = start;
        m->steps[device].steps[m->at[device]].end_ns = end;
    }
}

/* Runs a device up to its next SEND, a RECV that must wait for one, or its end. */
static void advance(struct machine *m, int device)
{
    const struct ad_timed_program *program = &m->timed[device];
    m->ready[device] = -1;
    for (; m->at[device] < program->count; m->at[device]++) {
        const struct ad_timed_step *step = &program->list[m->at[device]];
        int64_t start = m->clock[device];
        if (step->tag > 0) {
            m->ready[device] = ad_clocks_plus(start, step->ns);
            m->leave[device] = later(m->ready[device], m->ports.up[device]);
            return;
        }
        if (step->tag < 0) {
            if (m->arrival[-step->tag] < 0)
                return;
            /* the message came while the device computed */
            start = ad_clocks_plus(start, step->overlapped_ns);
            m->clock[device] = ad_clocks_plus(later(start, m->arrival[-step->tag]), step->ns);
            /* the device will do the rest of its work, too */
            int64_t rest = program->work_ns - m->busy[device];
            m->over = m->over || ad_clocks_plus(m->clock[device], rest) > m->limit;
        } else {
            m->clock[device] = ad_clocks_plus(start, step->ns);
            m->busy[device] = ad_clocks_plus(m->busy[device], step->ns);
        }
        note_times(m, device, start, m->clock[device]);
    }
}

static void send(struct machine *m, int device)
{
    const struct ad_timed_step *step = &m->timed[device].list[m->at[device]];
    size_t pair = (size_t)device * (size_t)m->cluster->ndevices + (size_t)step->peer;
    m->clock[device] = m->ready[device];
    struct ad_passage passage = ad_ports_pass(&m->ports, m->cluster->shared_medium, device,
                                              step->peer, m->clock[device], step->wire_ns);
    note_times(m, device, passage.start, passage.end);
    m->arrival[step->tag] = ad_clocks_plus(passage.end, m->latency[pair]);
    m->clock[device] = ad_clocks_plus(m->clock[device], step->overlapped_ns);
    m->at[device]++;
    advance(m, device);
    if (m->ready[step->peer] < 0)
        advance(m, step->peer);
}

static enum adaps_status run(struct machine *m, struct adaps_error *err)
{
    int n = m->cluster->ndevices;
    for (int d = 0; d < n; d++)
        advance(m, d);
    for (;;) {
        int first = -1;
        for (int d = 0; d < n; d++)
            if (m->ready[d] >= 0 && (first < 0 || m->leave[d] < m->leave[first]))
                first = d;
        if (first < 0 || m->over)
            break;
        send(m, first);
    }
    if (m->over)
        return ADAPS_OK;
    for (int d = 0; d < n; d++)
        if (m->at[d] < m->timed[d].count)
            return ad_error_set(err, ADAPS_EINTERNAL,
                                "schedule: %s waits at step %zu for a message that is never sent",
                                m->cluster->devices[d].name, m->at[d]);
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

/* Gives equal devices the same class. */
static void classify(struct ad_clocks *c, const struct ad_cluster *cluster)
{
    for (int d = 0; d < cluster->ndevices; d++) {
        c->class[d] = d;
        for (int e = 0; e < d && c->class[d] == d; e++) {
            if (ad_cost_same(&cluster->devices[d], &cluster->devices[e]))
                c->class[d] = c->class[e];
        }
    }
}

bool ad_clocks_init(struct ad_clocks *out, const struct ad_graph *graph,
                    const struct ad_cluster *cluster, bool remember)
{
    size_t n = (size_t)cluster->ndevices, want = (size_t)graph->nops * n * 8;
    *out = (struct ad_clocks){.ntimes = 1024};
    while (out->ntimes < want && out->ntimes < 65536)
        out->ntimes *= 2;
    classify(out, cluster);
    out->latency = ad_calloc(n * n, sizeof *out->latency);
    out->times = remember ? ad_calloc(out->ntimes, sizeof *out->times) : NULL;
    if (!out->latency || (remember && !out->times)) {
        ad_clocks_fini(out);
        return false;
    }
    out->feed_ns = ad_clocks_ns(ad_cost_feed_seconds(graph, &cluster->devices[cluster->source]));
    out->fetch_ns = ad_clocks_ns(ad_cost_fetch_seconds(graph, &cluster->devices[cluster->source]));
    for (size_t i = 0; i < n * n; i++)
        out->latency[i] = ad_clocks_ns(cluster->links[i].latency);
    for (size_t i = 0; out->times && i < out->ntimes; i++)
        out->times[i].op = -1;
    return true;
}

void ad_clocks_fini(struct ad_clocks *clocks)
{
    ad_free(clocks->times);
    ad_free(clocks->latency);
    ad_free(clocks->arrival);
    *clocks = (struct ad_clocks){0};
}

enum adaps_status ad_clocks_run(struct ad_clocks *clocks, const struct ad_cluster *cluster,
                                const struct ad_timed_program *timed, size_t ntags,
                                struct ad_program *steps, int64_t limit_ns, int64_t *busy_ns,
                                int64_t *makespan_ns, struct adaps_error *err)
{
    struct machine m = {.cluster = cluster,
                        .timed = timed,
                        .steps = steps,
                        .latency = clocks->latency,
                        .busy = busy_ns,
                        .limit = limit_ns};
    while (clocks->room < ntags + 1)
        if (!ad_grow(&clocks->arrival, clocks->room, &clocks->room, sizeof *clocks->arrival))
            return ad_error_memory(err, "simulation", ntags);
    m.arrival = clocks->arrival;
    memset(m.arrival, -1, (ntags + 1) * sizeof *m.arrival);
    memset(busy_ns, 0, (size_t)cluster->ndevices * sizeof *busy_ns);
    m.clock[cluster->source] = clocks->feed_ns;
    enum adaps_status status = run(&m, err);
    *makespan_ns = m.over ? INT64_MAX : ad_clocks_plus(m.clock[cluster->source], clocks->fetch_ns);
    return status;
}

/* What the clocks need of a step. */
static struct ad_timed_step time_step(struct ad_clocks *clocks, const struct ad_graph *graph,
                                      const struct ad_cluster *cluster, int device,
                                      const struct ad_program *p, const struct ad_step *step)
{
    struct ad_timed_step out = {.tag = 0};
    for (int t = 0; step->kind == AD_STEP_COMPUTE && t < step->ntasks; t++)
        out.ns = ad_clocks_plus(out.ns, ad_clocks_task_ns(clocks, graph, cluster, device,
                                                          &p->tasks[step->first_task + t]));
    if (step->kind == AD_STEP_COMPUTE)
        return out;
    int64_t bytes = ad_step_bytes(graph, step);
    int64_t floats = ad_region_bytes(graph, step->value, step->region);
    out.overlapped_ns = ad_clocks_overlapped_ns(cluster, device, bytes);
    if (step->kind == AD_STEP_RECV) {
        out.tag = -(int32_t)step->tag;
        out.ns = ad_clocks_decode_ns(cluster, device, step->encoding, floats);
    } else {
        out.tag = (int32_t)step->tag;
        out.peer = step->peer;
        out.ns = ad_clocks_copy_ns(cluster, device, step->encoding, floats);
        out.wire_ns = ad_schedule_wire_ns(cluster, device, step->peer, bytes);
    }
    return out;
}

bool ad_clocks_time_program(struct ad_clocks *clocks, const struct ad_graph *graph,
                            const struct ad_cluster *cluster, int device,
                            const struct ad_program *program, struct ad_timed_program *out)
{
    size_t n = (size_t)program->nsteps;
    *out = (struct ad_timed_program){.list = ad_calloc(n, sizeof *out->list)};
    for (; out->list && out->count < n; out->count++)
        out->list[out->count] =
            time_step(clocks, graph, cluster, device, program, &program->steps[out->count]);
    return out->list != NULL;
}

enum adaps_status ad_schedule_simulate(const struct ad_graph *graph,
                                       const struct ad_cluster *cluster,
                                       struct ad_schedule *schedule, struct adaps_error *err)
{
    struct ad_clocks clocks;
    struct ad_timed_program timed[AD_MAX_DEVICES] = {{.list = NULL}};
    size_t ntags;
    if (schedule->ndevices != cluster->ndevices || schedule->ndevices > AD_MAX_DEVICES)
        return ad_error_set(err, ADAPS_EINTERNAL, "schedule: %d programs for %d devices",
                            schedule->ndevices, cluster->ndevices);
    if (!count_tags(schedule, &ntags))
        return ad_error_set(err, ADAPS_EINTERNAL, "schedule: tags are not 1 to %zu", ntags);
    if (!ad_clocks_init(&clocks, graph, cluster, false))
        return ad_error_memory(err, "simulation", ntags);
    bool room = true;
    for (int d = 0; d < schedule->ndevices && room; d++)
        room =
            ad_clocks_time_program(&clocks, graph, cluster, d, &schedule->programs[d], &timed[d]);
    enum adaps_status status =
        room ? ad_clocks_run(&clocks, cluster, timed, ntags, schedule->programs, INT64_MAX,
                             schedule->busy_ns, &schedule->makespan_ns, err)
             : ad_error_memory(err, "simulation", ntags);
    for (int d = 0; d < schedule->ndevices; d++)
        ad_free(timed[d].list);
    ad_clocks_fini(&clocks);
    return status;
}
