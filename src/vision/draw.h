/* What was found, drawn into the picture. */
#ifndef AD_VISION_DRAW_H
#define AD_VISION_DRAW_H

#include "vision/labels.h"
#include "vision/mask.h"
#include "vision/semantic.h"
#include "vision/top.h"

/* A picture to draw into: rows of width * 3 bytes, red first. Borrowed. */
struct ad_canvas {
    uint8_t *rgb;
    int width, height;
};

/* Masks, then boxes, keypoints, and labels "person 87%". */
AD_MUST_CHECK enum adaps_status ad_draw_detections(const struct ad_canvas *canvas,
                                                   const struct ad_detections *detections,
                                                   const struct ad_placement *placement,
                                                   const struct ad_labels *labels,
                                                   struct adaps_error *err);

/* Each class has a colour; class 0 stays as it is. The map has the canvas' size. */
void ad_draw_class_map(const struct ad_canvas *canvas, const struct ad_class_map *map);

/* A line for each, at the upper left. */
void ad_draw_classes(const struct ad_canvas *canvas, const struct ad_class_score *scores, int count,
                     const struct ad_labels *labels);

/* The colour of a class, 3 bytes. */
void ad_class_colour(int class, uint8_t rgb[3]);

#endif
