#include "cli/metrics_option.h"
#include "cli/vision_options.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define VISION struct ad_vision_command

struct ad_vision_command ad_vision_defaults(void)
{
    return (struct ad_vision_command){
        .confidence = 0.25,
        .iou = 0.45,
        .most = 300,
        .top = 5,
        .normalisation = {.std = {1, 1, 1}},
    };
}

static int take_preset(const struct ad_command *command, const char *name, void *preset)
{
    char list[256];
    *(const struct ad_preset **)preset = ad_preset_find(name);
    return ad_preset_find(name) ? ADAPS_OK
                                : ad_cli_usage(command, "--preset %s: there are %s", name,
                                               ad_preset_list(list, sizeof list));
}

/* One number for all channels, or three. */
static bool parse_channels(const char *text, double from, float out[3])
{
    int count = 0;
    for (const char *p = text; p; count++) {
        char number[64];
        double value;
        size_t length = strcspn(p, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 63 ? length : 63), p);
        if (count == 3 || !ad_parse_double(number, -1e6, 1e6, &value) || value < from)
            return false;
        out[count] = (float)value;
        p = p[length] ? p + length + 1 : NULL;
    }
    if (count == 1)
        out[1] = out[2] = out[0];
    return count == 1 || count == 3;
}

static int take_mean(const struct ad_command *command, const char *text, void *variables)
{
    VISION *options = variables;
    options->has_mean = true;
    return parse_channels(text, -1e6, options->normalisation.mean)
               ? ADAPS_OK
               : ad_cli_usage(command, "--mean %s: 1 or 3 numbers are wanted, as 0.5,0.5,0.5",
                              text);
}

static int take_std(const struct ad_command *command, const char *text, void *variables)
{
    VISION *options = variables;
    options->has_std = true;
    return parse_channels(text, 1e-6, options->normalisation.std)
               ? ADAPS_OK
               : ad_cli_usage(command,
                              "--std %s: 1 or 3 numbers above 0 are wanted, as 0.25,0.25,0.25",
                              text);
}

static int take_fit(const struct ad_command *command, const char *text, void *variables)
{
    VISION *options = variables;
    options->has_fit = true;
    return ad_fit_find(text, &options->fit)
               ? ADAPS_OK
               : ad_cli_usage(command, "--fit %s: letterbox, corner, stretch, crop or centre",
                              text);
}

static int take_boxes(const struct ad_command *command, const char *text, void *variables)
{
    static const char *const names[] = {
        [AD_BOXES_X0Y0X1Y1] = "xyxy", [AD_BOXES_Y0X0Y1X1] = "yxyx", [AD_BOXES_CENTRE] = "centre"};
    VISION *options = variables;
    options->has_order = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            options->order = (enum ad_box_order)i;
            return ADAPS_OK;
        }
    return ad_cli_usage(command, "--boxes %s: xyxy, yxyx or centre", text);
}

const struct ad_option ad_vision_network_rows[] = {
    AD_OPT_CALL("preset", "NAME", VISION, preset, take_preset,
                "the family of the network, where its file does not say: yolov8,\n"
                "yolox, nanodet, ssd, imagenet, ..."),
    AD_OPT_TEXT(0, "labels", "FILE", VISION, labels, "the classes' names, one a line"),
    AD_OPT_CALL_STRUCT("mean", "M[,M,M]", take_mean,
                       "the input is (byte / 255 - mean) / std, by channel"),
    AD_OPT_CALL_STRUCT("std", "S[,S,S]", take_std, "as --mean"),
    AD_OPT_FLAG(0, "local", VISION, place.local,
                "run in this process, on one device, without agents"),
    AD_OPT_INT("threads", "N", VISION, place.threads, 1, 64,
               "compute threads in this process (default: the cores)"),
    AD_OPT_FLAG(0, "failover", VISION, place.failover,
                "when an agent is lost, go on with the others"),
    AD_OPT_END,
};

const struct ad_option ad_vision_option_rows[] = {
    AD_OPT_TEXT('o', "output", "FILE|DIR", VISION, output,
                "write the picture with what was found; for several inputs a folder, or\n"
                "a name with %d in it"),
    AD_OPT_GROUP(ad_vision_network_rows, VISION, place),
    AD_OPT_CALL_STRUCT("fit", "WAY", take_fit,
                       "how a picture fits into the input: letterbox, corner, stretch,\n"
                       "crop or centre"),
    AD_OPT_TEXT(0, "raw", "WxH:FORMAT", VISION, raw,
                "the input is a stream of raw frames, as 640x480:rgb24"),
    AD_OPT_FLAG(0, "drop", VISION, drop,
                "the latest frame counts: drop those that come while the network is\n"
                "busy"),
    AD_OPT_SECONDS("idle", "TIME", VISION, idle_s, 0, AD_MOST_SECONDS, "10s",
                   "end when a folder gets no new picture for so long (default: never)"),
    AD_OPT_INT("in-flight", "N", VISION, place.in_flight, 1, AD_FLIGHTS_MOST,
               "pictures on the agents at a time, 1 to 32"),
    AD_OPT_GROUP(ad_run_option_rows, VISION, place.shared),
    AD_OPT_GROUP(ad_metrics_option_rows, VISION, place.shared.session),
    AD_OPT_END,
};

const struct ad_option ad_vision_found_rows[] = {
    AD_OPT_REAL("conf", "F", VISION, confidence, 0, 1, "least score of a box (default: 0.25)"),
    AD_OPT_REAL("iou", "F", VISION, iou, 0, 1,
                "of two boxes of a class that share more than this part of their area\n"
                "the better counts (default: 0.45)"),
    AD_OPT_TEXT(0, "classes", "LIST", VISION, classes,
                "only these classes: names or numbers, separated by commas"),
    AD_OPT_INT("max-det", "N", VISION, most, 1, 100000, "most boxes of a picture (default: 300)"),
    AD_OPT_CALL_STRUCT("boxes", "ORDER", take_boxes,
                       "how an output of boxes is to be read, where its kind leaves that open:\n"
                       "xyxy, yxyx or centre"),
    AD_OPT_END,
};

int ad_vision_options_parse(const struct ad_command *command, int argc, char **argv,
                            struct ad_vision_command *out)
{
    struct ad_operands operands;
    *out = ad_vision_defaults();
    int code = ad_options_parse(command, argc, argv, out, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count < 2)
        return ad_cli_usage(command, "PLAN or MODEL and at least one INPUT expected");
    if (out->place.local && out->place.shared.devices)
        return ad_cli_usage(command, "--devices and --local exclude each other");
    if (out->place.failover && out->place.local)
        return ad_cli_usage(command, "--failover does not go with --local");
    out->network = operands.items[0];
    out->inputs = operands.items + 1;
    out->ninputs = operands.count - 1;
    return ADAPS_OK;
}

struct ad_vision_options ad_vision_options_of(const struct ad_vision_command *options,
                                              enum ad_vision_task task)
{
    bool normalises = options->has_mean || options->has_std;
    return (struct ad_vision_options){
        .task = task,
        .preset = options->preset,
        .labels = options->labels,
        .normalisation = normalises ? &options->normalisation : NULL,
        .fit = options->has_fit ? &options->fit : NULL,
        .order = options->has_order ? &options->order : NULL,
    };
}

/* --classes: names or numbers. */
static enum adaps_status find_classes(const char *list, const struct ad_vision *vision,
                                      struct ad_decoding *decoding, bool **classes,
                                      struct adaps_error *err)
{
    const struct ad_labels *labels = &vision->labels;
    int n = vision->head.classes > labels->count ? vision->head.classes : labels->count;
    if (!list)
        return ADAPS_OK;
    n = n > 0 ? n : 65536; /* the outputs do not say how many there are */
    *classes = ad_calloc((size_t)n, sizeof **classes);
    if (!*classes)
        return ad_error_memory(err, "classes", (size_t)n);
    for (const char *p = list; p;) {
        size_t length = strcspn(p, ",");
        char *name = ad_strndup(p, length);
        if (!name)
            return ad_error_memory(err, "classes", length);
        int class = ad_labels_find(labels, name);
        enum adaps_status status = ADAPS_OK;
        if (class < 0 || class >= n)
            status = ad_error_set(err, ADAPS_EUSAGE, "--classes %s: the network has no class '%s'",
                                  list, name);
        else
            (*classes)[class] = true;
        ad_free(name);
        if (status != ADAPS_OK)
            return status;
        p = p[length] ? p + length + 1 : NULL;
    }
    decoding->classes = *classes;
    decoding->nclasses = n;
    return ADAPS_OK;
}

enum adaps_status ad_vision_decoding_of(const struct ad_vision_command *options,
                                        const struct ad_vision *vision, struct ad_decoding *out,
                                        bool **classes, struct adaps_error *err)
{
    *classes = NULL;
    *out = (struct ad_decoding){
        .confidence = options->confidence, .iou = options->iou, .most = options->most};
    return find_classes(options->classes, vision, out, classes, err);
}
