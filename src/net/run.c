/* One inference on the agents, watched by pings. */
#include "base/clock.h"
#include "net/describe.h"
#include "net/session_priv.h"

#include <stdio.h>
#include <string.h>

static enum adaps_status check_inputs(const struct ad_session *session,
                                      const struct ad_tensor *inputs, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *value = &graph->values[graph->inputs[i]];
        const struct ad_tensor *tensor = &inputs[i];
        if (tensor->rank == value->rank &&
            memcmp(tensor->dims, value->dims, (size_t)value->rank * sizeof *value->dims) == 0)
            continue;
        char got[128], wanted[128];
        return ad_error_set(err, ADAPS_EINPUT, "input '%s' has shape %s, the network takes %s",
                            value->name,
                            ad_dims_format(tensor->rank, tensor->dims, got, sizeof got),
                            ad_dims_format(value->rank, value->dims, wanted, sizeof wanted));
    }
    return ADAPS_OK;
}

/* The source last, when the others already listen. */
static enum adaps_status send_runs(struct ad_session *session, const struct ad_tensor *inputs,
                                   bool trace, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    Adaps__Wire__Run run = ADAPS__WIRE__RUN__INIT;
    run.deadline_ms = (uint32_t)(session->deadline_ns / 1000000);
    run.trace = trace;
    for (int i = 0; i < session->nremotes; i++) {
        if (i == session->source)
            continue;
        enum adaps_status status = ad_remote_send(&session->remotes[i], AD_FRAME_RUN,
                                                  session->inference, &run.base, NULL, 0, err);
        if (status != ADAPS_OK)
            return status;
    }
    zmq_msg_t raw;
    if (zmq_msg_init_size(&raw, session->input_bytes) != 0)
        return ad_error_memory(err, "inputs", session->input_bytes);
    uint8_t *to = zmq_msg_data(&raw);
    for (int i = 0; i < graph->ninputs; i++) {
        memcpy(to, inputs[i].data, inputs[i].count * sizeof(float));
        to += inputs[i].count * sizeof(float);
    }
    struct ad_remote *source = &session->remotes[session->source];
    struct ad_frame frame = {.type = AD_FRAME_RUN,
                             .session = session->id,
                             .inference = session->inference,
                             .tag = ++source->requests};
    enum adaps_status status =
        ad_message_send_raw(source->socket, NULL, &frame, &run.base, &raw, err);
    return status == ADAPS_OK ? status : ad_remote_blame(source, err);
}

static enum adaps_status take_outputs(struct ad_session *session, struct ad_message *message,
                                      struct ad_tensor *outputs, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    if (zmq_msg_size(&message->raw) != session->output_bytes)
        return ad_error_set(err, ADAPS_EAGENT, "its outputs have %zu bytes instead of %zu",
                            zmq_msg_size(&message->raw), session->output_bytes);
    const uint8_t *from = zmq_msg_data(&message->raw);
    for (int i = 0; i < graph->noutputs; i++) {
        const struct ad_value *value = &graph->values[graph->outputs[i]];
        enum adaps_status status = ad_tensor_init(&outputs[i], value->rank, value->dims, err);
        if (status != ADAPS_OK)
            return status;
        memcpy(outputs[i].data, from, outputs[i].count * sizeof(float));
        from += outputs[i].count * sizeof(float);
    }
    return ADAPS_OK;
}

static enum adaps_status take_done(struct ad_session *session, int index, struct ad_tensor *outputs,
                                   struct ad_run_stats *stats, struct adaps_error *err)
{
    struct ad_remote *remote = &session->remotes[index];
    ProtobufCMessage *body;
    enum adaps_status status =
        ad_message_body(&remote->message, &adaps__wire__done__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Done *done = (const Adaps__Wire__Done *)body;
    if (stats && stats->devices)
        stats->devices[remote->device] =
            (struct ad_device_stats){.compute_ns = done->compute_ns,
                                     .wait_ns = done->wait_ns,
                                     .total_ns = done->total_ns,
                                     .bytes_sent = done->bytes_sent,
                                     .messages_sent = done->messages_sent};
    if (stats && index == session->source)
        stats->latency_ns = done->latency_ns;
    ad_protobuf_free(body);
    if (index == session->source)
        status = take_outputs(session, &remote->message, outputs, err);
    return status;
}

/* Notes what has come from one agent. */
static void take_answers(struct ad_session *session, int index, struct ad_outcome *outcome,
                         struct ad_tensor *outputs, struct ad_run_stats *stats)
{
    struct ad_remote *remote = &session->remotes[index];
    enum adaps_status status;
    while ((status = ad_remote_recv(remote, &outcome->err)) == ADAPS_OK &&
           outcome->reply == AD_REPLY_NONE) {
        int type = remote->message.frame.type;
        if (type == AD_FRAME_ERROR) {
            ad_remote_error(&remote->message, &outcome->step, &outcome->err);
            outcome->reply = AD_REPLY_FAILED;
        } else if (type == AD_FRAME_DONE) {
            status = take_done(session, index, outputs, stats, &outcome->err);
            outcome->reply = AD_REPLY_DONE;
        } else {
            status = ad_error_set(&outcome->err, ADAPS_EAGENT, "it answered %s to RUN",
                                  ad_frame_type_name(type));
        }
        if (status != ADAPS_OK)
            break;
    }
    if (status != ADAPS_OK && status != ADAPS_NO) {
        outcome->reply = AD_REPLY_FAILED;
        outcome->step = remote->step;
    }
}

/* Waits for all. ADAPS_EAGENT without a message: see the outcomes. */
static enum adaps_status gather(struct ad_session *session, struct ad_outcome *outcomes,
                                struct ad_tensor *outputs, struct ad_run_stats *stats)
{
    int64_t deadline = ad_clock_ns() + session->deadline_ns;
    for (;;) {
        bool all = true, wrong = false;
        for (int i = 0; i < session->nremotes; i++) {
            take_answers(session, i, &outcomes[i], outputs, stats);
            all = all && outcomes[i].reply == AD_REPLY_DONE;
            wrong = wrong || outcomes[i].reply == AD_REPLY_FAILED;
        }
        if (all)
            return ADAPS_OK;
        int64_t now = ad_clock_ns();
        for (int i = 0; i < session->nremotes; i++) {
            ad_remote_ping(&session->remotes[i], now);
            wrong = wrong || session->remotes[i].lost;
        }
        if (wrong || now >= deadline)
            return ADAPS_EAGENT;
        ad_remotes_sleep(session->remotes, session->nremotes,
                         now + AD_PING_NS < deadline ? now + AD_PING_NS : deadline);
    }
}

enum adaps_status ad_session_run(struct ad_session *session, const struct ad_tensor *inputs,
                                 struct ad_tensor *outputs, struct ad_run_stats *stats,
                                 struct adaps_error *err)
{
    int noutputs = session->plan->graph->noutputs;
    struct ad_trace *trace = stats ? stats->trace : NULL;
    if (session->broken)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "an inference of this session has failed: it can only be closed");
    enum adaps_status status = check_inputs(session, inputs, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_outcome *outcomes = ad_calloc((size_t)session->nremotes, sizeof *outcomes);
    if (!outcomes)
        return ad_error_memory(err, "inference", (size_t)session->nremotes * sizeof *outcomes);
    memset(outputs, 0, (size_t)noutputs * sizeof *outputs);
    if (stats) {
        stats->latency_ns = 0;
        if (stats->devices)
            memset(stats->devices, 0,
                   (size_t)session->plan->cluster.ndevices * sizeof *stats->devices);
    }
    if (trace)
        status = ad_session_clocks(session, trace, false, err);
    if (status != ADAPS_OK) {
        session->broken = true;
        ad_free(outcomes);
        return status;
    }
    int64_t start = ad_clock_ns();
    session->inference++;
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        remote->ping_ns = remote->last_ping_ns = 0;
        remote->step = 0;
    }
    status = send_runs(session, inputs, trace != NULL, err);
    if (status != ADAPS_OK)
        session->broken = true;
    else if (gather(session, outcomes, outputs, stats) != ADAPS_OK)
        status = ad_session_post_mortem(session, outcomes, err);
    else if (stats)
        stats->wall_ns = ad_clock_ns() - start;
    if (status == ADAPS_OK && trace) {
        status = ad_session_fetch_trace(session, trace, err);
        session->broken = status != ADAPS_OK;
    }
    if (status != ADAPS_OK)
        for (int i = 0; i < noutputs; i++)
            ad_tensor_fini(&outputs[i]);
    ad_free(outcomes);
    return status;
}

/* --- after a failure --- */

static void stop_others(struct ad_session *session, struct ad_outcome *outcomes)
{
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        if (!remote->lost && outcomes[i].reply == AD_REPLY_NONE &&
            ad_remote_send(remote, AD_FRAME_ABORT, session->inference, NULL, NULL, 0, NULL) !=
                ADAPS_OK)
            remote->lost = true;
    }
}

static void take_aborted(struct ad_remote *remote, struct ad_outcome *outcome)
{
    ProtobufCMessage *body;
    while (outcome->reply == AD_REPLY_NONE && ad_remote_recv(remote, NULL) == ADAPS_OK) {
        int type = remote->message.frame.type;
        if (type == AD_FRAME_DONE) {
            outcome->reply = AD_REPLY_DONE;
        } else if (type == AD_FRAME_ERROR) {
            ad_remote_error(&remote->message, &outcome->step, &outcome->err);
            outcome->reply = AD_REPLY_FAILED;
        } else if (type == AD_FRAME_ABORTED &&
                   ad_message_body(&remote->message, &adaps__wire__where__descriptor, &body,
                                   NULL) == ADAPS_OK) {
            const Adaps__Wire__Where *where = (const Adaps__Wire__Where *)body;
            outcome->step = where->step;
            outcome->reply = where->finished ? AD_REPLY_DONE : AD_REPLY_ABORTED;
            ad_protobuf_free(body);
        }
    }
}

/* Until everybody has said where it was, or is lost. Also those that have answered must show that
 * they live: the failure that they saw may be their own end, or another's. */
static void hear_all(struct ad_session *session, struct ad_outcome *outcomes)
{
    int64_t longest = 0, start = ad_clock_ns();
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        if (remote->patience_ns > longest)
            longest = remote->patience_ns;
        if (outcomes[i].reply == AD_REPLY_FAILED)
            remote->ping_ns = remote->last_ping_ns = 0;
    }
    int64_t deadline = start + longest + AD_PING_NS;
    for (;;) {
        bool all = true;
        int64_t now = ad_clock_ns();
        for (int i = 0; i < session->nremotes; i++) {
            struct ad_remote *remote = &session->remotes[i];
            if (remote->lost)
                continue;
            take_aborted(remote, &outcomes[i]);
            if (outcomes[i].reply == AD_REPLY_NONE)
                ad_remote_ping(remote, now);
            else if (ad_remote_recv(remote, NULL) != ADAPS_NO) /* what the monitor has to say */
                continue;
            all = all && (remote->lost || outcomes[i].reply != AD_REPLY_NONE);
        }
        if (all || now >= deadline)
            return;
        ad_remotes_sleep(session->remotes, session->nremotes, now + AD_PING_NS);
    }
}

static void append(struct adaps_error *err, const char *text)
{
    size_t n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, "%s", text);
}

static bool is_wait(const struct adaps_plan *plan, int device, int step)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    return step >= 0 && step < program->nsteps && program->steps[step].kind == AD_STEP_RECV;
}

/* "; NAME was at step ..." for everybody but the culprit. */
static void tell_others(const struct ad_session *session, const struct ad_outcome *outcomes,
                        int culprit, struct adaps_error *err)
{
    for (int i = 0; i < session->nremotes; i++) {
        const struct ad_remote *remote = &session->remotes[i];
        char where[400], text[500];
        if (i == culprit)
            continue;
        int step = outcomes[i].reply == AD_REPLY_NONE ? remote->step : outcomes[i].step;
        ad_step_where(session->plan, remote->device, step, where, sizeof where);
        if (outcomes[i].reply == AD_REPLY_DONE)
            snprintf(text, sizeof text, "; %s had finished", remote->name);
        else
            snprintf(text, sizeof text, "; %s was %s%s", remote->name,
                     remote->lost                                   ? "lost, too, at "
                     : is_wait(session->plan, remote->device, step) ? "waiting at "
                                                                    : "at ",
                     where);
        append(err, text);
    }
}

enum adaps_status ad_session_post_mortem(struct ad_session *session, struct ad_outcome *outcomes,
                                         struct adaps_error *err)
{
    struct adaps_error story = {.status = ADAPS_EAGENT};
    char where[400];
    session->broken = true;
    stop_others(session, outcomes);
    int culprit = -1;
    for (int i = 0; i < session->nremotes; i++) /* who failed first, before the abort spread */
        if (outcomes[i].reply == AD_REPLY_FAILED && culprit < 0)
            culprit = i;
    hear_all(session, outcomes);
    bool lost = false;
    for (int i = session->nremotes - 1; i >= 0; i--)
        if (session->remotes[i].lost) {
            culprit = i;
            lost = true;
        }
    const struct ad_remote *remote = culprit >= 0 ? &session->remotes[culprit] : NULL;
    if (!remote) {
        ad_error_set(&story, ADAPS_EAGENT, "inference %u was not done within %.3g s",
                     session->inference, (double)session->deadline_ns * 1e-9);
    } else if (lost) {
        int step =
            outcomes[culprit].reply == AD_REPLY_FAILED ? outcomes[culprit].step : remote->step;
        ad_step_where(session->plan, remote->device, step, where, sizeof where);
        ad_error_set(&story, ADAPS_EAGENT, "agent '%s' (%s) was lost in inference %u at %s: %s",
                     remote->name, remote->address, session->inference, where, remote->cause);
    } else {
        const struct ad_outcome *outcome = &outcomes[culprit];
        ad_step_where(session->plan, remote->device, outcome->step, where, sizeof where);
        ad_error_set(&story, outcome->err.status ? outcome->err.status : ADAPS_EAGENT,
                     "agent '%s' (%s) failed in inference %u at %s: %.300s", remote->name,
                     remote->address, session->inference, where, outcome->err.message);
    }
    tell_others(session, outcomes, culprit, &story);
    if (err)
        *err = story;
    return story.status;
}
