/* stb's picture codecs as adaps builds them (stb.c): only the formats that it reads, memory from
 * base/mem.h, no stdio, sizes limited. Included instead of stb's own headers. */
#ifndef AD_IO_STB_H
#define AD_IO_STB_H

#include "base/mem.h"

#define AD_IMAGE_MAX_SIDE 32768

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

/* stbi_write_png_to_func() that returns false when there is no memory, instead of aborting. */
bool ad_stb_write_png(stbi_write_func *sink, void *context, int width, int height, int channels,
                      const void *pixels);

#endif
