/* Where the values of one device's program lie: by the rule of ir/aliasing.h, as far as the program
 * allows it. */
#ifndef AD_SCHEDULE_ALIASING_H
#define AD_SCHEDULE_ALIASING_H

#include "ir/aliasing.h"
#include "schedule/schedule.h"

struct ad_program_aliases {
    bool *here;          /* by value: whether the program has anything of it; the caller's to set */
    struct ad_alias *at; /* by value: the answer */
    bool *movable, *can, *joins;
};

/* Room for any program of the graph. On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_program_aliases_init(struct ad_program_aliases *aliases,
                                                        const struct ad_graph *graph,
                                                        struct adaps_error *err);
void ad_program_aliases_fini(struct ad_program_aliases *aliases);

/* Fills `at`. Only concatenations that the program computes a part of have inputs in their result.
 * What arrives rounded gets a buffer of its own: others may have written exact elements into the
 * shared one. */
void ad_program_aliases_find(struct ad_program_aliases *aliases, const struct ad_graph *graph,
                             const struct ad_program *program);

#endif
