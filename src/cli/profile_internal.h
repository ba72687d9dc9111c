/* What the files of adaps profile share: profile.c (the command), profile_samples.c (what is timed
 * on every device), profile_ops.c (timing), profile_write.c (the devices
 * file), profile_report.c (what is printed beside it). */
#ifndef AD_CLI_PROFILE_INTERNAL_H
#define AD_CLI_PROFILE_INTERNAL_H

#include "control/probe.h"

#include <stdio.h>

/* One graph with an operator for each shape; ops[i] has the i-th. Weights have no data. */
AD_MUST_CHECK enum adaps_status ad_profile_graph(const char *const *shapes, int count,
                                                 struct ad_graph **out, struct adaps_error *err);

/* The shapes by which classes are measured, ended by NULL. */
extern const char *const ad_profile_samples[];

/* Times of one shape, by the number of its output's rows that were computed. */
struct ad_timed_point {
    int32_t rows;
    double seconds; /* the least of all finished turns; 0: none yet */
    double sum;     /* in this turn, added up */
    int count;      /* operators in the sum */
    bool sample;    /* timed among the samples; what is timed in a network replaces it */
};
struct ad_timed_shape {
    struct ad_shape shape;
    struct ad_timed_point points[AD_SHAPE_POINTS];
    int npoints;
};

/* Network inputs put into the engine, or outputs taken out. */
struct ad_timed_ends {
    double seconds, elements;
    bool sample; /* as of points */
};

/* What was timed of a network: a pass, and how far passes differ. */
struct ad_timed_model {
    const char *name;
    double pass_s, spread, feed_s, fetch_s;
    int passes, ops;
};

struct ad_profile_device {
    struct ad_agent_status status;
    bool timed;  /* operators were timed; else all but the links is as the devices file has it */
    int threads; /* that the operators were timed with */
    struct ad_timed_shape *shapes;
    size_t count, room;
    struct ad_timed_ends inputs, outputs;
    struct ad_timed_model *models;
    int nmodels;
    bool sampling;                     /* the samples are being timed */
    bool winograd;                     /* only layers by Winograd's algorithm are */
    double speed;                      /* as measured, of an agent that emulates a slower device */
    double seconds, turn_s;            /* that measuring took so far, and its last turn */
    double cold_bw;                    /* weights out of memory, bytes per second; 0 = not seen */
    double copy_bw;                    /* of messages to others, bytes per second; 0 = not seen */
    double message_s;                  /* processor time of a message besides copying it, */
    double byte_s;                     /* and per byte */
    struct ad_encoding_rates encoding; /* as measured */
    double slice_bytes; /* packed weights of a slice that still run at full rate; 0 = not seen */
    struct ad_cost_table table;       /* filled in the end */
    double residual[AD_COST_CLASSES]; /* median error of interpolating a sample from the others */
    int samples[AD_COST_CLASSES];
    struct ad_shapes *made; /* owned; table.shapes */
    char when[40];          /* UTC */
};
void ad_profile_device_fini(struct ad_profile_device *device);

/* Times the samples. */
AD_MUST_CHECK enum adaps_status ad_profile_classes(struct ad_probe *probe, double budget_s,
                                                   struct ad_profile_device *device,
                                                   struct adaps_error *err);

/* Measures the tile, weights that are not in a cache, and slices. */
AD_MUST_CHECK enum adaps_status ad_profile_caches(struct ad_probe *probe, double budget_s,
                                                  struct ad_profile_device *device,
                                                  struct adaps_error *err);

/* Times the operators of a network, whole and in bands, in the network's order. */
AD_MUST_CHECK enum adaps_status ad_profile_model(struct ad_probe *probe, struct ad_graph *graph,
                                                 double budget_s, struct ad_profile_device *device,
                                                 struct ad_timed_model *model,
                                                 struct adaps_error *err);

/* Ends a turn, in which everything was timed once. Of an operator's times in all turns the least
 * counts, since noise only adds. */
void ad_profile_end_turn(struct ad_profile_device *device);

/* Rates, constant, shapes and residuals from all that was timed. */
AD_MUST_CHECK enum adaps_status ad_profile_table(struct ad_profile_device *device,
                                                 struct adaps_error *err);

/* The devices file: what the input file says of addresses, keys and memory, with the measured
 * tables and links. linked: [a * ndevices + b], which links were measured. */
AD_MUST_CHECK enum adaps_status ad_profile_write(const struct ad_cluster *cluster,
                                                 const struct ad_profile_device *devices,
                                                 const bool *linked, FILE *out,
                                                 struct adaps_error *err);

/* What adaps profile --quick does with a devices file; the one with what was measured goes to out.
 * Shows what it is at on a terminal. Errors as of the probes: ADAPS_EAGENT names the agent. */
AD_MUST_CHECK enum adaps_status ad_profile_quick(const char *devices_file,
                                                 const struct ad_session_options *session,
                                                 FILE *out, struct adaps_error *err);

/* Tables of devices and links on stdout. */
AD_MUST_CHECK enum adaps_status ad_profile_print(const struct ad_cluster *cluster,
                                                 const struct ad_profile_device *devices,
                                                 struct adaps_error *err);

/* The same as JSON; linked as of ad_profile_write(). Returns the exit code, having finished stdout.
 */
int ad_profile_print_json(const struct ad_cluster *cluster, const struct ad_profile_device *devices,
                          const bool *linked);

#endif
