/* stb's picture codecs as adaps builds them (stb.c): only the formats that it reads, memory from
 * base/mem.h, no stdio, sizes limited. Included instead of stb's own headers. */
#ifndef AD_IO_STB_H
#define AD_IO_STB_H

#include "base/mem.h"
#include "io/image.h"

#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS AD_IMAGE_MAX_SIDE
#define STBI_WRITE_NO_STDIO

#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
#include <stb/stb_image_write.h>

/* Whether a decoder got no memory in this thread since the last call: its own reason may be another
 * one. */
bool ad_stb_starved(void);

/* stbi_write_png_to_func() that returns false when there is no memory, instead of aborting. */
bool ad_stb_write_png(stbi_write_func *sink, void *context, int width, int height, int channels,
                      const void *pixels);

#endif
