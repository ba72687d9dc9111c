/* Times in nanoseconds. */
#ifndef AD_BASE_CLOCK_H
#define AD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ad_clock_read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Monotonic. */
static inline int64_t ad_clock_ns(void)
{
    return ad_clock_read_ns(CLOCK_MONOTONIC);
}

/* The calling thread's processor time: without the time that other threads had the processor. */
static inline int64_t ad_clock_thread_ns(void)
{
    return ad_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
