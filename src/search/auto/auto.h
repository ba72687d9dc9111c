/* Strategy `auto` (auto.c), the default. */
#ifndef AD_SEARCH_AUTO_AUTO_H
#define AD_SEARCH_AUTO_AUTO_H

#include "search/result.h"

/* As ad_strategy.plan (search/strategies/search.h). */
AD_MUST_CHECK enum adaps_status ad_auto_plan(const struct ad_search_problem *problem,
                                             struct ad_search_result *result,
                                             struct adaps_error *err);

#endif
