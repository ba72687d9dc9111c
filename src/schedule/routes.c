#include "schedule/routes.h"

#include <string.h>

/* --- keys --- */

/* Whether the readers of a value compute what they did when `key` was noted. */
static bool readers_fit(const struct ad_routes *r, int value, const uint64_t *key)
{
    const struct ad_lowering_context *c = r->c;
    for (int i = c->readers.first[value]; i < c->readers.first[value + 1]; i++)
        if (*key++ != r->ops[c->readers.list[i].op].now->computed_stamp)
            return false;
    return true;
}

/* Notes it; the end of the key. */
static uint64_t *note_readers(const struct ad_routes *r, int value, uint64_t *key)
{
    const struct ad_lowering_context *c = r->c;
    for (int i = c->readers.first[value]; i < c->readers.first[value + 1]; i++)
        *key++ = r->ops[c->readers.list[i].op].now->computed_stamp;
    return key;
}

/* --- ops --- */

struct ad_route *ad_routes_find(struct ad_routes *r, int op, const struct ad_region *assigned)
{
    const struct ad_lowering_context *c = r->c;
    size_t size = (size_t)c->ndevices * sizeof *assigned;
    int value = c->graph->ops[op].output, chunks = c->early[op] ? c->band_chunks : 1;
    struct ad_op_routes *mine = &r->ops[op];
    for (int i = 0; i < c->kept; i++) {
        int place = mine->recent.place[i];
        struct ad_route *old = &mine->kept[place];
        if (!old->valid || old->hub != c->hub || old->band_chunks != chunks ||
            old->encodings != c->encodings || !readers_fit(r, value, old->readers) ||
            memcmp(old->assigned, assigned, size) != 0)
            continue;
        if (i > 0)
            ad_recent_use(&mine->recent, place);
        return mine->now = old;
    }
    struct ad_route *fresh = &mine->kept[ad_recent_oldest(&mine->recent, c->kept)];
    ad_recent_use(&mine->recent, (int)(fresh - mine->kept));
    fresh->valid = false;
    fresh->hub = c->hub;
    fresh->band_chunks = chunks;
    fresh->encodings = c->encodings;
    memcpy(fresh->assigned, assigned, size);
    memcpy(fresh->computed, assigned, size);
    note_readers(r, value, fresh->readers);
    fresh->sends.count = 0;
    memset(fresh->band_ns, -1, (size_t)c->ndevices * sizeof *fresh->band_ns);
    return mine->now = fresh;
}

void ad_routes_keep(struct ad_routes *r, int op, struct ad_route *route, bool certain)
{
    size_t size = (size_t)r->c->ndevices * sizeof *route->computed;
    route->stamp = route->computed_stamp = 0;
    for (int i = 0; i < r->c->kept; i++) {
        const struct ad_route *old = &r->ops[op].kept[i];
        if (!old->valid || memcmp(old->computed, route->computed, size) != 0)
            continue;
        route->computed_stamp = old->computed_stamp;
        if (ad_transfers_same(&old->sends, &route->sends))
            route->stamp = old->stamp;
    }
    route->stamp = route->stamp ? route->stamp : ++r->c->stamps;
    route->computed_stamp = route->computed_stamp ? route->computed_stamp : ++r->c->stamps;
    route->valid = certain;
}

/* --- the network's inputs --- */

/* Whether it is the answer for what is read of the inputs now. */
static bool inputs_fit(const struct ad_routes *r, const struct ad_input_route *route)
{
    const struct ad_lowering_context *c = r->c;
    const uint64_t *key = route->readers;
    if (!route->valid || route->hub != c->hub || route->input_chunks != c->input_chunks ||
        route->u8 != c->u8 || route->encodings != c->encodings)
        return false;
    for (int i = 0; i < c->graph->ninputs; i++) {
        int v = c->graph->inputs[i];
        if (!readers_fit(r, v, key))
            return false;
        key += c->readers.first[v + 1] - c->readers.first[v];
    }
    return true;
}

struct ad_input_route *ad_routes_find_inputs(struct ad_routes *r)
{
    const struct ad_lowering_context *c = r->c;
    for (int i = 0; i < c->kept; i++) {
        int place = r->inputs_recent.place[i];
        if (!inputs_fit(r, &r->inputs_kept[place]))
            continue;
        if (i > 0)
            ad_recent_use(&r->inputs_recent, place);
        return r->inputs = &r->inputs_kept[place];
    }
    int place = ad_recent_oldest(&r->inputs_recent, c->kept);
    ad_recent_use(&r->inputs_recent, place);
    struct ad_input_route *route = r->inputs = &r->inputs_kept[place];
    route->valid = false;
    route->hub = c->hub;
    route->input_chunks = c->input_chunks;
    route->u8 = c->u8;
    route->encodings = c->encodings;
    uint64_t *key = route->readers;
    for (int i = 0; i < c->graph->ninputs; i++)
        key = note_readers(r, c->graph->inputs[i], key);
    route->sends.count = 0;
    return route;
}

static uint64_t inputs_stamp(struct ad_routes *r, const struct ad_input_route *route)
{
    for (int i = 0; i < r->c->kept; i++) {
        const struct ad_input_route *old = &r->inputs_kept[i];
        if (old->valid && ad_transfers_same(&old->sends, &route->sends))
            return old->stamp;
    }
    return ++r->c->stamps;
}

void ad_routes_keep_inputs(struct ad_routes *r, struct ad_input_route *route, bool certain)
{
    route->stamp = inputs_stamp(r, route);
    route->valid = certain;
}

/* --- all together --- */

bool ad_routes_collect(struct ad_routes *r)
{
    r->all.count = 0;
    bool room = ad_transfers_append(&r->all, &r->inputs->sends);
    for (int i = 0; i < r->c->nops && room; i++) {
        const struct ad_transfers *sends = &r->ops[i].now->sends;
        r->first_message[i] = (int)r->all.count;
        room = sends->count == 0 || ad_transfers_append(&r->all, sends);
    }
    if (room && r->c->hub >= 0)
        ad_transfers_sort(&r->all); /* what the hub passes on is out of order */
    return room;
}

static bool init_op(struct ad_routes *r, int op)
{
    struct ad_lowering_context *c = r->c;
    size_t n = (size_t)c->ndevices, ninputs = (size_t)c->graph->ops[op].ninputs;
    size_t nreaders = (size_t)ad_readers_count(&c->readers, c->graph->ops[op].output);
    ad_recent_init(&r->ops[op].recent);
    for (int i = 0; i < c->kept; i++) {
        struct ad_route *route = &r->ops[op].kept[i];
        route->assigned = ad_arena_alloc(&c->arena, n, sizeof *route->assigned);
        route->readers = ad_arena_alloc(&c->arena, nreaders, sizeof *route->readers);
        route->computed = ad_arena_alloc(&c->arena, n, sizeof *route->computed);
        route->reads = ad_arena_alloc(&c->arena, n * ninputs, sizeof *route->reads);
        route->band_ns = ad_arena_alloc(&c->arena, n, sizeof *route->band_ns);
        route->edge_ns = ad_arena_alloc(&c->arena, n, sizeof *route->edge_ns);
        if (!route->assigned || !route->readers || !route->computed || !route->reads ||
            !route->band_ns || !route->edge_ns)
            return false;
    }
    return true;
}

static bool init_inputs(struct ad_routes *r)
{
    struct ad_lowering_context *c = r->c;
    size_t count = 0;
    for (int i = 0; i < c->graph->ninputs; i++)
        count += (size_t)ad_readers_count(&c->readers, c->graph->inputs[i]);
    ad_recent_init(&r->inputs_recent);
    for (int i = 0; i < c->kept; i++) {
        struct ad_input_route *route = &r->inputs_kept[i];
        route->readers = ad_arena_alloc(&c->arena, count, sizeof *route->readers);
        if (!route->readers)
            return false;
    }
    return true;
}

bool ad_routes_init(struct ad_routes *out, struct ad_lowering_context *c)
{
    size_t nops = (size_t)c->nops;
    *out = (struct ad_routes){
        .c = c,
        .ops = ad_calloc(nops, sizeof *out->ops),
        .first_message = ad_calloc(nops, sizeof *out->first_message),
    };
    bool room = out->ops && out->first_message;
    for (int i = 0; i < c->nops && room; i++)
        room = init_op(out, i);
    room = room && init_inputs(out);
    if (!room)
        ad_routes_fini(out);
    return room;
}

void ad_routes_fini(struct ad_routes *r)
{
    for (int i = 0; r->ops && i < r->c->nops; i++)
        for (int k = 0; k < AD_KEPT; k++)
            ad_transfers_fini(&r->ops[i].kept[k].sends);
    for (int k = 0; k < AD_KEPT; k++)
        ad_transfers_fini(&r->inputs_kept[k].sends);
    ad_free(r->ops);
    ad_free(r->first_message);
    ad_transfers_fini(&r->all);
    *r = (struct ad_routes){0};
}
