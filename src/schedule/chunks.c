/* Chunks: bands that are sent whole, or nearly, in several messages (struct ad_assignment), so that
 * the first is on its way while the rest is computed; and the parts of the bands before them that
 * the first ones take. */
#include "schedule/lowering.h"
#include "fusion/fused.h"

/* The band up to `end`, of its rows or its channels. */
static struct ad_region prefix(struct ad_region band, bool channels, int32_t end)
{
    if (channels)
        band.c1 = end;
    else
        band.h1 = end;
    return band;
}

static struct ad_region without(struct ad_region band, bool channels, int32_t end)
{
    if (channels)
        band.c0 = end;
    else
        band.h0 = end;
    return band;
}

/* One more prefix of the band, unless it is no longer than the last one or what it cuts may not be
 * computed apart. */
static void add_prefix(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
                       bool channels, int32_t end, struct ad_chunks *out)
{
    int32_t begin = channels ? band.c0 : band.h0, last = channels ? band.c1 : band.h1;
    if (out->count > 0) {
        const struct ad_region *before = &out->upto[out->count - 1];
        begin = channels ? before->c1 : before->h1;
        if (channels ? before->h1 < band.h1 : before->c1 < band.c1)
            return; /* cut the other way */
    }
    if (end <= begin || end >= last || out->count == AD_MAX_CHUNKS - 1)
        return;
    struct ad_region upto = prefix(band, channels, end);
    if (ad_region_allowed(graph, op, without(upto, channels, begin)) &&
        ad_region_allowed(graph, op, without(band, channels, end)))
        out->upto[out->count++] = upto;
}

void ad_chunks_cut(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
                   int n, struct ad_chunks *out)
{
    bool channels = band.h1 - band.h0 < 2;
    int32_t begin = channels ? band.c0 : band.h0, size = (channels ? band.c1 : band.h1) - begin;
    *out = (struct ad_chunks){.count = 0};
    for (int c = 1; c < n && c < AD_MAX_CHUNKS; c++)
        add_prefix(graph, op, band, channels, begin + (int32_t)((int64_t)size * c / n), out);
}

/* What `reader` takes of op's band for the first c + 1 chunks of its own; empty: nothing. */
static struct ad_region taken(struct ad_step_lowering *l, int op, int reader, int device, int c)
{
    const struct ad_op *what = &l->graph->ops[reader];
    const struct ad_chunks *theirs = &l->orders.ops[reader].edged->chunks[device];
    struct ad_region all = ad_region_none();
    for (int k = 0; k < what->ninputs; k++)
        if (what->inputs[k] == l->graph->ops[op].output)
            all = ad_region_hull(all, ad_need(l->graph, what, k, theirs->upto[c]));
    return ad_region_intersect(all, *ad_computed_at(l, op, device));
}

void ad_chunks_hand(struct ad_step_lowering *l, int op, int device, struct ad_chunks *out)
{
    int v = l->graph->ops[op].output;
    struct ad_region band = *ad_computed_at(l, op, device);
    *out = (struct ad_chunks){.count = 0};
    for (int c = 0; c < AD_MAX_CHUNKS - 1; c++) {
        struct ad_region all = ad_region_none();
        for (int r = l->first_reader[v]; r < l->first_reader[v + 1]; r++) {
            const struct ad_edged *theirs = l->orders.ops[l->readers[r].op].edged;
            if (theirs && theirs->chunks[device].count > c)
                all = ad_region_hull(all, taken(l, op, l->readers[r].op, device, c));
        }
        all = ad_region_empty(all) ? all : ad_region_allow(l->graph, &l->graph->ops[op], all);
        if (ad_region_empty(all))
            return;
        if (all.h1 < band.h1)
            add_prefix(l->graph, &l->graph->ops[op], band, false, all.h1, out);
        else if (all.c1 < band.c1)
            add_prefix(l->graph, &l->graph->ops[op], band, true, all.c1, out);
    }
}

int ad_chunks_ahead(const struct ad_chunks *chunks, struct ad_region piece)
{
    int c = 0;
    while (c < chunks->count && !ad_region_contains(chunks->upto[c], piece))
        c++;
    return chunks->count - c;
}

/* Where message t of the list meets the chunks, one message for each of them. */
static bool cut_message(struct ad_transfers *sends, size_t t, const struct ad_chunks *chunks)
{
    struct ad_transfer whole = sends->list[t];
    struct ad_region rest[6];
    int parts = 0;
    for (int c = 0; c <= chunks->count; c++) {
        struct ad_region box = whole.region;
        if (c < chunks->count)
            box = ad_region_intersect(box, chunks->upto[c]);
        if (c > 0 && ad_region_subtract(box, chunks->upto[c - 1], rest) < 1)
            continue;
        box = c > 0 ? rest[0] : box;
        if (ad_region_empty(box))
            continue;
        if (parts > 0) {
            if (!ad_grow(&sends->list, sends->count, &sends->room, sizeof *sends->list))
                return false;
            t = sends->count++;
        }
        sends->list[t] = whole;
        sends->list[t].region = box;
        sends->list[t].chunk = c;
        sends->list[t].chunks = chunks->count + 1;
        parts++;
    }
    return true;
}

bool ad_chunks_send(struct ad_step_lowering *l, int op, int n, struct ad_transfers *sends)
{
    for (size_t t = 0, count = sends->count; t < count && n > 1; t++) {
        struct ad_region band = *ad_computed_at(l, op, sends->list[t].from);
        struct ad_chunks chunks;
        if (2 * ad_region_elements(sends->list[t].region) <= ad_region_elements(band))
            continue; /* goes ahead as an edge */
        ad_chunks_cut(l->graph, &l->graph->ops[op], band, n, &chunks);
        if (chunks.count > 0 && !cut_message(sends, t, &chunks))
            return false;
    }
    return true;
}
