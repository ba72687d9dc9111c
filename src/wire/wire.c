#include "wire/wire.h"
#include "base/mem.h"
#include "wire/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a body may take in memory when it is parsed. */
#define BODY_FACTOR 12
#define BODY_BASE ((size_t)1 << 20)

void ad_wire_message_init(struct ad_wire_message *message)
{
    memset(message, 0, sizeof *message);
    message->fd = -1;
    zmq_msg_init(&message->route);
    zmq_msg_init(&message->body);
    zmq_msg_init(&message->raw);
}

void ad_wire_message_fini(struct ad_wire_message *message)
{
    zmq_msg_close(&message->route);
    zmq_msg_close(&message->body);
    zmq_msg_close(&message->raw);
}

static enum adaps_status no_memory(struct adaps_error *err, size_t size)
{
    return ad_error_memory(err, "message", size);
}

/* By errno. */
static enum adaps_status not_sent(struct adaps_error *err)
{
    if (errno == EAGAIN || errno == EHOSTUNREACH)
        return ad_error_set(err, ADAPS_EAGENT, "the other side is gone, or does not read");
    return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: send: %s", zmq_strerror(errno));
}

/* Sends a part; *part is consumed. */
static bool send_part(void *socket, zmq_msg_t *part, bool more)
{
    while (zmq_msg_send(part, socket, (more ? ZMQ_SNDMORE : 0) | ZMQ_DONTWAIT) < 0)
        if (errno != EINTR) {
            zmq_msg_close(part);
            return false;
        }
    return true;
}

/* Sends raw bytes in parts; the last one is the message's. */
static bool send_pieces(void *socket, const uint8_t *raw, size_t size)
{
    for (size_t n; size > 0; raw += n, size -= n) {
        zmq_msg_t part;
        n = size < AD_WIRE_RAW_PART ? size : AD_WIRE_RAW_PART;
        if (zmq_msg_init_size(&part, n) != 0)
            return false;
        memcpy(zmq_msg_data(&part), raw, n);
        if (!send_part(socket, &part, size > n))
            return false;
    }
    return true;
}

/* What goes before raw bytes of which the checksum is to be continued. */
static enum adaps_status send_front(void *socket, zmq_msg_t *route, struct ad_frame *frame,
                                    const ProtobufCMessage *body, const void *raw, size_t raw_size,
                                    struct adaps_error *err)
{
    zmq_msg_t id, head, part;
    size_t body_size = body ? protobuf_c_message_get_packed_size(body) : 0;
    if (body_size > AD_WIRE_MAX_BODY || zmq_msg_init_size(&part, body_size) != 0)
        return no_memory(err, body_size);
    if (body)
        protobuf_c_message_pack(body, zmq_msg_data(&part));
    frame->length = body_size + raw_size;
    frame->checksum = ad_frame_checksum(0, zmq_msg_data(&part), body_size);
    frame->checksum = ad_frame_checksum(frame->checksum, raw, raw_size);

    zmq_msg_init(&id);
    bool have_head = zmq_msg_init_size(&head, AD_FRAME_BYTES) == 0;
    bool good = have_head && (!route || zmq_msg_copy(&id, route) == 0);
    if (have_head)
        ad_frame_encode(frame, zmq_msg_data(&head));
    good = good && (!route || send_part(socket, &id, true));
    if (good && send_part(socket, &head, true) && send_part(socket, &part, raw_size > 0))
        return ADAPS_OK;
    int reason = errno;
    zmq_msg_close(&id);
    if (have_head)
        zmq_msg_close(&head);
    zmq_msg_close(&part);
    errno = reason;
    return not_sent(err);
}

enum adaps_status ad_wire_message_send_raw(void *socket, zmq_msg_t *route, struct ad_frame *frame,
                                           const ProtobufCMessage *body, zmq_msg_t *raw,
                                           struct adaps_error *err)
{
    size_t size = zmq_msg_size(raw);
    enum adaps_status status = send_front(socket, route, frame, body, zmq_msg_data(raw), size, err);
    if (status == ADAPS_OK && size > 0 &&
        !(size <= AD_WIRE_RAW_PART ? send_part(socket, raw, false)
                                   : send_pieces(socket, zmq_msg_data(raw), size)))
        status = not_sent(err);
    zmq_msg_close(raw);
    return status;
}

enum adaps_status ad_wire_message_send(void *socket, zmq_msg_t *route, struct ad_frame *frame,
                                       const ProtobufCMessage *body, const void *raw,
                                       size_t raw_size, struct adaps_error *err)
{
    enum adaps_status status = send_front(socket, route, frame, body, raw, raw_size, err);
    if (status == ADAPS_OK && !send_pieces(socket, raw, raw_size))
        status = not_sent(err);
    return status;
}

/* Receives a part into *part (initialised); *more says whether another follows. */
static bool recv_part(void *socket, zmq_msg_t *part, int flags, bool *more)
{
    int n;
    do
        n = zmq_msg_recv(part, socket, flags);
    while (n < 0 && errno == EINTR);
    *more = n >= 0 && zmq_msg_more(part);
    return n >= 0;
}

static enum adaps_status not_received(struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: receive: %s", zmq_strerror(errno));
}

/* Puts the parts that follow `part` into out->raw, which has the promised size; *size is what they
 * have. */
static bool gather(void *socket, zmq_msg_t *part, struct ad_wire_message *out, uint64_t *size)
{
    uint64_t promised = *size;
    bool more = true;
    for (*size = 0;;) {
        size_t n = zmq_msg_size(part);
        if (*size <= promised && n <= promised - *size)
            memcpy((uint8_t *)zmq_msg_data(&out->raw) + *size, zmq_msg_data(part), n);
        *size += n;
        if (!more)
            return true;
        if (!recv_part(socket, part, 0, &more))
            return false;
    }
}

/* Receives the raw parts into out->raw; *size is what was promised, and becomes what they have. */
static enum adaps_status recv_raw(void *socket, struct ad_wire_message *out, uint64_t *size,
                                  struct adaps_error *err)
{
    zmq_msg_t part;
    bool more = true;
    if (!recv_part(socket, &out->raw, 0, &more))
        return not_received(err);
    if (!more) {
        *size = zmq_msg_size(&out->raw);
        return ADAPS_OK;
    }
    zmq_msg_init(&part);
    zmq_msg_move(&part, &out->raw);
    enum adaps_status status = ADAPS_OK;
    size_t most = out->most ? out->most : AD_CONTROL_MAX_BYTES;
    if (*size > most || zmq_msg_init_size(&out->raw, (size_t)*size) != 0) {
        zmq_msg_init(&out->raw);
        ad_socket_skip(socket);
        status =
            *size > most
                ? ad_error_set(err, ADAPS_EAGENT, "a %s message of %ju bytes; at most %zu may come",
                               ad_frame_type_name(out->frame.type), (uintmax_t)*size, most)
                : no_memory(err, (size_t)*size);
    } else if (!gather(socket, &part, out, size)) {
        status = not_received(err);
    }
    zmq_msg_close(&part);
    return status;
}

static enum adaps_status recv_parts(void *socket, zmq_msg_t *head, struct ad_wire_message *out,
                                    bool more, struct adaps_error *err)
{
    if (!more)
        return ad_error_set(err, ADAPS_EAGENT, "a message without a body");
    if (!recv_part(socket, &out->body, 0, &more))
        return not_received(err);
    const char *user = zmq_msg_gets(head, "User-Id");
    snprintf(out->user, sizeof out->user, "%s", user ? user : "");
    out->fd = zmq_msg_get(head, ZMQ_SRCFD);
    uint64_t body_size = zmq_msg_size(&out->body), raw_size = 0;
    enum adaps_status status =
        ad_frame_decode(zmq_msg_data(head), zmq_msg_size(head), &out->frame, err);
    if (status == ADAPS_OK && more) {
        raw_size = out->frame.length > body_size ? out->frame.length - body_size : 0;
        status = recv_raw(socket, out, &raw_size, err);
    } else if (more) {
        ad_socket_skip(socket);
    }
    if (status != ADAPS_OK)
        return status;
    if (body_size + raw_size != out->frame.length)
        return ad_frame_check(&out->frame, body_size + raw_size, 0, err);
    uint64_t sum = ad_frame_checksum(0, zmq_msg_data(&out->body), (size_t)body_size);
    sum = ad_frame_checksum(sum, zmq_msg_data(&out->raw), (size_t)raw_size);
    return ad_frame_check(&out->frame, body_size + raw_size, sum, err);
}

enum adaps_status ad_wire_message_recv(void *socket, bool router, struct ad_wire_message *out,
                                       struct adaps_error *err)
{
    zmq_msg_t head;
    bool more = true;
    enum adaps_status status;
    size_t most = out->most;
    ad_wire_message_fini(out);
    ad_wire_message_init(out);
    out->most = most;
    zmq_msg_init(&head);
    if (router && !recv_part(socket, &out->route, ZMQ_DONTWAIT, &more))
        status = ADAPS_NO;
    else if (!more)
        status = ad_error_set(err, ADAPS_EAGENT, "an empty message");
    else if (!recv_part(socket, &head, router ? 0 : ZMQ_DONTWAIT, &more))
        status = ADAPS_NO;
    else
        status = recv_parts(socket, &head, out, more, err);
    zmq_msg_close(&head);
    return status;
}

enum adaps_status ad_wire_message_body(struct ad_wire_message *message,
                                       const ProtobufCMessageDescriptor *type,
                                       ProtobufCMessage **out, struct adaps_error *err)
{
    zmq_msg_t *body = &message->body;
    size_t size = zmq_msg_size(body);
    enum ad_protobuf_result result = ad_protobuf_unpack(
        type, zmq_msg_data(body), size, ad_protobuf_budget(size, BODY_FACTOR, BODY_BASE), out);
    if (result == AD_PROTOBUF_NO_MEMORY)
        return ad_error_memory(err, "message", size);
    if (result != AD_PROTOBUF_OK)
        return ad_error_set(err, ADAPS_EAGENT, "the body of a %s message is malformed",
                            ad_frame_type_name(message->frame.type));
    return ADAPS_OK;
}

bool ad_wire_digest(ProtobufCBinaryData data, struct ad_digest *out)
{
    if (data.len != AD_DIGEST_BYTES)
        return false;
    memcpy(out->bytes, data.data, AD_DIGEST_BYTES);
    return true;
}
