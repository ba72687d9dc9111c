/* How long it takes to go on with another plan when an agent is lost, predicted: until the loss is
 * known, a plan is there, agents have what they lack, have opened a session, and have done again
 * what was in flight. */
#ifndef AD_CONTROL_RECOVERY_H
#define AD_CONTROL_RECOVERY_H

#include "plan/plan.h"

/* What is known before. */
struct ad_recovery_work {
    int64_t plan_ns;       /* to have the plan */
    const uint64_t *bytes; /* to send, by device of the plan, the plan itself included */
    int inferences;        /* to do again */
    /* How many times longer than predicted opening a session and an inference took before, on these
     * agents: when they have other work, too. Below 1, and 0: as predicted. */
    double open_factor, run_factor;
};

/* The parts of a prediction, by the plan alone. The least is with the detection of an agent whose
 * process ends, the most with that of one that is silent, with the end of the old session, and
 * with what is known of the agents' slowness. */
struct ad_recovery_time {
    int64_t push_ns, open_ns, repeat_ns;
    int64_t least_ns, most_ns;
};

/* How long agents take that have the plan's weights in their cache: the slowest to load and pack
 * them, and some ways there and back. */
int64_t ad_recovery_open_ns(const struct adaps_plan *plan);

struct ad_recovery_time ad_recovery_predict(const struct adaps_plan *plan,
                                            const struct ad_recovery_work *work);

/* That of a plan's spare, when its weights are on the agents: a plan's stream is interrupted. */
AD_MUST_CHECK enum adaps_status ad_recovery_of_spare(const struct adaps_plan *plan,
                                                     const struct ad_spare *spare,
                                                     struct ad_recovery_time *out,
                                                     struct adaps_error *err);

#endif
