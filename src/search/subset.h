/* A search among the better half of the devices. Internal to search/. */
#ifndef AD_SEARCH_SUBSET_H
#define AD_SEARCH_SUBSET_H

#include "search/strategies.h"

/* How many of so many devices that is; 1: there is no such search. */
static inline int ad_subset_devices(int all)
{
    return all < 3 ? 1 : (all + 1) / 2;
}

/* Runs `search` for the source and the fastest others, ad_subset_devices() in all, with half of
 * eval's share, and tries what it finds in the whole cluster: into *best (and eval's bests) if it
 * is better. Nothing for less than three devices. eval->visited counts both. */
AD_MUST_CHECK enum adaps_status ad_subset_search(struct ad_eval *eval, ad_search_fn *search,
                                                 struct ad_best *best);

#endif
