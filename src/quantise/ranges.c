#include "quantise/ranges.h"
#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LEVELS 256
#define STEPS 64 /* ranges that are tried, each a part of all that was seen */

void ad_seen_ends(struct ad_seen *seen, const float *numbers, size_t n)
{
    if (seen->least > seen->most)
        seen->least = seen->most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i]))
            continue;
        seen->least = fmin(seen->least, (double)numbers[i]);
        seen->most = fmax(seen->most, (double)numbers[i]);
    }
}

static double bin_width(const struct ad_seen *seen)
{
    return (seen->most - seen->least) / AD_RANGE_BINS;
}

enum adaps_status ad_seen_count(struct ad_seen *seen, const float *numbers, size_t n,
                                struct adaps_error *err)
{
    if (!seen->bins && !(seen->bins = ad_calloc(AD_RANGE_BINS, sizeof *seen->bins)))
        return ad_error_memory(err, "ranges", AD_RANGE_BINS * sizeof *seen->bins);
    double width = bin_width(seen);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i]))
            continue;
        double at = width > 0 ? ((double)numbers[i] - seen->least) / width : 0;
        int bin = at < 0 ? 0 : at >= AD_RANGE_BINS ? AD_RANGE_BINS - 1 : (int)at;
        seen->bins[bin]++;
        seen->count++;
        seen->zeros += numbers[i] == 0;
    }
    return ADAPS_OK;
}

void ad_seen_fini(struct ad_seen *seen)
{
    ad_free(seen->bins);
    *seen = (struct ad_seen){.least = 1};
}

/* Leaves out half of what is not within the share at either end. */
static void find_percentile(const struct ad_seen *seen, double share, double *least, double *most)
{
    double out = (1 - share) / 2 * (double)seen->count, width = bin_width(seen), sum = 0;
    int lo = 0, hi = AD_RANGE_BINS;
    while (lo < hi && (sum += (double)seen->bins[lo]) <= out)
        lo++;
    for (sum = 0; hi > lo && (sum += (double)seen->bins[hi - 1]) <= out;)
        hi--;
    *least = fmin(0, seen->least + lo * width);
    *most = fmax(0, seen->least + hi * width);
}

/* The mean square error of a range: of rounding within it, and of what it cuts off. */
static double square_error(const struct ad_seen *seen, double least, double most)
{
    double step = (most - least) / (LEVELS - 1), width = bin_width(seen), sum = 0;
    for (int i = 0; i < AD_RANGE_BINS; i++) {
        double x = seen->least + (i + 0.5) * width;
        double off = x < least ? least - x : x > most ? x - most : 0;
        sum += (double)seen->bins[i] * (off * off + step * step / 12);
    }
    return sum;
}

/* Numbers of a bin but for zeros, which every range has exactly: those that a ReLU makes would
 * outweigh all others. */
static double counted_at(const struct ad_seen *seen, int bin)
{
    double width = bin_width(seen);
    int at = width > 0 ? (int)fmin(AD_RANGE_BINS - 1, -seen->least / width) : 0;
    return (double)(seen->bins[bin] - (bin == at ? seen->zeros : 0));
}

/* How much of the distribution is lost: what lies beyond goes to the ends, and all bins of a level
 * become alike. */
static double divergence(const struct ad_seen *seen, double least, double most)
{
    double width = bin_width(seen), sum = 0, all = fmax(1, (double)(seen->count - seen->zeros));
    int lo = (int)fmax(0, round((least - seen->least) / width));
    int hi = (int)fmin(AD_RANGE_BINS, round((most - seen->least) / width));
    if (hi - lo < LEVELS)
        return INFINITY;
    double below = 0, above = 0;
    for (int i = 0; i < lo; i++)
        below += counted_at(seen, i);
    for (int i = hi; i < AD_RANGE_BINS; i++)
        above += counted_at(seen, i);
    for (int level = 0; level < LEVELS; level++) {
        int from = lo + (int)((int64_t)(hi - lo) * level / LEVELS);
        int to = lo + (int)((int64_t)(hi - lo) * (level + 1) / LEVELS);
        double inside = 0;
        int used = 0;
        for (int i = from; i < to; i++) {
            inside += counted_at(seen, i);
            used += counted_at(seen, i) > 0;
        }
        for (int i = from; i < to; i++) {
            double p = counted_at(seen, i), q = used ? inside / used : 0;
            p += (i == lo ? below : 0) + (i == hi - 1 ? above : 0);
            if (p > 0)
                sum += p / all * log(p / fmax(q, 1e-3));
        }
    }
    return sum;
}

typedef double loss_function(const struct ad_seen *seen, double least, double most);

/* The best of ranges that keep a part of either end. */
static void search(const struct ad_seen *seen, loss_function *loss, double *least, double *most)
{
    double best = INFINITY, low = *least, high = *most;
    for (int i = STEPS; i > STEPS / 16; i--)
        for (int k = STEPS; k > STEPS / 16; k--) {
            double lo = seen->least * i / STEPS, hi = seen->most * k / STEPS;
            if ((seen->least == 0 && i < STEPS) || (seen->most == 0 && k < STEPS) || lo >= hi)
                continue;
            double now = loss(seen, lo, hi);
            if (now < best) {
                best = now;
                low = lo;
                high = hi;
            }
        }
    *least = low;
    *most = high;
}

void ad_range_find(const struct ad_seen *seen, enum ad_range_method method, double share,
                   float *scale, uint8_t *zero)
{
    double least = fmin(seen->least, 0), most = fmax(seen->most, 0);
    bool counted = seen->bins && seen->count > 0 && most > least;
    if (counted && method == AD_RANGE_PERCENTILE)
        find_percentile(seen, share, &least, &most);
    else if (counted && method == AD_RANGE_ENTROPY)
        search(seen, divergence, &least, &most);
    else if (counted && method == AD_RANGE_MSE)
        search(seen, square_error, &least, &most);
    double step = (most - least) / (LEVELS - 1);
    *scale = step > FLT_MIN && step < FLT_MAX ? (float)step : 1;
    *zero = (uint8_t)fmin(LEVELS - 1, fmax(0, rint(-least / (double)*scale)));
}
