/* The layouts that an improvement starts from: the best of each kind, of the best few kinds. A
 * search that ends in valleys ends in a better one of several. Internal to search/. */
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
void ad_elite_pool_fini(struct ad_elite_pool *starts);

/* Keeps a copy when it is the best of its kind so far, and of the best AD_ELITE_POOL kinds, unless
 * another kind has one with the same score. */
void ad_elite_pool_offer(struct ad_elite_pool *starts, int kind, const struct ad_layout *layout,
                         const struct ad_score *score);

/* The best first. */
void ad_elite_pool_sort(struct ad_elite_pool *starts);

#endif
