#include "exec/engine/timestamps.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdatomic.h>

struct ad_timestamps {
    atomic_int references;
    int nsteps;
    /* By step, then by step again: when the message of a SEND had left; 1 if that of a RECV was
     * waited for. */
    _Atomic int64_t ns[];
};

struct ad_timestamps *ad_timestamps_new(int nsteps)
{
    struct ad_timestamps *timestamps =
        ad_calloc(1, sizeof *timestamps + 2 * (size_t)nsteps * sizeof timestamps->ns[0]);
    if (!timestamps)
        return NULL;
    atomic_init(&timestamps->references, 1);
    timestamps->nsteps = nsteps;
    return timestamps;
}

void ad_timestamps_ref(struct ad_timestamps *timestamps)
{
    atomic_fetch_add(&timestamps->references, 1);
}

void ad_timestamps_unref(struct ad_timestamps *timestamps)
{
    if (timestamps && atomic_fetch_sub(&timestamps->references, 1) == 1)
        ad_free(timestamps);
}

void ad_timestamps_set(struct ad_timestamps *timestamps, int step)
{
    atomic_store_explicit(&timestamps->ns[step], ad_clock_ns(), memory_order_relaxed);
}

void ad_timestamps_found(struct ad_timestamps *timestamps, int step, bool waited)
{
    ad_timestamps_set(timestamps, step);
    if (waited)
        atomic_store_explicit(&timestamps->ns[timestamps->nsteps + step], 1, memory_order_relaxed);
}

void ad_timestamps_leave(struct ad_timestamps *timestamps, int step)
{
    ad_timestamps_set(timestamps, timestamps->nsteps + step);
}

int64_t ad_timestamps_get(const struct ad_timestamps *timestamps, int step)
{
    return atomic_load_explicit(&timestamps->ns[step], memory_order_relaxed);
}

int64_t ad_timestamps_left(const struct ad_timestamps *timestamps, int step)
{
    return ad_timestamps_get(timestamps, timestamps->nsteps + step);
}

bool ad_timestamps_waited(const struct ad_timestamps *timestamps, int step)
{
    return ad_timestamps_get(timestamps, timestamps->nsteps + step) != 0;
}
