/* When messages came and left in one traced inference, by step. Messages (exec/agent/outgoing.h)
 * may leave in the next inference or after the session's end: so every inference has timestamps of
 * its own, which are counted references. */
#ifndef AD_EXEC_ENGINE_TIMESTAMPS_H
#define AD_EXEC_ENGINE_TIMESTAMPS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct ad_timestamps;

/* For nsteps steps; NULL without memory. */
struct ad_timestamps *ad_timestamps_new(int nsteps);
void ad_timestamps_ref(struct ad_timestamps *timestamps);
void ad_timestamps_unref(struct ad_timestamps *timestamps); /* NULL is fine */

/* Notes now as the time of a step; as when the message of a RECV was found, waited for or not;
 * as when the message of a SEND left. */
void ad_timestamps_set(struct ad_timestamps *timestamps, int step);
void ad_timestamps_found(struct ad_timestamps *timestamps, int step, bool waited);
void ad_timestamps_leave(struct ad_timestamps *timestamps, int step);

/* The time (ad_clock_ns()) that was noted for a step; when the message of a SEND had left. 0: none.
 * Whether the message of a RECV was waited for. */
int64_t ad_timestamps_get(const struct ad_timestamps *timestamps, int step);
int64_t ad_timestamps_left(const struct ad_timestamps *timestamps, int step);
bool ad_timestamps_waited(const struct ad_timestamps *timestamps, int step);

#endif
