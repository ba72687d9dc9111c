/* The layouts of the elite pool as starts of annealings, on all cores. */
#ifndef AD_SEARCH_AUTO_STARTS_H
#define AD_SEARCH_AUTO_STARTS_H

#include "search/auto/anneal.h"

/* Successive halving: anneals all of the pool for a while, the better half for as long together,
 * and the best two for the rest. The pool is in order then, the best first.
 *
 * Starts of a round are annealed side by side, each with an evaluation, a seed and a budget of its
 * own, and their results are taken in the order of the pool. So the number of cores has no effect
 * on the result, nor has what was evaluated before. What they visit counts in *eval. */
AD_MUST_CHECK enum adaps_status ad_starts_anneal(struct ad_eval *eval, struct ad_elite_pool *pool,
                                                 struct ad_budget budget);

#endif
