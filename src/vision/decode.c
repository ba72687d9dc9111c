#include "vision/decode.h"
#include "vision/suppress.h"

#include <math.h>
#include <string.h>

bool ad_decoder_wants(const struct ad_decoder *d, int64_t class, double score)
{
    const struct ad_decoding *o = d->options;
    return score >= o->confidence && class >= 0 && class <= INT32_MAX &&
           (!o->classes || (class < o->nclasses && o->classes[class]));
}

enum adaps_status ad_decoder_add(struct ad_decoder *d, struct ad_input_box box, int64_t class,
                                 double score, int64_t candidate)
{
    struct ad_detections *found = d->found;
    const struct ad_placement *p = d->placement;
    struct ad_detection one = {.x0 = ad_placement_x(p, (float)box.x0),
                               .y0 = ad_placement_y(p, (float)box.y0),
                               .x1 = ad_placement_x(p, (float)box.x1),
                               .y1 = ad_placement_y(p, (float)box.y1),
                               .score = (float)score,
                               .class = (int)class,
                               .candidate = candidate};
    if (!isfinite(one.x0) || !isfinite(one.y0) || !isfinite(one.x1) || !isfinite(one.y1))
        return ADAPS_OK;
    if (!ad_grow(&found->items, (size_t)found->count, &found->capacity, sizeof *found->items))
        return ad_error_memory(d->err, "detections", (size_t)found->count * sizeof *found->items);
    found->items[found->count++] = one;
    return ADAPS_OK;
}

enum adaps_status ad_decoder_fields(const struct ad_decoder *d, int output, bool columns,
                                    int64_t fields, struct ad_fields *out)
{
    const struct ad_tensor *tensor = &d->outputs[output];
    int rank = tensor->rank;
    bool fits = rank >= 2;
    for (int i = 0; i < rank - 2; i++)
        fits = fits && tensor->dims[i] == 1;
    if (!fits || tensor->dims[columns ? rank - 2 : rank - 1] != fields) {
        char shape[128];
        return ad_error_set(d->err, ADAPS_EINPUT,
                            "output %d of shape %s does not have %lld fields in its %s dimension",
                            output, ad_dims_format(rank, tensor->dims, shape, sizeof shape),
                            (long long)fields, columns ? "last but one" : "last");
    }
    int64_t rows = tensor->dims[columns ? rank - 1 : rank - 2];
    *out = (struct ad_fields){.tensor = tensor,
                              .rows = rows,
                              .fields = fields,
                              .row_step = columns ? 1 : (size_t)fields,
                              .field_step = columns ? (size_t)rows : 1};
    return ADAPS_OK;
}

double ad_best_class(const struct ad_fields *t, int64_t row, int64_t first, int classes, int *class)
{
    double best = -INFINITY;
    *class = 0;
    for (int c = 0; c < classes; c++) {
        double score = ad_field(t, row, first + c);
        if (score > best) {
            best = score;
            *class = c;
        }
    }
    return best;
}

static float clip(float x, int size)
{
    return x < 0 ? 0 : x > (float)size ? (float)size : x;
}

/* To the picture; what is outside of it is dropped. */
static void clip_all(struct ad_decoder *d)
{
    struct ad_detections *found = d->found;
    int count = 0;
    for (int i = 0; i < found->count; i++) {
        struct ad_detection one = found->items[i];
        one.x0 = clip(one.x0, d->placement->width);
        one.x1 = clip(one.x1, d->placement->width);
        one.y0 = clip(one.y0, d->placement->height);
        one.y1 = clip(one.y1, d->placement->height);
        if (one.x1 > one.x0 && one.y1 > one.y0)
            found->items[count++] = one;
    }
    found->count = count;
}

static enum adaps_status decode(struct ad_decoder *d)
{
    switch (d->head->kind) {
    case AD_HEAD_YOLOV5:
        return ad_decode_yolov5(d);
    case AD_HEAD_YOLOV8:
        return ad_decode_yolov8(d);
    case AD_HEAD_ROWS:
        return ad_decode_rows(d);
    case AD_HEAD_YOLOX:
        return ad_decode_yolox(d);
    case AD_HEAD_NANODET:
        return ad_decode_nanodet(d);
    case AD_HEAD_SSD:
        return ad_decode_ssd(d);
    case AD_HEAD_SELECTED:
        return ad_decode_selected(d);
    case AD_HEAD_LISTS:
        return ad_decode_lists(d);
    case AD_HEAD_UNKNOWN:
    case AD_HEAD_CLASSES:
    case AD_HEAD_MAP:
        break;
    }
    return ad_error_set(d->err, ADAPS_EINTERNAL, "head %d is no detector's", (int)d->head->kind);
}

/* Whether the network has suppressed what overlaps. */
static bool is_suppressed(enum ad_head_kind kind)
{
    return kind == AD_HEAD_ROWS || kind == AD_HEAD_SELECTED || kind == AD_HEAD_LISTS;
}

enum adaps_status ad_head_decode(const struct ad_head *head, const struct ad_tensor *outputs,
                                 const struct ad_placement *placement,
                                 const struct ad_decoding *options, struct ad_detections *out,
                                 struct adaps_error *err)
{
    struct ad_decoder d = {head, outputs, placement, options, out, err};
    enum adaps_status status = decode(&d);
    if (status == ADAPS_OK) {
        if (is_suppressed(head->kind)) {
            ad_detections_sort(out);
            out->count = out->count < options->most ? out->count : options->most;
        } else {
            ad_suppress(out, options->iou, options->most);
        }
        clip_all(&d);
        status = ad_decode_extras(&d);
    }
    if (status != ADAPS_OK)
        ad_detections_fini(out);
    return status;
}
