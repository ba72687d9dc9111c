#include "exec/agent/peer_links.h"
#include "base/clock.h"
#include "wire/resolve.h"
#include "wire/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <zmq.h>

static enum adaps_status fail(const struct ad_peer_link *link, struct adaps_error *err,
                              const char *what)
{
    return ad_error_set(err, ADAPS_EAGENT, "'%s': %s", link->peer.name, what);
}

static const struct ad_peer *find_peer(const struct ad_peer *peers, int npeers, int device)
{
    for (int i = 0; i < npeers; i++)
        if (peers[i].device == device)
            return &peers[i];
    return NULL;
}

/* A peer that takes nothing of what was sent for so long is lost: a living one always reads. */
#define UNTAKEN_MS 2000

/* What a peer may send to this device: the largest message part, in bytes, and how many messages of
 * all inferences in flight. */
static size_t message_limit(const struct adaps_plan *plan, int device, int peer, size_t *most)
{
    int64_t largest = AD_FRAME_BYTES;
    size_t count = 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        const struct ad_program *program = &ad_plan_turn(plan, t)->programs[device];
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            if (step->kind != AD_STEP_RECV || step->peer != peer)
                continue;
            int64_t bytes = ad_region_bytes(plan->graph, step->value, step->region);
            largest = bytes > largest ? bytes : largest;
            count++;
        }
    }
    *most = count * AD_FLIGHTS_MOST;
    return (size_t)largest;
}

static enum adaps_status open_link(struct ad_peer_links *links, struct ad_peer_link *link,
                                   const char *host, const struct ad_keys *keys,
                                   struct adaps_error *err)
{
    char any[AD_ENDPOINT_BYTES], text[AD_ENDPOINT_BYTES];
    struct ad_endpoint bound;
    if (keys->present && !ad_key_valid(link->peer.key))
        return ad_error_set(err, ADAPS_EINPUT, "device '%s' has no key in the plan's devices file",
                            link->peer.name);
    size_t limit = message_limit(links->plan, links->device, link->peer.device, &link->early_most);
    enum adaps_status status = ad_socket_new(links->context, ZMQ_PAIR, limit, &link->socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_give_up(link->socket, UNTAKEN_MS, err);
    if (status == ADAPS_OK)
        status = ad_socket_monitor(links->context, link->socket, &link->monitor, err);
    size_t size = sizeof link->zmq_fd;
    if (status == ADAPS_OK && zmq_getsockopt(link->socket, ZMQ_FD, &link->zmq_fd, &size) != 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: ZMQ_FD: %s", zmq_strerror(errno));
    if (status != ADAPS_OK || !link->listens)
        return status;
    link->visitors = ad_calloc(1, sizeof *link->visitors);
    if (!link->visitors)
        return ad_error_memory(err, "links", sizeof *link->visitors);
    ad_visitors_init(link->visitors, links->guard);
    status = ad_socket_serve(link->socket, keys, link->peer.key, err);
    if (status == ADAPS_OK)
        status = ad_socket_bind(link->socket, ad_endpoint_format(host, 0, any), text, err);
    if (status == ADAPS_OK)
        status = ad_endpoint_parse(text, &bound, err);
    if (status == ADAPS_OK)
        link->port = bound.port;
    return status;
}

enum adaps_status ad_peer_links_open(struct ad_peer_links *links, const char *host,
                                     const struct ad_keys *keys, const struct ad_peer *peers,
                                     int npeers, struct adaps_error *err)
{
    const struct ad_peers needed = ad_plan_peers(links->plan, links->device);
    links->count = links->nconnections = 0;
    links->items = ad_calloc(AD_MAX_DEVICES, sizeof *links->items);
    if (!links->items)
        return ad_error_memory(err, "links", AD_MAX_DEVICES * sizeof *links->items);
    for (int d = 0; d < AD_MAX_DEVICES; d++) {
        if (!needed.any[d])
            continue;
        const struct ad_peer *peer = find_peer(peers, npeers, d);
        if (!peer)
            return ad_error_set(err, ADAPS_EINPUT, "the session does not name device %d", d);
        struct ad_peer_link *link = &links->items[links->count++];
        link->peer = *peer;
        link->listens = links->device < d;
        link->fd = -1;
        link->live = links->live ? ad_live_link(links->live, peer->name) : NULL;
        link->connection = needed.sent_to[d] ? links->nconnections++ : -1;
        enum adaps_status status = open_link(links, link, host, keys, err);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

void ad_peer_links_close(struct ad_peer_links *links)
{
    ad_send_scheduler_free(links->scheduler);
    links->scheduler = NULL;
    for (int i = 0; i < links->count; i++) {
        struct ad_peer_link *link = &links->items[i];
        for (size_t k = 0; k < link->nearly; k++)
            zmq_msg_close(&link->early[k].payload);
        ad_free(link->early);
        ad_socket_close_monitored(link->socket, link->monitor, 0);
        ad_free(link->visitors);
    }
    ad_free(links->items);
    links->items = NULL;
    links->timestamps = NULL;
    links->count = 0;
}

/* Whether the wait is over for another reason than a message. */
static enum adaps_status check_wait(const struct ad_peer_links *links,
                                    const struct ad_peer_link *link, struct adaps_error *err)
{
    if (*links->cancel)
        return ad_error_set(err, ADAPS_EAGENT, "aborted");
    if (link->lost)
        return fail(link, err, "the connection to it was lost");
    if (ad_clock_ns() >= links->deadline_ns)
        return fail(link, err, "nothing came from it within the deadline");
    return ADAPS_OK;
}

static void watch(struct ad_peer_link *link)
{
    uint16_t event;
    uint32_t value;
    while (ad_monitor_next(link->monitor, &event, &value)) {
        if (link->visitors)
            ad_visitors_event(link->visitors, event, value);
        if (event == ZMQ_EVENT_DISCONNECTED && link->joined && value == (uint32_t)link->fd)
            link->lost = true;
    }
}

void ad_peer_links_look(struct ad_peer_links *links)
{
    for (int i = 0; i < links->count; i++)
        watch(&links->items[i]);
}

/* Whether a message of one of these devices is there. ZMQ_FD does not tell: it is readable once
 * after a message came, and every other use of the socket, such as sending, takes that away. */
static bool is_any_there(struct ad_peer_links *links, const bool *wanted)
{
    bool any = false;
    ad_send_scheduler_lock(links->scheduler);
    for (int i = 0; i < links->count && !any; i++) {
        struct ad_peer_link *link = &links->items[i];
        int events = 0;
        size_t size = sizeof events;
        any = wanted[link->peer.device] &&
              zmq_getsockopt(link->socket, ZMQ_EVENTS, &events, &size) == 0 &&
              (events & ZMQ_POLLIN);
    }
    ad_send_scheduler_unlock(links->scheduler);
    return any;
}

void ad_peer_links_wait(struct ad_peer_links *links, const bool *wanted)
{
    bool kept = links->kept;
    links->kept = false;
    if (kept || is_any_there(links, wanted))
        return;
    zmq_pollitem_t items[2 + 2 * AD_MAX_DEVICES] = {{.fd = links->wake_fd, .events = ZMQ_POLLIN}};
    int64_t left = links->deadline_ns - ad_clock_ns();
    int n = 1;
    eventfd_t count;
    if (links->scheduler)
        items[n++] =
            (zmq_pollitem_t){.fd = ad_send_scheduler_fd(links->scheduler), .events = ZMQ_POLLIN};
    int first = n;
    for (int i = 0; i < links->count; i++) {
        struct ad_peer_link *link = &links->items[i];
        items[n++] = (zmq_pollitem_t){.socket = link->monitor, .events = ZMQ_POLLIN};
        if (wanted[link->peer.device])
            items[n++] = (zmq_pollitem_t){.fd = link->zmq_fd, .events = ZMQ_POLLIN};
    }
    if (left > 0)
        zmq_poll(items, n, (long)((left + 999999) / 1000000));
    for (int i = 0; i < first; i++)
        if (items[i].revents)
            eventfd_read(items[i].fd, &count);
    ad_peer_links_look(links);
}

/* A part of a message, if it is there; else -1. */
static int take_part(struct ad_peer_links *links, struct ad_peer_link *link, zmq_msg_t *part)
{
    ad_send_scheduler_lock(links->scheduler);
    int n = zmq_msg_recv(part, link->socket, ZMQ_DONTWAIT);
    int reason = errno;
    ad_send_scheduler_unlock(links->scheduler);
    errno = reason;
    return n;
}

static void skip(struct ad_peer_links *links, struct ad_peer_link *link)
{
    ad_send_scheduler_lock(links->scheduler);
    ad_socket_skip(link->socket);
    ad_send_scheduler_unlock(links->scheduler);
}

/* The head of the next message from a peer, if there is one (else ADAPS_NO); its payload, if *more,
 * is still to be received. */
static enum adaps_status take_head(struct ad_peer_links *links, struct ad_peer_link *link,
                                   struct ad_frame *frame, bool *more, struct adaps_error *err)
{
    zmq_msg_t head;
    zmq_msg_init(&head);
    enum adaps_status status = ADAPS_OK;
    while (take_part(links, link, &head) < 0) {
        if (errno == EAGAIN) {
            status = check_wait(links, link, err);
            status = status == ADAPS_OK ? ADAPS_NO : status;
        } else if (errno != EINTR) {
            status = ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: receive: %s", zmq_strerror(errno));
        }
        if (status != ADAPS_OK)
            goto out;
    }
    *more = zmq_msg_more(&head);
    status = ad_frame_decode(zmq_msg_data(&head), zmq_msg_size(&head), frame, err);
    if (status != ADAPS_OK) {
        ad_error_prefix(err, "'%s': ", link->peer.name);
        skip(links, link);
    } else if (frame->type == AD_FRAME_JOIN) {
        link->fd = zmq_msg_get(&head, ZMQ_SRCFD);
    }
out:
    zmq_msg_close(&head);
    return status;
}

static enum adaps_status send_join(const struct ad_peer_links *links, struct ad_peer_link *link,
                                   struct adaps_error *err)
{
    uint8_t head[AD_FRAME_BYTES];
    struct ad_frame frame = {
        .type = AD_FRAME_JOIN, .session = links->session, .step = (uint32_t)links->device};
    ad_frame_encode(&frame, head);
    if (zmq_send(link->socket, head, sizeof head, ZMQ_DONTWAIT) < 0)
        return fail(link, err, "cannot be greeted");
    return ADAPS_OK;
}

static enum adaps_status connect_link(const struct ad_peer_links *links, struct ad_peer_link *link,
                                      const struct ad_keys *keys, const struct ad_peer *peer,
                                      struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    char endpoint[AD_ENDPOINT_BYTES];
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, links->deadline_ns - ad_clock_ns());
    if (!peer || !*peer->endpoint)
        return fail(link, err, "the session does not tell its address");
    if (keys->present)
        status = ad_socket_trust(link->socket, keys, link->peer.key, err);
    if (status == ADAPS_OK)
        status = ad_endpoint_resolve(peer->endpoint, &deadline, links->cancel, endpoint, err);
    if (status == ADAPS_OK)
        status = ad_socket_connect(link->socket, endpoint, err);
    return status;
}

/* Waits for the head of the next message from a peer. */
static enum adaps_status recv_head(struct ad_peer_links *links, struct ad_peer_link *link,
                                   struct ad_frame *frame, bool *more, struct adaps_error *err)
{
    bool wanted[AD_MAX_DEVICES] = {false};
    enum adaps_status status;
    wanted[link->peer.device] = true;
    while ((status = take_head(links, link, frame, more, err)) == ADAPS_NO)
        ad_peer_links_wait(links, wanted);
    return status;
}

/* Waits for the peer's JOIN; the listening side answers with its own. */
static enum adaps_status join_link(struct ad_peer_links *links, struct ad_peer_link *link,
                                   struct adaps_error *err)
{
    struct ad_frame frame;
    bool more = false;
    enum adaps_status status = recv_head(links, link, &frame, &more, err);
    if (status != ADAPS_OK)
        return status;
    if (more || frame.type != AD_FRAME_JOIN || frame.session != links->session ||
        frame.step != (uint32_t)link->peer.device)
        return fail(link, err, "somebody else answers at its port");
    if (link->listens)
        status = send_join(links, link, err);
    watch(link); /* forgets what strangers did: descriptors are used again */
    if (link->visitors)
        ad_visitors_know(link->visitors, link->fd);
    link->joined = true;
    return status;
}

/* A scheduler of the connections to those peers that messages are sent to, if there are several. */
static enum adaps_status make_scheduler(struct ad_peer_links *links, struct adaps_error *err)
{
    const struct ad_cluster *cluster = &links->plan->cluster;
    struct ad_connection connections[AD_MAX_DEVICES];
    if (links->nconnections < 2)
        return ADAPS_OK;
    for (int i = 0; i < links->count; i++) {
        const struct ad_peer_link *link = &links->items[i];
        const struct ad_link *planned =
            &cluster->links[links->device * cluster->ndevices + link->peer.device];
        if (link->connection >= 0)
            connections[link->connection] =
                (struct ad_connection){link->socket, link->fd, planned->bandwidth};
    }
    return ad_send_scheduler_new(connections, links->nconnections, &links->scheduler, err);
}

enum adaps_status ad_peer_links_join(struct ad_peer_links *links, const struct ad_keys *keys,
                                     const struct ad_peer *peers, int npeers,
                                     struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < links->count && status == ADAPS_OK; i++) {
        struct ad_peer_link *link = &links->items[i];
        if (link->listens)
            continue;
        status = connect_link(links, link, keys, find_peer(peers, npeers, link->peer.device), err);
        if (status == ADAPS_OK)
            status = send_join(links, link, err);
    }
    for (int i = 0; i < links->count && status == ADAPS_OK; i++)
        status = join_link(links, &links->items[i], err);
    return status == ADAPS_OK ? make_scheduler(links, err) : status;
}

/* --- transport --- */

static struct ad_peer_link *link_to(struct ad_peer_links *links, int device)
{
    for (int i = 0; i < links->count; i++)
        if (links->items[i].peer.device == device)
            return &links->items[i];
    return NULL;
}

static enum adaps_status links_send(void *self, const struct ad_step *step,
                                    const struct ad_span_list *spans, struct adaps_error *err)
{
    struct ad_peer_links *links = self;
    struct ad_peer_link *link = link_to(links, step->peer);
    uint8_t head[AD_FRAME_BYTES];
    zmq_msg_t payload;
    size_t size = ad_spans_bytes(spans);
    if (!link)
        return ad_error_set(err, ADAPS_EINTERNAL, "no link to device %d", step->peer);
    watch(link);
    if (link->lost)
        return fail(link, err, "the connection to it was lost");
    struct ad_sent_notice notice = {.timestamps = links->timestamps, .step = (int)links->step};
    if (links->scheduler) {
        notice.unsent = ad_send_scheduler_unsent(links->scheduler);
        notice.peer = link->connection;
    }
    if (links->timestamps || links->scheduler ? !ad_outgoing_new(&notice, size, &payload)
                                              : zmq_msg_init_size(&payload, size) != 0)
        return ad_error_memory(err, "message", size);
    ad_spans_gather(spans, zmq_msg_data(&payload));
    struct ad_frame frame = {.type = AD_FRAME_DATA,
                             .session = links->session,
                             .inference = links->inference,
                             .step = links->step,
                             .tag = step->tag,
                             .length = size,
                             .checksum = ad_frame_checksum(0, zmq_msg_data(&payload), size)};
    ad_frame_encode(&frame, head);
    if (links->timestamps)
        ad_timestamps_set(links->timestamps, (int)links->step);
    if (links->scheduler
            ? !ad_send_scheduler_send(links->scheduler, link->connection, head, &payload)
            : !ad_send_scheduler_hand_over(link->socket, head, &payload))
        return fail(link, err, "the connection to it was lost");
    ad_live_sent(link->live, size);
    links->bytes_sent += size;
    links->messages_sent++;
    return ADAPS_OK;
}

/* The payload into its place: directly when it is one run. */
static enum adaps_status recv_payload(struct ad_peer_link *link, const struct ad_frame *frame,
                                      const struct ad_span_list *list, struct adaps_error *err)
{
    const struct ad_span *spans = list->spans;
    zmq_msg_t part;
    int more = 0;
    size_t option = sizeof more;
    uint64_t length, checksum;
    if (list->count == 1 && (spans[0].runs == 1 || spans[0].run_stride == spans[0].run_bytes)) {
        size_t size = spans[0].runs * spans[0].run_bytes;
        int n = zmq_recv(link->socket, spans[0].base, size, 0);
        if (n < 0)
            return fail(link, err, zmq_strerror(errno));
        length = (uint64_t)n; /* of the part, also when it is longer than the place */
        checksum = ad_frame_checksum(0, spans[0].base, length < size ? length : size);
    } else {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, link->socket, 0) < 0)
            return fail(link, err, zmq_strerror(errno));
        length = zmq_msg_size(&part);
        checksum = ad_frame_checksum(0, zmq_msg_data(&part), length);
        if (length == frame->length)
            ad_spans_take(list, zmq_msg_data(&part), length);
        zmq_msg_close(&part);
    }
    if (zmq_getsockopt(link->socket, ZMQ_RCVMORE, &more, &option) == 0 && more) {
        ad_socket_skip(link->socket);
        return fail(link, err, "a message has too many parts");
    }
    if (list->shorter)
        *list->shorter = length;
    enum adaps_status status = ad_frame_check(frame, length, checksum, err);
    if (status == ADAPS_OK)
        ad_live_received(link->live, length);
    return status == ADAPS_OK ? status : ad_error_prefix(err, "'%s': ", link->peer.name);
}

/* Takes a message out of those that came early, if it is there. */
static bool find_early(struct ad_peer_link *link, uint32_t inference, struct ad_early_message *out)
{
    for (size_t i = 0; i < link->nearly; i++) {
        if (link->early[i].frame.inference != inference)
            continue;
        *out = link->early[i]; /* ZeroMQ's messages may move */
        link->nearly--;
        memmove(&link->early[i], &link->early[i + 1], (link->nearly - i) * sizeof *link->early);
        return true;
    }
    return false;
}

/* Whether a message belongs to another inference that is or may soon be in flight. */
static bool is_early(const struct ad_peer_links *links, const struct ad_frame *frame)
{
    int32_t age = (int32_t)(frame->inference - links->oldest);
    return frame->type == AD_FRAME_DATA && frame->session == links->session &&
           frame->inference != links->inference && age >= 0 && age < AD_FLIGHTS_MOST;
}

/* Keeps a message whose head was taken for later. */
static enum adaps_status keep_early(struct ad_peer_links *links, struct ad_peer_link *link,
                                    const struct ad_frame *frame, struct adaps_error *err)
{
    if (link->nearly == link->early_most)
        return fail(link, err, "it sends more than the plan says");
    if (!ad_grow(&link->early, link->nearly, &link->early_room, sizeof *link->early))
        return ad_error_memory(err, "messages", link->nearly * sizeof *link->early);
    struct ad_early_message *message = &link->early[link->nearly];
    message->frame = *frame;
    zmq_msg_init(&message->payload);
    if (take_part(links, link, &message->payload) < 0 || zmq_msg_more(&message->payload)) {
        zmq_msg_close(&message->payload);
        skip(links, link);
        return fail(link, err, "a message has too many parts");
    }
    link->nearly++;
    links->kept = true;
    return ADAPS_OK;
}

/* A payload that came early into its place. */
static enum adaps_status take_early(struct ad_peer_link *link, struct ad_early_message *message,
                                    const struct ad_span_list *list, struct adaps_error *err)
{
    const void *data = zmq_msg_data(&message->payload);
    size_t length = zmq_msg_size(&message->payload);
    enum adaps_status status =
        ad_frame_check(&message->frame, length, ad_frame_checksum(0, data, length), err);
    if (status == ADAPS_OK) {
        ad_live_received(link->live, length);
        ad_spans_take(list, data, length);
    } else {
        ad_error_prefix(err, "'%s': ", link->peer.name);
    }
    return status;
}

/* Which of the forms a message takes, and whether it is the one that the step waits for, ADAPS_NO:
 * one to be dropped. */
static enum adaps_status match(const struct ad_peer_links *links, const struct ad_step *step,
                               const struct ad_frame *frame, const struct ad_span_list *forms,
                               int nforms, int *form, struct adaps_error *err)
{
    struct ad_frame expected = {.type = AD_FRAME_DATA,
                                .session = links->session,
                                .inference = links->inference,
                                .tag = step->tag};
    *form = ad_spans_form(forms, nforms, (size_t)frame->length);
    expected.length = ad_spans_take_size(&forms[*form], (size_t)frame->length)
                          ? frame->length
                          : ad_spans_bytes(&forms[*form]);
    return ad_frame_match(frame, &expected, err);
}

/* The step's message among those that came early. ADAPS_NO: it is not there. */
static enum adaps_status recv_early(struct ad_peer_links *links, struct ad_peer_link *link,
                                    const struct ad_step *step, const struct ad_span_list *forms,
                                    int nforms, int *form, struct adaps_error *err)
{
    struct ad_early_message message;
    if (!find_early(link, links->inference, &message))
        return ADAPS_NO;
    enum adaps_status status = match(links, step, &message.frame, forms, nforms, form, err);
    status = status == ADAPS_OK ? take_early(link, &message, &forms[*form], err)
                                : ad_error_prefix(err, "'%s': ", link->peer.name);
    zmq_msg_close(&message.payload);
    return status;
}

/* Takes messages until the step's is there. */
static enum adaps_status recv_now(struct ad_peer_links *links, struct ad_peer_link *link,
                                  const struct ad_step *step, const struct ad_span_list *forms,
                                  int nforms, int *form, struct adaps_error *err)
{
    for (;;) {
        struct ad_frame frame;
        bool more = false;
        enum adaps_status status = take_head(links, link, &frame, &more, err);
        if (status != ADAPS_OK)
            return status;
        if (more && is_early(links, &frame)) {
            status = keep_early(links, link, &frame, err);
            if (status != ADAPS_OK)
                return status;
            continue;
        }
        status = match(links, step, &frame, forms, nforms, form, err);
        if (status == ADAPS_NO) {
            skip(links, link);
            continue;
        }
        if (status != ADAPS_OK || !more) {
            skip(links, link);
            return status != ADAPS_OK ? ad_error_prefix(err, "'%s': ", link->peer.name)
                                      : fail(link, err, "a message without a payload");
        }
        ad_send_scheduler_lock(links->scheduler);
        status = recv_payload(link, &frame, &forms[*form], err);
        ad_send_scheduler_unlock(links->scheduler);
        return status;
    }
}

static enum adaps_status links_recv(void *self, const struct ad_step *step,
                                    const struct ad_span_list *forms, int nforms, int *form,
                                    struct adaps_error *err)
{
    struct ad_peer_links *links = self;
    struct ad_peer_link *link = link_to(links, step->peer);
    if (!link)
        return ad_error_set(err, ADAPS_EINTERNAL, "no link to device %d", step->peer);
    enum adaps_status status = recv_early(links, link, step, forms, nforms, form, err);
    if (status == ADAPS_NO)
        status = recv_now(links, link, step, forms, nforms, form, err);
    if (status == ADAPS_OK && links->timestamps)
        ad_timestamps_found(links->timestamps, (int)links->step, links->waited);
    return status;
}

struct ad_transport ad_peer_links_transport(struct ad_peer_links *links)
{
    return (struct ad_transport){.send = links_send, .recv = links_recv, .self = links};
}
