/* For the targets of control messages: what a ZeroMQ message with this body says to its reader. */
#ifndef AD_FUZZ_BODY_H
#define AD_FUZZ_BODY_H

#include "fuzz.h"
#include "wire/wire.h"

/* A message of this frame type; free it with ad_wire_message_fini(). */
static inline void body_message(int type, const void *data, size_t size,
                                struct ad_wire_message *out)
{
    ad_wire_message_init(out);
    out->frame.type = (uint16_t)type;
    FUZZ_CHECK(zmq_msg_init_size(&out->body, size) == 0, "no memory for %zu bytes", size);
    if (size)
        memcpy(zmq_msg_data(&out->body), data, size);
}

/* The body, as the side that awaits this frame type reads it; NULL when it refuses. Free it with
 * ad_protobuf_free(). */
static inline ProtobufCMessage *body_read(int type, const ProtobufCMessageDescriptor *descriptor,
                                          const void *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_wire_message message;
    ProtobufCMessage *body = NULL;
    body_message(type, data, size, &message);
    enum adaps_status status = ad_wire_message_body(&message, descriptor, &body, &err);
    ad_wire_message_fini(&message);
    fuzz_check_answer(status, ADAPS_EAGENT, &err);
    return status == ADAPS_OK ? body : NULL;
}

#endif
