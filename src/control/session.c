/* A session from the controller's side: open on all agents, connect them, close. */
#include "base/clock.h"
#include "wire/endpoint.h"
#include "control/session_internal.h"

#include <sodium.h>
#include <math.h>
#include <string.h>

/* Closing waits no longer than this for an agent's answer. */
#define CLOSE_NS ((int64_t)1000000000)

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

/* The largest message between a device and a peer, bytes. */
static double largest_message(const struct adaps_plan *plan, int device, int peer)
{
    double largest = 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        const struct ad_program *program = &ad_plan_turn(plan, t)->programs[device];
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            if (step->kind == AD_STEP_COMPUTE || step->peer != peer)
                continue;
            double size = (double)ad_region_elements(step->region) *
                          (double)plan->graph->values[step->value].box.n * sizeof(float);
            largest = size > largest ? size : largest;
        }
    }
    return largest;
}

/* How long an agent may take to answer a ping, which waits its turn after tensors and after what
 * the agent exchanges with others. */
static int64_t patience(const struct ad_session *session, int device)
{
    const struct adaps_plan *plan = session->plan;
    const struct ad_cluster *cluster = &plan->cluster;
    double worst = 0;
    for (int p = 0; p < cluster->ndevices; p++) {
        if (p == device)
            continue;
        double bytes = device == cluster->source
                           ? (double)session->input_bytes + (double)session->output_bytes
                           : 0;
        bytes = fmax(bytes, largest_message(plan, device, p));
        const struct ad_link *link = &cluster->links[device * cluster->ndevices + p];
        if (bytes / link->bandwidth > worst)
            worst = bytes / link->bandwidth;
    }
    double extra = 2e9 * worst;
    return AD_PATIENCE_NS + (extra < 60e9 ? (int64_t)extra : (int64_t)60e9);
}

static enum adaps_status init_remotes(struct ad_session *session, const struct ad_keys *keys,
                                      struct adaps_error *err)
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
        enum adaps_status status =
            ad_remote_init(remote, session->context, d, &plan->cluster.devices[d], keys, err);
        if (status != ADAPS_OK)
            return status;
        remote->patience_ns = patience(session, d);
    }
    if (session->source < 0)
        return ad_error_set(err, ADAPS_EINPUT, "the plan gives its source '%s' nothing to do",
                            plan->cluster.devices[plan->cluster.source].name);
    for (int i = 0; i < session->nremotes; i++) {
        Adaps__Wire__Welcome *welcome;
        enum adaps_status status = ad_remote_hello(
            &session->remotes[i], ad_clock_ns() + session->deadline_ns, &welcome, err);
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

static enum adaps_status send_open(struct ad_session *session, struct ad_remote *remote,
                                   struct adaps_error *err)
{
    Adaps__Wire__Open open = ADAPS__WIRE__OPEN__INIT;
    Adaps__Wire__Peer items[AD_MAX_DEVICES], *list[AD_MAX_DEVICES];
    struct ad_digest digest = session->plan->digest;
    open.plan.data = digest.bytes;
    open.plan.len = sizeof digest.bytes;
    open.device = remote->device;
    open.deadline_ms = (uint32_t)(session->deadline_ns / 1000000);
    open.n_peers = list_peers(session, remote->device, NULL, items, list);
    open.peers = list;
    remote->session = session->id;
    return ad_remote_send(remote, AD_FRAME_OPEN, 0, &open.base, NULL, 0, err);
}

/* Notes where the peers of this agent find it: meetings[agent * ndevices + peer]. */
static enum adaps_status take_opened(struct ad_session *session, struct ad_remote *remote,
                                     struct meeting *meetings, struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_endpoint endpoint;
    int ndevices = session->plan->cluster.ndevices;
    enum adaps_status status = ad_remote_await(
        remote, AD_FRAME_OPENED, ad_clock_ns() + session->deadline_ns, AD_WAIT_PING, err);
    if (status == ADAPS_OK)
        status = ad_endpoint_parse(remote->address, &endpoint, err);
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
                               meetings[remote->device * ndevices + port->device].text);
        }
    }
    ad_protobuf_free(body);
    return status;
}

static enum adaps_status send_connect(struct ad_session *session, struct ad_remote *remote,
                                      struct meeting *meetings, struct adaps_error *err)
{
    Adaps__Wire__Connect connect = ADAPS__WIRE__CONNECT__INIT;
    Adaps__Wire__Peer items[AD_MAX_DEVICES], *list[AD_MAX_DEVICES];
    connect.n_peers = list_peers(session, remote->device, meetings, items, list);
    connect.peers = list;
    connect.deadline_ms = (uint32_t)(session->deadline_ns / 1000000);
    return ad_remote_send(remote, AD_FRAME_CONNECT, 0, &connect.base, NULL, 0, err);
}

static enum adaps_status meet(struct ad_session *session, struct adaps_error *err)
{
    size_t n = (size_t)session->plan->cluster.ndevices;
    struct meeting *meetings = ad_calloc(n * n, sizeof *meetings);
    enum adaps_status status = ADAPS_OK;
    if (!meetings)
        return ad_error_memory(err, "endpoints", n * n * sizeof *meetings);
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = send_open(session, &session->remotes[i], err);
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = take_opened(session, &session->remotes[i], meetings, err);
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = send_connect(session, &session->remotes[i], meetings, err);
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++)
        status = ad_remote_await(&session->remotes[i], AD_FRAME_READY,
                                 ad_clock_ns() + session->deadline_ns, AD_WAIT_PING, err);
    ad_free(meetings);
    return status;
}

enum adaps_status ad_session_open(const struct adaps_plan *plan,
                                  const struct ad_session_options *options, struct ad_session **out,
                                  struct adaps_error *err)
{
    struct ad_keys keys;
    struct ad_session *session = ad_calloc(1, sizeof *session);
    if (!session)
        return ad_error_memory(err, "session", sizeof *session);
    session->plan = plan;
    session->source = -1;
    session->pictures = ad_picture_all(plan->graph);
    ad_picture_of_inputs(plan->graph, session->input_pictures);
    session->deadline_ns = ad_deadline_ns(options->deadline_s);
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
        status = init_remotes(session, &keys, err);
    if (status == ADAPS_OK) {
        do
            randombytes_buf(&session->id, sizeof session->id);
        while (session->id == 0);
        status = meet(session, err);
    }
    if (status != ADAPS_OK) {
        ad_session_close(session);
        return status;
    }
    *out = session;
    return ADAPS_OK;
}

void ad_session_close(struct ad_session *session)
{
    if (!session)
        return;
    int64_t limit = session->deadline_ns < CLOSE_NS ? session->deadline_ns : CLOSE_NS;
    int64_t deadline = ad_clock_ns() + limit;
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        if (remote->lost || !remote->session)
            continue;
        if (ad_remote_send(remote, AD_FRAME_CLOSE, 0, NULL, NULL, 0, NULL) != ADAPS_OK)
            remote->lost = true;
    }
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        enum adaps_status status = ADAPS_NO;
        while (!remote->lost && remote->session && status != ADAPS_EINTERNAL &&
               !(status == ADAPS_OK && ad_remote_answered(remote, remote->requests)) &&
               ad_clock_ns() < deadline) {
            status = ad_remote_recv(remote, NULL);
            if (status == ADAPS_NO && !remote->lost)
                ad_remotes_sleep(remote, 1, deadline);
        }
    }
    for (int i = 0; i < session->nremotes; i++)
        ad_remote_fini(&session->remotes[i]);
    if (session->context)
        zmq_ctx_term(session->context);
    ad_session_drop_flights(session);
    ad_free(session->remotes);
    ad_free(session);
}
