/* What a PROFILE asks an agent to time. */
#ifndef AD_EXEC_AGENT_PROFILE_REQUEST_H
#define AD_EXEC_AGENT_PROFILE_REQUEST_H

#include "plan/plan.h"
#include "wire/wire.h"

struct ad_profile_request {
    struct adaps_plan *tasks; /* owned: a plan of one device (adaps_plan_free) */
    int64_t budget_ns;
};

/* Reads a stranger's message, in time that grows with the graph. ADAPS_EINPUT: what cannot be
 * timed, or is too much. */
AD_MUST_CHECK enum adaps_status ad_profile_request_read(const Adaps__Wire__Profile *m,
                                                        struct ad_profile_request *out,
                                                        struct adaps_error *err);

#endif
