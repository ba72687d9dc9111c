/* The elite pool: the layouts that the improvement starts from, the best of each kind for the best
 * few kinds. Of several local optima that a search ends in, the best is kept. */
#ifndef AD_SEARCH_AUTO_ELITE_H
#define AD_SEARCH_AUTO_ELITE_H

#include "search/eval.h"

#define AD_ELITE_POOL 5

struct ad_elite_pool {
    int count;
    int kind[AD_ELITE_POOL];
    struct ad_best best[AD_ELITE_POOL]; /* valid */
};

AD_MUST_CHECK enum adaps_status ad_elite_pool_init(struct ad_elite_pool *out,
                                                   const struct ad_context *context,
                                                   struct adaps_error *err);
void ad_elite_pool_fini(struct ad_elite_pool *pool);

/* Keeps a copy when it is the best of its kind so far, and of the best AD_ELITE_POOL kinds, unless
 * another kind has one with the same score. */
void ad_elite_pool_offer(struct ad_elite_pool *pool, int kind, const struct ad_layout *layout,
                         const struct ad_score *score);

/* The best first. */
void ad_elite_pool_sort(struct ad_elite_pool *pool);

#endif
