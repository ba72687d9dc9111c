/* adaps segment: which pixels of pictures belong to what. */
#include "cli/vision_run.h"
#include "report/json.h"
#include "vision/draw.h"

#include <inttypes.h>
#include <stdlib.h>

/* A class that a map has. */
struct part {
    int class;
    int64_t pixels;
};

static int by_pixels(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->pixels != y->pixels)
        return x->pixels > y->pixels ? -1 : 1;
    return x->class - y->class;
}

/* The classes that are there, the largest first. Caller frees; NULL without memory. */
static struct part *count_parts(const struct ad_class_map *map, int *count)
{
    struct part *parts = ad_calloc((size_t)map->classes, sizeof *parts);
    size_t pixels = (size_t)map->width * (size_t)map->height;
    *count = 0;
    if (!parts)
        return NULL;
    for (int c = 0; c < map->classes; c++)
        parts[c].class = c;
    for (size_t i = 0; i < pixels; i++)
        parts[map->class_of[i]].pixels++;
    qsort(parts, (size_t)map->classes, sizeof *parts, by_pixels);
    while (*count < map->classes && parts[*count].pixels > 0)
        ++*count;
    return parts;
}

/* FILE: CLASS PIXELS SHARE, or the same as JSON. */
static enum adaps_status show_parts(const struct ad_vision_run *run,
                                    const struct ad_vision_picture *picture,
                                    const struct ad_class_map *map, json_t *json,
                                    struct adaps_error *err)
{
    int count;
    struct part *parts = count_parts(map, &count);
    if (!parts)
        return ad_error_memory(err, "classes", (size_t)map->classes * sizeof *parts);
    json_t *list = json ? json_array() : NULL;
    for (int i = 0; i < count; i++) {
        char name[128];
        double share = (double)parts[i].pixels / ((double)map->width * map->height);
        ad_vision_class(run, parts[i].class, name, sizeof name);
        if (json)
            list = ad_report_json_append(
                list, json_pack("{s:i, s:o, s:I, s:f}", "category_id", parts[i].class, "category",
                                ad_report_json_text(name), "area", (json_int_t)parts[i].pixels,
                                "share", share));
        else
            printf("%s: %s %" PRId64 " %.1f%%\n", picture->name, name, parts[i].pixels,
                   share * 100);
    }
    ad_free(parts);
    return !json || json_object_set_new(json, "classes", list) == 0
               ? ADAPS_OK
               : ad_error_memory(err, "JSON", 0);
}

static enum adaps_status show_map(struct ad_vision_run *run, struct ad_vision_picture *picture,
                                  json_t *json, struct adaps_error *err)
{
    struct ad_class_map map;
    enum adaps_status status = ad_class_map_decode(&run->vision.head, run->network.outputs,
                                                   &picture->placement, &map, err);
    if (status != ADAPS_OK)
        return status;
    status = show_parts(run, picture, &map, json, err);
    if (status == ADAPS_OK && ad_vision_draws(run)) {
        const struct ad_canvas canvas = ad_vision_canvas(picture);
        ad_draw_class_map(&canvas, &map);
    }
    ad_class_map_fini(&map);
    return status;
}

/* A map of classes, or a detector's masks. */
static enum adaps_status show(struct ad_vision_run *run, struct ad_vision_picture *picture,
                              json_t *json, struct adaps_error *err)
{
    return run->vision.head.kind == AD_HEAD_MAP ? show_map(run, picture, json, err)
                                                : ad_vision_show_found(run, picture, json, err);
}

static int run_segment(int argc, char **argv)
{
    struct ad_vision_command options;
    int code = ad_vision_options_parse(&ad_command_segment, argc, argv, &options);
    return code == ADAPS_OK ? ad_vision_run(&ad_command_segment, &options, AD_VISION_SEGMENT, show)
                            : code;
}

static const struct ad_option options_table[] = {
    AD_OPT_GROUP(ad_vision_found_rows, struct ad_vision_command, place),
    AD_OPT_GROUP(ad_vision_option_rows, struct ad_vision_command, place),
    AD_OPT_END,
};

const struct ad_command ad_command_segment = {
    .name = "segment",
    .arguments = "[OPTION...] PLAN|MODEL INPUT...",
    .summary = "Tell which pixels of pictures belong to what.",
    .options = options_table,
    .notes = "INPUT: pictures, a folder that is watched, - or a FIFO with --raw, or /dev/videoN.",
    .run = run_segment,
};
