/* After a failure: who is to blame, and where everybody was. */
#include "base/deadline.h"
#include "control/session_internal.h"
#include "plan/step_text.h"

#include <stdio.h>
#include <string.h>

#define LATE_NS ((int64_t)250 * 1000000)   /* of an inference's end, when its time is over */
#define SILENT_NS ((int64_t)500 * 1000000) /* beyond what a ping takes */

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

/* Whether nothing more has to be heard of an agent: it is lost, has said where it was, or has
 * answered a ping since `pings`. Those that have reported a failure must answer one: it may be the
 * end of their own connection that they saw, or of another's. */
static bool is_heard(const struct ad_remote *remote, const struct ad_outcome *outcome,
                     uint32_t pings)
{
    return remote->lost || (int32_t)(remote->ponged - pings) > 0 ||
           outcome->reply == AD_REPLY_DONE || outcome->reply == AD_REPLY_ABORTED;
}

/* Waits until all agents are heard of: as long as it takes to find out that one is lost if one has
 * failed, but little beyond the inference's time. */
static void hear_all(struct ad_session *session, const struct ad_flight *flight, bool failed)
{
    struct ad_deadline deadline;
    uint32_t pings[AD_MAX_DEVICES];
    int64_t most = ad_deadline_left(&session->deadline, NULL) + LATE_NS;
    int64_t patience = failed ? AD_PATIENCE_NS + 2 * AD_PING_NS : LATE_NS;
    ad_deadline_set(&deadline, patience < most ? patience : most);
    for (int i = 0; i < session->nremotes; i++) {
        pings[i] = session->remotes[i].npings;
        session->remotes[i].last_ping_ns = 0;
    }
    for (;;) {
        bool all = true;
        for (int i = 0; i < session->nremotes; i++) {
            struct ad_remote *remote = &session->remotes[i];
            if (remote->lost)
                continue;
            take_aborted(remote, flight->number, &flight->outcomes[i]);
            if (flight->outcomes[i].reply != AD_REPLY_NONE &&
                ad_remote_recv(remote, NULL) != ADAPS_NO) /* for the monitor's events */
                continue;
            ad_remote_ping(remote);
            all = all && is_heard(remote, &flight->outcomes[i], pings[i]);
        }
        if (all || ad_deadline_left(&deadline, NULL) == 0)
            return;
        ad_remotes_sleep(session->remotes, session->nremotes, &deadline);
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

/* Where an agent is in an inference: a step, or beyond the last when it is done. */
static int where_is(const struct ad_session *session, const struct ad_flight *flight, int i)
{
    const struct ad_remote *remote = &session->remotes[i];
    const struct ad_outcome *outcome = &flight->outcomes[i];
    int turn = turn_of(session, flight);
    if (outcome->reply == AD_REPLY_DONE)
        return ad_plan_turn(session->plan, turn)->programs[remote->device].nsteps;
    return outcome->reply == AD_REPLY_NONE ? remote->step : outcome->step;
}

static const struct ad_step *step_at(const struct ad_session *session,
                                     const struct ad_flight *flight, int i)
{
    int step = where_is(session, flight, i);
    const struct ad_program *program = &ad_plan_turn(session->plan, turn_of(session, flight))
                                            ->programs[session->remotes[i].device];
    return step >= 0 && step < program->nsteps ? &program->steps[step] : NULL;
}

static bool is_wait(const struct ad_step *step)
{
    return step && step->kind == AD_STEP_RECV;
}

/* Whether an agent has sent the message that `to` waits for. */
static bool has_sent(const struct ad_session *session, const struct ad_flight *flight, int i,
                     int to, uint32_t tag)
{
    const struct ad_program *program = &ad_plan_turn(session->plan, turn_of(session, flight))
                                            ->programs[session->remotes[i].device];
    int done = where_is(session, flight, i);
    for (int k = 0; k < done && k < program->nsteps; k++) {
        const struct ad_step *step = &program->steps[k];
        if (step->kind == AD_STEP_SEND && step->peer == session->remotes[to].device &&
            step->tag == tag)
            return true;
    }
    return false;
}

static int index_of(const struct ad_session *session, int device)
{
    for (int i = 0; i < session->nremotes; i++)
        if (session->remotes[i].device == device)
            return i;
    return -1;
}

/* Of an inference that was late: the agent for which the others waited, directly or not. *to: the
 * agent that its message has not reached, or -1 when it is at work itself. -1: none. */
static int find_late(const struct ad_session *session, const struct ad_flight *flight, int *to)
{
    int late = -1;
    *to = -1;
    for (int i = 0; i < session->nremotes; i++) { /* silent, but not for long enough to be lost */
        const struct ad_deadline *patience = &session->remotes[i].patience;
        if (patience->all_ns - patience->left_ns > SILENT_NS)
            return i;
        if (late < 0 && flight->outcomes[i].reply != AD_REPLY_DONE)
            late = i;
    }
    for (int hops = 0; late >= 0 && hops < session->nremotes; hops++) {
        const struct ad_step *step = step_at(session, flight, late);
        int peer = is_wait(step) ? index_of(session, step->peer) : -1;
        if (peer < 0)
            return late;
        if (has_sent(session, flight, peer, late, step->tag)) {
            *to = late;
            return peer;
        }
        late = peer;
    }
    return late;
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
        int step = where_is(session, flight, i);
        ad_step_where(session->plan, turn, remote->device, step, where, sizeof where);
        if (outcomes[i].reply == AD_REPLY_DONE)
            snprintf(text, sizeof text, "; %s had finished", remote->name);
        else
            snprintf(text, sizeof text, "; %s was %s%s", remote->name,
                     remote->lost                           ? "lost, too, at "
                     : is_wait(step_at(session, flight, i)) ? "waiting at "
                                                            : "at ",
                     where);
        append(err, text);
    }
}

/* The inference's time is over: which agent the others waited for. */
static int tell_late(const struct ad_session *session, const struct ad_flight *flight,
                     struct adaps_error *err)
{
    char where[400];
    int to, late = find_late(session, flight, &to);
    ad_error_set(err, ADAPS_EAGENT, "inference %u was not done within %.3g s", flight->number,
                 (double)session->deadline_ns * 1e-9);
    if (late < 0)
        return late;
    const struct ad_remote *remote = &session->remotes[late];
    char text[700];
    ad_step_where(session->plan, turn_of(session, flight), remote->device,
                  where_is(session, flight, late), where, sizeof where);
    if (to >= 0)
        snprintf(text, sizeof text, ": a message of agent '%s' (%s) has not reached %s",
                 remote->name, remote->address, session->remotes[to].name);
    else
        snprintf(text, sizeof text, ": agent '%s' (%s) was at %s", remote->name, remote->address,
                 where);
    append(err, text);
    return late;
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
    hear_all(session, flight, culprit >= 0);
    bool lost = false;
    for (int i = session->nremotes - 1; i >= 0; i--)
        if (session->remotes[i].lost) {
            culprit = i;
            lost = true;
        }
    const struct ad_remote *remote = culprit >= 0 ? &session->remotes[culprit] : NULL;
    if (!remote) {
        culprit = tell_late(session, flight, &story);
    } else if (lost) {
        ad_step_where(session->plan, turn, remote->device, where_is(session, flight, culprit),
                      where, sizeof where);
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
    session->culprit = culprit >= 0 ? session->remotes[culprit].device : -1;
    if (err)
        *err = story;
    return story.status;
}

bool ad_session_lost(const struct ad_session *session, bool *lost)
{
    bool any = false;
    memset(lost, 0, (size_t)session->plan->cluster.ndevices * sizeof *lost);
    for (int i = 0; i < session->nremotes; i++) {
        const struct ad_remote *remote = &session->remotes[i];
        lost[remote->device] = remote->lost || remote->device == session->culprit;
        any = any || lost[remote->device];
    }
    return any;
}
