#include "serve/frigate.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static enum adaps_status parse_shape(json_t *shape, struct ad_frigate_request *out,
                                     struct adaps_error *err)
{
    bool good = json_is_array(shape) && json_array_size(shape) == 4;
    for (size_t i = 0; good && i < 4; i++) {
        json_t *dim = json_array_get(shape, i);
        out->dims[i] = json_integer_value(dim);
        good = json_is_integer(dim) && out->dims[i] >= 1 && out->dims[i] <= INT32_MAX;
    }
    return good ? ADAPS_OK
                : ad_error_set(err, ADAPS_EINPUT,
                               "the request has no shape of four numbers above 0");
}

static enum adaps_status parse_type(json_t *type, struct ad_frigate_request *out,
                                    struct adaps_error *err)
{
    const char *name = json_string_value(type);
    out->bytes = name && strcmp(name, "uint8") == 0;
    if (name && (out->bytes || strcmp(name, "float32") == 0))
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT,
                        "the request has numbers of type %s; adaps takes uint8 and "
                        "float32",
                        name ? name : "(none)");
}

static enum adaps_status parse_root(json_t *root, struct ad_frigate_request *out,
                                    struct adaps_error *err)
{
    bool asks = json_is_true(json_object_get(root, "model_request"));
    bool brings = json_is_true(json_object_get(root, "model_data"));
    if (!asks && !brings) {
        out->kind = AD_FRIGATE_TENSOR;
        enum adaps_status status = parse_shape(json_object_get(root, "shape"), out, err);
        return status == ADAPS_OK ? parse_type(json_object_get(root, "dtype"), out, err) : status;
    }
    const char *name = json_string_value(json_object_get(root, "model_name"));
    out->kind = asks ? AD_FRIGATE_MODEL_REQUEST : AD_FRIGATE_MODEL_DATA;
    if (!name)
        return ad_error_set(err, ADAPS_EINPUT, "the request about a model does not name it");
    snprintf(out->model, sizeof out->model, "%s", name);
    return ADAPS_OK;
}

enum adaps_status ad_frigate_parse(const void *header, size_t size, struct ad_frigate_request *out,
                                   struct adaps_error *err)
{
    json_error_t why;
    memset(out, 0, sizeof *out);
    if (size > AD_FRIGATE_HEADER_BYTES)
        return ad_error_set(err, ADAPS_EINPUT, "the request's header has %zu bytes, more than %d",
                            size, AD_FRIGATE_HEADER_BYTES);
    json_t *root = json_loadb(header, size, 0, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return ad_error_set(err, ADAPS_EINPUT, "the request's header is not a JSON object");
    }
    enum adaps_status status = parse_root(root, out, err);
    json_decref(root);
    return status;
}

static size_t elements(const struct ad_letterbox *input)
{
    return (size_t)input->width * (size_t)input->height * (size_t)input->levels.channels;
}

size_t ad_frigate_most_bytes(const struct ad_letterbox *input)
{
    size_t bytes = elements(input) * sizeof(float);
    return bytes > AD_FRIGATE_WRONG_BYTES ? bytes : AD_FRIGATE_WRONG_BYTES;
}

/* Whether a shape is the network's, with channels first or last. */
static bool fits(const struct ad_letterbox *input, const int64_t *dims, bool last)
{
    const int64_t c = input->levels.channels, h = input->height, w = input->width;
    const int64_t wanted[] = {1, last ? h : c, last ? w : h, last ? c : w};
    return memcmp(wanted, dims, sizeof wanted) == 0;
}

static enum adaps_status check_size(const struct ad_frigate_request *request, size_t size,
                                    const struct ad_letterbox *input, bool *last,
                                    struct adaps_error *err)
{
    size_t wanted = elements(input) * (request->bytes ? 1 : sizeof(float));
    int c = input->levels.channels, h = input->height, w = input->width;
    char dims[128];
    *last = fits(input, request->dims, input->channels_last) ? input->channels_last
                                                             : !input->channels_last;
    if (!fits(input, request->dims, *last))
        return ad_error_set(err, ADAPS_EINPUT,
                            "the picture is %s, the network takes 1x%dx%dx%d or 1x%dx%dx%d; adaps "
                            "does not resize it",
                            ad_dims_format(4, request->dims, dims, sizeof dims), h, w, c, c, h, w);
    if (input->type == ADAPS_UINT8 && !request->bytes)
        return ad_error_set(err, ADAPS_EINPUT, "the picture is of floats, the network takes uint8");
    if (size != wanted)
        return ad_error_set(err, ADAPS_EINPUT, "the picture has %zu bytes where %zu are needed",
                            size, wanted);
    return ADAPS_OK;
}

/* A plane of the network's input from that of the request. */
static void fill_plane(const struct ad_frigate_request *request, const void *data, bool last,
                       const struct ad_letterbox *input, int channel, struct ad_tensor *out)
{
    size_t plane = (size_t)input->width * (size_t)input->height;
    size_t channels = (size_t)input->levels.channels, c = (size_t)channel;
    size_t source = request->bytes && input->bgr && channels == 3 ? 2 - c : c;
    size_t from_step = last ? channels : 1, to_step = input->channels_last ? channels : 1;
    size_t from = last ? source : source * plane;
    const float *level = input->levels.level[c];
    const uint8_t *bytes = data;
    size_t to = input->channels_last ? c : c * plane;
    for (size_t i = 0; i < plane; i++, from += from_step, to += to_step)
        if (input->type == ADAPS_UINT8)
            ((uint8_t *)out->data)[to] = bytes[from];
        else if (request->bytes)
            out->data[to] = level[bytes[from]];
        else /* it may lie anywhere */
            memcpy(&out->data[to], bytes + from * sizeof(float), sizeof(float));
}

enum adaps_status ad_frigate_fill(const struct ad_frigate_request *request, const void *data,
                                  size_t size, const struct ad_letterbox *input,
                                  struct ad_tensor *out, struct adaps_error *err)
{
    bool last;
    enum adaps_status status = check_size(request, size, input, &last, err);
    if (status == ADAPS_OK && !out->data)
        status = ad_tensor_init_typed(out, input->type, input->rank, input->dims, err);
    for (int c = 0; status == ADAPS_OK && c < input->levels.channels; c++)
        fill_plane(request, data, last, input, c, out);
    return status;
}

void ad_frigate_rows(const struct ad_detections *found, const struct ad_letterbox *input,
                     float rows[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS])
{
    float w = (float)input->width, h = (float)input->height;
    memset(rows, 0, sizeof(float) * AD_FRIGATE_ROWS * AD_FRIGATE_FIELDS);
    for (int i = 0; i < found->count && i < AD_FRIGATE_ROWS; i++) {
        const struct ad_detection *d = &found->items[i];
        const float row[] = {(float)d->class, d->score, d->y0 / h, d->x0 / w, d->y1 / h, d->x1 / w};
        memcpy(rows[i], row, sizeof row);
    }
}

static char *text_of(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

char *ad_frigate_header(const char *error)
{
    return text_of(json_pack("{s:[i,i], s:s, s:s*}", "shape", AD_FRIGATE_ROWS, AD_FRIGATE_FIELDS,
                             "dtype", "float32", "error", error));
}

char *ad_frigate_model_answer(const struct ad_frigate_request *request)
{
    if (request->kind == AD_FRIGATE_MODEL_REQUEST)
        return text_of(json_pack("{s:b, s:b}", "model_available", 1, "model_loaded", 1));
    return text_of(json_pack("{s:b, s:b, s:s}", "model_saved", 0, "model_loaded", 0, "error",
                             "adaps serves the model that it was started with"));
}
