/* Plans of models that were planned before, kept beside an agent's weights:
 * $XDG_CACHE_HOME/adaps/plans. A plan is found by the model's content (that of its external data
 * included) and where it is, by the devices without their addresses and keys, by the options, by
 * this version of adaps and of plan files. What is damaged is no plan that is found. */
#ifndef AD_CLI_PLAN_CACHE_H
#define AD_CLI_PLAN_CACHE_H

#include "pipeline.h"

#define AD_PLAN_CACHE_BYTES ((uint64_t)64 << 20) /* when it is more, the oldest go */

struct ad_plan_cache {
    char *path; /* of the plan; NULL: there is no place for it, or nothing is to be kept */
};

/* Looks for the plan. passes: model, dims and devices count, all else must be
 * ad_plan_defaults(). cluster: what the devices file says. *out is NULL when it is not there, else
 * the caller's, with the cluster's addresses and keys. ADAPS_EINPUT: the model cannot be read. */
AD_MUST_CHECK enum adaps_status ad_plan_cache_find(struct ad_plan_cache *cache,
                                                   const struct ad_pipeline_options *passes,
                                                   const struct ad_cluster *cluster,
                                                   struct adaps_plan **out,
                                                   struct adaps_error *err);

/* Keeps the plan that was not found, and forgets old ones. ADAPS_EINPUT: it cannot be written. */
AD_MUST_CHECK enum adaps_status ad_plan_cache_keep(const struct ad_plan_cache *cache,
                                                   const struct adaps_plan *plan,
                                                   struct adaps_error *err);
void ad_plan_cache_fini(struct ad_plan_cache *cache);

#endif
