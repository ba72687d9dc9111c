/* A hub's RECVs and SENDs of a value that it passes on stand before the first op, on any device,
 * that reads the value (a relay).
 *
 * Why no cyclic wait can arise: give every event a slot: 2i before op i, 2i + 1 after it. A RECV
 * before op i waits for a SEND after some op j < i, or for a relay before some op j <= i; the RECVs
 * that FIFO order pulls before it belong to SENDs of no later slot; and a relay's own RECVs, at its
 * slot, wait for lower slots only. So every wait points to a lower slot, or within a slot from a
 * device to the hub, which waits for nobody there. */
#include "schedule/graph_order.h"
#include "fusion/region.h"

#include <string.h>

/* Whether a message leaves before the rest of its op is computed. */
static bool is_early(const struct ad_graph_order *g, const struct ad_transfer *m)
{
    int producer = g->c->graph->values[m->value].producer;
    return producer >= 0 && g->c->early[producer] && m->slot == 2 * producer + 1;
}

/* Tasks that an early op may add per message: the message's rows, and what their cut adds to the
 * rest. */
#define EARLY_TASKS 6

/* A task in the graph's order. */
static void emit_part(struct ad_graph_order *g, int op, int device, struct ad_region region)
{
    const struct ad_lowering_context *c = g->c;
    struct ad_task task = {op, region};
    int64_t ns = ad_clocks_task_ns(c->clocks, c->graph, c->cluster, device, &task);
    ad_emit_task(g->emitter, op, device, &region, ns);
}

/* Queues the messages, and sorts their indices by the op that waits for them: waiting[start[op]] ..
 * waiting[start[op + 1] - 1]. False without memory. */
static bool index_messages(struct ad_graph_order *g)
{
    const struct ad_transfers *all = &g->routes->all;
    size_t *start = g->start;
    int nops = g->c->nops;
    while (g->waiting_room < all->count)
        if (!ad_grow(&g->waiting, g->waiting_room, &g->waiting_room, sizeof *g->waiting))
            return false;
    memset(start, 0, ((size_t)nops + 2) * sizeof *start);
    for (size_t t = 0; t < all->count; t++) {
        ad_emitter_queue(g->emitter, t);
        start[all->list[t].before + 1]++;
    }
    for (int i = 0; i <= nops; i++)
        start[i + 1] += start[i];
    for (size_t t = all->count; t-- > 0;)
        g->waiting[--start[all->list[t].before + 1]] = t;
    for (int i = 0; i <= nops; i++)
        start[i] = start[i + 1];
    start[nops + 1] = all->count;
    return true;
}

/* Room for the programs. False without memory. */
static bool reserve(struct ad_graph_order *g)
{
    int ntasks[AD_MAX_DEVICES]; /* at most */
    if (!g->emitter->schedule)
        return true;
    for (int d = 0; d < g->c->ndevices; d++) {
        ntasks[d] = 0;
        for (int i = 0; i < g->c->nops; i++)
            ntasks[d] += !ad_region_empty(*ad_computed_at(g->routes, i, d));
    }
    for (size_t t = 0; t < g->routes->all.count; t++)
        if (is_early(g, &g->routes->all.list[t]))
            ntasks[g->routes->all.list[t].from] += EARLY_TASKS;
    return ad_emitter_reserve(g->emitter, ntasks);
}

static size_t send_up_to(struct ad_graph_order *g, size_t next, int slot)
{
    for (; next < g->routes->all.count && g->routes->all.list[next].slot <= slot; next++)
        if (!g->routes->all.list[next].sent)
            ad_emit_send(g->emitter, next);
    return next;
}

static bool touches(const struct ad_region_set *set, struct ad_region r)
{
    for (size_t i = 0; i < set->count; i++)
        if (!ad_region_empty(ad_region_intersect(set->boxes[i], r)))
            return true;
    return false;
}

/* What is left of an early op after `messages` messages: box by box, or all of it once more where
 * that would be a part that cannot be computed alone, or too many parts (the same bits again). */
static void emit_rest(struct ad_graph_order *g, int op, int device,
                      const struct ad_region_set *rest, size_t messages)
{
    const struct ad_lowering_context *c = g->c;
    const struct ad_op *o = &c->graph->ops[op];
    struct ad_region whole = *ad_computed_at(g->routes, op, device);
    bool apart = rest->count <= 1 + (EARLY_TASKS - 1) * messages;
    for (size_t i = 0; i < rest->count && apart; i++)
        apart = ad_region_contains(whole, ad_region_allow(c->graph, o, rest->boxes[i]));
    for (size_t i = 0; i < rest->count && apart; i++)
        emit_part(g, op, device, ad_region_allow(c->graph, o, rest->boxes[i]));
    if (!apart)
        emit_part(g, op, device, whole);
}

/* An early op on a device: message by message (in their order, so that FIFO holds) what is sent,
 * each followed by its SEND, then the rest. A message of more than half of all ends this: nothing
 * is left to compute while it travels. */
static bool emit_early(struct ad_graph_order *g, int op, int device, size_t next)
{
    const struct ad_op *o = &g->c->graph->ops[op];
    struct ad_region whole = *ad_computed_at(g->routes, op, device);
    struct ad_region_set rest = {0};
    bool room = ad_region_set_add(&rest, whole);
    size_t messages = 0;
    for (size_t t = next;
         t < g->routes->all.count && g->routes->all.list[t].slot <= 2 * op + 1 && room; t++) {
        const struct ad_transfer *m = &g->routes->all.list[t];
        if (m->from != device || m->value != o->output)
            continue;
        struct ad_region part = ad_region_allow(g->c->graph, o, m->region);
        if (2 * ad_region_elements(part) > ad_region_elements(whole) ||
            !ad_region_contains(whole, part))
            break;
        if (touches(&rest, part)) {
            emit_part(g, op, device, part);
            room = ad_region_set_remove(&rest, part);
        }
        ad_emit_send(g->emitter, t);
        messages++;
    }
    if (room)
        emit_rest(g, op, device, &rest, messages);
    ad_region_set_fini(&rest);
    return room;
}

/* The tasks of an op on all devices. */
static bool emit_op(struct ad_graph_order *g, int op, size_t next)
{
    for (int d = 0; d < g->c->ndevices; d++) {
        struct ad_region r = *ad_computed_at(g->routes, op, d);
        if (ad_region_empty(r))
            continue;
        if (!g->c->early[op])
            emit_part(g, op, d, r);
        else if (!emit_early(g, op, d, next))
            return false;
    }
    return true;
}

bool ad_graph_order_run(struct ad_graph_order *g)
{
    size_t next = 0; /* messages up to here are sent */
    if (!reserve(g) || !index_messages(g))
        return false;
    for (int i = -1; i <= g->c->nops; i++) {
        if (i >= 0)
            for (size_t w = g->start[i]; w < g->start[i + 1]; w++)
                ad_emit_receive(g->emitter, g->waiting[w]);
        next = send_up_to(g, next, 2 * i);
        if (i >= 0 && i < g->c->nops && !emit_op(g, i, next))
            return false;
        next = send_up_to(g, next, 2 * i + 1);
    }
    return true;
}

bool ad_graph_order_init(struct ad_graph_order *out, struct ad_lowering_context *c,
                         struct ad_routes *routes, struct ad_emitter *emitter)
{
    *out = (struct ad_graph_order){
        .c = c,
        .routes = routes,
        .emitter = emitter,
        .start = ad_calloc((size_t)c->nops + 2, sizeof *out->start),
    };
    return out->start != NULL;
}

void ad_graph_order_fini(struct ad_graph_order *g)
{
    ad_free(g->start);
    ad_free(g->waiting);
    *g = (struct ad_graph_order){0};
}
