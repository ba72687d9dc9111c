/* Which pieces wait for which pieces and messages (pieces.h). Internal to schedule/. */
#ifndef AD_SCHEDULE_DEPENDENCIES_H
#define AD_SCHEDULE_DEPENDENCIES_H

#include "schedule/pieces.h"

/* Finds the op's dependencies; its cut and those of the ops before it are known. False without
 * memory. */
AD_MUST_CHECK bool ad_dependencies_find(struct ad_pieces *p, int op);

#endif
