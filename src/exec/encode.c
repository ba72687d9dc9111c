#include "exec/encode.h"
#include "exec/half.h"

bool ad_encode_knows(enum ad_encoding encoding)
{
    return encoding == AD_ENCODING_F16;
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

void ad_encode(enum ad_encoding encoding, const struct ad_span_list *floats, void *bytes)
{
    if (encoding == AD_ENCODING_F16)
        encode_half(floats, bytes);
}

void ad_decode(enum ad_encoding encoding, const void *bytes, const struct ad_span_list *floats)
{
    if (encoding == AD_ENCODING_F16)
        decode_half(bytes, floats);
}
