/* The planning problem of ADaPS (Mateu Cuadrat, Egger: LCTES 2025), equations 1 to 12, for a chain
 * of layers that are split along one dimension. Arrays in, intervals out: no graph, no clocks.
 *
 * Device d computes rows [s, e) of layer l's output; the intervals of a layer cover it from 0 to
 * out_size, in the order of the devices, and neighbours may overlap. The score of a chain (eqs 11,
 * 12) is the sum over its layers of
 * - t_comp (eqs 4, 5): max over d of floor(rows * work / speed_d);
 * - t_data (eqs 6-8): rows that d reads of the layer and does not compute itself, each
 *   bytes / BW_d; none after the last layer of the chain;
 * - t_ov (eqs 9, 10): overlapping rows, counted at both of their devices, each work / speed_d.
 *
 * It is a whole number of ticks. The caller chooses the tick by the units of work and bytes.
 *
 * What the paper leaves open, and how it is read here:
 * - Eq 4's out_size is the number of rows of the device's interval. All layers have rows of equal
 *   weight there; here a row of a layer weighs `work` and `bytes`, without which layers could not
 *   be added up. The floor is to a whole tick; eqs 8 and 10 use the time of one row, rounded to a
 *   tick.
 * - div_in of eq 12 is what the next layer's interval reads: its receptive field, clipped to the
 *   layer. Eqs 6 and 7 are taken as written (an interval that lies outside of what the device
 *   computes is fetched whole).
 * - The window. Eq 3 says how many sizes there are above the least one (eq 1): sizes from min_size
 *   to min_size + floor(search_size). Section 5.6 says [p - thr p, p + thr p] around the balanced
 *   size p. Eq 3 is what is used: it reproduces the nodes that Table 6 gives for two devices
 *   (26, 48, 70, 92), while the other reading leaves a single size at 16 devices and 5 %, where the
 *   table has a space of 10^17.
 * - Where (max_size - min_size) * thr is below one row, eq 3 leaves a fast device no choice at all:
 * on maps of some 28 rows no border could move. There is always one size more than the least one.
 * - The paper charges nothing at the borders of a sub-block, which would send halos to the widest
 *   tensors. A first or last layer whose intervals are given stands for what lies there: eq 12
 *   charges what crosses the border as between layers.
 * - A device computes at least one row (what eq 2 says of the others), and at most max_size. The
 *   window always holds the balanced size rounded up; else rows that the floor of eq 1 leaves over
 *   could not be given to anyone. Layers with fewer rows than devices are not for this problem.
 * - Starts and ends do not fall from one device to the next, which makes eq 9 the size of the
 *   overlap.
 * - Alpha-beta (4.5.4): a node is cut when a lower bound of everything below it reaches the best
 *   score so far. The bound is admissible, so nothing better is lost; where the paper relies on
 *   convexity to cut, this relies on proof. A search that ends within its budget is exact. */
#ifndef AD_SEARCH_PAPER_PAPER_H
#define AD_SEARCH_PAPER_PAPER_H

#include "base/error.h"
#include "base/mem.h"

#define AD_PAPER_DEVICES 64
#define AD_PAPER_ROWS 4096

struct ad_paper_interval {
    int s, e;
};

struct ad_paper_layer {
    int out_size;            /* rows of its output (columns, when columns are split), at most
                                AD_PAPER_ROWS */
    int kernel, stride, pad; /* how output rows read the rows of the layer before: kernel =
                                dilation * (k - 1) + 1, pad in front; 1, 1, 0 for elementwise */
    double work;             /* of one output row: ticks at speed 1 */
    double bytes;            /* of one output row */
    /* By device, where they cannot be chosen: how a value lies that the chain reads, or who wants
       its result. Ascending, from 0 to out_size, without gaps; may be empty. NULL: to be found. */
    const struct ad_paper_interval *given;
};

struct ad_paper_problem {
    const struct ad_paper_layer *layers;
    int nlayers;
    int ndevices;            /* 1..AD_PAPER_DEVICES, at most out_size of every layer */
    const double *speed;     /* by device, relative, > 0 */
    const double *bandwidth; /* by device: bytes per tick, > 0 */
    double threshold;        /* thr of eq 3, 0..1 */
    bool around;             /* sizes as section 5.6 has them instead: up to (1 + thr) times the
                                balanced one. (Smaller ones than that are none in either reading:
                                an interval holds the balanced one, so that no row is left out.) */
    int64_t node_limit;      /* of the tree; 0: no tree, the answer comes from the relaxation */
    int iterations;          /* of the relaxation, at most; 0: the tree alone, from nothing */
    int64_t deadline_ns;     /* of ad_clock_ns(): what is found until then is the answer; 0: none */
};

struct ad_paper_result {
    struct ad_paper_interval *cuts; /* [layer * ndevices + device] */
    int64_t score;                  /* ticks */
    double bound;       /* no layout of the window has a lower score; = score when proven */
    double gap;         /* (score - bound) / score; 0 when the score is */
    double space_log10; /* layouts in the window */
    int64_t visited;    /* layouts evaluated whole, and tree nodes whose bound was computed */
    int64_t pruned;     /* of these, nodes that were cut */
    int64_t reused;     /* sub-trees whose result was known (4.5.3) */
    bool proven;        /* the score is the least of the window */
};

/* Ticks; costs and scores stay below 2^53. Errors: ADAPS_EINPUT names the layer and the rule when
 * the problem is not as described above, ADAPS_EINTERNAL without memory. On failure there is
 * nothing to free. */
AD_MUST_CHECK enum adaps_status ad_paper_search(const struct ad_paper_problem *problem,
                                                struct ad_paper_result *out,
                                                struct adaps_error *err);
void ad_paper_result_fini(struct ad_paper_result *result);

#endif
