/* Decoding of single kinds of heads: what head.h's ad_head_decode() is made of. */
#ifndef AD_VISION_DECODE_H
#define AD_VISION_DECODE_H

#include "vision/element.h"
#include "vision/head.h"

/* The work of one answer. */
struct ad_decoder {
    const struct ad_head *head;
    const struct ad_tensor *outputs;
    const struct ad_placement *placement;
    const struct ad_decoding *options;
    struct ad_detections *found;
    struct adaps_error *err;
};

/* A box in pixels of the network's input. */
struct ad_input_box {
    double x0, y0, x1, y1;
};

static inline struct ad_input_box ad_box_around(double x, double y, double width, double height)
{
    return (struct ad_input_box){x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

/* Whether a class is wanted with this score. */
bool ad_decoder_wants(const struct ad_decoder *d, int64_t class, double score);

/* Adds a box, in pixels of the picture, not clipped. One that is not of numbers is none. */
AD_MUST_CHECK enum adaps_status ad_decoder_add(struct ad_decoder *d, struct ad_input_box box,
                                               int64_t class, double score, int64_t candidate);

/* An output that has this many rows of so many fields: fields are next to each other, or rows are.
 */
struct ad_fields {
    const struct ad_tensor *tensor;
    int64_t rows, fields;
    size_t row_step, field_step;
};

static inline double ad_field(const struct ad_fields *t, int64_t row, int64_t field)
{
    return ad_element(t->tensor, (size_t)row * t->row_step + (size_t)field * t->field_step);
}

/* The last two dims of output `output` as rows x fields, or fields x rows with `columns`.
 * ADAPS_EINPUT: it has others than 1 before them, or not `fields` fields. */
AD_MUST_CHECK enum adaps_status ad_decoder_fields(const struct ad_decoder *d, int output,
                                                  bool columns, int64_t fields,
                                                  struct ad_fields *out);

/* The class with the highest score among fields first..first+classes-1 of a row, the lowest of
 * equal ones. */
double ad_best_class(const struct ad_fields *t, int64_t row, int64_t first, int classes,
                     int *class);

AD_MUST_CHECK enum adaps_status ad_decode_yolov5(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_yolov8(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_rows(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_yolox(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_nanodet(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_ssd(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_selected(struct ad_decoder *d);
AD_MUST_CHECK enum adaps_status ad_decode_lists(struct ad_decoder *d);

/* Of what is left after suppression: masks and keypoints, from the candidates' fields. */
AD_MUST_CHECK enum adaps_status ad_decode_extras(struct ad_decoder *d);

#endif
