/* The plan for the devices that are left when others are lost. */
#ifndef AD_SPARE_PLAN_H
#define AD_SPARE_PLAN_H

#include "model_weights.h"

#define AD_SPARE_PLAN_NS ((int64_t)1000 * 1000 * 1000) /* what the search takes at most */

/* Plans the graph of `first`, as it is, for its devices without those that are out: the algorithm
 * of each layer and the order of its sums stay, and so do the bits. `weights` are those of `first`,
 * open. out: by device of `first`; its source must not be out. Strategy auto with a small effort,
 * for the throughput when `first` has several inferences in flight, else for the latency.
 * *device_of gets, by device of the new plan, the device of `first`. ADAPS_NO: the devices that are
 * left have not enough memory. */
AD_MUST_CHECK enum adaps_status ad_spare_plan(const struct adaps_plan *first,
                                              const struct ad_model_weights *weights,
                                              const bool *out, struct adaps_plan **plan,
                                              int *device_of, struct adaps_error *err);

/* The same on a cluster of the same devices that are as quick now as `now` says. */
AD_MUST_CHECK enum adaps_status ad_spare_plan_on(const struct adaps_plan *first,
                                                 const struct ad_cluster *now,
                                                 const struct ad_model_weights *weights,
                                                 const bool *out, struct adaps_plan **plan,
                                                 int *device_of, struct adaps_error *err);

#endif
