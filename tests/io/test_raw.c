/* Raw frames: what is taken as their size and format, and RGB by the formulas of BT.601, computed
 * here in floating point. */
#include "base/rng.h"
#include "io/raw.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A level by definition, or -1 where rounding may go either way. */
static int exact_level(double value)
{
    double clipped = fmin(255, fmax(0, value)), floor_of = floor(clipped);
    if (fabs(clipped - floor_of - 0.5) < 1e-3)
        return -1;
    return (int)(clipped - floor_of < 0.5 ? floor_of : floor_of + 1);
}

static void exact_rgb(int y, int u, int v, int *rgb)
{
    const double kr = 0.299, kg = 0.587, kb = 0.114;
    double luma = (y - 16) / 219.0, pb = (u - 128) / 224.0, pr = (v - 128) / 224.0;
    double r = luma + 2 * (1 - kr) * pr, b = luma + 2 * (1 - kb) * pb;
    double g = (luma - kr * r - kb * b) / kg;
    rgb[0] = exact_level(255 * r);
    rgb[1] = exact_level(255 * g);
    rgb[2] = exact_level(255 * b);
}

static void check_pixel(const uint8_t *got, const int *wanted, const char *what, int x, int y)
{
    for (int c = 0; c < 3; c++)
        ck_assert_msg(wanted[c] < 0 || got[c] == wanted[c],
                      "%s, pixel %d,%d, channel %d: %d, not %d", what, x, y, c, got[c], wanted[c]);
}

/* All brightnesses and colours, some of them when that would take long. */
START_TEST(test_every_colour)
{
    int step = SANITIZED || is_emulated() ? 5 : 1;
    for (int y = 0; y < 256; y += step)
        for (int u = 0; u < 256; u += 3)
            for (int v = 0; v < 256; v++) {
                const struct ad_raw raw = {1, 1, AD_RAW_YUV420P};
                const uint8_t data[] = {(uint8_t)y, (uint8_t)u, (uint8_t)v};
                uint8_t rgb[3];
                int wanted[3];
                ad_raw_to_rgb(&raw, data, 0, rgb);
                exact_rgb(y, u, v, wanted);
                for (int c = 0; c < 3; c++)
                    if (wanted[c] >= 0 && rgb[c] != wanted[c])
                        ck_abort_msg("Y %d U %d V %d, channel %d: %d, not %d", y, u, v, c, rgb[c],
                                     wanted[c]);
            }
}
END_TEST

START_TEST(test_known_colours)
{
    static const struct {
        uint8_t yuv[3], rgb[3];
    } known[] = {{{16, 128, 128}, {0, 0, 0}},       {{235, 128, 128}, {255, 255, 255}},
                 {{81, 90, 240}, {254, 0, 0}},      {{145, 54, 34}, {0, 255, 1}},
                 {{41, 240, 110}, {0, 0, 255}},     {{0, 128, 128}, {0, 0, 0}},
                 {{255, 128, 128}, {255, 255, 255}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct ad_raw raw = {1, 1, AD_RAW_NV12};
        uint8_t rgb[3];
        ad_raw_to_rgb(&raw, known[i].yuv, 0, rgb);
        for (int c = 0; c < 3; c++)
            ck_assert_int_le(abs(rgb[c] - known[i].rgb[c]), 1);
    }
}
END_TEST

/* What a pixel must be, by where each format keeps its parts. */
static void wanted_pixel(const struct ad_raw *raw, const uint8_t *data, int x, int y, int *rgb)
{
    int w = raw->width, h = raw->height, cw = (w + 1) / 2, ch = (h + 1) / 2;
    switch (raw->format) {
    case AD_RAW_RGB24:
        for (int c = 0; c < 3; c++)
            rgb[c] = data[(y * w + x) * 3 + c];
        break;
    case AD_RAW_BGR24:
        for (int c = 0; c < 3; c++)
            rgb[c] = data[(y * w + x) * 3 + 2 - c];
        break;
    case AD_RAW_GRAY:
        for (int c = 0; c < 3; c++)
            rgb[c] = data[y * w + x];
        break;
    case AD_RAW_YUV420P:
        exact_rgb(data[y * w + x], data[w * h + y / 2 * cw + x / 2],
                  data[w * h + cw * ch + y / 2 * cw + x / 2], rgb);
        break;
    case AD_RAW_NV12:
        exact_rgb(data[y * w + x], data[w * h + (y / 2 * cw + x / 2) * 2],
                  data[w * h + (y / 2 * cw + x / 2) * 2 + 1], rgb);
        break;
    case AD_RAW_YUYV422:
        exact_rgb(data[y * cw * 4 + x * 2], data[y * cw * 4 + x / 2 * 4 + 1],
                  data[y * cw * 4 + x / 2 * 4 + 3], rgb);
        break;
    case AD_RAW_COUNT:
        ck_abort();
    }
}

static const struct {
    const char *name;
    enum ad_raw_format format;
    size_t bytes_5x3, bytes_4x2;
} formats[] = {
    {"rgb24", AD_RAW_RGB24, 45, 24},    {"bgr24", AD_RAW_BGR24, 45, 24},
    {"gray", AD_RAW_GRAY, 15, 8},       {"yuv420p", AD_RAW_YUV420P, 15 + 2 * 6, 12},
    {"nv12", AD_RAW_NV12, 15 + 12, 12}, {"yuyv422", AD_RAW_YUYV422, 36, 16},
};

/* The data end where the frame does, which matters under a sanitizer. */
START_TEST(test_places)
{
    struct ad_rng rng = {(uint64_t)_i + 1};
    for (int w = 1; w <= 7; w++)
        for (int h = 1; h <= 6; h++) {
            const struct ad_raw raw = {w, h, formats[_i].format};
            size_t bytes = ad_raw_bytes(&raw);
            uint8_t *data = malloc(bytes), *rgb = malloc((size_t)w * (size_t)h * 3);
            for (size_t i = 0; i < bytes; i++)
                data[i] = (uint8_t)ad_rng_next(&rng);
            ad_raw_to_rgb(&raw, data, 0, rgb);
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    int wanted[3];
                    wanted_pixel(&raw, data, x, y, wanted);
                    check_pixel(rgb + (y * w + x) * 3, wanted, formats[_i].name, x, y);
                }
            free(data);
            free(rgb);
        }
}
END_TEST

/* Rows with padding, as cameras have them. */
START_TEST(test_stride)
{
    const struct ad_raw raw = {3, 2, AD_RAW_YUYV422};
    const uint8_t data[] = {10, 100, 60, 200, 90, 30, 1, 220, 77, 77, /**/
                            50, 90,  40, 110, 80, 10, 2, 250};
    uint8_t packed[16], rgb[18], wanted[18];
    memcpy(packed, data, 8);
    memcpy(packed + 8, data + 10, 8);
    ad_raw_to_rgb(&raw, packed, 0, wanted);
    ad_raw_to_rgb(&raw, data, 10, rgb);
    ck_assert_mem_eq(rgb, wanted, sizeof rgb);
}
END_TEST

START_TEST(test_parse)
{
    char text[64];
    struct ad_raw raw;
    struct adaps_error err;
    snprintf(text, sizeof text, "5x3:%s", formats[_i].name);
    ck_assert_int_eq(ad_raw_parse(text, &raw, &err), ADAPS_OK);
    ck_assert_int_eq(raw.width, 5);
    ck_assert_int_eq(raw.height, 3);
    ck_assert_int_eq(raw.format, formats[_i].format);
    ck_assert_str_eq(ad_raw_format_name(raw.format), formats[_i].name);
    ck_assert_uint_eq(ad_raw_bytes(&raw), formats[_i].bytes_5x3);
    raw.width = 4;
    raw.height = 2;
    ck_assert_uint_eq(ad_raw_bytes(&raw), formats[_i].bytes_4x2);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "WIDTHxHEIGHT:FORMAT expected"},
        {"640x480", "WIDTHxHEIGHT:FORMAT expected"},
        {"640:rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {"x480:rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {"640x:rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {"-640x480:rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {" 640x480:rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {"640x480 :rgb24", "WIDTHxHEIGHT:FORMAT expected"},
        {"640x480:", "there is no format ''"},
        {"640x480:rgb", "there is no format 'rgb'"},
        {"640x480:RGB24", "there is no format 'RGB24'"},
        {"640x480:h264", "yuv420p, nv12 and yuyv422"},
        {"0x480:rgb24", "the size is outside"},
        {"640x0:rgb24", "the size is outside"},
        {"100000x100000:gray", "the size is outside"},
        {"32769x1:gray", "the size is outside"},
        {"1x32769:gray", "the size is outside"},
        {"8192x8193:gray", "67108864 pixels in all"},
        {"99999999999999999999x2:gray", "the size is outside"},
        {"2x18446744073709551617:gray", "the size is outside"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ad_raw raw;
        struct adaps_error err = {0};
        ck_assert_int_eq(ad_raw_parse(bad[i].text, &raw, &err), ADAPS_EUSAGE);
        ck_assert_msg(strstr(err.message, bad[i].why) != NULL, "'%s': %s", bad[i].text,
                      err.message);
        ck_assert_ptr_nonnull(strstr(err.message, bad[i].text));
    }
    struct ad_raw raw;
    ck_assert_int_eq(ad_raw_parse("32768x2048:gray", &raw, NULL), ADAPS_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("raw");
    TCase *tc = tcase_create("raw");
    const int n = sizeof formats / sizeof *formats;
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_every_colour);
    tcase_add_test(tc, test_known_colours);
    tcase_add_loop_test(tc, test_places, 0, n);
    tcase_add_test(tc, test_stride);
    tcase_add_loop_test(tc, test_parse, 0, n);
    tcase_add_test(tc, test_refused);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
