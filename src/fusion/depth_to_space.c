/* Depth-to-space, both ways. Output row h, column w, channel c is the input's row (h + top) /
 * block, column likewise, and the channel that belongs to c and to the place of h and w in their
 * block. Places are counted row by row. With channel_major the place is the digit of the channel
 * that changes fastest, else the one that changes slowest. The channel grows with the place and
 * with c, so it is enough to look at the ends of intervals. */
#include "fusion/rules.h"

#include <string.h>

/* One axis: blocks of `block`, of which the first `crop` outputs are cut off. */
struct blocks {
    int32_t block, crop, size; /* size: of the output */
};

static struct blocks blocks_of(const struct ad_graph *graph, const struct ad_op *op, bool rows)
{
    const struct ad_box *out = &graph->values[op->output].box;
    const struct ad_window *w = &op->window;
    return rows ? (struct blocks){w->sh, w->pt, (int32_t)out->h}
                : (struct blocks){w->sw, w->pl, (int32_t)out->w};
}

/* The smallest and one past the largest place in a block of the outputs [lo, hi). */
static struct ad_run places(const struct blocks *b, int32_t lo, int32_t hi)
{
    int32_t first = lo + b->crop, last = hi - 1 + b->crop;
    if (first / b->block != last / b->block)
        return (struct ad_run){0, b->block};
    return (struct ad_run){first % b->block, last % b->block + 1};
}

static struct ad_run inputs(const struct blocks *b, int32_t lo, int32_t hi)
{
    return (struct ad_run){(lo + b->crop) / b->block, (hi - 1 + b->crop) / b->block + 1};
}

struct ad_region ad_need_depth_to_space(const struct ad_graph *graph, const struct ad_op *op, int k,
                                        struct ad_region out)
{
    (void)k;
    struct blocks rows = blocks_of(graph, op, true), columns = blocks_of(graph, op, false);
    struct ad_run i = places(&rows, out.h0, out.h1), j = places(&columns, out.w0, out.w1);
    struct ad_run h = inputs(&rows, out.h0, out.h1), w = inputs(&columns, out.w0, out.w1);
    int32_t first = i.lo * columns.block + j.lo, last = (i.hi - 1) * columns.block + j.hi - 1;
    int32_t c = (int32_t)graph->values[op->output].box.c, all = rows.block * columns.block;
    if (op->channel_major)
        return (struct ad_region){
            h.lo, h.hi, w.lo, w.hi, out.c0 * all + first, (out.c1 - 1) * all + last + 1};
    return (struct ad_region){h.lo, h.hi, w.lo, w.hi, first * c + out.c0, last * c + out.c1};
}

/* Outputs made of inputs [lo, hi): all of them, or those of one block at places `part`. */
static struct ad_run outputs(const struct blocks *b, int32_t lo, int32_t hi,
                             const struct ad_run *part)
{
    struct ad_run r = {lo * b->block - b->crop, hi * b->block - b->crop};
    if (part) {
        int32_t least =
            (int32_t)-ad_floor_div(part->lo - b->crop, b->block); /* the first that is not cut */
        int32_t most = (int32_t)ad_floor_div(b->size + b->crop - part->hi, b->block);
        lo = lo < least ? least : lo;
        if (lo >= hi || lo > most)
            return (struct ad_run){0, 0};
        r = (struct ad_run){lo * b->block - b->crop + part->lo, lo * b->block - b->crop + part->hi};
    }
    r.lo = r.lo < 0 ? 0 : r.lo;
    r.hi = r.hi > b->size ? b->size : r.hi;
    return r.lo < r.hi ? r : (struct ad_run){0, 0};
}

/* Channels of the output that are there at all places [first, last] of a block. */
static struct ad_run channels(const struct ad_graph *graph, const struct ad_op *op,
                              struct ad_region have, int32_t first, int32_t last)
{
    int32_t c = (int32_t)graph->values[op->output].box.c, all = op->window.sh * op->window.sw;
    struct ad_run r;
    if (op->channel_major)
        r = (struct ad_run){(int32_t)ad_ceil_div(have.c0 - first, all),
                            (int32_t)ad_floor_div(have.c1 - 1 - last, all) + 1};
    else
        r = (struct ad_run){have.c0 - first * c, have.c1 - last * c};
    r.lo = r.lo < 0 ? 0 : r.lo;
    r.hi = r.hi > c ? c : r.hi;
    return r.lo < r.hi ? r : (struct ad_run){0, 0};
}

/* Interval number k of places: 0 is all of them. False when there are no more. */
static bool nth_interval(int32_t block, int32_t k, struct ad_run *out)
{
    *out = (struct ad_run){0, block};
    for (int32_t lo = 0; lo < block && k > 0; lo++) {
        if (k <= block - lo) {
            *out = (struct ad_run){lo, lo + k};
            return true;
        }
        k -= block - lo;
    }
    return k == 0;
}

/* Rows and columns of outputs run over blocks, and read all their places, or lie in one. Where all
 * channels are there nothing but the first is to be tried. */
struct ad_region ad_yield_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                                         const struct ad_region *given)
{
    struct ad_region have = ad_region_present(graph, op, given, 0);
    struct blocks rows = blocks_of(graph, op, true), columns = blocks_of(graph, op, false);
    struct ad_region best = ad_region_none();
    bool all = have.c0 == 0 && have.c1 == graph->values[op->inputs[0]].box.c;
    struct ad_run i, j;
    if (ad_region_empty(have))
        return best;
    for (int32_t m = 0; nth_interval(rows.block, m, &i) && (m == 0 || !all); m++)
        for (int32_t n = 0; nth_interval(columns.block, n, &j) && (n == 0 || !all); n++) {
            struct ad_run h = outputs(&rows, have.h0, have.h1, m ? &i : NULL);
            struct ad_run w = outputs(&columns, have.w0, have.w1, n ? &j : NULL);
            struct ad_run c = channels(graph, op, have, i.lo * columns.block + j.lo,
                                       (i.hi - 1) * columns.block + j.hi - 1);
            struct ad_region out = {h.lo, h.hi, w.lo, w.hi, c.lo, c.hi};
            if (ad_region_elements(out) > ad_region_elements(best))
                best = out;
        }
    return best;
}

/* --- marks --- */

/* Whether a marked output stands at a place of its block. */
static bool has_place(const struct blocks *b, int32_t place, const uint8_t *out)
{
    for (int32_t i = 0; i < b->size; i++)
        if (out[i] && (i + b->crop) % b->block == place)
            return true;
    return false;
}

/* Marks the inputs whose blocks have an output at every place that any block has one at. */
static void mark_full_blocks(const struct blocks *b, const uint8_t *out, int64_t size, uint8_t *in)
{
    bool any = false;
    memset(in, 1, (size_t)size);
    for (int32_t place = 0; place < b->block; place++) {
        if (!has_place(b, place, out))
            continue;
        any = true;
        for (int64_t i = 0; i < size; i++) {
            int64_t at = i * b->block + place - b->crop;
            in[i] &= at >= 0 && at < b->size && out[at];
        }
    }
    if (!any)
        memset(in, 0, (size_t)size);
}

/* What is read is a product where blocks are full. */
void ad_mark_depth_to_space(const struct ad_graph *graph, const struct ad_op *op,
                            const struct ad_marks *out, struct ad_marks *in)
{
    struct blocks rows = blocks_of(graph, op, true), columns = blocks_of(graph, op, false);
    const struct ad_box *from = &ad_op_input(graph, op, 0)->box;
    int64_t channels = ad_op_output(graph, op)->box.c, all = (int64_t)rows.block * columns.block;
    mark_full_blocks(&rows, out->along[AD_ALONG_H], from->h, in->along[AD_ALONG_H]);
    mark_full_blocks(&columns, out->along[AD_ALONG_W], from->w, in->along[AD_ALONG_W]);
    memset(in->along[AD_ALONG_C], 0, (size_t)from->c);
    for (int32_t place = 0; place < all; place++) {
        if (!has_place(&rows, place / columns.block, out->along[AD_ALONG_H]) ||
            !has_place(&columns, place % columns.block, out->along[AD_ALONG_W]))
            continue;
        for (int64_t c = 0; c < channels; c++)
            if (out->along[AD_ALONG_C][c])
                in->along[AD_ALONG_C][op->channel_major ? c * all + place : place * channels + c] =
                    1;
    }
}
