/* Tasks out of graph order: list scheduling. While a device waits for rows of one branch it
 * computes another, and what other devices wait for comes first; which when is decided on clocks
 * like the simulator's.
 *
 * A piece is a part of what a device computes of an op. With AD_ORDER_PIECES the boundary of an
 * early op's band, which others wait for, is a piece of its own, and so is whatever this boundary
 * takes of the ops before it on the same device, back to the last exchange or to where it is more
 * than half of the band: the boundary goes ahead through a whole fused range. Otherwise all of the
 * band is one piece.
 *
 * Inputs may come in parts (struct ad_assignment): the first ops' bands are cut where the parts
 * that are there end, so that computing starts with the first part.
 *
 * A piece is open once its device has computed what it reads and the messages that it reads are
 * sent; with AD_ORDER_EDGES, of an op cut into pieces, the rest only behind the boundaries. The
 * device whose next piece can start soonest takes it; of several that can start then, a boundary,
 * then the one with the longest way to the end. RECVs stand in front of the first piece that reads
 * the message, SENDs behind the last piece of what is sent.
 *
 * No cyclic wait can arise: the programs are the record of a run in which every RECV stood behind
 * its SEND. The clocks here are an estimate (SENDs of several devices over one link are taken in
 * the order of their pieces); the simulator has the last word about times. */
#include "schedule/lowering.h"
#include "schedule/clocks.h"
#include "fusion/fused.h"

#include <string.h>

#define NONE (-1) /* ends lists */
#define UNKNOWN (-2)
#define DONE (-1)      /* instead of how many a piece waits for */
#define MAX_EDGES 2    /* boundaries of one band that go ahead */
#define MAX_REST 4     /* boxes that are left behind these */
#define MAX_STEPPED 16 /* inputs of an op that follows the parts of the network's input */
#define MAX_PIECES AD_ORDER_PIECES_PER_OP

/* Boundaries that others wait for, disjoint. */
struct ad_order_edges {
    int count;
    struct ad_region box[MAX_EDGES];
};

/* Rows behind which a value that comes in parts can be read: more rows, later. */
struct ad_order_steps {
    int count;
    int32_t row[AD_MAX_PARTS - 1];
};

struct ad_order_piece {
    int op, next; /* next piece of the same op and device */
    bool edge;
    size_t reads;  /* the first of what it reads of each input, in orders.reads */
    int waits;     /* for so many pieces and messages */
    int64_t ready; /* when the last of these was there */
    struct ad_region region;
};

/* The next piece of a device: its place among the open ones, or NONE, or UNKNOWN. */
struct ad_order_choice {
    int place;
    int64_t start;
};

static size_t at(const struct ad_lowering *l, int index, int device)
{
    return (size_t)index * (size_t)l->ndevices + (size_t)device;
}

static int64_t time_of(struct ad_lowering *l, int device, int op, struct ad_region region)
{
    struct ad_task task = {op, region};
    return ad_clocks_task_ns(l->clocks, l->graph, l->cluster, device, &task);
}

static bool meet(struct ad_region a, struct ad_region b)
{
    return !ad_region_empty(ad_region_intersect(a, b));
}

/* --- what does not change between runs --- */

static bool survey(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    const struct ad_graph *graph = l->graph;
    size_t n = (size_t)l->ndevices, nvalues = (size_t)graph->nvalues, nops = (size_t)graph->nops;
    size_t nreads = 0;
    for (int i = 0; i < graph->nops; i++)
        nreads += (size_t)graph->ops[i].ninputs;
    o->first_reader = ad_arena_alloc(&l->arena, nvalues + 2, sizeof *o->first_reader);
    o->readers = ad_arena_alloc(&l->arena, nreads + 1, sizeof *o->readers);
    o->rank = ad_arena_alloc(&l->arena, nops + 1, sizeof *o->rank);
    o->edges = ad_arena_alloc(&l->arena, nops * n + 1, sizeof *o->edges);
    o->steps = ad_arena_alloc(&l->arena, nvalues * n, sizeof *o->steps);
    o->first_piece = ad_arena_alloc(&l->arena, nops * n + 1, sizeof *o->first_piece);
    o->coming = ad_arena_alloc(&l->arena, nvalues * n, sizeof *o->coming);
    o->leaving = ad_arena_alloc(&l->arena, nvalues * n, sizeof *o->leaving);
    o->pieces = ad_arena_alloc(&l->arena, nops * n * MAX_PIECES + 1, sizeof *o->pieces);
    o->open = ad_arena_alloc(&l->arena, nops * n * MAX_PIECES + 1, sizeof *o->open);
    o->soonest = ad_arena_alloc(&l->arena, n, sizeof *o->soonest);
    if (!o->soonest || !o->steps || !o->first_reader || !o->readers || !o->rank || !o->edges ||
        !o->first_piece || !o->coming || !o->leaving || !o->pieces || !o->open)
        return false;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            o->first_reader[graph->ops[i].inputs[k] + 2]++;
    for (size_t v = 0; v < nvalues; v++)
        o->first_reader[v + 2] += o->first_reader[v + 1];
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            o->readers[o->first_reader[graph->ops[i].inputs[k] + 1]++] = i;
    for (int i = graph->nops - 1; i >= 0; i--) {
        int v = graph->ops[i].output;
        int64_t behind = 0;
        for (int r = o->first_reader[v]; r < o->first_reader[v + 1]; r++)
            behind = o->rank[o->readers[r]] > behind ? o->rank[o->readers[r]] : behind;
        o->rank[i] = behind + time_of(l, l->cluster->source, i, ad_region_whole(&graph->values[v]));
    }
    o->surveyed = true;
    return true;
}

/* --- pieces --- */

static void add_edge(struct ad_order_edges *edges, struct ad_region box)
{
    for (int i = 0; i < edges->count; i++)
        if (meet(edges->box[i], box)) {
            box = ad_region_hull(box, edges->box[i]);
            edges->box[i] = edges->box[--edges->count];
            i = -1; /* the hull may meet others */
        }
    if (edges->count < MAX_EDGES)
        edges->box[edges->count++] = box;
    else
        edges->box[0] = ad_region_hull(edges->box[0], box);
}

/* Makes the edges of a band allowed, or drops them when they are most of it. */
static void settle_edges(struct ad_lowering *l, int op, struct ad_region band,
                         struct ad_order_edges *edges)
{
    struct ad_order_edges raw = *edges;
    int64_t elements = 0;
    edges->count = 0;
    for (int i = 0; i < raw.count; i++) {
        struct ad_region box = ad_region_allow(l->graph, &l->graph->ops[op], raw.box[i]);
        if (!ad_region_empty(box))
            add_edge(edges, box);
    }
    for (int i = 0; i < edges->count; i++) {
        elements += ad_region_elements(edges->box[i]);
        if (!ad_region_contains(band, edges->box[i]) ||
            !ad_region_allowed(l->graph, &l->graph->ops[op], edges->box[i]))
            elements = INT64_MAX / 4;
    }
    if (2 * elements > ad_region_elements(band) ||
        (edges->count == 2 && meet(edges->box[0], edges->box[1])))
        edges->count = 0;
}

/* The edges of an op's band on a device: what early messages take, and what edges of later ops do;
 * hands them on to the ops before it. */
static void find_edges(struct ad_lowering *l, int op, int device)
{
    struct ad_orders *o = &l->orders;
    const struct ad_op *what = &l->graph->ops[op];
    struct ad_order_edges *edges = &o->edges[at(l, op, device)];
    struct ad_region band = *ad_computed_at(l, op, device);
    if (l->early[op])
        for (int t = o->leaving[at(l, what->output, device)]; t != NONE; t = o->next[2 * t + 1]) {
            struct ad_region sent = l->all.list[t].region;
            if (2 * ad_region_elements(sent) <= ad_region_elements(band))
                add_edge(edges, sent);
        }
    if (edges->count == 0)
        return;
    settle_edges(l, op, band, edges);
    for (int i = 0; i < edges->count; i++)
        for (int k = 0; k < what->ninputs; k++) {
            int p = l->graph->values[what->inputs[k]].producer;
            if (p < 0 || o->coming[at(l, what->inputs[k], device)] != NONE)
                continue; /* an exchange: its own edges go ahead */
            struct ad_region read = ad_region_intersect(ad_need(l->graph, what, k, edges->box[i]),
                                                        *ad_computed_at(l, p, device));
            if (!ad_region_empty(read))
                add_edge(&o->edges[at(l, p, device)], read);
        }
}

static void add_piece(struct ad_lowering *l, int op, int device, struct ad_region region, bool edge)
{
    struct ad_orders *o = &l->orders;
    int *first = &o->first_piece[at(l, op, device)];
    o->pieces[o->npieces] =
        (struct ad_order_piece){.op = op, .next = *first, .edge = edge, .region = region};
    *first = o->npieces++;
}

/* Where the inputs that come in parts can be read, and how long they are on their way. */
static void find_steps(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    double seconds = 0;
    for (size_t i = 0; i < (size_t)l->graph->nvalues * (size_t)l->ndevices; i++)
        o->steps[i].count = 0;
    if (l->parts == 1)
        return;
    for (size_t t = 0; t < l->all.count; t++) {
        const struct ad_transfer *m = &l->all.list[t];
        if (l->graph->values[m->value].producer >= 0)
            continue;
        const struct ad_link *link = &l->cluster->links[at(l, m->from, m->to)];
        struct ad_order_steps *steps = &o->steps[at(l, m->value, m->to)];
        seconds += (double)ad_region_bytes(l->graph, m->value, m->region) / (l->levels ? 4 : 1) /
                   link->bandwidth;
        if (m->part + 1 < l->parts && steps->count < AD_MAX_PARTS - 1)
            steps->row[steps->count++] = m->region.h1;
    }
    o->scatter = ad_clocks_ns(seconds);
}

/* The rows of an op's band behind which it can be computed from the first parts of its inputs; none
 * when all parts have come by then. */
static void follow_steps(struct ad_lowering *l, int op, int device, int64_t *spent)
{
    struct ad_orders *o = &l->orders;
    const struct ad_op *what = &l->graph->ops[op];
    struct ad_region band = *ad_computed_at(l, op, device), have[MAX_STEPPED];
    struct ad_order_steps *out = &o->steps[at(l, what->output, device)];
    int count = 0;
    if (what->ninputs > MAX_STEPPED || *spent > o->scatter)
        return;
    for (int k = 0; k < what->ninputs; k++)
        count = o->steps[at(l, what->inputs[k], device)].count > count
                    ? o->steps[at(l, what->inputs[k], device)].count
                    : count;
    for (int c = 0; c < count; c++) {
        for (int k = 0; k < what->ninputs; k++) {
            const struct ad_order_steps *in = &o->steps[at(l, what->inputs[k], device)];
            have[k] = ad_region_whole(&l->graph->values[what->inputs[k]]);
            if (c < in->count)
                have[k].h1 = in->row[c];
        }
        int32_t row = ad_yield(l->graph, what, have).h1;
        int32_t before = out->count > 0 ? out->row[out->count - 1] : band.h0;
        if (row > before && row < band.h1)
            out->row[out->count++] = row;
    }
    *spent += time_of(l, device, op, band);
}

/* A part of the rest of a band, cut at its steps. */
static void add_rest(struct ad_lowering *l, int op, int device, struct ad_region rest)
{
    const struct ad_op *what = &l->graph->ops[op];
    const struct ad_order_steps *steps = &l->orders.steps[at(l, what->output, device)];
    for (int c = 0; c < steps->count; c++) {
        struct ad_region upper = rest, lower = rest;
        upper.h1 = lower.h0 = steps->row[c];
        if (ad_region_empty(upper) || ad_region_empty(lower) ||
            !ad_region_allowed(l->graph, what, upper) || !ad_region_allowed(l->graph, what, lower))
            continue;
        add_piece(l, op, device, upper, false);
        rest = lower;
    }
    add_piece(l, op, device, rest, false);
}

/* Cuts a band into its edges and the rest; as one piece where a part of the rest may not be
 * computed alone. */
static void cut_band(struct ad_lowering *l, int op, int device)
{
    const struct ad_order_edges *edges = &l->orders.edges[at(l, op, device)];
    struct ad_region band = *ad_computed_at(l, op, device), rest[6], more[6];
    int nrest = 1, kept = 0;
    if (ad_region_empty(band))
        return;
    if (edges->count == 0 && l->orders.steps[at(l, l->graph->ops[op].output, device)].count == 0) {
        add_piece(l, op, device, band, false);
        return;
    }
    rest[0] = band;
    if (edges->count > 0)
        nrest = ad_region_subtract(band, edges->box[0], rest);
    if (edges->count > 1) {
        struct ad_region old[6];
        memcpy(old, rest, sizeof old);
        int nold = nrest;
        nrest = 0;
        for (int i = 0; i < nold && nrest >= 0; i++) {
            int nmore = ad_region_subtract(old[i], edges->box[1], more);
            if (nrest + nmore > MAX_REST) {
                nrest = -1;
                break;
            }
            memcpy(rest + nrest, more, (size_t)nmore * sizeof *more);
            nrest += nmore;
        }
    }
    for (int i = 0; i < nrest; i++)
        kept += ad_region_allowed(l->graph, &l->graph->ops[op], rest[i]);
    if (nrest < 0 || kept < nrest) {
        add_piece(l, op, device, band, edges->count > 0);
        return;
    }
    for (int i = 0; i < nrest; i++)
        add_rest(l, op, device, rest[i]);
    for (int i = 0; i < edges->count; i++)
        add_piece(l, op, device, edges->box[i], true);
}

/* --- what waits for what --- */

static void open_piece(struct ad_lowering *l, int piece, int device)
{
    struct ad_orders *o = &l->orders;
    o->open[(size_t)device * (size_t)l->nops * MAX_PIECES + (size_t)o->nopen[device]++] = piece;
    o->soonest[device].place = UNKNOWN;
}

/* What a piece reads of each input. False without memory. */
static bool note_reads(struct ad_lowering *l, struct ad_order_piece *piece, int device)
{
    struct ad_orders *o = &l->orders;
    const struct ad_op *op = &l->graph->ops[piece->op];
    piece->reads = o->nreads;
    while (o->nreads + (size_t)op->ninputs > o->reads_room)
        if (!ad_grow(&o->reads, o->reads_room, &o->reads_room, sizeof *o->reads))
            return false;
    const struct ad_region *known = l->memo[piece->op].now->reads; /* by the whole band */
    bool whole = ad_region_equal(piece->region, *ad_computed_at(l, piece->op, device));
    for (int k = 0; k < op->ninputs; k++)
        o->reads[o->nreads++] =
            whole ? known[k * l->ndevices + device] : ad_need(l->graph, op, k, piece->region);
    return true;
}

/* How many pieces and messages a piece reads. */
static int count_waits(struct ad_lowering *l, const struct ad_order_piece *piece, int device)
{
    struct ad_orders *o = &l->orders;
    const struct ad_op *op = &l->graph->ops[piece->op];
    int waits = 0;
    for (int k = 0; k < op->ninputs; k++) {
        int v = op->inputs[k], p = l->graph->values[v].producer;
        struct ad_region read = o->reads[piece->reads + (size_t)k];
        for (int q = p < 0 ? NONE : o->first_piece[at(l, p, device)]; q != NONE;
             q = o->pieces[q].next)
            waits += meet(read, o->pieces[q].region);
        for (int t = o->coming[at(l, v, device)]; t != NONE; t = o->next[2 * t])
            waits += meet(read, l->all.list[t].region);
    }
    if (l->order == AD_ORDER_EDGES && !piece->edge)
        for (int q = o->first_piece[at(l, piece->op, device)]; q != NONE; q = o->pieces[q].next)
            waits += o->pieces[q].edge;
    return waits;
}

/* An edge is done: the rest of its band waits for one less. */
static void release_rest(struct ad_lowering *l, int op, int device)
{
    struct ad_orders *o = &l->orders;
    for (int q = o->first_piece[at(l, op, device)]; q != NONE; q = o->pieces[q].next)
        if (!o->pieces[q].edge && --o->pieces[q].waits == 0)
            open_piece(l, q, device);
}

/* A part of a value is there, or on its way: one less to wait for, for all pieces that read it. */
static void arrive(struct ad_lowering *l, int value, struct ad_region region, int device,
                   int64_t when)
{
    struct ad_orders *o = &l->orders;
    int last = NONE;
    for (int r = o->first_reader[value]; r < o->first_reader[value + 1]; r++) {
        int reader = o->readers[r];
        const struct ad_op *op = &l->graph->ops[reader];
        if (reader == last)
            continue; /* reads it twice: both are settled below */
        last = reader;
        for (int q = o->first_piece[at(l, reader, device)]; q != NONE; q = o->pieces[q].next)
            for (int k = 0; k < op->ninputs; k++) {
                struct ad_order_piece *piece = &o->pieces[q];
                if (op->inputs[k] != value || !meet(region, o->reads[piece->reads + (size_t)k]))
                    continue;
                piece->ready = when > piece->ready ? when : piece->ready;
                if (--piece->waits == 0)
                    open_piece(l, q, device);
            }
    }
}

/* Chains the messages by value and device, at both ends, in their order. */
static bool chain_messages(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    size_t ends = (size_t)l->graph->nvalues * (size_t)l->ndevices;
    while (o->next_room < 2 * l->all.count)
        if (!ad_grow(&o->next, o->next_room, &o->next_room, sizeof *o->next))
            return false;
    for (size_t i = 0; i < ends; i++)
        o->coming[i] = o->leaving[i] = NONE;
    for (size_t t = l->all.count; t-- > 0;) {
        const struct ad_transfer *m = &l->all.list[t];
        o->next[2 * t] = o->coming[at(l, m->value, m->to)];
        o->coming[at(l, m->value, m->to)] = (int)t;
        o->next[2 * t + 1] = o->leaving[at(l, m->value, m->from)];
        o->leaving[at(l, m->value, m->from)] = (int)t;
    }
    return true;
}

static bool prepare(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    size_t n = (size_t)l->ndevices, bands = (size_t)l->nops * n;
    if ((!o->surveyed && !survey(l)) || !chain_messages(l))
        return false;
    memset(o->nopen, 0, sizeof o->nopen);
    memset(o->clock, 0, sizeof o->clock);
    memset(o->up, 0, sizeof o->up);
    memset(o->down, 0, sizeof o->down);
    for (size_t i = 0; i < n * n; i++)
        l->last[i] = NONE;
    for (size_t i = 0; i < bands; i++) {
        o->edges[i].count = 0;
        o->first_piece[i] = NONE;
    }
    o->npieces = 0;
    o->nreads = 0;
    for (size_t d = 0; d < n; d++)
        o->soonest[d].place = UNKNOWN;
    for (int i = l->nops; i-- > 0 && l->order >= AD_ORDER_PIECES;)
        for (int d = 0; d < l->ndevices; d++)
            if (!ad_region_empty(*ad_computed_at(l, i, d)))
                find_edges(l, i, d);
    int64_t spent[AD_MAX_DEVICES] = {0};
    find_steps(l);
    for (int i = 0; i < l->nops; i++)
        for (int d = 0; d < l->ndevices; d++) {
            if (l->parts > 1)
                follow_steps(l, i, d, &spent[d]);
            cut_band(l, i, d);
        }
    for (int i = 0; i < l->nops; i++)
        for (int d = 0; d < l->ndevices; d++)
            for (int q = o->first_piece[at(l, i, d)]; q != NONE; q = o->pieces[q].next) {
                if (!note_reads(l, &o->pieces[q], d))
                    return false;
                o->pieces[q].waits = count_waits(l, &o->pieces[q], d);
                if (o->pieces[q].waits == 0)
                    open_piece(l, q, d);
            }
    return true;
}

/* --- the run --- */

/* A message goes onto the wire; it follows the one before it between the same two devices. */
static void send(struct ad_lowering *l, int t)
{
    struct ad_orders *o = &l->orders;
    struct ad_transfer *m = &l->all.list[t];
    const struct ad_link *link = &l->cluster->links[at(l, m->from, m->to)];
    int *last = &l->last[at(l, m->from, m->to)];
    ad_lowering_emit_message(l, (size_t)t, AD_STEP_SEND);
    m->sent = true;
    m->previous = *last;
    *last = t;
    const struct ad_program *p = &l->schedule->programs[m->from];
    double bytes = (double)ad_step_bytes(l->graph, &p->steps[p->nsteps - 1]);
    int64_t *up = l->cluster->shared_medium ? &o->up[0] : &o->up[m->from];
    int64_t *down = l->cluster->shared_medium ? &o->up[0] : &o->down[m->to];
    int64_t start = o->clock[m->from];
    start = *up > start ? *up : start;
    start = *down > start ? *down : start;
    *up = *down = start + ad_clocks_ns(bytes / link->bandwidth);
    arrive(l, m->value, m->region, m->to, *up + ad_clocks_ns(link->latency));
}

/* The messages of a value that are complete and have not left. */
static void send_complete(struct ad_lowering *l, int value, int device)
{
    struct ad_orders *o = &l->orders;
    int producer = l->graph->values[value].producer;
    for (int t = o->leaving[at(l, value, device)]; t != NONE; t = o->next[2 * t + 1]) {
        bool complete = !l->all.list[t].sent;
        for (int q = producer < 0 ? NONE : o->first_piece[at(l, producer, device)];
             q != NONE && complete; q = o->pieces[q].next)
            complete =
                o->pieces[q].waits == DONE || !meet(o->pieces[q].region, l->all.list[t].region);
        if (complete)
            send(l, t);
    }
}

static void run_piece(struct ad_lowering *l, int q, int device, int64_t start)
{
    struct ad_orders *o = &l->orders;
    struct ad_order_piece *piece = &o->pieces[q];
    const struct ad_op *op = &l->graph->ops[piece->op];
    for (int k = 0; k < op->ninputs; k++) {
        struct ad_region read = o->reads[piece->reads + (size_t)k];
        for (int t = o->coming[at(l, op->inputs[k], device)]; t != NONE; t = o->next[2 * t])
            if (meet(read, l->all.list[t].region))
                ad_lowering_emit_receive(l, (size_t)t);
    }
    ad_lowering_emit_task(l, piece->op, device, piece->region);
    o->clock[device] = start + time_of(l, device, piece->op, piece->region);
    piece->waits = DONE;
    if (l->order == AD_ORDER_EDGES && piece->edge)
        release_rest(l, piece->op, device);
    arrive(l, op->output, piece->region, device, o->clock[device]);
    send_complete(l, op->output, device);
}

static bool goes_before(const struct ad_lowering *l, const struct ad_order_piece *a,
                        const struct ad_order_piece *b)
{
    const int64_t *rank = l->orders.rank;
    if (a->edge != b->edge)
        return a->edge;
    if (rank[a->op] != rank[b->op])
        return rank[a->op] > rank[b->op];
    return a->op != b->op ? a->op < b->op : a->region.h0 < b->region.h0;
}

/* The place in the device's list of the open piece that it should take next, and when that can
 * start; NONE when there is none. */
static void choose(struct ad_lowering *l, int device)
{
    struct ad_orders *o = &l->orders;
    const int *open = &o->open[(size_t)device * (size_t)l->nops * MAX_PIECES];
    int best = NONE;
    int64_t start = 0;
    for (int k = 0; k < o->nopen[device]; k++) {
        const struct ad_order_piece *piece = &o->pieces[open[k]];
        int64_t ready = piece->ready > o->clock[device] ? piece->ready : o->clock[device];
        if (best == NONE || ready < start ||
            (ready == start && goes_before(l, piece, &o->pieces[open[best]]))) {
            best = k;
            start = ready;
        }
    }
    o->soonest[device] = (struct ad_order_choice){best, start};
}

/* Runs the piece that can start soonest; false when none is open. */
static bool advance(struct ad_lowering *l)
{
    struct ad_orders *o = &l->orders;
    int device = -1;
    for (int d = 0; d < l->ndevices; d++) {
        if (o->soonest[d].place == UNKNOWN)
            choose(l, d);
        if (o->soonest[d].place != NONE &&
            (device < 0 || o->soonest[d].start < o->soonest[device].start))
            device = d;
    }
    if (device < 0)
        return false;
    int *open = &o->open[(size_t)device * (size_t)l->nops * MAX_PIECES];
    int place = o->soonest[device].place, piece = open[place];
    open[place] = open[--o->nopen[device]];
    o->soonest[device].place = UNKNOWN;
    run_piece(l, piece, device, o->soonest[device].start);
    return true;
}

bool ad_lowering_order(struct ad_lowering *l)
{
    if (!prepare(l))
        return false;
    for (int i = 0; i < l->graph->ninputs; i++)
        send_complete(l, l->graph->inputs[i], l->cluster->source);
    while (advance(l))
        continue;
    for (size_t t = 0; t < l->all.count; t++) /* the network's outputs, and what nobody reads */
        ad_lowering_emit_receive(l, t);
    return true;
}
