/* A session from the controller's side: open on all agents, connect them, close. */
#include "base/deadline.h"
#include "wire/endpoint.h"
#include "control/counts.h"
#include "control/session_internal.h"
#include "control/turn.h"

#include <sodium.h>
#include <string.h>

/* Closing waits no longer than this for the agents' answers; after a failure, which has taken its
 * time, shorter. */
#define CLOSE_NS ((int64_t)1000000000)
#define BROKEN_NS ((int64_t)100000000)

#define SETTLE_NS ((int64_t)250000000)
#define TIMES_BYTES ((size_t)48) /* more than the four times of a step take in TRACED */
#define MOVE_BYTES ((size_t)12)  /* more than a message takes in DONE */

static struct ad_remote *remote_of(struct ad_session *session, int device)
{
    for (int i = 0; i < session->nremotes; i++)
        if (session->remotes[i].device == device)
            return &session->remotes[i];
    return NULL;
}

/* Tensors travel as one part, which must not be larger than the agents take. */
static enum adaps_status end_bytes(const struct adaps_plan *plan, const int *values, int n,
                                   const char *what, size_t *out, struct adaps_error *err)
{
    size_t sum = 0;
    for (int i = 0; i < n; i++) {
        const struct ad_box *box = &plan->graph->values[values[i]].box;
        size_t bytes;
        if (!ad_size_mul((size_t)(box->n * box->h), (size_t)(box->w * box->c), &bytes) ||
            !ad_size_mul(bytes, sizeof(float), &bytes) || !ad_size_add(sum, bytes, &sum) ||
            sum > AD_CONTROL_MAX_BYTES)
            return ad_error_set(err, ADAPS_EINPUT,
                                "the network's %s take more than %zu bytes: too much to send", what,
                                AD_CONTROL_MAX_BYTES);
    }
    *out = sum;
    return ADAPS_OK;
}

/* The largest part of an answer of this device: the network's outputs, or the times of its steps.
 */
static size_t largest_answer(const struct ad_session *session, int device)
{
    const struct adaps_plan *plan = session->plan;
    size_t largest = device == plan->cluster.source ? session->output_bytes : 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        size_t times = TIMES_BYTES * (size_t)ad_plan_turn(plan, t)->programs[device].nsteps;
        largest = times > largest ? times : largest;
    }
    return largest > AD_ANSWER_BYTES ? largest : AD_ANSWER_BYTES;
}

static enum adaps_status init_remotes(struct ad_session *session, const struct ad_keys *keys,
                                      struct ad_deadline *deadline, struct adaps_error *err)
{
    const struct adaps_plan *plan = session->plan;
    int n = plan->cluster.ndevices;
    session->remotes = ad_calloc((size_t)n, sizeof *session->remotes);
    if (!session->remotes)
        return ad_error_memory(err, "agents", (size_t)n * sizeof *session->remotes);
    for (int d = 0; d < n; d++) {
        if (!ad_plan_works(plan, d))
            continue;
        if (d == plan->cluster.source)
            session->source = session->nremotes;
        struct ad_remote *remote = &session->remotes[session->nremotes++];
        struct ad_remote_options options = {
            .context = session->context, .keys = keys, .most = largest_answer(session, d)};
        enum adaps_status status =
            ad_remote_init(remote, d, &plan->cluster.devices[d], &options, deadline, err);
        if (status != ADAPS_OK)
            return status;
    }
    if (session->source < 0)
        return ad_error_set(err, ADAPS_EINPUT, "the plan gives its source '%s' nothing to do",
                            plan->cluster.devices[plan->cluster.source].name);
    for (int i = 0; i < session->nremotes; i++) {
        Adaps__Wire__Welcome *welcome;
        int d = session->remotes[i].device;
        const struct ad_remote_options options = {
            .context = session->context, .keys = keys, .most = largest_answer(session, d)};
        enum adaps_status status = ad_remote_greet(&session->remotes[i], &plan->cluster.devices[d],
                                                   &options, deadline, &welcome, err);
        if (status != ADAPS_OK)
            return status;
        ad_protobuf_free(&welcome->base);
    }
    return ADAPS_OK;
}

/* An endpoint of another agent as seen by its peers: its host in the devices file, its new port. */
struct meeting {
    char text[AD_ENDPOINT_BYTES];
};

/* Fills items and list with the peers of a device; meetings may be NULL. Returns how many. */
static size_t list_peers(struct ad_session *session, int device, struct meeting *meetings,
                         Adaps__Wire__Peer *items, Adaps__Wire__Peer **list)
{
    const struct ad_peers peers = ad_plan_peers(session->plan, device);
    size_t n = 0;
    int ndevices = session->plan->cluster.ndevices;
    for (int p = 0; p < ndevices; p++) {
        struct ad_remote *remote = peers.any[p] ? remote_of(session, p) : NULL;
        if (!remote)
            continue;
        adaps__wire__peer__init(&items[n]);
        items[n].device = p;
        items[n].name = remote->name;
        items[n].key = remote->key;
        if (meetings)
            items[n].endpoint = meetings[p * ndevices + device].text;
        list[n] = &items[n];
        n++;
    }
    return n;
}

/* What agents are told of a deadline. */
static uint32_t left_ms(struct ad_deadline *deadline)
{
    return (uint32_t)(ad_deadline_left(deadline, NULL) / 1000000);
}

static enum adaps_status send_open(struct ad_session *session, struct ad_remote *remote,
                                   const struct ad_session_options *options,
                                   struct ad_deadline *deadline, struct adaps_error *err)
{
    Adaps__Wire__Open open = ADAPS__WIRE__OPEN__INIT;
    Adaps__Wire__Peer items[AD_MAX_DEVICES], *list[AD_MAX_DEVICES];
    struct ad_digest digest = session->plan->digest;
    open.plan.data = digest.bytes;
    open.plan.len = sizeof digest.bytes;
    open.device = remote->device;
    open.deadline_ms = left_ms(deadline);
    open.n_peers = list_peers(session, remote->device, NULL, items, list);
    open.peers = list;
    open.wait = options->wait_s > 0;
    open.after = options->after;
    remote->session = session->id;
    return ad_remote_send(remote, AD_FRAME_OPEN, 0, &open.base, NULL, 0, err);
}

/* Where the agents find each other: [agent * ndevices + peer]. */
struct meetings {
    struct meeting *items;
    int ndevices;
};

/* Notes where the peers of this agent find it. */
static enum adaps_status take_opened(void *self, struct ad_remote *remote, struct adaps_error *err)
{
    const struct meetings *meetings = self;
    ProtobufCMessage *body;
    struct ad_endpoint endpoint;
    int ndevices = meetings->ndevices;
    enum adaps_status status = ad_endpoint_parse(remote->address, &endpoint, err);
    if (status == ADAPS_OK)
        status =
            ad_wire_message_body(&remote->message, &adaps__wire__opened__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Opened *opened = (const Adaps__Wire__Opened *)body;
    for (size_t i = 0; i < opened->n_ports && status == ADAPS_OK; i++) {
        const Adaps__Wire__Port *port = opened->ports[i];
        if (port->device < 0 || port->device >= ndevices || port->port < 1 || port->port > 65535) {
            ad_error_set(err, ADAPS_EAGENT, "it offers port %u to device %d", port->port,
                         port->device);
            status = ad_remote_blame(remote, err);
        } else {
            ad_endpoint_format(endpoint.host, (int)port->port,
                               meetings->items[remote->device * ndevices + port->device].text);
        }
    }
    ad_protobuf_free(body);
    return status;
}

static enum adaps_status send_connect(struct ad_session *session, struct ad_remote *remote,
                                      struct meeting *meetings, struct ad_deadline *deadline,
                                      struct adaps_error *err)
{
    Adaps__Wire__Connect connect = ADAPS__WIRE__CONNECT__INIT;
    Adaps__Wire__Peer items[AD_MAX_DEVICES], *list[AD_MAX_DEVICES];
    connect.n_peers = list_peers(session, remote->device, meetings, items, list);
    connect.peers = list;
    connect.deadline_ms = left_ms(deadline);
    return ad_remote_send(remote, AD_FRAME_CONNECT, 0, &connect.base, NULL, 0, err);
}

/* Opens the session on an agent, when it is this controller's turn there. Waiting counts for no
 * deadline. */
static enum adaps_status open_in_turn(struct ad_session *session, struct ad_remote *remote,
                                      struct ad_turn_wait *turn, struct ad_deadline *deadline,
                                      const struct meetings *meetings, struct adaps_error *err)
{
    struct adaps_error why; /* the caller may not want to know, but ad_turn_wait() does */
    enum adaps_status status;
    do {
        status = send_open(session, remote, turn->options, deadline, &why);
        if (status == ADAPS_OK)
            status = ad_remote_await(remote, AD_FRAME_OPENED, deadline, AD_WAIT_ANSWER, &why);
        if (status == ADAPS_OK)
            return take_opened((void *)meetings, remote, err);
        remote->session = remote->busy ? 0 : remote->session; /* nothing to close */
        status = ad_turn_wait(turn, remote, session->remotes, session->nremotes, &why);
        ad_deadline_restart(deadline);
    } while (status == ADAPS_OK);
    if (err)
        *err = why;
    return status;
}

/* All at the same time; or, when it waits for its turn, one after the other. */
static enum adaps_status open_all(struct ad_session *session,
                                  const struct ad_session_options *options,
                                  struct ad_deadline *deadline, struct meetings *meetings,
                                  struct adaps_error *err)
{
    struct ad_turn_wait turn = {.options = options};
    int order[AD_MAX_DEVICES];
    enum adaps_status status = ADAPS_OK;
    if (options->wait_s > 0) {
        ad_turn_order(session->remotes, session->nremotes, order);
        for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
            status =
                open_in_turn(session, &session->remotes[order[i]], &turn, deadline, meetings, err);
        return status;
    }
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = send_open(session, &session->remotes[i], options, deadline, err);
    return status == ADAPS_OK
               ? ad_remotes_await(session->remotes, session->nremotes, AD_FRAME_OPENED, deadline,
                                  take_opened, meetings, err)
               : status;
}

static enum adaps_status meet(struct ad_session *session, const struct ad_session_options *options,
                              struct ad_deadline *deadline, struct adaps_error *err)
{
    size_t n = (size_t)session->plan->cluster.ndevices;
    struct meetings meetings = {ad_calloc(n * n, sizeof *meetings.items), (int)n};
    if (!meetings.items)
        return ad_error_memory(err, "endpoints", n * n * sizeof *meetings.items);
    enum adaps_status status = open_all(session, options, deadline, &meetings, err);
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = send_connect(session, &session->remotes[i], meetings.items, deadline, err);
    if (status == ADAPS_OK) { /* an agent can say better what did not come than this side can */
        struct ad_deadline later;
        ad_deadline_set(&later, ad_deadline_left(deadline, NULL) + SETTLE_NS);
        status = ad_remotes_await(session->remotes, session->nremotes, AD_FRAME_READY, &later, NULL,
                                  NULL, err);
    }
    ad_free(meetings.items);
    return status;
}

/* Answers bring the times of messages, if these tell of links. */
static enum adaps_status expect_times(struct ad_session *session, struct adaps_error *err)
{
    const struct adaps_plan *plan = session->plan;
    enum adaps_status status = ad_link_watch_new(plan, &session->link_watch, err);
    if (status == ADAPS_NO)
        return ADAPS_OK;
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++) {
        struct ad_remote *remote = &session->remotes[i];
        remote->done += MOVE_BYTES * ad_moves_count(&plan->schedule.programs[remote->device]);
    }
    return status;
}

enum adaps_status ad_session_open(const struct adaps_plan *plan,
                                  const struct ad_session_options *options, struct ad_session **out,
                                  struct adaps_error *err)
{
    struct ad_keys keys;
    struct ad_deadline deadline; /* of all that is done here */
    struct ad_session *session = ad_calloc(1, sizeof *session);
    if (!session)
        return ad_error_memory(err, "session", sizeof *session);
    session->plan = plan;
    session->source = -1;
    session->culprit = -1;
    session->pictures = ad_picture_all(plan->graph);
    ad_picture_of_inputs(plan->graph, session->input_pictures);
    session->deadline_ns = ad_deadline_ns(options->deadline_s);
    session->interrupt = options->interrupt;
    ad_deadline_set(&deadline, session->deadline_ns);
    enum adaps_status status = ad_keys_find(options->key_file, &keys, err);
    if (status == ADAPS_OK && sodium_init() < 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "libsodium does not start");
    if (status == ADAPS_OK)
        status = end_bytes(plan, plan->graph->inputs, plan->graph->ninputs, "inputs",
                           &session->input_bytes, err);
    if (status == ADAPS_OK)
        status = end_bytes(plan, plan->graph->outputs, plan->graph->noutputs, "outputs",
                           &session->output_bytes, err);
    if (status == ADAPS_OK && !(session->context = zmq_ctx_new()))
        status = ad_error_memory(err, "ZeroMQ context", 0);
    if (status == ADAPS_OK)
        status = init_remotes(session, &keys, &deadline, err);
    if (status == ADAPS_OK) {
        do
            randombytes_buf(&session->id, sizeof session->id);
        while (session->id == 0);
        status = meet(session, options, &deadline, err);
    }
    if (status == ADAPS_OK && options->message_times)
        status = expect_times(session, err);
    if (status != ADAPS_OK) {
        ad_session_close(session);
        return status;
    }
    session->ready = true;
    session->counts = options->counts;
    ad_counts_open(session->counts, plan);
    *out = session;
    return ADAPS_OK;
}

static void close_session(struct ad_session *session, bool again)
{
    Adaps__Wire__Close body = ADAPS__WIRE__CLOSE__INIT;
    if (!session)
        return;
    ad_counts_close(session->counts);
    body.again = again;
    struct ad_deadline deadline;
    bool failed = !session->ready || (session->broken && !session->cancelled);
    ad_deadline_set(&deadline, failed ? BROKEN_NS : CLOSE_NS);
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        if (remote->lost || !remote->session)
            continue;
        if (ad_remote_send(remote, AD_FRAME_CLOSE, 0, &body.base, NULL, 0, NULL) != ADAPS_OK)
            remote->lost = true;
    }
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        enum adaps_status status = ADAPS_NO;
        while (!remote->lost && remote->session && status != ADAPS_EINTERNAL &&
               !(status == ADAPS_OK && ad_remote_answered(remote, remote->requests)) &&
               ad_deadline_left(&deadline, NULL) > 0) {
            status = ad_remote_recv(remote, NULL);
            if (status == ADAPS_NO && !remote->lost)
                ad_remotes_sleep(remote, 1, &deadline);
        }
    }
    for (int i = 0; i < session->nremotes; i++)
        ad_remote_fini(&session->remotes[i]);
    if (session->context)
        zmq_ctx_term(session->context);
    ad_session_drop_flights(session);
    ad_link_watch_free(session->link_watch);
    ad_free(session->remotes);
    ad_free(session);
}

void ad_session_close(struct ad_session *session)
{
    close_session(session, false);
}

uint64_t ad_session_leave(struct ad_session *session)
{
    uint64_t id = session ? session->id : 0;
    close_session(session, true);
    return id;
}
