/* Layouts: the compact form in which the strategies think. An op is either whole on one device, or
 * split along one dimension by cuts; a split op is either pinned (every device computes just its
 * band, and fetches what it reads beyond its own bands) or derived (every device computes whatever
 * its own later ops read: the overlap is recomputed and nothing is exchanged there). All pinned is
 * layer-by-layer exchange; pinned only at the end is full fusion. What is one pixel (the gate of a
 * squeeze and excite) may also be computed by every device that reads it, by each all that it reads
 * (AD_DIM_EACH): its inputs are exchanged, not its output. */
#ifndef AD_SEARCH_LAYOUT_H
#define AD_SEARCH_LAYOUT_H

#include "search/search.h"

enum ad_dim { AD_DIM_WHOLE, AD_DIM_H, AD_DIM_W, AD_DIM_C, AD_DIM_EACH, AD_DIMS };

/* Cuts are fractions of the dimension's extent in units of 1/AD_CUT_UNITS. */
#define AD_CUT_UNITS 4096

struct ad_op_layout {
    enum ad_dim dim;
    bool pinned;
    bool early; /* what others wait for is computed and sent before the rest */
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

/* What does not change during a search. */
struct ad_context {
    const struct ad_search_problem *problem;
    bool (*can)[AD_DIMS]; /* by op: may be split along that dimension (and --dims allows it) */
    bool *dense;          /* by op: one-pixel map or feature vector that may be split along c */
    bool *cut;            /* by op: ad_blocks_cuts() */
    int *segment;         /* by op: index of its segment between cuts, ascending */
    int nsegments;
    int *alike;                   /* by op: the first op of its kind, shapes and number of inputs */
    bool u8;                      /* inputs may travel as bytes */
    enum ad_encoding encoding;    /* ad_search_quickest() */
    double speed[AD_MAX_DEVICES]; /* MAC/s of convolutions */
    int order[AD_MAX_DEVICES];    /* the source, then the others by falling speed */
    int fastest;                  /* ties: the source, then the lower index */
};

AD_MUST_CHECK enum adaps_status ad_context_init(struct ad_context *out,
                                                const struct ad_search_problem *problem,
                                                struct adaps_error *err);
void ad_context_fini(struct ad_context *context);

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

/* The row (column, channel) at which a cut lies, of `size`; and the cut of a row. For sizes up to
 * AD_CUT_UNITS one undoes the other. */
int32_t ad_cut_row(int cut, int32_t size);
int ad_row_cut(int32_t row, int32_t size);

/* The dimension in which a method that knows bands only splits the op: h, else w, else whole. */
enum ad_dim ad_context_bands(const struct ad_context *context, int op);

/* Cuts in proportion to weight[0 .. ndevices); all weights 0: everything to device 0. */
void ad_cuts_proportional(const double *weight, int ndevices, int *cuts);

/* Speeds of the devices with use[d], 0 for the others. */
void ad_context_weights(const struct ad_context *context, const bool *use, double *weight);

/* The regions of a layout. Split ops whose output a whole op, one of AD_DIM_C or AD_DIM_EACH, or
 * the network's output (at the source) reads are taken as pinned. exchange: scratch, nops entries.
 */
void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       bool *exchange, struct ad_assignment *out);

/* What the last few layouts made of each op: for searches, whose layouts differ in a few ops. */
struct ad_layout_memo;

/* For layouts of one graph on so many devices. Free with ad_layout_memo_free() (NULL is fine).
 * NULL without memory. */
struct ad_layout_memo *ad_layout_memo_new(const struct ad_graph *graph, int ndevices);
void ad_layout_memo_free(struct ad_layout_memo *memo);

/* As ad_layout_regions(), sooner. */
void ad_layout_regions_again(struct ad_layout_memo *memo, const struct ad_graph *graph, int source,
                             const struct ad_layout *layout, bool *exchange,
                             struct ad_assignment *out);

/* log10 of how many layouts there are: per op either one of the devices, or a dimension, cuts at
 * whole rows (columns, channels) and a pin. */
double ad_layout_space(const struct ad_context *context);

#endif
