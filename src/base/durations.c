#include "base/durations.h"

#include <stdlib.h>

#define FIRST_BOUND_NS 500000

int64_t ad_duration_bound(int i)
{
    return (int64_t)FIRST_BOUND_NS << i;
}

void ad_durations_add(struct ad_durations *durations, int64_t ns)
{
    int bucket = 0;
    ns = ns > 0 ? ns : 0;
    while (bucket < AD_DURATION_BOUNDS && ns > ad_duration_bound(bucket))
        bucket++;
    uint64_t place = atomic_fetch_add_explicit(&durations->added, 1, memory_order_relaxed);
    atomic_store_explicit(&durations->recent[place % AD_DURATIONS_RECENT], ns,
                          memory_order_relaxed);
    atomic_fetch_add_explicit(&durations->sum_ns, ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&durations->buckets[bucket], 1, memory_order_relaxed);
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The smallest value that at least so much of them are not above (nearest rank). */
static int64_t quantile(const int64_t *sorted, int n, int percent)
{
    int rank = (n * percent + 99) / 100;
    return n == 0 ? 0 : sorted[rank > 0 ? rank - 1 : 0];
}

void ad_durations_look(const struct ad_durations *durations, struct ad_durations_seen *out)
{
    int64_t recent[AD_DURATIONS_RECENT];
    uint64_t added = atomic_load_explicit(&durations->added, memory_order_relaxed);
    int n = added < AD_DURATIONS_RECENT ? (int)added : AD_DURATIONS_RECENT;
    out->count = 0;
    for (int i = 0; i < AD_DURATION_BUCKETS; i++) {
        out->buckets[i] = atomic_load_explicit(&durations->buckets[i], memory_order_relaxed);
        out->count += out->buckets[i];
    }
    out->sum_ns = atomic_load_explicit(&durations->sum_ns, memory_order_relaxed);
    for (int i = 0; i < n; i++)
        recent[i] = atomic_load_explicit(&durations->recent[i], memory_order_relaxed);
    qsort(recent, (size_t)n, sizeof *recent, compare);
    out->recent = n;
    out->p50_ns = quantile(recent, n, 50);
    out->p95_ns = quantile(recent, n, 95);
}
