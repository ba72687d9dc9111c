/* The single-device answer: the whole network in this process, on one device, without agents. */
#ifndef AD_CLI_LOCAL_RUN_H
#define AD_CLI_LOCAL_RUN_H

#include "exec/engine/engine.h"
#include "control/trace.h"

struct ad_alone {
    struct adaps_plan *plan; /* owned */
    struct ad_engine *engine;
    int64_t begin_ns, end_ns; /* of the latest inference (ad_clock_ns()) */
};

/* Makes the one-device plan of plan's graph, reads the weights (from `model` when not NULL) and
 * builds the engine. threads 0 = what the plan's source device has, but no more than this machine's
 * cores. ADAPS_EINPUT: the model is not there or not the one that was planned. */
AD_MUST_CHECK enum adaps_status ad_alone_init(struct ad_alone *alone, const struct adaps_plan *plan,
                                              const char *model, int threads,
                                              struct adaps_error *err);

/* One inference. inputs: graph->ninputs tensors of the inputs' shapes; outputs: graph->noutputs
 * tensors, initialised here, the caller's to finish. *ns (may be NULL): what it took. */
AD_MUST_CHECK enum adaps_status ad_alone_run(struct ad_alone *alone, const struct ad_tensor *inputs,
                                             struct ad_tensor *outputs, int64_t *ns,
                                             struct adaps_error *err);

/* The times of the latest inference's steps; *out is the caller's (ad_trace_fini). */
AD_MUST_CHECK enum adaps_status ad_alone_trace(const struct ad_alone *alone, struct ad_trace *out,
                                               struct adaps_error *err);
void ad_alone_fini(struct ad_alone *alone);

#endif
