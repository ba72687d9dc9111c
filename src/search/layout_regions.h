/* From a layout to an assignment. */
#ifndef AD_SEARCH_LAYOUT_REGIONS_H
#define AD_SEARCH_LAYOUT_REGIONS_H

#include "search/layout.h"

/* Whether an op computes what its readers want, and no more. exchanged: a reader wants it pinned.
 */
static inline bool ad_layout_derived(const struct ad_op_layout *op, bool exchanged)
{
    return op->dim == AD_DIM_EACH || (op->dim != AD_DIM_WHOLE && !op->pinned && !exchanged);
}

/* Whether an op wants what it reads to be pinned. */
static inline bool ad_layout_exchanges(const struct ad_op_layout *op)
{
    return op->dim != AD_DIM_H && op->dim != AD_DIM_W;
}

/* All of the assignment but its regions. */
void ad_layout_head(const struct ad_layout *layout, struct ad_assignment *out);

/* The assignment of a layout. Split ops are taken as pinned when their output is read by a whole
 * op, by one of AD_DIM_C or AD_DIM_EACH, or is the network's output (at the source). exchange:
 * scratch, nops entries. Searches are sooner done with ad_layout_memo_regions(). */
void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       bool *exchange, struct ad_assignment *out);

#endif
