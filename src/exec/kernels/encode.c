#include "exec/kernels/encode.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "exec/kernels/half.h"

#include <limits.h>
#include <lz4.h>
#include <math.h>
#include <zfp.h>

#define READ_AHEAD 64 /* bytes; zfp reads words of 8 */
#define TOO_LARGE 0x1p100f
#define TOO_SMALL 0x1p-90f

bool ad_encode_knows(enum ad_encoding encoding)
{
    return encoding == AD_ENCODING_F16 || encoding == AD_ENCODING_LZ4 ||
           encoding == AD_ENCODING_ZFP;
}

/* Blocks of a fixed size, one after the other. */
static zfp_stream *open_zfp(void *bytes, size_t size)
{
    bitstream *bits = stream_open(bytes, size);
    zfp_stream *zfp = bits ? zfp_stream_open(bits) : NULL;
    if (bits && !zfp)
        stream_close(bits);
    if (!zfp)
        return NULL;
    zfp_stream_set_execution(zfp, zfp_exec_serial);
    zfp_stream_set_rate(zfp, AD_ZFP_BITS, zfp_type_float, 3, zfp_false);
    return zfp;
}

enum adaps_status ad_encode_room_init(struct ad_encode_room *out, unsigned encodings, size_t size,
                                      struct adaps_error *err)
{
    bool lz4 = encodings & AD_ENCODING_BIT(AD_ENCODING_LZ4);
    bool zfp = encodings & AD_ENCODING_BIT(AD_ENCODING_ZFP);
    size_t room = size + (zfp ? READ_AHEAD : 0);
    *out = (struct ad_encode_room){0};
    out->bytes = ad_calloc(room, 1);
    out->floats = lz4 || zfp ? ad_calloc(size, 1) : NULL;
    out->lz4 = lz4 ? ad_calloc((size_t)LZ4_sizeofState(), 1) : NULL;
    out->zfp = zfp && out->bytes ? open_zfp(out->bytes, room) : NULL;
    if (out->bytes && (!lz4 || out->lz4) && (!zfp || out->zfp) && (!(lz4 || zfp) || out->floats))
        return ADAPS_OK;
    ad_encode_room_fini(out);
    return ad_error_memory(err, "messages", size);
}

void ad_encode_room_fini(struct ad_encode_room *room)
{
    ad_free(room->bytes);
    ad_free(room->floats);
    ad_free(room->lz4);
    if (room->zfp) {
        stream_close(zfp_stream_bit_stream(room->zfp));
        zfp_stream_close(room->zfp);
    }
    *room = (struct ad_encode_room){0};
}

/* Run by run. */
static void encode_half(const struct ad_span_list *floats, uint16_t *to)
{
    for (int i = 0; i < floats->count; i++) {
        const struct ad_span *s = &floats->spans[i];
        size_t count = s->run_bytes / sizeof(float);
        for (size_t r = 0; r < s->runs; r++, to += count)
            ad_half_encode((const float *)((const char *)s->base + r * s->run_stride), to, count);
    }
}

static void decode_half(const uint16_t *from, const struct ad_span_list *floats)
{
    for (int i = 0; i < floats->count; i++) {
        const struct ad_span *s = &floats->spans[i];
        size_t count = s->run_bytes / sizeof(float);
        for (size_t r = 0; r < s->runs; r++, from += count)
            ad_half_decode(from, (float *)((char *)s->base + r * s->run_stride), count);
    }
}

/* The floats in one piece: where they lie, or a copy. */
static void *in_one_piece(const struct ad_span_list *floats, const struct ad_encode_room *room)
{
    const struct ad_span *s = floats->spans;
    return floats->count == 1 && (s->runs == 1 || s->run_stride == s->run_bytes) ? s->base
                                                                                 : room->floats;
}

static size_t compress(const struct ad_span_list *floats, const struct ad_encode_room *room)
{
    size_t size = ad_spans_bytes(floats);
    void *from = in_one_piece(floats, room);
    if (size < 2 || size > LZ4_MAX_INPUT_SIZE)
        return 0;
    if (from == room->floats)
        ad_spans_gather(floats, from);
    return (size_t)LZ4_compress_fast_extState(room->lz4, from, room->bytes, (int)size,
                                              (int)size - 1, 1);
}

static enum adaps_status decompress(const struct ad_encode_room *room, size_t size,
                                    const struct ad_span_list *floats, struct adaps_error *err)
{
    size_t want = ad_spans_bytes(floats);
    void *to = in_one_piece(floats, room);
    int n = want <= LZ4_MAX_INPUT_SIZE && size <= INT_MAX
                ? LZ4_decompress_safe(room->bytes, to, (int)size, (int)want)
                : -1;
    if (n < 0 || (size_t)n != want)
        return ad_error_set(err, ADAPS_EAGENT,
                            "a message of %zu bytes is no LZ4 block of %zu bytes", size, want);
    if (to == room->floats)
        ad_spans_scatter(floats, to);
    return ADAPS_OK;
}

/* Copies a block, with 0 for what is below TOO_SMALL, where zfp's factor of two would overflow.
 * False when zfp cannot take it: something is infinite, NaN, or beyond TOO_LARGE, where decoding
 * might overflow. */
static bool take_block(const float *from, float *block)
{
    bool good = true;
    for (int i = 0; i < AD_ZFP_BLOCK; i++) {
        float size = fabsf(from[i]);
        good &= size < TOO_LARGE;
        block[i] = size < TOO_SMALL ? 0 : from[i];
    }
    return good;
}

/* What is left over after the blocks. */
struct rest {
    size_t blocks, count;
    float *floats;
    uint16_t *bytes;
};

static struct rest rest_of(const struct ad_span_list *list, float *floats,
                           const struct ad_encode_room *room)
{
    size_t count = ad_spans_bytes(list) / sizeof(float), blocks = count / AD_ZFP_BLOCK;
    return (struct rest){
        .blocks = blocks,
        .count = count % AD_ZFP_BLOCK,
        .floats = floats + blocks * AD_ZFP_BLOCK,
        .bytes = (uint16_t *)(void *)((char *)room->bytes + blocks * AD_ZFP_BYTES),
    };
}

static size_t encode_zfp(const struct ad_span_list *list, const struct ad_encode_room *room)
{
    float *from = in_one_piece(list, room), block[AD_ZFP_BLOCK];
    struct rest rest = rest_of(list, from, room);
    if (from == room->floats)
        ad_spans_gather(list, from);
    zfp_stream_rewind(room->zfp);
    for (size_t i = 0; i < rest.blocks; i++) {
        if (!take_block(from + i * AD_ZFP_BLOCK, block))
            return 0;
        zfp_encode_block_float_3(room->zfp, block);
    }
    zfp_stream_flush(room->zfp);
    ad_half_encode(rest.floats, rest.bytes, rest.count);
    return rest.blocks * AD_ZFP_BYTES + rest.count * sizeof *rest.bytes;
}

static void decode_zfp(const struct ad_span_list *list, const struct ad_encode_room *room)
{
    float *to = in_one_piece(list, room);
    struct rest rest = rest_of(list, to, room);
    zfp_stream_rewind(room->zfp);
    for (size_t i = 0; i < rest.blocks; i++)
        zfp_decode_block_float_3(room->zfp, to + i * AD_ZFP_BLOCK);
    ad_half_decode(rest.bytes, rest.floats, rest.count);
    if (to == room->floats)
        ad_spans_scatter(list, to);
}

size_t ad_encode(enum ad_encoding encoding, const struct ad_span_list *floats,
                 const struct ad_encode_room *room)
{
    if (encoding == AD_ENCODING_LZ4)
        return compress(floats, room);
    if (encoding == AD_ENCODING_ZFP)
        return encode_zfp(floats, room);
    encode_half(floats, room->bytes);
    return ad_spans_bytes(floats) / 2;
}

enum adaps_status ad_decode(enum ad_encoding encoding, const struct ad_encode_room *room,
                            size_t size, const struct ad_span_list *floats, struct adaps_error *err)
{
    if (encoding == AD_ENCODING_LZ4)
        return decompress(room, size, floats, err);
    size_t want =
        (size_t)ad_encoding_bytes(encoding, (int64_t)(ad_spans_bytes(floats) / sizeof(float)));
    if (size != want)
        return ad_error_set(err, ADAPS_EAGENT, "a message of %zu bytes instead of %zu in %s", size,
                            want, ad_encoding_name(encoding));
    if (encoding == AD_ENCODING_ZFP)
        decode_zfp(floats, room);
    else
        decode_half(room->bytes, floats);
    return ADAPS_OK;
}

#define MEASURED 262144    /* floats */
#define MEASURED_ZFP 16384 /* zfp is slow */
#define TIMES 5

static double rate_of(const struct ad_span *span, int64_t begin_ns)
{
    int64_t ns = ad_clock_ns() - begin_ns;
    return (double)span->run_bytes * 1e9 / (double)(ns > 0 ? ns : 1);
}

enum adaps_status ad_encode_measure(struct ad_encoding_rates *out, struct adaps_error *err)
{
    unsigned all = AD_ENCODING_BIT(AD_ENCODINGS) - 1;
    struct ad_encode_room room;
    struct ad_rng rng = {1};
    struct ad_span span = {.runs = 1, .run_bytes = MEASURED * sizeof(float)};
    struct ad_span_list list = {.spans = &span, .count = 1};
    *out = (struct ad_encoding_rates){{0}, {0}};
    float *data = ad_calloc(MEASURED, sizeof *data);
    if (!data)
        return ad_error_memory(err, "messages", span.run_bytes);
    span.base = data;
    enum adaps_status status = ad_encode_room_init(&room, all, span.run_bytes, err);
    for (int i = 0; i < MEASURED; i++)
        data[i] = ad_rng_below(&rng, 2) ? ad_rng_float(&rng) : 0;
    for (int e = 0; e < AD_ENCODINGS && status == ADAPS_OK; e++) {
        span.run_bytes = (e == AD_ENCODING_ZFP ? MEASURED_ZFP : MEASURED) * sizeof(float);
        for (int k = 0; k < TIMES && ad_encode_knows((enum ad_encoding)e); k++) {
            int64_t begin = ad_clock_ns();
            size_t size = ad_encode((enum ad_encoding)e, &list, &room);
            out->encode[e] = fmax(out->encode[e], rate_of(&span, begin));
            begin = ad_clock_ns();
            status = ad_decode((enum ad_encoding)e, &room, size, &list, err);
            out->decode[e] = fmax(out->decode[e], rate_of(&span, begin));
        }
    }
    if (room.bytes)
        ad_encode_room_fini(&room);
    ad_free(data);
    return status;
}
