/* A coarse clock that needs routes only, no pieces, so that it takes a fraction of lowering:
 * searches sort out with it what is far worse than what they have. Internal to schedule/. */
#ifndef AD_SCHEDULE_ESTIMATE_H
#define AD_SCHEDULE_ESTIMATE_H

#include "schedule/routes.h"

/* When a band of an op is computed on a device, its edges are, and messages with the rest of the
 * op's output have come. */
struct ad_band_times {
    int64_t done, edge, come;
};

struct ad_estimate {
    struct ad_lowering_context *c;
    struct ad_routes *routes;
    struct ad_band_times *at;                 /* [op * ndevices + device] */
    struct ad_band_times fed[AD_MAX_DEVICES]; /* of the network's inputs */
    int64_t clock[AD_MAX_DEVICES];
    struct ad_ports ports;
};

/* Both are borrowed. False without memory. */
AD_MUST_CHECK bool ad_estimate_init(struct ad_estimate *out, struct ad_lowering_context *c,
                                    struct ad_routes *routes);

/* About what the routed assignment takes, in ns: a fifth more or less. Without a hub, and not in
 * the graph's order. */
int64_t ad_estimate_run(struct ad_estimate *e);

#endif
