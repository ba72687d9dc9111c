/* How bands are cut into pieces (pieces.h): backwards over the ops what goes ahead, forwards the
 * pieces. */
#include "schedule/lowering.h"
#include "fusion/fused.h"

#include <string.h>

#define MAX_REST 4  /* boxes that are left behind the edges */
#define CORE_PART 3 /* cores are at least such a part of a band */
#define MAX_CUTS (2 * (AD_MAX_CHUNKS - 1) + 2)
#define MAX_STEPPED 16 /* inputs of an op that follows the parts of the network's input */

static size_t at(const struct ad_step_lowering *l, int index, int device)
{
    return (size_t)index * (size_t)l->ndevices + (size_t)device;
}

/* --- edges --- */

static void add_edge(struct ad_edges *edges, struct ad_region box)
{
    for (int i = 0; i < edges->count; i++)
        if (ad_regions_meet(edges->box[i], box)) {
            box = ad_region_hull(box, edges->box[i]);
            edges->box[i] = edges->box[--edges->count];
            i = -1; /* the hull may meet others */
        }
    if (edges->count < AD_MAX_EDGES)
        edges->box[edges->count++] = box;
    else
        edges->box[0] = ad_region_hull(edges->box[0], box);
}

/* Makes the edges of a band allowed, or drops them when they are most of it. */
static void settle_edges(struct ad_step_lowering *l, int op, struct ad_region band,
                         struct ad_edges *edges)
{
    struct ad_edges raw = *edges;
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
        (edges->count == 2 && ad_regions_meet(edges->box[0], edges->box[1])))
        edges->count = 0;
}

static bool receives(struct ad_step_lowering *l, int value, int device)
{
    const struct ad_transfers *messages = ad_messages_of(l, value);
    for (size_t t = 0; messages && t < messages->count; t++)
        if (messages->list[t].to == device && messages->list[t].value == value)
            return true;
    return false;
}

/* What an op's edges on a device take of the ops before it there. */
static bool hand_edges(struct ad_step_lowering *l, int op, int device, struct ad_edged *out)
{
    const struct ad_op *what = &l->graph->ops[op];
    const struct ad_edges *edges = &out->by_device[device];
    for (int i = 0; i < edges->count; i++)
        for (int k = 0; k < what->ninputs; k++) {
            int p = l->graph->values[what->inputs[k]].producer;
            if (p < 0 || receives(l, what->inputs[k], device))
                continue; /* an exchange: its own edges go ahead */
            struct ad_region read = ad_region_intersect(ad_need(l->graph, what, k, edges->box[i]),
                                                        *ad_computed_at(l, p, device));
            if (ad_region_empty(read))
                continue;
            if (!ad_grow(&out->handed, out->nhanded, &out->room, sizeof *out->handed))
                return false;
            out->handed[out->nhanded++] = (struct ad_handed){device, k, read};
        }
    return true;
}

/* The chunks of an op's bands: those that are sent, else those that later ops take. */
static void chunk_bands(struct ad_step_lowering *l, int op, struct ad_edged *out)
{
    const struct ad_transfers *sends = &l->memo[op].now->sends;
    int v = l->graph->ops[op].output;
    for (int d = 0; d < l->ndevices; d++) {
        int n = 1;
        for (size_t t = 0; t < sends->count && l->early[op]; t++)
            if (sends->list[t].from == d && sends->list[t].chunks > 1)
                n = l->band_chunks;
        if (n > 1)
            ad_chunks_cut(l->graph, &l->graph->ops[op], *ad_computed_at(l, op, d), n,
                          &out->chunks[d]);
        else if (!ad_region_empty(*ad_computed_at(l, op, d)) && !receives(l, v, d))
            ad_chunks_hand(l, op, d, &out->chunks[d]);
        out->chunked = out->chunked || out->chunks[d].count > 0;
    }
}

/* The edges of an op's bands: what edges of later ops take of it, and what early messages do. */
static bool edge_bands(struct ad_step_lowering *l, int op, struct ad_edged *out)
{
    const struct ad_orders *o = &l->orders;
    int v = l->graph->ops[op].output;
    memset(out->by_device, 0, (size_t)l->ndevices * sizeof *out->by_device);
    memset(out->chunks, 0, (size_t)l->ndevices * sizeof *out->chunks);
    out->any = out->chunked = false;
    out->nhanded = 0;
    for (int r = l->first_reader[v + 1]; r-- > l->first_reader[v];) {
        const struct ad_op *reader = &l->graph->ops[l->readers[r].op];
        const struct ad_edged *theirs = o->ops[l->readers[r].op].edged;
        for (size_t i = 0; theirs && i < theirs->nhanded; i++)
            if (reader->inputs[theirs->handed[i].input] == v)
                add_edge(&out->by_device[theirs->handed[i].device], theirs->handed[i].box);
    }
    const struct ad_transfers *sends = &l->memo[op].now->sends;
    for (size_t t = 0; t < sends->count && l->early[op]; t++) {
        const struct ad_transfer *m = &sends->list[t];
        int64_t band = ad_region_elements(*ad_computed_at(l, op, m->from));
        if (m->chunks == 1 && 2 * ad_region_elements(m->region) <= band)
            add_edge(&out->by_device[m->from], m->region);
    }
    for (int d = 0; d < l->ndevices; d++) {
        if (out->by_device[d].count > 0)
            settle_edges(l, op, *ad_computed_at(l, op, d), &out->by_device[d]);
        out->any = out->any || out->by_device[d].count > 0;
        if (!hand_edges(l, op, d, out))
            return false;
    }
    chunk_bands(l, op, out);
    out->any = out->any || out->chunked;
    return true;
}

/* Whether two answers say the same. */
static bool same_edges(const struct ad_step_lowering *l, const struct ad_edged *a,
                       const struct ad_edged *b)
{
    if (a->nhanded != b->nhanded)
        return false;
    if (memcmp(a->chunks, b->chunks, (size_t)l->ndevices * sizeof *a->chunks) != 0)
        return false;
    for (int d = 0; d < l->ndevices; d++) {
        const struct ad_edges *x = &a->by_device[d], *y = &b->by_device[d];
        if (x->count != y->count || memcmp(x->box, y->box, (size_t)x->count * sizeof *x->box) != 0)
            return false;
    }
    return a->nhanded == 0 || memcmp(a->handed, b->handed, a->nhanded * sizeof *a->handed) == 0;
}

/* The stamp of the answer at `place`: that of an equal one, or a fresh one. */
static uint64_t stamp_edges(struct ad_step_lowering *l, const struct ad_op_pieces *p, int place)
{
    for (int i = 0; i < l->kept; i++)
        if (p->edged_memo.stamp[i] != 0 && same_edges(l, &p->edged_kept[i], &p->edged_kept[place]))
            return p->edged_memo.stamp[i];
    return ++l->stamps;
}

static bool find_edges(struct ad_step_lowering *l, int op)
{
    struct ad_orders *o = &l->orders;
    struct ad_op_pieces *mine = &o->ops[op];
    const struct ad_op *what = &l->graph->ops[op];
    bool some = l->early[op];
    int n = 0;
    o->key[n++] = l->memo[op].now->stamp;
    o->key[n++] = l->early[op] ? (uint64_t)l->band_chunks : 0;
    for (int r = l->first_reader[what->output]; r < l->first_reader[what->output + 1]; r++) {
        const struct ad_op_pieces *reader = &o->ops[l->readers[r].op];
        bool hands = reader->edged && (reader->edged->nhanded > 0 || reader->edged->chunked);
        o->key[n++] = hands ? reader->edged_stamp : 0;
        some = some || hands;
    }
    mine->edged = NULL;
    if (!some)
        return true;
    for (int k = 0; k < what->ninputs; k++) {
        int p = l->graph->values[what->inputs[k]].producer;
        o->key[n++] = p >= 0 ? l->memo[p].now->stamp : 0;
    }
    int place = ad_memo_find(&mine->edged_memo, o->key);
    if (place < 0) {
        place = ad_memo_place(&mine->edged_memo, l->kept);
        if (!edge_bands(l, op, &mine->edged_kept[place]))
            return false;
        ad_memo_keep(&mine->edged_memo, place, o->key, stamp_edges(l, mine, place));
    }
    mine->edged = &mine->edged_kept[place];
    mine->edged_stamp = mine->edged_memo.stamp[place];
    return true;
}

/* --- steps --- */

/* Where the inputs that come in parts can be read, and how long they are on their way. */
static void find_steps(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    double seconds = 0;
    for (int i = 0; i < l->graph->ninputs; i++)
        for (int d = 0; d < l->ndevices; d++)
            o->input_steps[at(l, l->graph->inputs[i], d)].count = 0;
    for (size_t t = 0; t < l->inputs->sends.count; t++) {
        const struct ad_transfer *m = &l->inputs->sends.list[t];
        const struct ad_link *link = &l->cluster->links[at(l, m->from, m->to)];
        struct ad_steps *steps = &o->input_steps[at(l, m->value, m->to)];
        seconds += (double)ad_region_bytes(l->graph, m->value, m->region) / (l->u8 ? 4 : 1) /
                   link->bandwidth;
        if (m->chunk + 1 < l->input_chunks && steps->count < AD_MAX_CHUNKS - 1)
            steps->row[steps->count++] = m->region.h1;
    }
    o->scatter = ad_clocks_ns(seconds);
}

/* The steps of a value on a device. */
static struct ad_steps steps_of(const struct ad_step_lowering *l, int value, int device)
{
    int p = l->graph->values[value].producer;
    if (p >= 0)
        return l->orders.ops[p].cut->steps[device];
    return l->orders.input_steps[at(l, value, device)];
}

/* The rows of an op's band behind which it can be computed from the first parts of its inputs. */
static void follow_steps(struct ad_step_lowering *l, int op, int device, struct ad_steps *out)
{
    const struct ad_op *what = &l->graph->ops[op];
    struct ad_region band = *ad_computed_at(l, op, device), have[MAX_STEPPED];
    struct ad_steps in[MAX_STEPPED];
    int count = 0;
    for (int k = 0; k < what->ninputs; k++) {
        in[k] = steps_of(l, what->inputs[k], device);
        count = in[k].count > count ? in[k].count : count;
    }
    for (int c = 0; c < count; c++) {
        for (int k = 0; k < what->ninputs; k++) {
            have[k] = ad_region_whole(&l->graph->values[what->inputs[k]]);
            if (c < in[k].count)
                have[k].h1 = in[k].row[c];
        }
        int32_t row = ad_yield(l->graph, what, have).h1;
        int32_t before = out->count > 0 ? out->row[out->count - 1] : band.h0;
        if (row > before && row < band.h1)
            out->row[out->count++] = row;
    }
}

/* What the whole band of a device takes. */
static int64_t band_ns(struct ad_step_lowering *l, int op, int device, struct ad_cut *cut)
{
    if (cut->band_ns[device] >= 0)
        return cut->band_ns[device];
    const struct ad_op *what = &l->graph->ops[op];
    const struct ad_region *reads = l->memo[op].now->reads;
    struct ad_task task = {op, *ad_computed_at(l, op, device)};
    struct ad_region read[MAX_STEPPED];
    for (int k = 0; k < what->ninputs; k++)
        read[k] = reads[at(l, k, device)];
    cut->band_ns[device] =
        ad_clocks_reading_ns(l->graph, &l->cluster->devices[device], &task, read);
    return cut->band_ns[device];
}

/* --- cores --- */

/* What a device waits for at worst when it reads messages of a value: the longest way of one; 0
 * without any. */
static int64_t longest_way(const struct ad_step_lowering *l, int producer, int device)
{
    const struct ad_transfers *sends = &l->memo[producer].now->sends;
    int64_t most = 0;
    for (size_t t = 0; t < sends->count; t++) {
        const struct ad_transfer *m = &sends->list[t];
        int64_t way = m->chunks * m->wire_ns + l->clocks->latency[at(l, m->from, m->to)];
        if (m->to == device && way > most)
            most = way;
    }
    return most;
}

/* What is there of input k before the messages; *due: how long they are on their way. False when
 * that is all that is read. */
static bool core_input(struct ad_step_lowering *l, const struct ad_op *op, int k, int device,
                       struct ad_region *have, int64_t *due)
{
    int p = l->graph->values[op->inputs[k]].producer;
    *have = ad_region_whole(&l->graph->values[op->inputs[k]]);
    if (p < 0)
        return false;
    const struct ad_core *core = &l->orders.ops[p].cut->cores[device];
    int64_t way = l->early[p] ? longest_way(l, p, device) : 0;
    if (way > 0)
        *have = *ad_computed_at(l, p, device);
    if (core->due > 0) {
        have->h0 = core->h0 > have->h0 ? core->h0 : have->h0;
        have->h1 = core->h1 < have->h1 ? core->h1 : have->h1;
    }
    way = core->due > way ? core->due : way;
    *due = way > *due ? way : *due;
    return way > 0;
}

/* The core of an op's band. None where it is less than a third of the band, or not of its width. */
static void find_core(struct ad_step_lowering *l, int op, int device, struct ad_cut *cut)
{
    const struct ad_op *what = &l->graph->ops[op];
    struct ad_region band = *ad_computed_at(l, op, device), have[MAX_STEPPED];
    struct ad_core *core = &cut->cores[device];
    bool waits = false;
    int64_t due = 0;
    if (ad_region_empty(band) || what->ninputs > MAX_STEPPED)
        return;
    for (int k = 0; k < what->ninputs; k++)
        waits = core_input(l, what, k, device, &have[k], &due) || waits;
    if (!waits)
        return;
    struct ad_region there = ad_region_intersect(ad_yield(l->graph, what, have), band),
                     same = there;
    same.h0 = band.h0;
    same.h1 = band.h1;
    if (ad_region_empty(there) || ad_region_equal(there, band) || !ad_region_equal(same, band) ||
        CORE_PART * (there.h1 - there.h0) < band.h1 - band.h0)
        return;
    int64_t ns = band_ns(l, op, device, cut) * (there.h1 - there.h0) / (band.h1 - band.h0);
    *core = (struct ad_core){there.h0, there.h1, due > ns ? due - ns : 0};
    cut->cored = cut->cored || core->due > 0;
}

/* --- pieces --- */

static bool add_piece(struct ad_cut *cut, int op, int device, struct ad_region region, bool edge)
{
    if (!ad_grow(&cut->list, cut->count, &cut->room, sizeof *cut->list))
        return false;
    cut->list[cut->count++] =
        (struct ad_piece){.op = op, .device = device, .edge = edge, .region = region};
    return true;
}

/* Where a band is cut, ascending: at its steps, its core, and its chunks, if these are of rows. */
static int cut_rows(const struct ad_cut *cut, int device, const struct ad_chunks *chunks,
                    int32_t rows[MAX_CUTS])
{
    const struct ad_steps *steps = &cut->steps[device];
    const struct ad_core *core = &cut->cores[device];
    int count = 0;
    for (int c = 0; c < chunks->count; c++)
        rows[count++] = chunks->upto[c].h1;
    for (int c = 0; c < steps->count; c++)
        rows[count++] = steps->row[c];
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
static bool cut_off(struct ad_step_lowering *l, struct ad_cut *cut, int op, int device,
                    bool channels, int32_t at, struct ad_region *rest)
{
    const struct ad_op *what = &l->graph->ops[op];
    struct ad_region first = *rest, second = *rest;
    if (channels)
        first.c1 = second.c0 = at;
    else
        first.h1 = second.h0 = at;
    if (ad_region_empty(first) || ad_region_empty(second) ||
        !ad_region_allowed(l->graph, what, first) || !ad_region_allowed(l->graph, what, second))
        return true;
    *rest = second;
    return add_piece(cut, op, device, first, false);
}

/* A part of the rest of a band, cut at its rows, or at the ends of chunks of channels. */
static bool add_rest(struct ad_step_lowering *l, struct ad_cut *cut, int op, int device,
                     const struct ad_chunks *chunks, struct ad_region rest)
{
    int32_t rows[MAX_CUTS];
    int count = cut_rows(cut, device, chunks, rows);
    for (int c = 0; c < count; c++)
        if (!cut_off(l, cut, op, device, false, rows[c], &rest))
            return false;
    for (int c = 0; c < chunks->count; c++)
        if (!cut_off(l, cut, op, device, true, chunks->upto[c].c1, &rest))
            return false;
    return add_piece(cut, op, device, rest, false);
}

/* What is left of a band without its edges; -1 when that is too many boxes, or a box that may not
 * be computed alone. */
static int rest_of(struct ad_step_lowering *l, int op, struct ad_region band,
                   const struct ad_edges *edges, struct ad_region rest[MAX_REST + 6])
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
        if (!ad_region_allowed(l->graph, &l->graph->ops[op], rest[i]))
            return -1;
    return count;
}

/* Cuts a band into its edges and the rest; as one piece where a part of the rest may not be
 * computed alone. */
static bool cut_band(struct ad_step_lowering *l, struct ad_cut *cut, int op, int device)
{
    static const struct ad_edges none = {.count = 0};
    static const struct ad_chunks one = {.count = 0};
    const struct ad_edged *edged = l->orders.ops[op].edged;
    const struct ad_edges *edges = edged ? &edged->by_device[device] : &none;
    const struct ad_chunks *chunks = edged ? &edged->chunks[device] : &one;
    struct ad_region band = *ad_computed_at(l, op, device), rest[MAX_REST + 6];
    bool room = true;
    if (ad_region_empty(band))
        return true;
    if (edges->count == 0 && chunks->count == 0 && cut->steps[device].count == 0 &&
        cut->cores[device].h1 == cut->cores[device].h0)
        return add_piece(cut, op, device, band, false);
    int nrest = rest_of(l, op, band, edges, rest);
    if (nrest < 0)
        return add_piece(cut, op, device, band, edges->count > 0);
    size_t first = cut->count;
    for (int i = 0; i < nrest && room; i++)
        room = add_rest(l, cut, op, device, chunks, rest[i]);
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
static bool note_reads(struct ad_step_lowering *l, int op, struct ad_cut *cut)
{
    const struct ad_op *what = &l->graph->ops[op];
    const struct ad_region *known = l->memo[op].now->reads; /* by whole bands */
    size_t count = 0;
    for (size_t q = 0; q < cut->count; q++) {
        struct ad_piece *piece = &cut->list[q];
        bool whole = ad_region_equal(piece->region, *ad_computed_at(l, op, piece->device));
        for (int k = 0; k < what->ninputs; k++) {
            if (!ad_grow(&cut->reads, count, &cut->reads_room, sizeof *cut->reads))
                return false;
            cut->reads[count++] =
                whole ? known[at(l, k, piece->device)] : ad_need(l->graph, what, k, piece->region);
        }
        struct ad_task task = {op, piece->region};
        piece->ns = ad_clocks_reading_ns(l->graph, &l->cluster->devices[piece->device], &task,
                                         &cut->reads[count - (size_t)what->ninputs]);
    }
    return true;
}

/* Which messages the pieces are parts of. */
static bool note_sent(struct ad_step_lowering *l, int op, struct ad_cut *cut)
{
    const struct ad_transfers *sends = &l->memo[op].now->sends;
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

/* active: the devices (bits) that follow steps. */
static bool cut_bands(struct ad_step_lowering *l, int op, uint64_t active, struct ad_cut *cut)
{
    memset(cut->steps, 0, (size_t)l->ndevices * sizeof *cut->steps);
    memset(cut->cores, 0, (size_t)l->ndevices * sizeof *cut->cores);
    cut->stepped = cut->cored = false;
    cut->count = 0;
    for (int d = 0; d < l->ndevices; d++) {
        size_t first = cut->count;
        cut->first[d] = (int)first;
        cut->band_ns[d] = -1;
        if (active >> d & 1)
            follow_steps(l, op, d, &cut->steps[d]);
        if (l->order == AD_ORDER_CORES)
            find_core(l, op, d, cut);
        cut->stepped = cut->stepped || cut->steps[d].count > 0;
        if (!cut_band(l, cut, op, d))
            return false;
        if (cut->count > first)
            reverse(&cut->list[first], &cut->list[cut->count]);
    }
    cut->first[l->ndevices] = (int)cut->count;
    return note_reads(l, op, cut) && note_sent(l, op, cut);
}

/* Whether two answers say the same of what other answers depend on: pieces and steps. */
static bool same_cuts(const struct ad_step_lowering *l, const struct ad_cut *a,
                      const struct ad_cut *b)
{
    if (a->count != b->count)
        return false;
    for (size_t q = 0; q < a->count; q++) {
        const struct ad_piece *x = &a->list[q], *y = &b->list[q];
        if (x->device != y->device || x->edge != y->edge || !ad_region_equal(x->region, y->region))
            return false;
    }
    return memcmp(a->steps, b->steps, (size_t)l->ndevices * sizeof *a->steps) == 0 &&
           memcmp(a->cores, b->cores, (size_t)l->ndevices * sizeof *a->cores) == 0;
}

/* The stamp of the answer at `place`: that of an equal one, or a fresh one. */
static uint64_t stamp_cut(struct ad_step_lowering *l, const struct ad_op_pieces *p, int place)
{
    for (int i = 0; i < l->kept; i++)
        if (p->cut_memo.stamp[i] != 0 && same_cuts(l, &p->cut_kept[i], &p->cut_kept[place]))
            return p->cut_memo.stamp[i];
    return ++l->stamps;
}

/* The stamp of the steps of a value; 0: it has none. */
static uint64_t steps_stamp(const struct ad_step_lowering *l, int value)
{
    int p = l->graph->values[value].producer;
    if (p >= 0)
        return l->orders.ops[p].cut->stepped ? l->orders.ops[p].cut_stamp : 0;
    return ad_value_constant(l->graph, value) ? 0 : l->inputs->stamp;
}

/* The devices on which the inputs come in parts and have not all come. */
struct following {
    uint64_t devices;              /* bits */
    int64_t spent[AD_MAX_DEVICES]; /* ns computed since the inputs began to come */
};

/* An op more is computed. */
static void follow(struct ad_step_lowering *l, int op, struct ad_cut *cut, struct following *f)
{
    for (uint64_t left = f->devices; left != 0; left &= left - 1) {
        int d = __builtin_ctzll(left);
        f->spent[d] += band_ns(l, op, d, cut);
        if (f->spent[d] > l->orders.scatter)
            f->devices &= ~(UINT64_C(1) << d);
    }
}

/* What cores depend on, two numbers per input. */
static void core_key(const struct ad_step_lowering *l, const struct ad_op *op, uint64_t *key)
{
    memset(key, 0, 2 * (size_t)op->ninputs * sizeof *key);
    for (int k = 0; k < op->ninputs && l->order == AD_ORDER_CORES; k++) {
        int p = l->graph->values[op->inputs[k]].producer;
        if (p < 0)
            continue;
        key[2 * k] = 2 * l->memo[p].now->stamp + l->early[p] + 1;
        key[2 * k + 1] = l->orders.ops[p].cut->cored ? l->orders.ops[p].cut_stamp : 0;
    }
}

static bool find_cut(struct ad_step_lowering *l, int op, struct following *f)
{
    struct ad_orders *o = &l->orders;
    struct ad_op_pieces *mine = &o->ops[op];
    const struct ad_op *what = &l->graph->ops[op];
    uint64_t active = what->ninputs <= MAX_STEPPED ? f->devices : 0;
    bool steps = false;
    for (int k = 0; k < what->ninputs; k++) {
        o->key[3 + k] = active != 0 ? steps_stamp(l, what->inputs[k]) : 0;
        steps = steps || o->key[3 + k] != 0;
    }
    core_key(l, what, &o->key[3 + what->ninputs]);
    o->key[0] = l->memo[op].now->stamp;
    o->key[1] = mine->edged && mine->edged->any ? mine->edged_stamp : 0;
    o->key[2] = steps ? active : 0;
    int place = ad_memo_find(&mine->cut_memo, o->key);
    if (place < 0) {
        place = ad_memo_place(&mine->cut_memo, l->kept);
        if (!cut_bands(l, op, o->key[2], &mine->cut_kept[place]))
            return false;
        ad_memo_keep(&mine->cut_memo, place, o->key, stamp_cut(l, mine, place));
    }
    mine->cut = &mine->cut_kept[place];
    mine->cut_stamp = mine->cut_memo.stamp[place];
    if (active != 0)
        follow(l, op, &mine->cut_kept[place], f);
    return true;
}

bool ad_pieces_cut(struct ad_step_lowering *l)
{
    struct following f = {.devices = 0};
    bool room = true;
    for (int i = l->nops; i-- > 0 && room;) {
        l->orders.ops[i].edged = NULL;
        if (l->order >= AD_ORDER_PIECES)
            room = find_edges(l, i);
    }
    if (l->input_chunks > 1) {
        find_steps(l);
        f.devices = UINT64_MAX >> (AD_MAX_DEVICES - l->ndevices);
    }
    for (int i = 0; i < l->nops && room; i++)
        room = find_cut(l, i, &f) && ad_links_find(l, i);
    return room;
}

/* --- memory --- */

static bool init_op(struct ad_step_lowering *l, int op)
{
    struct ad_op_pieces *p = &l->orders.ops[op];
    size_t n = (size_t)l->ndevices;
    int v = l->graph->ops[op].output, ninputs = l->graph->ops[op].ninputs;
    int nreaders = l->first_reader[v + 1] - l->first_reader[v];
    bool room = ad_memo_init(&p->edged_memo, &l->arena, 2 + nreaders + ninputs) &&
                ad_memo_init(&p->cut_memo, &l->arena, 3 + 3 * ninputs) &&
                ad_memo_init(&p->links_memo, &l->arena, 2 + 2 * ninputs);
    for (int i = 0; i < l->kept && room; i++) {
        struct ad_cut *cut = &p->cut_kept[i];
        struct ad_edged *edged = &p->edged_kept[i];
        edged->by_device = ad_arena_alloc(&l->arena, n, sizeof *edged->by_device);
        edged->chunks = ad_arena_alloc(&l->arena, n, sizeof *edged->chunks);
        cut->first = ad_arena_alloc(&l->arena, n + 1, sizeof *cut->first);
        cut->band_ns = ad_arena_alloc(&l->arena, n, sizeof *cut->band_ns);
        cut->steps = ad_arena_alloc(&l->arena, n, sizeof *cut->steps);
        cut->cores = ad_arena_alloc(&l->arena, n, sizeof *cut->cores);
        room = cut->cores && edged->by_device && edged->chunks && cut->first && cut->band_ns &&
               cut->steps;
    }
    return room;
}

/* The longest key: nobody has more readers and inputs than there are reads. */
static size_t key_room(const struct ad_graph *graph)
{
    size_t nreads = 0;
    for (int i = 0; i < graph->nops; i++)
        nreads += (size_t)graph->ops[i].ninputs;
    return 3 * nreads + 4;
}

bool ad_pieces_init(struct ad_step_lowering *l)
{
    struct ad_orders *o = &l->orders;
    size_t ends = (size_t)l->graph->nvalues * (size_t)l->ndevices;
    o->key = ad_arena_alloc(&l->arena, key_room(l->graph), sizeof *o->key);
    o->input_steps = ad_arena_alloc(&l->arena, ends, sizeof *o->input_steps);
    o->ops = ad_calloc((size_t)l->nops, sizeof *o->ops);
    bool room = o->key && o->input_steps && o->ops;
    for (int i = 0; i < l->nops && room; i++)
        room = init_op(l, i);
    if (!room)
        ad_pieces_fini(l);
    return room;
}

void ad_pieces_fini(struct ad_step_lowering *l)
{
    struct ad_op_pieces *ops = l->orders.ops;
    for (int i = 0; ops && i < l->nops; i++)
        for (int k = 0; k < AD_KEPT; k++) {
            struct ad_cut *cut = &ops[i].cut_kept[k];
            ad_free(ops[i].edged_kept[k].handed);
            ad_free(cut->list);
            ad_free(cut->reads);
            ad_ints_fini(&cut->unfinished);
            ad_ints_fini(&cut->sent);
            ad_free(ops[i].links_kept[k].block);
        }
    ad_free(ops);
    l->orders.ops = NULL;
}
