/* The likeliest classes of a picture. */
#ifndef AD_VISION_TOP_H
#define AD_VISION_TOP_H

#include "vision/head.h"

struct ad_class_score {
    int class;
    float score; /* 0..1 */
};

/* The best of an answer of a head of kind AD_HEAD_CLASSES, at most `most`, best first, equal ones
 * by the lower class; *count tells how many. Scores are a softmax unless they are probabilities
 * already: none below 0 or above 1, and together 1. NaN comes last. ADAPS_EINPUT: another shape. */
AD_MUST_CHECK enum adaps_status ad_top(const struct ad_head *head, const struct ad_tensor *outputs,
                                       int most, struct ad_class_score *out, int *count,
                                       struct adaps_error *err);

#endif
