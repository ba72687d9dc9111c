#include "io/image_internal.h"

#include <stdlib.h>
#include <string.h>

static size_t be16(const uint8_t *p)
{
    return (size_t)p[0] << 8 | p[1];
}

static uint32_t le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Whether a DHT segment (its length field first) holds only tables of at most 256 codes. */
static bool huffman_tables_ok(const uint8_t *p, size_t size)
{
    if (size < 2 || be16(p) < 2 || be16(p) > size)
        return false;
    size_t left = be16(p) - 2;
    for (p += 2; left > 0;) {
        size_t codes = 0;
        if (left < 17)
            return false;
        for (int i = 1; i <= 16; i++)
            codes += p[i];
        if (codes > 256 || left < 17 + codes)
            return false;
        p += 17 + codes;
        left -= 17 + codes;
    }
    return true;
}

/* Before the first scan, segments are walked by their lengths; after it, every pair of bytes that a
 * decoder could take for a table is checked. */
static const char *jpeg_defect(const uint8_t *data, size_t size)
{
    static const char bad_table[] = "a Huffman table with too many codes";
    size_t i = 2;
    while (i + 4 <= size) {
        if (data[i] != 0xff || data[i + 1] == 0xff) {
            i++;
            continue;
        }
        uint8_t marker = data[i + 1];
        if (marker == 0xc4 && !huffman_tables_ok(data + i + 2, size - i - 2))
            return bad_table;
        if (marker == 0xda)
            break;
        bool bare = marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd9);
        i += 2 + (bare ? 0 : be16(data + i + 2));
    }
    for (; i + 1 < size; i++)
        if (data[i] == 0xff && data[i + 1] == 0xc4 &&
            !huffman_tables_ok(data + i + 2, size - i - 2))
            return bad_table;
    return NULL;
}

/* Only uncompressed pixels have a known size; stb refuses the others. */
static const char *bmp_defect(const uint8_t *data, size_t size)
{
    if (size < 30)
        return "cut short";
    bool core = le32(data + 14) == 12;
    uint64_t width = core ? le16(data + 18) : le32(data + 18);
    int64_t height = core ? (int32_t)le16(data + 20) : (int32_t)le32(data + 22);
    uint64_t bits = le16(data + (core ? 24 : 28));
    uint64_t row = (width * bits + 31) / 32 * 4, rows = (uint64_t)llabs(height), total;
    if (__builtin_mul_overflow(row, rows, &total) ||
        __builtin_add_overflow(total, le32(data + 10), &total) || total > size)
        return "cut short";
    return NULL;
}

const char *ad_image_defect(const uint8_t *data, size_t size)
{
    static const uint8_t png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff)
        return jpeg_defect(data, size);
    if (size >= 2 && data[0] == 'B' && data[1] == 'M')
        return bmp_defect(data, size);
    return size >= 8 && memcmp(data, png, 8) == 0 ? NULL : "unknown format";
}

bool ad_pnm_is(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == 'P' && (data[1] == '5' || data[1] == '6');
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next number after white space and comments; -1 when there is none or it is too large. */
static int next_number(const uint8_t **p, const uint8_t *end)
{
    while (*p < end && (is_space(**p) || **p == '#')) {
        if (**p == '#')
            while (*p < end && **p != '\n')
                (*p)++;
        else
            (*p)++;
    }
    const uint8_t *start = *p;
    int value = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        if (value > 100000000)
            return -1;
        value = value * 10 + (**p - '0');
    }
    return *p == start ? -1 : value;
}

const char *ad_pnm_open(const uint8_t *data, size_t size, struct ad_pnm *out)
{
    const uint8_t *p = data + 2, *end = data + size;
    memset(out, 0, sizeof *out);
    int width = next_number(&p, end), height = next_number(&p, end), max = next_number(&p, end);
    if (width < 1 || height < 1 || max < 1 || p >= end || !is_space(*p))
        return "a malformed header";
    if (max > 255)
        return "more than 255 levels";
    p++;
    out->width = width;
    out->height = height;
    out->max = max;
    out->channels = data[1] == '6' ? 3 : 1;
    out->pixels = p;
    uint64_t wanted = (uint64_t)width * (uint64_t)height; /* below 2^60 */
    return (uint64_t)(end - p) / (uint64_t)out->channels < wanted ? "cut short" : NULL;
}

void ad_pnm_decode(const struct ad_pnm *pnm, int channels, uint8_t *pixels)
{
    size_t count = (size_t)pnm->width * (size_t)pnm->height;
    const uint8_t *p = pnm->pixels;
    for (size_t i = 0; i < count; i++, p += pnm->channels) {
        int level[3];
        for (int c = 0; c < 3; c++) {
            int v = p[pnm->channels == 3 ? c : 0];
            level[c] = (v > pnm->max ? pnm->max : v) * 255 / pnm->max;
        }
        if (channels == 1) /* the luminance weights of JPEG, as stb takes them; they sum to 256 */
            level[0] = (level[0] * 77 + level[1] * 150 + level[2] * 29) >> 8;
        for (int c = 0; c < channels; c++)
            *pixels++ = (uint8_t)level[c];
    }
}
