/* Heads with an output of boxes beside others. */
#include "vision/decode.h"

#include <math.h>

#define FRACTIONS 2.0 /* boxes without a larger number are fractions of the input, not pixels */

/* The boxes, and what their numbers are to be multiplied with. */
struct boxes {
    struct ad_fields fields;
    enum ad_box_order order;
    double x, y;
};

static enum adaps_status open_boxes(const struct ad_decoder *d, struct boxes *boxes)
{
    const struct ad_head *head = d->head;
    enum adaps_status status = ad_decoder_fields(d, head->boxes, false, 4, &boxes->fields);
    double most = 0;
    for (int64_t i = 0; status == ADAPS_OK && i < boxes->fields.rows * 4; i++)
        most = fmax(most, fabs(ad_element(boxes->fields.tensor, (size_t)i)));
    bool fractions = most <= FRACTIONS;
    boxes->order = head->order;
    boxes->x = fractions ? head->width : 1;
    boxes->y = fractions ? head->height : 1;
    return status;
}

static struct ad_input_box box_of(const struct boxes *boxes, int64_t i)
{
    double n[4];
    bool y_first = boxes->order == AD_BOXES_Y0X0Y1X1;
    for (int k = 0; k < 4; k++)
        n[k] =
            ad_field(&boxes->fields, i, y_first ? k ^ 1 : k) * ((k & 1) == 0 ? boxes->x : boxes->y);
    if (boxes->order == AD_BOXES_CENTRE)
        return ad_box_around(n[0], n[1], n[2], n[3]);
    /* NonMaxSuppression takes any two corners */
    return (struct ad_input_box){fmin(n[0], n[2]), fmin(n[1], n[3]), fmax(n[0], n[2]),
                                 fmax(n[1], n[3])};
}

static enum adaps_status open_scores(const struct ad_decoder *d, const struct boxes *boxes,
                                     struct ad_fields *scores)
{
    const struct ad_head *head = d->head;
    enum adaps_status status = ad_decoder_fields(d, head->scores, head->by_class,
                                                 head->classes + head->background, scores);
    if (status == ADAPS_OK && scores->rows != boxes->fields.rows)
        status = ad_error_set(d->err, ADAPS_EINPUT, "%lld boxes and scores of %lld",
                              (long long)boxes->fields.rows, (long long)scores->rows);
    return status;
}

/* Each class of a box that has the score counts. */
enum adaps_status ad_decode_ssd(struct ad_decoder *d)
{
    struct boxes boxes;
    struct ad_fields scores;
    int classes = d->head->classes;
    enum adaps_status status = open_boxes(d, &boxes);
    if (status == ADAPS_OK)
        status = open_scores(d, &boxes, &scores);
    for (int64_t i = 0; status == ADAPS_OK && i < scores.rows; i++)
        for (int c = 0; status == ADAPS_OK && c < classes; c++) {
            double score = ad_field(&scores, i, c + d->head->background);
            if (ad_decoder_wants(d, c, score))
                status = ad_decoder_add(d, box_of(&boxes, i), c, score, i * classes + c);
        }
    return status;
}

/* Rows of batch, class, box. */
enum adaps_status ad_decode_selected(struct ad_decoder *d)
{
    struct boxes boxes;
    struct ad_fields scores, selected;
    enum adaps_status status = open_boxes(d, &boxes);
    if (status == ADAPS_OK)
        status = open_scores(d, &boxes, &scores);
    if (status == ADAPS_OK)
        status = ad_decoder_fields(d, d->head->selected, false, 3, &selected);
    for (int64_t i = 0; status == ADAPS_OK && i < selected.rows; i++) {
        double batch = ad_field(&selected, i, 0), class = ad_field(&selected, i, 1);
        double box = ad_field(&selected, i, 2);
        if (batch != 0 || !(class >= 0 && class < d->head->classes) ||
            !(box >= 0 && box < (double)scores.rows))
            return ad_error_set(d->err, ADAPS_EINPUT,
                                "selected row %lld is batch %g, class %g, box %g of 1, %d, %lld",
                                (long long)i, batch, class, box, d->head->classes,
                                (long long)scores.rows);
        double score = ad_field(&scores, (int64_t)box, (int64_t) class);
        if (ad_decoder_wants(d, (int64_t) class, score))
            status = ad_decoder_add(d, box_of(&boxes, (int64_t)box), (int64_t) class, score, i);
    }
    return status;
}

enum adaps_status ad_decode_lists(struct ad_decoder *d)
{
    const struct ad_head *head = d->head;
    const struct ad_tensor *scores = &d->outputs[head->scores];
    const struct ad_tensor *numbers = &d->outputs[head->class_numbers];
    struct boxes boxes;
    enum adaps_status status = open_boxes(d, &boxes);
    if (status != ADAPS_OK)
        return status;
    double count = (double)boxes.fields.rows;
    if (scores->count != (size_t)boxes.fields.rows || numbers->count != scores->count)
        return ad_error_set(d->err, ADAPS_EINPUT, "%lld boxes, %zu scores, %zu class numbers",
                            (long long)boxes.fields.rows, scores->count, numbers->count);
    if (head->how_many >= 0 && d->outputs[head->how_many].count == 1)
        count = fmin(count, ad_element(&d->outputs[head->how_many], 0));
    for (int64_t i = 0; status == ADAPS_OK && (double)i < count; i++) {
        double score = ad_element(scores, (size_t)i);
        double class = nearbyint(ad_element(numbers, (size_t)i));
        if (class >= 0 && class <= INT32_MAX && ad_decoder_wants(d, (int64_t) class, score))
            status = ad_decoder_add(d, box_of(&boxes, i), (int64_t) class, score, i);
    }
    return status;
}
