/* Pictures as network inputs. A picture's bytes become the input's floats by (byte / 255 - mean) /
 * std per channel, with `adaps.mean` and `adaps.std` of the model's metadata (default 0 and 1):
 * each channel of the input takes one of 256 levels. So a picture may travel as the bytes that it
 * was, and arrives with the same bits. */
#ifndef AD_IR_LEVELS_H
#define AD_IR_LEVELS_H

#include "ir/graph.h"

struct ad_levels {
    int channels;        /* 1 or 3 */
    float level[3][256]; /* ascending; by channel and byte */
};

/* Whether a value is an input of the network that may be a picture: NHWC with 1 or 3 channels. */
bool ad_levels_fit(const struct ad_graph *graph, int value);

/* Whether any input is, and the metadata are good: messages may have AD_ENCODING_LEVELS. */
bool ad_levels_any(const struct ad_graph *graph);

/* The levels of a picture of 1 or 3 channels. ADAPS_EINPUT when the metadata are no numbers, not as
 * many as channels (or one), or std is not positive. */
AD_MUST_CHECK enum adaps_status ad_levels_init(struct ad_levels *out, const struct ad_graph *graph,
                                               int channels, struct adaps_error *err);

#endif
