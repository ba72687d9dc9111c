/* A class for each point of the picture. */
#ifndef AD_VISION_SEMANTIC_H
#define AD_VISION_SEMANTIC_H

#include "vision/head.h"

/* The class of each pixel of the picture. */
struct ad_class_map {
    int width, height, classes; /* classes: one more than the highest there can be */
    uint16_t *class_of;         /* owned; rows from the top */
};

/* Of an answer of a head of kind AD_HEAD_MAP: scores are scaled bilinearly at half pixels and the
 * highest counts, of equal ones the lower class; class numbers are those of the nearest point.
 * ADAPS_EINPUT: another shape than the head has, or class numbers beyond 65535. */
AD_MUST_CHECK enum adaps_status ad_class_map_decode(const struct ad_head *head,
                                                    const struct ad_tensor *outputs,
                                                    const struct ad_placement *placement,
                                                    struct ad_class_map *out,
                                                    struct adaps_error *err);
void ad_class_map_fini(struct ad_class_map *map);

#endif
