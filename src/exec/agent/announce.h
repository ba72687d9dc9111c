/* Announces the agent in the local network by DNS-SD, in a thread of its own, as long as Avahi's
 * daemon is there: a daemon that starts later, or starts again, is told then. */
#ifndef AD_EXEC_AGENT_ANNOUNCE_H
#define AD_EXEC_AGENT_ANNOUNCE_H

#include "wire/endpoint.h"

struct ad_announcement;

/* Begins. `name` is the agent's; what went wrong is logged with it (standard error), one line at
 * most. `key` is the public key, or "". Returns NULL where nothing is announced: on loopback, or
 * without Avahi's library. */
struct ad_announcement *ad_announce_start(const char *name, const struct ad_endpoint *bound,
                                          const char *key);

/* The agent has another key from now on. NULL is fine. */
void ad_announce_key(struct ad_announcement *announcement, const char *key);

/* Takes it back and ends. NULL is fine. */
void ad_announce_stop(struct ad_announcement *announcement);

#endif
