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
};

/* The parts of a prediction. Detection takes half a second at most for an agent whose process ends,
 * and about two for one that is silent (docs/faults.md): least_ns and most_ns have these. */
struct ad_recovery_time {
    int64_t push_ns, open_ns, repeat_ns;
    int64_t least_ns, most_ns;
};

struct ad_recovery_time ad_recovery_predict(const struct adaps_plan *plan,
                                            const struct ad_recovery_work *work);

/* That of a plan's spare, when its weights are on the agents: a plan's stream is interrupted. */
AD_MUST_CHECK enum adaps_status ad_recovery_of_spare(const struct adaps_plan *plan,
                                                     const struct ad_spare *spare,
                                                     struct ad_recovery_time *out,
                                                     struct adaps_error *err);

#endif
