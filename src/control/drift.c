#include "control/drift.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

enum adaps_status ad_drift_init(struct ad_drift *out, int nsubjects, struct adaps_error *err)
{
    *out = (struct ad_drift){.nsubjects = nsubjects, .lasts = AD_DRIFT_LASTS};
    out->subjects = ad_calloc((size_t)nsubjects, sizeof *out->subjects);
    if (!out->subjects)
        return ad_error_memory(err, "drift", (size_t)nsubjects * sizeof *out->subjects);
    for (int i = 0; i < nsubjects; i++)
        out->subjects[i].level = 1;
    return ADAPS_OK;
}

void ad_drift_fini(struct ad_drift *drift)
{
    ad_free(drift->subjects);
    *drift = (struct ad_drift){.nsubjects = 0};
}

/* The median of the latest `most` ratios, or of as many as there are. */
static double median(const struct ad_drift_subject *s, int most)
{
    double values[AD_DRIFT_KEPT];
    int n = s->count < most ? (int)s->count : most;
    for (int i = 0; i < n; i++)
        values[i] = s->ratios[(s->count - 1 - i) % AD_DRIFT_KEPT];
    return n > 0 ? ad_stats_median(values, (size_t)n) : s->level;
}

void ad_drift_observe(struct ad_drift *drift, int subject, double ratio)
{
    struct ad_drift_subject *s = &drift->subjects[subject];
    if (!(ratio > 0) || !isfinite(ratio))
        return;
    s->ratios[s->count++ % AD_DRIFT_KEPT] = ratio;
    if (s->count < AD_DRIFT_MEDIAN)
        return;
    double from_level = median(s, AD_DRIFT_MEDIAN) / s->level;
    int side = from_level > AD_DRIFT_BAND ? 1 : from_level < 1 / AD_DRIFT_BAND ? -1 : 0;
    s->away = side != s->side ? 0 : s->away;
    s->side = side;
    s->away += side != 0;
}

int ad_drift_next(struct ad_drift *drift)
{
    int furthest = -1;
    bool calm = true, found = false;
    double most = 0;
    for (int i = 0; i < drift->nsubjects; i++) {
        const struct ad_drift_subject *s = &drift->subjects[i];
        calm = calm && s->side == 0;
        found = found || s->away >= drift->lasts + AD_DRIFT_MEDIAN / 2;
        if (s->away < drift->lasts / 2)
            continue;
        double distance = fabs(log(ad_drift_ratio(drift, i) / s->level));
        if (furthest < 0 || distance > most) {
            furthest = i;
            most = distance;
        }
    }
    drift->calm = calm ? drift->calm + 1 : 0;
    if (drift->calm >= AD_DRIFT_CALM * drift->lasts)
        drift->lasts = AD_DRIFT_LASTS;
    return found ? furthest : -1;
}

double ad_drift_ratio(const struct ad_drift *drift, int subject)
{
    return median(&drift->subjects[subject], AD_DRIFT_KEPT);
}

void ad_drift_accept(struct ad_drift *drift)
{
    for (int i = 0; i < drift->nsubjects; i++) {
        struct ad_drift_subject *s = &drift->subjects[i];
        s->level = median(s, AD_DRIFT_KEPT);
        s->side = 0;
        s->away = 0;
    }
    if (drift->lasts < (int64_t)AD_DRIFT_LASTS << AD_DRIFT_DOUBLINGS)
        drift->lasts *= 2;
    drift->calm = 0;
}

void ad_drift_restart(struct ad_drift *drift)
{
    for (int i = 0; i < drift->nsubjects; i++)
        drift->subjects[i] = (struct ad_drift_subject){.level = 1};
    drift->calm = 0;
}
