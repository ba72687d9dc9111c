/* The weights of a plan's model: found beside the plan, checked, read only when somebody asks. */
#ifndef AD_MODEL_WEIGHTS_H
#define AD_MODEL_WEIGHTS_H

#include "exec/engine/local_run.h"
#include "plan/weight_source.h"

struct ad_model_weights {
    const struct adaps_plan *plan; /* borrowed, as long as this is used */
    const char *model;             /* borrowed: the model's file; NULL = where the plan says */
    struct ad_graph *graph;        /* of the model, once it is open */
};

/* Reads nothing yet. */
void ad_model_weights_init(struct ad_model_weights *weights, const struct adaps_plan *plan,
                           const char *model);

/* Imports the model again, with the plan's sizes for symbolic dimensions, and compares the digests
 * of its weights; their numbers stay in the file. Nothing is to be done for a plan that was just
 * compiled: its graph has them. ADAPS_EINPUT: the model is not there (every place is named) or not
 * the one that was planned. */
AD_MUST_CHECK enum adaps_status ad_model_weights_open(struct ad_model_weights *weights,
                                                      struct adaps_error *err);

/* The graph that has the numbers, once they are open. */
const struct ad_graph *ad_model_weights_graph(const struct ad_model_weights *weights);

/* A source that opens the model when it is first read; errors are those of opening, too. `weights`
 * must outlive it. */
struct ad_weight_source ad_model_weights_source(struct ad_model_weights *weights);
void ad_model_weights_fini(struct ad_model_weights *weights);

/* The plan's graph on one device in this process (exec/engine/local_run.h) with the weights of its
 * model. `plan` is not needed any more afterwards. */
AD_MUST_CHECK enum adaps_status ad_model_local_run(const struct adaps_plan *plan, const char *model,
                                                   int threads, struct ad_local_run **out,
                                                   struct adaps_error *err);

#endif
