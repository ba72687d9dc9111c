/* How long things of one kind took: a histogram, and quantiles of the latest ones. Any thread may
 * add and any thread may read at the same time; nobody waits. */
#ifndef AD_BASE_DURATIONS_H
#define AD_BASE_DURATIONS_H

#include <stdatomic.h>
#include <stdint.h>

/* Upper bounds, inclusive: 0.5 ms, and each twice the one before, to 32.768 s. What took longer is
 * in one more bucket, the last. */
#define AD_DURATION_BOUNDS 17
#define AD_DURATION_BUCKETS (AD_DURATION_BOUNDS + 1)

#define AD_DURATIONS_RECENT 256 /* what quantiles are of */

/* Zero-initialised is empty and usable. */
struct ad_durations {
    atomic_uint_least64_t buckets[AD_DURATION_BUCKETS];
    atomic_uint_least64_t added;
    atomic_int_least64_t sum_ns;
    atomic_int_least64_t recent[AD_DURATIONS_RECENT]; /* a ring */
};

/* What was read. */
struct ad_durations_seen {
    uint64_t buckets[AD_DURATION_BUCKETS]; /* each without those before it */
    uint64_t count;                        /* of all buckets */
    int64_t sum_ns;
    int recent;             /* so many of the latest: */
    int64_t p50_ns, p95_ns; /* 0 without any */
};

/* A bound in nanoseconds, 0 <= i < AD_DURATION_BOUNDS. */
int64_t ad_duration_bound(int i);

/* Adds one; below 0 counts as 0. */
void ad_durations_add(struct ad_durations *durations, int64_t ns);

void ad_durations_look(const struct ad_durations *durations, struct ad_durations_seen *out);

#endif
