/* A growing array of numbers. Internal to schedule/. */
#ifndef AD_SCHEDULE_INTS_H
#define AD_SCHEDULE_INTS_H

#include "base/error.h"
#include "base/mem.h"

struct ad_ints {
    int *list;
    size_t count, room;
};

/* False without memory. */
AD_MUST_CHECK static inline bool ad_ints_add(struct ad_ints *ints, int number)
{
    if (ints->count == ints->room &&
        !ad_grow(&ints->list, ints->count, &ints->room, sizeof *ints->list))
        return false;
    ints->list[ints->count++] = number;
    return true;
}

/* Room for so many in all; false without memory. */
AD_MUST_CHECK static inline bool ad_ints_reserve(struct ad_ints *ints, size_t count)
{
    while (ints->room < count)
        if (!ad_grow(&ints->list, ints->room, &ints->room, sizeof *ints->list))
            return false;
    return true;
}

static inline void ad_ints_fini(struct ad_ints *ints)
{
    ad_free(ints->list);
    *ints = (struct ad_ints){0};
}

#endif
