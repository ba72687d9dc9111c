/* Shared by the files of schedule/ only. */
#ifndef AD_SCHEDULE_INTERNAL_H
#define AD_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* Whether a value is a constant, which lies on every device: neither an input nor computed. */
static inline bool ad_value_constant(const struct ad_graph *graph, int value)
{
    return graph->values[value].constant >= 0;
}

/* ADAPS_EINTERNAL unless its numbers and regions are allowed. */
AD_MUST_CHECK enum adaps_status ad_assignment_check(const struct ad_graph *graph,
                                                    const struct ad_cluster *cluster,
                                                    const struct ad_assignment *assignment,
                                                    struct adaps_error *err);

/* Fills schedule->memory: weights (the hull of the rows that a device's tasks take of each) and the
 * peak over the steps of the buffers alive at a time, each the hull of what is computed, received
 * or fed of its value, and of those that lie in it (schedule/aliasing.h), with what Winograd's
 * algorithm takes (ir/winograd.h). What alignment and
 * fragmentation add is not in it. */
AD_MUST_CHECK enum adaps_status ad_schedule_memory(const struct ad_graph *graph,
                                                   const struct ad_cluster *cluster,
                                                   struct ad_schedule *schedule,
                                                   struct adaps_error *err);

#endif
