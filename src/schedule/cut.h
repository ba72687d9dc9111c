/* Cuts the bands of all ops into pieces (pieces.h). Internal to schedule/. */
#ifndef AD_SCHEDULE_CUT_H
#define AD_SCHEDULE_CUT_H

#include "schedule/pieces.h"

/* Finds the edges, cut and dependencies of all ops, whose routes are known. False without
 * memory. */
AD_MUST_CHECK bool ad_cut_ops(struct ad_pieces *p);

#endif
