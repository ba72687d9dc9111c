/* A piece is open once its device has computed what it reads and the messages that it reads are
 * sent; with AD_ORDER_EDGES, of an op cut into pieces, the rest only after the boundaries. The
 * device whose next piece can start soonest takes it; of several that can start then, a boundary,
 * then the one for the first chunks, then that with the longest way to the end. But an addition to
 * what was just computed goes first: engines do the two at once (exec/engine/residual.c). RECVs
 * stand before the first piece that reads the message, SENDs after the last piece of what is sent.
 *
 * No cyclic wait can arise: the programs are the record of a run in which every RECV stood after
 * its SEND. The clocks here are an estimate (SENDs of several devices over one link are taken in
 * the order of their pieces); the simulator has the last word about times. */
#include "schedule/order.h"
#include "schedule/cut.h"

#include <string.h>

/* --- what does not change between runs --- */

/* How long the way from each op to the end is. */
static void rank_ops(struct ad_task_order *o)
{
    const struct ad_lowering_context *c = o->c;
    for (int i = c->nops - 1; i >= 0; i--) {
        int v = c->graph->ops[i].output, source = c->cluster->source;
        int64_t rest = 0;
        for (int r = c->readers.first[v]; r < c->readers.first[v + 1]; r++)
            rest = o->rank[c->readers.list[r].op] > rest ? o->rank[c->readers.list[r].op] : rest;
        struct ad_task all = {i, ad_region_whole(&c->graph->values[v])};
        o->rank[i] = rest + ad_clocks_task_ns(c->clocks, c->graph, c->cluster, source, &all);
    }
}

static void find_additions(struct ad_task_order *o)
{
    const struct ad_lowering_context *c = o->c;
    const struct ad_graph *graph = c->graph;
    for (int i = 0; i < c->nops; i++)
        o->added[i] = -1;
    for (int i = 0; i < c->nops; i++)
        for (int k = 0; ad_operator_of(graph->ops[i].kind)->residual && k < graph->ops[i].ninputs;
             k++) {
            int producer = graph->values[graph->ops[i].inputs[k]].producer;
            if (producer >= 0)
                o->added[producer] = i;
        }
}

static bool prepare(struct ad_task_order *o)
{
    struct ad_lowering_context *c = o->c;
    size_t n = (size_t)c->ndevices, nops = (size_t)c->nops;
    o->rank = ad_arena_alloc(&c->arena, nops + 1, sizeof *o->rank);
    o->ops = ad_arena_alloc(&c->arena, nops + 1, sizeof *o->ops);
    o->added = ad_arena_alloc(&c->arena, nops + 1, sizeof *o->added);
    o->open = ad_arena_alloc(&c->arena, n, sizeof *o->open);
    if (!o->rank || !o->ops || !o->added || !o->open)
        return false;
    rank_ops(o);
    find_additions(o);
    o->prepared = ad_pieces_init(&o->pieces, c, o->routes);
    return o->prepared;
}

void ad_task_order_init(struct ad_task_order *out, struct ad_lowering_context *c,
                        struct ad_routes *routes, struct ad_emitter *emitter)
{
    *out = (struct ad_task_order){.c = c, .routes = routes, .emitter = emitter};
}

void ad_task_order_fini(struct ad_task_order *o)
{
    ad_pieces_fini(&o->pieces);
    for (int d = 0; o->open && d < o->c->ndevices; d++)
        ad_ints_fini(&o->open[d]);
    ad_ints_fini(&o->left);
    ad_free(o->list);
    *o = (struct ad_task_order){0};
}

/* --- the start of a run --- */

/* There is room: for each device, for all its pieces. */
static void open_piece(struct ad_task_order *o, int piece)
{
    int device = o->list[piece].piece->device;
    struct ad_ints *open = &o->open[device];
    open->list[open->count++] = piece;
    o->changed |= UINT64_C(1) << device;
}

/* Room for so many pieces and messages. */
static bool make_room(struct ad_task_order *o, size_t npieces, size_t nmessages)
{
    while (o->room < npieces)
        if (!ad_grow(&o->list, o->room, &o->room, sizeof *o->list))
            return false;
    bool room = ad_ints_reserve(&o->left, nmessages);
    for (int d = 0; d < o->c->ndevices && room; d++)
        room = ad_ints_reserve(&o->open[d], npieces);
    return room;
}

static void reset(struct ad_task_order *o)
{
    const struct ad_lowering_context *c = o->c;
    memset(o->clock, 0, sizeof o->clock);
    o->clock[c->cluster->source] = c->clocks->feed_ns;
    memset(&o->ports, 0, sizeof o->ports);
    memset(o->rest, 0, sizeof o->rest);
    memset(o->latest, 0, sizeof o->latest);
    for (int d = 0; d < c->ndevices; d++) {
        o->open[d].count = 0;
        o->start[d] = INT64_MAX;
    }
    o->changed = 0;
    o->over = false;
}

/* The pieces and messages of all ops as they are before anything is done. */
static bool begin(struct ad_task_order *o)
{
    size_t npieces = 0;
    if ((!o->prepared && !prepare(o)) || !ad_cut_ops(&o->pieces))
        return false;
    for (int i = 0; i < o->c->nops; i++)
        npieces += o->pieces.ops[i].cut->count;
    if (!make_room(o, npieces, o->routes->all.count))
        return false;
    reset(o);
    int piece = 0;
    for (int i = 0; i < o->c->nops; i++) {
        const struct ad_cut *cut = o->pieces.ops[i].cut;
        const struct ad_dependencies *dependencies = o->pieces.ops[i].dependencies;
        const int *waits = dependencies->waits;
        int first_message = o->routes->first_message[i];
        o->ops[i] = (struct ad_op_state){cut, dependencies->block, piece, first_message};
        for (size_t q = 0; q < cut->count; q++, piece++) {
            o->list[piece] = (struct ad_piece_state){&cut->list[q], 0, waits[q]};
            int64_t *rest = &o->rest[cut->list[q].device];
            *rest = ad_clocks_plus(*rest, cut->list[q].ns);
            if (waits[q] == 0)
                open_piece(o, piece);
        }
        if (cut->unfinished.count > 0)
            memcpy(&o->left.list[first_message], cut->unfinished.list,
                   cut->unfinished.count * sizeof(int));
    }
    return true;
}

/* Room for the programs: every piece is a task. False without memory. */
static bool reserve(struct ad_task_order *o)
{
    int ntasks[AD_MAX_DEVICES];
    if (!o->emitter->schedule)
        return true;
    for (int d = 0; d < o->c->ndevices; d++) {
        ntasks[d] = 0;
        for (int i = 0; i < o->c->nops; i++)
            ntasks[d] += o->ops[i].cut->first[d + 1] - o->ops[i].cut->first[d];
    }
    return ad_emitter_reserve(o->emitter, ntasks);
}

/* --- the run --- */

/* An edge is done: the rest of its band waits for one less. */
static void release_rest(struct ad_task_order *o, int op, int device)
{
    const struct ad_cut *cut = o->ops[op].cut;
    int first = o->ops[op].first_piece;
    for (int q = cut->first[device]; q < cut->first[device + 1]; q++)
        if (!cut->list[q].edge && --o->list[first + q].waits == 0)
            open_piece(o, first + q);
}

/* An item of a value (struct ad_dependencies) is there, or on its way: one less to wait for, for
 * all pieces that read it. */
static void arrive(struct ad_task_order *o, int value, int item, int64_t when)
{
    const struct ad_lowering_context *c = o->c;
    for (int r = c->readers.first[value]; r < c->readers.first[value + 1]; r++) {
        const struct ad_op_state *reader = &o->ops[c->readers.list[r].op];
        const int *block = reader->block, *bounds = &block[block[c->readers.list[r].input] + item];
        for (int i = bounds[0]; i < bounds[1]; i++) {
            int q = reader->first_piece + block[i];
            struct ad_piece_state *piece = &o->list[q];
            piece->ready = when > piece->ready ? when : piece->ready;
            if (--piece->waits == 0)
                open_piece(o, q);
        }
    }
}

/* A message goes onto the wire. */
static void send(struct ad_task_order *o, int t)
{
    const struct ad_lowering_context *c = o->c;
    const struct ad_transfer *m = &o->routes->all.list[t];
    size_t pair = ad_lowering_at(c, m->from, m->to);
    int producer = c->graph->values[m->value].producer;
    ad_emitter_queue(o->emitter, (size_t)t);
    ad_emit_send(o->emitter, (size_t)t);
    struct ad_passage passage = ad_ports_pass(&o->ports, c->cluster->shared_medium, m->from, m->to,
                                              o->clock[m->from], m->wire_ns);
    o->clock[m->from] += m->sending_ns;
    int item =
        producer < 0 ? t : (int)o->ops[producer].cut->count + t - o->ops[producer].first_message;
    arrive(o, m->value, item, passage.end + c->clocks->latency[pair]);
}

static void send_input(struct ad_task_order *o, int value)
{
    for (size_t t = 0; t < o->routes->inputs->sends.count; t++)
        if (o->routes->inputs->sends.list[t].value == value)
            send(o, (int)t);
}

/* The messages that a piece reads. */
static void receive(struct ad_task_order *o, int op, int piece)
{
    const struct ad_op *what = &o->c->graph->ops[op];
    const int *block = o->ops[op].block, *bounds = &block[block[what->ninputs] + piece];
    for (int i = bounds[0]; i < bounds[1]; i += 2) {
        int producer = o->c->graph->values[what->inputs[block[i]]].producer;
        int first = producer < 0 ? 0 : o->ops[producer].first_message;
        ad_emit_receive(o->emitter, (size_t)(first + block[i + 1]));
    }
}

/* Takes piece q, and sends the messages that are complete then. */
static void run_piece(struct ad_task_order *o, int q, int64_t start)
{
    const struct ad_piece *piece = o->list[q].piece;
    const struct ad_op_state *now = &o->ops[piece->op];
    const struct ad_cut *cut = now->cut;
    int mine = q - now->first_piece;
    receive(o, piece->op, mine);
    ad_emit_task(o->emitter, piece->op, piece->device, &piece->region, piece->ns);
    o->clock[piece->device] = start + piece->ns;
    o->latest[piece->device] = piece;
    if (o->c->order == AD_ORDER_EDGES && piece->edge)
        release_rest(o, piece->op, piece->device);
    arrive(o, o->c->graph->ops[piece->op].output, mine, o->clock[piece->device]);
    for (int i = piece->first_sent; i < piece->first_sent + piece->nsent; i++) {
        int t = now->first_message + cut->sent.list[i];
        if (--o->left.list[t] == 0)
            send(o, t);
    }
}

static bool goes_before(const struct ad_task_order *o, const struct ad_piece *a,
                        const struct ad_piece *b)
{
    if (a->edge != b->edge)
        return a->edge;
    if (a->ahead != b->ahead)
        return a->ahead > b->ahead;
    if (o->rank[a->op] != o->rank[b->op])
        return o->rank[a->op] > o->rank[b->op];
    return a->op != b->op ? a->op < b->op : a->region.h0 < b->region.h0;
}

/* Whether a piece adds to all that the one before it computed. */
static bool adds_to(const struct ad_task_order *o, const struct ad_piece *piece,
                    const struct ad_piece *before)
{
    return before && o->added[before->op] == piece->op &&
           ad_region_equal(piece->region, before->region);
}

/* Which of its open pieces a device should take next, and when that can start. */
static void choose(struct ad_task_order *o, int device)
{
    const int *open = o->open[device].list;
    int count = (int)o->open[device].count;
    int64_t clock = o->clock[device], start = INT64_MAX;
    const struct ad_piece *best = NULL;
    for (int k = 0; k < count; k++) {
        const struct ad_piece_state *piece = &o->list[open[k]];
        int64_t ready = piece->ready > clock ? piece->ready : clock;
        if (ready == clock && adds_to(o, piece->piece, o->latest[device])) {
            start = ready;
            o->best[device] = k;
            break;
        }
        if (best && (ready > start || (ready == start && !goes_before(o, piece->piece, best))))
            continue;
        best = piece->piece;
        start = ready;
        o->best[device] = k;
    }
    o->start[device] = start;
}

/* Runs the piece that can start soonest; false when none is open, or beyond the limit. */
static bool advance(struct ad_task_order *o, int64_t limit_ns)
{
    int device = 0;
    for (; o->changed; o->changed &= o->changed - 1)
        choose(o, __builtin_ctzll(o->changed));
    int64_t soonest = o->start[0];
    for (int d = 1; d < o->c->ndevices; d++) {
        device = o->start[d] < soonest ? d : device;
        soonest = o->start[d] < soonest ? o->start[d] : soonest;
    }
    struct ad_ints *open = &o->open[device];
    if (open->count == 0)
        return false;
    o->over = ad_clocks_plus(soonest, o->rest[device]) > limit_ns;
    if (o->over)
        return false;
    int place = o->best[device], piece = open->list[place];
    o->rest[device] -= o->list[piece].piece->ns;
    open->list[place] = open->list[--open->count];
    o->changed |= UINT64_C(1) << device;
    run_piece(o, piece, soonest);
    return true;
}

bool ad_task_order_run(struct ad_task_order *o, int64_t limit_ns)
{
    if (!begin(o) || !reserve(o))
        return false;
    for (int i = 0; i < o->c->graph->ninputs; i++)
        send_input(o, o->c->graph->inputs[i]);
    while (advance(o, limit_ns))
        continue;
    const struct ad_transfers *all = &o->routes->all;
    for (size_t t = 0; t < all->count && !o->over; t++)
        if (!all->list[t].received) /* outputs, and what nobody reads */
            ad_emit_receive(o->emitter, t);
    return true;
}
