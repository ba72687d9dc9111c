/* The bound, in four steps.
 *
 * 1. What must be computed: from the network's outputs backwards, the rows, columns and channels
 *    that are really read (a stride of 2 with one tap leaves every second row unread). Of several
 *    readers of a value the one that reads most counts (of several that read the same pixels, all:
 *    the parts of a Split). What is read, fusion/reads.h tells.
 * 2. Segments: after an op where all paths meet, and whose readers need all of it for any part of
 *    theirs, everything starts only when everything before has ended, on whatever devices. The
 *    segments' bounds add up.
 * 3. In a segment op i takes a[i][d] seconds on device d, and a share of it at least that share
 *    (the rate, the constant, the bytes of outputs and weights are all no better for a part).
 * Device d can only work from when the input can have reached it until when its result can still
 * reach the source: w[d] seconds are lost. Weak duality of the linear programme "share out all ops,
 *    minimise the latest end": for any weights y >= 0 on a set of devices,
 *
 *      T >= (sum over i of min over d of y[d] a[i][d]  +  sum over d of y[d] w[d]) / sum of y
 *
 *    Devices with w[d] > T cannot help, so the sets {d : w[d] <= limit} are tried from the smallest
 *    limit on; the bound is the smallest of max(T(set), limit). That is done within each segment
 *    (the first waits for the input, the last for the result), and around all of them with the way
 *    there and back.
 *    Every y is valid. Here the y of a device comes from this device and the source alone, out of a
 *    few families: the largest value counts. So a device less, the others as they are, never makes
 *    the bound lower: each sum has its minima over fewer devices and is divided by fewer weights,
 *    and max(T(set), limit) cannot fall by a device that loses less than the limit. Weights that
 *    were improved for the devices at hand would be better by a little, and break that.
 * 4. The same over the whole network with the source's links as further machines: what the others
 *    compute needs bytes from the source, and their results come back (links.c). The larger one of
 *    both is the bound.
 *
 * Steps 1 and 2 are in work.c. */
#include "search/bound/bound.h"
#include "search/bound/links.h"

#include <math.h>

/* What is lost is kept to two bits after the first, and to no less than this. */
#define LEAST_LOST 0x1p-30

/* The value of weights y over the devices with use[d]. */
static double dual(const struct ad_bound_work *w, int first, int end, const bool *use,
                   const double *lost, const double *y)
{
    double sum = 0, extra = 0, weights = 0;
    for (int d = 0; d < w->n; d++) {
        extra += use[d] ? y[d] * lost[d] : 0;
        weights += use[d] ? y[d] : 0;
    }
    for (int i = first; i < end; i++) {
        const double *a = &w->a[(size_t)i * (size_t)w->n];
        double least = INFINITY;
        for (int d = 0; d < w->n; d++)
            least = use[d] ? fmin(least, y[d] * a[d]) : least;
        sum += least;
    }
    return (sum + extra) / weights;
}

/* T over a set of devices: the best dual value found, and ops that one device computes alone. */
static double bound_of_set(const struct ad_bound_work *w, int first, int end, const bool *use,
                           const double *lost)
{
    double y[AD_MAX_DEVICES], best = 0;
    for (int tilt = 0; tilt < AD_BOUND_TILTS; tilt++) {
        ad_bound_weights(w, first, end, tilt, y);
        best = fmax(best, dual(w, first, end, use, lost, y));
    }
    for (int i = first; i < end; i++) {
        double alone = INFINITY;
        bool whole = ad_bound_is_whole(w, &w->problem->graph->ops[i]);
        for (int d = 0; d < w->n && whole; d++)
            if (use[d])
                alone = fmin(alone, w->a[(size_t)i * (size_t)w->n + (size_t)d] + lost[d]);
        best = isfinite(alone) ? fmax(best, alone) : best;
    }
    return best;
}

/* Rounds down to few different numbers, so that few sets are tried. */
static void coarsen(int n, double *lost)
{
    for (int d = 0; d < n; d++) {
        int exponent;
        double mantissa = frexp(fmin(lost[d], AD_BOUND_MOST_SECONDS), &exponent);
        lost[d] = lost[d] < LEAST_LOST ? 0 : ldexp(floor(mantissa * 8) / 8, exponent);
    }
}

/* The set of those devices of `among` that lose at most `limit`; the next limit that changes it, or
 * infinity. */
static double choose(int n, const bool *among, const double *lost, double limit, bool *use)
{
    double next = INFINITY;
    for (int d = 0; d < n; d++) {
        use[d] = among[d] && lost[d] <= limit;
        if (among[d] && !use[d])
            next = fmin(next, lost[d]);
    }
    return next;
}

/* Step 3 for one segment and the devices of `among`: the source, at least. */
static double bound_segment(const struct ad_bound_work *w, int segment, const bool *among)
{
    double lost[AD_MAX_DEVICES], bound = INFINITY, next;
    bool use[AD_MAX_DEVICES];
    int first = segment > 0 ? w->end[segment - 1] : 0;
    for (int d = 0; d < w->n; d++) {
        lost[d] = segment == 0 ? w->to[d] : 0;
        lost[d] += segment == w->nsegments - 1 ? w->from[d] : 0;
    }
    coarsen(w->n, lost);
    for (double limit = 0; limit < bound; limit = next) {
        next = choose(w->n, among, lost, limit, use);
        bound = fmin(bound, fmax(limit, bound_of_set(w, first, w->end[segment], use, lost)));
    }
    return bound;
}

/* Step 3 for all segments. A device so far away that nothing can go there and back within the limit
 * takes part in none. */
static double bound_all(const struct ad_bound_work *w)
{
    double lost[AD_MAX_DEVICES], bound = INFINITY, next;
    bool all[AD_MAX_DEVICES], use[AD_MAX_DEVICES];
    for (int d = 0; d < w->n; d++) {
        lost[d] = w->to[d] + w->from[d];
        all[d] = true;
    }
    coarsen(w->n, lost);
    for (double limit = 0; limit < bound; limit = next) {
        double sum = 0;
        next = choose(w->n, all, lost, limit, use);
        for (int s = 0; s < w->nsegments && sum < bound; s++)
            sum += bound_segment(w, s, use);
        bound = fmin(bound, fmax(limit, sum));
    }
    return bound;
}

enum adaps_status ad_search_bound_without(const struct ad_search_problem *problem, uint64_t unknown,
                                          int64_t *ns, struct adaps_error *err)
{
    const struct ad_graph *graph = problem->graph;
    struct ad_bound_work w;
    double seconds = 0, linked = 0;
    *ns = 0;
    enum adaps_status status = ad_bound_work_init(&w, problem, unknown, err);
    if (status == ADAPS_OK && graph->nops > 0) {
        seconds = bound_all(&w);
        status = ad_bound_links(&w, &linked, err);
    }
    if (status != ADAPS_OK)
        goto out;
    /* Messages are rounded, too: at most a few per value and device. */
    linked -= 2e-9 * w.n * graph->nvalues;
    seconds = fmax(seconds, linked);
    /* The source puts inputs in before anybody has them, and takes outputs out at the end. */
    const struct ad_device *source = &problem->cluster->devices[problem->cluster->source];
    if (!w.starts_freely)
        seconds += fmin(ad_cost_feed_seconds(graph, source), AD_BOUND_MOST_SECONDS);
    seconds += fmin(ad_cost_fetch_seconds(graph, source), AD_BOUND_MOST_SECONDS);
    /* The clocks round every task and message to whole ns. */
    double rounded = floor(seconds * 1e9 * (1 - 1e-8)) - 0.5 * graph->nops - 2.0 * w.n - 3;
    *ns = rounded > 0 ? (int64_t)rounded : 0;
out:
    ad_bound_work_fini(&w);
    return status;
}

enum adaps_status ad_search_bound(const struct ad_search_problem *problem, int64_t *ns,
                                  struct adaps_error *err)
{
    return ad_search_bound_without(problem, 0, ns, err);
}
