/* YOLO's heads, as their exporters write them: boxes are decoded in the file. */
#include "vision/decode.h"

#include <math.h>

/* What stands before the extras in a row. */
static int64_t base_fields(const struct ad_head *head)
{
    if (head->kind == AD_HEAD_ROWS)
        return 6;
    return (head->kind == AD_HEAD_YOLOV5 ? 5 : 4) + head->classes;
}

static enum adaps_status open_fields(const struct ad_decoder *d, struct ad_fields *out)
{
    const struct ad_head *head = d->head;
    int64_t extras = head->coefficients + (int64_t)head->nkeypoints * head->keypoint_numbers;
    return ad_decoder_fields(d, head->main, head->kind == AD_HEAD_YOLOV8 && !head->rows,
                             base_fields(head) + extras, out);
}

static struct ad_input_box box_of(const struct ad_fields *t, int64_t row)
{
    return ad_box_around(ad_field(t, row, 0), ad_field(t, row, 1), ad_field(t, row, 2),
                         ad_field(t, row, 3));
}

enum adaps_status ad_decode_yolov5(struct ad_decoder *d)
{
    struct ad_fields t;
    enum adaps_status status = open_fields(d, &t);
    for (int64_t i = 0; status == ADAPS_OK && i < t.rows; i++) {
        int class;
        double objectness = ad_field(&t, i, 4);
        if (!(objectness >= d->options->confidence)) /* the product is not larger */
            continue;
        double score = objectness * ad_best_class(&t, i, 5, d->head->classes, &class);
        if (ad_decoder_wants(d, class, score))
            status = ad_decoder_add(d, box_of(&t, i), class, score, i);
    }
    return status;
}

#define BLOCK 256 /* columns that are gone through together, so that memory is read along rows */

enum adaps_status ad_decode_yolov8(struct ad_decoder *d)
{
    struct ad_fields t;
    enum adaps_status status = open_fields(d, &t);
    for (int64_t first = 0; status == ADAPS_OK && first < t.rows; first += BLOCK) {
        double best[BLOCK];
        int class[BLOCK];
        int n = (int)(t.rows - first < BLOCK ? t.rows - first : BLOCK);
        for (int i = 0; i < n; i++)
            best[i] = -INFINITY;
        for (int c = 0; c < d->head->classes; c++)
            for (int i = 0; i < n; i++) {
                double score = ad_field(&t, first + i, 4 + c);
                if (score > best[i]) {
                    best[i] = score;
                    class[i] = c;
                }
            }
        for (int i = 0; status == ADAPS_OK && i < n; i++)
            if (best[i] > -INFINITY && ad_decoder_wants(d, class[i], best[i]))
                status = ad_decoder_add(d, box_of(&t, first + i), class[i], best[i], first + i);
    }
    return status;
}

enum adaps_status ad_decode_rows(struct ad_decoder *d)
{
    struct ad_fields t;
    enum adaps_status status = open_fields(d, &t);
    for (int64_t i = 0; status == ADAPS_OK && i < t.rows; i++) {
        double score = ad_field(&t, i, 4), class = nearbyint(ad_field(&t, i, 5));
        struct ad_input_box box = {ad_field(&t, i, 0), ad_field(&t, i, 1), ad_field(&t, i, 2),
                                   ad_field(&t, i, 3)};
        if (class >= 0 && class <= INT32_MAX && ad_decoder_wants(d, (int64_t) class, score))
            status = ad_decoder_add(d, box, (int64_t) class, score, i);
    }
    return status;
}

static enum adaps_status add_keypoints(struct ad_decoder *d, const struct ad_fields *t,
                                       struct ad_detection *one)
{
    const struct ad_head *head = d->head;
    int numbers = head->keypoint_numbers;
    int64_t first = base_fields(head) + head->coefficients;
    float *points = ad_arena_alloc(&d->found->arena, (size_t)head->nkeypoints, 3 * sizeof *points);
    if (!points)
        return ad_error_memory(d->err, "keypoints", (size_t)head->nkeypoints * 3 * sizeof *points);
    one->keypoints = points;
    for (int k = 0; k < head->nkeypoints; k++, points += 3) {
        int64_t at = first + (int64_t)k * numbers;
        points[0] = ad_placement_x(d->placement, (float)ad_field(t, one->candidate, at));
        points[1] = ad_placement_y(d->placement, (float)ad_field(t, one->candidate, at + 1));
        points[2] = numbers > 2 ? (float)ad_field(t, one->candidate, at + 2) : 1;
    }
    return ADAPS_OK;
}

/* The points of the prototypes' axis that pixels from..to of the picture lie between, as a range
 * within 0..size. */
static void find_range(double from, double to, double step, int size, int *first, int *count)
{
    double low = floor(from / step - 0.5), high = floor(to / step - 0.5) + 2;
    int begin = low < 0 ? 0 : low > size - 1 ? size - 1 : (int)low;
    int end = high > size ? size : high < begin + 1 ? begin + 1 : (int)high;
    *first = begin;
    *count = end - begin;
}

/* The prototypes, weighted by the candidate's coefficients and added up, around the box. */
static enum adaps_status add_mask(struct ad_decoder *d, const struct ad_fields *t,
                                  struct ad_detection *one)
{
    const struct ad_head *head = d->head;
    const struct ad_placement *p = d->placement;
    const struct ad_tensor *prototypes = &d->outputs[head->prototypes];
    int height = (int)prototypes->dims[2], width = (int)prototypes->dims[3];
    struct ad_mask *mask = ad_arena_alloc(&d->found->arena, 1, sizeof *mask);
    if (!mask)
        return ad_error_memory(d->err, "mask", sizeof *mask);
    mask->step_x = (float)head->width / (float)width;
    mask->step_y = (float)head->height / (float)height;
    find_range((double)(one->x0 * p->scale_x + p->left), (double)(one->x1 * p->scale_x + p->left),
               (double)mask->step_x, width, &mask->x0, &mask->width);
    find_range((double)(one->y0 * p->scale_y + p->top), (double)(one->y1 * p->scale_y + p->top),
               (double)mask->step_y, height, &mask->y0, &mask->height);
    size_t points = (size_t)mask->width * (size_t)mask->height;
    float *logits = ad_arena_alloc(&d->found->arena, points, sizeof *logits);
    if (!logits)
        return ad_error_memory(d->err, "mask", points * sizeof *logits);
    for (int k = 0; k < head->coefficients; k++) {
        float weight = (float)ad_field(t, one->candidate, base_fields(head) + k);
        for (int y = 0; y < mask->height; y++) {
            size_t from = ((size_t)k * (size_t)height + (size_t)(mask->y0 + y)) * (size_t)width +
                          (size_t)mask->x0;
            float *to = logits + (size_t)y * (size_t)mask->width;
            for (int x = 0; x < mask->width; x++)
                to[x] += weight * (float)ad_element(prototypes, from + (size_t)x);
        }
    }
    mask->logits = logits;
    one->mask = mask;
    return ADAPS_OK;
}

enum adaps_status ad_decode_extras(struct ad_decoder *d)
{
    const struct ad_head *head = d->head;
    struct ad_fields t;
    d->found->nkeypoints = head->nkeypoints;
    if (head->nkeypoints == 0 && head->coefficients == 0)
        return ADAPS_OK;
    enum adaps_status status = open_fields(d, &t);
    if (status == ADAPS_OK && head->coefficients > 0) {
        const struct ad_tensor *prototypes = &d->outputs[head->prototypes];
        if (prototypes->rank != 4 || prototypes->dims[1] != head->coefficients ||
            prototypes->dims[2] < 1 || prototypes->dims[3] < 1)
            status = ad_error_set(d->err, ADAPS_EINPUT, "output %d is not %d prototypes of masks",
                                  head->prototypes, head->coefficients);
    }
    for (int i = 0; status == ADAPS_OK && i < d->found->count; i++) {
        if (head->nkeypoints > 0)
            status = add_keypoints(d, &t, &d->found->items[i]);
        if (status == ADAPS_OK && head->coefficients > 0)
            status = add_mask(d, &t, &d->found->items[i]);
    }
    return status;
}
