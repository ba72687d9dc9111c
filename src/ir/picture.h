/* Pictures as network inputs. A picture's bytes become the input's floats by (byte / 255 - mean) /
 * std per channel, with `adaps.mean` and `adaps.std` of the model's metadata (default 0 and 1):
 * each channel of the input takes one of 256 levels. So a picture may travel as the bytes that it
 * was, and arrives with the same bits. */
#ifndef AD_IR_PICTURE_H
#define AD_IR_PICTURE_H

#include "ir/graph.h"

#include <string.h>

struct ad_picture {
    int channels;        /* 1 or 3 */
    float level[3][256]; /* ascending; by channel and byte */
};

/* Whether a value is an input of the network that may be a picture: NHWC with 1 or 3 channels. */
bool ad_picture_fit(const struct ad_graph *graph, int value);

/* Whether any input is, and the metadata are good: messages may have AD_ENCODING_U8. */
bool ad_picture_any(const struct ad_graph *graph);

/* Whether all inputs are, and the metadata are good: a RUN may bring them as bytes. */
bool ad_picture_all(const struct ad_graph *graph);

/* The levels of the inputs that may be pictures: of those of 1 channel, and of 3. Returns how many
 * inputs that are; 0, with `out` undefined, when the metadata are bad. */
int ad_picture_of_inputs(const struct ad_graph *graph, struct ad_picture out[2]);

/* The levels of a picture of 1 or 3 channels. ADAPS_EINPUT when the metadata are no numbers, not as
 * many as channels (or one), or std is not positive. */
AD_MUST_CHECK enum adaps_status ad_picture_init(struct ad_picture *out,
                                                const struct ad_graph *graph, int channels,
                                                struct adaps_error *err);

/* The nearest of a channel's levels, which are one byte's step apart: scale is ad_picture_scale()
 * of them. *equal: whether x has its bits. */
static inline uint8_t ad_picture_find(const float level[256], float scale, float x, bool *equal)
{
    float at = (x - level[0]) * scale + 0.5f;
    at = at >= 0 ? at : 0; /* NaN too */
    uint8_t byte = (uint8_t)(at < 255 ? at : 255);
    *equal = memcmp(&level[byte], &x, sizeof x) == 0;
    return byte;
}

static inline float ad_picture_scale(const float level[256])
{
    return 255.0f / (level[255] - level[0]);
}

/* The count floats of an input's tensor (planes of `plane` floats, in ONNX order) as bytes. False
 * when one is not, bit for bit, one of its channel's levels: bytes is undefined then. */
bool ad_picture_encode(const struct ad_picture *levels, const float *data, size_t count,
                       size_t plane, uint8_t *bytes);

#endif
