/* Emulation of a slower processor: the device's clock. A step that takes c seconds of processor
 * time ends c / fraction after it began; until then the thread sleeps, after every millisecond or
 * so of work and at the end of the step. Only the time between begin and end is stretched.
 *
 * With one thread the work is its processor time, so time that others have the processor
 * meanwhile does not slow the device down: the thread sleeps less. What is more than the sleep, or
 * was lost while the thread queued for the processor between steps, is caught up in the next steps
 * (5 ms at most). A thread that waited for a message has caught up. With more threads the work is
 * the time elapsed.
 *
 * From the first work until ad_throttle_fini(), all processors of the machine stay awake where that
 * is allowed: after a sleep they would be slower, virtual ones by up to a fifth. */
#ifndef AD_EXEC_ENGINE_THROTTLE_H
#define AD_EXEC_ENGINE_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ad_throttle {
    double fraction;          /* (0,1); anything else is off */
    bool wall;                /* count elapsed time instead of this thread's processor time */
    const atomic_int *cancel; /* nullable: non-zero ends a sleep early */
    int64_t start_ns, work_start_ns; /* of the work not yet slept for, or when the step ended */
    int64_t late_ns;                 /* how much too late that was */
    int64_t settled_ns;              /* all work until then */
    int64_t queued_ns;               /* what the thread had queued for the processor until then */
    int stat;                        /* descriptor of the file that says so, + 1; 0: not open */
    int awake; /* likewise of the one that keeps processors awake; -1: not allowed */
};

/* All by the same thread. */
void ad_throttle_begin(struct ad_throttle *throttle);
void ad_throttle_pause(
    struct ad_throttle *throttle);                  /* between tasks: sleeps when enough is owed */
void ad_throttle_end(struct ad_throttle *throttle); /* sleeps for what is left */
void ad_throttle_fini(struct ad_throttle *throttle);

#endif
