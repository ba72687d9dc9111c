/* Random changes of a layout, on runs of ops. */
#ifndef AD_SEARCH_AUTO_MOVES_H
#define AD_SEARCH_AUTO_MOVES_H

#include "base/rng.h"
#include "search/auto/critical_path.h"
#include "search/auto/elite.h"

/* Changes the layout a little; false when the move drawn has nothing to change there. pool:
 * nullable; a move may copy parts of its layouts. */
bool ad_move(const struct ad_context *context, const struct ad_critical_path *critical_path,
             const struct ad_elite_pool *pool, struct ad_rng *rng, struct ad_layout *layout);

#endif
