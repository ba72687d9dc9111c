/* Strategy `adaps` (adaps.c). Its answer is an assignment with overlaps, not a layout, so it makes
 * the whole result itself. */
#ifndef AD_SEARCH_PAPER_ADAPS_H
#define AD_SEARCH_PAPER_ADAPS_H

#include "search/result.h"

/* As ad_strategy.plan (search/strategies/search.h). Sets bound and gap. */
AD_MUST_CHECK enum adaps_status ad_adaps_plan(const struct ad_search_problem *problem,
                                              struct ad_search_result *result,
                                              struct adaps_error *err);

#endif
