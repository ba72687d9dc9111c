/* What links add to the lower bound (bound.h). */
#ifndef AD_SEARCH_BOUND_BOUND_LINKS_H
#define AD_SEARCH_BOUND_BOUND_LINKS_H

#include "search/problem.h"

#define AD_BOUND_STEPS 48         /* of improving weights */
#define AD_BOUND_MOST_SECONDS 1e6 /* the simulator cuts longer tasks and messages off */

/* What bound.c knows of a problem by its steps 1 and 2. Seconds. */
struct ad_bound_work {
    const struct ad_search_problem *problem;
    int n;
    uint8_t *marks;            /* scratch, and all values' rows, columns and channels */
    uint8_t **rows, **columns; /* by value: which are read */
    uint8_t **channels;        /* NULL for values without parts, which are read whole or not */
    int64_t *pixels;           /* by value: rows x columns read; 0: not read */
    int64_t *depth;            /* by value: channels read */
    double *a;                 /* [op * n + device] */
    int *end;                  /* by segment: one past its last op */
    int nsegments;
    double to[AD_MAX_DEVICES], from[AD_MAX_DEVICES]; /* latency from and to the source */
};

/* Which rows and columns of an input (and channels, if it has parts) are read for the marked ones
 * of the op's output, into the scratch: rows, columns behind them, channels behind these. */
void ad_bound_mark(const struct ad_bound_work *work, const struct ad_op *op, int value);

/* How many of `size` rows or columns are marked. */
int64_t ad_bound_count(const uint8_t *marks, int64_t size);

/* The bound of step 4. y: by device, weights that are good without links. */
AD_MUST_CHECK enum adaps_status ad_bound_links(const struct ad_bound_work *work, const double *y,
                                               double *seconds, struct adaps_error *err);

#endif
