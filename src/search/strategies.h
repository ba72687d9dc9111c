/* The search functions behind the table of strategies; each fills *best (empty, and the caller's
 * to free) and sets eval->space_log10. Internal to search/. */
#ifndef AD_SEARCH_STRATEGIES_H
#define AD_SEARCH_STRATEGIES_H

#include "search/eval.h"

typedef enum adaps_status ad_search_fn(struct ad_eval *eval, struct ad_best *best);

ad_search_fn ad_single_search, ad_edgeflow_search, ad_templates_search, ad_bbgrap_search,
    ad_modnn_search, ad_coedge_search, ad_deepslicing_search, ad_deepthings_search, ad_auto_search,
    ad_exhaustive_search;

/* ad_auto_search(), again with more work as long as the problem's time limit leaves time for it, if
 * there is one and neither evaluations nor effort are given. */
ad_search_fn ad_auto_search_in_time;

/* ad_exhaustive_search() where there are few enough layouts, else nothing; ends at the problem's
 * deadline with the best so far. *best may hold a layout already. */
AD_MUST_CHECK enum adaps_status ad_exhaustive_if_small(struct ad_eval *eval, struct ad_best *best);

#endif
