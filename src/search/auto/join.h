/* More devices for a layout of few. Internal to search/. */
#ifndef AD_SEARCH_AUTO_JOIN_H
#define AD_SEARCH_AUTO_JOIN_H

#include "search/eval.h"

/* Tries to have devices join that compute nothing in `from`: the fastest of them, the fastest two,
 * four, ..., from the first op up to one behind which the rows change, each with its share by speed
 * or a part of that. The best goes into *best, even where it is behind `from`. */
AD_MUST_CHECK enum adaps_status ad_join_search(struct ad_eval *eval, const struct ad_best *from,
                                               struct ad_best *best);

#endif
