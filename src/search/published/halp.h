/* Strategy `halp`. The host's zone lies between those of its helpers whatever the order of the
 * devices, so its answer is an assignment, not a layout. */
#ifndef AD_SEARCH_PUBLISHED_HALP_H
#define AD_SEARCH_PUBLISHED_HALP_H

#include "search/result.h"

/* As ad_strategy.plan (search/strategies/search.h). ADAPS_NO as ad_search_result_build(). */
AD_MUST_CHECK enum adaps_status ad_halp_plan(const struct ad_search_problem *problem,
                                             struct ad_search_result *result,
                                             struct adaps_error *err);

#endif
