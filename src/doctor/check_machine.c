/* The clock, power, heat, processors. */
#include "base/machine.h"
#include "base/units.h"
#include "doctor/judge.h"

#include <math.h>
#include <string.h>

#define CLOCK_OK_S 2.0
#define CLOCK_BAD_S 300.0 /* what certificates and logins commonly tolerate */

static void not_known(struct ad_finding *out)
{
    ad_judge(out, AD_VERDICT_UNKNOWN, "not known: the agent does not say");
}

void ad_judge_clock(const struct ad_patient *patient, struct ad_finding *out)
{
    char time[32];
    if (!patient->health.known) {
        not_known(out);
        return;
    }
    double ahead_s = (double)patient->health.ahead_ns * 1e-9, off_s = fabs(ahead_s);
    /* The way there and back is as exact as it gets. */
    double exact_s = CLOCK_OK_S + (double)patient->status.rtt_ns * 1e-9;
    ad_measured(out, ahead_s, 0, "s");
    if (off_s <= exact_s) {
        ad_judge(out, AD_VERDICT_OK, "as here, within %s",
                 ad_format_ns(fmax(off_s, 1e-3) * 1e9, time, sizeof time));
        return;
    }
    ad_judge(out, off_s > CLOCK_BAD_S ? AD_VERDICT_BAD : AD_VERDICT_WARNING,
             "%.0f s %s this side's: answers stay right, but logs disagree, and certificates and "
             "package signatures may be refused",
             off_s, ahead_s > 0 ? "ahead of" : "behind");
    ad_advise(out, "on the side that is wrong (compare: date): sudo timedatectl set-ntp true");
}

/* "now", "since boot" or both of some bits. NULL: neither. */
static const char *when(uint32_t throttled, uint32_t bits)
{
    if (throttled & bits)
        return "now";
    return throttled >> AD_SINCE_BOOT & bits ? "since boot, not now" : NULL;
}

void ad_judge_voltage(const struct ad_patient *patient, struct ad_finding *out)
{
    uint32_t bits = patient->health.machine.throttled;
    const char *is = when(bits, AD_UNDER_VOLTAGE);
    if (!patient->health.known || !patient->health.machine.power_known) {
        not_known(out);
        return;
    }
    ad_measured(out, bits, NAN, "bits");
    if (!is) {
        ad_judge(out, AD_VERDICT_OK, "enough");
        return;
    }
    ad_judge(out, bits & AD_UNDER_VOLTAGE ? AD_VERDICT_BAD : AD_VERDICT_WARNING, "under-voltage %s",
             is);
    ad_advise(out, "use the board's own power supply and a short cable, take USB devices off; the "
                   "board must be started again to forget it");
}

void ad_judge_throttle(const struct ad_patient *patient, struct ad_finding *out)
{
    const uint32_t heat = AD_FREQUENCY_CAPPED | AD_THROTTLED | AD_SOFT_TEMPERATURE;
    uint32_t bits = patient->health.machine.throttled;
    char now[80], since[80];
    if (!patient->health.known || !patient->health.machine.power_known) {
        not_known(out);
        return;
    }
    ad_measured(out, bits, NAN, "bits");
    ad_throttle_words(bits & heat, now, sizeof now);
    ad_throttle_words(bits >> AD_SINCE_BOOT & heat & ~bits, since, sizeof since);
    if (!when(bits, heat)) {
        ad_judge(out, AD_VERDICT_OK, "full frequency");
        return;
    }
    ad_judge(out, *now ? AD_VERDICT_BAD : AD_VERDICT_WARNING, "%s%s%s%s%s", now, *now ? " now" : "",
             *now && *since ? "; " : "", since, *since ? " since boot, not now" : "");
    ad_advise(out, "it needs a heat sink or a fan, or a better power supply; plans for this "
                   "cluster are right again when it runs at full speed");
}

/* Processors of x86 are made for more. */
void ad_judge_temperature(const struct ad_patient *patient, struct ad_finding *out)
{
    double c = patient->status.temperature_c;
    bool x86 = strncmp(patient->status.machine, "x86_64", 6) == 0;
    double warm = x86 ? 85 : 70, hot = x86 ? 95 : 80;
    if (isnan(c)) {
        not_known(out);
        return;
    }
    ad_measured(out, c, hot, "C");
    if (c < warm) {
        ad_judge(out, AD_VERDICT_OK, "%.0f C", c);
        return;
    }
    ad_judge(out, c < hot ? AD_VERDICT_WARNING : AD_VERDICT_BAD, "%.0f C: %s", c,
             c < hot ? "close to where it slows itself down" : "it slows itself down");
    ad_advise(out, "give it a heat sink, a fan, or more air");
}

/* These two drivers call their usual way of working powersave. */
static bool saves_power(const struct ad_health *machine)
{
    static const char *const slow[] = {"powersave", "conservative", "ondemand", "userspace"};
    if (strcmp(machine->driver, "intel_pstate") == 0 ||
        strncmp(machine->driver, "amd-pstate", 10) == 0)
        return false;
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strcmp(machine->governor, slow[i]) == 0)
            return true;
    return false;
}

void ad_judge_governor(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_health *machine = &patient->health.machine;
    if (!patient->health.known || !*machine->governor) {
        not_known(out);
        return;
    }
    if (!saves_power(machine)) {
        ad_judge(out, AD_VERDICT_OK, "%s", machine->governor);
        return;
    }
    ad_judge(out, AD_VERDICT_WARNING, "%s: the processors are %s", machine->governor,
             strcmp(machine->governor, "powersave") == 0 ? "kept slow"
             : strcmp(machine->governor, "userspace") == 0
                 ? "at one frequency"
                 : "slow at the beginning of each answer");
    ad_advise(out, "on the device, until it is started again: echo performance | sudo tee "
                   "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

void ad_judge_threads(const struct ad_patient *patient, struct ad_finding *out)
{
    int cores = patient->status.cores, planned = patient->device->threads;
    int own = patient->status.threads;
    int most = ad_machine_most_threads(cores);
    int threads = own > 0 ? own : planned < most ? planned : most;
    double quota = patient->health.machine.quota_cores;
    ad_measured(out, threads, cores, "threads");
    if (quota > 0 && quota < threads) {
        ad_judge(out, AD_VERDICT_BAD,
                 "%d compute threads share the time of %.2g cores: a control group allows no more",
                 threads, quota);
        ad_advise(out,
                  "on the device, take CPUQuota away from the agent's service or container, "
                  "or start it with --threads %d",
                  quota >= 2 ? (int)quota : 1);
    } else if (own > cores) {
        ad_judge(out, AD_VERDICT_BAD, "%d compute threads by the agent's --threads, and %d cores",
                 own, cores);
        ad_advise(out, "start it with --threads %d (threads in /etc/adaps/agent.conf)", most);
    } else if (own == 0 && planned > cores) {
        ad_judge(out, AD_VERDICT_BAD,
                 "the devices file has %d threads, and there are %d cores, of which the agent "
                 "uses %d: predictions are too short",
                 planned, cores, most);
        ad_advise(out, "in the devices file, [%s]: threads = %d; then adaps profile",
                  patient->device->name, most);
    } else if (own > 0 && own != planned) {
        ad_judge(out, AD_VERDICT_WARNING,
                 "%d by the agent's --threads, and %d in the devices file: predictions are of "
                 "the latter",
                 own, planned);
        ad_advise(out, "adaps profile measures what is true");
    } else {
        ad_judge(out, AD_VERDICT_OK, "%d on %d core%s", threads, cores, cores == 1 ? "" : "s");
    }
}

void ad_judge_load(const struct ad_patient *patient, struct ad_finding *out)
{
    double load = patient->status.load1;
    int cores = patient->status.cores;
    ad_measured(out, load, cores, "threads");
    if (patient->status.busy || !(load > 0.5 * cores)) {
        ad_judge(out, AD_VERDICT_OK, "%.2f in the last minute, %d core%s", load, cores,
                 cores == 1 ? "" : "s");
        return;
    }
    ad_judge(out, AD_VERDICT_WARNING,
             "%.2f in the last minute on %d core%s, and no session: others compute there", load,
             cores, cores == 1 ? "" : "s");
    ad_advise(out, "on the device, top says who; end it, or bind it to other cores. Load of an "
                   "inference that has just ended goes within minutes");
}
