#include "ir/picture.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* One number for all channels, or one per channel, separated by commas. */
static enum adaps_status read_per_channel(const struct ad_graph *graph, const char *key,
                                          float fallback, int channels, float out[3],
                                          struct adaps_error *err)
{
    const char *text = ad_graph_metadata(graph, key);
    for (int c = 0; c < channels; c++)
        out[c] = fallback;
    if (!text)
        return ADAPS_OK;
    int count = 0;
    for (const char *p = text; p; count++) {
        char number[64];
        double value;
        p += strspn(p, " ");
        size_t length = strcspn(p, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 63 ? length : 63), p);
        if (count == channels || !ad_parse_double(number, -1e6, 1e6, &value))
            return ad_error_set(err, ADAPS_EINPUT,
                                "model metadata %s = '%s': 1 or %d numbers expected", key, text,
                                channels);
        out[count] = (float)value;
        p = p[length] ? p + length + 1 : NULL;
    }
    if (count != 1 && count != channels)
        return ad_error_set(err, ADAPS_EINPUT, "model metadata %s = '%s': 1 or %d numbers expected",
                            key, text, channels);
    for (int c = count; c < channels; c++)
        out[c] = out[0];
    return ADAPS_OK;
}

enum adaps_status ad_picture_init(struct ad_picture *out, const struct ad_graph *graph,
                                  int channels, struct adaps_error *err)
{
    float mean[3], std[3];
    out->channels = channels;
    enum adaps_status status = read_per_channel(graph, "adaps.mean", 0, channels, mean, err);
    if (status == ADAPS_OK)
        status = read_per_channel(graph, "adaps.std", 1, channels, std, err);
    for (int c = 0; status == ADAPS_OK && c < channels; c++) {
        if (!(std[c] > 0))
            return ad_error_set(err, ADAPS_EINPUT, "model metadata adaps.std: %g is not positive",
                                (double)std[c]);
        for (int byte = 0; byte < 256; byte++)
            out->level[c][byte] = ((float)byte / 255.0f - mean[c]) / std[c];
    }
    return status;
}

bool ad_picture_fit(const struct ad_graph *graph, int value)
{
    const struct ad_value *v = &graph->values[value];
    return v->producer < 0 && v->constant < 0 && v->format == AD_NHWC &&
           (v->box.c == 1 || v->box.c == 3);
}

int ad_picture_of_inputs(const struct ad_graph *graph, struct ad_picture out[2])
{
    int count = 0;
    for (int i = 0; i < graph->ninputs; i++) {
        if (!ad_picture_fit(graph, graph->inputs[i]))
            continue;
        int channels = (int)graph->values[graph->inputs[i]].box.c;
        if (ad_picture_init(&out[channels > 1], graph, channels, NULL) != ADAPS_OK)
            return 0;
        count++;
    }
    return count;
}

bool ad_picture_any(const struct ad_graph *graph)
{
    struct ad_picture levels[2];
    return ad_picture_of_inputs(graph, levels) > 0;
}

bool ad_picture_all(const struct ad_graph *graph)
{
    struct ad_picture levels[2];
    return graph->ninputs > 0 && ad_picture_of_inputs(graph, levels) == graph->ninputs;
}

/* Looks at four floats of a channel; not 0: one of them is no level. */
static uint32_t encode_four(const float level[256], float scale, const float *data, uint8_t *bytes)
{
    typedef float v4 __attribute__((vector_size(16)));
    typedef int32_t m4 __attribute__((vector_size(16)));
    uint32_t difference = 0, got, wanted;
    v4 x;
    memcpy(&x, data, sizeof x);
    v4 at = (x - level[0]) * scale + 0.5f;
    m4 inside = (at >= 0) & (at < 256); /* NaN is not */
    m4 byte = __builtin_convertvector((v4)((m4)at & inside), m4);
    for (int i = 0; i < 4; i++) {
        memcpy(&got, &level[byte[i]], sizeof got);
        memcpy(&wanted, data + i, sizeof wanted);
        difference |= got ^ wanted;
        bytes[i] = (uint8_t)byte[i];
    }
    return difference;
}

bool ad_picture_encode(const struct ad_picture *levels, const float *data, size_t count,
                       size_t plane, uint8_t *bytes)
{
    bool good = true;
    for (size_t first = 0, c = 0; first < count && good; first += plane, c++) {
        const float *level = levels->level[c % (size_t)levels->channels];
        float scale = ad_picture_scale(level);
        uint32_t difference = 0;
        size_t i = first, end = first + plane;
        for (; i + 4 <= end; i += 4)
            difference |= encode_four(level, scale, data + i, bytes + i);
        good = difference == 0;
        for (bool equal = good; i < end; i++, good = good && equal)
            bytes[i] = ad_picture_find(level, scale, data[i], &equal);
    }
    return good;
}
