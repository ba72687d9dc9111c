/* Medians and their confidence intervals. */
#ifndef AD_BASE_STATS_H
#define AD_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; no NANs. */
void ad_stats_sort(double *values, size_t n);

/* Sorts values; the mean of the two in the middle when n is even; NAN for n = 0. */
double ad_stats_median(double *values, size_t n);

struct ad_interval {
    double median, lo, hi;
};

/* The median of n values and the interval in which `level` (0.95) of the medians of `resamples`
 * samples of n of them lie, drawn with replacement (percentile bootstrap); the same for the same
 * seed. Sorts values; scratch: room for n + resamples numbers. NANs for n = 0. */
struct ad_interval ad_stats_bootstrap(double *values, size_t n, double level, size_t resamples,
                                      uint64_t seed, double *scratch);

#endif
