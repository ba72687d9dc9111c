/* Where the values of one device's program lie: by the rule of ir/concat.h, as far as the program
 * allows it. */
#ifndef AD_SCHEDULE_PLACES_H
#define AD_SCHEDULE_PLACES_H

#include "ir/concat.h"
#include "schedule/schedule.h"

struct ad_places {
    bool *here;          /* by value: whether the program has anything of it; the caller's to set */
    struct ad_place *at; /* by value: the answer */
    bool *movable, *can, *joins;
};

/* Room for any program of the graph. On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status
ad_places_init(struct ad_places *places, const struct ad_graph *graph, struct adaps_error *err);
void ad_places_fini(struct ad_places *places);

/* Fills `at`. Only concatenations that the program computes a part of have inputs in their result.
 * What arrives rounded lies by itself: others may have written exact elements there. */
void ad_places_find(struct ad_places *places, const struct ad_graph *graph,
                    const struct ad_program *program);

#endif
