/* What it costs to compute runs of ops without an exchange: the cost model of fused_groups.h. */
#ifndef AD_SEARCH_PUBLISHED_FUSED_MODEL_H
#define AD_SEARCH_PUBLISHED_FUSED_MODEL_H

#include "search/context.h"

/* Where a value lies, which is how the op that makes it is shared: whole on the source, or in a
 * part for each device. */
enum ad_scheme {
    AD_SCHEME_SOURCE,
    AD_SCHEME_ROWS,
    AD_SCHEME_COLUMNS,
    AD_SCHEME_GRID, /* bands of rows, each in equal parts of its columns */
    AD_SCHEME_CHANNELS,
    AD_SCHEMES
};

#define AD_SCHEME_BIT(scheme) (1u << (scheme))

/* The scheme of methods that know only bands: rows, or columns where only these are allowed. */
static inline unsigned ad_fused_bands(const struct ad_search_problem *problem)
{
    return AD_SCHEME_BIT(problem->split_h ? AD_SCHEME_ROWS : AD_SCHEME_COLUMNS);
}

struct ad_fused_options {
    const struct ad_context *context;
    const double *weight; /* of the devices: the sizes of their parts; 0: it does not take part */
    unsigned schemes;     /* AD_SCHEME_BIT()s that ops may have besides AD_SCHEME_SOURCE */
    bool through_source;  /* everything that devices exchange goes through the source */
};

/* Seconds of an op on a device: linear in what is computed of it, exact for the device's part and
 * for the whole. */
struct ad_fused_time {
    double base, element;
};

/* The parts of all ops by scheme, and what the cost model takes from the cluster. The context must
 * outlive it. */
struct ad_fused_model {
    const struct ad_context *context;
    const struct ad_graph *graph;
    int ndevices, source, columns; /* of a grid */
    int sharing;                   /* devices that take part */
    unsigned schemes;
    bool through_source;
    int *last;              /* [value]: the last op that reads it; nops: the network returns it */
    struct ad_region *part; /* [(scheme * nops + op) * ndevices + device] */
    double *share;          /* likewise: of what all devices have of the op */
    struct ad_fused_time *time;  /* likewise */
    int *cuts;                   /* [ndevices + 1], of all ops alike */
    double port[AD_MAX_DEVICES]; /* bytes/s */
    double message_s[AD_MAX_DEVICES];
    double latency; /* of the slowest link between the source and one that takes part */
};

/* ADAPS_EINTERNAL without memory. Free with ad_fused_model_fini(), on failure, too. */
AD_MUST_CHECK enum adaps_status ad_fused_model_init(struct ad_fused_model *out,
                                                    const struct ad_fused_options *options,
                                                    struct adaps_error *err);
void ad_fused_model_fini(struct ad_fused_model *model);

/* Whether the op may be shared so. */
bool ad_fused_possible(const struct ad_fused_model *model, int op, enum ad_scheme scheme);

/* How the op is laid out. end: what comes from it before op `end` is read in its group. */
struct ad_op_layout ad_fused_op_layout(const struct ad_fused_model *model, int op,
                                       enum ad_scheme scheme, int end);

/* A group that grows from its end towards the network's input. */
struct ad_fused_walk {
    const struct ad_fused_model *model;
    enum ad_scheme scheme;
    int first, end;                 /* its ops so far: [first, end) */
    double seconds[AD_MAX_DEVICES]; /* that each device computes */
    struct ad_region *want;         /* [value * ndevices + device]: what its ops read */
    int *touched, ntouched;         /* values that are wanted by some device */
    bool *is_touched;
};

AD_MUST_CHECK enum adaps_status ad_fused_walk_init(struct ad_fused_walk *out,
                                                   const struct ad_fused_model *model,
                                                   struct adaps_error *err);
void ad_fused_walk_fini(struct ad_fused_walk *walk);

/* An empty group before op `end`; for end = nops + 1: that of the network's outputs, which the
 * source wants. */
void ad_fused_walk_begin(struct ad_fused_walk *walk, enum ad_scheme scheme, int end);

/* Takes the op before it into the group. */
void ad_fused_walk_step(struct ad_fused_walk *walk);

/* The device that computes longest. */
double ad_fused_walk_seconds(const struct ad_fused_walk *walk);

/* Seconds in which the devices fetch what the group reads and they do not have. scheme_of: by op,
 * where values lie that are made before the group. */
double ad_fused_walk_exchange(const struct ad_fused_walk *walk, const uint8_t *scheme_of);

#endif
