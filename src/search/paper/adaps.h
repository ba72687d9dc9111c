/* Strategy `adaps` (adaps.c): an assignment with overlaps, not a layout, so it stands beside the
 * functions of strategies.h. Internal to search/. */
#ifndef AD_SEARCH_PAPER_ADAPS_H
#define AD_SEARCH_PAPER_ADAPS_H

#include "search/search.h"

/* As ad_strategy.run. Sets bound and gap. */
AD_MUST_CHECK enum adaps_status ad_adaps_run(const struct ad_search_problem *problem,
                                             struct ad_search_result *result,
                                             struct adaps_error *err);

#endif
