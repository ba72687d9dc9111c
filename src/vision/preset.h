/* What is known of families of networks by their names: how they want pictures, and what their
 * outputs are. */
#ifndef AD_VISION_PRESET_H
#define AD_VISION_PRESET_H

#include "vision/letterbox.h"

enum ad_head_kind {
    AD_HEAD_UNKNOWN,
    AD_HEAD_YOLOV5,   /* rows of x, y, w, h, objectness, classes; pixels of the input */
    AD_HEAD_YOLOV8,   /* columns of x, y, w, h, classes, mask coefficients or keypoints */
    AD_HEAD_ROWS,     /* rows of x0, y0, x1, y1, score, class, ...: nothing is left to be done */
    AD_HEAD_YOLOX,    /* as YOLOV5, but of a grid's cells: offsets, logarithms of sizes */
    AD_HEAD_NANODET,  /* rows of classes, then four distributions of distances to the sides */
    AD_HEAD_SSD,      /* outputs of boxes and of scores by class */
    AD_HEAD_SELECTED, /* the same, and the indices that NonMaxSuppression selected */
    AD_HEAD_LISTS,    /* outputs of boxes, scores and classes, and perhaps of how many there are */
    AD_HEAD_CLASSES,  /* a score by class, of the whole picture */
    AD_HEAD_MAP       /* a class, or scores by class, of each point */
};

struct ad_preset {
    const char *name;
    enum ad_head_kind head; /* UNKNOWN: by the outputs' shapes */
    enum ad_fit fit;
    bool bgr;
    int nkeypoints; /* of three numbers, where the model's metadata do not say; 0: none */
    struct ad_normalisation normalisation;
};

/* NULL: there is none of this name. */
const struct ad_preset *ad_preset_find(const char *name);

/* What is assumed of a network that nothing is known of but its outputs. */
const struct ad_preset *ad_preset_default(enum ad_head_kind head);

/* "yolov5, yolov7, ..." into buf; returns buf. */
char *ad_preset_list(char *buf, size_t size);

#endif
