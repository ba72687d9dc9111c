#include "doctor/doctor.h"
#include "doctor/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order in which they are told. */
const struct ad_device_check ad_device_checks[] = {
    {"reach", "an agent answers at its address", false, false, ad_judge_reach},
    {"key", "both sides have each other's key", false, false, ad_judge_key},
    {"protocol", "the version of the protocol", false, false, ad_judge_protocol},
    {"version", "the version of the package", true, false, ad_judge_version},
    {"session", "nobody else uses it", true, false, ad_judge_session},
    {"clock", "its clock of the day", true, false, ad_judge_clock},
    {"voltage", "its power supply", true, false, ad_judge_voltage},
    {"throttle", "it slows itself down", true, false, ad_judge_throttle},
    {"temperature", "its temperature", true, false, ad_judge_temperature},
    {"governor", "who sets its processors' frequency", true, false, ad_judge_governor},
    {"threads", "compute threads for its cores", true, false, ad_judge_threads},
    {"load", "what else it computes", true, false, ad_judge_load},
    {"memory", "free memory", true, false, ad_judge_memory},
    {"swap", "memory on disk", true, false, ad_judge_swap},
    {"cache", "room for weights on disk", true, false, ad_judge_cache},
    {"interface", "cable or radio", true, false, ad_judge_interface},
    {"mtu", "the size of packets", true, false, ad_judge_mtu},
    {"loss", "packets that got lost meanwhile", true, true, ad_judge_loss},
    {"speed", "time to compute a small network, against the devices file", true, true,
     ad_judge_speed},
    {0},
};

const struct ad_pair_check ad_pair_checks[] = {
    {"link", "the two reach each other", false, ad_judge_link},
    {"rate", "rate of the link there, against the devices file", true, ad_judge_rate_there},
    {"rate-back", "rate of the link back, against the devices file", true, ad_judge_rate_back},
    {"latency", "latency of the link, against the devices file", true, ad_judge_latency},
    {0},
};

const struct ad_cluster_check ad_cluster_checks[] = {
    {"together", "time to answer a small network together, against the plan", ad_judge_together},
    {0},
};

const char *ad_verdict_name(enum ad_verdict verdict)
{
    static const char *const names[AD_VERDICTS] = {"unknown", "ok", "warning", "bad"};
    return names[verdict];
}

static void clear(struct ad_finding *out)
{
    *out = (struct ad_finding){.value = NAN, .expected = NAN, .unit = ""};
}

bool ad_doctor_device(const struct ad_device_check *check, const struct ad_patient *patient,
                      struct ad_finding *out)
{
    clear(out);
    if (check->of_its_answer && !patient->answered)
        return false;
    check->judge(patient, out);
    return out->found[0] != '\0';
}

bool ad_doctor_pair(const struct ad_pair_check *check, const struct ad_patient_pair *pair,
                    struct ad_finding *out)
{
    clear(out);
    if (check->of_its_times && (pair->why || pair->failed))
        return false;
    check->judge(pair, out);
    return true;
}

void ad_doctor_cluster(const struct ad_cluster_check *check,
                       const struct ad_patient_cluster *cluster, struct ad_finding *out)
{
    clear(out);
    check->judge(cluster, out);
}

void ad_judge(struct ad_finding *out, enum ad_verdict verdict, const char *fmt, ...)
{
    va_list ap;
    out->verdict = verdict;
    va_start(ap, fmt);
    vsnprintf(out->found, sizeof out->found, fmt, ap);
    va_end(ap);
}

void ad_advise(struct ad_finding *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->advice, sizeof out->advice, fmt, ap);
    va_end(ap);
}

void ad_measured(struct ad_finding *out, double value, double expected, const char *unit)
{
    out->value = value;
    out->expected = expected;
    out->unit = unit;
}
