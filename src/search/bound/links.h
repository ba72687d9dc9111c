/* What the source's links can carry, as a bound. Internal to search/bound/. */
#ifndef AD_SEARCH_BOUND_LINKS_H
#define AD_SEARCH_BOUND_LINKS_H

#include "search/bound/work.h"

/* *seconds: no plan is quicker; 0 for a single device. ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_bound_links(const struct ad_bound_work *work, double *seconds,
                                               struct adaps_error *err);

#endif
