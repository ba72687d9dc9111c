#include "exec/engine/throttle.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define WORK_NS 1000000   /* work between two sleeps */
#define SLICE_NS 50000000 /* cancel is looked at this often */
#define LATE_MAX_NS 5000000
#define WAITED_NS 20000 /* who slept for so long between steps has waited for a message */

static bool enabled(const struct ad_throttle *t)
{
    return t->fraction > 0 && t->fraction < 1;
}

static int64_t work_clock(const struct ad_throttle *t)
{
    return t->wall ? ad_clock_ns() : ad_clock_thread_ns();
}

/* How long this thread has been ready to run while others ran, in all; 0 where the kernel does not
 * tell. */
static int64_t queue_clock(struct ad_throttle *t)
{
    char text[96];
    long long queued = 0;
    if (t->wall)
        return 0;
    if (t->stat == 0)
        t->stat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) + 1;
    ssize_t n = t->stat > 0 ? pread(t->stat - 1, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%*s %lld", &queued) == 1 ? queued : 0;
}

static void restart(struct ad_throttle *t, int64_t now, int64_t late_ns)
{
    t->late_ns = late_ns < LATE_MAX_NS ? late_ns : LATE_MAX_NS;
    t->start_ns = now;
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

/* Linux's PM QoS: while this is open, processors wake up within so many microseconds. */
static void stay_awake(struct ad_throttle *t)
{
    static const int32_t us = 0;
    int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    t->awake = fd >= 0 && write(fd, &us, sizeof us) == sizeof us ? fd + 1 : -1;
    if (fd >= 0 && t->awake < 0)
        close(fd);
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

/* Sleeps until the device's clock has what the work took. */
static void settle(struct ad_throttle *t, int64_t work)
{
    int64_t due = t->start_ns + (int64_t)((double)work / t->fraction) - t->late_ns;
    t->settled_ns += work;
    sleep_until(t, due);
    int64_t now = ad_clock_ns();
    restart(t, now, now > due ? now - due : 0);
}

void ad_throttle_begin(struct ad_throttle *t)
{
    if (!enabled(t))
        return;
    sharpen_timers();
    if (t->awake == 0)
        stay_awake(t);
    int64_t now = ad_clock_ns(), late = t->late_ns;
    if (t->start_ns && !t->wall) {
        int64_t queued = queue_clock(t) - t->queued_ns;
        int64_t asleep = now - t->start_ns - (work_clock(t) - t->work_start_ns) - queued;
        late = queued + (asleep < WAITED_NS ? t->late_ns : 0);
    }
    restart(t, now, late);
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
    if (!enabled(t))
        return;
    settle(t, work_clock(t) - t->work_start_ns);
    t->queued_ns = queue_clock(t);
}

void ad_throttle_fini(struct ad_throttle *t)
{
    if (t->stat > 0)
        close(t->stat - 1);
    if (t->awake > 0)
        close(t->awake - 1);
    t->stat = t->awake = 0;
}
