#include "exec/throttle.h"

#include "base/clock.h"

#include <sys/prctl.h>

#define WORK_NS 5000000   /* work between two sleeps */
#define SLICE_NS 50000000 /* cancel is looked at this often */
#define LATE_MAX_NS 5000000

static bool enabled(const struct ad_throttle *t)
{
    return t->fraction > 0 && t->fraction < 1;
}

static int64_t work_clock(const struct ad_throttle *t)
{
    if (t->wall)
        return ad_clock_ns();
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void restart(struct ad_throttle *t)
{
    t->start_ns = ad_clock_ns();
    t->work_start_ns = work_clock(t);
}

/* Wake-ups of this thread as exact as the kernel can. */
static void sharpen_timers(void)
{
    static _Thread_local bool done;
    if (!done)
        prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    done = true;
}

static void sleep_until(const struct ad_throttle *t, int64_t end_ns)
{
    int64_t now;
    while ((now = ad_clock_ns()) < end_ns && !(t->cancel && *t->cancel)) {
        int64_t wake = end_ns - now > SLICE_NS ? now + SLICE_NS : end_ns;
        struct timespec ts = {(time_t)(wake / 1000000000), (long)(wake % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL); /* a signal: look again */
    }
}

static void settle(struct ad_throttle *t, int64_t work)
{
    int64_t due = t->start_ns + (int64_t)((double)work / t->fraction) - t->late_ns;
    int64_t now = ad_clock_ns();
    if (now < due) {
        sleep_until(t, due);
        now = ad_clock_ns();
        t->late_ns = now - due;
    } else {
        /* Late through our own sleep is worked off; late because others had the processor is not.
         */
        int64_t owed = due + t->late_ns - now;
        t->late_ns = owed > 0 ? t->late_ns - owed : t->late_ns;
    }
    if (t->late_ns > LATE_MAX_NS)
        t->late_ns = LATE_MAX_NS;
    if (t->late_ns < 0)
        t->late_ns = 0;
    restart(t);
}

void ad_throttle_begin(struct ad_throttle *t)
{
    if (!enabled(t))
        return;
    sharpen_timers();
    restart(t);
}

void ad_throttle_pause(struct ad_throttle *t)
{
    if (!enabled(t))
        return;
    int64_t work = work_clock(t) - t->work_start_ns;
    if (work >= WORK_NS)
        settle(t, work);
}

void ad_throttle_end(struct ad_throttle *t)
{
    if (enabled(t))
        settle(t, work_clock(t) - t->work_start_ns);
}
