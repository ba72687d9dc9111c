#include "io/raw.h"
#include "io/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[AD_RAW_COUNT] = {
    [AD_RAW_RGB24] = "rgb24",     [AD_RAW_BGR24] = "bgr24", [AD_RAW_GRAY] = "gray",
    [AD_RAW_YUV420P] = "yuv420p", [AD_RAW_NV12] = "nv12",   [AD_RAW_YUYV422] = "yuyv422",
};

const char *ad_raw_format_name(enum ad_raw_format format)
{
    return names[format];
}

static bool parse_format(const char *text, enum ad_raw_format *out)
{
    for (int i = 0; i < AD_RAW_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum ad_raw_format)i;
            return true;
        }
    return false;
}

/* A decimal number without a sign at *text, which moves behind it; larger ones end at a million. */
static bool parse_side(const char **text, int *out)
{
    const char *p = *text;
    int value = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value > 100000 ? 1000000 : value * 10 + (*p - '0');
    bool some = p > *text;
    *text = p;
    *out = value;
    return some;
}

enum adaps_status ad_raw_parse(const char *text, struct ad_raw *out, struct adaps_error *err)
{
    const char *p = text;
    if (!parse_side(&p, &out->width) || *p++ != 'x' || !parse_side(&p, &out->height) || *p++ != ':')
        return ad_error_set(err, ADAPS_EUSAGE,
                            "raw frames '%s': WIDTHxHEIGHT:FORMAT expected, like 640x480:rgb24",
                            text);
    if (!parse_format(p, &out->format))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "raw frames '%s': there is no format '%s'; there are rgb24, bgr24, "
                            "gray, yuv420p, nv12 and yuyv422",
                            text, p);
    if (out->width < 1 || out->height < 1 || out->width > AD_IMAGE_MAX_SIDE ||
        out->height > AD_IMAGE_MAX_SIDE || (int64_t)out->width * out->height > AD_IMAGE_MAX_PIXELS)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "raw frames '%s': the size is outside of what adaps takes (1 to %d a "
                            "side, %" PRId64 " pixels in all)",
                            text, AD_IMAGE_MAX_SIDE, AD_IMAGE_MAX_PIXELS);
    return ADAPS_OK;
}

/* Two pixels share U and V; an odd one at the end has its own. */
static size_t half(int n)
{
    return ((size_t)n + 1) / 2;
}

size_t ad_raw_row_bytes(const struct ad_raw *raw)
{
    switch (raw->format) {
    case AD_RAW_RGB24:
    case AD_RAW_BGR24:
        return (size_t)raw->width * 3;
    case AD_RAW_YUYV422:
        return half(raw->width) * 4;
    case AD_RAW_GRAY:
    case AD_RAW_YUV420P:
    case AD_RAW_NV12:
    case AD_RAW_COUNT:
        break;
    }
    return (size_t)raw->width;
}

size_t ad_raw_bytes(const struct ad_raw *raw)
{
    size_t bytes = ad_raw_row_bytes(raw) * (size_t)raw->height;
    if (raw->format == AD_RAW_YUV420P || raw->format == AD_RAW_NV12)
        bytes += 2 * half(raw->width) * half(raw->height);
    return bytes;
}

/* BT.601, limited range: Y from 16 to 235, U and V from 16 to 240 around 128. The factors are
 * 255/219 for Y, 255/224 times 2(1-Kr) and 2(1-Kb) for V and U, Kr = 0.299, Kb = 0.114, and what G
 * gets by Kr R + Kg G + Kb B = Y; in units of 2^-20. */
#define BITS 20
#define FROM_Y 1220945
#define R_FROM_V 1673555
#define G_FROM_U 410793
#define G_FROM_V 852458
#define B_FROM_U 2115221

static uint8_t level(int sum)
{
    int value = sum < 0 ? 0 : (sum + (1 << (BITS - 1))) >> BITS;
    return (uint8_t)(value > 255 ? 255 : value);
}

static inline void yuv_to_rgb(int y, int u, int v, uint8_t *rgb)
{
    int brightness = (y - 16) * FROM_Y;
    rgb[0] = level(brightness + (v - 128) * R_FROM_V);
    rgb[1] = level(brightness - (u - 128) * G_FROM_U - (v - 128) * G_FROM_V);
    rgb[2] = level(brightness + (u - 128) * B_FROM_U);
}

/* A row of Y, with U and V of every second pixel `step` bytes apart. */
static void row_of_planes(int width, const uint8_t *y, const uint8_t *u, const uint8_t *v,
                          size_t step, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, rgb += 3)
        yuv_to_rgb(y[x], u[(size_t)(x / 2) * step], v[(size_t)(x / 2) * step], rgb);
}

static void row_of_yuyv(int width, const uint8_t *p, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, rgb += 3) {
        const uint8_t *pair = p + (size_t)(x / 2) * 4;
        yuv_to_rgb(pair[x % 2 * 2], pair[1], pair[3], rgb);
    }
}

static void row_of_bgr(int width, const uint8_t *p, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, p += 3, rgb += 3) {
        rgb[0] = p[2];
        rgb[1] = p[1];
        rgb[2] = p[0];
    }
}

void ad_raw_to_rgb(const struct ad_raw *raw, const uint8_t *data, size_t stride, uint8_t *rgb)
{
    size_t row = stride ? stride : ad_raw_row_bytes(raw), pairs = half(raw->width);
    const uint8_t *planes = data + row * (size_t)raw->height; /* of U and V */
    for (int y = 0; y < raw->height; y++, rgb += (size_t)raw->width * 3) {
        const uint8_t *p = data + row * (size_t)y;
        size_t shared = (size_t)(y / 2);
        switch (raw->format) {
        case AD_RAW_RGB24:
            memcpy(rgb, p, (size_t)raw->width * 3);
            break;
        case AD_RAW_BGR24:
            row_of_bgr(raw->width, p, rgb);
            break;
        case AD_RAW_GRAY:
            for (int x = 0; x < raw->width; x++)
                memset(rgb + (size_t)x * 3, p[x], 3);
            break;
        case AD_RAW_YUV420P:
            row_of_planes(raw->width, p, planes + shared * pairs,
                          planes + (half(raw->height) + shared) * pairs, 1, rgb);
            break;
        case AD_RAW_NV12:
            row_of_planes(raw->width, p, planes + shared * pairs * 2,
                          planes + shared * pairs * 2 + 1, 2, rgb);
            break;
        case AD_RAW_YUYV422:
            row_of_yuyv(raw->width, p, rgb);
            break;
        case AD_RAW_COUNT:
            break;
        }
    }
}
