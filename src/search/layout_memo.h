/* The regions of one layout after another: for searches, whose layouts differ in a few ops. Only
 * what a difference leads to is found anew, and what the last few layouts made of each op is
 * remembered. */
#ifndef AD_SEARCH_LAYOUT_MEMO_H
#define AD_SEARCH_LAYOUT_MEMO_H

#include "search/layout.h"

struct ad_layout_memo;

/* For layouts of one graph on so many devices. Free with ad_layout_memo_free() (NULL is fine).
 * NULL without memory. */
struct ad_layout_memo *ad_layout_memo_new(const struct ad_graph *graph, int source, int ndevices);
void ad_layout_memo_free(struct ad_layout_memo *memo);

/* As ad_layout_regions(). */
void ad_layout_memo_regions(struct ad_layout_memo *memo, const struct ad_layout *layout,
                            struct ad_assignment *out);

#endif
