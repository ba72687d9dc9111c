/* Raw frames: their formats, how many bytes they have, and RGB from them. Brightness and colour
 * (YUV) are those of BT.601 with limited range, as ffmpeg and rpicam-vid write them for video of
 * standard definition. */
#ifndef AD_IO_RAW_H
#define AD_IO_RAW_H

#include "base/error.h"

enum ad_raw_format {
    AD_RAW_RGB24,   /* R, G, B, a byte each */
    AD_RAW_BGR24,   /* B, G, R */
    AD_RAW_GRAY,    /* one byte a pixel, 0 black to 255 white */
    AD_RAW_YUV420P, /* a plane of Y, then U, then V; these have a byte for 2 x 2 pixels */
    AD_RAW_NV12,    /* a plane of Y, then U and V by turns */
    AD_RAW_YUYV422, /* Y0 U Y1 V for 2 pixels beside each other */
    AD_RAW_COUNT
};

/* Rows from the top, without padding. Odd sizes: U and V are rounded up, and the last pair of
 * YUYV has a Y that belongs to no pixel, as in ffmpeg. */
struct ad_raw {
    int width, height;
    enum ad_raw_format format;
};

/* "640x480:rgb24". At most 32768 a side and 64 Mpixel (the limits of pictures). ADAPS_EUSAGE quotes
 * the text and says what is wrong with it. */
AD_MUST_CHECK enum adaps_status ad_raw_parse(const char *text, struct ad_raw *out,
                                             struct adaps_error *err);
const char *ad_raw_format_name(enum ad_raw_format format);

/* Bytes of a row, of formats of one plane, and of a frame. The size is within the limits. */
size_t ad_raw_row_bytes(const struct ad_raw *raw);
size_t ad_raw_bytes(const struct ad_raw *raw);

/* Fills width * height * 3 bytes: R, G, B. U and V count for all pixels that share them. `stride`
 * is what a row has in bytes, for formats of one plane; 0: no padding. */
void ad_raw_to_rgb(const struct ad_raw *raw, const uint8_t *data, size_t stride, uint8_t *rgb);

#endif
