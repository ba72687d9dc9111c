/* One pass over the wire format. What is read is copied; a field that is to be left out is cut off
 * again, and the lengths of the messages around it are written anew into the room of the old ones
 * (a varint may be longer than it need be). */
#include "onnx/skeleton.h"
#include "base/mem.h"

#include <string.h>

#define MAX_NESTED_GRAPHS 16
#define BUFFER_BYTES ((size_t)256 << 10)
#define MAX_VARINT 10

#define RAW_DATA 9 /* fields of TensorProto */
#define STORED 1000
#define TENSOR_OF_ATTRIBUTE 5

enum message { MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, OTHER };

/* The message that a field of a message holds. */
static enum message inside(enum message message, uint64_t field)
{
    switch (message) {
    case MODEL:
        return field == 7 ? GRAPH : OTHER;
    case GRAPH:
        return field == 1 ? NODE : field == 5 ? TENSOR : OTHER;
    case NODE:
        return field == 5 ? ATTRIBUTE : OTHER;
    case ATTRIBUTE:
        return field == TENSOR_OF_ATTRIBUTE ? TENSOR : field == 6 ? GRAPH : OTHER;
    default:
        return OTHER;
    }
}

struct scan {
    const struct ad_onnx_file *file;
    struct adaps_error *err;
    uint8_t *buffer; /* bytes [at, filled) of it are next */
    size_t at, filled;
    uint64_t position, end; /* of the next byte, of the file */
    struct ad_digester digester;
    struct ad_onnx_skeleton *out;
    size_t room, range_room;
};

static enum adaps_status malformed(struct scan *s)
{
    return ad_error_set(s->err, ADAPS_EINPUT,
                        "%s: not an ONNX model: malformed or truncated protobuf (%zu bytes)",
                        ad_onnx_file_path(s->file), ad_onnx_file_size(s->file));
}

/* --- bytes --- */

/* Makes sure that there is one byte at least in the buffer. */
static enum adaps_status fill(struct scan *s)
{
    uint64_t left = s->end - s->position;
    if (s->at < s->filled)
        return ADAPS_OK;
    s->at = 0;
    s->filled = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
    enum adaps_status status =
        ad_onnx_file_read(s->file, s->position, s->buffer, s->filled, s->err);
    if (status == ADAPS_OK)
        ad_digester_add(&s->digester, s->buffer, s->filled);
    return status;
}

static enum adaps_status append(struct scan *s, const uint8_t *bytes, size_t size)
{
    struct ad_onnx_skeleton *out = s->out;
    if (size > s->room - out->size) {
        size_t room = s->room < BUFFER_BYTES ? BUFFER_BYTES : 2 * s->room;
        while (room < out->size + size)
            room *= 2;
        if (room > s->end) /* it never is longer than the file */
            room = (size_t)s->end;
        uint8_t *grown = ad_realloc(out->bytes, room, 1);
        if (!grown)
            return ad_error_memory(s->err, ad_onnx_file_path(s->file), room);
        out->bytes = grown;
        s->room = room;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return ADAPS_OK;
}

/* The next `size` bytes of the file, which there are; copied or left out. */
static enum adaps_status pass(struct scan *s, uint64_t size, bool copy)
{
    enum adaps_status status = ADAPS_OK;
    while (size > 0 && status == ADAPS_OK) {
        status = fill(s);
        size_t n = s->filled - s->at;
        n = n < size ? n : (size_t)size;
        if (status == ADAPS_OK && copy)
            status = append(s, s->buffer + s->at, n);
        s->at += n;
        s->position += n;
        size -= n;
    }
    return status;
}

/* Copied. Within a message that ends at `end`. */
static enum adaps_status varint(struct scan *s, uint64_t end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 7 * MAX_VARINT && s->position < end; shift += 7) {
        enum adaps_status status = fill(s);
        uint8_t byte = status == ADAPS_OK ? s->buffer[s->at] : 0;
        if (status == ADAPS_OK)
            status = pass(s, 1, true);
        if (status != ADAPS_OK)
            return status;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return ADAPS_OK;
    }
    return malformed(s);
}

/* Writes a varint of exactly n bytes. */
static void put_varint(uint8_t *to, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++, value >>= 7)
        to[i] = (uint8_t)((value & 0x7f) | (i + 1 < n ? 0x80 : 0));
}

/* --- fields --- */

struct field {
    uint64_t number;
    int type;
    uint64_t length;     /* of the payload, which is next */
    size_t begin;        /* in the skeleton: the tag, */
    size_t length_begin; /* the length, of length-delimited ones, */
    size_t payload;      /* and what comes then */
};

static enum adaps_status read_field(struct scan *s, uint64_t end, struct field *f)
{
    uint64_t tag;
    *f = (struct field){.begin = s->out->size};
    enum adaps_status status = varint(s, end, &tag);
    if (status != ADAPS_OK)
        return status;
    f->number = tag >> 3;
    f->type = (int)(tag & 7);
    f->length_begin = s->out->size;
    if (f->number == 0 || f->number > UINT32_MAX)
        return malformed(s);
    switch (f->type) {
    case 0:
        return varint(s, end, &tag);
    case 1:
        f->length = 8;
        break;
    case 2:
        status = varint(s, end, &f->length);
        break;
    case 5:
        f->length = 4;
        break;
    default:
        return malformed(s);
    }
    if (status == ADAPS_OK && f->length > end - s->position)
        status = malformed(s);
    f->payload = s->out->size;
    return status;
}

/* What a tensor's raw_data have become. */
struct raw {
    bool stored; /* the last of them stay in the file: */
    struct ad_onnx_range range;
};

static enum adaps_status tensor_field(struct scan *s, const struct field *f, struct raw *raw)
{
    bool is_raw = f->number == RAW_DATA && f->type == 2;
    bool large = is_raw && f->length > AD_ONNX_STORED_BYTES;
    if (is_raw)
        *raw = (struct raw){large, {.offset = s->position, .size = (size_t)f->length}};
    if (large || f->number == STORED) {
        s->out->size = f->begin;
        return pass(s, f->length, false);
    }
    return pass(s, f->length, true);
}

/* In place of the raw_data that were left out, which took more room. */
static enum adaps_status put_stored(struct scan *s, struct ad_onnx_range range)
{
    struct ad_onnx_skeleton *out = s->out;
    uint8_t field[2 + MAX_VARINT];
    put_varint(field, 2, STORED << 3);
    put_varint(field + 2, MAX_VARINT, out->nranges);
    if (!ad_grow(&out->ranges, out->nranges, &s->range_room, sizeof *out->ranges))
        return ad_error_memory(s->err, ad_onnx_file_path(s->file), out->nranges * sizeof range);
    out->ranges[out->nranges++] = range;
    return append(s, field, sizeof field);
}

static enum adaps_status scan_message(struct scan *s, enum message message, uint64_t end,
                                      int graphs, bool *stored);

/* A field that holds such a message. *stored: some tensor of this attribute stayed in the file. */
static enum adaps_status nested(struct scan *s, const struct field *f, enum message message,
                                int graphs, bool *stored)
{
    if (*stored && message == TENSOR)
        return ad_error_set(s->err, ADAPS_EINPUT,
                            "%s: not an ONNX model: an attribute holds a second tensor",
                            ad_onnx_file_path(s->file));
    enum adaps_status status = scan_message(s, message, s->position + f->length, graphs, stored);
    if (status == ADAPS_OK)
        put_varint(s->out->bytes + f->length_begin, f->payload - f->length_begin,
                   s->out->size - f->payload);
    return status;
}

static enum adaps_status scan_message(struct scan *s, enum message message, uint64_t end,
                                      int graphs, bool *stored)
{
    struct raw raw = {.stored = false};
    bool stored_inside = false;
    if (message == GRAPH && ++graphs > MAX_NESTED_GRAPHS)
        return ad_error_set(s->err, ADAPS_EINPUT,
                            "%s: not an ONNX model: graphs nested more than %d deep",
                            ad_onnx_file_path(s->file), MAX_NESTED_GRAPHS);
    while (s->position < end) {
        struct field f;
        enum adaps_status status = read_field(s, end, &f);
        if (status != ADAPS_OK)
            return status;
        enum message next = f.type == 2 ? inside(message, f.number) : OTHER;
        if (message != ATTRIBUTE)
            stored_inside = false;
        if (next != OTHER)
            status = nested(s, &f, next, graphs, &stored_inside);
        else if (message == TENSOR)
            status = tensor_field(s, &f, &raw);
        else
            status = pass(s, f.length, true);
        if (status != ADAPS_OK)
            return status;
    }
    if (!raw.stored)
        return ADAPS_OK;
    *stored = true;
    return put_stored(s, raw.range);
}

enum adaps_status ad_onnx_skeleton_read(const struct ad_onnx_file *file,
                                        struct ad_onnx_skeleton *out, struct adaps_error *err)
{
    struct scan s = {.file = file, .err = err, .out = out, .end = ad_onnx_file_size(file)};
    bool stored = false;
    *out = (struct ad_onnx_skeleton){NULL, 0, NULL, 0, {{0}}};
    s.buffer = ad_realloc(NULL, BUFFER_BYTES, 1);
    if (!s.buffer)
        return ad_error_memory(err, ad_onnx_file_path(file), BUFFER_BYTES);
    ad_digester_init(&s.digester);
    enum adaps_status status = scan_message(&s, MODEL, s.end, 0, &stored);
    ad_free(s.buffer);
    if (status != ADAPS_OK) {
        ad_onnx_skeleton_fini(out);
        return status;
    }
    out->digest = ad_digester_end(&s.digester);
    return ADAPS_OK;
}

void ad_onnx_skeleton_fini(struct ad_onnx_skeleton *skeleton)
{
    ad_free(skeleton->bytes);
    ad_free(skeleton->ranges);
    *skeleton = (struct ad_onnx_skeleton){NULL, 0, NULL, 0, {{0}}};
}
