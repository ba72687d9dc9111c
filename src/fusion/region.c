/* Boxes: the algebra that does not know about operators. */
#include "fusion/region.h"

#include <stdio.h>

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
        {hole.h0, hole.h1, hole.w0, hole.w1, hole.c1, a.c1}, /* channels after */
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
