#include "base/stats.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void ad_stats_sort(double *values, size_t n)
{
    if (n > 0)
        qsort(values, n, sizeof *values, compare);
}

double ad_stats_median(double *values, size_t n)
{
    ad_stats_sort(values, n);
    return middle(values, n);
}

/* The q-quantile, interpolated linearly. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

struct ad_interval ad_stats_bootstrap(double *values, size_t n, double level, size_t resamples,
                                      uint64_t seed, double *scratch)
{
    struct ad_interval out = {ad_stats_median(values, n), NAN, NAN};
    struct ad_rng rng = {seed};
    double *sample = scratch, *medians = scratch + n;
    if (n == 0 || resamples == 0)
        return out;
    for (size_t r = 0; r < resamples; r++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = values[ad_rng_below(&rng, (uint32_t)n)];
        medians[r] = ad_stats_median(sample, n);
    }
    ad_stats_sort(medians, resamples);
    out.lo = quantile(medians, resamples, (1 - level) / 2);
    out.hi = quantile(medians, resamples, (1 + level) / 2);
    return out;
}
