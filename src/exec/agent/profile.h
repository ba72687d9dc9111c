/* Times of operators, measured by the engine on this machine, as an inference would run them: one
 * after the other through the whole list, so that weights are as cold and inputs as warm as they
 * will be. */
#ifndef AD_EXEC_AGENT_PROFILE_H
#define AD_EXEC_AGENT_PROFILE_H

#include "plan/plan.h"

#include <stdatomic.h>

struct ad_profile_options {
    int threads;              /* 0 = the plan's */
    double speed;             /* emulated fraction of full speed, as in struct ad_engine_options */
    int64_t budget_ns;        /* for all of it, or one pass that takes longer */
    uint64_t memory;          /* bytes that it may take; 0 = no limit */
    const atomic_int *cancel; /* non-zero ends it soon */
};

struct ad_profile_times {
    double *seconds; /* by task, at the emulated speed: medians (of few passes lower quartiles), in
                        proportion such that they add up to pass_s; of two in one step the first has
                        all */
    int passes;      /* measured */
    double pass_s;   /* the same of whole passes, each after a pause of 2 ms, as inferences are */
    double spread;   /* by how much their median is above the lower quartile, as a part of it */
    double speed;    /* measured: work of the passes / time that they took */
    double feed_s, fetch_s;            /* putting inputs in, taking outputs out */
    struct ad_encoding_rates encoding; /* at the emulated speed; 0: there was no time */
    uint64_t bytes; /* that it took in memory, rather too many: weights, buffers */
};

/* Runs the tasks of device 0 of a plan (ad_plan_of_tasks()) with weights that it makes up. Free the
 * times with ad_profile_times_fini(), also after a failure. ADAPS_EAGENT when cancelled,
 * ADAPS_EINPUT when it would take too much memory: nothing has been allocated then. */
AD_MUST_CHECK enum adaps_status ad_profile_run(const struct adaps_plan *tasks,
                                               const struct ad_profile_options *options,
                                               struct ad_profile_times *out,
                                               struct adaps_error *err);
void ad_profile_times_fini(struct ad_profile_times *times);

#endif
