/* A coarse clock: whole bands in the graph's order, one clock per device and link direction. What a
 * message brings is needed only for the last part of a band, as far as the order of the tasks has
 * the rest done before (AD_ORDER_CORES); messages of early ops leave once a boundary is computed
 * from the boundaries before it. It needs routes only, no pieces, so it takes a fraction of the
 * lowering; searches sort out with it what is far worse than what they have. */
#include "schedule/lowering.h"

#include <string.h>

#define BEHIND 10 /* the part of a band that waits for messages: one in so many */
#define AHEAD 6   /* that an edge takes where nothing of the op itself is sent: one in so many */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When a message that may leave then is there. */
static int64_t deliver(struct ad_step_lowering *l, const struct ad_transfer *m, int64_t leave)
{
    size_t pair = (size_t)m->from * (size_t)l->ndevices + (size_t)m->to;
    struct ad_passage passage = ad_ports_pass(&l->estimate.ports, l->cluster->shared_medium,
                                              m->from, m->to, leave, m->wire_ns);
    return ad_clocks_plus(passage.end, l->clocks->latency[pair]);
}

/* What a band takes, and what of it until all that is sent of it is there. */
static void time_band(struct ad_step_lowering *l, int op, int device, struct ad_routed *r)
{
    struct ad_task task = {op, r->computed[device]};
    int64_t most = 0, all = ad_region_elements(task.region);
    int64_t ns = ad_clocks_task_ns(l->clocks, l->graph, l->cluster, device, &task);
    for (size_t t = 0; t < r->sends.count; t++)
        if (r->sends.list[t].from == device)
            most = later(most, r->sends.list[t].chunks > 1
                                   ? all
                                   : ad_region_elements(r->sends.list[t].region));
    r->band_ns[device] = ns;
    r->edge_ns[device] = 2 * most > all ? ns
                         : most > 0     ? (int64_t)((double)ns * (double)most / (double)all)
                                        : ns / AHEAD;
}

/* What an op's band waits for on a device. */
static struct ad_moment await(const struct ad_step_lowering *l, const struct ad_op *op, int device)
{
    const struct ad_estimate *e = &l->estimate;
    struct ad_moment all = {0};
    for (int k = 0; k < op->ninputs; k++) {
        int p = l->graph->values[op->inputs[k]].producer;
        const struct ad_moment *m = p < 0 ? &e->fed[device] : &e->at[p * l->ndevices + device];
        if (p < 0 && ad_value_constant(l->graph, op->inputs[k]))
            continue;
        all.done = later(all.done, m->done);
        all.edge = later(all.edge, m->edge);
        all.come = later(all.come, m->come);
    }
    return all;
}

static void compute(struct ad_step_lowering *l, int op, int device)
{
    struct ad_estimate *e = &l->estimate;
    struct ad_routed *r = l->memo[op].now;
    struct ad_moment *m = &e->at[op * l->ndevices + device];
    *m = (struct ad_moment){0};
    if (ad_region_empty(r->computed[device]))
        return;
    if (r->band_ns[device] < 0)
        time_band(l, op, device, r);
    int64_t ns = r->band_ns[device], edge = r->edge_ns[device];
    int64_t behind = l->order == AD_ORDER_CORES ? ns / BEHIND : ns;
    struct ad_moment in = await(l, &l->graph->ops[op], device);
    m->done = later(ad_clocks_plus(e->clock[device], ns), ad_clocks_plus(in.done, ns));
    m->done = later(m->done, ad_clocks_plus(in.come, behind));
    m->edge = later(in.edge, in.come) + edge;
    m->edge = m->edge < m->done && (l->early[op] || r->sends.count == 0) ? m->edge : m->done;
    e->clock[device] = m->done;
}

/* When a message of an op's output may leave. */
static int64_t leaves(const struct ad_step_lowering *l, int op, const struct ad_transfer *m)
{
    const struct ad_moment *at = &l->estimate.at[op * l->ndevices + m->from];
    int64_t behind = m->chunks - 1 - m->chunk; /* chunks that are computed later */
    if (m->chunks > 1)
        return at->done - l->memo[op].now->band_ns[m->from] / m->chunks * behind;
    return l->early[op] ? at->edge : at->done;
}

static void feed(struct ad_step_lowering *l)
{
    struct ad_estimate *e = &l->estimate;
    memset(e->fed, 0, sizeof e->fed);
    for (size_t t = 0; t < l->inputs->sends.count; t++) {
        const struct ad_transfer *m = &l->inputs->sends.list[t];
        struct ad_moment *fed = &e->fed[m->to];
        int64_t there = deliver(l, m, l->clocks->feed_ns);
        fed->done = fed->edge = fed->done > 0 && fed->done < there ? fed->done : there;
        fed->come = later(fed->come, there);
    }
}

int64_t ad_lowering_estimate(struct ad_step_lowering *l)
{
    struct ad_estimate *e = &l->estimate;
    int64_t end = 0;
    memset(e->clock, 0, sizeof e->clock);
    e->clock[l->cluster->source] = l->clocks->feed_ns;
    memset(&e->ports, 0, sizeof e->ports);
    feed(l);
    for (int i = 0; i < l->nops; i++) {
        const struct ad_transfers *sends = &l->memo[i].now->sends;
        struct ad_moment *at = &e->at[i * l->ndevices];
        for (int d = 0; d < l->ndevices; d++)
            compute(l, i, d);
        for (size_t t = 0; t < sends->count; t++) {
            const struct ad_transfer *m = &sends->list[t];
            int64_t there = deliver(l, m, leaves(l, i, m));
            at[m->to].come = later(at[m->to].come, there);
            e->clock[m->from] = ad_clocks_plus(e->clock[m->from], m->copy_ns + m->sending_ns);
            e->clock[m->to] = ad_clocks_plus(e->clock[m->to], m->receiving_ns + m->decode_ns);
            end = m->to == l->cluster->source ? later(end, there) : end;
        }
    }
    return ad_clocks_plus(later(end, e->clock[l->cluster->source]), l->clocks->fetch_ns);
}
