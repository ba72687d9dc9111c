#include "base/deadline.h"
#include "base/clock.h"

static int64_t awake_or_not_ns(void)
{
    return ad_clock_read_ns(CLOCK_BOOTTIME);
}

void ad_deadline_set(struct ad_deadline *deadline, int64_t ns)
{
    *deadline = (struct ad_deadline){ns, ns, awake_or_not_ns()};
}

void ad_deadline_restart(struct ad_deadline *deadline)
{
    ad_deadline_set(deadline, deadline->all_ns);
}

int64_t ad_deadline_left(struct ad_deadline *deadline, bool *paused)
{
    int64_t now = awake_or_not_ns(), gap = now - deadline->looked_ns;
    bool pause = gap > AD_PAUSE_NS;
    deadline->looked_ns = now;
    if (!pause)
        deadline->left_ns -= gap < deadline->left_ns ? gap : deadline->left_ns;
    if (paused)
        *paused = pause;
    return deadline->left_ns;
}

int ad_deadline_sleep_ms(const struct ad_deadline *deadline)
{
    int64_t ns = deadline->left_ns < AD_LOOK_NS ? deadline->left_ns : AD_LOOK_NS;
    return ns <= 1000000 ? 1 : (int)((ns + 999999) / 1000000);
}
