/* What a network makes of pictures, in one struct: how they go in, what kind of answer comes out,
 * and the classes' names. */
#ifndef AD_VISION_VISION_H
#define AD_VISION_VISION_H

#include "vision/head.h"

struct ad_vision {
    struct ad_letterbox input;
    struct ad_head head;
    struct ad_labels labels;
};

/* What is not said comes from the model's metadata, else from the preset, else from what the kind
 * of head usually wants. */
struct ad_vision_options {
    enum ad_vision_task task;
    const struct ad_preset *preset;               /* NULL: by metadata and shapes */
    const char *labels;                           /* a file of names, or NULL */
    const struct ad_normalisation *normalisation; /* or NULL */
    const enum ad_fit *fit;                       /* or NULL */
    const enum ad_box_order *order;               /* or NULL */
};

/* Errors are those of ad_letterbox_init(), ad_labels_of_graph(), ad_labels_load() and
 * ad_head_find(). On success the caller's. */
AD_MUST_CHECK enum adaps_status ad_vision_init(struct ad_vision *out, const struct ad_graph *graph,
                                               const struct ad_vision_options *options,
                                               struct adaps_error *err);
void ad_vision_fini(struct ad_vision *vision);

#endif
