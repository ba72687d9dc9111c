/* Lowering: an assignment becomes programs.
 *
 * Two passes. Backwards over the ops: what each device needs of each value is known once all
 * consumers have been seen; what it does not compute itself becomes transfers from holders, and
 * what nobody wants of a computed region is pruned before the op's own inputs are asked for.
 * Forwards: tasks in graph order, each behind the RECVs it waits for and in front of the SENDs of
 * its result.
 *
 * With a hub, the hub fetches all that any other device lacks and some device computes, and serves
 * the others. What it has received it passes on at once: its RECVs and SENDs of a value stand in
 * front of the first op, on any device, that reads the value (a relay).
 *
 * Why no cyclic wait can arise: give every event a slot: 2i in front of op i, 2i + 1 behind it. A
 * RECV in front of op i waits for a SEND behind some op j < i, or for a relay in front of some op
 * j <= i; the RECVs that FIFO order pulls in front of it belong to SENDs of no later slot; and a
 * relay's own RECVs, at its slot, wait for lower slots only. So every wait points to a lower slot,
 * or within a slot from a device to the hub, which waits for nobody there. */
#include "schedule/internal.h"
#include "fusion/fused.h"

#include <stdlib.h>
#include <string.h>

/* One message. `before` is the op whose task at `to` wants it first; nops for network outputs. */
struct transfer {
    int value;
    int slot; /* of its SEND: 2p + 1 behind producer p (-1: network inputs), 2i in front of op i */
    int from, to, before;
    struct ad_region region;
    int previous; /* the message before this one between the same two devices, -1 for none */
    bool sent;
    bool received;
};

struct lowering {
    const struct ad_graph *graph;
    const struct ad_cluster *cluster;
    int ndevices, nops, hub;
    bool levels;
    const bool *early;          /* by op */
    struct ad_region *computed; /* [op * ndevices + device], pruned */
    struct ad_region *needed;   /* [value * ndevices + device], hulls */
    int *first_use;             /* likewise: op that reads it first */
    struct transfer *transfers;
    size_t ntransfers, transfer_room;
    struct ad_schedule *schedule;
    struct adaps_error *err;
};

static struct ad_region *computed_at(struct lowering *l, int op, int device)
{
    return &l->computed[(size_t)op * (size_t)l->ndevices + (size_t)device];
}

static void note_need(struct lowering *l, int value, int device, struct ad_region r, int op)
{
    size_t i = (size_t)value * (size_t)l->ndevices + (size_t)device;
    if (ad_region_empty(r) || ad_value_constant(l->graph, value))
        return;
    l->needed[i] = ad_region_hull(l->needed[i], r);
    l->first_use[i] = op;
}

/* What `device` holds of a value because it computed it or was fed. */
static struct ad_region held(struct lowering *l, int value, int device)
{
    const struct ad_value *v = &l->graph->values[value];
    if (v->producer >= 0)
        return *computed_at(l, v->producer, device);
    return device == l->cluster->source ? ad_region_whole(v) : ad_region_none();
}

static bool add_transfer(struct lowering *l, int value, int from, int to, struct ad_region region)
{
    if (!ad_grow(&l->transfers, l->ntransfers, &l->transfer_room, sizeof *l->transfers))
        return false;
    l->transfers[l->ntransfers++] = (struct transfer){
        .value = value,
        .slot = 2 * l->graph->values[value].producer + 1,
        .from = from,
        .to = to,
        .before = l->first_use[(size_t)value * (size_t)l->ndevices + (size_t)to],
        .region = region,
    };
    return true;
}

static enum adaps_status nobody_computes(struct lowering *l, int value, int to,
                                         struct ad_region box)
{
    char text[96];
    return ad_error_set(
        l->err, ADAPS_EINTERNAL, "assignment: %s needs %s of %s, which no device computes",
        l->cluster->devices[to].name,
        ad_region_format(box, ad_region_whole(&l->graph->values[value]), text, sizeof text),
        l->graph->values[value].name);
}

/* The hull of several needs may hold a gap that nobody reads and nobody computes; only a piece that
 * some task or the network's output really reads must be there. */
static bool really_read(struct lowering *l, int value, int device, struct ad_region piece)
{
    const struct ad_graph *graph = l->graph;
    if (device == l->cluster->source)
        for (int i = 0; i < graph->noutputs; i++)
            if (graph->outputs[i] == value)
                return true;
    for (int i = 0; i < l->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        for (int k = 0; k < op->ninputs; k++)
            if (op->inputs[k] == value &&
                !ad_region_empty(
                    ad_region_intersect(piece, ad_need(graph, op, k, *computed_at(l, i, device)))))
                return true;
    }
    return false;
}

/* Cuts what `to` lacks of a value among the holders, the largest part first; equal parts go to the
 * lower index. */
static enum adaps_status fetch(struct lowering *l, int value, int to, struct ad_region_set *missing)
{
    while (missing->count > 0) {
        struct ad_region box = missing->boxes[missing->count - 1], best = ad_region_none();
        int from = -1;
        for (int d = 0; d < l->ndevices; d++) {
            struct ad_region part = ad_region_intersect(box, held(l, value, d));
            if (d != to && ad_region_elements(part) > ad_region_elements(best)) {
                best = part;
                from = d;
            }
        }
        if (from < 0) {
            if (really_read(l, value, to, box))
                return nobody_computes(l, value, to, box);
            missing->count--;
            continue;
        }
        struct ad_region rest[6];
        int nrest = ad_region_subtract(box, best, rest);
        missing->count--;
        bool room = add_transfer(l, value, from, to, best);
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(missing, rest[i]);
        if (!room)
            return ad_error_memory(l->err, "transfers", l->ntransfers);
    }
    return ADAPS_OK;
}

/* The parts that `device` needs and does not have itself; how many (at most 6). */
static int lacks(struct lowering *l, int value, int device, struct ad_region rest[6])
{
    struct ad_region want = l->needed[(size_t)value * (size_t)l->ndevices + (size_t)device];
    return ad_region_empty(want) ? 0 : ad_region_subtract(want, held(l, value, device), rest);
}

/* With a hub: it fetches all that anybody lacks and it has not, and serves the others from that.
 * What it passes on leaves in front of the value's first reader. */
static enum adaps_status fill_hub(struct lowering *l, int value, int *first)
{
    struct ad_region_set missing = {0};
    struct ad_region rest[6];
    enum adaps_status status = ADAPS_OK;
    bool room = true;
    *first = l->nops;
    for (int d = 0; d < l->ndevices; d++) {
        int nrest = lacks(l, value, d, rest);
        int use = l->first_use[(size_t)value * (size_t)l->ndevices + (size_t)d];
        *first = nrest > 0 && use < *first ? use : *first;
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(&missing, rest[i]);
    }
    size_t old = l->ntransfers;
    if (!room || !ad_region_set_remove(&missing, held(l, value, l->hub)))
        status = ad_error_memory(l->err, "transfers", missing.count);
    else
        status = fetch(l, value, l->hub, &missing);
    for (size_t t = old; t < l->ntransfers; t++)
        l->transfers[t].before = *first;
    ad_region_set_fini(&missing);
    return status;
}

/* One message from the hub; a relay unless it computed all of it. */
static bool add_served(struct lowering *l, int value, int to, struct ad_region box, int first)
{
    if (!add_transfer(l, value, l->hub, to, box))
        return false;
    if (!ad_region_contains(held(l, value, l->hub), box))
        l->transfers[l->ntransfers - 1].slot = 2 * first;
    return true;
}

/* Sends `to` what it lacks of a value, of which the hub has `there`. */
static enum adaps_status serve(struct lowering *l, int value, int to,
                               const struct ad_region_set *there, int first)
{
    struct ad_region rest[6];
    struct ad_region_set left = {0};
    enum adaps_status status = ADAPS_OK;
    int nrest = lacks(l, value, to, rest);
    bool room = true;
    for (int i = 0; i < nrest && room; i++) {
        if (ad_region_set_covers(there, rest[i])) {
            room = add_served(l, value, to, rest[i], first);
            continue;
        }
        room = ad_region_set_add(&left, rest[i]);
        for (size_t k = 0; k < there->count && room; k++) {
            struct ad_region part = ad_region_intersect(rest[i], there->boxes[k]);
            room = ad_region_empty(part) ||
                   (ad_region_set_remove(&left, part) && add_served(l, value, to, part, first));
        }
    }
    if (!room)
        status = ad_error_memory(l->err, "transfers", l->ntransfers);
    for (size_t i = 0; i < left.count && status == ADAPS_OK; i++)
        if (really_read(l, value, to, left.boxes[i]))
            status = nobody_computes(l, value, to, left.boxes[i]);
    ad_region_set_fini(&left);
    return status;
}

static enum adaps_status route_hub(struct lowering *l, int value)
{
    struct ad_region_set there = {0};
    size_t old = l->ntransfers;
    int first;
    enum adaps_status status = fill_hub(l, value, &first);
    bool room = status != ADAPS_OK || ad_region_set_add(&there, held(l, value, l->hub));
    for (size_t t = old; t < l->ntransfers && room; t++)
        room = ad_region_set_add(&there, l->transfers[t].region);
    if (!room)
        status = ad_error_memory(l->err, "transfers", there.count);
    for (int d = 0; d < l->ndevices && status == ADAPS_OK; d++)
        if (d != l->hub)
            status = serve(l, value, d, &there, first);
    ad_region_set_fini(&there);
    return status;
}

/* Transfers of one value, all of whose readers are known. */
static enum adaps_status route(struct lowering *l, int value)
{
    struct ad_region_set missing = {0};
    enum adaps_status status = ADAPS_OK;
    if (l->hub >= 0)
        return route_hub(l, value);
    for (int d = 0; d < l->ndevices && status == ADAPS_OK; d++) {
        struct ad_region rest[6];
        int nrest = lacks(l, value, d, rest);
        for (int i = nrest - 1; i >= 0 && status == ADAPS_OK; i--)
            if (!ad_region_set_add(&missing, rest[i]))
                status = ad_error_memory(l->err, "transfers", sizeof rest);
        if (status == ADAPS_OK)
            status = fetch(l, value, d, &missing);
    }
    ad_region_set_fini(&missing);
    return status;
}

/* Shrinks what the devices compute of an op to what is read of it; `first` is the first of the
 * transfers of its output. */
static void prune(struct lowering *l, int op, size_t first)
{
    int value = l->graph->ops[op].output;
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_region *r = computed_at(l, op, d);
        if (ad_region_empty(*r))
            continue;
        struct ad_region want =
            ad_region_intersect(*r, l->needed[(size_t)value * (size_t)l->ndevices + (size_t)d]);
        for (size_t t = first; t < l->ntransfers; t++)
            if (l->transfers[t].from == d)
                want = ad_region_hull(want, ad_region_intersect(*r, l->transfers[t].region));
        want = ad_region_allow(l->graph, &l->graph->ops[op], want);
        if (ad_region_contains(*r, want))
            *r = want;
    }
}

static enum adaps_status backward(struct lowering *l)
{
    const struct ad_graph *graph = l->graph;
    for (int i = 0; i < graph->noutputs; i++)
        note_need(l, graph->outputs[i], l->cluster->source,
                  ad_region_whole(&graph->values[graph->outputs[i]]), l->nops);
    for (int i = l->nops - 1; i >= 0; i--) {
        const struct ad_op *op = &graph->ops[i];
        size_t first = l->ntransfers;
        enum adaps_status status = route(l, op->output);
        if (status != ADAPS_OK)
            return status;
        prune(l, i, first);
        for (int d = 0; d < l->ndevices; d++)
            for (int k = 0; k < op->ninputs; k++)
                note_need(l, op->inputs[k], d, ad_need(graph, op, k, *computed_at(l, i, d)), i);
    }
    for (int i = 0; i < graph->ninputs; i++) {
        enum adaps_status status = route(l, graph->inputs[i]);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

static int compare_regions(struct ad_region a, struct ad_region b)
{
    int32_t x[6] = {a.h0, a.w0, a.c0, a.h1, a.w1, a.c1};
    int32_t y[6] = {b.h0, b.w0, b.c0, b.h1, b.w1, b.c1};
    for (int i = 0; i < 6; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* The order of the tags and of every device's SENDs: by slot, then by who waits first. */
static int compare_transfers(const void *pa, const void *pb)
{
    const struct transfer *a = pa, *b = pb;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return compare_regions(a->region, b->region);
}

/* Whether a message leaves before the rest of its op is computed. */
static bool is_early(const struct lowering *l, const struct transfer *m)
{
    int producer = l->graph->values[m->value].producer;
    return producer >= 0 && l->early[producer] && m->slot == 2 * producer + 1;
}

/* Tasks that an early op may add per message: the message's rows, and what their cut adds to the
 * rest.
 */
#define EARLY_TASKS 6

/* Room for the programs: at most one COMPUTE step per task. */
static bool make_programs(struct lowering *l)
{
    struct ad_schedule *s = l->schedule;
    size_t n = (size_t)l->ndevices;
    s->ndevices = l->ndevices;
    s->programs = ad_arena_alloc(&s->arena, n, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, n, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, n, sizeof *s->memory);
    if (!s->programs || !s->busy_ns || !s->memory)
        return false;
    for (int i = 0; i < l->nops; i++)
        for (int d = 0; d < l->ndevices; d++)
            s->programs[d].ntasks += !ad_region_empty(*computed_at(l, i, d));
    for (size_t t = 0; t < l->ntransfers; t++)
        if (is_early(l, &l->transfers[t]))
            s->programs[l->transfers[t].from].ntasks += EARLY_TASKS;
    for (int d = 0; d < l->ndevices; d++)
        s->programs[d].nsteps = s->programs[d].ntasks;
    for (size_t t = 0; t < l->ntransfers; t++) {
        s->programs[l->transfers[t].from].nsteps++;
        s->programs[l->transfers[t].to].nsteps++;
    }
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_program *p = &s->programs[d];
        p->tasks = ad_arena_alloc(&s->arena, (size_t)p->ntasks, sizeof *p->tasks);
        p->steps = ad_arena_alloc(&s->arena, (size_t)p->nsteps, sizeof *p->steps);
        if (!p->tasks || !p->steps)
            return false;
        p->ntasks = p->nsteps = 0;
    }
    return true;
}

static enum ad_encoding encoding_of(const struct lowering *l, int value)
{
    return l->levels && ad_levels_fit(l->graph, value) ? AD_ENCODING_LEVELS : AD_ENCODING_F32;
}

static void emit_message(struct lowering *l, size_t t, enum ad_step_kind kind)
{
    const struct transfer *m = &l->transfers[t];
    struct ad_program *p = &l->schedule->programs[kind == AD_STEP_SEND ? m->from : m->to];
    p->steps[p->nsteps++] = (struct ad_step){
        .kind = kind,
        .value = m->value,
        .peer = kind == AD_STEP_SEND ? m->to : m->from,
        .encoding = encoding_of(l, m->value),
        .region = m->region,
        .tag = (uint32_t)t + 1,
    };
    if (kind == AD_STEP_SEND)
        l->schedule->bytes += ad_step_bytes(l->graph, &p->steps[p->nsteps - 1]);
}

/* RECV of t, behind all earlier messages between the same two devices. */
static void emit_receive(struct lowering *l, size_t t)
{
    struct transfer *m = l->transfers;
    while (!m[t].received) {
        size_t first = t;
        while (m[first].previous >= 0 && !m[m[first].previous].received)
            first = (size_t)m[first].previous;
        emit_message(l, first, AD_STEP_RECV);
        m[first].received = true;
    }
}

static void emit_task(struct lowering *l, int op, int device, struct ad_region region)
{
    struct ad_program *p = &l->schedule->programs[device];
    struct ad_step *last = p->nsteps > 0 ? &p->steps[p->nsteps - 1] : NULL;
    if (last && last->kind == AD_STEP_COMPUTE)
        last->ntasks++;
    else
        p->steps[p->nsteps++] = (struct ad_step){
            .kind = AD_STEP_COMPUTE, .first_task = p->ntasks, .ntasks = 1, .value = -1, .peer = -1};
    p->tasks[p->ntasks++] = (struct ad_task){op, region};
}

/* Links each message to the one before it between the same devices, and sorts the indices of the
 * messages by the op that waits for them: waiting[start[op]] .. waiting[start[op + 1] - 1]. */
static void index_transfers(struct lowering *l, int *last, size_t *start, size_t *waiting)
{
    size_t n = (size_t)l->ndevices;
    memset(last, -1, n * n * sizeof *last);
    memset(start, 0, ((size_t)l->nops + 2) * sizeof *start);
    for (size_t t = 0; t < l->ntransfers; t++) {
        struct transfer *m = &l->transfers[t];
        int *pair = &last[(size_t)m->from * n + (size_t)m->to];
        m->previous = *pair;
        *pair = (int)t;
        start[m->before + 1]++;
    }
    for (int i = 0; i <= l->nops; i++)
        start[i + 1] += start[i];
    for (size_t t = l->ntransfers; t-- > 0;)
        waiting[--start[l->transfers[t].before + 1]] = t;
    for (int i = 0; i <= l->nops; i++)
        start[i] = start[i + 1];
    start[l->nops + 1] = l->ntransfers;
}

static size_t send_up_to(struct lowering *l, size_t next, int slot)
{
    for (; next < l->ntransfers && l->transfers[next].slot <= slot; next++)
        if (!l->transfers[next].sent)
            emit_message(l, next, AD_STEP_SEND);
    return next;
}

static bool touches(const struct ad_region_set *set, struct ad_region r)
{
    for (size_t i = 0; i < set->count; i++)
        if (!ad_region_empty(ad_region_intersect(set->boxes[i], r)))
            return true;
    return false;
}

/* What is left of an early op behind `messages` messages: box by box, or all of it once more where
 * that would be a part that cannot be computed alone, or too many parts (the same bits again). */
static void emit_rest(struct lowering *l, int op, int device, const struct ad_region_set *rest,
                      size_t messages)
{
    const struct ad_op *o = &l->graph->ops[op];
    struct ad_region whole = *computed_at(l, op, device);
    bool apart = rest->count <= 1 + (EARLY_TASKS - 1) * messages;
    for (size_t i = 0; i < rest->count && apart; i++)
        apart = ad_region_contains(whole, ad_region_allow(l->graph, o, rest->boxes[i]));
    for (size_t i = 0; i < rest->count && apart; i++)
        emit_task(l, op, device, ad_region_allow(l->graph, o, rest->boxes[i]));
    if (!apart)
        emit_task(l, op, device, whole);
}

/* An early op on a device: message by message (in their order, so that FIFO holds) what is sent,
 * each followed by its SEND, then the rest. A message of more than half of all ends this: nothing
 * is left to hide it behind. */
static bool emit_early(struct lowering *l, int op, int device, size_t next)
{
    const struct ad_op *o = &l->graph->ops[op];
    struct ad_region whole = *computed_at(l, op, device);
    struct ad_region_set rest = {0};
    bool room = ad_region_set_add(&rest, whole);
    size_t messages = 0;
    for (size_t t = next; t < l->ntransfers && l->transfers[t].slot <= 2 * op + 1 && room; t++) {
        struct transfer *m = &l->transfers[t];
        if (m->from != device || m->value != o->output)
            continue;
        struct ad_region part = ad_region_allow(l->graph, o, m->region);
        if (2 * ad_region_elements(part) > ad_region_elements(whole) ||
            !ad_region_contains(whole, part))
            break;
        if (touches(&rest, part)) {
            emit_task(l, op, device, part);
            room = ad_region_set_remove(&rest, part);
        }
        emit_message(l, t, AD_STEP_SEND);
        m->sent = true;
        messages++;
    }
    if (room)
        emit_rest(l, op, device, &rest, messages);
    ad_region_set_fini(&rest);
    return room;
}

/* The tasks of an op on all devices. */
static bool emit_op(struct lowering *l, int op, size_t next)
{
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_region r = *computed_at(l, op, d);
        if (ad_region_empty(r))
            continue;
        if (!l->early[op])
            emit_task(l, op, d, r);
        else if (!emit_early(l, op, d, next))
            return false;
    }
    return true;
}

static bool forward(struct lowering *l, const size_t *start, const size_t *waiting)
{
    size_t next = 0; /* transfers up to here are sent */
    for (int i = -1; i <= l->nops; i++) {
        if (i >= 0)
            for (size_t w = start[i]; w < start[i + 1]; w++)
                emit_receive(l, waiting[w]);
        next = send_up_to(l, next, 2 * i);
        if (i >= 0 && i < l->nops && !emit_op(l, i, next))
            return false;
        next = send_up_to(l, next, 2 * i + 1);
    }
    return true;
}

static enum adaps_status check_assignment(const struct ad_graph *graph,
                                          const struct ad_cluster *cluster,
                                          const struct ad_assignment *assignment,
                                          struct adaps_error *err)
{
    int n = assignment->ndevices;
    if (assignment->nops != graph->nops || n != cluster->ndevices)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: %d ops and %d devices for %d and %d",
                            assignment->nops, n, graph->nops, cluster->ndevices);
    if (assignment->hub < -1 || assignment->hub >= n)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: hub %d of %d devices",
                            assignment->hub, n);
    for (int i = 0; i < graph->nops; i++)
        for (int d = 0; d < n; d++) {
            struct ad_region r = assignment->region[(size_t)i * (size_t)n + (size_t)d];
            if (!ad_region_allowed(graph, &graph->ops[i], r)) {
                char text[96];
                return ad_error_set(
                    err, ADAPS_EINTERNAL, "assignment: %s may not compute %s of %s",
                    cluster->devices[d].name,
                    ad_region_format(r, ad_region_whole(&graph->values[graph->ops[i].output]), text,
                                     sizeof text),
                    graph->ops[i].name);
            }
        }
    return ADAPS_OK;
}

/* Transfers and pruned regions are there: writes the programs. */
static enum adaps_status emit(struct lowering *l)
{
    size_t n = (size_t)l->ndevices;
    int *last = ad_calloc(n * n, sizeof *last);
    size_t *start = ad_calloc((size_t)l->nops + 2, sizeof *start);
    size_t *waiting = ad_calloc(l->ntransfers, sizeof *waiting);
    bool room = last && start && waiting && make_programs(l);
    if (room) {
        index_transfers(l, last, start, waiting);
        room = forward(l, start, waiting);
    }
    ad_free(last);
    ad_free(start);
    ad_free(waiting);
    if (!room)
        return ad_error_memory(l->err, "programs", l->ntransfers);
    l->schedule->messages = (int64_t)l->ntransfers;
    return ADAPS_OK;
}

enum adaps_status ad_schedule_build(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_assignment *assignment, struct ad_schedule *out,
                                    struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = check_assignment(graph, cluster, assignment, err);
    if (status != ADAPS_OK)
        return status;
    size_t n = (size_t)cluster->ndevices, nops = (size_t)graph->nops;
    struct lowering l = {
        .graph = graph,
        .cluster = cluster,
        .ndevices = cluster->ndevices,
        .nops = graph->nops,
        .hub = assignment->hub,
        .levels = assignment->levels,
        .early = assignment->early,
        .computed = ad_calloc(nops * n, sizeof *l.computed),
        .needed = ad_calloc((size_t)graph->nvalues * n, sizeof *l.needed),
        .first_use = ad_calloc((size_t)graph->nvalues * n, sizeof *l.first_use),
        .schedule = out,
        .err = err,
    };
    if (!l.computed || !l.needed || !l.first_use) {
        status = ad_error_memory(err, "lowering", nops * n * sizeof *l.computed);
        goto out;
    }
    if (nops > 0)
        memcpy(l.computed, assignment->region, nops * n * sizeof *l.computed);
    status = backward(&l);
    if (status != ADAPS_OK)
        goto out;
    if (l.ntransfers > 1)
        qsort(l.transfers, l.ntransfers, sizeof *l.transfers, compare_transfers);
    status = emit(&l);
    if (status == ADAPS_OK)
        status = ad_schedule_memory(graph, cluster->source, out, err);
    if (status == ADAPS_OK)
        status = ad_schedule_simulate(graph, cluster, out, err);
out:
    ad_free(l.computed);
    ad_free(l.needed);
    ad_free(l.first_use);
    ad_free(l.transfers);
    if (status != ADAPS_OK)
        ad_schedule_fini(out);
    return status;
}

enum adaps_status ad_assignment_init(struct ad_assignment *out, int nops, int ndevices,
                                     struct adaps_error *err)
{
    size_t count;
    *out = (struct ad_assignment){.nops = nops, .ndevices = ndevices, .hub = -1};
    if (nops < 0 || ndevices < 1 || !ad_size_mul((size_t)nops, (size_t)ndevices, &count))
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment of %d ops to %d devices", nops,
                            ndevices);
    out->region = ad_calloc(count, sizeof *out->region);
    out->early = ad_calloc((size_t)nops, sizeof *out->early);
    if (out->region && out->early)
        return ADAPS_OK;
    ad_assignment_fini(out);
    return ad_error_memory(err, "assignment", count);
}

void ad_assignment_fini(struct ad_assignment *assignment)
{
    ad_free(assignment->region);
    ad_free(assignment->early);
    *assignment = (struct ad_assignment){0};
}

int64_t ad_step_bytes(const struct ad_graph *graph, const struct ad_step *step)
{
    int64_t bytes = ad_region_bytes(graph, step->value, step->region);
    return step->encoding == AD_ENCODING_LEVELS ? bytes / (int64_t)sizeof(float) : bytes;
}

void ad_schedule_fini(struct ad_schedule *schedule)
{
    ad_arena_fini(&schedule->arena);
    memset(schedule, 0, sizeof *schedule);
}
