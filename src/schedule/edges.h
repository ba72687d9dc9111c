/* Edges: the boundaries of bands that go ahead of the rest, and the chunks that go ahead of the
 * next ones (pieces.h). Internal to schedule/. */
#ifndef AD_SCHEDULE_EDGES_H
#define AD_SCHEDULE_EDGES_H

#include "schedule/pieces.h"

/* Finds the op's edges and chunks; those of the ops after it are known. False without memory. */
AD_MUST_CHECK bool ad_edges_find(struct ad_pieces *p, int op);

#endif
