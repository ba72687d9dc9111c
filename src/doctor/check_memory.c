/* Memory, swap, the cache. */
#include "base/units.h"
#include "doctor/judge.h"

#include <math.h>

#define SCARCE (UINT64_C(128) << 20)     /* bytes: less is little for any network */
#define SWAP_LITTLE (UINT64_C(16) << 20) /* that nobody may have asked for in days */
#define SWAPPING 1e5                     /* bytes per second */
#define CACHE_SCARCE (UINT64_C(64) << 20)

void ad_judge_memory(const struct ad_patient *patient, struct ad_finding *out)
{
    uint64_t has = patient->status.memory_available;
    char free[32], needs[32];
    ad_format_bytes((double)has, free, sizeof free);
    ad_format_bytes((double)patient->needed, needs, sizeof needs);
    ad_measured(out, (double)has, patient->planned ? (double)patient->needed : NAN, "bytes");
    if (patient->planned && patient->needed > has) {
        ad_judge(out, AD_VERDICT_BAD, "%s free, and the plan needs %s here", free, needs);
        ad_advise(out,
                  "end other programs there, or say what it has in the devices file, [%s]: "
                  "memory = %lluMiB, and plan again",
                  patient->device->name, (unsigned long long)(has >> 20));
    } else if (patient->planned) {
        ad_judge(out, AD_VERDICT_OK, "%s free, the plan needs %s here", free, needs);
    } else if (has < SCARCE) {
        ad_judge(out, AD_VERDICT_WARNING, "%s free", free);
        ad_advise(out, "end other programs there; adaps doctor PLAN says whether it is enough for "
                       "a plan");
    } else if (patient->device->memory > 0 && patient->device->memory > has) {
        char told[32];
        ad_judge(out, AD_VERDICT_WARNING, "%s free, and the devices file promises %s", free,
                 ad_format_bytes((double)patient->device->memory, told, sizeof told));
        ad_advise(out, "end other programs there, or in the devices file, [%s]: memory = %lluMiB",
                  patient->device->name, (unsigned long long)(has >> 20));
    } else {
        ad_judge(out, AD_VERDICT_OK, "%s free", free);
    }
}

void ad_judge_swap(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_health *machine = &patient->health.machine;
    char used[32], total[32], rate[32];
    if (!patient->health.known || !machine->swap_known) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not known: the agent does not say");
        return;
    }
    double per_s = 0;
    if (patient->looked_again && patient->later.known && patient->later_s > 0 &&
        patient->later.machine.swapped > machine->swapped)
        per_s = (double)(patient->later.machine.swapped - machine->swapped) / patient->later_s;
    ad_measured(out, (double)machine->swap_used, 0, "bytes");
    ad_format_bytes((double)machine->swap_used, used, sizeof used);
    ad_format_bytes((double)machine->swap_total, total, sizeof total);
    if (per_s > SWAPPING) {
        ad_judge(out, AD_VERDICT_BAD, "it swaps %s a second, and %s of %s are in use",
                 ad_format_bytes(per_s, rate, sizeof rate), used, total);
        ad_advise(out, "its memory is too small for what runs there: end other programs, or plan "
                       "with less (memory in the devices file)");
    } else if (machine->swap_used > SWAP_LITTLE) {
        ad_judge(out, AD_VERDICT_WARNING, "%s of %s in use", used, total);
        ad_advise(out, "memory was short there once; if it is not now, on the device: "
                       "sudo swapoff -a && sudo swapon -a");
    } else {
        ad_judge(out, AD_VERDICT_OK, machine->swap_total ? "hardly used" : "none");
    }
}

void ad_judge_cache(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_agent_health *health = &patient->health;
    uint64_t used = patient->status.cache_bytes;
    char has[32], limit[32], left[32];
    if (!health->known) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not known: the agent does not say");
        return;
    }
    ad_format_bytes((double)used, has, sizeof has);
    ad_format_bytes((double)health->cache_limit, limit, sizeof limit);
    ad_format_bytes((double)health->cache_free, left, sizeof left);
    ad_measured(out, (double)health->cache_free, NAN, "bytes");
    if (*health->cache_trouble) {
        ad_judge(out, AD_VERDICT_BAD, "nothing can be pushed there: %s", health->cache_trouble);
        ad_advise(out,
                  "on the device, make room on that disk (df -h), or give the folder to the "
                  "agent's user: %s",
                  health->cache_dir);
    } else if (health->cache_free_known && health->cache_free < CACHE_SCARCE &&
               used + health->cache_free < health->cache_limit) {
        ad_judge(out, AD_VERDICT_WARNING, "%s held, %s left on its disk (%s)", has, left,
                 health->cache_dir);
        ad_advise(out, "on the device, make room on that disk: df -h, sudo apt clean");
    } else if (used >= health->cache_limit - health->cache_limit / 20) {
        ad_judge(out, AD_VERDICT_WARNING,
                 "%s held, the limit is %s: other plans' weights are deleted for new ones", has,
                 limit);
        ad_advise(out, "if several plans take turns, start the agent with a larger --cache-limit "
                       "(cache-limit in /etc/adaps/agent.conf)");
    } else {
        ad_judge(out, AD_VERDICT_OK, "%s held, %s left on its disk, limit %s", has,
                 health->cache_free_known ? left : "?", limit);
    }
}
