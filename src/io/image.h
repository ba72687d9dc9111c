/* Pictures: PNG, JPEG, BMP and binary PPM and PGM, 8 bits a channel. */
#ifndef AD_IO_IMAGE_H
#define AD_IO_IMAGE_H

#include "base/error.h"

/* Rows from the top, `channels` interleaved bytes a pixel. */
struct ad_image {
    int width, height, channels;
    uint8_t *pixels; /* owned */
};

/* Limits of pictures whose size is not known before. */
#define AD_IMAGE_MAX_SIDE 32768
#define AD_IMAGE_MAX_PIXELS ((int64_t)64 << 20)

/* What a picture must be, or is converted to. */
struct ad_image_shape {
    int width, height, channels; /* width and height 0: as it is; channels: 1 or 3 */
    bool resize;                 /* scale to width x height instead of refusing other sizes */
};

/* Decodes a picture from memory and converts it to wanted->channels (grey from colour by luminance,
 * colour from grey by copying; alpha is dropped, 16 bits become 8). Its size is checked before it
 * is decoded: equal to the wanted one or, if that is any or with resize, within the limits. `path`
 * is what messages call the bytes. ADAPS_EINPUT says what the picture is and what was wanted. */
AD_MUST_CHECK enum adaps_status ad_image_parse(const void *data, size_t size, const char *path,
                                               const struct ad_image_shape *wanted,
                                               struct ad_image *out, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_image_load(const char *path, const struct ad_image_shape *wanted,
                                              struct ad_image *out, struct adaps_error *err);
void ad_image_fini(struct ad_image *image);

/* Whether the name's ending is one of a picture. */
bool ad_image_is_name(const char *path);

/* Encodes by the name's ending (.png, .jpg or .jpeg, .bmp, .ppm, .pgm) and replaces the file
 * atomically. JPEG has quality 95. */
AD_MUST_CHECK enum adaps_status ad_image_save(const char *path, const struct ad_image *image,
                                              struct adaps_error *err);

#endif
