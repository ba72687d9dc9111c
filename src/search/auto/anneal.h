/* Simulated annealing of a layout on the simulated clock. */
#ifndef AD_SEARCH_AUTO_ANNEAL_H
#define AD_SEARCH_AUTO_ANNEAL_H

#include "search/auto/elite.h"

/* What an annealing may spend; it ends when either is spent. */
struct ad_budget {
    int64_t evaluations;
    int64_t work; /* as ad_scorer_work() counts it, and 1 per op of every move */
};

/* Anneals from *best (which must be valid) until the budget is spent, and keeps the best layout in
 * *best. pool: nullable; moves may copy parts of its layouts (*best may be one of them). The same
 * seed gives the same moves. Ends early at the problem's deadline. */
AD_MUST_CHECK enum adaps_status ad_anneal(struct ad_eval *eval, struct ad_best *best,
                                          const struct ad_elite_pool *pool, uint64_t seed,
                                          struct ad_budget budget);

#endif
