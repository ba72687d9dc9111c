/* adaps classify: what pictures show. */
#include "cli/vision_run.h"
#include "report/json.h"
#include "vision/draw.h"

#define MOST_CLASSES 1000 /* of --top */

static enum adaps_status add_json(const struct ad_vision_run *run,
                                  const struct ad_class_score *scores, int count, json_t *json,
                                  struct adaps_error *err)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        char name[128];
        ad_vision_class(run, scores[i].class, name, sizeof name);
        list =
            ad_report_json_append(list, json_pack("{s:i, s:o, s:o}", "category_id", scores[i].class,
                                                  "category", ad_report_json_text(name), "score",
                                                  ad_report_json_number((double)scores[i].score)));
    }
    return json_object_set_new(json, "classes", list) == 0 ? ADAPS_OK
                                                           : ad_error_memory(err, "JSON", 0);
}

static enum adaps_status show(struct ad_vision_run *run, struct ad_vision_picture *picture,
                              json_t *json, struct adaps_error *err)
{
    struct ad_class_score scores[MOST_CLASSES];
    int count;
    enum adaps_status status =
        ad_top(&run->vision.head, run->network.outputs, run->options->top, scores, &count, err);
    if (status != ADAPS_OK)
        return status;
    if (json)
        status = add_json(run, scores, count, json, err);
    for (int i = 0; !json && i < count; i++) {
        char name[128];
        printf("%s: %s %.4f\n", picture->name,
               ad_vision_class(run, scores[i].class, name, sizeof name), (double)scores[i].score);
    }
    if (status == ADAPS_OK && ad_vision_draws(run)) {
        const struct ad_canvas canvas = ad_vision_canvas(picture);
        ad_draw_classes(&canvas, scores, count, &run->vision.labels);
    }
    return status;
}

static int run_classify(int argc, char **argv)
{
    struct ad_vision_command options;
    int code = ad_vision_options_parse(&ad_command_classify, argc, argv, &options);
    return code == ADAPS_OK
               ? ad_vision_run(&ad_command_classify, &options, AD_VISION_CLASSIFY, show)
               : code;
}

static const struct ad_option options_table[] = {
    AD_OPT_INT("top", "N", struct ad_vision_command, top, 1, MOST_CLASSES,
               "so many classes of each picture, the likeliest first (default: 5)"),
    AD_OPT_GROUP(ad_vision_option_rows, struct ad_vision_command, place),
    AD_OPT_END,
};

const struct ad_command ad_command_classify = {
    .name = "classify",
    .arguments = "[OPTION...] PLAN|MODEL INPUT...",
    .summary = "Tell what pictures show: the likeliest classes.",
    .options = options_table,
    .notes = "INPUT: pictures, a folder that is watched, - or a FIFO with --raw, or /dev/videoN.",
    .run = run_classify,
};
