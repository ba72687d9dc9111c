/* A plan in this process, without agents: an engine per device. They take turns in one thread, and
 * messages wait in memory. `run --local`, `verify`, local sessions of the public interface and the
 * tests all run plans with it. */
#ifndef AD_EXEC_ENGINE_LOCAL_RUN_H
#define AD_EXEC_ENGINE_LOCAL_RUN_H

#include "exec/engine/engine.h"

struct ad_local_run;

/* Engines for all devices of the plan, which must outlive the run; the weights are read here only.
 * threads: for computing, of each engine; 0 = what the plan's device has, but no more than this
 * machine's cores. Errors as ad_engine_new(). *out is the caller's. */
AD_MUST_CHECK enum adaps_status ad_local_run_new(const struct adaps_plan *plan, int threads,
                                                 const struct ad_weight_source *weights,
                                                 struct ad_local_run **out,
                                                 struct adaps_error *err);

/* The same of the plan for one device that computes the whole graph of `plan`: the reference
 * answer. `plan` is not needed any more afterwards. */
AD_MUST_CHECK enum adaps_status ad_local_run_single(const struct adaps_plan *plan, int threads,
                                                    const struct ad_weight_source *weights,
                                                    struct ad_local_run **out,
                                                    struct adaps_error *err);
void ad_local_run_free(struct ad_local_run *run); /* NULL is fine */

/* One inference. inputs: graph->ninputs tensors of the inputs' shapes (ADAPS_EINPUT names one of
 * another size); outputs: graph->noutputs tensors, initialised here, the caller's to finish. */
AD_MUST_CHECK enum adaps_status ad_local_run_infer(struct ad_local_run *run,
                                                   const struct ad_tensor *inputs,
                                                   struct ad_tensor *outputs,
                                                   struct adaps_error *err);

/* From any thread: the inference that is running ends soon with ADAPS_ECANCELLED, and so do others,
 * until this is taken back with false. */
void ad_local_run_cancel(struct ad_local_run *run, bool cancel);

/* The plan that it runs. */
const struct adaps_plan *ad_local_run_plan(const struct ad_local_run *run);

/* Of the latest inference, feeding and fetching included: its start and end, and those of a
 * device's step (ad_clock_ns()). */
void ad_local_run_times(const struct ad_local_run *run, int64_t *start_ns, int64_t *end_ns);
void ad_local_run_step_times(const struct ad_local_run *run, int device, int step,
                             int64_t *start_ns, int64_t *end_ns);

#endif
