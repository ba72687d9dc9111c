/* From a layout to an assignment. */
#ifndef AD_SEARCH_LAYOUT_REGIONS_H
#define AD_SEARCH_LAYOUT_REGIONS_H

#include "search/layout_memo.h"

/* The assignment of a layout. Split ops are taken as pinned when their output is read by a whole
 * op, by one of AD_DIM_C or AD_DIM_EACH, or is the network's output (at the source). memo:
 * nullable, for layouts of this graph; the result is the same without, later. exchange: scratch,
 * nops entries. */
void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       struct ad_layout_memo *memo, bool *exchange, struct ad_assignment *out);

#endif
