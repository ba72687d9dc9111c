/* Whole bands in the graph's order, one clock per device and link direction. What a message brings
 * is needed only for the last part of a band, as far as the order of the tasks has the rest done
 * before (AD_ORDER_CORES); messages of early ops leave once a boundary is computed from the
 * boundaries before it. */
#include "schedule/estimate.h"

#include <string.h>

#define LAST_PART 10 /* one part in so many of a band waits for messages */
#define EDGE_PART                                                                                  \
    6 /* what an edge takes of a band, one in so many, where nothing of it is sent                 \
       */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When a message that may leave then is there. */
static int64_t deliver(struct ad_estimate *e, const struct ad_transfer *m, int64_t leave)
{
    size_t pair = ad_lowering_at(e->c, m->from, m->to);
    struct ad_passage passage =
        ad_ports_pass(&e->ports, e->c->cluster->shared_medium, m->from, m->to, leave, m->wire_ns);
    return ad_clocks_plus(passage.end, e->c->clocks->latency[pair]);
}

/* What a band takes, and what of it until all that is sent of it is there. */
static void time_band(struct ad_estimate *e, int op, int device, struct ad_route *r)
{
    const struct ad_lowering_context *c = e->c;
    struct ad_task task = {op, r->computed[device]};
    int64_t most = 0, all = ad_region_elements(task.region);
    int64_t ns = ad_clocks_task_ns(c->clocks, c->graph, c->cluster, device, &task);
    for (size_t t = 0; t < r->sends.count; t++)
        if (r->sends.list[t].from == device)
            most = later(most, r->sends.list[t].chunks > 1
                                   ? all
                                   : ad_region_elements(r->sends.list[t].region));
    r->band_ns[device] = ns;
    r->edge_ns[device] = 2 * most > all ? ns
                         : most > 0     ? (int64_t)((double)ns * (double)most / (double)all)
                                        : ns / EDGE_PART;
}

/* When what an op's band reads is there on a device. */
static struct ad_band_times inputs_of(const struct ad_estimate *e, const struct ad_op *op,
                                      int device)
{
    const struct ad_lowering_context *c = e->c;
    struct ad_band_times all = {0};
    for (int k = 0; k < op->ninputs; k++) {
        int p = c->graph->values[op->inputs[k]].producer;
        const struct ad_band_times *m = p < 0 ? &e->fed[device] : &e->at[p * c->ndevices + device];
        if (p < 0 && ad_value_constant(c->graph, op->inputs[k]))
            continue;
        all.done = later(all.done, m->done);
        all.edge = later(all.edge, m->edge);
        all.come = later(all.come, m->come);
    }
    return all;
}

/* The band of an op on a device. */
static void compute(struct ad_estimate *e, struct ad_route *r, int op, int device)
{
    const struct ad_lowering_context *c = e->c;
    struct ad_band_times *m = &e->at[op * c->ndevices + device];
    *m = (struct ad_band_times){0};
    if (ad_region_empty(r->computed[device]))
        return;
    if (r->band_ns[device] < 0)
        time_band(e, op, device, r);
    int64_t ns = r->band_ns[device], edge = r->edge_ns[device];
    int64_t last = c->order == AD_ORDER_CORES ? ns / LAST_PART : ns;
    struct ad_band_times in = inputs_of(e, &c->graph->ops[op], device);
    m->done = later(ad_clocks_plus(e->clock[device], ns), ad_clocks_plus(in.done, ns));
    m->done = later(m->done, ad_clocks_plus(in.come, last));
    m->edge = later(in.edge, in.come) + edge;
    m->edge = m->edge < m->done && (c->early[op] || r->sends.count == 0) ? m->edge : m->done;
    e->clock[device] = m->done;
}

/* When a message of an op's output may leave. */
static int64_t leaves(const struct ad_estimate *e, const struct ad_route *r, int op,
                      const struct ad_transfer *m)
{
    const struct ad_band_times *at = &e->at[op * e->c->ndevices + m->from];
    int64_t later_chunks = m->chunks - 1 - m->chunk;
    if (m->chunks > 1)
        return at->done - r->band_ns[m->from] / m->chunks * later_chunks;
    return e->c->early[op] ? at->edge : at->done;
}

/* The network's inputs. */
static void feed(struct ad_estimate *e)
{
    memset(e->fed, 0, sizeof e->fed);
    for (size_t t = 0; t < e->routes->inputs->sends.count; t++) {
        const struct ad_transfer *m = &e->routes->inputs->sends.list[t];
        struct ad_band_times *fed = &e->fed[m->to];
        int64_t there = deliver(e, m, e->c->clocks->feed_ns);
        fed->done = fed->edge = fed->done > 0 && fed->done < there ? fed->done : there;
        fed->come = later(fed->come, there);
    }
}

int64_t ad_estimate_run(struct ad_estimate *e)
{
    const struct ad_lowering_context *c = e->c;
    int64_t end = 0;
    memset(e->clock, 0, sizeof e->clock);
    e->clock[c->cluster->source] = c->clocks->feed_ns;
    memset(&e->ports, 0, sizeof e->ports);
    feed(e);
    for (int i = 0; i < c->nops; i++) {
        struct ad_route *route = e->routes->ops[i].now;
        const struct ad_transfers *sends = &route->sends;
        struct ad_band_times *at = &e->at[i * c->ndevices];
        for (int d = 0; d < c->ndevices; d++)
            compute(e, route, i, d);
        for (size_t t = 0; t < sends->count; t++) {
            const struct ad_transfer *m = &sends->list[t];
            int64_t there = deliver(e, m, leaves(e, route, i, m));
            at[m->to].come = later(at[m->to].come, there);
            e->clock[m->from] = ad_clocks_plus(e->clock[m->from], m->copy_ns + m->sending_ns);
            e->clock[m->to] = ad_clocks_plus(e->clock[m->to], m->receiving_ns + m->decode_ns);
            end = m->to == c->cluster->source ? later(end, there) : end;
        }
    }
    return ad_clocks_plus(later(end, e->clock[c->cluster->source]), c->clocks->fetch_ns);
}

bool ad_estimate_init(struct ad_estimate *out, struct ad_lowering_context *c,
                      struct ad_routes *routes)
{
    size_t nbands = (size_t)c->nops * (size_t)c->ndevices;
    *out = (struct ad_estimate){
        .c = c,
        .routes = routes,
        .at = ad_arena_alloc(&c->arena, nbands + 1, sizeof *out->at),
    };
    return out->at != NULL;
}
