#include "control/remote.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "control/found.h"
#include "wire/path.h"
#include "wire/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THREADS 2  /* of a ZeroMQ context, beside the caller's */
#define ANSWERS 64 /* requests of which it is known whether they were answered */
#define AT_ONCE 64 /* messages that are dropped before the caller looks at the time */
#define QUEUE 1000 /* messages that may wait here to be read */

/* How long a connection may take, though the deadline may be later: where nobody answers, nobody is
 * there. */
#define CONNECT_NS ((int64_t)8 * 1000000000)

/* A way there and back that is no reason for more patience. */
#define RTT_NS ((int64_t)500 * 1000000)

/* After an agent has said that it lost another one, that is heard of, too. */
#define SETTLE_NS ((int64_t)300 * 1000000)

int64_t ad_deadline_ns(double deadline_s)
{
    if (!(deadline_s > 0))
        deadline_s = 30;
    return (int64_t)((deadline_s < 1e6 ? deadline_s : 1e6) * 1e9);
}

enum adaps_status ad_remote_context(void **out, struct adaps_error *err)
{
    enum adaps_status status = ad_parallel_possible(THREADS, err);
    if (status != ADAPS_OK)
        return ad_error_prefix(err, "this process: ");
    *out = zmq_ctx_new();
    return *out ? ADAPS_OK : ad_error_memory(err, "ZeroMQ context", 0);
}

enum adaps_status ad_remote_blame(const struct ad_remote *remote, struct adaps_error *err)
{
    return ad_error_prefix(err, "agent '%s' (%s): ", remote->name, remote->address);
}

static enum adaps_status open_socket(struct ad_remote *remote,
                                     const struct ad_remote_options *options, void **out,
                                     struct adaps_error *err)
{
    enum adaps_status status = ad_socket_new(options->context, ZMQ_DEALER, remote->most, out, err);
    if (status == ADAPS_OK)
        status = ad_socket_queue(*out, QUEUE, err);
    if (status == ADAPS_OK && *remote->key)
        status = ad_socket_trust(*out, options->keys, remote->key, err);
    return status;
}

static enum adaps_status check_device(const struct ad_device *device, const struct ad_keys *keys,
                                      struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    enum adaps_status status = ad_endpoint_parse(device->address, &endpoint, err);
    if (status == ADAPS_OK && endpoint.port == 0)
        status = ad_error_set(err, ADAPS_EUSAGE, "'%s' has no port to connect to", device->address);
    if (status == ADAPS_OK && *device->key && !ad_key_valid(device->key))
        status = ad_error_set(err, ADAPS_EUSAGE, "its key is not 40 characters of Z85");
    if (status == ADAPS_OK && *device->key && !keys->present)
        status = ad_error_set(err, ADAPS_EUSAGE,
                              "it has a key, and there is none here to show it: make one with "
                              "'adaps keygen' and add it to the agent's --allow file");
    return status;
}

/* Where to connect to: the device's address, or where an agent with its key was found. */
static enum adaps_status locate(struct ad_remote *remote, struct ad_deadline *deadline,
                                char endpoint[AD_ENDPOINT_BYTES], struct adaps_error *err)
{
    struct adaps_error again;
    char address[AD_FOUND_BYTES];
    if (*remote->key && ad_found_before(remote->key, address))
        snprintf(remote->address, sizeof remote->address, "%s", address);
    enum adaps_status status = ad_endpoint_resolve(remote->address, deadline, NULL, endpoint, err);
    if (status != ADAPS_EAGENT || !*remote->key || !ad_found_look(remote->key, address) ||
        ad_endpoint_resolve(address, deadline, NULL, endpoint, &again) != ADAPS_OK)
        return status;
    snprintf(remote->address, sizeof remote->address, "%s", address);
    return ADAPS_OK;
}

enum adaps_status ad_remote_init(struct ad_remote *remote, int index,
                                 const struct ad_device *device,
                                 const struct ad_remote_options *options,
                                 struct ad_deadline *deadline, struct adaps_error *err)
{
    char endpoint[AD_ENDPOINT_BYTES];
    memset(remote, 0, sizeof *remote);
    remote->device = index;
    remote->fd = -1;
    remote->most = options->most ? options->most : AD_ANSWER_BYTES;
    remote->health = options->health;
    remote->done = 256;
    snprintf(remote->name, sizeof remote->name, "%s", device->name);
    snprintf(remote->address, sizeof remote->address, "%s", device->address);
    snprintf(remote->key, sizeof remote->key, "%s", device->key);
    ad_wire_message_init(&remote->message);
    remote->message.most = remote->most;
    ad_wire_message_init(&remote->pong);
    if (!*device->address)
        return ad_error_set(err, ADAPS_EUSAGE, "device '%s' has no address in the devices file",
                            device->name);
    enum adaps_status status = check_device(device, options->keys, err);
    if (status == ADAPS_OK)
        status = locate(remote, deadline, endpoint, err);
    if (status == ADAPS_OK)
        status = open_socket(remote, options, &remote->socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_monitor(options->context, remote->socket, &remote->monitor, err);
    if (status == ADAPS_OK)
        status = open_socket(remote, options, &remote->pings, err);
    if (status == ADAPS_OK)
        status = ad_socket_connect(remote->socket, endpoint, err);
    if (status == ADAPS_OK)
        status = ad_socket_connect(remote->pings, endpoint, err);
    if (status != ADAPS_OK)
        ad_remote_blame(remote, err);
    return status;
}

void ad_remote_fini(struct ad_remote *remote)
{
    ad_wire_message_fini(&remote->message);
    ad_wire_message_fini(&remote->pong);
    ad_socket_close_monitored(remote->socket, remote->monitor, 0);
    ad_socket_close(remote->pings, 0);
    remote->socket = remote->monitor = remote->pings = NULL;
}

static void lose(struct ad_remote *remote, const char *cause)
{
    if (remote->lost)
        return;
    remote->lost = true;
    snprintf(remote->cause, sizeof remote->cause, "%s", cause);
}

/* What is wrong with the keys. */
static const char *keys_refused(const struct ad_remote *remote)
{
    return *remote->key ? "it does not accept the keys: has it a --key?"
                        : "it wants keys: the devices file must have its public key, "
                          "or it is no adaps agent";
}

static void watch(struct ad_remote *remote)
{
    uint16_t event;
    uint32_t value;
    while (ad_monitor_next(remote->monitor, &event, &value)) {
        switch (event) {
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            remote->up = true;
            break;
        case ZMQ_EVENT_DISCONNECTED:
            if (remote->up)
                lose(remote, "connection closed");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            remote->trouble = AD_TROUBLE_NOT_ALLOWED;
            lose(remote, "it does not admit this side's key (its --allow file)");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            remote->trouble = *remote->key ? AD_TROUBLE_KEY : AD_TROUBLE_NO_KEY;
            lose(remote, keys_refused(remote));
            break;
        default: /* closed during the handshake, perhaps because our keys are refused, before
                    that was read; tried again */
            remote->refused = true;
            break;
        }
    }
}

uint32_t ad_remote_request(struct ad_remote *remote)
{
    uint32_t tag = ++remote->requests;
    remote->answered &= ~(UINT64_C(1) << tag % ANSWERS);
    return tag;
}

bool ad_remote_answered(const struct ad_remote *remote, uint32_t tag)
{
    return remote->answered >> tag % ANSWERS & 1;
}

enum adaps_status ad_remote_send(struct ad_remote *remote, int type, uint32_t inference,
                                 const ProtobufCMessage *body, const void *raw, size_t raw_size,
                                 struct adaps_error *err)
{
    struct ad_frame frame = {.type = (uint16_t)type,
                             .session = remote->session,
                             .inference = inference,
                             .tag = ad_remote_request(remote)};
    enum adaps_status status =
        ad_wire_message_send(remote->socket, NULL, &frame, body, raw, raw_size, err);
    return status == ADAPS_OK ? status : ad_remote_blame(remote, err);
}

/* --- pings --- */

static void be_patient(struct ad_remote *remote, int64_t ns)
{
    int64_t more = remote->rtt_ns > RTT_NS ? remote->rtt_ns - RTT_NS : 0;
    ad_deadline_set(&remote->patience, ns + more);
}

void ad_remote_listen(struct ad_remote *remote)
{
    bool paused;
    ad_deadline_left(&remote->patience, &paused);
    if (paused)
        be_patient(remote, AD_PATIENCE_NS);
}

void ad_remote_excuse(struct ad_remote *remote)
{
    remote->last_ping_ns = ad_clock_ns();
    be_patient(remote, AD_PATIENCE_NS);
}

static void send_ping(struct ad_remote *remote, int64_t now)
{
    struct ad_frame frame = {
        .type = AD_FRAME_PING, .session = remote->session, .tag = remote->npings + 1};
    if (ad_wire_message_send(remote->pings, NULL, &frame, NULL, NULL, 0, NULL) != ADAPS_OK)
        return;
    remote->npings++;
    remote->last_ping_ns = now;
    if (remote->timed)
        return;
    remote->timed = remote->npings;
    remote->timed_ns = now;
}

void ad_remote_ping(struct ad_remote *remote)
{
    bool paused;
    int64_t now = ad_clock_ns(), left = ad_deadline_left(&remote->patience, &paused);
    if (remote->lost)
        return;
    if (paused)
        be_patient(remote, AD_WAKE_NS);
    if (remote->heard && !paused && left <= 0) {
        char cause[100];
        snprintf(cause, sizeof cause, "no sign of life for %.1f s",
                 (double)remote->patience.all_ns * 1e-9);
        lose(remote, cause);
    } else if (now - remote->last_ping_ns >= AD_PING_NS) {
        send_ping(remote, now);
    }
}

static void take_pong(struct ad_remote *remote)
{
    const struct ad_frame *frame = &remote->pong.frame;
    ProtobufCMessage *body;
    if (frame->type != AD_FRAME_PONG ||
        ad_wire_message_body(&remote->pong, &adaps__wire__where__descriptor, &body, NULL) !=
            ADAPS_OK)
        return;
    const Adaps__Wire__Where *where = (const Adaps__Wire__Where *)body;
    remote->inference = where->inference;
    remote->step = where->step;
    remote->finished = where->finished;
    int64_t clock_ns = where->clock_ns;
    ad_protobuf_free(body);
    if (remote->timed && frame->tag == remote->timed) {
        int64_t now = ad_clock_ns();
        remote->rtt_ns = now - remote->timed_ns;
        remote->timed = 0;
        if (clock_ns > 0)
            remote->clocks[remote->nclocks++ % AD_CLOCK_KEPT] =
                (struct ad_clock_sample){remote->timed_ns, clock_ns, now};
    }
    remote->heard = true;
    remote->ponged = frame->tag;
    be_patient(remote, AD_PATIENCE_NS);
}

static void take_pongs(struct ad_remote *remote)
{
    for (int i = 0; i < AT_ONCE; i++) {
        enum adaps_status status = ad_wire_message_recv(remote->pings, false, &remote->pong, NULL);
        if (status == ADAPS_OK)
            take_pong(remote);
        else if (status == ADAPS_NO)
            return;
    }
}

/* --- answers --- */

/* What the body and the raw part of an answer may have. */
static void limits_of(const struct ad_remote *remote, int type, size_t *body, size_t *raw)
{
    *raw = type == AD_FRAME_DONE ? remote->most : 0;
    switch (type) {
    case AD_FRAME_WELCOME:
        *body = 64 << 10;
        break;
    case AD_FRAME_ERROR:
    case AD_FRAME_OPENED:
        *body = 8 << 10;
        break;
    case AD_FRAME_MISSING:
    case AD_FRAME_TRACED:
    case AD_FRAME_PROFILED:
        *body = remote->most;
        break;
    case AD_FRAME_DONE:
        *body = remote->done;
        break;
    default:
        *body = 256;
        break;
    }
}

static enum adaps_status check_size(struct ad_remote *remote, struct adaps_error *err)
{
    size_t body, raw;
    limits_of(remote, remote->message.frame.type, &body, &raw);
    size_t has_body = zmq_msg_size(&remote->message.body);
    size_t has_raw = zmq_msg_size(&remote->message.raw);
    if (has_body <= body && has_raw <= raw)
        return ADAPS_OK;
    return ad_error_set(
        err, ADAPS_EAGENT, "it answered %s with %zu and %zu bytes: at most %zu and %zu",
        ad_frame_type_name(remote->message.frame.type), has_body, has_raw, body, raw);
}

/* Inferences may be answered in another order than they were asked for. */
static bool is_awaited(const struct ad_remote *remote, uint32_t tag)
{
    return tag > 0 && tag <= remote->requests && remote->requests - tag < ANSWERS &&
           !ad_remote_answered(remote, tag);
}

enum adaps_status ad_remote_recv(struct ad_remote *remote, struct adaps_error *err)
{
    take_pongs(remote);
    for (int i = 0; i < AT_ONCE; i++) {
        enum adaps_status status =
            ad_wire_message_recv(remote->socket, false, &remote->message, err);
        if (status == ADAPS_NO)
            break;
        if (status == ADAPS_OK)
            status = check_size(remote, err);
        if (status != ADAPS_OK) {
            remote->protocol = remote->message.frame.version;
            return status;
        }
        remote->up = true;
        remote->fd = remote->message.fd;
        const struct ad_frame *frame = &remote->message.frame;
        if (frame->session == remote->session && is_awaited(remote, frame->tag)) {
            remote->answered |= UINT64_C(1) << frame->tag % ANSWERS;
            return ADAPS_OK;
        }
    }
    watch(remote);
    return ADAPS_NO;
}

void ad_remotes_sleep(struct ad_remote *remotes, int n, const struct ad_deadline *deadline)
{
    ad_remotes_sleep_or(remotes, n, deadline, -1);
}

void ad_remotes_sleep_or(struct ad_remote *remotes, int n, const struct ad_deadline *deadline,
                         int fd)
{
    zmq_pollitem_t items[3 * AD_MAX_DEVICES + 1];
    int count = 0;
    if (fd >= 0)
        items[count++] = (zmq_pollitem_t){.fd = fd, .events = ZMQ_POLLIN};
    for (int i = 0; i < n; i++) {
        if (remotes[i].lost || !remotes[i].socket)
            continue;
        items[count++] = (zmq_pollitem_t){.socket = remotes[i].socket, .events = ZMQ_POLLIN};
        items[count++] = (zmq_pollitem_t){.socket = remotes[i].monitor, .events = ZMQ_POLLIN};
        items[count++] = (zmq_pollitem_t){.socket = remotes[i].pings, .events = ZMQ_POLLIN};
    }
    zmq_poll(items, count,
             ad_deadline_sleep_ms(deadline)); /* interrupted: the caller looks again */
}

enum adaps_status ad_remote_error(struct ad_wire_message *message, int *step,
                                  struct adaps_error *err)
{
    ProtobufCMessage *body;
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__error__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Error *error = (const Adaps__Wire__Error *)body;
    status = error->status >= ADAPS_NO && error->status <= ADAPS_EINTERNAL
                 ? (enum adaps_status)error->status
                 : ADAPS_EAGENT;
    if (step)
        *step = error->step;
    ad_error_set(err, status, "%.800s", error->message);
    ad_protobuf_free(body);
    return status;
}

/* The deadline is over. */
static enum adaps_status give_up(const struct ad_remote *remote, struct adaps_error *err)
{
    if (remote->up)
        return ad_error_set(err, ADAPS_EAGENT, "no answer within the deadline");
    if (remote->refused)
        return ad_error_set(err, ADAPS_EAGENT,
                            "it closes every connection: it has no descriptors or memory left, it "
                            "is no adaps agent, or %s",
                            *remote->key ? "it does not accept the keys" : "it wants keys");
    return ad_error_set(err, ADAPS_EAGENT, "cannot connect: does the agent run there?");
}

/* Whether the error is that others come before. */
static uint32_t read_busy(struct ad_wire_message *message)
{
    ProtobufCMessage *body;
    uint32_t busy = 0;
    if (ad_wire_message_body(message, &adaps__wire__error__descriptor, &body, NULL) == ADAPS_OK) {
        busy = ((const Adaps__Wire__Error *)body)->busy;
        ad_protobuf_free(body);
    }
    return busy <= INT32_MAX ? busy : INT32_MAX;
}

/* An answer that has come: whether it is of this type. */
static enum adaps_status check_answer(struct ad_remote *remote, int type, struct adaps_error *err)
{
    int got = remote->message.frame.type;
    remote->busy = got == AD_FRAME_ERROR ? read_busy(&remote->message) : 0;
    if (got == AD_FRAME_ERROR)
        return ad_remote_error(&remote->message, NULL, err);
    if (got != type)
        return ad_error_set(err, ADAPS_EAGENT, "it answered %s instead of %s",
                            ad_frame_type_name(got), ad_frame_type_name(type));
    return ADAPS_OK;
}

/* What has come from an agent, or has happened to it. ADAPS_NO: nothing yet. */
static enum adaps_status look(struct ad_remote *remote, int type, struct adaps_error *err)
{
    enum adaps_status status = ad_remote_recv(remote, err);
    if (status == ADAPS_OK)
        return check_answer(remote, type, err);
    if (status != ADAPS_NO)
        return status;
    ad_remote_ping(remote);
    return remote->lost ? ad_error_set(err, ADAPS_EAGENT, "%s", remote->cause) : ADAPS_NO;
}

/* The time begins anew when more of what was sent has arrived. */
static void look_for_movement(const struct ad_remote *remote, uint64_t *moved,
                              struct ad_deadline *deadline)
{
    uint64_t bytes;
    if (ad_path_acknowledged(remote->fd, &bytes) && bytes > *moved) {
        *moved = bytes;
        ad_deadline_restart(deadline);
    }
}

enum adaps_status ad_remote_await(struct ad_remote *remote, int type, struct ad_deadline *deadline,
                                  enum ad_remote_wait how, struct adaps_error *err)
{
    enum adaps_status status;
    uint64_t moved = 0;
    ad_remote_listen(remote);
    while ((status = look(remote, type, err)) == ADAPS_NO) {
        if (how == AD_WAIT_MOVING)
            look_for_movement(remote, &moved, deadline);
        if (ad_deadline_left(deadline, NULL) == 0) {
            status = give_up(remote, err);
            break;
        }
        ad_remotes_sleep(remote, 1, deadline);
    }
    return status == ADAPS_OK ? status : ad_remote_blame(remote, err);
}

/* One has failed: if another is lost, that is why, and the error becomes its. */
static void find_lost(struct ad_remote *remotes, int n, struct adaps_error *err)
{
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, SETTLE_NS);
    do {
        for (int i = 0; i < n; i++) {
            if (ad_remote_recv(&remotes[i], NULL) == ADAPS_NO)
                ad_remote_ping(&remotes[i]);
            if (!remotes[i].lost)
                continue;
            ad_error_set(err, ADAPS_EAGENT, "%s", remotes[i].cause);
            ad_remote_blame(&remotes[i], err);
            return;
        }
        ad_remotes_sleep(remotes, n, &deadline);
    } while (ad_deadline_left(&deadline, NULL) > 0);
}

/* Looks at all; *left: how many have not answered yet, *late: the first of them. */
static enum adaps_status look_at_all(struct ad_remote *remotes, int n, int type, bool *answered,
                                     ad_remote_take_fn *take, void *self, int *left, int *late,
                                     struct adaps_error *err)
{
    *left = 0;
    for (int i = 0; i < n; i++) {
        struct ad_remote *remote = &remotes[i];
        enum adaps_status status = look(remote, type, err);
        if (status == ADAPS_OK) {
            answered[i] = true;
            status = take ? take(self, remote, err) : ADAPS_OK;
        } else if (status == ADAPS_NO) {
            status = ADAPS_OK;
        } else {
            ad_remote_blame(remote, err);
        }
        if (status != ADAPS_OK)
            return status;
        *late = answered[i] || *left > 0 ? *late : i;
        *left += !answered[i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_remotes_await(struct ad_remote *remotes, int n, int type,
                                   struct ad_deadline *deadline, ad_remote_take_fn *take,
                                   void *self, struct adaps_error *err)
{
    bool answered[AD_MAX_DEVICES] = {false};
    int left = n, late = 0;
    for (int i = 0; i < n; i++)
        ad_remote_listen(&remotes[i]);
    for (;;) {
        enum adaps_status status =
            look_at_all(remotes, n, type, answered, take, self, &left, &late, err);
        if (status == ADAPS_EAGENT && err && type == AD_FRAME_READY)
            find_lost(remotes, n, err);
        if (status != ADAPS_OK || left == 0)
            return status;
        if (ad_deadline_left(deadline, NULL) == 0) {
            give_up(&remotes[late], err);
            return ad_remote_blame(&remotes[late], err);
        }
        ad_remotes_sleep(remotes, n, deadline);
    }
}

/* Until a ping that is timed is answered. */
static enum adaps_status await_pong(struct ad_remote *remote, struct ad_deadline *deadline,
                                    struct adaps_error *err)
{
    ad_remote_listen(remote);
    while (remote->rtt_ns == 0 && !remote->lost) {
        enum adaps_status status = ad_remote_recv(remote, err);
        if (status == ADAPS_EAGENT || status == ADAPS_EINTERNAL)
            return ad_remote_blame(remote, err);
        ad_remote_ping(remote);
        if (ad_deadline_left(deadline, NULL) == 0) {
            ad_error_set(err, ADAPS_EAGENT, "it does not answer pings");
            return ad_remote_blame(remote, err);
        }
        if (remote->rtt_ns == 0)
            ad_remotes_sleep(remote, 1, deadline);
    }
    if (!remote->lost)
        return ADAPS_OK;
    ad_error_set(err, ADAPS_EAGENT, "%s", remote->cause);
    return ad_remote_blame(remote, err);
}

enum adaps_status ad_remote_time(struct ad_remote *remote, struct ad_deadline *deadline,
                                 int64_t *rtt_ns, struct adaps_error *err)
{
    remote->rtt_ns = remote->last_ping_ns = 0; /* now, by a new ping */
    remote->timed = 0;
    enum adaps_status status = await_pong(remote, deadline, err);
    *rtt_ns = remote->rtt_ns;
    return status;
}

enum adaps_status ad_remote_hello(struct ad_remote *remote, struct ad_deadline *deadline,
                                  Adaps__Wire__Welcome **out, struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_deadline soon;
    int64_t left = ad_deadline_left(deadline, NULL);
    ad_deadline_set(&soon, left < CONNECT_NS ? left : CONNECT_NS);
    Adaps__Wire__Hello hello = ADAPS__WIRE__HELLO__INIT;
    hello.health = true;
    enum adaps_status status = ad_remote_send(remote, AD_FRAME_HELLO, 0,
                                              remote->health ? &hello.base : NULL, NULL, 0, err);
    if (status == ADAPS_OK)
        status = ad_remote_await(remote, AD_FRAME_WELCOME, &soon, AD_WAIT_ANSWER, err);
    if (status != ADAPS_OK)
        return status;
    remote->welcomed_ns = ad_clock_read_ns(CLOCK_REALTIME);
    status = ad_wire_message_body(&remote->message, &adaps__wire__welcome__descriptor, &body, err);
    if (status != ADAPS_OK)
        return ad_remote_blame(remote, err);
    status = await_pong(remote, &soon, err);
    if (status != ADAPS_OK) {
        ad_protobuf_free(body);
        return status;
    }
    *out = (Adaps__Wire__Welcome *)body;
    remote->instance = (*out)->instance;
    return ADAPS_OK;
}

enum adaps_status ad_remote_greet(struct ad_remote *remote, const struct ad_device *device,
                                  const struct ad_remote_options *options,
                                  struct ad_deadline *deadline, Adaps__Wire__Welcome **out,
                                  struct adaps_error *err)
{
    struct ad_deadline again;
    struct adaps_error ignored;
    char address[AD_FOUND_BYTES];
    int index = remote->device;
    enum adaps_status status = ad_remote_hello(remote, deadline, out, err);
    if (status != ADAPS_EAGENT || remote->up || !*remote->key ||
        !ad_found_look(remote->key, address) || strcmp(address, remote->address) == 0)
        return status;
    ad_remote_fini(remote);
    ad_deadline_set(&again, CONNECT_NS);
    status = ad_remote_init(remote, index, device, options, &again, &ignored);
    return status == ADAPS_OK ? ad_remote_hello(remote, &again, out, err) : ADAPS_EAGENT;
}
