/* Control messages: head (frame.h), protobuf body (wire.proto), and raw bytes in parts of
 * AD_WIRE_RAW_PART but for the last; in front of them, on the agent's ROUTER socket, the routing id
 * of the controller. */
#ifndef AD_WIRE_WIRE_H
#define AD_WIRE_WIRE_H

#include "base/digest.h"
#include "base/protobuf.h"
#include "wire/frame.h"
#include "wire/keys.h"
#include "wire/wire.pb-c.h"

#include <zmq.h>

#define AD_WIRE_MAX_BODY ((size_t)4 << 20)
#define AD_WIRE_RAW_PART ((size_t)1 << 20)

/* What one PROFILE may ask for. */
#define AD_PROFILE_MAX_TASKS 20000
#define AD_PROFILE_MAX_S 120

/* Initialised by ad_wire_message_init or a successful receive; empty parts have size 0. */
struct ad_wire_message {
    zmq_msg_t route; /* ROUTER sockets only */
    struct ad_frame frame;
    zmq_msg_t body, raw;
    int fd;                  /* of the connection it came by, -1 when unknown */
    char user[AD_KEY_BYTES]; /* the public key of the sender, by zap.h; "" without keys */
    size_t most; /* raw bytes that may come; 0: AD_CONTROL_MAX_BYTES. Receiving leaves it alone */
};

void ad_wire_message_init(struct ad_wire_message *message);
void ad_wire_message_fini(struct ad_wire_message *message);

/* Sends head, body (NULL = empty) and raw (NULL = none; else size bytes, copied). route is NULL on
 * DEALER sockets. frame's length and checksum are filled in. Blocks never. ADAPS_EINTERNAL
 * without memory; ADAPS_EAGENT when the receiver is gone, or does not read. */
AD_MUST_CHECK enum adaps_status ad_wire_message_send(void *socket, zmq_msg_t *route,
                                                     struct ad_frame *frame,
                                                     const ProtobufCMessage *body, const void *raw,
                                                     size_t raw_size, struct adaps_error *err);

/* The same with raw bytes that are already a ZeroMQ message; it is consumed, also on failure. */
AD_MUST_CHECK enum adaps_status ad_wire_message_send_raw(void *socket, zmq_msg_t *route,
                                                         struct ad_frame *frame,
                                                         const ProtobufCMessage *body,
                                                         zmq_msg_t *raw, struct adaps_error *err);

/* Takes one message without waiting. `out` must be initialised; what it held is released. ADAPS_NO:
 * none there. ADAPS_EAGENT: one was there and is not a valid control message (number and sizes of
 * parts, head, length, checksum); it is consumed, and out->route is set when the socket is a
 * ROUTER. */
AD_MUST_CHECK enum adaps_status ad_wire_message_recv(void *socket, bool router,
                                                     struct ad_wire_message *out,
                                                     struct adaps_error *err);

/* The body as a protobuf message, or ADAPS_EAGENT naming the frame type. Free with
 * ad_protobuf_free(). */
AD_MUST_CHECK enum adaps_status ad_wire_message_body(struct ad_wire_message *message,
                                                     const ProtobufCMessageDescriptor *type,
                                                     ProtobufCMessage **out,
                                                     struct adaps_error *err);

/* A digest out of a bytes field; false when it has another size. */
bool ad_wire_digest(ProtobufCBinaryData data, struct ad_digest *out);

#endif
