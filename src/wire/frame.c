#include "wire/frame.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

static const char magic[4] = {'A', 'D', 'P', 'S'};

static void put(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *in, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)in[i] << (8 * i);
    return value;
}

void ad_frame_encode(const struct ad_frame *frame, uint8_t out[AD_FRAME_BYTES])
{
    memcpy(out, magic, sizeof magic);
    put(out + 4, AD_FRAME_VERSION, 2);
    put(out + 6, frame->type, 2);
    put(out + 8, frame->session, 8);
    put(out + 16, frame->inference, 4);
    put(out + 20, frame->step, 4);
    put(out + 24, frame->tag, 4);
    put(out + 28, 0, 4);
    put(out + 32, frame->length, 8);
    put(out + 40, frame->checksum, 8);
}

enum adaps_status ad_frame_decode(const void *bytes, size_t size, struct ad_frame *out,
                                  struct adaps_error *err)
{
    const uint8_t *in = bytes;
    if (size != AD_FRAME_BYTES)
        return ad_error_set(err, ADAPS_EAGENT, "a frame's head has %zu bytes instead of %d", size,
                            AD_FRAME_BYTES);
    if (memcmp(in, magic, sizeof magic) != 0)
        return ad_error_set(err, ADAPS_EAGENT, "a frame without the magic bytes of adaps");
    uint64_t version = get(in + 4, 2);
    out->version = (uint16_t)version;
    if (version != AD_FRAME_VERSION)
        return ad_error_set(err, ADAPS_EAGENT,
                            "the other side speaks protocol version %" PRIu64 ", this one %d",
                            version, AD_FRAME_VERSION);
    out->type = (uint16_t)get(in + 6, 2);
    if (out->type == 0 || out->type >= AD_FRAME_TYPES)
        return ad_error_set(err, ADAPS_EAGENT, "a frame of unknown type %u", out->type);
    if (get(in + 28, 4) != 0)
        return ad_error_set(err, ADAPS_EAGENT, "a frame whose reserved bytes are not zero");
    out->session = get(in + 8, 8);
    out->inference = (uint32_t)get(in + 16, 4);
    out->step = (uint32_t)get(in + 20, 4);
    out->tag = (uint32_t)get(in + 24, 4);
    out->length = get(in + 32, 8);
    out->checksum = get(in + 40, 8);
    return ADAPS_OK;
}

uint64_t ad_frame_checksum(uint64_t seed, const void *data, size_t size)
{
    return size ? XXH3_64bits_withSeed(data, size, seed) : seed;
}

enum adaps_status ad_frame_check(const struct ad_frame *frame, uint64_t length, uint64_t checksum,
                                 struct adaps_error *err)
{
    if (frame->length != length)
        return ad_error_set(err, ADAPS_EAGENT,
                            "a %s frame promises %" PRIu64 " bytes and brings %" PRIu64,
                            ad_frame_type_name(frame->type), frame->length, length);
    if (frame->checksum != checksum)
        return ad_error_set(err, ADAPS_EAGENT,
                            "the checksum of a %s frame of %" PRIu64 " bytes is %016" PRIx64
                            " instead of %016" PRIx64,
                            ad_frame_type_name(frame->type), length, checksum, frame->checksum);
    return ADAPS_OK;
}

enum adaps_status ad_frame_match(const struct ad_frame *frame, const struct ad_frame *expected,
                                 struct adaps_error *err)
{
    if (frame->session != expected->session)
        return ADAPS_NO;
    if (frame->type != expected->type)
        return ad_error_set(err, ADAPS_EAGENT, "a %s frame where %s was expected",
                            ad_frame_type_name(frame->type), ad_frame_type_name(expected->type));
    int32_t ahead = (int32_t)(frame->inference - expected->inference);
    if (ahead < 0)
        return ADAPS_NO;
    if (ahead > 0)
        return ad_error_set(err, ADAPS_EAGENT,
                            "a frame of inference %" PRIu32 " where %" PRIu32 " was expected",
                            frame->inference, expected->inference);
    if (frame->tag != expected->tag)
        return ad_error_set(err, ADAPS_EAGENT,
                            "a frame with tag %" PRIu32 " where %" PRIu32 " was expected",
                            frame->tag, expected->tag);
    if (frame->length != expected->length)
        return ad_error_set(err, ADAPS_EAGENT,
                            "the message with tag %" PRIu32 " has %" PRIu64
                            " bytes instead of %" PRIu64,
                            frame->tag, frame->length, expected->length);
    return ADAPS_OK;
}

const char *ad_frame_type_name(int type)
{
    static const char *const names[AD_FRAME_TYPES] = {
        NULL,      "HELLO",   "WELCOME",  "HAVE",    "MISSING", "BLOB",  "STORED", "PLAN",
        "PLANNED", "OPEN",    "OPENED",   "CONNECT", "READY",   "RUN",   "DONE",   "ABORT",
        "ABORTED", "CLOSE",   "CLOSED",   "PING",    "PONG",    "CLOCK", "TIME",   "TRACE",
        "TRACED",  "PROFILE", "PROFILED", "ERROR",   "JOIN",    "DATA",
    };
    return type > 0 && type < AD_FRAME_TYPES ? names[type] : "?";
}
