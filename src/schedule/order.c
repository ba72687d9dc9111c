/* Tasks out of graph order: list scheduling. While a device waits for rows of one branch it computes
 * another; which one when is decided on clocks like the simulator's.
 *
 * A task (an op on a device) is open once its device has computed what it reads and all messages of
 * its inputs are sent. The device whose next task can start soonest takes it; of several that can
 * start then, the first op, or the one with the longest way to the end (AD_ORDER_CRITICAL). Its
 * RECVs stand in front of it, its SENDs behind it.
 *
 * No cyclic wait can arise: the programs are the record of a run in which every RECV stood behind
 * its SEND. The clocks here are an estimate (SENDs of several devices over one link are taken in the
 * order of their tasks); the simulator has the last word about times. */
#include "schedule/lowering.h"
#include "schedule/clocks.h"

#include <math.h>
#include <string.h>

struct ad_order_task {
    int waits;     /* for so many inputs and messages */
    int64_t ready; /* when the last message was there */
};

/* Message lists end with -1. */
#define NONE (-1)

static size_t at(const struct ad_lowering *l, int index, int device)
{
    return (size_t)index * (size_t)l->ndevices + (size_t)device;
}

static bool there(struct ad_lowering *l, int op, int device)
{
    return !ad_region_empty(*ad_computed_at(l, op, device));
}

static int64_t duration(struct ad_lowering *l, int device, int op)
{
    struct ad_task task = {op, *ad_computed_at(l, op, device)};
    return ad_clocks_task_ns(l->clocks, l->graph, l->cluster, device, &task);
}

/* Lists of the readers of each value, and each op's way to the end on the source, in ns. */
static bool survey(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    const struct ad_graph *graph = l->graph;
    size_t n = (size_t)l->ndevices, nreads = 0;
    for (int i = 0; i < graph->nops; i++)
        nreads += (size_t)graph->ops[i].ninputs;
    o->first_reader = ad_arena_alloc(&l->arena, (size_t)graph->nvalues + 2, sizeof *o->first_reader);
    o->readers = ad_arena_alloc(&l->arena, nreads + 1, sizeof *o->readers);
    o->rank = ad_arena_alloc(&l->arena, (size_t)graph->nops + 1, sizeof *o->rank);
    o->tasks = ad_arena_alloc(&l->arena, (size_t)graph->nops * n + 1, sizeof *o->tasks);
    o->coming = ad_arena_alloc(&l->arena, (size_t)graph->nvalues * n, sizeof *o->coming);
    o->leaving = ad_arena_alloc(&l->arena, (size_t)graph->nvalues * n, sizeof *o->leaving);
    o->open = ad_arena_alloc(&l->arena, (size_t)graph->nops * n + 1, sizeof *o->open);
    if (!o->first_reader || !o->readers || !o->rank || !o->tasks || !o->coming || !o->leaving ||
        !o->open)
        return false;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            o->first_reader[graph->ops[i].inputs[k] + 2]++;
    for (int v = 0; v < graph->nvalues; v++)
        o->first_reader[v + 2] += o->first_reader[v + 1];
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            o->readers[o->first_reader[graph->ops[i].inputs[k] + 1]++] = i;
    for (int i = graph->nops - 1; i >= 0; i--) {
        int v = graph->ops[i].output;
        struct ad_task whole = {i, ad_region_whole(&graph->values[v])};
        int64_t behind = 0;
        for (int r = o->first_reader[v]; r < o->first_reader[v + 1]; r++)
            behind = o->rank[o->readers[r]] > behind ? o->rank[o->readers[r]] : behind;
        o->rank[i] = behind + ad_clocks_task_ns(l->clocks, graph, l->cluster, l->cluster->source,
                                                &whole);
    }
    o->surveyed = true;
    return true;
}

static void open_task(struct ad_lowering *l, int op, int device)
{
    struct ad_orders *o = &l->orders;
    o->open[(size_t)device * (size_t)l->nops + (size_t)o->nopen[device]++] = op;
}

/* One input less to wait for, for all readers of a value on a device. */
static void settle(struct ad_lowering *l, int value, int device, int64_t when)
{
    struct ad_orders *o = &l->orders;
    for (int r = o->first_reader[value]; r < o->first_reader[value + 1]; r++) {
        struct ad_order_task *task = &o->tasks[at(l, o->readers[r], device)];
        task->ready = when > task->ready ? when : task->ready;
        if (--task->waits == 0 && there(l, o->readers[r], device))
            open_task(l, o->readers[r], device);
    }
}

/* Chains the messages by value and device, at both ends, in their order; counts what tasks wait
 * for. */
static bool prepare(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    const struct ad_graph *graph = l->graph;
    size_t n = (size_t)l->ndevices;
    if (!o->surveyed && !survey(l))
        return false;
    while (o->next_room < 2 * l->all.count)
        if (!ad_grow(&o->next, o->next_room, &o->next_room, sizeof *o->next))
            return false;
    memset(o->coming, NONE, (size_t)graph->nvalues * n * sizeof *o->coming);
    memset(o->leaving, NONE, (size_t)graph->nvalues * n * sizeof *o->leaving);
    memset(o->tasks, 0, (size_t)graph->nops * n * sizeof *o->tasks);
    memset(o->nopen, 0, sizeof o->nopen);
    memset(o->clock, 0, sizeof o->clock);
    memset(o->up, 0, sizeof o->up);
    memset(o->down, 0, sizeof o->down);
    memset(l->last, -1, n * n * sizeof *l->last);
    for (size_t t = l->all.count; t-- > 0;) {
        const struct ad_transfer *m = &l->all.list[t];
        o->next[2 * t] = o->coming[at(l, m->value, m->to)];
        o->coming[at(l, m->value, m->to)] = (int)t;
        o->next[2 * t + 1] = o->leaving[at(l, m->value, m->from)];
        o->leaving[at(l, m->value, m->from)] = (int)t;
    }
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++) {
            int v = graph->ops[i].inputs[k], p = graph->values[v].producer;
            for (int d = 0; d < l->ndevices; d++) {
                int *waits = &o->tasks[at(l, i, d)].waits;
                *waits += p >= 0 && there(l, p, d);
                for (int t = o->coming[at(l, v, d)]; t != NONE; t = o->next[2 * t])
                    ++*waits;
            }
        }
    for (int i = 0; i < graph->nops; i++)
        for (int d = 0; d < l->ndevices; d++)
            if (there(l, i, d) && o->tasks[at(l, i, d)].waits == 0)
                open_task(l, i, d);
    return true;
}

/* A message goes onto the wire: links it to the one before it between the same two devices. */
static void note_sent(struct ad_lowering *l, int t)
{
    struct ad_orders *o = &l->orders;
    struct ad_transfer *m = &l->all.list[t];
    const struct ad_link *link = &l->cluster->links[at(l, m->from, m->to)];
    int *last = &l->last[at(l, m->from, m->to)];
    double bytes = (double)ad_region_bytes(l->graph, m->value, m->region);
    int64_t start = o->clock[m->from];
    m->previous = *last;
    *last = t;
    m->sent = true;
    int64_t *up = l->cluster->shared_medium ? &o->up[0] : &o->up[m->from];
    int64_t *down = l->cluster->shared_medium ? &o->up[0] : &o->down[m->to];
    start = *up > start ? *up : start;
    start = *down > start ? *down : start;
    *up = *down = start + ad_clocks_ns(bytes / link->bandwidth);
    settle(l, m->value, m->to, *up + ad_clocks_ns(link->latency));
}

/* SENDs of a value that have not been emitted with its tasks. */
static void send_rest(struct ad_lowering *l, int value, int device)
{
    struct ad_orders *o = &l->orders;
    for (int t = o->leaving[at(l, value, device)]; t != NONE; t = o->next[2 * t + 1])
        if (!l->all.list[t].sent) {
            ad_lowering_emit_message(l, (size_t)t, AD_STEP_SEND);
            note_sent(l, t);
        }
}

static bool run_task(struct ad_lowering *l, int op, int device, int64_t start)
{
    struct ad_orders *o = &l->orders;
    const struct ad_op *what = &l->graph->ops[op];
    for (int k = 0; k < what->ninputs; k++)
        for (int t = o->coming[at(l, what->inputs[k], device)]; t != NONE; t = o->next[2 * t])
            ad_lowering_emit_receive(l, (size_t)t);
    int64_t end = start + duration(l, device, op);
    o->clock[device] = start;
    if (!l->early[op]) {
        ad_lowering_emit_task(l, op, device, *ad_computed_at(l, op, device));
    } else {
        int first = o->leaving[at(l, what->output, device)];
        if (!ad_lowering_emit_early(l, op, device, first == NONE ? l->all.count : (size_t)first))
            return false;
    }
    for (int t = o->leaving[at(l, what->output, device)]; t != NONE; t = o->next[2 * t + 1])
        if (l->all.list[t].sent)
            note_sent(l, t); /* early: about when the task starts */
    o->clock[device] = end;
    settle(l, what->output, device, end);
    send_rest(l, what->output, device);
    return true;
}

/* The open task that the device should take next, as an index of its list, and when it can start;
 * -1 when there is none. */
static int choose(struct ad_lowering *l, int device, int64_t *start)
{
    struct ad_orders *o = &l->orders;
    const int *open = &o->open[(size_t)device * (size_t)l->nops];
    int best = -1;
    for (int k = 0; k < o->nopen[device]; k++) {
        int64_t ready = o->tasks[at(l, open[k], device)].ready;
        ready = ready > o->clock[device] ? ready : o->clock[device];
        bool sooner = best < 0 || ready < *start, level = best >= 0 && ready == *start;
        bool first = level && (o->critical ? o->rank[open[k]] > o->rank[open[best]] ||
                                                 (o->rank[open[k]] == o->rank[open[best]] &&
                                                  open[k] < open[best])
                                           : open[k] < open[best]);
        if (sooner || first) {
            best = k;
            *start = ready;
        }
    }
    return best;
}

bool ad_lowering_order(struct ad_lowering *l, bool critical)
{
    struct ad_orders *o = &l->orders;
    const struct ad_graph *graph = l->graph;
    if (!prepare(l))
        return false;
    o->critical = critical;
    for (int i = 0; i < graph->ninputs; i++)
        send_rest(l, graph->inputs[i], l->cluster->source);
    for (;;) {
        int device = -1, which = -1;
        int64_t soonest = 0;
        for (int d = 0; d < l->ndevices; d++) {
            int64_t start = 0;
            int k = choose(l, d, &start);
            if (k >= 0 && (device < 0 || start < soonest)) {
                device = d;
                which = k;
                soonest = start;
            }
        }
        if (device < 0)
            break;
        int *open = &o->open[(size_t)device * (size_t)l->nops], op = open[which];
        open[which] = open[--o->nopen[device]];
        if (!run_task(l, op, device, soonest))
            return false;
    }
    for (int i = 0; i < graph->noutputs; i++)
        for (int t = o->coming[at(l, graph->outputs[i], l->cluster->source)]; t != NONE;
             t = o->next[2 * t])
            ad_lowering_emit_receive(l, (size_t)t);
    return true;
}
