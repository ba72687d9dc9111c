#include "io/image_internal.h"
#include "base/file.h"
#include "base/mem.h"
#include "io/stb.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_FILE ((size_t)256 << 20)
#define JPEG_QUALITY 95

static bool ends_with(const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ending) == 0;
}

bool ad_image_is_name(const char *path)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i]))
            return true;
    return false;
}

/* Scales into a new buffer of the wanted size; the old one is freed. */
static enum adaps_status scale(struct ad_image *image, const struct ad_image_shape *wanted,
                               const char *path, struct adaps_error *err)
{
    size_t row = (size_t)wanted->width * (size_t)image->channels;
    uint8_t *pixels = ad_calloc((size_t)wanted->height, row);
    if (!pixels)
        return ad_error_memory(err, path, row * (size_t)wanted->height);
    if (!stbir_resize_uint8(image->pixels, image->width, image->height, 0, pixels, wanted->width,
                            wanted->height, 0, image->channels)) {
        ad_free(pixels);
        return ad_error_memory(err, "resizing a picture", row * (size_t)wanted->height);
    }
    ad_free(image->pixels);
    image->pixels = pixels;
    image->width = wanted->width;
    image->height = wanted->height;
    return ADAPS_OK;
}

/* Checks the size in the picture's header before anything is decoded. */
static enum adaps_status check_size(const char *path, int width, int height,
                                    const struct ad_image_shape *wanted, struct adaps_error *err)
{
    if (width < 1 || height < 1)
        return ad_error_set(err, ADAPS_EINPUT, "%s: an empty picture (%d x %d pixels)", path, width,
                            height);
    if (width == wanted->width && height == wanted->height)
        return ADAPS_OK;
    if (!wanted->resize && wanted->width > 0)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "%s: the picture has %d x %d pixels (width x height), the network takes "
            "%d x %d; --resize scales it",
            path, width, height, wanted->width, wanted->height);
    if (width > AD_IMAGE_MAX_SIDE || height > AD_IMAGE_MAX_SIDE ||
        (int64_t)width * height > AD_IMAGE_MAX_PIXELS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: %d x %d pixels are over the limit (%d a side, %" PRId64 " in all)",
                            path, width, height, AD_IMAGE_MAX_SIDE, AD_IMAGE_MAX_PIXELS);
    return ADAPS_OK;
}

/* Decodes with stb: PNG, JPEG, BMP. */
static enum adaps_status parse_stb(const uint8_t *data, size_t size, const char *path,
                                   const struct ad_image_shape *wanted, struct ad_image *out,
                                   struct adaps_error *err)
{
    int channels;
    const char *defect = size > INT_MAX ? "too large" : ad_image_defect(data, size);
    ad_stb_starved(); /* forget what was before */
    if (!defect && !stbi_info_from_memory(data, (int)size, &out->width, &out->height, &channels))
        defect = stbi_failure_reason();
    if (ad_stb_starved())
        return ad_error_memory(err, path, size);
    if (defect)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: not a picture that adaps reads (PNG, JPEG, BMP, binary PPM or "
                            "PGM): %s",
                            path, defect);
    enum adaps_status status = check_size(path, out->width, out->height, wanted, err);
    if (status != ADAPS_OK)
        return status;
    out->pixels = stbi_load_from_memory(data, (int)size, &out->width, &out->height, &channels,
                                        wanted->channels);
    if (!out->pixels && ad_stb_starved())
        return ad_error_memory(err, path, (size_t)out->width * (size_t)out->height);
    if (!out->pixels)
        return ad_error_set(err, ADAPS_EINPUT, "%s: a damaged picture: %s", path,
                            stbi_failure_reason());
    /* the decoder has read the header again: what it decoded counts */
    return check_size(path, out->width, out->height, wanted, err);
}

static enum adaps_status parse_pnm(const uint8_t *data, size_t size, const char *path,
                                   const struct ad_image_shape *wanted, struct ad_image *out,
                                   struct adaps_error *err)
{
    struct ad_pnm pnm;
    const char *wrong = ad_pnm_open(data, size, &pnm);
    enum adaps_status status = ADAPS_OK;
    if (pnm.width)
        status = check_size(path, pnm.width, pnm.height, wanted, err);
    if (status == ADAPS_OK && wrong)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: a damaged picture: %s", path, wrong);
    if (status != ADAPS_OK)
        return status;
    size_t pixels = (size_t)pnm.width * (size_t)pnm.height;
    out->pixels = ad_calloc(pixels, (size_t)wanted->channels);
    if (!out->pixels)
        return ad_error_memory(err, path, pixels);
    ad_pnm_decode(&pnm, wanted->channels, out->pixels);
    out->width = pnm.width;
    out->height = pnm.height;
    return ADAPS_OK;
}

enum adaps_status ad_image_parse(const void *data, size_t size, const char *path,
                                 const struct ad_image_shape *wanted, struct ad_image *out,
                                 struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_pnm_is(data, size)
                                   ? parse_pnm(data, size, path, wanted, out, err)
                                   : parse_stb(data, size, path, wanted, out, err);
    out->channels = wanted->channels;
    if (status == ADAPS_OK && wanted->width > 0 &&
        (out->width != wanted->width || out->height != wanted->height))
        status = scale(out, wanted, path, err);
    if (status != ADAPS_OK)
        ad_image_fini(out);
    return status;
}

enum adaps_status ad_image_load(const char *path, const struct ad_image_shape *wanted,
                                struct ad_image *out, struct adaps_error *err)
{
    void *data;
    size_t size;
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_file_read(path, MAX_FILE, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_image_parse(data, size, path, wanted, out, err);
    ad_free(data);
    return status;
}

void ad_image_fini(struct ad_image *image)
{
    ad_free(image->pixels);
    memset(image, 0, sizeof *image);
}

/* What an encoder has written so far. */
struct sink {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
};

static void sink_write(void *context, void *data, int size)
{
    struct sink *sink = context;
    size_t wanted;
    if (sink->failed || size < 0 || !ad_size_add(sink->size, (size_t)size, &wanted)) {
        sink->failed = true;
        return;
    }
    if (wanted > sink->capacity) {
        size_t capacity = wanted < SIZE_MAX / 2 ? wanted * 2 : wanted;
        uint8_t *grown = ad_realloc(sink->data, capacity, 1);
        if (!grown) {
            sink->failed = true;
            return;
        }
        sink->data = grown;
        sink->capacity = capacity;
    }
    memcpy(sink->data + sink->size, data, (size_t)size);
    sink->size = wanted;
}

/* Binary PPM has three channels: grey is written three times. */
static int write_ppm(struct sink *sink, const struct ad_image *image)
{
    char header[64];
    int n = snprintf(header, sizeof header, "P6\n%d %d\n255\n", image->width, image->height);
    sink_write(sink, header, n);
    size_t pixels = (size_t)image->width * (size_t)image->height;
    int step = image->channels;
    for (size_t i = 0; i < pixels && !sink->failed; i++) {
        const uint8_t *p = image->pixels + i * (size_t)step;
        uint8_t rgb[3] = {p[0], p[step == 3 ? 1 : 0], p[step == 3 ? 2 : 0]};
        sink_write(sink, rgb, 3);
    }
    return 1;
}

static int write_pgm(struct sink *sink, const struct ad_image *image)
{
    char header[64];
    int n = snprintf(header, sizeof header, "P5\n%d %d\n255\n", image->width, image->height);
    sink_write(sink, header, n);
    sink_write(sink, image->pixels, image->width * image->height);
    return 1;
}

static enum adaps_status encode(const char *path, const struct ad_image *image, struct sink *sink,
                                struct adaps_error *err)
{
    int w = image->width, h = image->height, c = image->channels, done;
    if (w < 1 || h < 1 || w > AD_IMAGE_MAX_SIDE || h > AD_IMAGE_MAX_SIDE ||
        (int64_t)w * h > AD_IMAGE_MAX_PIXELS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: a picture of %d x %d pixels is outside of what adaps writes (1 to "
                            "%d a side, %" PRId64 " in all)",
                            path, w, h, AD_IMAGE_MAX_SIDE, AD_IMAGE_MAX_PIXELS);
    if (ends_with(path, ".pgm") && c != 1)
        return ad_error_set(err, ADAPS_EINPUT, "%s: a .pgm picture has one channel, not %d", path,
                            c);
    if (ends_with(path, ".png"))
        done = ad_stb_write_png(sink_write, sink, w, h, c, image->pixels);
    else if (ends_with(path, ".bmp"))
        done = stbi_write_bmp_to_func(sink_write, sink, w, h, c, image->pixels);
    else if (ends_with(path, ".ppm"))
        done = write_ppm(sink, image);
    else if (ends_with(path, ".pgm"))
        done = write_pgm(sink, image);
    else
        done = stbi_write_jpg_to_func(sink_write, sink, w, h, c, image->pixels, JPEG_QUALITY);
    return done && !sink->failed ? ADAPS_OK
                                 : ad_error_memory(err, path, (size_t)w * (size_t)h * (size_t)c);
}

enum adaps_status ad_image_save(const char *path, const struct ad_image *image,
                                struct adaps_error *err)
{
    struct sink sink = {0};
    enum adaps_status status = encode(path, image, &sink, err);
    if (status == ADAPS_OK)
        status = ad_file_replace(path, sink.data, sink.size, err);
    ad_free(sink.data);
    return status;
}
