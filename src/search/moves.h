/* Random changes of a layout, on runs of ops. Internal to search/. */
#ifndef AD_SEARCH_MOVES_H
#define AD_SEARCH_MOVES_H

#include "base/rng.h"
#include "search/focus.h"

/* Changes the layout a little; false when the move drawn has nothing to change there. */
bool ad_move(const struct ad_terrain *terrain, const struct ad_focus *focus, struct ad_rng *rng,
             struct ad_layout *layout);

#endif
