/* Arrays as float32, by LZ4, binary16, zfp, and zfp and LZ4. */
#include "base/clock.h"
#include "base/mem.h"
#include "defer.h"
#include "exec/kernels/encode.h"

#include <lz4.h>
#include <math.h>
#include <zfp.h>

#define TIMES 3
#define SPARE 4096 /* bytes that zfp may take beyond those of the numbers */

const char *const codec_names[CODECS] = {
    "float32", "LZ4", "binary16", "zfp 12 bit", "zfp 12 bit + LZ4", "zfp exact", "zfp exact + LZ4"};
const enum ad_encoding codec_encodings[LINK_CODECS] = {AD_ENCODING_F32, AD_ENCODING_LZ4,
                                                       AD_ENCODING_F16, AD_ENCODING_ZFP};

/* What an array is written into, and read into. */
struct bench {
    const float *data;
    float *back;
    size_t count, room;
    struct ad_encode_room links;
    char *exact, *packed; /* zfp's bytes; LZ4's */
};

static double seconds_since(int64_t start)
{
    return (double)(ad_clock_ns() - start) * 1e-9;
}

/* zfp's exact mode, there or back; how many bytes. */
static size_t exact(struct bench *b, float *numbers, bool decode)
{
    zfp_field *field = zfp_field_1d(numbers, zfp_type_float, b->count);
    bitstream *bits = stream_open(b->exact, b->room);
    zfp_stream *zfp = zfp_stream_open(bits);
    zfp_stream_set_reversible(zfp);
    zfp_stream_rewind(zfp);
    size_t size = decode ? zfp_decompress(zfp, field) : zfp_compress(zfp, field);
    zfp_stream_close(zfp);
    stream_close(bits);
    zfp_field_free(field);
    return size;
}

static size_t link_encode(struct bench *b, enum codec codec)
{
    struct ad_span span = {(void *)b->data, 1, b->count * sizeof(float), 0};
    const struct ad_span_list list = {&span, 1, NULL};
    size_t size = codec == CODEC_F32 ? 0 : ad_encode(codec_encodings[codec], &list, &b->links);
    return size ? size : b->count * sizeof(float); /* it travels as it is */
}

static void link_decode(struct bench *b, enum codec codec, size_t size)
{
    struct ad_span span = {b->back, 1, b->count * sizeof(float), 0};
    const struct ad_span_list list = {&span, 1, NULL};
    struct adaps_error err;
    if (codec != CODEC_F32 && size < b->count * sizeof(float) &&
        ad_decode(codec_encodings[codec], &b->links, size, &list, &err) != ADAPS_OK)
        defer_fail("decoding", &err);
}

/* LZ4 of what zfp has written, or what it has written when that is no shorter. */
static size_t pack(struct bench *b, const void *from, size_t size)
{
    int packed = LZ4_compress_default(from, b->packed, (int)size, (int)b->room);
    return packed > 0 && (size_t)packed < size ? (size_t)packed : size;
}

static size_t encode(struct bench *b, enum codec codec)
{
    if (codec < LINK_CODECS)
        return link_encode(b, codec);
    if (codec == CODEC_ZFP_LZ4)
        return pack(b, b->links.bytes, link_encode(b, CODEC_ZFP));
    size_t size = exact(b, (float *)b->data, false);
    return codec == CODEC_EXACT ? size : pack(b, b->exact, size);
}

/* zfp_bytes: those before LZ4. */
static void decode(struct bench *b, enum codec codec, size_t size, size_t zfp_bytes)
{
    if (codec < LINK_CODECS) {
        link_decode(b, codec, size);
        return;
    }
    char *to = codec == CODEC_ZFP_LZ4 ? b->links.bytes : b->exact;
    if (codec != CODEC_EXACT && size < zfp_bytes)
        LZ4_decompress_safe(b->packed, to, (int)size, (int)zfp_bytes);
    if (codec == CODEC_ZFP_LZ4)
        link_decode(b, CODEC_ZFP, zfp_bytes);
    else
        exact(b, b->back, true);
}

void codecs_add(const float *data, size_t count, struct coded *sum)
{
    const unsigned all = AD_ENCODING_BIT(AD_ENCODING_LZ4) | AD_ENCODINGS_LOSSY;
    size_t bytes = count * sizeof(float), zfp_bytes = 0;
    struct bench b = {.data = data, .count = count, .room = 2 * bytes + SPARE};
    struct adaps_error err;
    b.back = ad_calloc(bytes, 1);
    b.exact = ad_calloc(b.room, 1);
    b.packed = ad_calloc(b.room, 1);
    if (!b.back || !b.exact || !b.packed) {
        ad_error_memory(&err, "arrays", b.room);
        defer_fail("", &err);
    }
    if (ad_encode_room_init(&b.links, all, bytes, &err) != ADAPS_OK)
        defer_fail("", &err);
    for (int codec = 0; codec < CODECS; codec++) {
        double encode_s = INFINITY, decode_s = INFINITY;
        size_t size = 0;
        for (int i = 0; i < TIMES; i++) {
            int64_t start = ad_clock_ns();
            size = encode(&b, codec);
            encode_s = fmin(encode_s, seconds_since(start));
            if (codec == CODEC_ZFP || codec == CODEC_EXACT)
                zfp_bytes = size;
            start = ad_clock_ns();
            decode(&b, codec, size, zfp_bytes);
            decode_s = fmin(decode_s, seconds_since(start));
        }
        sum->bytes[codec] += (double)size;
        sum->encode_s[codec] += encode_s;
        sum->decode_s[codec] += decode_s;
    }
    for (size_t i = 0; i < count; i++)
        sum->zeros += data[i] == 0;
    sum->elements += (double)count;
    sum->count++;
    ad_encode_room_fini(&b.links);
    ad_free(b.packed);
    ad_free(b.exact);
    ad_free(b.back);
}
