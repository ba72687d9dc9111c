#include "vision/letterbox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAD 114
#define ONE 2048 /* of weights: 11 bits, so that four products fit 32 */

bool ad_fit_find(const char *name, enum ad_fit *out)
{
    static const char *const names[AD_FIT_COUNT] = {"letterbox", "corner", "stretch", "crop",
                                                    "centre"};
    for (int i = 0; i < AD_FIT_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum ad_fit)i;
            return true;
        }
    return false;
}

void ad_letterbox_normalise(struct ad_letterbox *box, const struct ad_normalisation *how)
{
    for (int c = 0; c < box->levels.channels; c++)
        for (int byte = 0; byte < 256; byte++) {
            float level = how->bytes ? (float)byte : (float)byte / 255.0f;
            box->levels.level[c][byte] = (level - how->mean[c]) / how->std[c];
        }
}

static bool is_channels(int64_t n)
{
    return n == 1 || n == 3;
}

enum adaps_status ad_letterbox_init(struct ad_letterbox *out, const struct ad_graph *graph,
                                    const struct ad_normalisation *otherwise,
                                    struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    if (graph->ninputs != 1)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the network has %d inputs; pictures go into networks with one",
                            graph->ninputs);
    const struct ad_value *value = &graph->values[graph->inputs[0]];
    const int64_t *dims = value->dims;
    bool first = value->rank == 4 && is_channels(dims[1]);
    if (value->rank != 4 || dims[0] != 1 || (!first && !is_channels(dims[3]))) {
        char shape[128];
        return ad_error_set(err, ADAPS_EINPUT,
                            "input '%s' of shape %s takes no picture (1x1xHxW, 1x3xHxW, 1xHxWx1 or "
                            "1xHxWx3 does)",
                            value->name, ad_dims_format(value->rank, dims, shape, sizeof shape));
    }
    if (value->type != ADAPS_FLOAT32 && value->type != ADAPS_UINT8)
        return ad_error_set(err, ADAPS_EINPUT,
                            "input '%s' is of type %s; pictures are float32 or uint8", value->name,
                            ad_type_name(value->type));
    out->type = value->type;
    out->rank = value->rank;
    memcpy(out->dims, dims, sizeof out->dims);
    out->channels_last = !first;
    out->height = (int)dims[first ? 2 : 1];
    out->width = (int)dims[first ? 3 : 2];
    out->pad = PAD;
    enum adaps_status status = ad_picture_init(&out->levels, graph, (int)dims[first ? 1 : 3], err);
    bool told = ad_graph_metadata(graph, "adaps.mean") || ad_graph_metadata(graph, "adaps.std");
    if (status == ADAPS_OK && otherwise && !told)
        ad_letterbox_normalise(out, otherwise);
    return status;
}

static int rounded_size(double size)
{
    return size < 1 ? 1 : size > 1e6 ? 1000000 : (int)lround(size);
}

struct ad_placement ad_letterbox_place(const struct ad_letterbox *box, int width, int height)
{
    double by_width = (double)box->width / width, by_height = (double)box->height / height;
    double x = fmin(by_width, by_height), y;
    if (box->fit == AD_FIT_CROP || box->fit == AD_FIT_CENTRE)
        x = fmax(by_width, by_height) * (box->fit == AD_FIT_CENTRE ? 8.0 / 7 : 1);
    y = x;
    if (box->fit == AD_FIT_STRETCH) {
        x = by_width;
        y = by_height;
    }
    int scaled_width = rounded_size(width * x), scaled_height = rounded_size(height * y);
    struct ad_placement place = {.width = width,
                                 .height = height,
                                 .scale_x = (float)((double)scaled_width / width),
                                 .scale_y = (float)((double)scaled_height / height)};
    if (box->fit == AD_FIT_CORNER)
        return place;
    /* an odd rest: the smaller half is before the picture */
    place.left = (float)floor((box->width - scaled_width) / 2.0);
    place.top = (float)floor((box->height - scaled_height) / 2.0);
    return place;
}

/* The two neighbours of a point of the input along one axis, and the second one's weight. */
struct tap {
    int from, to; /* -1: outside of the picture */
    uint32_t weight;
};

static void find_taps(struct tap *taps, int count, int size, float scale, float start)
{
    for (int i = 0; i < count; i++) {
        double scaled = rounded_size(size * (double)scale), at = i - (double)start;
        taps[i] = (struct tap){-1, -1, 0};
        if (at < 0 || at >= scaled)
            continue;
        double point = (at + 0.5) * size / scaled - 0.5;
        point = point < 0 ? 0 : point > size - 1 ? size - 1 : point;
        taps[i].from = (int)point;
        taps[i].to = taps[i].from + 1 < size ? taps[i].from + 1 : taps[i].from;
        taps[i].weight = (uint32_t)((point - taps[i].from) * ONE + 0.5);
    }
}

/* One row of the input as bytes, three a pixel. */
static void blend_row(const struct ad_letterbox *box, const uint8_t *rgb, int width,
                      const struct tap *columns, const struct tap *row, uint8_t *out)
{
    size_t line = (size_t)width * 3;
    for (int x = 0; x < box->width; x++, out += 3) {
        const struct tap *column = &columns[x];
        if (row->from < 0 || column->from < 0) {
            memset(out, box->pad, 3);
            continue;
        }
        const uint8_t *upper = rgb + (size_t)row->from * line,
                      *lower = rgb + (size_t)row->to * line;
        size_t left = (size_t)column->from * 3, right = (size_t)column->to * 3;
        for (int c = 0; c < 3; c++) {
            uint32_t above = upper[left + (size_t)c] * (ONE - column->weight) +
                             upper[right + (size_t)c] * column->weight;
            uint32_t below = lower[left + (size_t)c] * (ONE - column->weight) +
                             lower[right + (size_t)c] * column->weight;
            out[c] = (uint8_t)((above * (ONE - row->weight) + below * row->weight + ONE * ONE / 2) /
                               (ONE * ONE));
        }
    }
}

/* The bytes of a row as levels, or as they are, in the input's order. */
static void write_row(const struct ad_letterbox *box, uint8_t *row, int y, struct ad_tensor *out)
{
    int channels = box->levels.channels;
    if (channels == 1)
        for (int x = 0; x < box->width; x++) {
            const uint8_t *p = row + (size_t)x * 3;
            row[x] = (uint8_t)((p[0] * 77 + p[1] * 150 + p[2] * 29) >> 8);
        }
    size_t plane = (size_t)box->width * (size_t)box->height;
    size_t first = (size_t)y * (size_t)box->width;
    for (int c = 0; c < channels; c++) {
        const float *level = box->levels.level[c];
        const uint8_t *from = row + (box->bgr && channels == 3 ? 2 - c : c);
        size_t step = box->channels_last ? (size_t)channels : 1;
        size_t at = box->channels_last ? first * step + (size_t)c : (size_t)c * plane + first;
        if (box->type == ADAPS_UINT8) {
            uint8_t *to = (uint8_t *)out->data + at;
            for (int x = 0; x < box->width; x++)
                to[(size_t)x * step] = from[(size_t)x * (size_t)channels];
            continue;
        }
        float *to = out->data + at;
        for (int x = 0; x < box->width; x++)
            to[(size_t)x * step] = level[from[(size_t)x * (size_t)channels]];
    }
}

enum adaps_status ad_letterbox_fill(const struct ad_letterbox *box, const uint8_t *rgb, int width,
                                    int height, struct ad_tensor *out, struct adaps_error *err)
{
    struct ad_placement place = ad_letterbox_place(box, width, height);
    enum adaps_status status = ADAPS_OK;
    size_t ntaps = (size_t)box->width + (size_t)box->height;
    struct tap *columns = ad_calloc(ntaps, sizeof *columns);
    uint8_t *row = ad_calloc((size_t)box->width, 3);
    if (!columns || !row)
        status = ad_error_memory(err, "scaling a picture", ntaps * sizeof *columns);
    if (status == ADAPS_OK && !out->data)
        status = ad_tensor_init_typed(out, box->type, box->rank, box->dims, err);
    if (status == ADAPS_OK) {
        struct tap *rows = columns + box->width;
        find_taps(columns, box->width, width, place.scale_x, place.left);
        find_taps(rows, box->height, height, place.scale_y, place.top);
        for (int y = 0; y < box->height; y++) {
            blend_row(box, rgb, width, columns, &rows[y], row);
            write_row(box, row, y, out);
        }
    }
    ad_free(columns);
    ad_free(row);
    return status;
}
