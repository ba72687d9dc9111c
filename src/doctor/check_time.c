/* What was predicted against what was measured. */
#include "base/units.h"
#include "doctor/judge.h"

#define SLOWER_WARNING 1.3 /* times the prediction */
#define SLOWER_BAD 1.75
#define FASTER_WARNING 0.65
#define TOGETHER_WARNING 1.4 /* more can go wrong, and be shared with others, on links */
#define TOGETHER_BAD 2.0

/* Whether there is something to judge of. */
static bool tried(const struct ad_foretold *trial, const char *what, struct ad_finding *out)
{
    if (!trial->tried) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not measured: %s", trial->why);
        return false;
    }
    if (trial->failed) {
        ad_judge(out, AD_VERDICT_BAD, "%s failed: %s", what, trial->err.message);
        ad_advise(out, "on the device: sudo journalctl -u adaps-agent -n 20");
        return false;
    }
    return true;
}

/* Tells both times; false when they agree. */
static bool differ(const struct ad_foretold *trial, double slower, double bad,
                   struct ad_finding *out)
{
    char is[32], should[32];
    double ratio = trial->measured_s / trial->predicted_s;
    ad_format_ns(trial->measured_s * 1e9, is, sizeof is);
    ad_format_ns(trial->predicted_s * 1e9, should, sizeof should);
    ad_measured(out, trial->measured_s, trial->predicted_s, "s");
    if (ratio > slower) {
        ad_judge(out, ratio > bad ? AD_VERDICT_BAD : AD_VERDICT_WARNING,
                 "%s instead of %s: %.2g times as long as predicted", is, should, ratio);
        return true;
    }
    if (ratio < FASTER_WARNING) {
        ad_judge(out, AD_VERDICT_WARNING, "%s instead of %s: %.2g times as fast as predicted", is,
                 should, 1 / ratio);
        return true;
    }
    ad_judge(out, AD_VERDICT_OK, "%s, %s predicted", is, should);
    return false;
}

void ad_judge_speed(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_foretold *trial = &patient->trial;
    if (!tried(trial, "computing", out) || !differ(trial, SLOWER_WARNING, SLOWER_BAD, out))
        return;
    if (trial->measured_s > trial->predicted_s && patient->status.speed < 1)
        ad_advise(out,
                  "the agent is told to be slow, with --speed %g: start it without (speed in "
                  "/etc/adaps/agent.conf), or measure: adaps profile -d FILE -o FILE",
                  patient->status.speed);
    else
        ad_advise(out, "mend what stands above; if it is meant to be so, measure it for the "
                       "devices file: adaps profile -d FILE -o FILE");
}

void ad_judge_together(const struct ad_patient_cluster *cluster, struct ad_finding *out)
{
    if (!tried(&cluster->trial, "answering together", out))
        return;
    if (differ(&cluster->trial, TOGETHER_WARNING, TOGETHER_BAD, out))
        ad_advise(out, "mend what stands above: speed and links; else measure again: adaps profile "
                       "-d FILE -o FILE, and plan again");
}
