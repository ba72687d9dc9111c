/* Tasks out of graph order: list scheduling. While a device waits for rows of one branch it
 * computes another, and what other devices wait for comes first; which when is decided on clocks
 * like the simulator's. What is taken are pieces of the ops' bands (pieces.h).
 *
 * A piece is open once its device has computed what it reads and the messages that it reads are
 * sent; with AD_ORDER_EDGES, of an op cut into pieces, the rest only behind the boundaries. The
 * device whose next piece can start soonest takes it; of several that can start then, a boundary,
 * then the one for the first chunks, then that with the longest way to the end. But an addition to
 * what was just computed goes first: engines do the two at once (exec/engine/residual.c). RECVs
 * stand in front of the first piece that reads the message, SENDs behind the last piece of what is
 * sent.
 *
 * No cyclic wait can arise: the programs are the record of a run in which every RECV stood behind
 * its SEND. The clocks here are an estimate (SENDs of several devices over one link are taken in
 * the order of their pieces); the simulator has the last word about times. */
#include "schedule/lowering.h"

#include <string.h>

/* --- what does not change between runs --- */

/* How long the way from each op to the end is. */
static void survey_ranks(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    for (int i = l->nops - 1; i >= 0; i--) {
        int v = l->graph->ops[i].output, source = l->cluster->source;
        int64_t behind = 0;
        for (int r = l->first_reader[v]; r < l->first_reader[v + 1]; r++)
            behind = o->rank[l->readers[r].op] > behind ? o->rank[l->readers[r].op] : behind;
        struct ad_task all = {i, ad_region_whole(&l->graph->values[v])};
        o->rank[i] = behind + ad_clocks_task_ns(l->clocks, l->graph, l->cluster, source, &all);
    }
}

static void survey_additions(struct ad_step_lowering *l)
{
    const struct ad_graph *graph = l->graph;
    for (int i = 0; i < l->nops; i++)
        l->orders.added[i] = -1;
    for (int i = 0; i < l->nops; i++)
        for (int k = 0; ad_operator_of(graph->ops[i].kind)->residual && k < graph->ops[i].ninputs;
             k++) {
            int producer = graph->values[graph->ops[i].inputs[k]].producer;
            if (producer >= 0)
                l->orders.added[producer] = i;
        }
}

static bool survey(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    const struct ad_graph *graph = l->graph;
    size_t n = (size_t)l->ndevices, nops = (size_t)graph->nops;
    o->rank = ad_arena_alloc(&l->arena, nops + 1, sizeof *o->rank);
    o->now = ad_arena_alloc(&l->arena, nops + 1, sizeof *o->now);
    o->added = ad_arena_alloc(&l->arena, nops + 1, sizeof *o->added);
    o->open = ad_arena_alloc(&l->arena, n, sizeof *o->open);
    if (!o->rank || !o->now || !o->added || !o->open)
        return false;
    survey_ranks(l);
    survey_additions(l);
    o->surveyed = ad_pieces_init(l);
    return o->surveyed;
}

void ad_lowering_order_fini(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    ad_pieces_fini(l);
    for (int d = 0; o->open && d < l->ndevices; d++)
        ad_ints_fini(&o->open[d]);
    ad_ints_fini(&o->left);
    ad_dependency_lists_fini(&o->link_parts);
    ad_free(o->pieces);
}

/* --- the start of a run --- */

/* There is room: for each device, for all its pieces. */
static void open_piece(struct ad_orders *o, int piece)
{
    int device = o->pieces[piece].piece->device;
    struct ad_ints *open = &o->open[device];
    open->list[open->count++] = piece;
    o->changed |= UINT64_C(1) << device;
}

/* Room for so many pieces and messages. */
static bool make_room(struct ad_orders *o, int ndevices, size_t npieces, size_t nmessages)
{
    while (o->pieces_room < npieces)
        if (!ad_grow(&o->pieces, o->pieces_room, &o->pieces_room, sizeof *o->pieces))
            return false;
    while (o->left.room < nmessages)
        if (!ad_grow(&o->left.list, o->left.room, &o->left.room, sizeof *o->left.list))
            return false;
    for (int d = 0; d < ndevices; d++)
        while (o->open[d].room < npieces)
            if (!ad_grow(&o->open[d].list, o->open[d].room, &o->open[d].room, sizeof(int)))
                return false;
    return true;
}

/* The pieces and messages of all ops as they are before anything is done. */
bool ad_lowering_prepare_order(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    size_t n = (size_t)l->ndevices, npieces = 0;
    if ((!o->surveyed && !survey(l)) || !ad_pieces_cut(l))
        return false;
    for (int i = 0; i < l->nops; i++)
        npieces += o->ops[i].cut->count;
    if (!make_room(o, l->ndevices, npieces, l->all.count))
        return false;
    memset(o->clock, 0, sizeof o->clock);
    o->clock[l->cluster->source] = l->clocks->feed_ns;
    memset(&o->ports, 0, sizeof o->ports);
    memset(o->rest, 0, sizeof o->rest);
    memset(o->latest, 0, sizeof o->latest);
    memset(l->last, -1, n * n * sizeof *l->last);
    for (size_t d = 0; d < n; d++) {
        o->open[d].count = 0;
        o->start[d] = INT64_MAX;
    }
    o->changed = 0;
    int piece = 0;
    for (int i = 0; i < l->nops; i++) {
        const struct ad_cut *cut = o->ops[i].cut;
        const struct ad_dependencies *links = o->ops[i].links;
        const int *waits = links->waits;
        o->now[i] = (struct ad_op_now){cut, links->block, piece, l->first_message[i]};
        for (size_t q = 0; q < cut->count; q++, piece++) {
            o->pieces[piece] = (struct ad_taking){&cut->list[q], 0, waits[q]};
            int64_t *rest = &o->rest[cut->list[q].device];
            *rest = ad_clocks_plus(*rest, cut->list[q].ns);
            if (waits[q] == 0)
                open_piece(o, piece);
        }
        if (cut->unfinished.count > 0)
            memcpy(&o->left.list[l->first_message[i]], cut->unfinished.list,
                   cut->unfinished.count * sizeof(int));
    }
    return true;
}

/* --- the run --- */

/* An edge is done: the rest of its band waits for one less. */
static void release_rest(struct ad_orders *o, int op, int device)
{
    const struct ad_cut *cut = o->now[op].cut;
    int first = o->now[op].first_piece;
    for (int q = cut->first[device]; q < cut->first[device + 1]; q++)
        if (!cut->list[q].edge && --o->pieces[first + q].waits == 0)
            open_piece(o, first + q);
}

/* An item of a value (struct ad_dependencies) is there, or on its way: one less to wait for, for
 * all pieces that read it. */
static void arrive(struct ad_step_lowering *l, int value, int item, int64_t when)
{
    struct ad_orders *o = &l->orders;
    for (int r = l->first_reader[value]; r < l->first_reader[value + 1]; r++) {
        const struct ad_op_now *reader = &o->now[l->readers[r].op];
        const int *links = reader->links, *bounds = &links[links[l->readers[r].input] + item];
        for (int i = bounds[0]; i < bounds[1]; i++) {
            int q = reader->first_piece + links[i];
            struct ad_taking *piece = &o->pieces[q];
            piece->ready = when > piece->ready ? when : piece->ready;
            if (--piece->waits == 0)
                open_piece(o, q);
        }
    }
}

/* A message goes onto the wire; it follows the one before it between the same two devices. */
static void send(struct ad_step_lowering *l, int t)
{
    struct ad_orders *o = &l->orders;
    struct ad_transfer *m = &l->all.list[t];
    size_t pair = (size_t)m->from * (size_t)l->ndevices + (size_t)m->to;
    int producer = l->graph->values[m->value].producer;
    ad_lowering_emit_message(l, (size_t)t, AD_STEP_SEND);
    m->sent = true;
    m->previous = l->last[pair];
    l->last[pair] = t;
    struct ad_passage passage = ad_ports_pass(&o->ports, l->cluster->shared_medium, m->from, m->to,
                                              o->clock[m->from], m->wire_ns);
    o->clock[m->from] += m->sending_ns;
    int item =
        producer < 0 ? t : (int)o->now[producer].cut->count + t - o->now[producer].first_message;
    arrive(l, m->value, item, passage.end + l->clocks->latency[pair]);
}

static void send_input(struct ad_step_lowering *l, int value)
{
    for (size_t t = 0; t < l->inputs->sends.count; t++)
        if (l->inputs->sends.list[t].value == value)
            send(l, (int)t);
}

/* The messages that a piece reads. */
static void receive(struct ad_step_lowering *l, int op, int piece)
{
    const struct ad_op *what = &l->graph->ops[op];
    const int *links = l->orders.now[op].links, *bounds = &links[links[what->ninputs] + piece];
    for (int i = bounds[0]; i < bounds[1]; i += 2) {
        int producer = l->graph->values[what->inputs[links[i]]].producer;
        int first = producer < 0 ? 0 : l->orders.now[producer].first_message;
        ad_lowering_emit_receive(l, (size_t)(first + links[i + 1]));
    }
}

/* Takes piece q, and sends the messages that are complete then. */
static void run_piece(struct ad_step_lowering *l, int q, int64_t start)
{
    struct ad_orders *o = &l->orders;
    const struct ad_piece *piece = o->pieces[q].piece;
    const struct ad_op_now *now = &o->now[piece->op];
    const struct ad_cut *cut = now->cut;
    int mine = q - now->first_piece;
    receive(l, piece->op, mine);
    ad_lowering_emit_task(l, piece->op, piece->device, &piece->region, piece->ns);
    o->clock[piece->device] = start + piece->ns;
    o->latest[piece->device] = piece;
    if (l->order == AD_ORDER_EDGES && piece->edge)
        release_rest(o, piece->op, piece->device);
    arrive(l, l->graph->ops[piece->op].output, mine, o->clock[piece->device]);
    for (int i = piece->first_sent; i < piece->first_sent + piece->nsent; i++) {
        int t = now->first_message + cut->sent.list[i];
        if (--o->left.list[t] == 0)
            send(l, t);
    }
}

static bool goes_before(const struct ad_orders *o, const struct ad_piece *a,
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
static bool adds_to(const struct ad_orders *o, const struct ad_piece *piece,
                    const struct ad_piece *before)
{
    return before && o->added[before->op] == piece->op &&
           ad_region_equal(piece->region, before->region);
}

/* Which of its open pieces a device should take next, and when that can start. */
static void choose(struct ad_orders *o, int device)
{
    const int *open = o->open[device].list;
    int count = (int)o->open[device].count;
    int64_t clock = o->clock[device], start = INT64_MAX;
    const struct ad_piece *best = NULL;
    for (int k = 0; k < count; k++) {
        const struct ad_taking *piece = &o->pieces[open[k]];
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
static bool advance(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    int device = 0;
    for (; o->changed; o->changed &= o->changed - 1)
        choose(o, __builtin_ctzll(o->changed));
    int64_t soonest = o->start[0];
    for (int d = 1; d < l->ndevices; d++) {
        device = o->start[d] < soonest ? d : device;
        soonest = o->start[d] < soonest ? o->start[d] : soonest;
    }
    struct ad_ints *open = &o->open[device];
    if (open->count == 0)
        return false;
    l->over = ad_clocks_plus(soonest, o->rest[device]) > l->limit;
    if (l->over)
        return false;
    int place = o->best[device], piece = open->list[place];
    o->rest[device] -= o->pieces[piece].piece->ns;
    open->list[place] = open->list[--open->count];
    o->changed |= UINT64_C(1) << device;
    run_piece(l, piece, soonest);
    return true;
}

void ad_lowering_order(struct ad_step_lowering *l)
{
    for (int i = 0; i < l->graph->ninputs; i++)
        send_input(l, l->graph->inputs[i]);
    while (advance(l))
        continue;
    for (size_t t = 0; t < l->all.count && !l->over; t++) /* outputs, and what nobody reads */
        ad_lowering_emit_receive(l, t);
}
