/* The last step of every strategy: which links carry which encoding. */
#ifndef AD_SEARCH_STRATEGIES_LINK_ENCODINGS_H
#define AD_SEARCH_STRATEGIES_LINK_ENCODINGS_H

#include "search/result.h"

/* Gives the links of a result, regions and order being fixed, the encodings that the problem
 * allows, where they pay, and builds its schedule anew. Under the objective traffic: all links the
 * one with the fewest bytes, within the cap. Else the one encoding of all that answers soonest;
 * then fewer bytes for every link with which it comes sooner; then float32 again, or binary16
 * instead of zfp, for every link, those that carry least first, with which it comes no later. How
 * much LZ4 gains is not known before: a link of float32 gets it, if it is allowed, where trying
 * takes next to nothing even if nothing shrinks, which is how it is predicted. */
AD_MUST_CHECK enum adaps_status ad_search_encode(const struct ad_search_problem *problem,
                                                 struct ad_search_result *result,
                                                 struct adaps_error *err);

#endif
