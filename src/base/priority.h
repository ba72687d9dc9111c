/* Which threads get the processor first. Threads of communication have little to do, and others
 * wait for it: they must not wait for a thread that computes, up to 3 ms each time. */
#ifndef AD_BASE_PRIORITY_H
#define AD_BASE_PRIORITY_H

#include <stdint.h>

/* How a thread was scheduled (struct sched_attr of sched_setattr(2), its first version). */
struct ad_priority {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* The calling thread, and those that it starts, run as soon as they have something to do: with the
 * lowest real-time priority (SCHED_RR) where the user may have that, else by short slices (Linux
 * 6.12 and later), else as before. *before: for ad_priority_set(). */
void ad_priority_prompt(struct ad_priority *before);

/* For ad_priority_set(): the thread runs by short slices (Linux 6.12 and later), so that others on
 * its core need not wait long for their turn, nor it for its own. */
void ad_priority_share(struct ad_priority *priority);

/* Schedules the calling thread as *priority says. */
void ad_priority_set(const struct ad_priority *priority);

#endif
