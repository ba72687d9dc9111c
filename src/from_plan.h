/* A plan as the start of a search: `adaps plan --from`. */
#ifndef AD_FROM_PLAN_H
#define AD_FROM_PLAN_H

#include "plan/plan.h"

/* What each device computes in the plan of a file (in the first turn of a stream): an assignment of
 * the graph, which comes from the model of that digest. The caller's (ad_assignment_fini).
 * ADAPS_EINPUT names the file, and what is not the same: the model, its operators, or the devices'
 * number, names or order. */
AD_MUST_CHECK enum adaps_status ad_from_plan(const char *path, const struct ad_graph *graph,
                                             const struct ad_digest *model,
                                             const struct ad_cluster *cluster,
                                             struct ad_assignment *out, struct adaps_error *err);

#endif
