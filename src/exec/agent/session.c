/* The agent's side of a session. There is one at a time; the worker does what takes long, and this
 * thread answers pings meanwhile.
 *
 *   OPEN -> worker LOAD -> OPENED;  CONNECT -> worker JOIN -> READY;  RUN -> inference -> DONE;
 *   as many RUNs at a time as the plan has in flight, further ones wait for their turn
 *   TRACE -> TRACED, when the latest RUN asked for it;  CLOCK -> TIME, also without a session
 *   PROFILE -> worker PROFILE -> PROFILED, a session of its own that ends with the answer
 *   ABORT stops a run: ABORTED instead of its answer;  CLOSE -> worker CLOSE -> CLOSED
 *
 * A failed OPEN leaves no session. A session ends by CLOSE, by the loss of its controller's
 * connection, because the controller cannot be reached (sooner when somebody else comes), or, when
 * it has been idle for long, because another is asked for, which waits for that end. */
#include "base/clock.h"
#include "exec/agent/internal.h"
#include "wire/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The controller pings ten times a second during inferences. When it is silent, it may be stopped,
 * and go on later: its session ends when the way to it is lost. */
#define SILENCE_NS ((int64_t)3000000000)
#define LOST_NS ((int64_t)10000000000)
#define LOOK_AGAIN_NS ((int64_t)1000000000)

/* When somebody else comes, a controller that has been silent for so long is called; its machine
 * acknowledges that in time, also when the controller is stopped, or it is given up. */
#define CALL_NS ((int64_t)1000000000)
#define ANSWER_NS ((int64_t)1500000000)
#define ROUNDING_NS ((int64_t)100000000) /* and more: of the kernel's times */

static int64_t after_ms(uint32_t ms)
{
    return ad_clock_ns() + (int64_t)ms * 1000000;
}

static bool running(const struct ad_agent *agent)
{
    return agent->worker.running > 0 ||
           (agent->worker.busy && agent->worker.job.kind == AD_JOB_PROFILE);
}

/* Inferences that wait, and those under way, get no answer. */
static void drop_runs(struct ad_agent_session *session)
{
    for (int i = 0; i < AD_STREAM_FRAMES; i++)
        ad_pending_clear(&session->runs[i]);
    for (; session->queued > 0; session->queued--) {
        struct ad_queued_run *run = &session->queue[session->first];
        session->first = (session->first + 1) % AD_FLIGHTS_MOST;
        ad_pending_clear(&run->to);
        zmq_msg_close(&run->inputs);
    }
}

void ad_agent_free_session(struct ad_agent *agent)
{
    drop_runs(&agent->session);
    ad_pending_clear(&agent->session.job);
    ad_pending_clear(&agent->session.abort);
    ad_pending_clear(&agent->session.close);
    ad_pending_clear(&agent->session.home);
    memset(&agent->session, 0, sizeof agent->session);
    ad_live_set_session(&agent->live, false);
}

/* Hands the session's sockets back; the end is in ad_agent_worker_done(). */
static void post_close(struct ad_agent *agent)
{
    agent->worker.job.kind = AD_JOB_CLOSE;
    ad_worker_post(&agent->worker);
}

static void begin_end(struct ad_agent *agent)
{
    struct ad_agent_session *session = &agent->session;
    if (session->ending)
        return;
    session->ending = true;
    ad_pending_clear(&session->job);
    ad_pending_clear(&session->abort);
    drop_runs(session);
    if (ad_worker_idle(&agent->worker))
        post_close(agent);
    else
        ad_worker_cancel(&agent->worker);
}

void ad_agent_end_session(struct ad_agent *agent, const char *why)
{
    if (!agent->session.open || agent->session.ending)
        return;
    fprintf(stderr, "%s: session %016" PRIx64 " ended: %s\n", agent->name, agent->session.id, why);
    begin_end(agent);
}

/* When to look whether the call was acknowledged; INT64_MAX: nobody has called, or it was. */
static int64_t check_call(struct ad_agent *agent, int64_t now)
{
    struct ad_agent_session *session = &agent->session;
    if (session->called_ns <= session->heard_ns)
        return INT64_MAX;
    if (now < session->called_ns + ANSWER_NS)
        return session->called_ns + ANSWER_NS;
    if (ad_path_lost(session->fd, now - session->called_ns + ROUNDING_NS))
        ad_agent_end_session(agent, "its controller cannot be reached, and another one is here");
    return INT64_MAX;
}

int64_t ad_agent_check_controller(struct ad_agent *agent, int64_t now)
{
    const struct ad_agent_session *session = &agent->session;
    if (!session->open || session->ending)
        return INT64_MAX;
    int64_t call_ns = check_call(agent, now), next_ns = session->heard_ns + SILENCE_NS;
    if (session->ending)
        return INT64_MAX;
    if (now >= next_ns) {
        if (ad_path_lost(session->fd, LOST_NS)) {
            ad_agent_end_session(agent, "its controller cannot be reached");
            return INT64_MAX;
        }
        next_ns = now + LOOK_AGAIN_NS;
    }
    return next_ns < call_ns ? next_ns : call_ns;
}

void ad_agent_call_controller(struct ad_agent *agent)
{
    struct ad_agent_session *session = &agent->session;
    int64_t now = ad_clock_ns();
    if (!session->open || session->ending || now < session->heard_ns + CALL_NS ||
        now < session->called_ns + CALL_NS + ANSWER_NS)
        return;
    session->called_ns = now;
    struct ad_frame nobody_asked = {.session = session->id};
    if (!ad_answer(&agent->router, &session->home.route, &nobody_asked, AD_FRAME_PONG, NULL, NULL,
                   0))
        ad_agent_end_session(agent, "its controller is gone");
}

void ad_agent_lose(struct ad_agent *agent, int fd)
{
    if (fd < 0)
        return;
    ad_line_leave(&agent->line, fd);
    if (agent->has_next && agent->next.fd == fd)
        agent->has_next = false;
    if (agent->session.open && agent->session.fd == fd)
        ad_agent_end_session(agent, "its controller is gone");
}

/* --- requests --- */

static enum adaps_status take_peers(struct ad_job *job, Adaps__Wire__Peer **peers, size_t n,
                                    struct adaps_error *err)
{
    if (n > AD_MAX_DEVICES)
        return ad_error_set(err, ADAPS_EINPUT, "%zu peers: at most %d", n, AD_MAX_DEVICES);
    job->npeers = (int)n;
    for (size_t i = 0; i < n; i++) {
        struct ad_peer *peer = &job->peers[i];
        peer->device = peers[i]->device;
        snprintf(peer->name, sizeof peer->name, "%s", peers[i]->name);
        snprintf(peer->endpoint, sizeof peer->endpoint, "%s", peers[i]->endpoint);
        snprintf(peer->key, sizeof peer->key, "%s", peers[i]->key);
    }
    return ADAPS_OK;
}

/* The session of a message begins; the worker is to be given its first job. */
static void begin_session(struct ad_agent *agent, struct ad_wire_message *message,
                          enum ad_job_kind kind)
{
    agent->session.open = true;
    ad_live_set_session(&agent->live, true);
    agent->session.id = message->frame.session;
    agent->session.fd = message->fd;
    snprintf(agent->session.user, sizeof agent->session.user, "%s", message->user);
    agent->session.begun_ns = ad_clock_ns();
    agent->session.heard_ns = agent->session.used_ns = agent->session.begun_ns;
    ad_pending_set(&agent->session.job, message);
    ad_pending_set(&agent->session.home, message);
    agent->worker.job.kind = kind;
    agent->worker.job.session = message->frame.session;
}

/* The worker gets the body. It reads what is asked for: a graph may be large, and pings are
 * answered here. */
static void profile_session(struct ad_agent *agent, struct ad_wire_message *message,
                            ProtobufCMessage *body)
{
    begin_session(agent, message, AD_JOB_PROFILE);
    agent->worker.job.request = (Adaps__Wire__Profile *)body;
    ad_worker_post(&agent->worker);
}

static enum adaps_status open_session(struct ad_agent *agent, struct ad_wire_message *message,
                                      const Adaps__Wire__Open *open, struct adaps_error *err)
{
    struct ad_job *job = &agent->worker.job;
    if (!ad_wire_digest(open->plan, &job->plan))
        return ad_error_set(err, ADAPS_EINPUT, "a plan's digest has %zu bytes", open->plan.len);
    enum adaps_status status = take_peers(job, open->peers, open->n_peers, err);
    if (status == ADAPS_OK) {
        begin_session(agent, message, AD_JOB_LOAD);
        job->device = open->device;
        ad_worker_post(&agent->worker);
    }
    return status;
}

/* OPEN and PROFILE, when it is their controller's turn. */
static enum adaps_status ask_for_session(struct ad_agent *agent, struct ad_wire_message *message,
                                         struct adaps_error *err)
{
    ProtobufCMessage *body;
    bool opens = message->frame.type == AD_FRAME_OPEN;
    enum adaps_status status = ad_wire_message_body(
        message, opens ? &adaps__wire__open__descriptor : &adaps__wire__profile__descriptor, &body,
        err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Open *open = opens ? (const Adaps__Wire__Open *)body : NULL;
    bool wait = opens ? open->wait : ((const Adaps__Wire__Profile *)body)->wait;
    status = ad_agent_take_turn(agent, message, wait, opens ? open->after : 0, err);
    if (status == ADAPS_OK && !opens) {
        profile_session(agent, message, body);
        return ADAPS_OK;
    }
    if (status == ADAPS_OK)
        status = open_session(agent, message, open, err);
    ad_protobuf_free(body);
    return status == ADAPS_NO ? ADAPS_OK : status;
}

static enum adaps_status connect_session(struct ad_agent *agent, struct ad_wire_message *message,
                                         struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_job *job = &agent->worker.job;
    if (!ad_worker_idle(&agent->worker) || agent->session.ready)
        return ad_error_set(err, ADAPS_EAGENT, "CONNECT at the wrong time");
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__connect__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Connect *connect = (const Adaps__Wire__Connect *)body;
    status = take_peers(job, connect->peers, connect->n_peers, err);
    if (status == ADAPS_OK) {
        ad_pending_set(&agent->session.job, message);
        job->kind = AD_JOB_JOIN;
        job->deadline_ns = after_ms(connect->deadline_ms);
        ad_worker_post(&agent->worker);
    }
    ad_protobuf_free(body);
    return status;
}

/* Whether an inference may begin: there are buffers for as many as the plan has in flight, counted
 * from the oldest that is not done. */
static bool may_begin(const struct ad_agent *agent, uint32_t inference)
{
    return agent->worker.running == 0 ||
           inference - agent->session.inference < (uint32_t)agent->worker.nruns;
}

/* Gives the worker the inferences that have waited longest, as many as it can have. */
static void start_runs(struct ad_agent *agent)
{
    struct ad_agent_session *session = &agent->session;
    struct ad_worker *worker = &agent->worker;
    struct ad_worker_run *run;
    while (session->queued > 0 && (run = ad_worker_free_run(worker))) {
        struct ad_queued_run *queued = &session->queue[session->first];
        if (!may_begin(agent, queued->to.frame.inference))
            break;
        struct ad_pending *to = &session->runs[run - worker->runs];
        session->first = (session->first + 1) % AD_FLIGHTS_MOST;
        session->queued--;
        ad_pending_move(&queued->to, to);
        if (worker->running == 0)
            session->inference = to->frame.inference;
        session->traced = NULL;
        size_t bytes = zmq_msg_size(&queued->inputs);
        if (bytes)
            memcpy(run->inputs.data, zmq_msg_data(&queued->inputs), bytes);
        zmq_msg_close(&queued->inputs);
        run->inference = to->frame.inference;
        run->deadline_ns = after_ms(queued->deadline_ms);
        run->trace = queued->trace;
        run->times = queued->times;
        run->pictures = bytes < worker->input_bytes;
        memset(queued, 0, sizeof *queued);
        ad_worker_post_run(worker, run);
    }
}

/* Whether a RUN brings all inputs: floats, or bytes of pictures. */
static bool inputs_fit(const struct ad_worker *worker, size_t bytes)
{
    return bytes == worker->input_bytes ||
           (worker->pictures && bytes == worker->input_bytes / sizeof(float));
}

static enum adaps_status run_session(struct ad_agent *agent, struct ad_wire_message *message,
                                     struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_agent_session *session = &agent->session;
    struct ad_worker *worker = &agent->worker;
    if ((int32_t)(message->frame.inference - session->asked) <= 0)
        return ADAPS_OK; /* asked for twice: the first will be answered */
    if (!session->ready || session->abort.set || worker->busy)
        return ad_error_set(err, ADAPS_EAGENT, "RUN at the wrong time");
    if (session->queued + worker->running >= AD_FLIGHTS_MOST)
        return ad_error_set(err, ADAPS_EAGENT, "more than %d inferences at a time",
                            AD_FLIGHTS_MOST);
    if (!inputs_fit(worker, zmq_msg_size(&message->raw)))
        return ad_error_set(err, ADAPS_EINPUT, "inputs of %zu bytes, the plan wants %zu here",
                            zmq_msg_size(&message->raw), worker->input_bytes);
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__run__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Run *request = (const Adaps__Wire__Run *)body;
    struct ad_queued_run *run =
        &session->queue[(session->first + session->queued) % AD_FLIGHTS_MOST];
    *run = (struct ad_queued_run){
        .deadline_ms = request->deadline_ms, .trace = request->trace, .times = request->times};
    ad_pending_set(&run->to, message);
    zmq_msg_init(&run->inputs);
    zmq_msg_move(&run->inputs, &message->raw);
    session->queued++;
    session->asked = message->frame.inference;
    ad_protobuf_free(body);
    start_runs(agent);
    return ADAPS_OK;
}

/* The times of the latest inference. */
static enum adaps_status answer_trace(struct ad_agent *agent, struct ad_wire_message *message,
                                      struct adaps_error *err)
{
    const struct ad_worker_run *run = agent->session.traced;
    if (!run || message->frame.inference != run->inference)
        return ad_error_set(err, ADAPS_EAGENT, "TRACE of an inference that was not traced");
    size_t n = (size_t)run->program->nsteps;
    Adaps__Wire__Trace trace = ADAPS__WIRE__TRACE__INIT;
    int64_t *times = ad_calloc(4 * n, sizeof *times), begin = run->result.begin_ns;
    if (!times)
        return ad_error_memory(err, "trace", 4 * n * sizeof *times);
    trace.begin_ns = begin;
    trace.latency_ns = run->result.latency_ns;
    trace.n_start = trace.n_mark = trace.n_end = trace.n_left = n;
    trace.start = times;
    trace.mark = times + n;
    trace.end = times + 2 * n;
    trace.left = times + 3 * n;
    for (size_t i = 0; i < n; i++) {
        ad_worker_times(run, (int)i, &trace.start[i], &trace.mark[i], &trace.end[i],
                        &trace.left[i]);
        trace.start[i] -= begin;
        trace.end[i] -= begin;
        trace.mark[i] -= begin;
        trace.left[i] = trace.left[i] ? trace.left[i] - begin : -1;
    }
    ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_TRACED, &trace.base, NULL,
              0);
    ad_free(times);
    return ADAPS_OK;
}

static enum adaps_status close_session(struct ad_agent *agent, struct ad_wire_message *message,
                                       struct adaps_error *err)
{
    ProtobufCMessage *body;
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__close__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    if (((const Adaps__Wire__Close *)body)->again)
        ad_agent_keep_for(agent, agent->session.id);
    ad_protobuf_free(body);
    ad_pending_set(&agent->session.close, message);
    begin_end(agent);
    return ADAPS_OK;
}

static void answer_clock(struct ad_agent *agent, struct ad_wire_message *message)
{
    Adaps__Wire__Time time = ADAPS__WIRE__TIME__INIT;
    time.clock_ns = ad_clock_ns();
    ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_TIME, &time.base, NULL, 0);
}

/* The step of the oldest inference under way; 0 without any. */
static int step_of(const struct ad_agent *agent)
{
    const struct ad_agent_session *session = &agent->session;
    for (int i = 0; i < agent->worker.nruns; i++)
        if (session->runs[i].set && session->runs[i].frame.inference == session->inference)
            return atomic_load(&agent->worker.runs[i].step);
    return 0;
}

static bool answer_where(struct ad_agent *agent, zmq_msg_t *route, const struct ad_frame *request,
                         int type, int step, bool finished)
{
    Adaps__Wire__Where where = ADAPS__WIRE__WHERE__INIT;
    where.inference = agent->session.inference;
    where.step = step;
    where.finished = finished;
    where.clock_ns = ad_clock_ns();
    return ad_answer(&agent->router, route, request, type, &where.base, NULL, 0);
}

enum adaps_status ad_agent_serve(struct ad_agent *agent, struct ad_wire_message *message,
                                 struct adaps_error *err)
{
    struct ad_agent_session *session = &agent->session;
    int type = message->frame.type;
    bool ours = session->open && !session->ending && message->frame.session == session->id;
    if (ours)
        session->heard_ns = ad_clock_ns();
    if (ours && type != AD_FRAME_PING && type != AD_FRAME_CLOCK)
        session->used_ns = session->heard_ns;
    if (type == AD_FRAME_PING) {
        bool busy = ours && running(agent);
        answer_where(agent, &message->route, &message->frame, AD_FRAME_PONG,
                     busy ? step_of(agent) : 0, !busy);
        return ADAPS_OK;
    }
    if (type == AD_FRAME_CLOCK) {
        answer_clock(agent, message);
        return ADAPS_OK;
    }
    if (type == AD_FRAME_OPEN || type == AD_FRAME_PROFILE)
        return ask_for_session(agent, message, err);
    if (!ours && type == AD_FRAME_CLOSE) { /* it is closed */
        ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_CLOSED, NULL, NULL, 0);
        return ADAPS_OK;
    }
    if (!ours)
        return ad_error_set(err, ADAPS_EAGENT, "it has no such session (any more)");
    switch (type) {
    case AD_FRAME_CONNECT:
        return connect_session(agent, message, err);
    case AD_FRAME_RUN:
        return run_session(agent, message, err);
    case AD_FRAME_TRACE:
        return answer_trace(agent, message, err);
    case AD_FRAME_ABORT:
        if (running(agent)) {
            ad_pending_set(&session->abort, message);
            ad_worker_cancel(&agent->worker);
        } else {
            answer_where(agent, &message->route, &message->frame, AD_FRAME_ABORTED, 0, true);
        }
        return ADAPS_OK;
    default: /* CLOSE */
        return close_session(agent, message, err);
    }
}

/* --- the worker's results --- */

static bool answer_opened(struct ad_agent *agent, struct ad_pending *to)
{
    Adaps__Wire__Opened opened = ADAPS__WIRE__OPENED__INIT;
    Adaps__Wire__Port ports[AD_MAX_DEVICES], *list[AD_MAX_DEVICES];
    const struct ad_peer_links *links = &agent->worker.links;
    for (int i = 0; i < links->count; i++) {
        if (!links->items[i].listens)
            continue;
        size_t n = opened.n_ports++;
        adaps__wire__port__init(&ports[n]);
        ports[n].device = links->items[i].peer.device;
        ports[n].port = (uint32_t)links->items[i].port;
        list[n] = &ports[n];
    }
    opened.ports = list;
    return ad_answer(&agent->router, &to->route, &to->frame, AD_FRAME_OPENED, &opened.base, NULL,
                     0);
}

/* By message, as DONE has them, the caller's; *n: how many. NULL without memory: then they are not
 * said. */
static int64_t *times_of(const struct ad_worker_run *run, size_t *n)
{
    int64_t *times = ad_calloc((size_t)run->program->nsteps, sizeof *times);
    *n = 0;
    for (int i = 0; times && i < run->program->nsteps; i++)
        if (run->program->steps[i].kind != AD_STEP_COMPUTE)
            times[(*n)++] = ad_worker_moved(run, i);
    return times;
}

static bool answer_done(struct ad_agent *agent, struct ad_pending *to,
                        const struct ad_worker_run *run)
{
    const struct ad_run_result *result = &run->result;
    Adaps__Wire__Done done = ADAPS__WIRE__DONE__INIT;
    done.latency_ns = result->latency_ns;
    done.compute_ns = result->compute_ns;
    done.wait_ns = result->wait_ns;
    done.total_ns = result->total_ns;
    done.bytes_sent = result->bytes_sent;
    done.messages_sent = result->messages_sent;
    if (run->times) {
        done.begin_ns = result->begin_ns;
        done.moved = times_of(run, &done.n_moved);
    }
    agent->inferences++;
    bool heard = ad_answer(&agent->router, &to->route, &to->frame, AD_FRAME_DONE, &done.base,
                           run->outputs.data, run->outputs.bytes);
    ad_free(done.moved);
    return heard;
}

static void answer_job(struct ad_agent *agent, enum ad_job_kind kind)
{
    struct ad_agent_session *session = &agent->session;
    const struct ad_job_result *result = &agent->worker.result;
    struct ad_pending *to = &session->job;
    bool good = result->status == ADAPS_OK, heard;
    if (session->abort.set)
        heard = answer_where(agent, &session->abort.route, &session->abort.frame, AD_FRAME_ABORTED,
                             0, good);
    else if (!good)
        heard = ad_answer_error(&agent->router, &to->route, &to->frame, &result->err, 0);
    else if (kind == AD_JOB_LOAD)
        heard = answer_opened(agent, to);
    else if (kind == AD_JOB_PROFILE)
        heard = ad_agent_answer_profile(agent, to);
    else
        heard = ad_answer(&agent->router, &to->route, &to->frame, AD_FRAME_READY, NULL, NULL, 0);
    session->ready = kind == AD_JOB_JOIN && good;
    ad_pending_clear(&session->abort);
    ad_pending_clear(&session->job);
    if (kind == AD_JOB_PROFILE || (kind == AD_JOB_LOAD && !good))
        ad_agent_free_session(agent);
    else if (!heard)
        ad_agent_end_session(agent, "its controller is gone");
}

static void job_done(struct ad_agent *agent)
{
    struct ad_agent_session *session = &agent->session;
    enum ad_job_kind kind = agent->worker.job.kind;
    if (kind == AD_JOB_CLOSE) {
        if (session->close.set)
            ad_answer(&agent->router, &session->close.route, &session->close.frame, AD_FRAME_CLOSED,
                      NULL, NULL, 0);
        ad_agent_free_session(agent);
    } else if (session->ending) {
        ad_agent_drop_profile(agent);
        post_close(agent);
    } else {
        answer_job(agent, kind);
        ad_agent_drop_profile(agent);
    }
}

/* The oldest inference under way becomes the session's. */
static void look_for_oldest(struct ad_agent_session *session)
{
    const struct ad_pending *oldest = NULL;
    for (int i = 0; i < AD_STREAM_FRAMES; i++) {
        const struct ad_pending *to = &session->runs[i];
        if (to->set && (!oldest || (int32_t)(to->frame.inference - oldest->frame.inference) < 0))
            oldest = to;
    }
    if (oldest)
        session->inference = oldest->frame.inference;
}

/* Afterwards the session can only be closed. */
static bool answer_abort(struct ad_agent *agent, int step, bool finished)
{
    struct ad_pending *abort = &agent->session.abort;
    bool heard =
        answer_where(agent, &abort->route, &abort->frame, AD_FRAME_ABORTED, step, finished);
    agent->session.ready = false;
    ad_pending_clear(abort);
    return heard;
}

/* An inference that is done; after one that failed, the session can only be closed. */
static void answer_run(struct ad_agent *agent, struct ad_worker_run *run)
{
    struct ad_agent_session *session = &agent->session;
    struct ad_pending *to = &session->runs[run - agent->worker.runs];
    bool good = run->result.status == ADAPS_OK, heard = true;
    int step = atomic_load(&run->step);
    if (!to->set || session->ending)
        return;
    session->ready = session->ready && good;
    session->traced = good && run->trace ? run : NULL;
    if (session->abort.set && to->frame.inference == session->abort.frame.inference)
        heard = answer_abort(agent, step, good);
    else if (good)
        heard = answer_done(agent, to, run);
    else if (run->result.status != ADAPS_NO) /* the one that ended the others */
        heard = ad_answer_error(&agent->router, &to->route, &to->frame, &run->result.err, step);
    ad_pending_clear(to);
    session->used_ns = ad_clock_ns();
    look_for_oldest(session);
    if (!heard)
        ad_agent_end_session(agent, "its controller is gone");
}

static void worker_done(struct ad_agent *agent)
{
    struct ad_agent_session *session = &agent->session;
    struct ad_worker_run *run;
    if (ad_worker_finish(&agent->worker))
        job_done(agent);
    bool any = false;
    while ((run = ad_worker_take_run(&agent->worker))) {
        answer_run(agent, run);
        any = true;
    }
    if (!any)
        return;
    if (session->ending && ad_worker_idle(&agent->worker)) {
        post_close(agent);
        return;
    }
    if (session->abort.set && ad_worker_idle(&agent->worker))
        answer_abort(agent, 0, true); /* of an inference that was done before */
    if (session->ready)
        start_runs(agent);
    else
        drop_runs(session);
}

/* The request that waited for the end of a session. */
static void serve_next(struct ad_agent *agent)
{
    struct adaps_error err;
    if (!agent->has_next || agent->session.open || !ad_worker_idle(&agent->worker))
        return;
    agent->has_next = false;
    ad_line_put_first(&agent->line, agent->next.fd, ad_clock_ns());
    if (ad_agent_serve(agent, &agent->next, &err) != ADAPS_OK)
        ad_answer_error(&agent->router, &agent->next.route, &agent->next.frame, &err, -1);
}

void ad_agent_worker_done(struct ad_agent *agent)
{
    worker_done(agent);
    serve_next(agent);
}
