/* Forwards over the ops: their pieces. */
#include "schedule/cut.h"
#include "schedule/arrivals.h"
#include "schedule/dependencies.h"
#include "schedule/edges.h"

#include <string.h>

#define MAX_REST 4                             /* boxes that are left of a band without its edges */
#define MAX_CUTS (2 * (AD_MAX_CHUNKS - 1) + 2) /* rows at which one is cut */

static bool add_piece(struct ad_cut *cut, int op, int device, struct ad_region region, bool edge)
{
    if (!ad_grow(&cut->list, cut->count, &cut->room, sizeof *cut->list))
        return false;
    cut->list[cut->count++] =
        (struct ad_piece){.op = op, .device = device, .edge = edge, .region = region};
    return true;
}

/* Where a band is cut, ascending: at the rows that are ready early, its core, and its chunks,
 * if these are of rows. */
static int cut_rows(const struct ad_cut *cut, int device, const struct ad_chunks *chunks,
                    int32_t rows[MAX_CUTS])
{
    const struct ad_ready_rows *ready = &cut->ready_rows[device];
    const struct ad_core *core = &cut->cores[device];
    int count = 0;
    for (int c = 0; c < chunks->count; c++)
        rows[count++] = chunks->upto[c].h1;
    for (int c = 0; c < ready->count; c++)
        rows[count++] = ready->row[c];
    if (core->h1 > core->h0) {
        rows[count++] = core->h0;
        rows[count++] = core->h1;
    }
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && rows[k] < rows[k - 1]; k--) {
            int32_t swap = rows[k];
            rows[k] = rows[k - 1];
            rows[k - 1] = swap;
        }
    return count;
}

/* Cuts the upper part, or the first channels, off what is left of a band, as a piece; not where one
 * of the two may not be computed alone. */
static bool cut_off(struct ad_pieces *p, struct ad_cut *cut, int op, int device, bool channels,
                    int32_t at, struct ad_region *rest)
{
    const struct ad_lowering_context *c = p->c;
    const struct ad_op *what = &c->graph->ops[op];
    struct ad_region first = *rest, second = *rest;
    if (channels)
        first.c1 = second.c0 = at;
    else
        first.h1 = second.h0 = at;
    if (ad_region_empty(first) || ad_region_empty(second) ||
        !ad_region_allowed(c->graph, what, first) || !ad_region_allowed(c->graph, what, second))
        return true;
    *rest = second;
    return add_piece(cut, op, device, first, false);
}

/* A part of the rest of a band, cut at its rows, or at the ends of chunks of channels. */
static bool add_rest(struct ad_pieces *p, struct ad_cut *cut, int op, int device,
                     const struct ad_chunks *chunks, struct ad_region rest)
{
    int32_t rows[MAX_CUTS];
    int count = cut_rows(cut, device, chunks, rows);
    for (int c = 0; c < count; c++)
        if (!cut_off(p, cut, op, device, false, rows[c], &rest))
            return false;
    for (int c = 0; c < chunks->count; c++)
        if (!cut_off(p, cut, op, device, true, chunks->upto[c].c1, &rest))
            return false;
    return add_piece(cut, op, device, rest, false);
}

/* What is left of a band without its edges; -1 when that is too many boxes, or a box that may not
 * be computed alone. */
static int rest_of(struct ad_pieces *p, int op, struct ad_region band, const struct ad_edges *edges,
                   struct ad_region rest[MAX_REST + 6])
{
    int count = 1;
    rest[0] = band;
    for (int e = 0; e < edges->count; e++) {
        struct ad_region old[MAX_REST + 6], more[6];
        int nold = count;
        memcpy(old, rest, sizeof old);
        count = 0;
        for (int i = 0; i < nold; i++) {
            int nmore = ad_region_subtract(old[i], edges->box[e], more);
            if (e > 0 && count + nmore > MAX_REST)
                return -1;
            memcpy(rest + count, more, (size_t)nmore * sizeof *more);
            count += nmore;
        }
    }
    for (int i = 0; i < count; i++)
        if (!ad_region_allowed(p->c->graph, &p->c->graph->ops[op], rest[i]))
            return -1;
    return count;
}

/* Cuts a band into its edges and the rest; as one piece where a part of the rest may not be
 * computed alone. */
static bool cut_band(struct ad_pieces *p, struct ad_cut *cut, int op, int device)
{
    static const struct ad_edges none = {.count = 0};
    static const struct ad_chunks one = {.count = 0};
    const struct ad_op_edges *mine = p->ops[op].edges;
    const struct ad_edges *edges = mine ? &mine->by_device[device] : &none;
    const struct ad_chunks *chunks = mine ? &mine->chunks[device] : &one;
    struct ad_region band = *ad_computed_at(p->routes, op, device), rest[MAX_REST + 6];
    bool room = true;
    if (ad_region_empty(band))
        return true;
    if (edges->count == 0 && chunks->count == 0 && cut->ready_rows[device].count == 0 &&
        cut->cores[device].h1 == cut->cores[device].h0)
        return add_piece(cut, op, device, band, false);
    int nrest = rest_of(p, op, band, edges, rest);
    if (nrest < 0)
        return add_piece(cut, op, device, band, edges->count > 0);
    size_t first = cut->count;
    for (int i = 0; i < nrest && room; i++)
        room = add_rest(p, cut, op, device, chunks, rest[i]);
    for (size_t q = first; q < cut->count; q++)
        cut->list[q].ahead = ad_chunks_ahead(chunks, cut->list[q].region);
    for (int i = 0; i < edges->count && room; i++)
        room = add_piece(cut, op, device, edges->box[i], true);
    return room;
}

/* The last piece of a device first: the order in which they open. */
static void reverse(struct ad_piece *first, struct ad_piece *end)
{
    for (; first + 1 < end; first++) {
        struct ad_piece swap = *first;
        *first = *--end;
        *end = swap;
    }
}

/* What the pieces read of each input, and what they take. */
static bool note_reads(struct ad_pieces *p, int op, struct ad_cut *cut)
{
    const struct ad_lowering_context *c = p->c;
    const struct ad_op *what = &c->graph->ops[op];
    const struct ad_region *known = p->routes->ops[op].now->reads; /* by whole bands */
    size_t count = 0;
    for (size_t q = 0; q < cut->count; q++) {
        struct ad_piece *piece = &cut->list[q];
        bool whole = ad_region_equal(piece->region, *ad_computed_at(p->routes, op, piece->device));
        for (int k = 0; k < what->ninputs; k++) {
            if (!ad_grow(&cut->reads, count, &cut->reads_room, sizeof *cut->reads))
                return false;
            cut->reads[count++] = whole ? known[ad_lowering_at(c, k, piece->device)]
                                        : ad_need(c->graph, what, k, piece->region);
        }
        struct ad_task task = {op, piece->region};
        piece->ns = ad_clocks_reading_ns(c->graph, &c->cluster->devices[piece->device], &task,
                                         &cut->reads[count - (size_t)what->ninputs]);
    }
    return true;
}

/* Which messages the pieces are parts of. */
static bool note_sent(struct ad_pieces *p, int op, struct ad_cut *cut)
{
    const struct ad_transfers *sends = &p->routes->ops[op].now->sends;
    cut->unfinished.count = cut->sent.count = 0;
    for (size_t t = 0; t < sends->count; t++)
        if (!ad_ints_add(&cut->unfinished, 0))
            return false;
    for (size_t q = 0; q < cut->count; q++) {
        struct ad_piece *piece = &cut->list[q];
        piece->first_sent = (int)cut->sent.count;
        for (size_t t = 0; t < sends->count; t++) {
            const struct ad_transfer *m = &sends->list[t];
            if (m->from != piece->device || !ad_regions_meet(m->region, piece->region))
                continue;
            cut->unfinished.list[t]++;
            if (!ad_ints_add(&cut->sent, (int)t))
                return false;
        }
        piece->nsent = (int)cut->sent.count - piece->first_sent;
    }
    return true;
}

/* waiting: the devices (bits) on which the inputs are still coming. */
static bool cut_bands(struct ad_pieces *p, int op, uint64_t waiting, struct ad_cut *cut)
{
    const struct ad_lowering_context *c = p->c;
    memset(cut->ready_rows, 0, (size_t)c->ndevices * sizeof *cut->ready_rows);
    memset(cut->cores, 0, (size_t)c->ndevices * sizeof *cut->cores);
    cut->has_ready_rows = cut->has_due_cores = false;
    cut->count = 0;
    for (int d = 0; d < c->ndevices; d++) {
        size_t first = cut->count;
        cut->first[d] = (int)first;
        cut->band_ns[d] = -1;
        if (waiting >> d & 1)
            ad_arrivals_rows(p, op, d, &cut->ready_rows[d]);
        if (c->order == AD_ORDER_CORES)
            ad_arrivals_core(p, op, d, cut);
        cut->has_ready_rows = cut->has_ready_rows || cut->ready_rows[d].count > 0;
        if (!cut_band(p, cut, op, d))
            return false;
        if (cut->count > first)
            reverse(&cut->list[first], &cut->list[cut->count]);
    }
    cut->first[c->ndevices] = (int)cut->count;
    return note_reads(p, op, cut) && note_sent(p, op, cut);
}

/* Whether two answers say the same of what other answers depend on: pieces, rows and cores. */
static bool same_cuts(const struct ad_pieces *p, const struct ad_cut *a, const struct ad_cut *b)
{
    if (a->count != b->count)
        return false;
    for (size_t q = 0; q < a->count; q++) {
        const struct ad_piece *x = &a->list[q], *y = &b->list[q];
        if (x->device != y->device || x->edge != y->edge || !ad_region_equal(x->region, y->region))
            return false;
    }
    return memcmp(a->ready_rows, b->ready_rows, (size_t)p->c->ndevices * sizeof *a->ready_rows) ==
               0 &&
           memcmp(a->cores, b->cores, (size_t)p->c->ndevices * sizeof *a->cores) == 0;
}

/* The stamp of the answer at `place`: that of an equal one, or a fresh one. */
static uint64_t stamp_cut(struct ad_pieces *p, const struct ad_op_pieces *mine, int place)
{
    for (int i = 0; i < p->c->kept; i++)
        if (mine->cut_memo.stamp[i] != 0 &&
            same_cuts(p, &mine->cut_kept[i], &mine->cut_kept[place]))
            return mine->cut_memo.stamp[i];
    return ++p->c->stamps;
}

static bool find_cut(struct ad_pieces *p, int op, struct ad_input_wait *wait)
{
    struct ad_op_pieces *mine = &p->ops[op];
    const struct ad_op *what = &p->c->graph->ops[op];
    uint64_t waiting = what->ninputs <= AD_MAX_FOLLOWED ? wait->devices : 0;
    uint64_t *key = p->key;
    bool rows = false;
    for (int k = 0; k < what->ninputs; k++) {
        key[3 + k] = waiting != 0 ? ad_arrivals_rows_stamp(p, what->inputs[k]) : 0;
        rows = rows || key[3 + k] != 0;
    }
    if (p->c->order == AD_ORDER_CORES)
        ad_arrivals_core_key(p, what, &key[3 + what->ninputs]);
    else
        memset(&key[3 + what->ninputs], 0, 2 * (size_t)what->ninputs * sizeof *key);
    key[0] = p->routes->ops[op].now->stamp;
    key[1] = mine->edges && mine->edges->any ? mine->edges_stamp : 0;
    key[2] = rows ? waiting : 0;
    int place = ad_memo_find(&mine->cut_memo, key);
    if (place < 0) {
        place = ad_memo_place(&mine->cut_memo, p->c->kept);
        if (!cut_bands(p, op, key[2], &mine->cut_kept[place]))
            return false;
        ad_memo_keep(&mine->cut_memo, place, key, stamp_cut(p, mine, place));
    }
    mine->cut = &mine->cut_kept[place];
    mine->cut_stamp = mine->cut_memo.stamp[place];
    if (waiting != 0)
        ad_arrivals_computed(p, op, &mine->cut_kept[place], wait);
    return true;
}

bool ad_cut_ops(struct ad_pieces *p)
{
    const struct ad_lowering_context *c = p->c;
    struct ad_input_wait wait;
    bool room = true;
    for (int i = c->nops; i-- > 0 && room;) {
        p->ops[i].edges = NULL;
        if (c->order >= AD_ORDER_PIECES)
            room = ad_edges_find(p, i);
    }
    ad_arrivals_begin(p, &wait);
    for (int i = 0; i < c->nops && room; i++)
        room = find_cut(p, i, &wait) && ad_dependencies_find(p, i);
    return room;
}
