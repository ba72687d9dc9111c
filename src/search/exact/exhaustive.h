/* Strategy `exhaustive` (exhaustive.c). */
#ifndef AD_SEARCH_EXACT_EXHAUSTIVE_H
#define AD_SEARCH_EXACT_EXHAUSTIVE_H

#include "search/eval.h"

/* ADAPS_NO where there are too many layouts. */
ad_search_fn ad_exhaustive_search;

/* The same where there are few enough layouts, else nothing; ends at the problem's deadline with
 * the best so far. *best may hold a layout already. */
AD_MUST_CHECK enum adaps_status ad_exhaustive_if_small(struct ad_eval *eval, struct ad_best *best);

/* Tries all layouts with orders up to `last` (AD_ORDER_CORES: all), if there are few enough: *few.
 * Ends at the problem's deadline. *space_log10: log10 of an upper bound of how many there are. */
AD_MUST_CHECK enum adaps_status ad_exhaustive_orders(struct ad_eval *eval, struct ad_best *best,
                                                     enum ad_order last, double *space_log10,
                                                     bool *few);

#endif
