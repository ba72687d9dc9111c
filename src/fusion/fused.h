/* Fused ranges: consecutive operators that one device executes without an exchange; what the later
 * ones need beyond the device's own share is recomputed (the overlap). */
#ifndef AD_FUSION_FUSED_H
#define AD_FUSION_FUSED_H

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

/* Grows `out` minimally until ad_region_allowed() holds: aligned to groups, reading some input, two
 * pixels (the second one in w if w > 1), or whole. What is outside the value is dropped. Empty
 * stays empty. */
struct ad_region ad_region_allow(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out);

#endif
