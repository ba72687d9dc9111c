/* Which numbers bytes are to stand for: from what was seen of a tensor. */
#ifndef AD_QUANTISE_RANGES_H
#define AD_QUANTISE_RANGES_H

#include "base/error.h"

enum ad_range_method {
    AD_RANGE_MINMAX,     /* all that was seen */
    AD_RANGE_PERCENTILE, /* but for a share at either end */
    AD_RANGE_ENTROPY,    /* the range that loses least of the distribution (Kullback-Leibler) */
    AD_RANGE_MSE         /* the range of the least mean square error */
};

#define AD_RANGE_BINS 2048

/* What was seen of a tensor: first its ends, then how the numbers lie between them. */
struct ad_seen {
    double least, most;    /* 0 is within; least > most: nothing was seen */
    uint64_t *bins;        /* AD_RANGE_BINS, or NULL */
    uint64_t count, zeros; /* numbers in the bins; those of them that are 0 */
};

/* Widens the ends. NaN and infinities do not count. */
void ad_seen_ends(struct ad_seen *seen, const float *numbers, size_t n);

/* Counts numbers between the ends, which are found. ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_seen_count(struct ad_seen *seen, const float *numbers, size_t n,
                                              struct adaps_error *err);
void ad_seen_fini(struct ad_seen *seen);

/* Scale and zero point of uint8, 0..255, by what was seen. share: of AD_RANGE_PERCENTILE, what lies
 * within, such as 0.9999. */
void ad_range_find(const struct ad_seen *seen, enum ad_range_method method, double share,
                   float *scale, uint8_t *zero);

#endif
