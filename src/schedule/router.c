/* Backwards over the ops: what each device needs of each value is known once all consumers have
 * been seen; what it does not compute itself becomes messages from those who hold it, and what
 * nobody wants of a computed region is not computed, before the op's own inputs are asked for.
 *
 * With a hub, the hub fetches all that any other device lacks and some device computes, and serves
 * the others. What it has received it passes on at once (a relay). */
#include "schedule/router.h"
#include "fusion/region.h"
#include "schedule/chunks.h"

#include <string.h>

static void note_need(struct ad_router *r, int device, struct ad_region region, int op)
{
    if (ad_region_empty(region))
        return;
    r->needed[device] = ad_region_hull(r->needed[device], region);
    r->first_use[device] = op;
}

/* What is needed of a value, all of whose readers are routed. */
static void gather_needs(struct ad_router *r, int value)
{
    const struct ad_lowering_context *c = r->c;
    const struct ad_graph *graph = c->graph;
    size_t n = (size_t)c->ndevices;
    memset(r->needed, 0, n * sizeof *r->needed);
    memset(r->first_use, 0, n * sizeof *r->first_use);
    if (ad_value_is_output(graph, value))
        note_need(r, c->cluster->source, ad_region_whole(&graph->values[value]), c->nops);
    for (int i = c->readers.first[value + 1]; i-- > c->readers.first[value];) {
        int op = c->readers.list[i].op;
        const struct ad_region *reads = r->routes->ops[op].now->reads;
        for (int k = 0; k < graph->ops[op].ninputs; k++)
            for (int d = 0; d < c->ndevices && graph->ops[op].inputs[k] == value; d++)
                note_need(r, d, reads[k * c->ndevices + d], op);
    }
}

/* What `device` holds of a value because it computed it or was fed. */
static struct ad_region held(struct ad_router *r, int value, int device)
{
    const struct ad_value *v = &r->c->graph->values[value];
    if (v->producer >= 0)
        return *ad_computed_at(r->routes, v->producer, device);
    return device == r->c->cluster->source ? ad_region_whole(v) : ad_region_none();
}

static bool add_transfer(struct ad_router *r, int value, int from, int to, struct ad_region region)
{
    struct ad_transfer *m = ad_transfers_add(r->into);
    if (!m)
        return false;
    *m = (struct ad_transfer){
        .value = value,
        .slot = 2 * r->c->graph->values[value].producer + 1,
        .from = from,
        .to = to,
        .before = r->first_use[to],
        .chunks = 1,
        .region = region,
    };
    return true;
}

static enum adaps_status nobody_computes(struct ad_router *r, int value, int to,
                                         struct ad_region box)
{
    char text[96];
    return ad_error_set(
        r->c->err, ADAPS_EINTERNAL, "assignment: %s needs %s of %s, which no device computes",
        r->c->cluster->devices[to].name,
        ad_region_format(box, ad_region_whole(&r->c->graph->values[value]), text, sizeof text),
        r->c->graph->values[value].name);
}

/* The hull of several needs may hold a gap that nobody reads and nobody computes; only a piece that
 * some task or the network's output really reads must be there. */
static bool really_read(struct ad_router *r, int value, int device, struct ad_region piece)
{
    const struct ad_graph *graph = r->c->graph;
    r->asked_readers = true;
    if (device == r->c->cluster->source && ad_value_is_output(graph, value))
        return true;
    for (int i = 0; i < r->c->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        for (int k = 0; k < op->ninputs; k++)
            if (op->inputs[k] == value &&
                !ad_region_empty(ad_region_intersect(
                    piece, ad_need(graph, op, k, *ad_computed_at(r->routes, i, device)))))
                return true;
    }
    return false;
}

/* Cuts what `to` lacks of a value among the holders, the largest part first; equal parts go to the
 * lower index. */
static enum adaps_status fetch(struct ad_router *r, int value, int to,
                               struct ad_region_set *missing)
{
    while (missing->count > 0) {
        struct ad_region box = missing->boxes[missing->count - 1], best = ad_region_none();
        int from = -1;
        for (int d = 0; d < r->c->ndevices; d++) {
            struct ad_region part = ad_region_intersect(box, held(r, value, d));
            if (d != to && ad_region_elements(part) > ad_region_elements(best)) {
                best = part;
                from = d;
            }
        }
        if (from < 0) {
            if (really_read(r, value, to, box))
                return nobody_computes(r, value, to, box);
            missing->count--;
            continue;
        }
        struct ad_region rest[6];
        int nrest = ad_region_subtract(box, best, rest);
        missing->count--;
        bool room = add_transfer(r, value, from, to, best);
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(missing, rest[i]);
        if (!room)
            return ad_error_memory(r->c->err, "transfers", r->into->count);
    }
    return ADAPS_OK;
}

/* The parts that `device` needs and does not have itself; how many (at most 6). */
static int lacks(struct ad_router *r, int value, int device, struct ad_region rest[6])
{
    struct ad_region want = r->needed[device];
    return ad_region_empty(want) ? 0 : ad_region_subtract(want, held(r, value, device), rest);
}

/* With a hub: it fetches all that anybody lacks and it has not, and serves the others from that.
 * What it passes on leaves before the value's first reader. */
static enum adaps_status fill_hub(struct ad_router *r, int value, int *first)
{
    struct ad_region_set missing = {0};
    struct ad_region rest[6];
    enum adaps_status status = ADAPS_OK;
    bool room = true;
    *first = r->c->nops;
    for (int d = 0; d < r->c->ndevices; d++) {
        int nrest = lacks(r, value, d, rest);
        int use = r->first_use[d];
        *first = nrest > 0 && use < *first ? use : *first;
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(&missing, rest[i]);
    }
    size_t old = r->into->count;
    if (!room || !ad_region_set_remove(&missing, held(r, value, r->c->hub)))
        status = ad_error_memory(r->c->err, "transfers", missing.count);
    else
        status = fetch(r, value, r->c->hub, &missing);
    for (size_t t = old; t < r->into->count; t++)
        r->into->list[t].before = *first;
    ad_region_set_fini(&missing);
    return status;
}

/* One message from the hub; a relay unless it computed all of it. */
static bool add_served(struct ad_router *r, int value, int to, struct ad_region box, int first)
{
    if (!add_transfer(r, value, r->c->hub, to, box))
        return false;
    if (!ad_region_contains(held(r, value, r->c->hub), box))
        r->into->list[r->into->count - 1].slot = 2 * first;
    return true;
}

/* Sends `to` what it lacks of a value, of which the hub has `there`. */
static enum adaps_status serve(struct ad_router *r, int value, int to,
                               const struct ad_region_set *there, int first)
{
    struct ad_region rest[6];
    struct ad_region_set left = {0};
    enum adaps_status status = ADAPS_OK;
    int nrest = lacks(r, value, to, rest);
    bool room = true;
    for (int i = 0; i < nrest && room; i++) {
        if (ad_region_set_covers(there, rest[i])) {
            room = add_served(r, value, to, rest[i], first);
            continue;
        }
        room = ad_region_set_add(&left, rest[i]);
        for (size_t k = 0; k < there->count && room; k++) {
            struct ad_region part = ad_region_intersect(rest[i], there->boxes[k]);
            room = ad_region_empty(part) ||
                   (ad_region_set_remove(&left, part) && add_served(r, value, to, part, first));
        }
    }
    if (!room)
        status = ad_error_memory(r->c->err, "transfers", r->into->count);
    for (size_t i = 0; i < left.count && status == ADAPS_OK; i++)
        if (really_read(r, value, to, left.boxes[i]))
            status = nobody_computes(r, value, to, left.boxes[i]);
    ad_region_set_fini(&left);
    return status;
}

static enum adaps_status route_hub(struct ad_router *r, int value)
{
    struct ad_region_set there = {0};
    size_t old = r->into->count;
    int first;
    enum adaps_status status = fill_hub(r, value, &first);
    bool room = status != ADAPS_OK || ad_region_set_add(&there, held(r, value, r->c->hub));
    for (size_t t = old; t < r->into->count && room; t++)
        room = ad_region_set_add(&there, r->into->list[t].region);
    if (!room)
        status = ad_error_memory(r->c->err, "transfers", there.count);
    for (int d = 0; d < r->c->ndevices && status == ADAPS_OK; d++)
        if (d != r->c->hub)
            status = serve(r, value, d, &there, first);
    ad_region_set_fini(&there);
    return status;
}

/* The messages with one value, all of whose readers are known. */
static enum adaps_status route_value(struct ad_router *r, int value)
{
    struct ad_region_set *missing = &r->missing;
    enum adaps_status status = ADAPS_OK;
    if (r->c->hub >= 0)
        return route_hub(r, value);
    missing->count = 0;
    for (int d = 0; d < r->c->ndevices && status == ADAPS_OK; d++) {
        struct ad_region rest[6];
        int nrest = lacks(r, value, d, rest);
        for (int i = nrest - 1; i >= 0 && status == ADAPS_OK; i--)
            if (!ad_region_set_add(missing, rest[i]))
                status = ad_error_memory(r->c->err, "transfers", sizeof rest);
        if (status == ADAPS_OK)
            status = fetch(r, value, d, missing);
    }
    return status;
}

/* Shrinks what the devices compute of an op to what is read of it. */
static void prune(struct ad_router *r, int op)
{
    for (int d = 0; d < r->c->ndevices; d++) {
        struct ad_region *computed = ad_computed_at(r->routes, op, d);
        if (ad_region_empty(*computed))
            continue;
        struct ad_region want = ad_region_intersect(*computed, r->needed[d]);
        for (size_t t = 0; t < r->into->count; t++) {
            const struct ad_transfer *m = &r->into->list[t];
            if (m->from == d)
                want = ad_region_hull(want, ad_region_intersect(*computed, m->region));
        }
        want = ad_region_allow(r->c->graph, &r->c->graph->ops[op], want);
        if (ad_region_contains(*computed, want))
            *computed = want;
    }
}

static enum adaps_status route_op(struct ad_router *r, int op, const struct ad_region *assigned)
{
    struct ad_lowering_context *c = r->c;
    const struct ad_op *what = &c->graph->ops[op];
    struct ad_route *route = ad_routes_find(r->routes, op, assigned);
    if (route->valid)
        return ADAPS_OK;
    c->work += AD_WORK_ROUTE * what->ninputs;
    r->into = &route->sends;
    r->asked_readers = false;
    gather_needs(r, what->output);
    enum adaps_status status = route_value(r, what->output);
    if (status != ADAPS_OK)
        return status;
    prune(r, op);
    if (!ad_chunks_send(c->graph, what, route->computed, route->band_chunks, &route->sends))
        return ad_error_memory(c->err, "transfers", route->sends.count);
    ad_transfers_sort(&route->sends);
    ad_transfers_time(c, &route->sends);
    for (int k = 0; k < what->ninputs; k++)
        for (int d = 0; d < c->ndevices; d++)
            route->reads[k * c->ndevices + d] = ad_need(c->graph, what, k, route->computed[d]);
    ad_routes_keep(r->routes, op, route, !r->asked_readers);
    return ADAPS_OK;
}

static enum adaps_status route_inputs(struct ad_router *r)
{
    struct ad_lowering_context *c = r->c;
    struct ad_input_route *route = ad_routes_find_inputs(r->routes);
    if (route->valid)
        return ADAPS_OK;
    r->into = &route->sends;
    r->asked_readers = false;
    for (int i = 0; i < c->graph->ninputs; i++) {
        gather_needs(r, c->graph->inputs[i]);
        enum adaps_status status = route_value(r, c->graph->inputs[i]);
        if (status != ADAPS_OK)
            return status;
    }
    if (!ad_chunks_feed(c->input_chunks, &route->sends))
        return ad_error_memory(c->err, "transfers", route->sends.count);
    ad_transfers_sort(&route->sends);
    ad_transfers_time(c, &route->sends);
    ad_routes_keep_inputs(r->routes, route, !r->asked_readers);
    return ADAPS_OK;
}

enum adaps_status ad_router_run(struct ad_router *r, const struct ad_region *regions)
{
    const struct ad_lowering_context *c = r->c;
    for (int i = c->nops - 1; i >= 0; i--) {
        enum adaps_status status = route_op(r, i, &regions[ad_lowering_at(c, i, 0)]);
        if (status != ADAPS_OK)
            return status;
    }
    enum adaps_status status = route_inputs(r);
    if (status == ADAPS_OK && !ad_routes_collect(r->routes))
        status = ad_error_memory(c->err, "transfers", r->routes->all.count);
    return status;
}

bool ad_router_init(struct ad_router *out, struct ad_lowering_context *c, struct ad_routes *routes)
{
    size_t n = (size_t)c->ndevices;
    *out = (struct ad_router){
        .c = c,
        .routes = routes,
        .needed = ad_calloc(n, sizeof *out->needed),
        .first_use = ad_calloc(n, sizeof *out->first_use),
    };
    if (out->needed && out->first_use)
        return true;
    ad_router_fini(out);
    return false;
}

void ad_router_fini(struct ad_router *r)
{
    ad_free(r->needed);
    ad_free(r->first_use);
    ad_region_set_fini(&r->missing);
    *r = (struct ad_router){0};
}
