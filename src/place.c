#include "place.h"
#include "model_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct ad_place {
    const struct adaps_plan *plan; /* the caller's */
    struct ad_failover *agents;    /* one of these two */
    struct ad_local_run *local;
    const struct ad_tensor *queue[AD_FLIGHTS_MOST]; /* local: inputs that have begun, a ring */
    int first, queued;
    struct ad_interrupt interrupt;
    adaps_log_fn *log;
    void *log_self;
    int told; /* recoveries that were logged */
    adaps_adaptation_fn *adaptation;
    void *adaptation_self;
    int told_adaptations;
    int before;            /* while it waited for its turn: the place in line that was logged */
    atomic_int recoveries; /* so far */
};

static void say(const struct ad_place *place, enum adaps_log_level level, const char *fmt, ...)
    AD_PRINTF(3, 4);
static void say(const struct ad_place *place, enum adaps_log_level level, const char *fmt, ...)
{
    char message[512];
    if (!place->log)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    place->log(place->log_self, level, message);
}

/* --- opening --- */

static enum adaps_status push(struct ad_place *place, const struct ad_place_options *options,
                              const struct ad_session_options *session, struct adaps_error *err)
{
    const struct adaps_plan *plan = place->plan;
    int n = plan->cluster.ndevices;
    uint64_t weights_sent = 0, plans_sent = 0;
    struct ad_model_weights weights;
    struct ad_push_report *reports = ad_calloc((size_t)n, sizeof *reports);
    if (!reports)
        return ad_error_memory(err, "push", (size_t)n * sizeof *reports);
    ad_model_weights_init(&weights, plan, options->model);
    const struct ad_weight_source source = ad_model_weights_source(&weights);
    enum adaps_status status = ad_push(plan, session, &source, reports, err);
    for (int d = 0; d < n; d++) {
        weights_sent += reports[d].weight_bytes_sent;
        plans_sent += reports[d].plan_bytes_sent;
    }
    if (status == ADAPS_OK)
        say(place, ADAPS_LOG_INFO,
            "pushed %" PRIu64 " bytes of weights and %" PRIu64 " of plans to the agents",
            weights_sent, plans_sent);
    ad_model_weights_fini(&weights);
    ad_free(reports);
    return status;
}

/* Once, and again when the place in line is another. */
static void tell_waiting(void *self, const char *what, int before, double waited_s)
{
    struct ad_place *place = self;
    (void)waited_s;
    if (place->log && place->before != before) {
        char message[1100];
        snprintf(message, sizeof message, "waiting: %s", what);
        place->log(place->log_self, ADAPS_LOG_INFO, message);
    }
    place->before = before;
}

static enum adaps_status open_agents(struct ad_place *place, const struct ad_place_options *options,
                                     struct adaps_error *err)
{
    struct ad_session_options session = options->session;
    session.interrupt = &place->interrupt;
    session.waiting = tell_waiting;
    session.waiting_self = place;
    enum adaps_status status = push(place, options, &session, err);
    if (status != ADAPS_OK)
        return status;
    return ad_failover_open(place->plan,
                            &(struct ad_failover_options){.enabled = options->failover,
                                                          .adapt = options->adapt,
                                                          .horizon = options->horizon,
                                                          .model = options->model,
                                                          .session = &session},
                            &place->agents, err);
}

enum adaps_status ad_place_open(const struct adaps_plan *plan,
                                const struct ad_place_options *options, struct ad_place **out,
                                struct adaps_error *err)
{
    struct ad_place *place = ad_calloc(1, sizeof *place);
    if (!place)
        return ad_error_memory(err, "session", sizeof *place);
    place->plan = plan;
    place->log = options->log;
    place->log_self = options->log_self;
    place->adaptation = options->adaptation;
    place->adaptation_self = options->adaptation_self;
    enum adaps_status status = ad_interrupt_init(&place->interrupt, err);
    if (status == ADAPS_OK)
        status = options->local ? ad_model_local_run(plan, options->model, options->threads,
                                                     &place->local, err)
                                : open_agents(place, options, err);
    if (status != ADAPS_OK) {
        ad_place_close(place);
        return status;
    }
    *out = place;
    return ADAPS_OK;
}

void ad_place_close(struct ad_place *place)
{
    if (!place)
        return;
    ad_failover_close(place->agents);
    ad_local_run_free(place->local);
    ad_interrupt_fini(&place->interrupt);
    ad_free(place);
}

/* --- what is told --- */

static const char *name_of(const struct ad_place *place, int device)
{
    return device < 0 ? NULL : place->plan->cluster.devices[device].name;
}

static void tell_adaptation(const struct ad_place *place, const struct ad_adaptation *a)
{
    const struct adaps_adaptation one = {.struct_size = sizeof one,
                                         .device = name_of(place, a->device),
                                         .to = name_of(place, a->to),
                                         .factor = a->factor,
                                         .before = a->before,
                                         .inference = a->inference,
                                         .taken = a->taken,
                                         .old_ns = a->old_ns,
                                         .new_ns = a->new_ns,
                                         .left = a->left,
                                         .cost_ns = a->cost_ns,
                                         .plan_ns = a->plan_ns,
                                         .push_ns = a->push_ns,
                                         .open_ns = a->open_ns,
                                         .push_bytes = a->push_bytes};
    say(place, ADAPS_LOG_INFO,
        "after %" PRId64 " inferences %s%s%s has had %.2f of the planned speed; %s: %.3g ms an "
        "inference instead of %.3g ms",
        a->inference, one.device, one.to ? " to " : "", one.to ? one.to : "", a->factor,
        a->taken ? "went on with another plan" : "another plan would not gain enough",
        (double)a->new_ns * 1e-6, (double)a->old_ns * 1e-6);
    if (place->adaptation)
        place->adaptation(place->adaptation_self, &one);
}

/* Those that are done and were not told yet. */
static void tell_adaptations(struct ad_place *place)
{
    int count;
    const struct ad_adaptation *list = ad_failover_adaptations(place->agents, &count);
    for (; place->told_adaptations < count && list[place->told_adaptations].done;
         place->told_adaptations++)
        tell_adaptation(place, &list[place->told_adaptations]);
}

/* --- inferences --- */

enum adaps_status ad_place_begin(struct ad_place *place, const struct ad_tensor *inputs,
                                 struct adaps_error *err)
{
    if (place->agents) {
        enum adaps_status status = ad_failover_begin(place->agents, inputs, err);
        tell_adaptations(place);
        return status;
    }
    if (place->queued == AD_FLIGHTS_MOST)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish one",
                            AD_FLIGHTS_MOST);
    place->queue[(place->first + place->queued++) % AD_FLIGHTS_MOST] = inputs;
    return ADAPS_OK;
}

static enum adaps_status finish_local(struct ad_place *place, struct ad_tensor *outputs,
                                      struct adaps_error *err)
{
    if (place->queued == 0)
        return ad_error_set(err, ADAPS_EUSAGE, "no inference is in flight");
    const struct ad_tensor *inputs = place->queue[place->first];
    enum adaps_status status = ad_local_run_infer(place->local, inputs, outputs, err);
    place->first = (place->first + 1) % AD_FLIGHTS_MOST;
    place->queued = status == ADAPS_ECANCELLED ? 0 : place->queued - 1;
    return status;
}

static void names_of(const struct ad_place *place, const bool *which, char *to, size_t size)
{
    size_t n = 0;
    to[0] = '\0';
    for (int d = 0; d < place->plan->cluster.ndevices && n < size; d++)
        if (which[d])
            n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "",
                                  place->plan->cluster.devices[d].name);
}

/* Those recoveries that are over and were not told yet. */
static void tell_recoveries(struct ad_place *place)
{
    int count;
    char lost[200];
    const struct ad_recovery *list = ad_failover_recoveries(place->agents, &count);
    place->recoveries = count;
    for (; place->told < count && list[place->told].done; place->told++) {
        const struct ad_recovery *r = &list[place->told];
        names_of(place, r->lost, lost, sizeof lost);
        say(place, ADAPS_LOG_WARNING,
            "inference %" PRId64 " failed, lost: %s; went on with another plan after %.2f s",
            r->inference, *lost ? lost : "no agent", (double)r->total_ns * 1e-9);
    }
}

enum adaps_status ad_place_finish(struct ad_place *place, struct ad_tensor *outputs,
                                  struct adaps_error *err)
{
    if (place->local)
        return finish_local(place, outputs, err);
    enum adaps_status status = ad_failover_finish(place->agents, outputs, NULL, err);
    tell_recoveries(place);
    tell_adaptations(place);
    return status;
}

bool ad_place_fails_as_one(const struct ad_place *place, enum adaps_status status)
{
    return place->agents || status == ADAPS_ECANCELLED;
}

void ad_place_wake(struct ad_place *place)
{
    ad_interrupt_wake(&place->interrupt);
}

void ad_place_cancel(struct ad_place *place)
{
    ad_interrupt_cancel(&place->interrupt);
    if (place->local)
        ad_local_run_cancel(place->local, true);
}

void ad_place_reset(struct ad_place *place)
{
    ad_interrupt_reset(&place->interrupt);
    if (place->local)
        ad_local_run_cancel(place->local, false);
}

int ad_place_recoveries(const struct ad_place *place)
{
    return place->recoveries;
}
