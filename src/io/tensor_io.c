#include "io/tensor_io.h"
#include "base/convert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "io/file_kind.h"
#include "io/image.h"
#include "io/npy.h"
#include "ir/picture.h"
#include "onnx/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum file_kind { KIND_IMAGE, KIND_NPY, KIND_PB };

/* By the name's ending, of what is written. */
static enum adaps_status kind_of(const char *path, enum file_kind *kind, struct adaps_error *err)
{
    const char *dot = strrchr(path, '.');
    if (ad_image_is_name(path))
        *kind = KIND_IMAGE;
    else if (dot && strcasecmp(dot, ".npy") == 0)
        *kind = KIND_NPY;
    else if (dot && strcasecmp(dot, ".pb") == 0)
        *kind = KIND_PB;
    else
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: the name's ending says no format (.png .jpg .jpeg .bmp .ppm .pgm "
                            ".npy .pb)",
                            path);
    return ADAPS_OK;
}

bool ad_tensor_io_is_name(const char *path)
{
    enum file_kind kind;
    struct adaps_error none;
    return kind_of(path, &kind, &none) == ADAPS_OK;
}

/* By the content, of what is read; where that is nothing known, by the name's ending, so that the
 * message about it is that of the format which was meant. */
static enum file_kind kind_of_input(const char *path)
{
    enum file_kind kind = KIND_PB;
    struct adaps_error unknown;
    switch (ad_file_kind(path)) {
    case AD_FILE_PICTURE:
        return KIND_IMAGE;
    case AD_FILE_NPY:
        return KIND_NPY;
    case AD_FILE_OTHER:
        break;
    }
    return kind_of(path, &kind, &unknown) == ADAPS_OK ? kind : KIND_PB;
}

/* Interleaved bytes to planes of floats. */
static void image_to_planes(const struct ad_image *image, const struct ad_picture *levels,
                            float *out)
{
    size_t pixels = (size_t)image->width * (size_t)image->height;
    int channels = image->channels;
    for (int c = 0; c < channels; c++)
        for (size_t i = 0; i < pixels; i++)
            out[(size_t)c * pixels + i] =
                levels->level[c][image->pixels[i * (size_t)channels + (size_t)c]];
}

static enum adaps_status load_image(const struct ad_graph *graph, const struct ad_value *value,
                                    const char *path, bool resize, struct ad_tensor *out,
                                    struct adaps_error *err)
{
    char shape[128];
    if (value->rank != 4 || value->dims[0] != 1 || (value->dims[1] != 1 && value->dims[1] != 3))
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: a picture cannot be input '%s' of shape %s (1x1xHxW or 1x3xHxW is "
                            "needed)",
                            path, value->name,
                            ad_dims_format(value->rank, value->dims, shape, sizeof shape));
    struct ad_image_shape wanted = {(int)value->dims[3], (int)value->dims[2], (int)value->dims[1],
                                    resize};
    struct ad_image image;
    struct ad_picture levels;
    enum adaps_status status = ad_picture_init(&levels, graph, wanted.channels, err);
    if (status == ADAPS_OK)
        status = ad_image_load(path, &wanted, &image, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_tensor_init(out, value->rank, value->dims, err);
    if (status == ADAPS_OK)
        image_to_planes(&image, &levels, out->data);
    ad_image_fini(&image);
    return status;
}

/* Into a tensor of as many elements. */
static enum adaps_status take_pb(const struct ad_onnx_tensor *proto, const char *path,
                                 struct ad_tensor *out, struct adaps_error *err)
{
    if (out->type == ADAPS_FLOAT32) {
        for (size_t i = 0; i < proto->count; i++)
            out->data[i] = proto->is_float ? proto->f[i] : (float)proto->i[i];
        return ADAPS_OK;
    }
    if (proto->is_float)
        return ad_error_set(err, ADAPS_EINPUT, "%s: floats, but the network takes %s", path,
                            ad_type_name(out->type));
    size_t good = ad_convert(ADAPS_INT64, proto->i, out->type, out->data, out->count);
    if (good == out->count)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT, "%s: element %zu, %jd, is no %s", path, good,
                        (intmax_t)proto->i[good], ad_type_name(out->type));
}

static enum adaps_status load_pb(const char *path, enum adaps_type type, struct ad_tensor *out,
                                 struct adaps_error *err)
{
    struct ad_onnx_tensor proto;
    enum adaps_status status = ad_onnx_tensor_load(path, &proto, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_tensor_init_typed(out, type, proto.rank, proto.dims, err);
    if (status == ADAPS_OK && out->count != proto.count)
        status = ad_error_set(err, ADAPS_EINTERNAL, "%s: %zu elements decoded of %zu", path,
                              proto.count, out->count);
    if (status == ADAPS_OK)
        status = take_pb(&proto, path, out, err);
    ad_onnx_tensor_fini(&proto);
    return status;
}

/* Gives the tensor the input's rank when only the batch of one is missing; refuses other shapes. */
static enum adaps_status fit_shape(const struct ad_value *value, const char *path,
                                   struct ad_tensor *tensor, struct adaps_error *err)
{
    int missing = value->rank - tensor->rank;
    bool fits = missing == 0 || (missing == 1 && value->dims[0] == 1);
    for (int i = 0; fits && i < tensor->rank; i++)
        fits = tensor->dims[i] == value->dims[missing + i];
    if (!fits) {
        char has[128], wants[128];
        return ad_error_set(
            err, ADAPS_EINPUT, "%s: shape %s, but the network's input '%s' takes %s", path,
            ad_dims_format(tensor->rank, tensor->dims, has, sizeof has), value->name,
            ad_dims_format(value->rank, value->dims, wants, sizeof wants));
    }
    tensor->rank = value->rank;
    memcpy(tensor->dims, value->dims, sizeof tensor->dims);
    return ADAPS_OK;
}

enum adaps_status ad_tensor_io_load(const struct ad_graph *graph, int input, const char *path,
                                    bool resize, struct ad_tensor *out, struct adaps_error *err)
{
    const struct ad_value *value = &graph->values[graph->inputs[input]];
    enum file_kind kind = kind_of_input(path);
    enum adaps_status status;
    memset(out, 0, sizeof *out);
    if (kind == KIND_IMAGE)
        return load_image(graph, value, path, resize, out, err);
    status = kind == KIND_NPY ? ad_npy_load(path, value->type, out, err)
                              : load_pb(path, value->type, out, err);
    if (status == ADAPS_OK)
        status = fit_shape(value, path, out, err);
    if (status != ADAPS_OK)
        ad_tensor_fini(out);
    return status;
}

static uint8_t level_of(float v)
{
    if (!(v > 0)) /* NaN too */
        return 0;
    return v >= 1 ? 255 : (uint8_t)(v * 255.0f + 0.5f);
}

static enum adaps_status check_picture(const char *path, const char *name, int rank,
                                       const int64_t *dims, struct adaps_error *err)
{
    char shape[128];
    if (rank == 4 && dims[0] == 1 && (dims[1] == 1 || dims[1] == 3))
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT,
                        "%s: output '%s' of shape %s is no picture (1x1xHxW or 1x3xHxW is needed); "
                        ".npy takes any shape",
                        path, name, ad_dims_format(rank, dims, shape, sizeof shape));
}

static enum adaps_status save_image(const char *path, const char *name,
                                    const struct ad_tensor *tensor, struct adaps_error *err)
{
    const int64_t *dims = tensor->dims;
    enum adaps_status status = check_picture(path, name, tensor->rank, dims, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_image image = {(int)dims[3], (int)dims[2], (int)dims[1], NULL};
    size_t pixels = (size_t)dims[2] * (size_t)dims[3], channels = (size_t)dims[1];
    image.pixels = ad_calloc(tensor->count, 1);
    if (!image.pixels)
        return ad_error_memory(err, path, tensor->count);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < pixels; i++)
            image.pixels[i * channels + c] =
                level_of((float)ad_tensor_number(tensor, c * pixels + i));
    status = ad_image_save(path, &image, err);
    ad_image_fini(&image);
    return status;
}

enum adaps_status ad_tensor_io_check_save(const struct ad_graph *graph, int output,
                                          const char *path, struct adaps_error *err)
{
    const struct ad_value *value = &graph->values[graph->outputs[output]];
    enum file_kind kind;
    enum adaps_status status = kind_of(path, &kind, err);
    if (status == ADAPS_OK && kind == KIND_IMAGE)
        status = check_picture(path, value->name, value->rank, value->dims, err);
    return status;
}

enum adaps_status ad_tensor_io_save(const struct ad_graph *graph, int output, const char *path,
                                    const struct ad_tensor *tensor, struct adaps_error *err)
{
    const char *name = graph->values[graph->outputs[output]].name;
    enum file_kind kind;
    enum adaps_status status = kind_of(path, &kind, err);
    if (status != ADAPS_OK)
        return status;
    switch (kind) {
    case KIND_IMAGE:
        return save_image(path, name, tensor, err);
    case KIND_NPY:
        return ad_npy_save(path, tensor, err);
    case KIND_PB:
        return ad_onnx_tensor_save(path, name, tensor, err);
    }
    return ad_error_set(err, ADAPS_EINTERNAL, "%s: unknown kind of file", path);
}

/* From a byte: any of the 8 bits, else small ones, as indices are. */
static double random_integer(enum adaps_type type, uint64_t byte)
{
    switch (type) {
    case ADAPS_UINT8:
        return (double)byte;
    case ADAPS_INT8:
        return (double)byte - 128;
    case ADAPS_BOOL:
        return (double)(byte & 1);
    default:
        return (double)(byte % 10);
    }
}

enum adaps_status ad_tensor_io_random(const struct ad_graph *graph, int input, uint64_t seed,
                                      struct ad_tensor *out, struct adaps_error *err)
{
    const struct ad_value *value = &graph->values[graph->inputs[input]];
    enum adaps_status status =
        ad_tensor_init_typed(out, value->type, value->rank, value->dims, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_rng rng = {seed};
    rng.state = ad_rng_next(&rng) + (uint64_t)input;
    struct ad_picture levels;
    int channels = (int)value->box.c;
    bool picture = ad_picture_fit(graph, graph->inputs[input]) &&
                   ad_picture_init(&levels, graph, channels, NULL) == ADAPS_OK;
    size_t plane = (size_t)(value->box.h * value->box.w);
    for (size_t i = 0; i < out->count; i++) {
        uint64_t r = ad_rng_next(&rng);
        if (out->type != ADAPS_FLOAT32)
            ad_tensor_set(out, i, random_integer(out->type, r >> 56));
        else
            out->data[i] = picture ? levels.level[i / plane % (size_t)channels][r >> 56]
                                   : (float)(r >> 40) * 0x1p-24f;
    }
    return ADAPS_OK;
}
