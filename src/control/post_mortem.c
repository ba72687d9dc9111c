/* After a failure: who is to blame, and where everybody was. */
#include "base/clock.h"
#include "control/session_internal.h"
#include "plan/step_text.h"

#include <stdio.h>
#include <string.h>

/* Those that have done this inference may be in a later one. */
static void stop_others(struct ad_session *session, const struct ad_flight *flight)
{
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        bool idle =
            flight->outcomes[i].reply != AD_REPLY_NONE && flight->number == session->inference;
        if (!remote->lost && !idle && flight->outcomes[i].reply != AD_REPLY_FAILED &&
            ad_remote_send(remote, AD_FRAME_ABORT, flight->number, NULL, NULL, 0, NULL) != ADAPS_OK)
            remote->lost = true;
    }
}

static void take_aborted(struct ad_remote *remote, uint32_t inference, struct ad_outcome *outcome)
{
    ProtobufCMessage *body;
    while (outcome->reply == AD_REPLY_NONE && ad_remote_recv(remote, NULL) == ADAPS_OK) {
        int type = remote->message.frame.type;
        if (remote->message.frame.inference != inference)
            continue; /* of an earlier one: done, too */
        if (type == AD_FRAME_DONE) {
            outcome->reply = AD_REPLY_DONE;
        } else if (type == AD_FRAME_ERROR) {
            ad_remote_error(&remote->message, &outcome->step, &outcome->err);
            outcome->reply = AD_REPLY_FAILED;
        } else if (type == AD_FRAME_ABORTED &&
                   ad_wire_message_body(&remote->message, &adaps__wire__where__descriptor, &body,
                                        NULL) == ADAPS_OK) {
            const Adaps__Wire__Where *where = (const Adaps__Wire__Where *)body;
            outcome->step = where->step;
            outcome->reply = where->finished ? AD_REPLY_DONE : AD_REPLY_ABORTED;
            ad_protobuf_free(body);
        }
    }
}

/* Waits until every agent has said where it was, or is lost. Those that have reported a failure are
 * pinged, too: it may be the end of their own connection that they saw, or of another's. */
static void hear_all(struct ad_session *session, const struct ad_flight *flight)
{
    struct ad_outcome *outcomes = flight->outcomes;
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
            take_aborted(remote, flight->number, &outcomes[i]);
            if (outcomes[i].reply == AD_REPLY_NONE)
                ad_remote_ping(remote, now);
            else if (ad_remote_recv(remote, NULL) != ADAPS_NO) /* for the monitor's events */
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

/* Of an inference. */
static int turn_of(const struct ad_session *session, const struct ad_flight *flight)
{
    return ad_stream_deal(&session->plan->stream, flight->number - 1);
}

static bool is_wait(const struct adaps_plan *plan, int turn, int device, int step)
{
    const struct ad_program *program = &ad_plan_turn(plan, turn)->programs[device];
    return step >= 0 && step < program->nsteps && program->steps[step].kind == AD_STEP_RECV;
}

/* "; NAME was at step ..." for everybody but the culprit. */
static void tell_others(const struct ad_session *session, const struct ad_flight *flight,
                        int culprit, struct adaps_error *err)
{
    const struct ad_outcome *outcomes = flight->outcomes;
    int turn = turn_of(session, flight);
    for (int i = 0; i < session->nremotes; i++) {
        const struct ad_remote *remote = &session->remotes[i];
        char where[400], text[500];
        if (i == culprit)
            continue;
        int step = outcomes[i].reply == AD_REPLY_NONE ? remote->step : outcomes[i].step;
        ad_step_where(session->plan, turn, remote->device, step, where, sizeof where);
        if (outcomes[i].reply == AD_REPLY_DONE)
            snprintf(text, sizeof text, "; %s had finished", remote->name);
        else
            snprintf(text, sizeof text, "; %s was %s%s", remote->name,
                     remote->lost                                         ? "lost, too, at "
                     : is_wait(session->plan, turn, remote->device, step) ? "waiting at "
                                                                          : "at ",
                     where);
        append(err, text);
    }
}

enum adaps_status ad_session_post_mortem(struct ad_session *session, const struct ad_flight *flight,
                                         struct adaps_error *err)
{
    struct ad_outcome *outcomes = flight->outcomes;
    struct adaps_error story = {.status = ADAPS_EAGENT};
    int turn = turn_of(session, flight);
    char where[400];
    session->broken = true;
    stop_others(session, flight);
    int culprit = -1;
    for (int i = 0; i < session->nremotes; i++) /* who failed first, before the abort spread */
        if (outcomes[i].reply == AD_REPLY_FAILED && culprit < 0)
            culprit = i;
    hear_all(session, flight);
    bool lost = false;
    for (int i = session->nremotes - 1; i >= 0; i--)
        if (session->remotes[i].lost) {
            culprit = i;
            lost = true;
        }
    const struct ad_remote *remote = culprit >= 0 ? &session->remotes[culprit] : NULL;
    if (!remote) {
        ad_error_set(&story, ADAPS_EAGENT, "inference %u was not done within %.3g s",
                     flight->number, (double)session->deadline_ns * 1e-9);
    } else if (lost) {
        int step =
            outcomes[culprit].reply == AD_REPLY_FAILED ? outcomes[culprit].step : remote->step;
        ad_step_where(session->plan, turn, remote->device, step, where, sizeof where);
        ad_error_set(&story, ADAPS_EAGENT, "agent '%s' (%s) was lost in inference %u at %s: %s",
                     remote->name, remote->address, flight->number, where, remote->cause);
    } else {
        const struct ad_outcome *outcome = &outcomes[culprit];
        ad_step_where(session->plan, turn, remote->device, outcome->step, where, sizeof where);
        ad_error_set(&story, outcome->err.status ? outcome->err.status : ADAPS_EAGENT,
                     "agent '%s' (%s) failed in inference %u at %s: %.300s", remote->name,
                     remote->address, flight->number, where, outcome->err.message);
    }
    tell_others(session, flight, culprit, &story);
    if (err)
        *err = story;
    return story.status;
}
