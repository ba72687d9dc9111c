/* Formats that image.c reads and writes itself, and checks on files before stb's decoders see them.
 */
#ifndef AD_IO_IMAGE_INTERNAL_H
#define AD_IO_IMAGE_INTERNAL_H

#include "io/image.h"

/* Why a decoder must not get this file, or NULL. JPEG: Huffman tables of more than 256 codes, which
 * stb writes past its arrays. BMP: pixels cut short, which it reads as black. Anything but these
 * two and PNG, by their first bytes: "unknown format" (stb would look for a JPEG after leading 0xff
 * bytes, where the check did not look). */
const char *ad_image_defect(const uint8_t *data, size_t size);

/* Binary PGM (P5) and PPM (P6) with at most 255 levels, which are scaled to 0..255. */
struct ad_pnm {
    int width, height, channels, max;
    const uint8_t *pixels; /* in the file */
};
bool ad_pnm_is(const uint8_t *data, size_t size);

/* NULL, or what is wrong with it. The size is in *out as soon as it has been read (0 before). */
const char *ad_pnm_open(const uint8_t *data, size_t size, struct ad_pnm *out);

/* Fills width * height * channels bytes, converting between 1 and 3 channels. */
void ad_pnm_decode(const struct ad_pnm *pnm, int channels, uint8_t *pixels);

#endif
