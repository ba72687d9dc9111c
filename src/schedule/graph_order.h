/* Tasks in the order of the graph, each after the RECVs that it waits for and before the SENDs of
 * its result. Internal to schedule/. */
#ifndef AD_SCHEDULE_GRAPH_ORDER_H
#define AD_SCHEDULE_GRAPH_ORDER_H

#include "schedule/emit.h"
#include "schedule/routes.h"

struct ad_graph_order {
    struct ad_lowering_context *c;
    struct ad_routes *routes;
    struct ad_emitter *emitter;
    size_t *start, *waiting; /* by op: the messages that it waits for */
    size_t waiting_room;
};

/* All are borrowed. On failure there is nothing to free. */
AD_MUST_CHECK bool ad_graph_order_init(struct ad_graph_order *out, struct ad_lowering_context *c,
                                       struct ad_routes *routes, struct ad_emitter *emitter);
void ad_graph_order_fini(struct ad_graph_order *g);

/* Emits the steps of all devices; the emitter has started. False without memory. */
AD_MUST_CHECK bool ad_graph_order_run(struct ad_graph_order *g);

#endif
