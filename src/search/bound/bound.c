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
 *    there and back. The y are improved by multiplicative steps; every y is valid, so their quality
 *    affects the bound's height only.
 * 4. The same over the whole network with the source's links as further machines: what the others
 *    compute needs bytes from the source, and their results come back (links.c). The larger one of
 *    both is the bound.
 *
 * Steps 1 and 2 are in work.c. */
#include "search/bound/bound.h"
#include "base/round.h"
#include "search/bound/links.h"

#include <math.h>
#include <string.h>

#define LEVELS 8

/* The dual value at y over the devices with use[d]; loads under it into load. */
static double dual(const struct ad_bound_work *w, int first, int end, const bool *use,
                   const double *lost, const double *y, double *load)
{
    double sum = 0, weights = 0;
    for (int d = 0; d < w->n; d++) {
        load[d] = use[d] ? lost[d] : 0;
        sum += use[d] ? y[d] * lost[d] : 0;
        weights += use[d] ? y[d] : 0;
    }
    for (int i = first; i < end; i++) {
        const double *a = &w->a[(size_t)i * (size_t)w->n];
        double least = INFINITY;
        int ties = 0;
        for (int d = 0; d < w->n; d++)
            least = use[d] ? fmin(least, y[d] * a[d]) : least;
        for (int d = 0; d < w->n; d++)
            ties += use[d] && y[d] * a[d] <= least * (1 + 1e-9);
        for (int d = 0; d < w->n && ties > 0; d++)
            if (use[d] && y[d] * a[d] <= least * (1 + 1e-9))
                load[d] += a[d] / ties;
        sum += least;
    }
    return sum / weights;
}

/* T over a set of devices: the best dual value found, and ops that one device computes alone. good,
 * if not NULL: the weights of that value. */
static double bound_of_set(const struct ad_bound_work *w, int first, int end, const bool *use,
                           const double *lost, double *good)
{
    double y[AD_MAX_DEVICES], load[AD_MAX_DEVICES], best = 0;
    for (int d = 0; d < w->n; d++) {
        double total = 0;
        for (int i = first; i < end; i++)
            total += w->a[(size_t)i * (size_t)w->n + (size_t)d];
        y[d] = 1 / fmax(total, 1e-12);
    }
    for (int step = 0; step < AD_BOUND_STEPS; step++) {
        double value = dual(w, first, end, use, lost, y, load), largest = 0;
        if (good && value > best)
            memcpy(good, y, (size_t)w->n * sizeof *y);
        best = fmax(best, value);
        for (int d = 0; d < w->n && value > 0; d++) {
            double push = 0.7 / sqrt(1 + step) * (load[d] - value) / value;
            y[d] *= ad_round_coarse(exp(fmax(-1, fmin(1, push))));
            largest = use[d] ? fmax(largest, y[d]) : largest;
        }
        for (int d = 0; d < w->n && largest > 0; d++)
            y[d] = fmax(y[d] / largest, 1e-9);
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

/* Rounds down to a few levels, so that few sets are tried. That makes the bound lower. */
static void coarsen(int n, double *lost)
{
    double most = 0;
    for (int d = 0; d < n; d++)
        most = fmax(most, lost[d]);
    for (int d = 0; d < n && most > 0; d++)
        lost[d] = floor(lost[d] / most * LEVELS + 1e-9) * most / LEVELS;
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
        bound = fmin(bound, fmax(limit, bound_of_set(w, first, w->end[segment], use, lost, NULL)));
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

/* Step 4: what the links can carry, from weights that are good without them. */
static enum adaps_status bound_links(const struct ad_bound_work *w, double *seconds,
                                     struct adaps_error *err)
{
    double lost[AD_MAX_DEVICES] = {0}, y[AD_MAX_DEVICES];
    bool all[AD_MAX_DEVICES];
    for (int d = 0; d < w->n; d++) {
        all[d] = true;
        y[d] = 1;
    }
    bound_of_set(w, 0, w->problem->graph->nops, all, lost, y);
    return ad_bound_links(w, y, seconds, err);
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
        status = bound_links(&w, &linked, err);
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
