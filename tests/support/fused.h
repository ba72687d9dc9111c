/* Fused ranges, as an oracle for what the search makes of layouts (search/layout_regions.c):
 * consecutive operators that one device executes without an exchange. What the later ones need
 * beyond the device's own share is recomputed (the overlap). */
#ifndef TESTS_FUSED_H
#define TESTS_FUSED_H

#include "fusion/region.h"

/* Walks ops [first, last] (indices in topological order) backwards: `regions` is indexed by op
 * (graph->nops entries); on entry it holds the regions wanted of any op of the range (others
 * empty); on return every op of the range holds the hull of what was wanted and what later ops of
 * the range need of it, made allowed (ad_region_allowed) by growing. Ops outside the range are
 * untouched. */
void ad_fused_backward(const struct ad_graph *graph, int first, int last,
                       struct ad_region *regions);

/* The region of value `v` that the range reads from outside of it (hull over its ops); empty when
 * the range itself produces v. `regions` as ad_fused_backward() left them. */
struct ad_region ad_fused_input(const struct ad_graph *graph, int first, int last,
                                const struct ad_region *regions, int v);

/* The smallest region that holds all boxes of a set. */
struct ad_region ad_region_set_hull(const struct ad_region_set *set);

#endif
