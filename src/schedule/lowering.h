/* Lowering: an assignment becomes programs, its parts in the order in which they work. Internal to
 * schedule/. */
#ifndef AD_SCHEDULE_LOWERING_H
#define AD_SCHEDULE_LOWERING_H

#include "schedule/estimate.h"
#include "schedule/graph_order.h"
#include "schedule/order.h"
#include "schedule/router.h"

struct ad_step_lowering {
    struct ad_lowering_context context;
    struct ad_routes routes;
    struct ad_router router;
    struct ad_estimate estimate; /* of what the router has found */
    struct ad_emitter emitter;
    struct ad_graph_order graph_order; /* one of these emits the steps */
    struct ad_task_order task_order;
    bool over; /* the last assignment takes longer than its limit; its programs are not complete */
};

/* Room for a graph and cluster. clocks: borrowed. reused: for many assignments. It must not move.
 * On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_lowering_init(struct ad_step_lowering *out,
                                                 const struct ad_graph *graph,
                                                 const struct ad_cluster *cluster,
                                                 struct ad_clocks *clocks, bool reused,
                                                 struct adaps_error *err);
void ad_lowering_fini(struct ad_step_lowering *l);

/* Takes an assignment and routes it. */
AD_MUST_CHECK enum adaps_status ad_lowering_start(struct ad_step_lowering *l,
                                                  const struct ad_assignment *assignment);

/* Makes the programs of what is routed: what the clocks need of them and, with a schedule, their
 * steps, in its arrays if it has any. May give up (`over`) what is sure to take longer than
 * limit_ns. */
AD_MUST_CHECK enum adaps_status ad_lowering_finish(struct ad_step_lowering *l, int64_t limit_ns,
                                                   struct ad_schedule *schedule);

/* Both, without a limit. The regions must be allowed. */
AD_MUST_CHECK enum adaps_status ad_lowering_run(struct ad_step_lowering *l,
                                                const struct ad_assignment *assignment,
                                                struct ad_schedule *schedule);

#endif
