/* Lowering: an assignment becomes programs.
 *
 * Two passes. Backwards over the ops, what moves from whom to whom (route.c). Forwards: tasks in
 * graph order, each behind the RECVs it waits for and in front of the SENDs of its result; or in
 * another order (order.c).
 *
 * A hub's RECVs and SENDs of a value that it passes on stand in front of the first op, on any
 * device, that reads the value (a relay).
 *
 * Why no cyclic wait can arise: give every event a slot: 2i in front of op i, 2i + 1 behind it. A
 * RECV in front of op i waits for a SEND behind some op j < i, or for a relay in front of some op
 * j <= i; the RECVs that FIFO order pulls in front of it belong to SENDs of no later slot; and a
 * relay's own RECVs, at its slot, wait for lower slots only. So every wait points to a lower slot,
 * or within a slot from a device to the hub, which waits for nobody there. */
#include "schedule/lowering.h"
#include "fusion/fused.h"

#include <string.h>
#include <xxhash.h>

/* Whether a message leaves before the rest of its op is computed. */
static bool is_early(const struct ad_step_lowering *l, const struct ad_transfer *m)
{
    int producer = l->graph->values[m->value].producer;
    return producer >= 0 && l->early[producer] && m->slot == 2 * producer + 1;
}

/* Tasks that an early op may add per message: the message's rows, and what their cut adds to the
 * rest.
 */
#define EARLY_TASKS 6

/* An array of at least `count` items that lives as long as the schedule, with what is in *items if
 * that has the room. */
static bool take_room(struct ad_step_lowering *l, void *items, size_t count, size_t size,
                      size_t *room)
{
    void *fresh;
    if (*room >= count && *room > 0)
        return true;
    *room = l->reused ? count + count / 2 : count;
    fresh = ad_arena_alloc(&l->schedule->arena, *room, size);
    memcpy(items, &fresh, sizeof fresh);
    return fresh != NULL;
}

static bool make_arrays(struct ad_step_lowering *l)
{
    struct ad_schedule *s = l->schedule;
    size_t n = (size_t)l->ndevices;
    if (s->programs)
        return true;
    s->programs = ad_arena_alloc(&s->arena, n, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, n, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, n, sizeof *s->memory);
    s->ndevices = l->ndevices;
    return s->programs && s->busy_ns && s->memory;
}

/* The tasks of each program at most: with pieces, of which each is one, exactly. */
static void count_tasks(struct ad_step_lowering *l, bool pieces)
{
    struct ad_schedule *s = l->schedule;
    for (int d = 0; d < l->ndevices; d++)
        s->programs[d].ntasks = 0;
    for (int i = 0; i < l->nops; i++) {
        const struct ad_cut *cut = pieces ? l->orders.ops[i].cut : NULL;
        for (int d = 0; d < l->ndevices; d++)
            s->programs[d].ntasks += cut ? cut->first[d + 1] - cut->first[d]
                                         : !ad_region_empty(*ad_computed_at(l, i, d));
    }
    for (size_t t = 0; t < l->all.count && !pieces; t++)
        if (is_early(l, &l->all.list[t]))
            s->programs[l->all.list[t].from].ntasks += EARLY_TASKS;
}

/* Room for the programs: at most one COMPUTE step per task. */
static bool make_programs(struct ad_step_lowering *l, bool pieces)
{
    struct ad_schedule *s = l->schedule;
    if (!make_arrays(l))
        return false;
    count_tasks(l, pieces);
    for (int d = 0; d < l->ndevices; d++)
        s->programs[d].nsteps = s->programs[d].ntasks;
    for (size_t t = 0; t < l->all.count; t++) {
        s->programs[l->all.list[t].from].nsteps++;
        s->programs[l->all.list[t].to].nsteps++;
    }
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_program *p = &s->programs[d];
        if (!take_room(l, &p->tasks, (size_t)p->ntasks, sizeof *p->tasks, &l->task_room[d]) ||
            !take_room(l, &p->steps, (size_t)p->nsteps, sizeof *p->steps, &l->step_room[d]))
            return false;
        p->ntasks = p->nsteps = 0;
    }
    return true;
}

/* Whether a value is likely to have many zeros: behind a ReLU, or what is picked out of such. */
static bool many_zeros(const struct ad_graph *graph, int value)
{
    int p = graph->values[value].producer;
    const struct ad_op *op = p >= 0 ? &graph->ops[p] : NULL;
    if (!op || op->function != AD_FN_NONE || op->clamp_min > 0)
        return false;
    if (op->clamp_min == 0)
        return true;
    bool picks = ad_operator_of(op->kind)->keeps_zeros;
    for (int k = 0; k < op->ninputs && picks; k++)
        picks = many_zeros(graph, op->inputs[k]);
    return picks;
}

enum ad_encoding ad_lowering_encoding(const struct ad_step_lowering *l, int value, int from, int to)
{
    if (l->u8 && ad_picture_fit(l->graph, value))
        return AD_ENCODING_U8;
    enum ad_encoding link =
        (enum ad_encoding)l->encoding[(size_t)from * (size_t)l->ndevices + (size_t)to];
    return link == AD_ENCODING_LZ4 && !many_zeros(l->graph, value) ? AD_ENCODING_F32 : link;
}

static void write_message(struct ad_step_lowering *l, size_t t, enum ad_step_kind kind)
{
    const struct ad_transfer *m = &l->all.list[t];
    struct ad_program *p = &l->schedule->programs[kind == AD_STEP_SEND ? m->from : m->to];
    p->steps[p->nsteps++] = (struct ad_step){
        .kind = kind,
        .value = m->value,
        .peer = kind == AD_STEP_SEND ? m->to : m->from,
        .encoding = m->encoding,
        .region = m->region,
        .tag = (uint32_t)t + 1,
    };
}

static inline void add_beat(struct ad_step_lowering *l, int device, struct ad_beat beat)
{
    struct ad_beats *beats = &l->beats[device];
    if (beats->count == beats->room &&
        !ad_grow(&beats->list, beats->count, &beats->room, sizeof *beats->list))
        l->out_of_memory = true;
    else
        beats->list[beats->count++] = beat;
}

void ad_lowering_emit_message(struct ad_step_lowering *l, size_t t, enum ad_step_kind kind)
{
    const struct ad_transfer *m = &l->all.list[t];
    int32_t tag = (int32_t)t + 1;
    l->work += AD_WORK_MESSAGE;
    if (kind == AD_STEP_SEND) {
        l->bytes += m->bytes;
        add_beat(l, m->from, (struct ad_beat){tag, m->to, m->copy_ns, m->wire_ns, m->sending_ns});
    } else {
        add_beat(
            l, m->to,
            (struct ad_beat){.tag = -tag, .ns = m->decode_ns, .overlapped_ns = m->receiving_ns});
    }
    if (l->schedule)
        write_message(l, t, kind);
}

/* RECV of t, behind all earlier messages between the same two devices. */
void ad_lowering_emit_receive(struct ad_step_lowering *l, size_t t)
{
    struct ad_transfer *m = l->all.list;
    while (!m[t].received) {
        size_t first = t;
        while (m[first].previous >= 0 && !m[m[first].previous].received)
            first = (size_t)m[first].previous;
        ad_lowering_emit_message(l, first, AD_STEP_RECV);
        m[first].received = true;
    }
}

static void write_task(struct ad_step_lowering *l, int op, int device, struct ad_region region)
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

void ad_lowering_emit_task(struct ad_step_lowering *l, int op, int device,
                           const struct ad_region *region, int64_t ns)
{
    struct ad_beats *beats = &l->beats[device];
    struct ad_beat *last = beats->count > 0 ? &beats->list[beats->count - 1] : NULL;
    l->ntasks[device]++;
    l->work += AD_WORK_PIECE;
    beats->work_ns = ad_clocks_plus(beats->work_ns, ns);
    if (last && last->tag == 0)
        last->ns = ad_clocks_plus(last->ns, ns);
    else
        add_beat(l, device, (struct ad_beat){.ns = ns});
    if (l->schedule)
        write_task(l, op, device, *region);
}

/* A task in the graph's order. */
static void emit_part(struct ad_step_lowering *l, int op, int device, struct ad_region region)
{
    struct ad_task task = {op, region};
    int64_t ns = ad_clocks_task_ns(l->clocks, l->graph, l->cluster, device, &task);
    ad_lowering_emit_task(l, op, device, &region, ns);
}

/* Links each message to the one before it between the same devices, and sorts the indices of the
 * messages by the op that waits for them: waiting[start[op]] .. waiting[start[op + 1] - 1]. */
static void index_transfers(struct ad_step_lowering *l)
{
    size_t n = (size_t)l->ndevices, *start = l->start, *waiting = l->waiting;
    int *last = l->last;
    memset(last, -1, n * n * sizeof *last);
    memset(start, 0, ((size_t)l->nops + 2) * sizeof *start);
    for (size_t t = 0; t < l->all.count; t++) {
        struct ad_transfer *m = &l->all.list[t];
        int *pair = &last[(size_t)m->from * n + (size_t)m->to];
        m->previous = *pair;
        *pair = (int)t;
        start[m->before + 1]++;
    }
    for (int i = 0; i <= l->nops; i++)
        start[i + 1] += start[i];
    for (size_t t = l->all.count; t-- > 0;)
        waiting[--start[l->all.list[t].before + 1]] = t;
    for (int i = 0; i <= l->nops; i++)
        start[i] = start[i + 1];
    start[l->nops + 1] = l->all.count;
}

static size_t send_up_to(struct ad_step_lowering *l, size_t next, int slot)
{
    for (; next < l->all.count && l->all.list[next].slot <= slot; next++)
        if (!l->all.list[next].sent)
            ad_lowering_emit_message(l, next, AD_STEP_SEND);
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
static void emit_rest(struct ad_step_lowering *l, int op, int device,
                      const struct ad_region_set *rest, size_t messages)
{
    const struct ad_op *o = &l->graph->ops[op];
    struct ad_region whole = *ad_computed_at(l, op, device);
    bool apart = rest->count <= 1 + (EARLY_TASKS - 1) * messages;
    for (size_t i = 0; i < rest->count && apart; i++)
        apart = ad_region_contains(whole, ad_region_allow(l->graph, o, rest->boxes[i]));
    for (size_t i = 0; i < rest->count && apart; i++)
        emit_part(l, op, device, ad_region_allow(l->graph, o, rest->boxes[i]));
    if (!apart)
        emit_part(l, op, device, whole);
}

/* An early op on a device: message by message (in their order, so that FIFO holds) what is sent,
 * each followed by its SEND, then the rest. A message of more than half of all ends this: nothing
 * is left to hide it behind. */
static bool emit_early(struct ad_step_lowering *l, int op, int device, size_t next)
{
    const struct ad_op *o = &l->graph->ops[op];
    struct ad_region whole = *ad_computed_at(l, op, device);
    struct ad_region_set rest = {0};
    bool room = ad_region_set_add(&rest, whole);
    size_t messages = 0;
    for (size_t t = next; t < l->all.count && l->all.list[t].slot <= 2 * op + 1 && room; t++) {
        struct ad_transfer *m = &l->all.list[t];
        if (m->from != device || m->value != o->output)
            continue;
        struct ad_region part = ad_region_allow(l->graph, o, m->region);
        if (2 * ad_region_elements(part) > ad_region_elements(whole) ||
            !ad_region_contains(whole, part))
            break;
        if (touches(&rest, part)) {
            emit_part(l, op, device, part);
            room = ad_region_set_remove(&rest, part);
        }
        ad_lowering_emit_message(l, t, AD_STEP_SEND);
        m->sent = true;
        messages++;
    }
    if (room)
        emit_rest(l, op, device, &rest, messages);
    ad_region_set_fini(&rest);
    return room;
}

/* The tasks of an op on all devices. */
static bool emit_op(struct ad_step_lowering *l, int op, size_t next)
{
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_region r = *ad_computed_at(l, op, d);
        if (ad_region_empty(r))
            continue;
        if (!l->early[op])
            emit_part(l, op, d, r);
        else if (!emit_early(l, op, d, next))
            return false;
    }
    return true;
}

static bool forward(struct ad_step_lowering *l)
{
    size_t next = 0; /* transfers up to here are sent */
    for (int i = -1; i <= l->nops; i++) {
        if (i >= 0)
            for (size_t w = l->start[i]; w < l->start[i + 1]; w++)
                ad_lowering_emit_receive(l, l->waiting[w]);
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
    if (assignment->band_chunks < 0 || assignment->band_chunks > AD_MAX_CHUNKS)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: bands in %d chunks",
                            assignment->band_chunks);
    for (int i = 0; i < n * n; i++)
        if (assignment->encoding[i] >= AD_ENCODINGS || assignment->encoding[i] == AD_ENCODING_U8)
            return ad_error_set(err, ADAPS_EINTERNAL, "assignment: a link of encoding %u",
                                assignment->encoding[i]);
    if (assignment->input_chunks < 0 || assignment->input_chunks > AD_MAX_CHUNKS)
        return ad_error_set(err, ADAPS_EINTERNAL, "assignment: inputs in %d chunks",
                            assignment->input_chunks);
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

/* Transfers and pruned regions are there: makes the programs. */
static enum adaps_status emit(struct ad_step_lowering *l)
{
    bool room = true, pieces = l->order != AD_ORDER_GRAPH && l->hub < 0;
    l->bytes = 0;
    l->out_of_memory = l->over = false;
    memset(l->ntasks, 0, (size_t)l->ndevices * sizeof *l->ntasks);
    for (int d = 0; d < l->ndevices; d++)
        l->beats[d].count = 0, l->beats[d].work_ns = 0;
    while (l->waiting_room < l->all.count && room)
        room = ad_grow(&l->waiting, l->waiting_room, &l->waiting_room, sizeof *l->waiting);
    room = room && (!pieces || ad_lowering_prepare_order(l)) &&
           (!l->schedule || make_programs(l, pieces));
    if (room && pieces) {
        ad_lowering_order(l);
    } else if (room) {
        index_transfers(l);
        room = forward(l);
    }
    if (!room || l->out_of_memory)
        return ad_error_memory(l->err, "programs", l->all.count);
    if (l->schedule) {
        l->schedule->messages = (int64_t)l->all.count;
        l->schedule->bytes = l->bytes;
    }
    return ADAPS_OK;
}

/* Who reads what: each op once per value, as its first such input. */
static void survey_readers(struct ad_step_lowering *l)
{
    const struct ad_graph *graph = l->graph;
    int count = 0;
    for (int v = 0; v < graph->nvalues; v++)
        l->first_reader[v] = 0;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            l->first_reader[graph->ops[i].inputs[k]] += ad_input_first(&graph->ops[i], k);
    for (int v = 0; v < graph->nvalues; v++) {
        count += l->first_reader[v];
        l->first_reader[v] = count;
    }
    l->first_reader[graph->nvalues] = count;
    for (int i = graph->nops - 1; i >= 0; i--)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (ad_input_first(&graph->ops[i], k))
                l->readers[--l->first_reader[graph->ops[i].inputs[k]]] = (struct ad_reader){i, k};
}

static size_t read_count(const struct ad_graph *graph)
{
    size_t count = 0;
    for (int i = 0; i < graph->nops; i++)
        count += (size_t)graph->ops[i].ninputs;
    return count;
}

static int reader_count(const struct ad_step_lowering *l, int value)
{
    return l->first_reader[value + 1] - l->first_reader[value];
}

/* The fixed parts of an op's memo. */
static bool make_memo(struct ad_step_lowering *l, int op)
{
    size_t n = (size_t)l->ndevices, ninputs = (size_t)l->graph->ops[op].ninputs;
    size_t nreaders = (size_t)reader_count(l, l->graph->ops[op].output);
    ad_recent_init(&l->memo[op].recent);
    for (int i = 0; i < l->kept; i++) {
        struct ad_routed *r = &l->memo[op].kept[i];
        r->assigned = ad_arena_alloc(&l->arena, n, sizeof *r->assigned);
        r->readers = ad_arena_alloc(&l->arena, nreaders, sizeof *r->readers);
        r->computed = ad_arena_alloc(&l->arena, n, sizeof *r->computed);
        r->reads = ad_arena_alloc(&l->arena, n * ninputs, sizeof *r->reads);
        r->band_ns = ad_arena_alloc(&l->arena, n, sizeof *r->band_ns);
        r->edge_ns = ad_arena_alloc(&l->arena, n, sizeof *r->edge_ns);
        if (!r->assigned || !r->readers || !r->computed || !r->reads || !r->band_ns || !r->edge_ns)
            return false;
    }
    return true;
}

/* Likewise of the inputs. */
static bool make_fed(struct ad_step_lowering *l)
{
    size_t count = 0;
    for (int i = 0; i < l->graph->ninputs; i++)
        count += (size_t)reader_count(l, l->graph->inputs[i]);
    ad_recent_init(&l->recent_fed);
    for (int i = 0; i < l->kept; i++) {
        struct ad_fed *f = &l->fed[i];
        f->readers = ad_arena_alloc(&l->arena, count, sizeof *f->readers);
        if (!f->readers)
            return false;
    }
    return true;
}

enum adaps_status ad_lowering_init(struct ad_step_lowering *out, const struct ad_graph *graph,
                                   const struct ad_cluster *cluster, bool reused,
                                   struct adaps_error *err)
{
    size_t n = (size_t)cluster->ndevices, nops = (size_t)graph->nops;
    size_t nvalues = (size_t)graph->nvalues;
    *out = (struct ad_step_lowering){
        .graph = graph,
        .cluster = cluster,
        .ndevices = cluster->ndevices,
        .nops = graph->nops,
        .reused = reused,
        .limit = INT64_MAX,
        .kept = reused ? AD_KEPT : 1,
        .first_reader = ad_calloc(nvalues + 1, sizeof *out->first_reader),
        .readers = ad_calloc(read_count(graph), sizeof *out->readers),
        .needed = ad_calloc(n, sizeof *out->needed),
        .first_use = ad_calloc(n, sizeof *out->first_use),
        .memo = ad_calloc(nops, sizeof *out->memo),
        .last = ad_calloc(n * n, sizeof *out->last),
        .first_message = ad_calloc(nops, sizeof *out->first_message),
        .start = ad_calloc(nops + 2, sizeof *out->start),
        .beats = ad_calloc(n, sizeof *out->beats),
        .ntasks = ad_calloc(n, sizeof *out->ntasks),
        .task_room = ad_calloc(n, sizeof *out->task_room),
        .step_room = ad_calloc(n, sizeof *out->step_room),
        .err = err,
    };
    bool room = out->first_reader && out->readers && out->needed && out->first_use && out->memo &&
                out->last && out->first_message && out->start && out->beats && out->ntasks &&
                out->task_room && out->step_room;
    if (room)
        survey_readers(out);
    for (int i = 0; i < graph->nops && room; i++)
        room = make_memo(out, i);
    room = room && make_fed(out);
    out->estimate.at = ad_arena_alloc(&out->arena, nops * n + 1, sizeof *out->estimate.at);
    room = room && out->estimate.at;
    if (room)
        return ADAPS_OK;
    ad_lowering_fini(out);
    return ad_error_memory(err, "lowering", nops * n * sizeof *out->needed);
}

void ad_lowering_fini(struct ad_step_lowering *l)
{
    for (int i = 0; l->memo && i < l->nops; i++)
        for (int k = 0; k < AD_KEPT; k++)
            ad_free(l->memo[i].kept[k].sends.list);
    ad_free(l->first_reader);
    ad_free(l->readers);
    ad_free(l->needed);
    ad_free(l->first_use);
    ad_free(l->memo);
    ad_free(l->last);
    ad_free(l->start);
    ad_free(l->task_room);
    ad_free(l->step_room);
    ad_free(l->waiting);
    ad_lowering_order_fini(l);
    for (int d = 0; l->beats && d < l->ndevices; d++)
        ad_free(l->beats[d].list);
    ad_free(l->beats);
    ad_free(l->ntasks);
    ad_region_set_fini(&l->missing);
    for (int k = 0; k < AD_KEPT; k++)
        ad_free(l->fed[k].sends.list);
    ad_free(l->first_message);
    ad_free(l->all.list);
    ad_arena_fini(&l->arena);
    *l = (struct ad_step_lowering){0};
}

enum adaps_status ad_lowering_start(struct ad_step_lowering *l,
                                    const struct ad_assignment *assignment)
{
    size_t links = (size_t)l->ndevices * (size_t)l->ndevices;
    l->u8 = assignment->u8;
    l->encoding = assignment->encoding;
    l->encodings = XXH3_64bits(l->encoding, links * sizeof *l->encoding);
    l->order = assignment->order;
    bool one = assignment->order == AD_ORDER_GRAPH || assignment->hub >= 0;
    l->band_chunks = assignment->order < AD_ORDER_PIECES || one || assignment->band_chunks < 1
                         ? 1
                         : assignment->band_chunks;
    l->input_chunks = one || assignment->input_chunks < 1 ? 1 : assignment->input_chunks;
    return ad_lowering_route(l, assignment);
}

enum adaps_status ad_lowering_finish(struct ad_step_lowering *l, struct ad_schedule *schedule)
{
    l->schedule = schedule;
    return emit(l);
}

enum adaps_status ad_lowering_run(struct ad_step_lowering *l,
                                  const struct ad_assignment *assignment,
                                  struct ad_schedule *schedule)
{
    enum adaps_status status = ad_lowering_start(l, assignment);
    return status == ADAPS_OK ? ad_lowering_finish(l, schedule) : status;
}

static enum adaps_status lower_once(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_assignment *assignment, struct ad_schedule *out,
                                    struct adaps_error *err)
{
    struct ad_step_lowering l;
    struct ad_clocks clocks;
    enum adaps_status status = ad_lowering_init(&l, graph, cluster, false, err);
    if (status != ADAPS_OK)
        return status;
    if (ad_clocks_init(&clocks, graph, cluster, false)) {
        l.clocks = &clocks;
        status = ad_lowering_run(&l, assignment, out);
        ad_clocks_fini(&clocks);
    } else {
        status = ad_error_memory(err, "lowering", (size_t)graph->nops);
    }
    ad_lowering_fini(&l);
    return status;
}

enum adaps_status ad_schedule_build(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_assignment *assignment, struct ad_schedule *out,
                                    struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = check_assignment(graph, cluster, assignment, err);
    if (status == ADAPS_OK)
        status = lower_once(graph, cluster, assignment, out, err);
    if (status == ADAPS_OK)
        status = ad_schedule_memory(graph, cluster->source, out, err);
    if (status == ADAPS_OK)
        status = ad_schedule_simulate(graph, cluster, out, err);
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
    out->encoding = ad_calloc((size_t)ndevices * (size_t)ndevices, sizeof *out->encoding);
    if (out->region && out->early && out->encoding)
        return ADAPS_OK;
    ad_assignment_fini(out);
    return ad_error_memory(err, "assignment", count);
}

void ad_assignment_fini(struct ad_assignment *assignment)
{
    ad_free(assignment->region);
    ad_free(assignment->early);
    ad_free(assignment->encoding);
    *assignment = (struct ad_assignment){0};
}

bool ad_assignment_same(const struct ad_assignment *a, const struct ad_assignment *b)
{
    size_t nops = (size_t)a->nops, count = nops * (size_t)a->ndevices;
    return a->hub == b->hub && a->u8 == b->u8 && a->input_chunks == b->input_chunks &&
           a->band_chunks == b->band_chunks && a->order == b->order &&
           memcmp(a->early, b->early, nops * sizeof *a->early) == 0 &&
           memcmp(a->encoding, b->encoding, (size_t)a->ndevices * (size_t)a->ndevices) == 0 &&
           memcmp(a->region, b->region, count * sizeof *a->region) == 0;
}

void ad_assignment_copy(const struct ad_assignment *from, struct ad_assignment *to)
{
    size_t nops = (size_t)from->nops, count = nops * (size_t)from->ndevices;
    to->hub = from->hub;
    to->u8 = from->u8;
    to->input_chunks = from->input_chunks;
    to->band_chunks = from->band_chunks;
    to->order = from->order;
    memcpy(to->early, from->early, nops * sizeof *to->early);
    memcpy(to->region, from->region, count * sizeof *to->region);
    memcpy(to->encoding, from->encoding, (size_t)from->ndevices * (size_t)from->ndevices);
}

void ad_assignment_encode(struct ad_assignment *a, enum ad_encoding encoding)
{
    memset(a->encoding, (int)encoding, (size_t)a->ndevices * (size_t)a->ndevices);
}

int64_t ad_step_bytes(const struct ad_graph *graph, const struct ad_step *step)
{
    int64_t elements = graph->values[step->value].box.n * ad_region_elements(step->region);
    return ad_encoding_bytes(step->encoding, elements);
}

void ad_schedule_fini(struct ad_schedule *schedule)
{
    ad_arena_fini(&schedule->arena);
    memset(schedule, 0, sizeof *schedule);
}
