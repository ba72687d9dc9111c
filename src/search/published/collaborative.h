/* Strategy `collaborative`. */
#ifndef AD_SEARCH_PUBLISHED_COLLABORATIVE_H
#define AD_SEARCH_PUBLISHED_COLLABORATIVE_H

#include "search/result.h"

/* result->graph is the graph of the plan where layers are divided by input. ADAPS_NO as
 * ad_search_result_build(). */
AD_MUST_CHECK enum adaps_status ad_collaborative_plan(const struct ad_search_problem *problem,
                                                      struct ad_search_result *result,
                                                      struct adaps_error *err);

#endif
