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
    bool cancelled;                          /* the session was closed for that */
    struct ad_adapt *adapt;                  /* NULL: the plan is not adapted */
    int64_t horizon, stream;                 /* as in the options */
    double *links;                           /* of an answer, when adapted */
    struct ad_model_weights weights;         /* of the first plan, when enabled or adapted */
    const struct adaps_plan *plan;           /* in use: the first one, a spare of it, or: */
    struct adaps_plan *own;                  /* made here */
    int device_of[AD_MAX_DEVICES];           /* by device of the plan in use: that of the first */
    bool out[AD_MAX_DEVICES];                /* lost, by device of the first */
    struct ad_session *session;              /* NULL while there is none */
    int64_t answered;                        /* inferences of the stream */
    int flying;                              /* those after them, whose inputs are kept: */
    struct ad_tensor *kept[AD_FLIGHTS_MOST]; /* by number modulo their number; when keeping() */
    int held;            /* the latest so many of them have not begun: they wait for another plan */
    uint32_t in_session; /* answers of this session */
    int64_t opening_ns;  /* what opening it took */
    int repeating;       /* of those, so many are done for the second time */
    int64_t repeat_since_ns, since_ns; /* the repetition; the whole recovery */
    int attempts;                      /* since the last answer */
    double open_factor, run_factor;    /* how much longer than predicted they were (recovery.h) */
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

static bool keeping(const struct ad_failover *f)
{
    return f->enabled || f->adapt;
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
        const struct ad_tensor *input = &inputs[k];
        status = ad_tensor_init_typed(&(*copy)[k], input->type, input->rank, input->dims, err);
        if (status == ADAPS_OK)
            memcpy((*copy)[k].data, input->data, input->count * ad_type_bytes(input->type));
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

/* Whether the stream has gone on with another plan because devices or links are no longer what they
 * were planned for, as they were for the first plan and its spares. */
static bool adapted(const struct ad_failover *f)
{
    int count = 0;
    const struct ad_adaptation *list = f->adapt ? ad_adapt_list(f->adapt, &count) : NULL;
    for (int i = 0; i < count; i++)
        if (list[i].taken)
            return true;
    return false;
}

/* The first plan when everybody is there again; a spare that it brought along; or a new one. */
static enum adaps_status plan_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    int device_of[AD_MAX_DEVICES] = {0};
    struct adaps_plan *plan = NULL;
    enum adaps_status status = ADAPS_OK;
    const struct ad_spare *spare = adapted(f) ? NULL : ad_plan_spare(f->first, f->out, device_of);
    r->plan = AD_RECOVERY_SPARE;
    if (spare) {
        use_plan(f, spare->plan, NULL, device_of);
    } else if (all_there(f) && !adapted(f)) {
        r->plan = AD_RECOVERY_FIRST;
        for (int d = 0; d < f->first->cluster.ndevices; d++)
            device_of[d] = d;
        use_plan(f, f->first, NULL, device_of);
    } else {
        r->plan = AD_RECOVERY_NEW;
        const struct ad_cluster *now = f->adapt ? ad_adapt_cluster(f->adapt) : &f->first->cluster;
        status = ad_spare_plan(f->first, now, ad_model_weights_graph(&f->weights), f->out,
                               &ad_spare_hurry, &plan, device_of, err);
        if (status == ADAPS_OK)
            use_plan(f, plan, plan, device_of);
    }
    r->plan_ns += ad_clock_ns() - start;
    return status;
}

/* *reports: by device of the plan, the caller's; *bytes grows by what was sent. */
static enum adaps_status push_plan(struct ad_failover *f, const struct adaps_plan *plan,
                                   struct ad_push_report **reports, uint64_t *bytes,
                                   struct adaps_error *err)
{
    size_t n = (size_t)plan->cluster.ndevices;
    const struct ad_weight_source source = ad_model_weights_source(&f->weights);
    *reports = ad_calloc(n, sizeof **reports);
    if (!*reports)
        return ad_error_memory(err, "push", n * sizeof **reports);
    enum adaps_status status = ad_push(plan, &f->options, &source, *reports, err);
    for (size_t d = 0; d < n; d++)
        *bytes += (*reports)[d].weight_bytes_sent + (*reports)[d].plan_bytes_sent;
    return status;
}

static enum adaps_status push_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    uint64_t bytes[AD_MAX_DEVICES] = {0};
    struct ad_push_report *reports;
    enum adaps_status status = push_plan(f, f->plan, &reports, &r->push_bytes, err);
    if (!reports)
        return status;
    for (int d = 0; d < f->plan->cluster.ndevices; d++)
        bytes[d] = reports[d].weight_bytes_sent + reports[d].plan_bytes_sent;
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

/* A session of a plan; there is none. Agents may have loaded the plan before, so only the slowest
 * opening counts. */
static enum adaps_status open_session(struct ad_failover *f, const struct adaps_plan *plan,
                                      struct adaps_error *err)
{
    int64_t start = ad_clock_ns();
    enum adaps_status status = ad_session_open(plan, &f->options, &f->session, err);
    f->opening_ns = ad_clock_ns() - start;
    f->in_session = 0;
    double factor = times(f->opening_ns, ad_recovery_open_ns(plan));
    if (status == ADAPS_OK && factor > f->open_factor)
        f->open_factor = factor;
    return status;
}

static enum adaps_status open_again(struct ad_failover *f, struct ad_recovery *r,
                                    struct adaps_error *err)
{
    enum adaps_status status = open_session(f, f->plan, err);
    r->open_ns += f->opening_ns;
    return status;
}

static enum adaps_status begin_again(struct ad_failover *f, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    f->repeat_since_ns = ad_clock_ns();
    f->held = 0;
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
    if (f->adapt)
        ad_adapt_restart(f->adapt);
    if (f->repeating > 0)
        conclude(f);
    struct ad_recovery *r = start_recovery(f, since_ns, err);
    if (!r)
        return ADAPS_EINTERNAL;
    while (status == ADAPS_EAGENT) {
        if (f->options.interrupt && ad_interrupt_cancelled(f->options.interrupt))
            return ad_error_set(err, ADAPS_ECANCELLED, "the recovery was cancelled");
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

/* --- cancelling --- */

/* Gives up all that is in flight, and the session with it. */
static void drop_flights(struct ad_failover *f)
{
    if (f->repeating > 0)
        conclude(f);
    ad_session_close(f->session);
    f->session = NULL;
    for (int i = 0; i < AD_FLIGHTS_MOST; i++)
        drop_kept(f, i);
    f->flying = f->held = 0;
    f->cancelled = true;
}

/* A new session in place of one that was cancelled, once the agents have left that. */
static enum adaps_status begin_anew(struct ad_failover *f, struct adaps_error *err)
{
    int64_t until = ad_clock_ns() + LEAVE_NS;
    for (int d = 0; d < f->plan->cluster.ndevices; d++) {
        bool busy = ad_plan_works(f->plan, d);
        while (busy && answers(f, f->device_of[d], ALIVE_S, &busy) && busy && ad_clock_ns() < until)
            nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
    enum adaps_status status = open_session(f, f->plan, err);
    f->cancelled = status != ADAPS_OK;
    return status;
}

/* --- adaptation --- */

/* What waited for another plan begins. */
static enum adaps_status begin_held(struct ad_failover *f, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (; f->held > 0 && status == ADAPS_OK; f->held--)
        status = ad_session_begin(f->session, *kept_at(f, f->answered + f->flying - f->held), err);
    return status;
}

/* From the plan in use to another, whose this is. When it cannot be pushed, or the agents cannot
 * open it, the one in use goes on. */
static enum adaps_status change_plan(struct ad_failover *f, struct ad_adaptation *one,
                                     struct adaps_plan *plan, const int *device_of,
                                     struct adaps_error *err)
{
    struct ad_push_report *reports;
    int64_t start = ad_clock_ns();
    enum adaps_status status = push_plan(f, plan, &reports, &one->push_bytes, err);
    ad_free(reports);
    one->push_ns = ad_clock_ns() - start;
    one->taken = false;
    one->done = true;
    if (status == ADAPS_OK) {
        f->options.after = ad_session_leave(f->session);
        f->session = NULL;
        one->taken = open_session(f, plan, err) == ADAPS_OK;
        one->open_ns = f->opening_ns;
    }
    if (!one->taken) {
        adaps_plan_free(plan);
        return f->session ? ADAPS_OK : open_session(f, f->plan, err);
    }
    use_plan(f, plan, plan, device_of);
    return ADAPS_OK;
}

/* Goes on with the plan that is ready, if there is one, and nothing in flight but what waits for
 * it. */
static enum adaps_status go_over(struct ad_failover *f, struct adaps_error *err)
{
    int device_of[AD_MAX_DEVICES];
    struct adaps_plan *plan;
    if (!ad_adapt_ready(f->adapt) || f->flying > f->held)
        return ADAPS_OK;
    struct ad_adaptation *one = ad_adapt_take(f->adapt, &plan, device_of);
    enum adaps_status status = change_plan(f, one, plan, device_of, err);
    return status == ADAPS_OK ? begin_held(f, err) : status;
}

/* Tells the adaptation of an answer. */
static void observe(struct ad_failover *f, const struct ad_run_stats *stats)
{
    int64_t rest = f->stream - f->answered - f->flying;
    const struct ad_adapt_answer answer = {.plan = f->plan,
                                           .device_of = f->device_of,
                                           .number = f->in_session++,
                                           .devices = stats->devices,
                                           .links = stats->links,
                                           .out = f->out,
                                           .inference = f->answered,
                                           .left = f->horizon > 0 ? f->horizon : rest,
                                           .open_ns = f->opening_ns};
    if (f->stream == 0 || rest > 0)
        (void)ad_adapt_observe(f->adapt, &answer);
}

/* --- the stream --- */

enum adaps_status ad_failover_check(const struct adaps_plan *plan, const char *what,
                                    struct adaps_error *err)
{
    if (ad_plan_lossy(plan))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "a lossy plan has no %s: its answers depend on its devices", what);
    return ADAPS_OK;
}

static enum adaps_status open_weights(struct ad_failover *f, const char *what, const char *model,
                                      struct adaps_error *err)
{
    enum adaps_status status = ad_failover_check(f->first, what, err);
    if (status != ADAPS_OK || keeping(f))
        return status;
    ad_model_weights_init(&f->weights, f->first, model);
    return ad_model_weights_open(&f->weights, err);
}

enum adaps_status ad_failover_enable(struct ad_failover *f, const char *model,
                                     struct adaps_error *err)
{
    if (f->enabled)
        return ADAPS_OK;
    if (f->flying > 0)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish them first",
                            f->flying);
    enum adaps_status status = open_weights(f, "failover", model, err);
    f->enabled = status == ADAPS_OK;
    return status;
}

/* Agents without work by the first plan may get some if they are there. */
static enum adaps_status begin_adapting(struct ad_failover *f,
                                        const struct ad_failover_options *options,
                                        struct adaps_error *err)
{
    const struct ad_cluster *cluster = &f->first->cluster;
    enum adaps_status status = open_weights(f, "adaptation", options->model, err);
    if (status == ADAPS_OK)
        status = ad_adapt_new(f->first, &f->weights, &f->adapt, err);
    f->horizon = options->horizon;
    f->stream = options->stream;
    for (int d = 0; d < cluster->ndevices && status == ADAPS_OK; d++) {
        bool busy;
        f->out[d] = !ad_plan_works(f->first, d) &&
                    (cluster->devices[d].address[0] == '\0' || !answers(f, d, BACK_S, &busy));
    }
    size_t n = (size_t)cluster->ndevices;
    f->links = ad_calloc(n * n, sizeof *f->links);
    if (status == ADAPS_OK && !f->links)
        status = ad_error_memory(err, "links", n * n * sizeof *f->links);
    f->options.message_times = true;
    return status;
}

enum adaps_status ad_failover_open(const struct adaps_plan *plan,
                                   const struct ad_failover_options *options,
                                   struct ad_failover **out, struct adaps_error *err)
{
    struct ad_failover *f = ad_calloc(1, sizeof *f);
    if (!f)
        return ad_error_memory(err, "failover", sizeof *f);
    f->first = f->plan = plan;
    f->options = *options->session;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        f->device_of[d] = d;
    enum adaps_status status =
        options->enabled ? ad_failover_enable(f, options->model, err) : ADAPS_OK;
    if (status == ADAPS_OK && options->adapt)
        status = begin_adapting(f, options, err);
    if (status == ADAPS_OK)
        status = open_session(f, plan, err);
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
    if (f->cancelled) {
        enum adaps_status status = begin_anew(f, err);
        if (status != ADAPS_OK)
            return status;
    }
    if (!f->session)
        return ad_error_set(err, ADAPS_EUSAGE, "an inference has failed: close the session");
    if (!keeping(f))
        return ad_session_begin(f->session, inputs, err);
    if (f->flying == AD_FLIGHTS_MOST)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish one",
                            AD_FLIGHTS_MOST);
    int64_t start = ad_clock_ns(), number = f->answered + f->flying;
    enum adaps_status status = keep(f, number, inputs, err);
    if (status != ADAPS_OK)
        return status;
    status = go_over(f, &why);
    bool hold = ad_adapt_ready(f->adapt);
    if (status == ADAPS_OK && !hold)
        status = ad_session_begin(f->session, inputs, &why);
    f->held += hold;
    if (status == ADAPS_OK || status == ADAPS_EAGENT)
        f->flying++;
    else
        drop_kept(f, (int)(number % AD_FLIGHTS_MOST));
    if (status == ADAPS_EAGENT && f->enabled)
        status = recover(f, start, &why);
    if (status == ADAPS_ECANCELLED)
        drop_flights(f);
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
    struct ad_run_stats own = {.devices = devices, .links = f->links};
    struct adaps_error why = {0};
    memset(outputs, 0, (size_t)f->first->graph->noutputs * sizeof *outputs);
    if (!f->session)
        return ad_error_set(err, ADAPS_EUSAGE, "an inference has failed: close the session");
    int64_t start = ad_clock_ns();
    enum adaps_status status = go_over(f, &why);
    if (status == ADAPS_OK)
        status = ad_session_finish(f->session, outputs, &own, &why);
    while (status == ADAPS_EAGENT && f->enabled) {
        status = recover(f, start, &why);
        start = ad_clock_ns();
        if (status != ADAPS_OK)
            break;
        status = ad_session_finish(f->session, outputs, &own, &why);
    }
    if (status == ADAPS_ECANCELLED)
        drop_flights(f);
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
    if (!keeping(f))
        return ADAPS_OK;
    note_run(f, own.latency_ns);
    drop_kept(f, (int)(f->answered % AD_FLIGHTS_MOST));
    f->answered++;
    f->flying--;
    if (f->repeating > 0 && --f->repeating == 0)
        conclude(f);
    if (f->adapt)
        observe(f, &own);
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

const struct ad_adaptation *ad_failover_adaptations(const struct ad_failover *f, int *count)
{
    *count = 0;
    return f->adapt ? ad_adapt_list(f->adapt, count) : NULL;
}

int ad_failover_frames(const struct ad_failover *f)
{
    return f->plan->stream.frames;
}

void ad_failover_close(struct ad_failover *f)
{
    if (!f)
        return;
    ad_adapt_free(f->adapt);
    ad_session_close(f->session);
    for (int i = 0; i < AD_FLIGHTS_MOST; i++)
        drop_kept(f, i);
    ad_model_weights_fini(&f->weights);
    ad_free(f->links);
    adaps_plan_free(f->own);
    ad_free(f->recoveries);
    ad_free(f);
}
