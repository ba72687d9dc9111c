/* What the simulated clocks say beyond the steps' times: the use of devices and links, and the
 * critical path, the steps and messages that the latency consists of. */
#ifndef AD_REPORT_SIMULATION_H
#define AD_REPORT_SIMULATION_H

#include "report/messages.h"

/* A part of the critical path: the interval in which everything waited for this step. */
struct ad_critical {
    int device, step;
    int64_t start_ns, end_ns;
};

struct ad_link_use {
    int from, to;
    int64_t bytes, messages, busy_ns;
};

struct ad_simulation {
    struct ad_critical *path; /* in time order, gapless unless messages wait for arrival */
    size_t npath;
    struct ad_link_use *links; /* pairs with traffic, by from, to */
    size_t nlinks;
    int64_t compute_ns, transfer_ns; /* of the path; the rest of the makespan is latency and gaps */
};

AD_MUST_CHECK enum adaps_status ad_simulation_init(struct ad_simulation *out,
                                                   const struct adaps_plan *plan,
                                                   struct adaps_error *err);
void ad_simulation_fini(struct ad_simulation *simulation);

#endif
