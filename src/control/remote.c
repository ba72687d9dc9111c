#include "control/remote.h"
#include "base/clock.h"
#include "wire/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How long a connection may take: an agent that runs answers at once. */
#define ANSWERS 64 /* requests of which it is known whether they were answered */
#define CONNECT_NS ((int64_t)5 * 1000000000)

int64_t ad_deadline_ns(double deadline_s)
{
    if (!(deadline_s > 0))
        deadline_s = 30;
    return (int64_t)((deadline_s < 1e6 ? deadline_s : 1e6) * 1e9);
}

enum adaps_status ad_remote_blame(const struct ad_remote *remote, struct adaps_error *err)
{
    return ad_error_prefix(err, "agent '%s' (%s): ", remote->name, remote->address);
}

enum adaps_status ad_remote_init(struct ad_remote *remote, void *context, int index,
                                 const struct ad_device *device, const struct ad_keys *keys,
                                 struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    memset(remote, 0, sizeof *remote);
    remote->device = index;
    remote->patience_ns = AD_PATIENCE_NS;
    snprintf(remote->name, sizeof remote->name, "%s", device->name);
    snprintf(remote->address, sizeof remote->address, "%s", device->address);
    snprintf(remote->key, sizeof remote->key, "%s", device->key);
    ad_wire_message_init(&remote->message);
    if (!*device->address)
        return ad_error_set(err, ADAPS_EUSAGE, "device '%s' has no address in the devices file",
                            device->name);
    enum adaps_status status = ad_endpoint_parse(device->address, &endpoint, err);
    if (status == ADAPS_OK && endpoint.port == 0)
        status = ad_error_set(err, ADAPS_EUSAGE, "'%s' has no port to connect to", device->address);
    if (status == ADAPS_OK && *device->key && !ad_key_valid(device->key))
        status = ad_error_set(err, ADAPS_EUSAGE, "its key is not 40 characters of Z85");
    if (status == ADAPS_OK && *device->key && !keys->present)
        status = ad_error_set(err, ADAPS_EUSAGE,
                              "it has a key, and there is none here to show it: make one with "
                              "'adaps keygen' and add it to the agent's --allow file");
    if (status == ADAPS_OK)
        status = ad_socket_new(context, ZMQ_DEALER, AD_CONTROL_PART_BYTES, &remote->socket, err);
    if (status == ADAPS_OK && *device->key)
        status = ad_socket_trust(remote->socket, keys, device->key, err);
    if (status == ADAPS_OK)
        status = ad_socket_monitor(context, remote->socket, &remote->monitor, err);
    if (status == ADAPS_OK)
        status = ad_socket_connect(remote->socket, device->address, err);
    if (status != ADAPS_OK)
        ad_remote_blame(remote, err);
    return status;
}

void ad_remote_fini(struct ad_remote *remote)
{
    ad_wire_message_fini(&remote->message);
    ad_socket_close_monitored(remote->socket, remote->monitor, 0);
    remote->socket = remote->monitor = NULL;
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
            lose(remote, "it does not admit this side's key (its --allow file)");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
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

void ad_remote_ping(struct ad_remote *remote, int64_t now)
{
    if (remote->lost)
        return;
    if (remote->ping_ns && now - remote->ping_ns > remote->patience_ns) {
        char cause[100];
        snprintf(cause, sizeof cause, "no sign of life for %.1f s",
                 (double)(now - remote->ping_ns) * 1e-9);
        lose(remote, cause);
    } else if (now - remote->last_ping_ns >= AD_PING_NS) {
        struct ad_frame frame = {.type = AD_FRAME_PING, .session = remote->session};
        if (ad_wire_message_send(remote->socket, NULL, &frame, NULL, NULL, 0, NULL) != ADAPS_OK)
            return;
        remote->last_ping_ns = now;
        if (!remote->ping_ns)
            remote->ping_ns = now;
    }
}

static void take_pong(struct ad_remote *remote)
{
    ProtobufCMessage *body;
    remote->ping_ns = 0;
    if (ad_wire_message_body(&remote->message, &adaps__wire__where__descriptor, &body, NULL) !=
        ADAPS_OK)
        return;
    const Adaps__Wire__Where *where = (const Adaps__Wire__Where *)body;
    remote->inference = where->inference;
    remote->step = where->step;
    remote->finished = where->finished;
    ad_protobuf_free(body);
}

/* Inferences may be answered in another order than they were asked for. */
static bool is_awaited(const struct ad_remote *remote, uint32_t tag)
{
    return tag > 0 && tag <= remote->requests && remote->requests - tag < ANSWERS &&
           !ad_remote_answered(remote, tag);
}

enum adaps_status ad_remote_recv(struct ad_remote *remote, struct adaps_error *err)
{
    for (;;) {
        enum adaps_status status =
            ad_wire_message_recv(remote->socket, false, &remote->message, err);
        if (status == ADAPS_NO) {
            watch(remote);
            return ADAPS_NO;
        }
        if (status != ADAPS_OK)
            return status;
        remote->up = true;
        const struct ad_frame *frame = &remote->message.frame;
        if (frame->type == AD_FRAME_PONG) {
            take_pong(remote);
        } else if (frame->session == remote->session && is_awaited(remote, frame->tag)) {
            remote->answered |= UINT64_C(1) << frame->tag % ANSWERS;
            return ADAPS_OK;
        }
    }
}

void ad_remotes_sleep(struct ad_remote *remotes, int n, int64_t until)
{
    zmq_pollitem_t items[2 * AD_MAX_DEVICES];
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (remotes[i].lost || !remotes[i].socket)
            continue;
        items[count++] = (zmq_pollitem_t){.socket = remotes[i].socket, .events = ZMQ_POLLIN};
        items[count++] = (zmq_pollitem_t){.socket = remotes[i].monitor, .events = ZMQ_POLLIN};
    }
    int64_t left = until - ad_clock_ns();
    long ms = left <= 0 ? 0 : (long)((left + 999999) / 1000000);
    zmq_poll(items, count, ms); /* interrupted: the caller looks again */
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
        return ad_error_set(err, ADAPS_EAGENT, "it closes every connection: %s",
                            keys_refused(remote));
    return ad_error_set(err, ADAPS_EAGENT, "cannot connect: does the agent run there?");
}

enum adaps_status ad_remote_await(struct ad_remote *remote, int type, int64_t deadline,
                                  enum ad_remote_wait how, struct adaps_error *err)
{
    enum adaps_status status;
    remote->ping_ns = 0;
    for (;;) {
        status = ad_remote_recv(remote, err);
        if (status != ADAPS_NO)
            break;
        int64_t now = ad_clock_ns();
        if (how == AD_WAIT_PING)
            ad_remote_ping(remote, now);
        if (remote->lost) {
            status = ad_error_set(err, ADAPS_EAGENT, "%s", remote->cause);
            break;
        }
        if (now >= deadline) {
            status = give_up(remote, err);
            break;
        }
        int64_t wake =
            how == AD_WAIT_PING && now + AD_PING_NS < deadline ? now + AD_PING_NS : deadline;
        ad_remotes_sleep(remote, 1, wake);
    }
    remote->ping_ns = 0;
    if (status == ADAPS_OK && remote->message.frame.type == AD_FRAME_ERROR)
        status = ad_remote_error(&remote->message, NULL, err);
    else if (status == ADAPS_OK && remote->message.frame.type != type)
        status =
            ad_error_set(err, ADAPS_EAGENT, "it answered %s instead of %s",
                         ad_frame_type_name(remote->message.frame.type), ad_frame_type_name(type));
    if (status != ADAPS_OK)
        ad_remote_blame(remote, err);
    return status;
}

enum adaps_status ad_remote_hello(struct ad_remote *remote, int64_t deadline,
                                  Adaps__Wire__Welcome **out, struct adaps_error *err)
{
    ProtobufCMessage *body;
    int64_t soon = ad_clock_ns() + CONNECT_NS;
    enum adaps_status status = ad_remote_send(remote, AD_FRAME_HELLO, 0, NULL, NULL, 0, err);
    if (status == ADAPS_OK)
        status = ad_remote_await(remote, AD_FRAME_WELCOME, soon < deadline ? soon : deadline,
                                 AD_WAIT_PLAIN, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_wire_message_body(&remote->message, &adaps__wire__welcome__descriptor, &body, err);
    if (status != ADAPS_OK)
        return ad_remote_blame(remote, err);
    *out = (Adaps__Wire__Welcome *)body;
    return ADAPS_OK;
}
