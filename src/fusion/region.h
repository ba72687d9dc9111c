/* Region algebra: the only place that computes a halo.
 *
 * A region is a box of half-open integer intervals of a value's physical box (ir/graph.h); the
 * batch is never split, so a region covers all n images. For AD_PLAIN values of rank != 2 the only
 * regions are the empty and the whole one. Two directions (both exact, for every operator kind):
 *   need   out region -> the smallest region of input k that it reads   (padding is not input)
 *   yield  regions present of every input -> the largest out region computable from them
 * need is monotone; of yield, the size is (which box is largest may change where a dilated window
 * straddles the edge, where concat's operands have different rows, where the input of a
 * space-to-depth has a part of a block, or where a resampling folds at an edge); need(yield(x)) is
 * within x for every x. Operators without a spatial rule (PERMUTE, RESHAPE to another box, most on
 * AD_PLAIN values) are computed whole: any part of them needs all of every input. */
#ifndef AD_FUSION_REGION_H
#define AD_FUSION_REGION_H

#include "ir/graph.h"

struct ad_region {
    int32_t h0, h1, w0, w1, c0, c1;
};

/* The axes of a box. */
enum { AD_ALONG_H, AD_ALONG_W, AD_ALONG_C, AD_ALONG };

static inline int64_t ad_box_along(const struct ad_box *box, int along)
{
    return along == AD_ALONG_H ? box->h : along == AD_ALONG_W ? box->w : box->c;
}

static inline bool ad_region_empty(struct ad_region r)
{
    return r.h0 >= r.h1 || r.w0 >= r.w1 || r.c0 >= r.c1;
}

static inline int32_t ad_min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t ad_max32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The canonical empty region {0,0,0,0,0,0}. */
static inline struct ad_region ad_region_none(void)
{
    return (struct ad_region){0, 0, 0, 0, 0, 0};
}

static inline struct ad_region ad_region_whole(const struct ad_value *value)
{
    return (struct ad_region){0, (int32_t)value->box.h, 0, (int32_t)value->box.w,
                              0, (int32_t)value->box.c};
}

/* All empty regions are equal. */
static inline bool ad_region_equal(struct ad_region a, struct ad_region b)
{
    if (ad_region_empty(a) || ad_region_empty(b))
        return ad_region_empty(a) && ad_region_empty(b);
    return a.h0 == b.h0 && a.h1 == b.h1 && a.w0 == b.w0 && a.w1 == b.w1 && a.c0 == b.c0 &&
           a.c1 == b.c1;
}

/* Empty is in all. */
static inline bool ad_region_contains(struct ad_region outer, struct ad_region inner)
{
    if (ad_region_empty(inner))
        return true;
    return outer.h0 <= inner.h0 && inner.h1 <= outer.h1 && outer.w0 <= inner.w0 &&
           inner.w1 <= outer.w1 && outer.c0 <= inner.c0 && inner.c1 <= outer.c1;
}

static inline struct ad_region ad_region_intersect(struct ad_region a, struct ad_region b)
{
    struct ad_region r = {ad_max32(a.h0, b.h0), ad_min32(a.h1, b.h1), ad_max32(a.w0, b.w0),
                          ad_min32(a.w1, b.w1), ad_max32(a.c0, b.c0), ad_min32(a.c1, b.c1)};
    return ad_region_empty(r) ? ad_region_none() : r;
}

/* The smallest box of both. */
static inline struct ad_region ad_region_hull(struct ad_region a, struct ad_region b)
{
    if (ad_region_empty(a))
        return ad_region_empty(b) ? ad_region_none() : b;
    if (ad_region_empty(b))
        return a;
    return (struct ad_region){ad_min32(a.h0, b.h0), ad_max32(a.h1, b.h1), ad_min32(a.w0, b.w0),
                              ad_max32(a.w1, b.w1), ad_min32(a.c0, b.c0), ad_max32(a.c1, b.c1)};
}

/* a * b of non-negative numbers; stays at the largest number instead of overflowing, so that
 * regions read from a file can be measured before they are checked. */
static inline int64_t ad_saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* (h1-h0)*(w1-w0), 0 when empty. */
static inline int64_t ad_region_pixels(struct ad_region r)
{
    if (ad_region_empty(r))
        return 0;
    return ad_saturating_mul((int64_t)r.h1 - r.h0, (int64_t)r.w1 - r.w0);
}

/* Of one image. */
static inline int64_t ad_region_elements(struct ad_region r)
{
    return ad_saturating_mul(ad_region_pixels(r), (int64_t)r.c1 - r.c0);
}

/* Bytes of a region of a value, of all images. */
static inline int64_t ad_region_bytes(const struct ad_graph *graph, int value, struct ad_region r)
{
    const struct ad_value *v = &graph->values[value];
    return ad_saturating_mul(ad_value_unit(v) * v->box.n, ad_region_elements(r));
}

/* a minus b as disjoint non-empty boxes, at most 6, sorted by h0, then w0, then c0; returns how
 * many. Rows are cut first, so that what remains is whole rows wherever possible. */
int ad_region_subtract(struct ad_region a, struct ad_region b, struct ad_region out[6]);

/* "56:112" (rows only, whole w and c of `whole`), "56:112,0:14" or "0:1,0:1,0:2048"; "none" when
 * empty. Returns buf. */
char *ad_region_format(struct ad_region r, struct ad_region whole, char *buf, size_t size);

/* A union of disjoint boxes, in no particular order. Zero-initialised is empty. A failed add or
 * remove (no memory: false) leaves it as it was. */
struct ad_region_set {
    struct ad_region *boxes;
    size_t count, capacity;
};
AD_MUST_CHECK bool ad_region_set_add(struct ad_region_set *set, struct ad_region r);
AD_MUST_CHECK bool ad_region_set_remove(struct ad_region_set *set, struct ad_region r);
bool ad_region_set_covers(const struct ad_region_set *set, struct ad_region r);
void ad_region_set_fini(struct ad_region_set *set);

/* The region of input `k` of op that computing `out` reads: the exact bounding box of the elements
 * read, so its edge may lie inside the input's edge when dilated or strided windows step over it.
 * Empty for empty `out`, for an output that reads padding only, and for a concat operand outside of
 * `out`. What of `out` is outside the value is ignored. Weights: see ad_weight_slice(). */
struct ad_region ad_need(const struct ad_graph *graph, const struct ad_op *op, int k,
                         struct ad_region out);

/* The largest out region computable when input k is present on have[k] (op->ninputs entries;
 * constants count as whole whatever is given). When several maximal boxes exist, the one with most
 * elements; that happens only where the comment above says. Need not be ad_region_allowed(). */
struct ad_region ad_yield(const struct ad_graph *graph, const struct ad_op *op,
                          const struct ad_region *have);

/* Whether `out` may be computed alone with the same bits as within the whole: inside the value,
 * c-bounds on a group boundary for grouped convolutions, all of c for softmax and shuffles of
 * channels, at least two pixels for conv unless the whole has one (see docs/numerics.md), for
 * conv, pooling and resampling also rows and columns (channels too) that read some input unless
 * none does (no executor takes an empty input), whole only for ops without a spatial rule. Empty is
 * always allowed. LRN may be split over c: each output must sum its own window, in the same order.
 */
bool ad_region_allowed(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out);

/* Rows [r0, r1) of op->weight and op->bias that computing `out` takes; 0,0 without weights. */
void ad_weight_slice(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out,
                     int64_t *r0, int64_t *r1);

/* What computing `out` computes: `out`, or of a Winograd convolution the tiles that have a part in
 * it, as far as they lie in the whole. */
struct ad_region ad_region_computed(const struct ad_graph *graph, const struct ad_op *op,
                                    struct ad_region out);

/* The padding around ad_need(graph, op, 0, out) that makes the windows of ad_region_computed() fit
 * exactly: the window's own pads at the value's edges, 0 inside. (Where dilation steps over the
 * edge, elements of the input that are never read count as padding.) A tile that reads nothing is
 * all padding, at the top and left. For average pooling the caller must also honour
 * real_pb/real_pr. Requires an op with a window; all zero for an empty `out`. */
struct ad_tile_pads {
    int32_t top, left, bottom, right;
};
struct ad_tile_pads ad_tile_pads(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out);

/* Grows `out` minimally until ad_region_allowed() holds: aligned to groups, reading some input, two
 * pixels (the second one in w if w > 1), or whole. What is outside the value is dropped. Empty
 * stays empty. */
struct ad_region ad_region_allow(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out);

#endif
