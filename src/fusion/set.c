/* Unions of disjoint boxes: what of a value lies on a device, what is still missing. */
#include "fusion/region.h"

/* Room for `count` boxes; false leaves the set as it is. */
static bool reserve(struct ad_region_set *set, size_t count)
{
    while (set->capacity < count)
        if (!ad_grow(&set->boxes, set->capacity, &set->capacity, sizeof *set->boxes))
            return false;
    return true;
}

/* The room that taking r out may need on its way. */
static size_t room_without(const struct ad_region_set *set, struct ad_region r)
{
    struct ad_region pieces[6];
    size_t room = set->count;
    for (size_t i = 0; i < set->count; i++) {
        int n = ad_region_subtract(set->boxes[i], r, pieces);
        room += n > 1 ? (size_t)n - 1 : 0;
    }
    return room;
}

/* Takes r out; the room for the pieces must be there. Going backwards, the pieces put at the end
 * and the boxes moved from there are done already. */
static void take_out(struct ad_region_set *set, struct ad_region r)
{
    for (size_t i = set->count; i-- > 0;) {
        struct ad_region pieces[6];
        int n = ad_region_subtract(set->boxes[i], r, pieces);
        if (n == 0) {
            set->boxes[i] = set->boxes[--set->count];
            continue;
        }
        set->boxes[i] = pieces[0];
        for (int k = 1; k < n; k++)
            set->boxes[set->count++] = pieces[k];
    }
}

/* Whether two disjoint boxes make one box together. */
static bool joins(struct ad_region a, struct ad_region b)
{
    bool h = a.h0 == b.h0 && a.h1 == b.h1;
    bool w = a.w0 == b.w0 && a.w1 == b.w1;
    bool c = a.c0 == b.c0 && a.c1 == b.c1;
    if (w && c)
        return a.h1 == b.h0 || b.h1 == a.h0;
    if (h && c)
        return a.w1 == b.w0 || b.w1 == a.w0;
    if (h && w)
        return a.c1 == b.c0 || b.c1 == a.c0;
    return false;
}

/* Joins the last box with others as long as that gives a box: bands added one after the other end
 * as one band. */
static void join_last(struct ad_region_set *set)
{
    for (size_t i = 0; i + 1 < set->count;) {
        struct ad_region *last = &set->boxes[set->count - 1];
        if (!joins(set->boxes[i], *last)) {
            i++;
            continue;
        }
        *last = ad_region_hull(set->boxes[i], *last);
        struct ad_region joined = *last;
        set->boxes[i] = set->boxes[set->count - 2];
        set->boxes[set->count - 2] = joined;
        set->count--;
        i = 0;
    }
}

bool ad_region_set_add(struct ad_region_set *set, struct ad_region r)
{
    if (ad_region_empty(r) || ad_region_set_covers(set, r))
        return true;
    if (!reserve(set, room_without(set, r) + 1))
        return false;
    take_out(set, r);
    set->boxes[set->count++] = r;
    join_last(set);
    return true;
}

bool ad_region_set_remove(struct ad_region_set *set, struct ad_region r)
{
    if (!reserve(set, room_without(set, r)))
        return false;
    take_out(set, r);
    return true;
}

bool ad_region_set_covers(const struct ad_region_set *set, struct ad_region r)
{
    int64_t covered = 0; /* the boxes are disjoint, so counting is enough */
    for (size_t i = 0; i < set->count; i++)
        covered += ad_region_elements(ad_region_intersect(set->boxes[i], r));
    return covered == ad_region_elements(r);
}

void ad_region_set_fini(struct ad_region_set *set)
{
    ad_free(set->boxes);
    *set = (struct ad_region_set){0};
}
