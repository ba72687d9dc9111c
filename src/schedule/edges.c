#include "schedule/edges.h"
#include "fusion/region.h"

#include <string.h>

/* One more edge; those that meet become one. */
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
static void settle_edges(struct ad_pieces *p, int op, struct ad_region band, struct ad_edges *edges)
{
    const struct ad_lowering_context *c = p->c;
    struct ad_edges raw = *edges;
    int64_t elements = 0;
    edges->count = 0;
    for (int i = 0; i < raw.count; i++) {
        struct ad_region box = ad_region_allow(c->graph, &c->graph->ops[op], raw.box[i]);
        if (!ad_region_empty(box))
            add_edge(edges, box);
    }
    for (int i = 0; i < edges->count; i++) {
        elements += ad_region_elements(edges->box[i]);
        if (!ad_region_contains(band, edges->box[i]) ||
            !ad_region_allowed(c->graph, &c->graph->ops[op], edges->box[i]))
            elements = INT64_MAX / 4;
    }
    if (2 * elements > ad_region_elements(band) ||
        (edges->count == 2 && ad_regions_meet(edges->box[0], edges->box[1])))
        edges->count = 0;
}

/* Whether the device gets a message with the value. */
static bool receives(struct ad_pieces *p, int value, int device)
{
    const struct ad_transfers *messages = ad_messages_of(p->routes, value);
    for (size_t t = 0; messages && t < messages->count; t++)
        if (messages->list[t].to == device && messages->list[t].value == value)
            return true;
    return false;
}

/* Notes what an op's edges on a device take of the ops before it there. */
static bool note_edge_reads(struct ad_pieces *p, int op, int device, struct ad_op_edges *out)
{
    const struct ad_lowering_context *c = p->c;
    const struct ad_op *what = &c->graph->ops[op];
    const struct ad_edges *edges = &out->by_device[device];
    for (int i = 0; i < edges->count; i++)
        for (int k = 0; k < what->ninputs; k++) {
            int producer = c->graph->values[what->inputs[k]].producer;
            if (producer < 0 || receives(p, what->inputs[k], device))
                continue; /* an exchange: its own edges go ahead */
            struct ad_region read =
                ad_region_intersect(ad_need(c->graph, what, k, edges->box[i]),
                                    *ad_computed_at(p->routes, producer, device));
            if (ad_region_empty(read))
                continue;
            if (!ad_grow(&out->reads, out->nreads, &out->room, sizeof *out->reads))
                return false;
            out->reads[out->nreads++] = (struct ad_edge_read){device, k, read};
        }
    return true;
}

/* What `reader` takes of op's band for the first c + 1 chunks of its own; empty: nothing. */
static struct ad_region taken(struct ad_pieces *p, int op, int reader, int device, int c)
{
    const struct ad_op *what = &p->c->graph->ops[reader];
    const struct ad_chunks *theirs = &p->ops[reader].edges->chunks[device];
    struct ad_region all = ad_region_none();
    for (int k = 0; k < what->ninputs; k++)
        if (what->inputs[k] == p->c->graph->ops[op].output)
            all = ad_region_hull(all, ad_need(p->c->graph, what, k, theirs->upto[c]));
    return ad_region_intersect(all, *ad_computed_at(p->routes, op, device));
}

/* The chunks of op's band that the chunks of its readers on the same device take. */
static void take_chunks(struct ad_pieces *p, int op, int device, struct ad_chunks *out)
{
    int v = p->c->graph->ops[op].output;
    struct ad_region band = *ad_computed_at(p->routes, op, device);
    *out = (struct ad_chunks){.count = 0};
    for (int c = 0; c < AD_MAX_CHUNKS - 1; c++) {
        struct ad_region all = ad_region_none();
        for (int r = p->c->readers.first[v]; r < p->c->readers.first[v + 1]; r++) {
            const struct ad_op_edges *theirs = p->ops[p->c->readers.list[r].op].edges;
            if (theirs && theirs->chunks[device].count > c)
                all = ad_region_hull(all, taken(p, op, p->c->readers.list[r].op, device, c));
        }
        all = ad_region_empty(all) ? all : ad_region_allow(p->c->graph, &p->c->graph->ops[op], all);
        if (ad_region_empty(all))
            return;
        if (all.h1 < band.h1)
            ad_chunks_add(p->c->graph, &p->c->graph->ops[op], band, false, all.h1, out);
        else if (all.c1 < band.c1)
            ad_chunks_add(p->c->graph, &p->c->graph->ops[op], band, true, all.c1, out);
    }
}

/* The chunks of an op's bands: those that are sent, else those that later ops take. */
static void chunk_bands(struct ad_pieces *p, int op, struct ad_op_edges *out)
{
    const struct ad_lowering_context *c = p->c;
    const struct ad_transfers *sends = &p->routes->ops[op].now->sends;
    int v = c->graph->ops[op].output;
    for (int d = 0; d < c->ndevices; d++) {
        int n = 1;
        for (size_t t = 0; t < sends->count && c->early[op]; t++)
            if (sends->list[t].from == d && sends->list[t].chunks > 1)
                n = c->band_chunks;
        if (n > 1)
            ad_chunks_cut(c->graph, &c->graph->ops[op], *ad_computed_at(p->routes, op, d), n,
                          &out->chunks[d]);
        else if (!ad_region_empty(*ad_computed_at(p->routes, op, d)) && !receives(p, v, d))
            take_chunks(p, op, d, &out->chunks[d]);
        out->chunked = out->chunked || out->chunks[d].count > 0;
    }
}

/* The edges of an op's bands: what edges of later ops take of it, and what early messages do. */
static bool edge_bands(struct ad_pieces *p, int op, struct ad_op_edges *out)
{
    const struct ad_lowering_context *c = p->c;
    int v = c->graph->ops[op].output;
    memset(out->by_device, 0, (size_t)c->ndevices * sizeof *out->by_device);
    memset(out->chunks, 0, (size_t)c->ndevices * sizeof *out->chunks);
    out->any = out->chunked = false;
    out->nreads = 0;
    for (int r = c->readers.first[v + 1]; r-- > c->readers.first[v];) {
        const struct ad_op *reader = &c->graph->ops[c->readers.list[r].op];
        const struct ad_op_edges *theirs = p->ops[c->readers.list[r].op].edges;
        for (size_t i = 0; theirs && i < theirs->nreads; i++)
            if (reader->inputs[theirs->reads[i].input] == v)
                add_edge(&out->by_device[theirs->reads[i].device], theirs->reads[i].box);
    }
    const struct ad_transfers *sends = &p->routes->ops[op].now->sends;
    for (size_t t = 0; t < sends->count && c->early[op]; t++) {
        const struct ad_transfer *m = &sends->list[t];
        int64_t band = ad_region_elements(*ad_computed_at(p->routes, op, m->from));
        if (m->chunks == 1 && 2 * ad_region_elements(m->region) <= band)
            add_edge(&out->by_device[m->from], m->region);
    }
    for (int d = 0; d < c->ndevices; d++) {
        if (out->by_device[d].count > 0)
            settle_edges(p, op, *ad_computed_at(p->routes, op, d), &out->by_device[d]);
        out->any = out->any || out->by_device[d].count > 0;
        if (!note_edge_reads(p, op, d, out))
            return false;
    }
    chunk_bands(p, op, out);
    out->any = out->any || out->chunked;
    return true;
}

/* Whether two answers say the same. */
static bool same_edges(const struct ad_pieces *p, const struct ad_op_edges *a,
                       const struct ad_op_edges *b)
{
    if (a->nreads != b->nreads)
        return false;
    if (memcmp(a->chunks, b->chunks, (size_t)p->c->ndevices * sizeof *a->chunks) != 0)
        return false;
    for (int d = 0; d < p->c->ndevices; d++) {
        const struct ad_edges *x = &a->by_device[d], *y = &b->by_device[d];
        if (x->count != y->count || memcmp(x->box, y->box, (size_t)x->count * sizeof *x->box) != 0)
            return false;
    }
    return a->nreads == 0 || memcmp(a->reads, b->reads, a->nreads * sizeof *a->reads) == 0;
}

/* The stamp of the answer at `place`: that of an equal one, or a fresh one. */
static uint64_t stamp_edges(struct ad_pieces *p, const struct ad_op_pieces *mine, int place)
{
    for (int i = 0; i < p->c->kept; i++)
        if (mine->edges_memo.stamp[i] != 0 &&
            same_edges(p, &mine->edges_kept[i], &mine->edges_kept[place]))
            return mine->edges_memo.stamp[i];
    return ++p->c->stamps;
}

bool ad_edges_find(struct ad_pieces *p, int op)
{
    const struct ad_lowering_context *c = p->c;
    struct ad_op_pieces *mine = &p->ops[op];
    const struct ad_op *what = &c->graph->ops[op];
    bool some = c->early[op];
    int n = 0;
    p->key[n++] = p->routes->ops[op].now->stamp;
    p->key[n++] = c->early[op] ? (uint64_t)c->band_chunks : 0;
    for (int r = c->readers.first[what->output]; r < c->readers.first[what->output + 1]; r++) {
        const struct ad_op_pieces *reader = &p->ops[c->readers.list[r].op];
        bool known = reader->edges && (reader->edges->nreads > 0 || reader->edges->chunked);
        p->key[n++] = known ? reader->edges_stamp : 0;
        some = some || known;
    }
    mine->edges = NULL;
    if (!some)
        return true;
    for (int k = 0; k < what->ninputs; k++) {
        int producer = c->graph->values[what->inputs[k]].producer;
        p->key[n++] = producer >= 0 ? p->routes->ops[producer].now->stamp : 0;
    }
    int place = ad_memo_find(&mine->edges_memo, p->key);
    if (place < 0) {
        place = ad_memo_place(&mine->edges_memo, c->kept);
        if (!edge_bands(p, op, &mine->edges_kept[place]))
            return false;
        ad_memo_keep(&mine->edges_memo, place, p->key, stamp_edges(p, mine, place));
    }
    mine->edges = &mine->edges_kept[place];
    mine->edges_stamp = mine->edges_memo.stamp[place];
    return true;
}
