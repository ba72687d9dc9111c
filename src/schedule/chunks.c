#include "schedule/chunks.h"

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

void ad_chunks_add(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
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
        ad_chunks_add(graph, op, band, channels, begin + (int32_t)((int64_t)size * c / n), out);
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
    struct ad_transfer whole = sends->list[t], *m = &sends->list[t];
    struct ad_region rest[6];
    int count = 0;
    for (int c = 0; c <= chunks->count; c++) {
        struct ad_region box = whole.region;
        if (c < chunks->count)
            box = ad_region_intersect(box, chunks->upto[c]);
        if (c > 0 && ad_region_subtract(box, chunks->upto[c - 1], rest) < 1)
            continue;
        box = c > 0 ? rest[0] : box;
        if (ad_region_empty(box))
            continue;
        if (count++ > 0)
            m = ad_transfers_add(sends);
        if (!m)
            return false;
        *m = whole;
        m->region = box;
        m->chunk = c;
        m->chunks = chunks->count + 1;
    }
    return true;
}

bool ad_chunks_send(const struct ad_graph *graph, const struct ad_op *op,
                    const struct ad_region *bands, int n, struct ad_transfers *sends)
{
    for (size_t t = 0, count = sends->count; t < count && n > 1; t++) {
        struct ad_region band = bands[sends->list[t].from];
        struct ad_chunks chunks;
        if (2 * ad_region_elements(sends->list[t].region) <= ad_region_elements(band))
            continue; /* goes ahead as an edge */
        ad_chunks_cut(graph, op, band, n, &chunks);
        if (chunks.count > 0 && !cut_message(sends, t, &chunks))
            return false;
    }
    return true;
}

bool ad_chunks_feed(int n, struct ad_transfers *inputs)
{
    for (size_t t = 0, count = inputs->count; t < count && n > 1; t++) {
        struct ad_transfer whole = inputs->list[t], *m = &inputs->list[t];
        int32_t rows = whole.region.h1 - whole.region.h0, at = whole.region.h0;
        int chunks = rows < n ? rows : n;
        for (int c = 0; c < chunks; c++) {
            if (c > 0)
                m = ad_transfers_add(inputs);
            if (!m)
                return false;
            *m = whole;
            m->chunk = c;
            m->chunks = chunks;
            m->region.h0 = at;
            m->region.h1 = at = whole.region.h0 + rows * (c + 1) / chunks;
        }
    }
    return true;
}
