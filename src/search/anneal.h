/* Simulated annealing of a layout on the simulated clock. Internal to search/. */
#ifndef AD_SEARCH_ANNEAL_H
#define AD_SEARCH_ANNEAL_H

#include "search/eval.h"

/* Anneals from *best (which must be valid) for that many evaluations; what is better goes into
 * *best (and eval's bests). The same seed gives the same moves. Ends early when the time is up. */
AD_MUST_CHECK enum adaps_status ad_anneal(struct ad_eval *eval, struct ad_best *best, uint64_t seed,
                                          int64_t evaluations);

#endif
