/* Routing, the first pass of lowering: which messages an assignment needs. Internal to schedule/.
 */
#ifndef AD_SCHEDULE_ROUTER_H
#define AD_SCHEDULE_ROUTER_H

#include "schedule/routes.h"

struct ad_router {
    struct ad_lowering_context *c;
    struct ad_routes *routes;
    /* Of the value being routed. */
    struct ad_region *needed;     /* by device: the hull of what it needs */
    int *first_use;               /* by device: the op that reads it first */
    struct ad_region_set missing; /* scratch */
    struct ad_transfers *into;    /* where the messages go */
    bool asked_readers;           /* what was found depends on more than the route's key */
};

/* Both are borrowed. On failure there is nothing to free. */
AD_MUST_CHECK bool ad_router_init(struct ad_router *out, struct ad_lowering_context *c,
                                  struct ad_routes *routes);
void ad_router_fini(struct ad_router *r);

/* Finds the routes of all ops and of the inputs, and collects their messages. regions: as in struct
 * ad_assignment, whose rest the context has taken. ADAPS_EINTERNAL when something is needed that
 * nobody computes. */
AD_MUST_CHECK enum adaps_status ad_router_run(struct ad_router *r, const struct ad_region *regions);

#endif
