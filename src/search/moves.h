/* Random changes of a layout, on runs of ops. Internal to search/. */
#ifndef AD_SEARCH_MOVES_H
#define AD_SEARCH_MOVES_H

#include "base/rng.h"
#include "search/focus.h"
#include "search/starts.h"

/* Changes the layout a little; false when the move drawn has nothing to change there. starts:
 * nullable; from whose layouts it may take over parts. */
bool ad_move(const struct ad_terrain *terrain, const struct ad_focus *focus,
             const struct ad_starts *starts, struct ad_rng *rng, struct ad_layout *layout);

#endif
