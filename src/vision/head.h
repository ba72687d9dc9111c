/* The outputs of a detector, classifier or segmenter: which kind they are, and decoding of
 * detections. */
#ifndef AD_VISION_HEAD_H
#define AD_VISION_HEAD_H

#include "vision/detection.h"
#include "vision/labels.h"
#include "vision/preset.h"

#define AD_HEAD_STRIDES 5

/* How the four numbers of a box are to be read. */
enum ad_box_order {
    AD_BOXES_X0Y0X1Y1,
    AD_BOXES_Y0X0Y1X1,
    AD_BOXES_CENTRE /* x, y of the middle, w, h */
};

struct ad_head {
    enum ad_head_kind kind;
    int width, height; /* of the network's input */
    int classes;       /* 0: the outputs do not say */
    int nkeypoints;
    int keypoint_numbers; /* of each: 2 (x, y) or 3 (and a score) */
    int coefficients;     /* of masks: the prototypes' number */
    bool rows;            /* YOLOV8: anchors are rows, not columns */
    bool background;      /* SSD: class 0 is none, and the others count from 0 */
    bool by_class;        /* SSD, SELECTED: scores are classes x anchors */
    bool channels_last;   /* MAP: h x w x classes */
    enum ad_box_order order;
    int nstrides, strides[AD_HEAD_STRIDES]; /* YOLOX, NANODET */
    int bins;                               /* NANODET: of a distribution */
    /* outputs by index, -1: none */
    int main, prototypes, boxes, scores, class_numbers, selected, how_many;
};

/* What the answer is wanted for. */
enum ad_vision_task { AD_VISION_DETECT, AD_VISION_CLASSIFY, AD_VISION_SEGMENT };

struct ad_head_options {
    enum ad_vision_task task;
    const struct ad_preset *preset; /* NULL: by metadata and shapes */
    int nlabels;                    /* names that are known, 0: none: tells kinds apart */
    const enum ad_box_order *order; /* NULL: as the kind has it */
};

/* Finds out what the outputs of the network are. ADAPS_EINPUT names them with their shapes and what
 * would fit; also metadata (kpt_shape) that cannot be read. */
AD_MUST_CHECK enum adaps_status ad_head_find(struct ad_head *out, const struct ad_graph *graph,
                                             const struct ad_letterbox *input,
                                             const struct ad_head_options *options,
                                             struct adaps_error *err);

struct ad_decoding {
    double confidence;   /* least score: .25 */
    double iou;          /* boxes of a class that overlap more are one: .45 */
    int most;            /* detections: 300 */
    const bool *classes; /* by class, of `nclasses`: which count; NULL: all */
    int nclasses;
};

/* The detections of an answer of a detector's head, best first, in pixels of the picture and
 * clipped to it, into `out`, which is empty. outputs: all of the network's, with their true dims.
 * Suppresses overlapping boxes by class unless the network has done so. ADAPS_EINPUT: a shape that
 * the head does not have. */
AD_MUST_CHECK enum adaps_status ad_head_decode(const struct ad_head *head,
                                               const struct ad_tensor *outputs,
                                               const struct ad_placement *placement,
                                               const struct ad_decoding *options,
                                               struct ad_detections *out, struct adaps_error *err);

#endif
