/* Inferences on the agents, one or several at a time, watched by pings. */
#include "base/clock.h"
#include "control/counts.h"
#include "control/session_internal.h"
#include "ir/ends.h"

#include <stdio.h>
#include <string.h>

#define AGENTS_MORE_MS 60000

/* Pictures as bytes. False: an input is none. */
static bool put_bytes(const struct ad_session *session, const struct ad_tensor *inputs, uint8_t *to)
{
    const struct ad_graph *graph = session->plan->graph;
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_box *box = &graph->values[graph->inputs[i]].box;
        if (!ad_picture_encode(&session->input_pictures[box->c > 1], inputs[i].data,
                               inputs[i].count, (size_t)(box->h * box->w), to))
            return false;
        to += inputs[i].count;
    }
    return true;
}

/* The inputs as they travel to the source: a quarter as long when they are pictures. */
static enum adaps_status put_inputs(const struct ad_session *session,
                                    const struct ad_tensor *inputs, zmq_msg_t *raw,
                                    struct adaps_error *err)
{
    if (session->pictures) {
        size_t size = session->input_bytes / sizeof(float);
        if (zmq_msg_init_size(raw, size) != 0)
            return ad_error_memory(err, "inputs", size);
        if (put_bytes(session, inputs, zmq_msg_data(raw)))
            return ADAPS_OK;
        zmq_msg_close(raw);
    }
    if (zmq_msg_init_size(raw, session->input_bytes) != 0)
        return ad_error_memory(err, "inputs", session->input_bytes);
    const struct ad_graph *graph = session->plan->graph;
    float *to = zmq_msg_data(raw);
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *value = &graph->values[graph->inputs[i]];
        ad_end_put(value, &inputs[i], to);
        to += ad_end_words(value);
    }
    return ADAPS_OK;
}

/* The source last, when the others already listen. */
static enum adaps_status send_runs(struct ad_session *session, const struct ad_tensor *inputs,
                                   bool trace, struct adaps_error *err)
{
    Adaps__Wire__Run run = ADAPS__WIRE__RUN__INIT;
    /* An inference that begins early also waits for those before it. It is this side that ends an
     * inference; agents that are told no more give up later, for this side may have been stopped.
     */
    int64_t deadline_ms = session->deadline_ns / 1000000 * session->flying + AGENTS_MORE_MS;
    run.deadline_ms = (uint32_t)(deadline_ms < UINT32_MAX ? deadline_ms : UINT32_MAX);
    run.trace = trace;
    run.times = session->link_watch != NULL;
    for (int i = 0; i < session->nremotes; i++) {
        if (i == session->source)
            continue;
        enum adaps_status status = ad_remote_send(&session->remotes[i], AD_FRAME_RUN,
                                                  session->inference, &run.base, NULL, 0, err);
        if (status != ADAPS_OK)
            return status;
    }
    zmq_msg_t raw;
    enum adaps_status status = put_inputs(session, inputs, &raw, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_remote *source = &session->remotes[session->source];
    struct ad_frame frame = {.type = AD_FRAME_RUN,
                             .session = session->id,
                             .inference = session->inference,
                             .tag = ad_remote_request(source)};
    status = ad_wire_message_send_raw(source->socket, NULL, &frame, &run.base, &raw, err);
    return status == ADAPS_OK ? status : ad_remote_blame(source, err);
}

static enum adaps_status take_outputs(struct ad_session *session, struct ad_wire_message *message,
                                      struct ad_tensor *outputs, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    if (zmq_msg_size(&message->raw) != session->output_bytes)
        return ad_error_set(err, ADAPS_EAGENT, "its outputs have %zu bytes instead of %zu",
                            zmq_msg_size(&message->raw), session->output_bytes);
    const float *from = zmq_msg_data(&message->raw);
    for (int i = 0; i < graph->noutputs; i++) {
        const struct ad_value *value = &graph->values[graph->outputs[i]];
        struct adaps_error why;
        enum adaps_status status = ad_end_take(value, from, &outputs[i], &why);
        if (status != ADAPS_OK) /* dims that are none are the agent's fault */
            return ad_error_set(err, status == ADAPS_EINPUT ? ADAPS_EAGENT : status, "%s",
                                why.message);
        from += ad_end_words(value);
    }
    return ADAPS_OK;
}

/* The times of its messages, if it says them: older agents do not. */
static enum adaps_status take_moves(struct ad_session *session, int device,
                                    const Adaps__Wire__Done *done, struct ad_moves *out,
                                    struct adaps_error *err)
{
    size_t n = ad_moves_count(&session->plan->schedule.programs[device]);
    if (done->n_moved == 0)
        return ADAPS_OK;
    if (done->n_moved != n)
        return ad_error_set(err, ADAPS_EAGENT, "it tells the times of %zu messages of %zu",
                            done->n_moved, n);
    if (!out->ns)
        out->ns = ad_calloc(n, sizeof *out->ns);
    if (!out->ns)
        return ad_error_memory(err, "times", n * sizeof *out->ns);
    memcpy(out->ns, done->moved, n * sizeof *out->ns);
    out->begin_ns = done->begin_ns;
    out->count = n;
    return ADAPS_OK;
}

static enum adaps_status take_done(struct ad_session *session, int index, struct ad_flight *flight,
                                   struct adaps_error *err)
{
    struct ad_remote *remote = &session->remotes[index];
    ProtobufCMessage *body;
    enum adaps_status status =
        ad_wire_message_body(&remote->message, &adaps__wire__done__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Done *done = (const Adaps__Wire__Done *)body;
    flight->devices[remote->device] =
        (struct ad_device_stats){.compute_ns = done->compute_ns,
                                 .wait_ns = done->wait_ns,
                                 .total_ns = done->total_ns,
                                 .bytes_sent = done->bytes_sent,
                                 .messages_sent = done->messages_sent};
    if (index == session->source)
        flight->latency_ns = done->latency_ns;
    if (flight->moves)
        status = take_moves(session, remote->device, done, &flight->moves[remote->device], err);
    ad_protobuf_free(body);
    if (status == ADAPS_OK && index == session->source)
        status = take_outputs(session, &remote->message, flight->outputs, err);
    return status;
}

/* The inference in flight of this number, or NULL. */
static struct ad_flight *flight_of(struct ad_session *session, uint32_t number)
{
    uint32_t age = session->inference - number;
    return age < (uint32_t)session->flying ? &session->flights[number % AD_FLIGHTS_MOST] : NULL;
}

static struct ad_flight *oldest(struct ad_session *session)
{
    return flight_of(session, session->inference - (uint32_t)session->flying + 1);
}

static enum adaps_status take_answer(struct ad_session *session, int index,
                                     struct ad_flight *flight, struct adaps_error *err)
{
    struct ad_outcome *outcome = &flight->outcomes[index];
    struct ad_wire_message *message = &session->remotes[index].message;
    int type = message->frame.type;
    if (outcome->reply != AD_REPLY_NONE)
        return ad_error_set(err, ADAPS_EAGENT, "it answered twice");
    if (type == AD_FRAME_ERROR) {
        ad_remote_error(message, &outcome->step, &outcome->err);
        outcome->reply = AD_REPLY_FAILED;
        return ADAPS_OK;
    }
    if (type != AD_FRAME_DONE)
        return ad_error_set(err, ADAPS_EAGENT, "it answered %s to RUN", ad_frame_type_name(type));
    outcome->reply = AD_REPLY_DONE;
    return take_done(session, index, flight, err);
}

/* Notes what has come from one agent. */
static void take_answers(struct ad_session *session, int index)
{
    struct ad_remote *remote = &session->remotes[index];
    struct ad_flight *flight = oldest(session);
    struct adaps_error err;
    enum adaps_status status;
    while ((status = ad_remote_recv(remote, &err)) == ADAPS_OK) {
        flight = flight_of(session, remote->message.frame.inference);
        if (flight)
            status = take_answer(session, index, flight, &err);
        else
            status = ad_error_set(&err, ADAPS_EAGENT, "it answered in inference %u",
                                  remote->message.frame.inference);
        if (status != ADAPS_OK)
            break;
    }
    if (status == ADAPS_NO)
        return;
    flight = flight ? flight : oldest(session);
    flight->outcomes[index] = (struct ad_outcome){AD_REPLY_FAILED, remote->step, err};
}

/* Sleeps until something comes. ADAPS_NO: somebody wants this side back; ADAPS_ECANCELLED. */
static enum adaps_status sleep_awhile(struct ad_session *session)
{
    struct ad_interrupt *interrupt = session->interrupt;
    ad_remotes_sleep_or(session->remotes, session->nremotes, &session->deadline,
                        interrupt ? interrupt->fd : -1);
    if (!interrupt)
        return ADAPS_OK;
    bool woken = ad_interrupt_woken(interrupt);
    if (ad_interrupt_cancelled(interrupt))
        return ADAPS_ECANCELLED;
    return woken ? ADAPS_NO : ADAPS_OK;
}

/* Waits for all of the oldest inference. ADAPS_EAGENT: something is wrong with *culprit; ADAPS_NO
 * and ADAPS_ECANCELLED: interrupted. The inference's time begins anew after ADAPS_NO: whoever wakes
 * it begins another one, of which there are AD_FLIGHTS_MOST at most. */
static enum adaps_status gather(struct ad_session *session, const struct ad_flight **culprit)
{
    const struct ad_flight *first = oldest(session);
    struct ad_deadline *deadline = &session->deadline;
    ad_deadline_set(deadline, session->deadline_ns);
    for (int i = 0; i < session->nremotes; i++)
        ad_remote_listen(&session->remotes[i]);
    *culprit = first;
    for (;;) {
        bool all = true, wrong = false;
        for (int i = 0; i < session->nremotes; i++) {
            take_answers(session, i);
            all = all && first->outcomes[i].reply == AD_REPLY_DONE;
        }
        if (all)
            return ADAPS_OK;
        for (uint32_t k = 0; k < (uint32_t)session->flying && !wrong; k++) {
            *culprit = flight_of(session, first->number + k);
            for (int i = 0; i < session->nremotes; i++)
                wrong = wrong || (*culprit)->outcomes[i].reply == AD_REPLY_FAILED;
        }
        if (!wrong)
            *culprit = first;
        for (int i = 0; i < session->nremotes; i++) {
            ad_remote_ping(&session->remotes[i]);
            wrong = wrong || session->remotes[i].lost;
        }
        if (wrong || ad_deadline_left(deadline, NULL) == 0)
            return ADAPS_EAGENT;
        enum adaps_status status = sleep_awhile(session);
        if (status != ADAPS_OK)
            return status;
    }
}

/* --- flights --- */

static enum adaps_status prepare(struct ad_session *session, struct ad_flight *flight,
                                 struct adaps_error *err)
{
    size_t n = (size_t)session->nremotes, ndevices = (size_t)session->plan->cluster.ndevices;
    size_t noutputs = (size_t)session->plan->graph->noutputs;
    if (!flight->outcomes)
        flight->outcomes = ad_calloc(n, sizeof *flight->outcomes);
    if (!flight->devices)
        flight->devices = ad_calloc(ndevices, sizeof *flight->devices);
    if (!flight->outputs)
        flight->outputs = ad_calloc(noutputs, sizeof *flight->outputs);
    if (!flight->moves && session->link_watch)
        flight->moves = ad_calloc(ndevices, sizeof *flight->moves);
    if (!flight->outcomes || !flight->devices || !flight->outputs ||
        (session->link_watch && !flight->moves))
        return ad_error_memory(err, "inference", n * sizeof *flight->outcomes);
    memset(flight->outcomes, 0, n * sizeof *flight->outcomes);
    memset(flight->devices, 0, ndevices * sizeof *flight->devices);
    for (size_t d = 0; flight->moves && d < ndevices; d++)
        flight->moves[d].count = 0;
    flight->latency_ns = 0;
    return ADAPS_OK;
}

void ad_session_drop_flights(struct ad_session *session)
{
    for (int f = 0; f < AD_FLIGHTS_MOST; f++) {
        struct ad_flight *flight = &session->flights[f];
        for (int i = 0; flight->outputs && i < session->plan->graph->noutputs; i++)
            ad_tensor_fini(&flight->outputs[i]);
        for (int d = 0; flight->moves && d < session->plan->cluster.ndevices; d++)
            ad_free(flight->moves[d].ns);
        ad_free(flight->moves);
        ad_free(flight->outcomes);
        ad_free(flight->devices);
        ad_free(flight->outputs);
        *flight = (struct ad_flight){0};
    }
    session->flying = 0;
}

static enum adaps_status begin(struct ad_session *session, const struct ad_tensor *inputs,
                               bool trace, struct adaps_error *err)
{
    if (session->broken)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "an inference of this session has failed: it can only be closed");
    if (session->flying == AD_FLIGHTS_MOST)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish one",
                            AD_FLIGHTS_MOST);
    enum adaps_status status = ad_ends_check_inputs(session->plan->graph, inputs, err);
    if (status != ADAPS_OK)
        return status;
    while (trace && ad_stream_deal(&session->plan->stream, session->inference) != 0)
        session->inference++; /* what is traced takes the first turn */
    struct ad_flight *flight = &session->flights[(session->inference + 1) % AD_FLIGHTS_MOST];
    status = prepare(session, flight, err);
    if (status != ADAPS_OK)
        return status;
    int64_t now = ad_clock_ns();
    for (int i = 0; i < session->nremotes && session->flying == 0; i++) {
        struct ad_remote *remote = &session->remotes[i];
        if (!session->link_watch)     /* which wants to know the clocks */
            ad_remote_excuse(remote); /* what is done by then needs no ping */
        remote->step = 0;
    }
    ad_counts_begin(session->counts);
    flight->number = ++session->inference;
    flight->start_ns = now;
    session->flying++;
    status = send_runs(session, inputs, trace, err);
    session->broken = status != ADAPS_OK;
    if (session->broken)
        ad_counts_failed(session->counts, session->flying, status);
    return status;
}

enum adaps_status ad_session_begin(struct ad_session *session, const struct ad_tensor *inputs,
                                   struct adaps_error *err)
{
    return begin(session, inputs, false, err);
}

/* The links, by the times that came with the answer and the agents' clocks as pings showed them. */
static void measure_links(struct ad_session *session, const struct ad_flight *flight, double *links)
{
    struct ad_clock clocks[AD_MAX_DEVICES] = {{0}};
    int n = session->plan->cluster.ndevices;
    memset(links, 0, (size_t)n * (size_t)n * sizeof *links);
    if (!session->link_watch)
        return;
    for (int i = 0; i < session->nremotes; i++) {
        const struct ad_remote *remote = &session->remotes[i];
        int64_t offset = 0, uncertainty = INT64_MAX;
        int count = remote->nclocks < AD_CLOCK_KEPT ? (int)remote->nclocks : AD_CLOCK_KEPT;
        if (count > 0)
            ad_clock_estimate(remote->clocks, count, &offset, &uncertainty);
        clocks[remote->device] = (struct ad_clock){(double)offset, (double)uncertainty};
    }
    ad_link_watch_measure(session->link_watch, flight->moves, clocks, links);
}

enum adaps_status ad_session_finish(struct ad_session *session, struct ad_tensor *outputs,
                                    struct ad_run_stats *stats, struct adaps_error *err)
{
    const struct ad_flight *culprit;
    size_t noutputs = (size_t)session->plan->graph->noutputs;
    memset(outputs, 0, noutputs * sizeof *outputs);
    if (session->broken || session->flying == 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            session->broken ? "an inference of this session has failed"
                                            : "no inference is in flight");
    enum adaps_status status = gather(session, &culprit);
    if (status == ADAPS_EAGENT || status == ADAPS_ECANCELLED)
        ad_counts_failed(session->counts, session->flying, status);
    if (status == ADAPS_EAGENT)
        return ad_session_post_mortem(session, culprit, err);
    if (status == ADAPS_ECANCELLED) {
        session->broken = session->cancelled = true;
        return ad_error_set(err, status, "the inference was cancelled");
    }
    if (status == ADAPS_NO)
        return ad_error_set(err, status, "woken before the answer was there");
    struct ad_flight *flight = oldest(session);
    session->flying--;
    int64_t wall_ns = ad_clock_ns() - flight->start_ns;
    ad_counts_done(session->counts, session->plan, flight->latency_ns, wall_ns, flight->devices);
    memcpy(outputs, flight->outputs, noutputs * sizeof *outputs);
    memset(flight->outputs, 0, noutputs * sizeof *outputs);
    if (stats) {
        stats->latency_ns = flight->latency_ns;
        stats->wall_ns = wall_ns;
        if (stats->links)
            measure_links(session, flight, stats->links);
        if (stats->devices)
            memcpy(stats->devices, flight->devices,
                   (size_t)session->plan->cluster.ndevices * sizeof *stats->devices);
    }
    return ADAPS_OK;
}

enum adaps_status ad_session_run(struct ad_session *session, const struct ad_tensor *inputs,
                                 struct ad_tensor *outputs, struct ad_run_stats *stats,
                                 struct adaps_error *err)
{
    struct ad_trace *trace = stats ? stats->trace : NULL;
    enum adaps_status status = ADAPS_OK;
    if (session->flying > 0)
        return ad_error_set(err, ADAPS_EUSAGE, "%d inferences are in flight: finish them first",
                            session->flying);
    if (trace && !session->broken) {
        status = ad_ends_check_inputs(session->plan->graph, inputs, err);
        if (status == ADAPS_OK) {
            status = ad_session_clocks(session, trace, false, err);
            session->broken = status != ADAPS_OK;
        }
    }
    if (status == ADAPS_OK)
        status = begin(session, inputs, trace != NULL, err);
    if (status == ADAPS_OK)
        status = ad_session_finish(session, outputs, stats, err);
    if (status != ADAPS_OK || !trace)
        return status;
    status = ad_session_fetch_trace(session, trace, err);
    session->broken = status != ADAPS_OK;
    for (int i = 0; i < session->plan->graph->noutputs && status != ADAPS_OK; i++)
        ad_tensor_fini(&outputs[i]);
    return status;
}

enum adaps_status ad_session_run_zeros(struct ad_session *session, struct ad_run_stats *stats,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    const struct ad_value *value = &graph->values[graph->inputs[0]];
    struct ad_tensor input, output;
    enum adaps_status status = ad_tensor_init(&input, value->rank, value->dims, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_session_run(session, &input, &output, stats, err);
    ad_tensor_fini(&input);
    if (status == ADAPS_OK)
        ad_tensor_fini(&output);
    return status;
}
