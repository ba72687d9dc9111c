/* What must be computed, and how long that takes each device: steps 1 and 2 of the bound
 * (bound.c). Internal to search/bound/. */
#ifndef AD_SEARCH_BOUND_WORK_H
#define AD_SEARCH_BOUND_WORK_H

#include "fusion/reads.h"
#include "search/problem.h"

#define AD_BOUND_MOST_SECONDS 1e6 /* the simulator cuts longer tasks and messages off */

/* Seconds. */
struct ad_bound_work {
    const struct ad_search_problem *problem;
    uint64_t unknown; /* AD_BOUND_KIND()s */
    int n;
    struct ad_marks *read; /* by value: what of it is read, at the least */
    struct ad_marks marks; /* scratch: of any value */
    uint8_t *bytes;        /* of all of them */
    int64_t *pixels;       /* by value: rows x columns read; 0: not read */
    int64_t *depth;        /* by value: channels read */
    double *a;             /* [op * n + device] */
    int *end;              /* by segment: one past its last op */
    int nsegments;
    bool starts_freely; /* something may be computed without waiting for the network's input */
    double to[AD_MAX_DEVICES], from[AD_MAX_DEVICES]; /* latency from and to the source */
};

/* Fills in everything. Free with ad_bound_work_fini(), also after a failure: ADAPS_EINTERNAL
 * without memory. */
AD_MUST_CHECK enum adaps_status ad_bound_work_init(struct ad_bound_work *out,
                                                   const struct ad_search_problem *problem,
                                                   uint64_t unknown, struct adaps_error *err);
void ad_bound_work_fini(struct ad_bound_work *work);

/* A weight of each device for ops [first, end), y[source] = 1: about how much quicker it is than
 * the source, more or less tilted (0 to AD_BOUND_TILTS - 1; 0: not at all). It depends on the
 * device and the source alone, and is short enough for sums of some to be exact. */
#define AD_BOUND_TILTS 7
void ad_bound_weights(const struct ad_bound_work *work, int first, int end, int tilt, double *y);

/* How an op reads input k, as far as the bound knows. */
struct ad_reads ad_bound_reads(const struct ad_bound_work *work, const struct ad_op *op, int k);

/* Whether the op's output can only be computed whole. */
bool ad_bound_is_whole(const struct ad_bound_work *work, const struct ad_op *op);

#endif
