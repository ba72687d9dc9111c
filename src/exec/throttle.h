/* Emulation of a slower processor: after every few milliseconds of work, and after each compute
 * step, sleeps until work / elapsed time is the wanted fraction. Only the time between begin and
 * end counts. With one thread the work is its processor time, so other processes on the machine do
 * not slow the emulated device down twice; with more it is the time elapsed. */
#ifndef AD_EXEC_THROTTLE_H
#define AD_EXEC_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ad_throttle {
    double fraction;          /* (0,1); anything else is off */
    bool wall;                /* count elapsed time instead of this thread's processor time */
    const atomic_int *cancel; /* nullable: non-zero ends a sleep early */
    int64_t start_ns, work_start_ns; /* of the work not yet slept for */
    int64_t late_ns;                 /* by which earlier sleeps ended too late; saved on the next */
};

void ad_throttle_begin(struct ad_throttle *throttle);
void ad_throttle_pause(
    struct ad_throttle *throttle);                  /* between tasks: sleeps when enough is owed */
void ad_throttle_end(struct ad_throttle *throttle); /* sleeps for the rest */

#endif
