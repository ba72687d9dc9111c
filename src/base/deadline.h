/* Time that is left for a wait, counted only while this process was awake and looking. A process
 * that was stopped (SIGSTOP) or whose machine slept has heard nobody meanwhile, and must not take
 * that for their silence. Whoever waits looks at least every AD_LOOK_NS; a longer gap is a pause.
 */
#ifndef AD_BASE_DEADLINE_H
#define AD_BASE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define AD_LOOK_NS ((int64_t)100 * 1000000)
#define AD_PAUSE_NS ((int64_t)500 * 1000000)

struct ad_deadline {
    int64_t all_ns, left_ns;
    int64_t looked_ns; /* CLOCK_BOOTTIME, which goes on while the machine sleeps */
};

/* The time begins now. */
void ad_deadline_set(struct ad_deadline *deadline, int64_t ns);

/* The whole time again, from now. */
void ad_deadline_restart(struct ad_deadline *deadline);

/* Looks: nanoseconds that are left, at least 0. *paused (nullable): there was a pause since the
 * last look, which does not count. */
int64_t ad_deadline_left(struct ad_deadline *deadline, bool *paused);

/* How long a wait until the deadline, or until the next look, may sleep, in milliseconds, at least
 * 1. */
int ad_deadline_sleep_ms(const struct ad_deadline *deadline);

#endif
