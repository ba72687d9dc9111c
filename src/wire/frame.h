/* The head of every message between controllers and agents and between agents: 48 bytes,
 * little-endian, encoded by hand, the same on every machine.
 *
 *    0  magic "ADPS"      4  version u16      6  type u16
 *    8  session u64      16  inference u32   20  step u32
 *   24  tag u32          28  reserved u32    32  payload length u64
 *   40  XXH3-64 of the payload u64
 *
 * The payload is what follows in the same ZeroMQ message: on control connections a protobuf part
 * (wire.proto) and maybe raw parts (wire.h), between agents the rows of a value (float32). */
#ifndef AD_WIRE_FRAME_H
#define AD_WIRE_FRAME_H

#include "base/error.h"

#define AD_FRAME_BYTES 48
#define AD_FRAME_VERSION 6
#define AD_FLIGHTS_MOST 32 /* inferences of a session at a time */

/* Requests of the controller and their answers, in pairs; ERROR answers any of them. */
enum ad_frame_type {
    AD_FRAME_HELLO = 1,
    AD_FRAME_WELCOME,
    AD_FRAME_HAVE,
    AD_FRAME_MISSING,
    AD_FRAME_BLOB,
    AD_FRAME_STORED,
    AD_FRAME_PLAN,
    AD_FRAME_PLANNED,
    AD_FRAME_OPEN,
    AD_FRAME_OPENED,
    AD_FRAME_CONNECT,
    AD_FRAME_READY,
    AD_FRAME_RUN,
    AD_FRAME_DONE,
    AD_FRAME_ABORT,
    AD_FRAME_ABORTED,
    AD_FRAME_CLOSE,
    AD_FRAME_CLOSED,
    AD_FRAME_PING,
    AD_FRAME_PONG,
    AD_FRAME_CLOCK,
    AD_FRAME_TIME,
    AD_FRAME_TRACE,
    AD_FRAME_TRACED,
    AD_FRAME_PROFILE,
    AD_FRAME_PROFILED,
    AD_FRAME_ERROR,
    AD_FRAME_JOIN, /* between agents: the first message each way */
    AD_FRAME_DATA, /* between agents: rows of a value */
    AD_FRAME_TYPES
};

struct ad_frame {
    uint16_t version; /* of the sender; set by decoding alone, also when that fails for it */
    uint16_t type;
    uint64_t session; /* random; 0 outside of sessions */
    uint32_t inference, step;
    uint32_t tag;    /* DATA: the plan's; control: number of the request, repeated in its answer */
    uint64_t length; /* bytes of payload */
    uint64_t checksum;
};

void ad_frame_encode(const struct ad_frame *frame, uint8_t out[AD_FRAME_BYTES]);

/* Checks size, magic, version, type and the reserved bytes. ADAPS_EAGENT says which is wrong. */
AD_MUST_CHECK enum adaps_status ad_frame_decode(const void *bytes, size_t size,
                                                struct ad_frame *out, struct adaps_error *err);

/* XXH3-64; the checksum of several parts is that of the last, seeded with that of those before. An
 * absent payload has checksum 0. */
uint64_t ad_frame_checksum(uint64_t seed, const void *data, size_t size);

/* What was received against what the head promised. ADAPS_EAGENT names length or checksum. */
AD_MUST_CHECK enum adaps_status ad_frame_check(const struct ad_frame *frame, uint64_t length,
                                               uint64_t checksum, struct adaps_error *err);

/* A DATA head against the message that the receiver waits for (session, inference, tag, length).
 * ADAPS_NO: a left-over of an earlier session or inference, to be dropped with its payload.
 * ADAPS_EAGENT names the field, both values. */
AD_MUST_CHECK enum adaps_status ad_frame_match(const struct ad_frame *frame,
                                               const struct ad_frame *expected,
                                               struct adaps_error *err);

/* "RUN", "DATA", ...; "?" for what is none. */
const char *ad_frame_type_name(int type);

#endif
