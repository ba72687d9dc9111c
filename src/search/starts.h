/* The layouts that an improvement starts from: the best of each kind, of the best few kinds. A
 * search that ends in valleys ends in a better one of several. Internal to search/. */
#ifndef AD_SEARCH_STARTS_H
#define AD_SEARCH_STARTS_H

#include "search/eval.h"

#define AD_STARTS 5

struct ad_starts {
    int count;
    int kind[AD_STARTS];
    struct ad_best best[AD_STARTS]; /* valid */
};

AD_MUST_CHECK enum adaps_status
ad_starts_init(struct ad_starts *out, const struct ad_terrain *terrain, struct adaps_error *err);
void ad_starts_fini(struct ad_starts *starts);

/* Keeps a copy when it is the best of its kind so far, and of the best AD_STARTS kinds, unless
 * another kind has one with the same score. */
void ad_starts_offer(struct ad_starts *starts, int kind, const struct ad_layout *layout,
                     const struct ad_score *score);

/* The best first. */
void ad_starts_sort(struct ad_starts *starts);

#endif
