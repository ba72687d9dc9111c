/* What a detector finds in a picture. */
#ifndef AD_VISION_DETECTION_H
#define AD_VISION_DETECTION_H

#include "base/mem.h"

/* A person's or thing's outline as the network gives it: a coarse map, cut out around the box.
 * ad_mask_row() makes pixels of it. */
struct ad_mask {
    int x0, y0, width, height; /* the part of the network's map that is here */
    const float *logits;       /* rows from the top; above 0: inside */
    float step_x, step_y; /* pixels of the network's input that a point of the map stands for */
};

struct ad_detection {
    float x0, y0, x1, y1; /* pixels of the source picture, from its upper left corner */
    float score;          /* 0..1 */
    int class;
    int64_t candidate;      /* the network's anchor or row: ties of scores go to the lower */
    const float *keypoints; /* x, y, score of each; NULL: none */
    struct ad_mask *mask;   /* NULL: none */
};

/* Highest score first. Zero-initialised is empty. */
struct ad_detections {
    struct ad_detection *items;
    int count;
    size_t capacity;       /* of items */
    int nkeypoints;        /* of each */
    struct ad_arena arena; /* owns keypoints and masks */
};

void ad_detections_fini(struct ad_detections *detections);

#endif
