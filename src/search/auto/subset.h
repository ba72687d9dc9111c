/* The better part of a cluster: the source and the fastest others. */
#ifndef AD_SEARCH_AUTO_SUBSET_H
#define AD_SEARCH_AUTO_SUBSET_H

#include "search/context.h"

struct ad_subset {
    struct ad_cluster cluster;
    int old[AD_MAX_DEVICES]; /* the k-th device's index in the whole cluster, ascending */
};

/* Whether the subset of so many devices leaves out just one of them. */
static inline bool ad_subset_by_one(int all)
{
    return all == 3 || all == 4;
}

/* How many of `all` devices are in it: one less or, where it is not by one, the largest power of
 * two below. 1: no subset is worth a search. */
static inline int ad_subset_devices(int all)
{
    int n = 1;
    while (2 * n < all)
        n *= 2;
    return ad_subset_by_one(all) ? all - 1 : n;
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
