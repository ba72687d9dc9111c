/* Non-maximum suppression. */
#ifndef AD_VISION_SUPPRESS_H
#define AD_VISION_SUPPRESS_H

#include "vision/detection.h"

/* The area that two boxes share over the area that either covers; 0 for empty ones. */
double ad_box_iou(const struct ad_detection *a, const struct ad_detection *b);

/* Sorts by score, highest first, equal scores by the lower candidate; NaN is no score and is
 * dropped. */
void ad_detections_sort(struct ad_detections *detections);

/* Sorts, then drops each box that overlaps an earlier one of its class by more than iou, and all
 * after the first `most`. */
void ad_suppress(struct ad_detections *detections, double iou, int most);

#endif
