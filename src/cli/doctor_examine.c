/* What adaps doctor asks and measures, in this order: every agent, all at the same time; then, one
 * after the other, what disturbs them: a small network on each, messages of each pair, the network
 * on all together; then every agent again, for what has been counted meanwhile. */
#include "base/clock.h"
#include "cli/doctor_internal.h"
#include "cli/progress.h"
#include "trial.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TRIAL_S 0.7     /* of each device, and of all together */
#define PAIR_MOST_S 1.0 /* of each pair, */
#define PAIRS_S 20.0    /* and of all of them */
#define DEADLINE_S 30.0 /* of what is measured */
#define ALL_PAIRS 8     /* of more devices, only pairs with the source are measured */

/* --- asking --- */

struct questioning {
    struct ad_patient *patient;
    const struct ad_session_options *session;
    int64_t asked_ns; /* when it had been asked, the first time */
    pthread_t thread;
    bool started;
};

/* Only who does not answer is looked at from outside: agents log that as a stranger. */
static void *ask(void *self)
{
    struct questioning *q = self;
    struct ad_patient *p = q->patient;
    p->answered = ad_agent_examine(p->device, q->session, &p->status, &p->health, &p->trouble,
                                   &p->protocol, &p->err) == ADAPS_OK;
    if (!p->answered)
        ad_reach_try(p->device->address, q->session->deadline_s, &p->reach);
    q->asked_ns = ad_clock_ns();
    return NULL;
}

static void *ask_again(void *self)
{
    struct questioning *q = self;
    struct ad_patient *p = q->patient;
    struct ad_agent_status status;
    enum ad_agent_trouble trouble;
    int protocol;
    if (!p->answered)
        return NULL;
    p->looked_again = ad_agent_examine(p->device, q->session, &status, &p->later, &trouble,
                                       &protocol, NULL) == ADAPS_OK;
    p->later_s = (double)(ad_clock_ns() - q->asked_ns) * 1e-9;
    return NULL;
}

static void all_at_once(struct questioning *all, int n, void *(*what)(void *))
{
    for (int i = 0; i < n; i++) {
        all[i].started = pthread_create(&all[i].thread, NULL, what, &all[i]) == 0;
        if (!all[i].started)
            what(&all[i]);
    }
    for (int i = 0; i < n; i++)
        if (all[i].started)
            pthread_join(all[i].thread, NULL);
}

/* --- measuring --- */

/* Why nothing can be measured on a device; NULL: it can. */
static const char *unfit(const struct ad_patient *patient)
{
    return !patient->answered ? "it does not answer" : patient->status.busy ? "it is busy" : NULL;
}

static struct ad_session_options patient_options(const struct ad_examination *e)
{
    struct ad_session_options options = *e->session;
    options.deadline_s = fmax(options.deadline_s, DEADLINE_S);
    return options;
}

static void try_cluster(const struct ad_examination *e, const struct ad_cluster *cluster,
                        bool compute, struct ad_foretold *out)
{
    struct ad_trial_times times;
    const struct ad_session_options options = patient_options(e);
    out->tried = true;
    out->failed = ad_trial_run(cluster, &options, TRIAL_S, &times, &out->err) != ADAPS_OK;
    if (out->failed)
        return;
    out->predicted_s = compute ? times.predicted_compute_s : times.predicted_s;
    out->measured_s = compute ? times.measured_compute_s : times.measured_s;
}

static enum adaps_status try_device(const struct ad_examination *e, struct ad_patient *patient,
                                    struct adaps_error *err)
{
    struct ad_cluster alone = {0};
    patient->trial.why = unfit(patient);
    if (patient->trial.why)
        return ADAPS_OK;
    ad_progress_say("%s: a small network", patient->device->name);
    enum adaps_status status = ad_cluster_init(&alone, 1, err);
    if (status != ADAPS_OK)
        return status;
    ad_cluster_set_device(&alone, 0, patient->device);
    alone.devices[0].source = true;
    try_cluster(e, &alone, true, &patient->trial);
    ad_cluster_fini(&alone);
    return ADAPS_OK;
}

static void try_pair(const struct ad_examination *e, struct ad_patient_pair *pair)
{
    const struct ad_patient *a = &e->patients[pair->a - e->cluster->devices];
    const struct ad_patient *b = &e->patients[pair->b - e->cluster->devices];
    const struct ad_session_options options = patient_options(e);
    pair->why = unfit(a) ? unfit(a) : unfit(b);
    if (pair->why)
        return;
    ad_progress_say("messages between %s and %s", pair->a->name, pair->b->name);
    pair->failed =
        ad_probe_links(pair->a, pair->b, &options, fmin(PAIR_MOST_S, PAIRS_S / e->npairs),
                       &pair->times, &pair->err) != ADAPS_OK;
}

/* All that answer. */
static enum adaps_status try_together(struct ad_examination *e, struct adaps_error *err)
{
    bool out[AD_MAX_DEVICES];
    int device_of[AD_MAX_DEVICES];
    struct ad_cluster cluster = {0};
    int fit = 0;
    for (int d = 0; d < e->cluster->ndevices; d++) {
        out[d] = unfit(&e->patients[d]) != NULL;
        fit += !out[d];
    }
    if (out[e->cluster->source]) {
        e->together.trial.why = "the source is missing";
        return ADAPS_OK;
    }
    if (fit < 2) {
        e->together.trial.why = "no other device answers";
        return ADAPS_OK;
    }
    ad_progress_say("a small network on %d devices", fit);
    e->together.devices = fit;
    enum adaps_status status = ad_cluster_without(e->cluster, out, &cluster, device_of, err);
    if (status != ADAPS_OK)
        return status;
    try_cluster(e, &cluster, false, &e->together.trial);
    ad_cluster_fini(&cluster);
    return ADAPS_OK;
}

static enum adaps_status measure(struct ad_examination *e, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    int n = e->cluster->ndevices;
    for (int d = 0; d < n && status == ADAPS_OK; d++)
        status = try_device(e, &e->patients[d], err);
    for (int i = 0; i < e->npairs && status == ADAPS_OK; i++)
        try_pair(e, &e->pairs[i]);
    return status == ADAPS_OK ? try_together(e, err) : status;
}

/* --- the whole --- */

static void begin(struct ad_examination *e, const struct adaps_plan *plan)
{
    const struct ad_cluster *cluster = e->cluster;
    int n = cluster->ndevices;
    for (int d = 0; d < n; d++) {
        struct ad_patient *p = &e->patients[d];
        p->device = &cluster->devices[d];
        p->version = adaps_version();
        memcpy(p->own_key, e->own_key, sizeof p->own_key);
        int in_plan = plan ? ad_cluster_find(&plan->cluster, p->device->name) : -1;
        p->planned = in_plan >= 0 && ad_plan_works(plan, in_plan);
        if (p->planned)
            p->needed = (uint64_t)plan->schedule.memory[in_plan];
    }
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++)
            if (n <= ALL_PAIRS || a == cluster->source || b == cluster->source)
                e->pairs[e->npairs++] = (struct ad_patient_pair){.a = &cluster->devices[a],
                                                                 .b = &cluster->devices[b],
                                                                 .there = cluster->links[a * n + b],
                                                                 .back = cluster->links[b * n + a]};
}

enum adaps_status ad_examination_make(const struct ad_cluster *cluster,
                                      const struct ad_session_options *session,
                                      const struct adaps_plan *plan, bool quick,
                                      struct ad_examination *out, struct adaps_error *err)
{
    int n = cluster->ndevices;
    struct ad_keys keys;
    *out = (struct ad_examination){.cluster = cluster, .session = session, .quick = quick};
    enum adaps_status status = ad_keys_find(session->key_file, &keys, err);
    if (status != ADAPS_OK)
        return status;
    snprintf(out->own_key, sizeof out->own_key, "%s", keys.present ? keys.public : "");
    ad_keys_forget(&keys);
    struct questioning *questions = ad_calloc((size_t)n, sizeof *questions);
    out->patients = ad_calloc((size_t)n, sizeof *out->patients);
    out->pairs = ad_calloc((size_t)n * (size_t)n, sizeof *out->pairs);
    if (!questions || !out->patients || !out->pairs) {
        status = ad_error_memory(err, "examination", (size_t)n * sizeof *out->patients);
        goto out;
    }
    begin(out, plan);
    for (int d = 0; d < n; d++)
        questions[d] = (struct questioning){.patient = &out->patients[d], .session = session};
    ad_progress_say("asking %d agents", n);
    all_at_once(questions, n, ask);
    if (!quick)
        status = measure(out, err);
    if (!quick && status == ADAPS_OK)
        all_at_once(questions, n, ask_again);
out:
    ad_progress_clear();
    ad_free(questions);
    if (status != ADAPS_OK)
        ad_examination_free(out);
    return status;
}

void ad_examination_free(struct ad_examination *examination)
{
    ad_free(examination->patients);
    ad_free(examination->pairs);
    examination->patients = NULL;
    examination->pairs = NULL;
}
