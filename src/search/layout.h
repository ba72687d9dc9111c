/* Layouts: the compact form in which the strategies search. An op is either whole on one device, or
 * split along one dimension by cuts. A split op is either pinned (every device computes just its
 * band, and fetches what it reads beyond its own bands) or derived (every device computes whatever
 * its own later ops read: the overlap is recomputed and nothing is exchanged there). All pinned is
 * layer-by-layer exchange; pinned only at the end is full fusion. An op with an output of one pixel
 * (the gate of a squeeze and excite) may also be computed by every device that reads it, by each
 * just what it reads (AD_DIM_EACH): its inputs are exchanged, not its output. */
#ifndef AD_SEARCH_LAYOUT_H
#define AD_SEARCH_LAYOUT_H

#include "schedule/schedule.h"

enum ad_dim { AD_DIM_WHOLE, AD_DIM_H, AD_DIM_W, AD_DIM_C, AD_DIM_EACH, AD_DIMS };

/* Cuts are fractions of the dimension's extent in units of 1/AD_CUT_UNITS. */
#define AD_CUT_UNITS 4096

struct ad_op_layout {
    enum ad_dim dim;
    bool pinned;
    bool early; /* the rows that others wait for are computed and sent before the rest */
    int at;     /* the device of a whole op */
    int across; /* of an op split along h: above 1, a grid: groups of this many devices, in order,
                   share a band, each an equal part of its columns */
};

struct ad_layout {
    int nops, ndevices;
    int hub;                       /* as in struct ad_assignment */
    bool u8;                       /* likewise */
    int input_chunks, band_chunks; /* likewise */
    enum ad_order order;           /* likewise */
    enum ad_encoding encoding;     /* of all links */
    struct ad_op_layout *ops;
    int *cuts; /* [op * (ndevices + 1) + d]: device d has [cut d, cut d+1); ascending, 0 .. UNITS */
};

/* Everything whole on device 0, no hub. */
AD_MUST_CHECK enum adaps_status ad_layout_init(struct ad_layout *out, int nops, int ndevices,
                                               struct adaps_error *err);
void ad_layout_fini(struct ad_layout *layout);
void ad_layout_copy(const struct ad_layout *from, struct ad_layout *to); /* of the same size */

/* All but the ops: hub, u8, input_chunks, band_chunks, order, encoding. */
void ad_layout_copy_head(const struct ad_layout *from, struct ad_layout *to);

static inline int ad_clamp(int x, int lo, int hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static inline int *ad_layout_cuts(const struct ad_layout *layout, int op)
{
    return &layout->cuts[(size_t)op * (size_t)(layout->ndevices + 1)];
}

/* How many rows, columns or channels; 1 for AD_DIM_WHOLE. */
int32_t ad_dim_extent(const struct ad_value *value, enum ad_dim dim);

/* The rows (columns, channels) [lo, hi) of a value. */
struct ad_region ad_dim_slab(const struct ad_value *value, enum ad_dim dim, int32_t lo, int32_t hi);

/* Whether half of the op's output along this dimension can be computed alone. */
bool ad_dim_splits(const struct ad_graph *graph, const struct ad_op *op, enum ad_dim dim);

/* The row (column, channel) at which a cut lies, of `size`; and the cut of a row. For sizes up to
 * AD_CUT_UNITS one undoes the other. */
int32_t ad_cut_row(int cut, int32_t size);
int ad_row_cut(int32_t row, int32_t size);

/* Cuts in proportion to weight[0 .. ndevices); all weights 0: everything to device 0. */
void ad_cuts_proportional(const double *weight, int ndevices, int *cuts);

/* The regions of one op by device, in place. derived: they follow from what later ops read, which
 * is what regions[] holds before. */
void ad_layout_op_regions(const struct ad_graph *graph, const struct ad_layout *layout, int op,
                          bool derived, struct ad_region *regions);

#endif
