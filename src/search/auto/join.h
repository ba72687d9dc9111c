/* More devices for a layout of few. */
#ifndef AD_SEARCH_AUTO_JOIN_H
#define AD_SEARCH_AUTO_JOIN_H

#include "search/eval.h"

/* Lets devices join that compute nothing in `from`: the fastest of them, the fastest two, four,
 * ..., from the first op up to one after which the number of rows changes, each with its share by
 * speed or a part of that. The best goes into *best, even where it is worse than `from`. */
AD_MUST_CHECK enum adaps_status ad_join_search(struct ad_eval *eval, const struct ad_best *from,
                                               struct ad_best *best);

#endif
