/* Changes protobuf messages one field at a time, so that lengths stay right and a mutation gets
 * past the parser: drops, doubles or replaces a field of any depth, with odd numbers or with what
 * another field of the same kind holds. The schema comes from protobuf-c's descriptors. */
#ifndef AD_FUZZ_WIRE_MUTATE_H
#define AD_FUZZ_WIRE_MUTATE_H

#include "base/rng.h"
#include "fuzz.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <string.h>

#define WIRE_MAX_FIELDS 4096
#define WIRE_MAX_DEPTH 32
#define WIRE_MAX_BYTES 65536

/* A field as it lies in the message: type NULL when the schema does not know it. */
struct wire_field {
    const ProtobufCFieldDescriptor *type;
    uint32_t number;
    int wire;         /* 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes */
    const uint8_t *p; /* payload, without tag and length */
    size_t size;
};

struct wire_fields {
    struct wire_field items[WIRE_MAX_FIELDS];
    int count;
};

struct wire_out {
    uint8_t bytes[WIRE_MAX_BYTES];
    size_t size;
    bool full;
};

static inline bool wire_read(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static inline void wire_put(struct wire_out *out, const void *data, size_t size)
{
    if (out->full || size > sizeof out->bytes - out->size) {
        out->full = true;
        return;
    }
    if (size)
        memcpy(out->bytes + out->size, data, size);
    out->size += size;
}

static inline void wire_put_varint(struct wire_out *out, uint64_t value)
{
    uint8_t byte;
    do {
        byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        wire_put(out, &byte, 1);
        value >>= 7;
    } while (value);
}

/* The field at *p; false when the bytes are malformed. */
static inline bool wire_next(const ProtobufCMessageDescriptor *message, const uint8_t **p,
                             const uint8_t *end, struct wire_field *field)
{
    uint64_t tag, value;
    if (!wire_read(p, end, &tag) || tag >> 3 == 0 || tag >> 3 >= 1u << 29)
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->type = protobuf_c_message_descriptor_get_field(message, field->number);
    field->wire = (int)(tag & 7);
    field->p = *p;
    switch (field->wire) {
    case 0:
        if (!wire_read(p, end, &value))
            return false;
        field->size = (size_t)(*p - field->p);
        return true;
    case 1:
        field->size = 8;
        break;
    case 2:
        if (!wire_read(p, end, &value) || value > (uint64_t)(end - *p))
            return false;
        field->p = *p;
        field->size = (size_t)value;
        break;
    case 5:
        field->size = 4;
        break;
    default:
        return false;
    }
    if (field->size > (size_t)(end - *p))
        return false;
    *p += field->size;
    return true;
}

/* The message type inside the field, or NULL for a leaf. */
static inline const ProtobufCMessageDescriptor *wire_inside(const struct wire_field *field)
{
    bool message = field->type && field->wire == 2 && field->type->type == PROTOBUF_C_TYPE_MESSAGE;
    return message ? field->type->descriptor : NULL;
}

/* All fields of all depths, outer before inner. False: malformed, or too many. */
static inline bool wire_collect(const ProtobufCMessageDescriptor *message, const uint8_t *p,
                                const uint8_t *end, int depth, struct wire_fields *out)
{
    if (depth > WIRE_MAX_DEPTH)
        return false;
    while (p < end) {
        if (out->count == WIRE_MAX_FIELDS)
            return false;
        struct wire_field *field = &out->items[out->count++];
        if (!wire_next(message, &p, end, field))
            return false;
        const ProtobufCMessageDescriptor *inside = wire_inside(field);
        if (inside && !wire_collect(inside, field->p, field->p + field->size, depth + 1, out))
            return false;
    }
    return true;
}

static inline uint64_t wire_odd_number(struct ad_rng *rng, uint64_t old)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   16,
                                   64,
                                   255,
                                   4096,
                                   65535,
                                   65536,
                                   0x7ffffffe,
                                   0x7fffffff,
                                   0x80000000u,
                                   0xffffffffu,
                                   0x100000000u,
                                   0x7fffffffffffffffu,
                                   0x8000000000000000u,
                                   ~(uint64_t)0,
                                   ~(uint64_t)1,
                                   0xffffffff80000000u};
    switch (ad_rng_below(rng, 5)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return old * 2;
    case 3:
        return ad_rng_below(rng, 12);
    default:
        return odd[ad_rng_below(rng, sizeof odd / sizeof *odd)];
    }
}

/* Bits of doubles and floats that arithmetic stumbles over. */
static inline uint64_t wire_odd_real(struct ad_rng *rng, bool wide)
{
    static const double odd[] = {0, -0.0, 1, -1, 0.5, 1e-300, 1e300, 1e38, 1e9, 1e18, 1e19, -1e19};
    uint32_t pick = ad_rng_below(rng, sizeof odd / sizeof *odd + 2);
    double value = pick < sizeof odd / sizeof *odd ? odd[pick]
                   : pick & 1                      ? __builtin_nan("")
                                                   : __builtin_inf();
    /* out of a float's range: infinity, said explicitly since the conversion is undefined */
    float narrow = value > 3e38 ? __builtin_inff() : (float)value;
    uint64_t bits = 0;
    memcpy(&bits, wide ? (void *)&value : (void *)&narrow, wide ? 8 : 4);
    return bits;
}

static inline bool wire_is_packed(const struct wire_field *field)
{
    if (!field->type || field->wire != 2 || field->type->label != PROTOBUF_C_LABEL_REPEATED)
        return false;
    switch (field->type->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_BOOL:
        return true;
    default:
        return false;
    }
}

/* A list of integers with one of them changed, dropped or doubled. */
static inline void wire_change_packed(struct ad_rng *rng, const struct wire_field *field,
                                      struct wire_out *out)
{
    const uint8_t *p = field->p, *end = p + field->size;
    uint64_t value;
    int count = 0;
    while (p < end && wire_read(&p, end, &value))
        count++;
    int target = (int)ad_rng_below(rng, (uint32_t)count + 1);
    uint32_t how = ad_rng_below(rng, 4);
    p = field->p;
    for (int i = 0; i < count && wire_read(&p, end, &value); i++) {
        if (i == target && how == 0)
            continue;
        wire_put_varint(out, i == target && how >= 2 ? wire_odd_number(rng, value) : value);
        if (i == target && how == 1)
            wire_put_varint(out, value);
    }
    if (target == count)
        wire_put_varint(out, wire_odd_number(rng, 0));
}

/* Bytes, text, or a list of reals, shortened, lengthened or with one byte changed. */
static inline void wire_change_bytes(struct ad_rng *rng, const struct wire_field *field,
                                     struct wire_out *out)
{
    uint8_t byte = (uint8_t)ad_rng_next(rng);
    size_t at = ad_rng_below(rng, (uint32_t)field->size + 1);
    switch (ad_rng_below(rng, 3)) {
    case 0:
        wire_put(out, field->p, at);
        break;
    case 1:
        wire_put(out, field->p, at);
        wire_put(out, &byte, 1);
        wire_put(out, field->p + at, field->size - at);
        break;
    default:
        wire_put(out, field->p, field->size);
        if (at < field->size && !out->full)
            out->bytes[out->size - field->size + at] = byte;
    }
}

/* Another field of the same kind (the field itself when chance finds none). */
static inline const struct wire_field *wire_donor(struct ad_rng *rng, const struct wire_fields *all,
                                                  const struct wire_field *field)
{
    for (int tries = 0; tries < 64; tries++) {
        const struct wire_field *donor = &all->items[ad_rng_below(rng, (uint32_t)all->count)];
        if (donor->type == field->type && donor->wire == field->wire && donor->p != field->p)
            return donor;
    }
    return field;
}

/* The field with a new payload. */
static inline void wire_change(struct ad_rng *rng, const struct wire_fields *all,
                               const struct wire_field *field, struct wire_out *out)
{
    static struct wire_out payload;
    payload.size = 0;
    payload.full = false;
    const struct wire_field *donor = field;
    if (wire_inside(field) || ad_rng_below(rng, 2) == 0)
        donor = wire_donor(rng, all, field);
    wire_put_varint(out, (uint64_t)field->number << 3 | (unsigned)field->wire);
    if (donor != field || wire_inside(field)) {
        wire_put(&payload, donor->p, donor->size);
    } else if (field->wire == 0) {
        const uint8_t *p = field->p;
        uint64_t value = 0;
        wire_read(&p, p + field->size, &value);
        wire_put_varint(&payload, wire_odd_number(rng, value));
    } else if (field->wire == 2) {
        if (wire_is_packed(field))
            wire_change_packed(rng, field, &payload);
        else
            wire_change_bytes(rng, field, &payload);
    } else {
        uint64_t bits = wire_odd_real(rng, field->wire == 1);
        wire_put(&payload, &bits, field->size);
    }
    if (field->wire == 2)
        wire_put_varint(out, payload.size);
    wire_put(out, payload.bytes, payload.size);
    out->full = out->full || payload.full;
}

static inline void wire_copy(const struct wire_field *field, struct wire_out *out)
{
    wire_put_varint(out, (uint64_t)field->number << 3 | (unsigned)field->wire);
    if (field->wire == 2)
        wire_put_varint(out, field->size);
    wire_put(out, field->p, field->size);
}

/* Writes the message again with its field `target`, counted as wire_collect() does, mutated. The
 * message is known to be well-formed. */
static inline void wire_rewrite(struct ad_rng *rng, const struct wire_fields *all,
                                const ProtobufCMessageDescriptor *message, const uint8_t *p,
                                const uint8_t *end, int *index, int target, struct wire_out *out)
{
    struct wire_field field;
    while (p < end && wire_next(message, &p, end, &field)) {
        const ProtobufCMessageDescriptor *inside = wire_inside(&field);
        if ((*index)++ == target) {
            uint32_t how = ad_rng_below(rng, inside ? 3 : 8);
            if (how == 0)
                continue; /* dropped */
            if (how == 1)
                wire_copy(&field, out); /* twice, with the next one */
            if (how == 1)
                wire_copy(&field, out);
            else
                wire_change(rng, all, &field, out);
            *index = WIRE_MAX_FIELDS + 1; /* the rest is copied */
        } else if (inside && *index <= target) {
            size_t before = out->size, body;
            wire_put_varint(out, (uint64_t)field.number << 3 | 2);
            body = out->size;
            wire_rewrite(rng, all, inside, field.p, field.p + field.size, index, target, out);
            if (out->full)
                return;
            /* the length goes between tag and body once it is known */
            static struct wire_out length;
            length.size = 0;
            wire_put_varint(&length, out->size - body);
            size_t n = out->size - body;
            wire_put(out, length.bytes, length.size);
            if (out->full) {
                out->size = before;
                return;
            }
            memmove(out->bytes + body + length.size, out->bytes + body, n);
            memcpy(out->bytes + body, length.bytes, length.size);
        } else {
            wire_copy(&field, out);
        }
    }
}

/* Mutates one to four fields of data in place; room is what data can hold. Returns the new size, or
 * 0 when the bytes are no such message or the result does not fit (data is then unchanged or has
 * had fewer mutations). */
static inline size_t wire_mutate(const ProtobufCMessageDescriptor *message, uint8_t *data,
                                 size_t size, size_t room, struct ad_rng *rng)
{
    static struct wire_fields fields;
    static struct wire_out out;
    size_t result = 0;
    for (uint32_t left = 1 + ad_rng_below(rng, 4); left > 0; left--) {
        fields.count = 0;
        if (!wire_collect(message, data, data + size, 0, &fields) || fields.count == 0)
            return result;
        int index = 0, target = (int)ad_rng_below(rng, (uint32_t)fields.count);
        out.size = 0;
        out.full = false;
        wire_rewrite(rng, &fields, message, data, data + size, &index, target, &out);
        if (out.full || out.size > room)
            return result;
        memcpy(data, out.bytes, out.size);
        result = size = out.size;
    }
    return result;
}

/* The mutator of a libFuzzer target whose inputs are messages of a type: field by field but for one
 * in `bytewise`, which is libFuzzer's; 0: always. */
#ifdef AD_FUZZ_REPLAY
#define WIRE_MUTATOR(descriptor, bytewise) /* nothing is mutated */
#else
#define WIRE_MUTATOR(descriptor, bytewise)                                                         \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)         \
    {                                                                                              \
        struct ad_rng rng = {seed};                                                                \
        size_t mutated = 0;                                                                        \
        if ((bytewise) == 0 || ad_rng_below(&rng, (bytewise)) > 0)                                 \
            mutated = wire_mutate(&(descriptor), data, size, room, &rng);                          \
        return mutated ? mutated : LLVMFuzzerMutate(data, size, room);                             \
    }
#endif

#endif
