/* What a search knows of its problem from the start: what each op allows, and how fast the devices
 * are. It does not change during a search. */
#ifndef AD_SEARCH_CONTEXT_H
#define AD_SEARCH_CONTEXT_H

#include "search/layout.h"
#include "search/problem.h"

struct ad_context {
    const struct ad_search_problem *problem;
    bool (*can)[AD_DIMS]; /* by op: may be split along that dimension (and --dims allows it) */
    bool *dense;          /* by op: one-pixel map or feature vector that may be split along c */
    bool memory_matters;  /* a device could run out of it, or it is the objective: only then may
                             maps be split along c, which divides weights but exchanges all inputs */
    bool streams_matter;  /* a device could run out of it with inferences in flight */
    bool *cut;            /* by op: ad_blocks_cuts() */
    int *segment;         /* by op: index of its segment between cuts, ascending */
    int nsegments;
    int *alike;                   /* by op: the first op of its kind, shapes and number of inputs */
    bool u8;                      /* inputs may travel as bytes */
    enum ad_encoding encoding;    /* ad_search_quickest() */
    double speed[AD_MAX_DEVICES]; /* MAC/s of convolutions */
    int order[AD_MAX_DEVICES];    /* the source, then the others by falling speed */
    int fastest;                  /* ties: the source, then the lower index */
};

AD_MUST_CHECK enum adaps_status ad_context_init(struct ad_context *out,
                                                const struct ad_search_problem *problem,
                                                struct adaps_error *err);
void ad_context_fini(struct ad_context *context);

/* The dimension in which a method that knows only bands splits the op: h, else w, else whole. */
enum ad_dim ad_context_bands(const struct ad_context *context, int op);

/* Whether edgeflow and adaps run the op whole on one device because of its type: it is of type 3
 * (ADaPS Table 2), and these are gathered, or it does not keep rows in some order next to each
 * other. */
bool ad_context_gathers(const struct ad_context *context, int op);

/* Speeds of the devices with use[d], 0 for the others. */
void ad_context_weights(const struct ad_context *context, const bool *use, double *weight);

/* log10 of how many layouts there are: per op either one of the devices, or a dimension, cuts at
 * whole rows (columns, channels) and a pin. */
double ad_context_space(const struct ad_context *context);

#endif
