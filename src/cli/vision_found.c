/* What a detector found, as lines and as JSON in the form of COCO's results. */
#include "cli/vision_run.h"
#include "report/json.h"
#include "vision/draw.h"

#include <inttypes.h>

static json_t *numbers(const double *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        array = ad_report_json_append(array, ad_report_json_number(values[i]));
    return array;
}

/* x, y, score of each. */
static json_t *keypoints_json(const struct ad_detection *one, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count * 3; i++)
        array = ad_report_json_append(array, ad_report_json_number((double)one->keypoints[i]));
    return array;
}

/* {"size": [height, width], "counts": "..."} and "area". */
static enum adaps_status add_mask(json_t **json, const struct ad_detection *one,
                                  const struct ad_placement *placement, struct adaps_error *err)
{
    char *text;
    int64_t area;
    enum adaps_status status = ad_mask_rle(one, placement, &text, &area, err);
    if (status != ADAPS_OK)
        return status;
    json_t *rle = json_pack("{s:[i, i], s:o}", "size", placement->height, placement->width,
                            "counts", ad_report_json_text(text));
    *json = ad_report_json_set(*json, "segmentation", rle);
    *json = ad_report_json_set(*json, "area", json_integer((json_int_t)area));
    ad_free(text);
    return ADAPS_OK;
}

static enum adaps_status add_json(const struct ad_vision_run *run,
                                  const struct ad_detections *found,
                                  const struct ad_placement *placement, json_t *json,
                                  struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    json_t *list = json_array();
    for (int i = 0; status == ADAPS_OK && i < found->count; i++) {
        const struct ad_detection *one = &found->items[i];
        char name[128];
        double box[4] = {(double)one->x0, (double)one->y0, (double)one->x1 - (double)one->x0,
                         (double)one->y1 - (double)one->y0};
        ad_vision_class(run, one->class, name, sizeof name);
        json_t *item = json_pack("{s:i, s:o, s:o, s:o}", "category_id", one->class, "category",
                                 ad_report_json_text(name), "bbox", numbers(box, 4), "score",
                                 ad_report_json_number((double)one->score));
        if (one->keypoints)
            item = ad_report_json_set(item, "keypoints", keypoints_json(one, found->nkeypoints));
        if (one->mask)
            status = add_mask(&item, one, placement, err);
        list = ad_report_json_append(list, item);
    }
    if (json_object_set_new(json, "detections", list) != 0 && status == ADAPS_OK)
        status = ad_error_memory(err, "JSON", 0);
    return status;
}

/* FILE: CLASS SCORE x0 y0 x1 y1, and pixels of the mask. */
static enum adaps_status print(const struct ad_vision_run *run, const struct ad_detections *found,
                               const struct ad_vision_picture *picture, struct adaps_error *err)
{
    for (int i = 0; i < found->count; i++) {
        const struct ad_detection *one = &found->items[i];
        char name[128], *text;
        int64_t area;
        printf("%s: %s %.3f %.1f %.1f %.1f %.1f", picture->name,
               ad_vision_class(run, one->class, name, sizeof name), (double)one->score,
               (double)one->x0, (double)one->y0, (double)one->x1, (double)one->y1);
        if (one->mask) {
            enum adaps_status status = ad_mask_rle(one, &picture->placement, &text, &area, err);
            if (status != ADAPS_OK)
                return status;
            printf(" %" PRId64, area);
            ad_free(text);
        }
        putchar('\n');
    }
    return ADAPS_OK;
}

enum adaps_status ad_vision_show_found(struct ad_vision_run *run, struct ad_vision_picture *picture,
                                       json_t *json, struct adaps_error *err)
{
    struct ad_detections found = {0};
    enum adaps_status status = ad_head_decode(&run->vision.head, run->network.outputs,
                                              &picture->placement, &run->decoding, &found, err);
    if (status == ADAPS_OK)
        status = json ? add_json(run, &found, &picture->placement, json, err)
                      : print(run, &found, picture, err);
    if (status == ADAPS_OK && ad_vision_draws(run)) {
        const struct ad_canvas canvas = ad_vision_canvas(picture);
        status = ad_draw_detections(&canvas, &found, &picture->placement, &run->vision.labels, err);
    }
    ad_detections_fini(&found);
    return status;
}
