/* The better part of a cluster: the source and the fastest others. */
#ifndef AD_SEARCH_AUTO_SUBSET_H
#define AD_SEARCH_AUTO_SUBSET_H

#include "search/context.h"

struct ad_subset {
    struct ad_cluster cluster;
    int old[AD_MAX_DEVICES]; /* the k-th device's index in the whole cluster, ascending */
};

/* Up to so many devices, a subset leaves out one of them. */
#define AD_SUBSET_BY_ONE 4

/* How many of `all` devices are in it: one less or, of more than AD_SUBSET_BY_ONE, the largest
 * power of two below. 1 or fewer: no subset is worth a search. */
static inline int ad_subset_devices(int all)
{
    int n = 1;
    if (all <= AD_SUBSET_BY_ONE)
        return all - 1;
    while (2 * n < all)
        n *= 2;
    return n;
}

/* The first n devices of the context's order. Free with ad_subset_fini(), also after a failure. */
AD_MUST_CHECK enum adaps_status ad_subset_init(struct ad_subset *out,
                                               const struct ad_context *context, int n,
                                               struct adaps_error *err);
void ad_subset_fini(struct ad_subset *subset);

/* The same layout in the whole cluster, where all other devices have nothing. */
void ad_subset_widen(const struct ad_subset *subset, const struct ad_layout *from,
                     struct ad_layout *to);

#endif
