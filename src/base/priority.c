#include "base/priority.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the shortest that Linux allows */

_Static_assert(sizeof(struct ad_priority) == 48, "sched_attr, version 0");

static long set(const struct ad_priority *p)
{
    return syscall(SYS_sched_setattr, 0, p, 0);
}

void ad_priority_prompt(struct ad_priority *before)
{
    if (syscall(SYS_sched_getattr, 0, before, sizeof *before, 0) != 0) {
        memset(before, 0, sizeof *before);
        return;
    }
    before->size = sizeof *before; /* the kernel's structure may be longer than ours */
    struct ad_priority prompt = *before;
    if (before->policy != SCHED_OTHER)
        return; /* somebody has chosen another policy */
    prompt.policy = SCHED_RR;
    prompt.priority = (uint32_t)sched_get_priority_min(SCHED_RR);
    prompt.runtime_ns = 0;
    if (set(&prompt) == 0)
        return;
    prompt = *before;
    prompt.runtime_ns = SLICE_NS;
    set(&prompt); /* if it is refused, nothing changes */
}

void ad_priority_share(struct ad_priority *priority)
{
    if (priority->size == sizeof *priority && priority->policy == SCHED_OTHER)
        priority->runtime_ns = SLICE_NS;
}

void ad_priority_set(const struct ad_priority *priority)
{
    if (priority->size == sizeof *priority) /* ad_priority_prompt() could read it */
        set(priority);
}
