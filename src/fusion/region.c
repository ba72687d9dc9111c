/* Boxes: the algebra that does not know about operators. */
#include "fusion/region.h"

#include <stdio.h>

static int32_t min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t max32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

struct ad_region ad_region_none(void)
{
    return (struct ad_region){0, 0, 0, 0, 0, 0};
}

struct ad_region ad_region_whole(const struct ad_value *value)
{
    return (struct ad_region){0, (int32_t)value->box.h, 0, (int32_t)value->box.w,
                              0, (int32_t)value->box.c};
}

bool ad_region_equal(struct ad_region a, struct ad_region b)
{
    if (ad_region_empty(a) || ad_region_empty(b))
        return ad_region_empty(a) && ad_region_empty(b);
    return a.h0 == b.h0 && a.h1 == b.h1 && a.w0 == b.w0 && a.w1 == b.w1 && a.c0 == b.c0 &&
           a.c1 == b.c1;
}

bool ad_region_contains(struct ad_region outer, struct ad_region inner)
{
    if (ad_region_empty(inner))
        return true;
    return outer.h0 <= inner.h0 && inner.h1 <= outer.h1 && outer.w0 <= inner.w0 &&
           inner.w1 <= outer.w1 && outer.c0 <= inner.c0 && inner.c1 <= outer.c1;
}

struct ad_region ad_region_intersect(struct ad_region a, struct ad_region b)
{
    struct ad_region r = {max32(a.h0, b.h0), min32(a.h1, b.h1), max32(a.w0, b.w0),
                          min32(a.w1, b.w1), max32(a.c0, b.c0), min32(a.c1, b.c1)};
    return ad_region_empty(r) ? ad_region_none() : r;
}

struct ad_region ad_region_hull(struct ad_region a, struct ad_region b)
{
    if (ad_region_empty(a))
        return ad_region_empty(b) ? ad_region_none() : b;
    if (ad_region_empty(b))
        return a;
    return (struct ad_region){min32(a.h0, b.h0), max32(a.h1, b.h1), min32(a.w0, b.w0),
                              max32(a.w1, b.w1), min32(a.c0, b.c0), max32(a.c1, b.c1)};
}

/* a * b of non-negative numbers; stays at the largest number instead of overflowing, so that
 * regions read from a file can be measured before they are checked. */
static int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t ad_region_pixels(struct ad_region r)
{
    if (ad_region_empty(r))
        return 0;
    return saturating_mul((int64_t)r.h1 - r.h0, (int64_t)r.w1 - r.w0);
}

int64_t ad_region_elements(struct ad_region r)
{
    return saturating_mul(ad_region_pixels(r), (int64_t)r.c1 - r.c0);
}

int ad_region_subtract(struct ad_region a, struct ad_region b, struct ad_region out[6])
{
    if (ad_region_empty(a))
        return 0;
    struct ad_region hole = ad_region_intersect(a, b);
    if (ad_region_empty(hole)) {
        out[0] = a;
        return 1;
    }
    const struct ad_region pieces[6] = {
        {a.h0, hole.h0, a.w0, a.w1, a.c0, a.c1},             /* rows above */
        {hole.h0, hole.h1, a.w0, hole.w0, a.c0, a.c1},       /* columns to the left */
        {hole.h0, hole.h1, hole.w0, hole.w1, a.c0, hole.c0}, /* channels before */
        {hole.h0, hole.h1, hole.w0, hole.w1, hole.c1, a.c1}, /* channels behind */
        {hole.h0, hole.h1, hole.w1, a.w1, a.c0, a.c1},       /* columns to the right */
        {hole.h1, a.h1, a.w0, a.w1, a.c0, a.c1},             /* rows below */
    };
    int count = 0;
    for (int i = 0; i < 6; i++)
        if (!ad_region_empty(pieces[i]))
            out[count++] = pieces[i];
    return count;
}

char *ad_region_format(struct ad_region r, struct ad_region whole, char *buf, size_t size)
{
    bool all_c = r.c0 == whole.c0 && r.c1 == whole.c1;
    bool all_w = r.w0 == whole.w0 && r.w1 == whole.w1;
    if (ad_region_empty(r))
        snprintf(buf, size, "none");
    else if (all_c && all_w)
        snprintf(buf, size, "%d:%d", r.h0, r.h1);
    else if (all_c)
        snprintf(buf, size, "%d:%d,%d:%d", r.h0, r.h1, r.w0, r.w1);
    else
        snprintf(buf, size, "%d:%d,%d:%d,%d:%d", r.h0, r.h1, r.w0, r.w1, r.c0, r.c1);
    return buf;
}
