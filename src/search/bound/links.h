/* What links add to the lower bound (bound.h). Internal to search/bound/. */
#ifndef AD_SEARCH_BOUND_LINKS_H
#define AD_SEARCH_BOUND_LINKS_H

#include "search/bound/work.h"

#define AD_BOUND_STEPS 48 /* of improving weights */

/* The bound of step 4. y: by device, weights that are good without links. */
AD_MUST_CHECK enum adaps_status ad_bound_links(const struct ad_bound_work *work, const double *y,
                                               double *seconds, struct adaps_error *err);

#endif
