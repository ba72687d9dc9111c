/* The plan for the devices that are left when others are lost. */
#ifndef AD_SPARE_PLAN_H
#define AD_SPARE_PLAN_H

#include "plan/plan.h"

/* What the search for it may take, as in struct ad_search_problem. */
struct ad_spare_effort {
    uint64_t seed;
    int64_t evaluations, effort, time_limit_ns;
};

/* While a stream waits for it. */
extern const struct ad_spare_effort ad_spare_hurry;

/* Plans the graph of `first`, as it is, for its devices without those that are out: the algorithm
 * of each layer and the order of its sums stay, and so do the bits. `numbers`: a graph that has the
 * weights of `first` attached, or its own. now: its cluster, or the same devices and links with
 * other speeds. out: by device of `first`; its source must not be out. Strategy auto, for the
 * throughput when `first` has several inferences in flight, else for the latency. *device_of gets,
 * by device of the new plan, the device of `first`. ADAPS_NO: the devices that are left have not
 * enough memory. */
AD_MUST_CHECK enum adaps_status
ad_spare_plan(const struct adaps_plan *first, const struct ad_cluster *now,
              const struct ad_graph *numbers, const bool *out, const struct ad_spare_effort *effort,
              struct adaps_plan **plan, int *device_of, struct adaps_error *err);

/* Gives a plan that was just made, whose weights are attached, a spare for the loss of each device
 * that it gives work to, but the source. There is none where the others do not suffice.
 * ADAPS_EUSAGE: a lossy plan. */
AD_MUST_CHECK enum adaps_status ad_spare_plans(struct adaps_plan *plan,
                                               const struct ad_spare_effort *effort,
                                               struct adaps_error *err);

#endif
