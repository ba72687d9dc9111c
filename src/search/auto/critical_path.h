/* Where a schedule loses its time: the ops and devices on its critical path; and after which ops
 * something is exchanged. */
#ifndef AD_SEARCH_AUTO_CRITICAL_PATH_H
#define AD_SEARCH_AUTO_CRITICAL_PATH_H

#include "search/context.h"

/* A critical op, and the device that computes it there. */
struct ad_critical_op {
    int op, device;
};

/* A message's SEND. */
struct ad_sent {
    int device, step;
};

/* Zero-initialised it is empty. */
struct ad_critical_path {
    struct ad_critical_op *ops; /* from the last to the first; an op may occur more than once */
    size_t count, room;
    struct ad_sent *sent; /* by tag; scratch of a find */
    size_t sent_room;
    bool *exchanged; /* by op: something of its output is sent; NULL before the first find */
};

void ad_critical_path_fini(struct ad_critical_path *path);

/* Walks backwards from the end of a simulated schedule (tags 1 to its number of messages), always
 * to what the device waited for: a RECV that waited leads to the producer of what it received, on
 * its sender. Waits for a busy link are not followed. Fails only without memory. */
AD_MUST_CHECK enum adaps_status ad_critical_path_find(struct ad_critical_path *path,
                                                      const struct ad_graph *graph,
                                                      const struct ad_schedule *schedule,
                                                      int source, struct adaps_error *err);

#endif
