#include "failover.h"
#include "base/clock.h"
#include "model_weights.h"
#include "spare_plan.h"

#include <stdio.h>
#include <string.h>

/* An agent in use has this long to say that it is there; one that was lost before, less, since the
 * stream waits for it. Agents leave the old session within LEAVE_NS. */
#define ALIVE_S 2.0
#define BACK_S 0.3
#define LEAVE_NS ((int64_t)3000 * 1000 * 1000)
#define AGAIN_NS ((int64_t)5 * 1000 * 1000)

struct ad_failover {
    const struct adaps_plan *first; /* borrowed */
    struct ad_session_options options;
    bool enabled;
    struct ad_model_weights weights;         /* of the first plan, when enabled */
    const struct adaps_plan *plan;           /* in use: the first one, a spare of it, or: */
    struct adaps_plan *own;                  /* made here */
    int device_of[AD_MAX_DEVICES];           /* by device of the plan in use: that of the first */
    bool out[AD_MAX_DEVICES];                /* lost, by device of the first */
    struct ad_session *session;              /* NULL while there is none */
    int64_t answered;                        /* inferences of the stream */
    int flying;                              /* those after them, whose inputs are kept: */
    struct ad_tensor *kept[AD_FLIGHTS_MOST]; /* by number modulo their number; when enabled */
    int repeating;                           /* of those, so many are done for the second time */
    int64_t repeat_since_ns, since_ns;       /* the repetition; the whole recovery */
    int attempts;                            /* since the last answer */
    double open_factor, run_factor; /* how much longer than predicted they were (recovery.h) */
    struct ad_recovery *recoveries;
    int nrecoveries;
};

/* --- inputs --- */

static void drop_kept(struct ad_failover *f, int i)
{
    for (int k = 0; f->kept[i] && k < f->first->graph->ninputs; k++)
        ad_tensor_fini(&f->kept[i][k]);
    ad_free(f->kept[i]);
    f->kept[i] = NULL;
}

static struct ad_tensor **kept_at(struct ad_failover *f, int64_t number)
{
    return &f->kept[number % AD_FLIGHTS_MOST];
}

static enum adaps_status keep(struct ad_failover *f, int64_t number, const struct ad_tensor *inputs,
                              struct adaps_error *err)
{
    int n = f->first->graph->ninputs;
    struct ad_tensor **copy = kept_at(f, number);
    *copy = ad_calloc((size_t)n, sizeof **copy);
    if (!*copy)
        return ad_error_memory(err, "inputs", (size_t)n * sizeof **copy);
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < n && status == ADAPS_OK; k++) {
        status = ad_tensor_init(&(*copy)[k], inputs[k].rank, inputs[k].dims, err);
        if (status == ADAPS_OK)
            memcpy((*copy)[k].data, inputs[k].data, inputs[k].count * sizeof(float));
    }
    if (status != ADAPS_OK)
        drop_kept(f, (int)(number % AD_FLIGHTS_MOST));
    return status;
}

/* --- who is there --- */

/* Whether the agent of a device of the first plan answers; *busy: it is in a session. */
static bool answers(const struct ad_failover *f, int device, double within_s, bool *busy)
{
    struct ad_session_options options = f->options;
    struct ad_agent_status status;
    if (!(options.deadline_s > 0) || options.deadline_s > within_s)
        options.deadline_s = within_s;
    *busy = false;
    if (ad_agent_query(&f->first->cluster.devices[device], &options, &status, NULL) != ADAPS_OK)
        return false;
    *busy = status.busy;
    return true;
}

/* Waits until an agent has left the old session; marks it as out when it does not answer. One that
 * is in another controller's session is found busy later. */
static void await_free(struct ad_failover *f, int device, struct ad_recovery *r)
{
    int64_t until = ad_clock_ns() + LEAVE_NS;
    bool busy = true;
    while (busy && ad_clock_ns() < until) {
        if (!answers(f, device, ALIVE_S, &busy)) {
            f->out[device] = r->lost[device] = true;
            return;
        }
        if (busy)
            nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
}

/* Those of the old session that are lost; ends it. used: by device of the first plan, those that it
 * had and has still. */
static void end_session(struct ad_failover *f, struct ad_recovery *r, bool *used)
{
    bool lost[AD_MAX_DEVICES] = {false};
    if (f->session)
        ad_session_lost(f->session, lost);
    ad_session_close(f->session);
    f->session = NULL;
    for (int d = 0; d < f->plan->cluster.ndevices; d++) {
        int device = f->device_of[d];
        used[device] = !lost[d] && ad_plan_works(f->plan, d);
        if (lost[d])
            f->out[device] = r->lost[device] = true;
    }
}

/* Finds out which agents there are. Those that have come back are asked only if something has been
 * answered since the last attempt: else one that comes and goes would hold up the stream. */
static void take_stock(struct ad_failover *f, struct ad_recovery *r)
{
    bool used[AD_MAX_DEVICES] = {false}, was_out[AD_MAX_DEVICES], busy;
    memcpy(was_out, f->out, sizeof was_out);
    end_session(f, r, used);
    for (int d = 0; d < f->first->cluster.ndevices; d++) {
        if (used[d]) {
            await_free(f, d, r);
        } else if (!r->lost[d] && f->attempts == 0) {
            bool there =
                f->first->cluster.devices[d].address[0] != '\0' && answers(f, d, BACK_S, &busy);
            r->returned[d] = there && was_out[d];
            f->out[d] = !there;
        }
    }
}

/* --- another plan --- */

/* From now on that is the plan in use. own: made here, and freed here. */
static void use_plan(struct ad_failover *f, const struct adaps_plan *plan, struct adaps_plan *own,
                     const int *device_of)
{
    adaps_plan_free(f->own);
    f->own = own;
    f->plan = plan;
    memcpy(f->device_of, device_of, sizeof f->device_of);
}

static bool all_there(const struct ad_failover *f)
{
    for (int d = 0; d < f->first->cluster.ndevices; d++)
        if (f->out[d] && ad_plan_works(f->first, d))
            return false;
    return true;
}

/* The first plan when everybody is there again; a spare that it brought along; or a new one. */
static enum adaps_status plan_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    int device_of[AD_MAX_DEVICES] = {0};
    struct adaps_plan *plan = NULL;
    enum adaps_status status = ADAPS_OK;
    const struct ad_spare *spare = ad_plan_spare(f->first, f->out, device_of);
    r->plan = AD_RECOVERY_SPARE;
    if (spare) {
        use_plan(f, spare->plan, NULL, device_of);
    } else if (all_there(f)) {
        r->plan = AD_RECOVERY_FIRST;
        for (int d = 0; d < f->first->cluster.ndevices; d++)
            device_of[d] = d;
        use_plan(f, f->first, NULL, device_of);
    } else {
        r->plan = AD_RECOVERY_NEW;
        status = ad_spare_plan(f->first, ad_model_weights_graph(&f->weights), f->out,
                               &ad_spare_hurry, &plan, device_of, err);
        if (status == ADAPS_OK)
            use_plan(f, plan, plan, device_of);
    }
    r->plan_ns += ad_clock_ns() - start;
    return status;
}

static enum adaps_status push_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    size_t n = (size_t)f->plan->cluster.ndevices;
    uint64_t bytes[AD_MAX_DEVICES] = {0};
    const struct ad_weight_source source = ad_model_weights_source(&f->weights);
    struct ad_push_report *reports = ad_calloc(n, sizeof *reports);
    if (!reports)
        return ad_error_memory(err, "push", n * sizeof *reports);
    enum adaps_status status = ad_push(f->plan, &f->options, &source, reports, err);
    for (size_t d = 0; d < n; d++) {
        bytes[d] = reports[d].weight_bytes_sent + reports[d].plan_bytes_sent;
        r->push_bytes += bytes[d];
    }
    ad_free(reports);
    r->push_ns += ad_clock_ns() - start;
    r->latency_ns = f->plan->schedule.makespan_ns;
    const struct ad_recovery_work work = {.plan_ns = r->plan_ns,
                                          .bytes = bytes,
                                          .inferences = f->flying,
                                          .open_factor = f->open_factor,
                                          .run_factor = f->run_factor};
    r->predicted = ad_recovery_predict(f->plan, &work);
    return status;
}

/* How often one time goes into another. */
static double times(int64_t measured_ns, int64_t predicted_ns)
{
    return predicted_ns > 0 ? (double)measured_ns / (double)predicted_ns : 0;
}

/* Agents may have loaded the plan before, so only the slowest opening counts. */
static enum adaps_status open_session(struct ad_failover *f, int64_t *took_ns,
                                      struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    enum adaps_status status = ad_session_open(f->plan, &f->options, &f->session, err);
    *took_ns = ad_clock_ns() - start;
    double factor = times(*took_ns, ad_recovery_open_ns(f->plan));
    if (status == ADAPS_OK && factor > f->open_factor)
        f->open_factor = factor;
    return status;
}

static enum adaps_status open_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    int64_t took_ns;
    enum adaps_status status = open_session(f, &took_ns, err);
    r->open_ns += took_ns;
    return status;
}

static enum adaps_status begin_again(struct ad_failover *f, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    f->repeat_since_ns = ad_clock_ns();
    for (int i = 0; i < f->flying && status == ADAPS_OK; i++)
        status = ad_session_begin(f->session, *kept_at(f, f->answered + i), err);
    return status;
}

/* --- recovery --- */

static struct ad_recovery *latest(struct ad_failover *f)
{
    return f->nrecoveries > 0 ? &f->recoveries[f->nrecoveries - 1] : NULL;
}

/* The latest recovery is over: all was answered again, or another agent is lost before that. */
static void conclude(struct ad_failover *f)
{
    struct ad_recovery *r = latest(f);
    int64_t now = ad_clock_ns();
    f->repeating = 0;
    r->repeat_ns = now - f->repeat_since_ns;
    r->total_ns = now - f->since_ns;
    r->done = true;
}

/* A new one. since_ns: when the wait began that has failed. NULL without memory. */
static struct ad_recovery *start_recovery(struct ad_failover *f, int64_t since_ns,
                                          struct adaps_error *err)
{
    size_t n = (size_t)f->nrecoveries;
    struct ad_recovery *grown = ad_realloc(f->recoveries, n + 1, sizeof *grown);
    if (!grown) {
        ad_error_memory(err, "recovery", sizeof *grown);
        return NULL;
    }
    f->recoveries = grown;
    f->nrecoveries++;
    f->since_ns = since_ns;
    f->repeating = f->flying;
    grown[n] = (struct ad_recovery){
        .inference = f->answered + 1, .detect_ns = ad_clock_ns() - since_ns, .repeated = f->flying};
    return &grown[n];
}

/* Why there is no recovery, when the source is lost. */
static enum adaps_status give_up_source(const struct ad_failover *f,
                                        const struct adaps_error *failure, struct adaps_error *err)
{
    const struct ad_cluster *cluster = &f->first->cluster;
    return ad_error_set(err, ADAPS_EAGENT, "the source '%s' is lost and cannot be replaced: %s",
                        cluster->devices[cluster->source].name, failure->message);
}

/* The message of why there is no recovery, before that of the failure itself. */
static enum adaps_status give_up(const char *why, const struct adaps_error *failure,
                                 struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EAGENT, "%s: %s", why, failure->message);
}

/* After a failure of what is in flight: all of it is on its way again. err: in, the failure. */
static enum adaps_status recover(struct ad_failover *f, int64_t since_ns, struct adaps_error *err)
{
    struct adaps_error failure = *err;
    enum adaps_status status = failure.status;
    if (f->repeating > 0)
        conclude(f);
    struct ad_recovery *r = start_recovery(f, since_ns, err);
    if (!r)
        return ADAPS_EINTERNAL;
    while (status == ADAPS_EAGENT) {
        if (f->attempts > f->first->cluster.ndevices + 1)
            return give_up("nothing is left to try", &failure, err);
        take_stock(f, r);
        f->attempts++;
        if (f->out[f->first->cluster.source])
            return give_up_source(f, &failure, err);
        status = plan_again(f, r, &failure);
        if (status == ADAPS_NO)
            return give_up("the agents that are left do not suffice", &failure, err);
        if (status == ADAPS_OK)
            status = push_again(f, r, &failure);
        if (status == ADAPS_OK)
            status = open_again(f, r, &failure);
        if (status == ADAPS_OK)
            status = begin_again(f, &failure);
    }
    if (status != ADAPS_OK)
        *err = failure;
    return status;
}

/* --- the stream --- */

enum adaps_status ad_failover_enable(struct ad_failover *f, const char *model,
                                     struct adaps_error *err)
{
    if (f->enabled)
        return ADAPS_OK;
    if (f->flying > 0)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish them first",
                            f->flying);
    if (ad_plan_lossy(f->first))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "a lossy plan has no failover: its answers depend on its devices");
    ad_model_weights_init(&f->weights, f->first, model);
    enum adaps_status status = ad_model_weights_open(&f->weights, err);
    f->enabled = status == ADAPS_OK;
    return status;
}

enum adaps_status ad_failover_open(const struct adaps_plan *plan,
                                   const struct ad_failover_options *options,
                                   struct ad_failover **out, struct adaps_error *err)
{
    struct ad_failover *f = ad_calloc(1, sizeof *f);
    if (!f)
        return ad_error_memory(err, "failover", sizeof *f);
    int64_t took_ns;
    f->first = f->plan = plan;
    f->options = *options->session;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        f->device_of[d] = d;
    enum adaps_status status =
        options->enabled ? ad_failover_enable(f, options->model, err) : ADAPS_OK;
    if (status == ADAPS_OK)
        status = open_session(f, &took_ns, err);
    f->options.progress = NULL; /* it is of the first push */
    if (status != ADAPS_OK) {
        ad_failover_close(f);
        return status;
    }
    *out = f;
    return ADAPS_OK;
}

enum adaps_status ad_failover_begin(struct ad_failover *f, const struct ad_tensor *inputs,
                                    struct adaps_error *err)
{
    struct adaps_error why = {0};
    if (!f->session)
        return ad_error_set(err, ADAPS_EUSAGE, "an inference has failed: close the session");
    if (!f->enabled)
        return ad_session_begin(f->session, inputs, err);
    int64_t start = ad_clock_ns(), number = f->answered + f->flying;
    if (f->flying < AD_FLIGHTS_MOST) {
        enum adaps_status status = keep(f, number, inputs, err);
        if (status != ADAPS_OK)
            return status;
    }
    enum adaps_status status = ad_session_begin(f->session, inputs, &why);
    if (status == ADAPS_OK || status == ADAPS_EAGENT)
        f->flying++;
    else if (f->flying < AD_FLIGHTS_MOST)
        drop_kept(f, (int)(number % AD_FLIGHTS_MOST));
    if (status == ADAPS_EAGENT)
        status = recover(f, start, &why);
    if (status != ADAPS_OK && err)
        *err = why;
    return status;
}

/* The devices' own figures, by device of the first plan. */
static void spread_stats(const struct ad_failover *f, const struct ad_device_stats *from,
                         struct ad_device_stats *to)
{
    memset(to, 0, (size_t)f->first->cluster.ndevices * sizeof *to);
    for (int d = 0; d < f->plan->cluster.ndevices; d++)
        to[f->device_of[d]] = from[d];
}

/* A mean of the latest ones. */
static void note_run(struct ad_failover *f, int64_t latency_ns)
{
    const struct adaps_plan *plan = f->plan;
    int64_t predicted_ns =
        plan->stream.latency_ns > 0 ? plan->stream.latency_ns : plan->schedule.makespan_ns;
    double factor = times(latency_ns, predicted_ns);
    f->run_factor = f->run_factor > 0 ? 0.8 * f->run_factor + 0.2 * factor : factor;
}

enum adaps_status ad_failover_finish(struct ad_failover *f, struct ad_tensor *outputs,
                                     struct ad_run_stats *stats, struct adaps_error *err)
{
    struct ad_device_stats devices[AD_MAX_DEVICES];
    struct ad_run_stats own = {.devices = devices};
    struct adaps_error why = {0};
    memset(outputs, 0, (size_t)f->first->graph->noutputs * sizeof *outputs);
    if (!f->session)
        return ad_error_set(err, ADAPS_EUSAGE, "an inference has failed: close the session");
    int64_t start = ad_clock_ns();
    enum adaps_status status = ad_session_finish(f->session, outputs, &own, &why);
    while (status == ADAPS_EAGENT && f->enabled) {
        status = recover(f, start, &why);
        start = ad_clock_ns();
        if (status != ADAPS_OK)
            break;
        status = ad_session_finish(f->session, outputs, &own, &why);
    }
    if (status != ADAPS_OK) {
        if (err)
            *err = why;
        return status;
    }
    if (stats) {
        stats->latency_ns = own.latency_ns;
        stats->wall_ns = own.wall_ns;
        if (stats->devices)
            spread_stats(f, devices, stats->devices);
    }
    f->attempts = 0;
    if (!f->enabled)
        return ADAPS_OK;
    note_run(f, own.latency_ns);
    drop_kept(f, (int)(f->answered % AD_FLIGHTS_MOST));
    f->answered++;
    f->flying--;
    if (f->repeating > 0 && --f->repeating == 0)
        conclude(f);
    return ADAPS_OK;
}

struct ad_session *ad_failover_session(struct ad_failover *f)
{
    return f->session;
}

const struct ad_recovery *ad_failover_recoveries(const struct ad_failover *f, int *count)
{
    *count = f->nrecoveries;
    return f->recoveries;
}

void ad_failover_close(struct ad_failover *f)
{
    if (!f)
        return;
    ad_session_close(f->session);
    for (int i = 0; i < AD_FLIGHTS_MOST; i++)
        drop_kept(f, i);
    ad_model_weights_fini(&f->weights);
    adaps_plan_free(f->own);
    ad_free(f->recoveries);
    ad_free(f);
}
