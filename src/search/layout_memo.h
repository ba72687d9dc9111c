/* What the last few layouts made of each op: for searches, whose layouts differ in a few ops. */
#ifndef AD_SEARCH_LAYOUT_MEMO_H
#define AD_SEARCH_LAYOUT_MEMO_H

#include "search/layout.h"

/* The regions of an op and what they read. Borrowed: valid until the next call for this op. */
struct ad_op_regions {
    const struct ad_region *regions; /* by device */
    const struct ad_region *reads;   /* [input * ndevices + device] */
};

struct ad_layout_memo;

/* For layouts of one graph on so many devices. Free with ad_layout_memo_free() (NULL is fine).
 * NULL without memory. */
struct ad_layout_memo *ad_layout_memo_new(const struct ad_graph *graph, int ndevices);
void ad_layout_memo_free(struct ad_layout_memo *memo);

/* As ad_layout_op_regions(), from the memo if it is there. wanted: what later ops read, by device.
 */
struct ad_op_regions ad_layout_memo_get(struct ad_layout_memo *memo, const struct ad_graph *graph,
                                        const struct ad_layout *layout, int op, bool derived,
                                        const struct ad_region *wanted);

#endif
