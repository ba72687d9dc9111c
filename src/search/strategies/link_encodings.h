/* The last step of every strategy: which links carry which encoding. */
#ifndef AD_SEARCH_STRATEGIES_LINK_ENCODINGS_H
#define AD_SEARCH_STRATEGIES_LINK_ENCODINGS_H

#include "search/result.h"

/* Gives the links of a result the encodings that the problem allows, where they pay, and builds its
 * schedule anew; regions and order stay. Under the objective traffic all links get the encoding
 * with the fewest bytes, within the cap. Otherwise
 * 1. all links get the one encoding that answers soonest;
 * 2. each link gets one of fewer bytes if that makes the answer sooner;
 * 3. each link, those that carry least first, gets float32 again, or binary16 instead of zfp, if
 *    that makes the answer no later.
 *
 * How much LZ4 gains is not known before the run. Links of float32 get it, if it is allowed, where
 * trying costs next to nothing even if nothing shrinks, which is what is predicted. */
AD_MUST_CHECK enum adaps_status ad_search_encode(const struct ad_search_problem *problem,
                                                 struct ad_search_result *result,
                                                 struct adaps_error *err);

#endif
