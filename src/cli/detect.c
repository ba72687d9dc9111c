/* adaps detect: boxes around things in pictures. */
#include "cli/vision_run.h"

static int run_detect(int argc, char **argv)
{
    struct ad_vision_command options;
    int code = ad_vision_options_parse(&ad_command_detect, argc, argv, &options);
    return code == ADAPS_OK
               ? ad_vision_run(&ad_command_detect, &options, AD_VISION_DETECT, ad_vision_show_found)
               : code;
}

static const struct ad_option options_table[] = {
    AD_OPT_GROUP(ad_vision_found_rows, struct ad_vision_command, place),
    AD_OPT_GROUP(ad_vision_option_rows, struct ad_vision_command, place),
    AD_OPT_END,
};

const struct ad_command ad_command_detect = {
    .name = "detect",
    .arguments = "[OPTION...] PLAN|MODEL INPUT...",
    .summary = "Find things in pictures: boxes, classes, keypoints.",
    .options = options_table,
    .notes = "INPUT: pictures, a folder that is watched, - or a FIFO with --raw, or /dev/videoN.",
    .run = run_detect,
};
