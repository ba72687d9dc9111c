/*
 * The random numbers of the zoo's weights, and the writer that computes them on the way to the
 * file.
 */
#include "zoo_graph.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014)
 * used as a counter-based generator: the state after n steps is a product. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t zoo_fill_key(uint64_t seed, const char *name)
{
    uint64_t h = mix(seed + GOLDEN);

    for (const char *p = name; *p; p++)
        h = mix(h + GOLDEN * (uint64_t)((unsigned char)*p + 1));
    return h;
}

/* The sum of the four 16-bit parts of x. */
static int32_t parts(uint64_t x)
{
    return (int32_t)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
}

/* Standard deviation of the sum of eight uniform 16-bit integers: sqrt(8 (2^32 - 1) / 12). */
static double sum_sd(void)
{
    return sqrt(8.0 * 4294967295.0 / 12.0);
}

/* The sum of eight uniform numbers stands in for the normal distribution (bounded by 4.9 standard
 * deviations): it is exact, where log() and cos() differ between C libraries. */
void zoo_fill_bytes(const struct zoo_fill *fill, size_t first, size_t n, unsigned char *dst)
{
    const int32_t centre = 4 * 65535;
    double unit = fill->sd / sum_sd();
    double offset = fill->sd > 0 ? fill->mean / unit : 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t step = 2 * (uint64_t)(first + i);
        int32_t s = parts(mix(fill->key + GOLDEN * (step + 1))) +
                    parts(mix(fill->key + GOLDEN * (step + 2))) - centre;
        float v = fill->sd > 0 ? (float)((offset + s) * unit) : (float)fill->mean;
        uint32_t bits;

        memcpy(&bits, &v, sizeof(bits));
        bits = htole32(bits);
        memcpy(dst + 4 * i, &bits, sizeof(bits));
    }
}

struct stream {
    ProtobufCBuffer base; /* first: the library hands us this */
    FILE *out;
    const struct zoo_fill *fills;
    size_t nfills;
    bool failed;
};

static void stream_bytes(struct stream *s, size_t len, const void *data)
{
    if (!s->failed && len && fwrite(data, 1, len, s->out) != len)
        s->failed = true;
}

static void stream_fill(struct stream *s, const struct zoo_fill *fill)
{
    unsigned char chunk[4 * 4096];

    for (size_t i = 0; i < fill->count && !s->failed; i += sizeof(chunk) / 4) {
        size_t n = fill->count - i;

        if (n > sizeof(chunk) / 4)
            n = sizeof(chunk) / 4;
        zoo_fill_bytes(fill, i, n, chunk);
        stream_bytes(s, 4 * n, chunk);
    }
}

/* protobuf-c passes the payload of a bytes field on as it stands, so the address of a fill
 * arrives here with the length of the tensor that it describes. */
static void stream_append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
    struct stream *s = (struct stream *)buffer;
    uintptr_t at = (uintptr_t)data, begin = (uintptr_t)s->fills;

    if (at >= begin && at < begin + s->nfills * sizeof(*s->fills))
        stream_fill(s, &s->fills[(at - begin) / sizeof(*s->fills)]);
    else
        stream_bytes(s, len, data);
}

int zoo_stream(const Onnx__ModelProto *model, const struct zoo_fill *fills, size_t nfills,
               FILE *out)
{
    struct stream s = {{stream_append}, out, fills, nfills, false};

    protobuf_c_message_pack_to_buffer(&model->base, &s.base);
    return s.failed ? -1 : 0;
}
