/* Random changes of a layout, on runs of ops. Internal to search/. */
#ifndef AD_SEARCH_MOVES_H
#define AD_SEARCH_MOVES_H

#include "base/rng.h"
#include "search/layout.h"

/* Changes the layout a little; false when the move drawn has nothing to change there. */
bool ad_move(const struct ad_terrain *terrain, struct ad_rng *rng, struct ad_layout *layout);

#endif
