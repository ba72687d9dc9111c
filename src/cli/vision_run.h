/* Pictures through a network and what was found out again: what detect, classify and segment share.
 * Pictures come from any source (io/frames.h), several are in flight on agents, answers come in
 * order. */
#ifndef AD_CLI_VISION_RUN_H
#define AD_CLI_VISION_RUN_H

#include "cli/answer.h"
#include "cli/vision_options.h"
#include "io/frames.h"

/* A picture that is on its way through the network, then its answer. */
struct ad_vision_picture {
    struct ad_source_frame frame;
    struct ad_placement placement;
    char name[256]; /* for messages and lines: of a stream with the frame's number */
};

struct ad_vision_run;

/* What a command makes of an answer, network.outputs: prints its lines, or with --json adds to the
 * picture's object `json` (NULL otherwise); draws into the picture when it will be written. */
typedef enum adaps_status ad_vision_show_fn(struct ad_vision_run *run,
                                            struct ad_vision_picture *picture, json_t *json,
                                            struct adaps_error *err);

#define AD_VISION_LATENCIES 4096 /* the latest ones, for their quantiles */

struct ad_vision_run {
    const struct ad_command *command;
    const struct ad_vision_command *options;
    ad_vision_show_fn *show;
    struct ad_vision_network network;
    struct ad_vision vision;
    struct ad_decoding decoding;
    bool *classes; /* of --classes, by number */
    struct ad_answer_names names;
    struct ad_frames *frames;
    struct ad_vision_picture flights[AD_FLIGHTS_MOST]; /* a ring, from `first` */
    int first, nflights;
    int64_t begin_ns, begun_ns, end_ns; /* of all, of the latest; of the latest answer */
    int64_t shown_ns;                   /* when the line on the terminal was written last */
    uint64_t done;
    double latencies[AD_VISION_LATENCIES]; /* ms; a ring */
};

/* The whole command. Returns the exit code. */
int ad_vision_run(const struct ad_command *command, const struct ad_vision_command *options,
                  enum ad_vision_task task, ad_vision_show_fn *show);

/* The picture's pixels, to be drawn into; whether it will be written at all. */
struct ad_canvas ad_vision_canvas(struct ad_vision_picture *picture);
bool ad_vision_draws(const struct ad_vision_run *run);

/* The class' name, cleaned, into buf; returns buf. */
char *ad_vision_class(const struct ad_vision_run *run, int class, char *buf, size_t size);

/* Boxes, with masks and keypoints, of an answer of a detector: an ad_vision_show_fn. */
enum adaps_status ad_vision_show_found(struct ad_vision_run *run, struct ad_vision_picture *picture,
                                       json_t *json, struct adaps_error *err);

#endif
