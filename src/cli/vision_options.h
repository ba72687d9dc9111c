/* Options of detect, classify and segment. */
#ifndef AD_CLI_VISION_OPTIONS_H
#define AD_CLI_VISION_OPTIONS_H

#include "cli/vision_network.h"
#include "vision/vision.h"

struct ad_vision_command {
    struct ad_vision_place place;
    const char *network; /* PLAN or MODEL */
    char **inputs;
    int ninputs;
    const char *output; /* FILE or DIR, or NULL */
    const char *labels; /* file, or NULL */
    const struct ad_preset *preset;
    struct ad_normalisation normalisation; /* of --mean and --std */
    bool has_mean, has_std, has_fit, has_order;
    enum ad_fit fit;
    enum ad_box_order order;
    const char *raw; /* "640x480:rgb24", or NULL */
    bool drop;
    double idle_s; /* of a folder; 0: for ever */
    double confidence, iou;
    int most;            /* detections */
    const char *classes; /* "person,3", or NULL */
    int top;             /* of classify */
};

/* The defaults. */
struct ad_vision_command ad_vision_defaults(void);

/* For a struct ad_vision_command: where and how the network runs and what it gets, of all three,
 * and of that what serve has, too; and what is found, of detect, segment and serve. */
extern const struct ad_option ad_vision_option_rows[], ad_vision_network_rows[],
    ad_vision_found_rows[];

/* Parses a command line. ADAPS_OK, or an exit code after a message. */
int ad_vision_options_parse(const struct ad_command *command, int argc, char **argv,
                            struct ad_vision_command *out);

/* What ad_vision_init() is told. `out` refers to `options`. */
struct ad_vision_options ad_vision_options_of(const struct ad_vision_command *options,
                                              enum ad_vision_task task);

/* Which detections count. *classes, to which `out` refers, is the caller's (ad_free), also after a
 * failure. ADAPS_EUSAGE: a class that the network does not have. */
AD_MUST_CHECK enum adaps_status ad_vision_decoding_of(const struct ad_vision_command *options,
                                                      const struct ad_vision *vision,
                                                      struct ad_decoding *out, bool **classes,
                                                      struct adaps_error *err);

#endif
