/* What an agent does now, and has done since its start: counters that the worker and the control
 * thread keep while they work, for WELCOME and for metrics. Counting takes no lock and waits for
 * nobody. Reading does not hold up the worker either, but where it takes another plan. */
#ifndef AD_EXEC_AGENT_LIVE_H
#define AD_EXEC_AGENT_LIVE_H

#include "metrics/exposition.h"
#include "plan/plan.h"
#include "wire/live.h"

#include <pthread.h>

/* The share of time that is spent computing is that of the latest seconds. */
#define AD_LIVE_SECONDS 10
#define AD_LIVE_SLOTS 16 /* more, since one is being filled */

/* With a peer, or with all controllers. Bytes of payload, without heads and encryption. */
struct ad_live_link {
    char name[64];
    atomic_uint_least64_t bytes_sent, messages_sent, bytes_received, messages_received;
};

struct ad_live {
    int64_t start_ns; /* CLOCK_MONOTONIC */
    atomic_uint_least64_t begun, done, failed[AD_LIVE_ERRORS], sessions;
    atomic_int_least64_t compute_ns, waiting_ns;
    struct ad_durations durations; /* of inferences, at the source */
    struct {
        atomic_int_least64_t second, busy_ns;
    } slots[AD_LIVE_SLOTS];
    atomic_int doing, step, steps, op;
    atomic_int_least64_t since_ns;   /* when computing began; 0: not computing */
    atomic_int_least64_t session_ns; /* when the session was opened; 0: none is */
    struct ad_live_link controller;
    atomic_uint_least64_t cache_bytes;

    pthread_mutex_t mutex; /* of what follows */
    const struct adaps_plan *plan;
    struct ad_live_link links[AD_LIVE_LINKS]; /* their names; not the numbers */
    int nlinks;
};

void ad_live_init(struct ad_live *live);
void ad_live_fini(struct ad_live *live);

/* --- by the worker --- */

/* The plan in use, which is borrowed until another or NULL takes its place. */
void ad_live_set_plan(struct ad_live *live, const struct adaps_plan *plan);

/* The link with the peer of that name, for counting. Stays valid as long as live does. */
struct ad_live_link *ad_live_link(struct ad_live *live, const char *peer);

void ad_live_begin(struct ad_live *live);
void ad_live_step(struct ad_live *live, enum ad_live_doing doing, int step, int steps);
void ad_live_computed(struct ad_live *live, int64_t start_ns, int64_t end_ns);
void ad_live_wait(struct ad_live *live); /* begins */
void ad_live_waited(struct ad_live *live, int64_t ns);
void ad_live_rest(struct ad_live *live); /* nothing is under way */

/* An inference that has ended, which took so long at the source; -1 elsewhere. */
void ad_live_done(struct ad_live *live, int64_t latency_ns);
void ad_live_failed(struct ad_live *live, enum ad_live_error error);

/* --- by who moves messages --- */

void ad_live_sent(struct ad_live_link *link, uint64_t bytes);     /* NULL is fine */
void ad_live_received(struct ad_live_link *link, uint64_t bytes); /* likewise */

/* --- by the control thread --- */

void ad_live_set_session(struct ad_live *live, bool open);

/* --- by anybody --- */

/* All metrics of the agent of that name. root: as in base/health.h. */
void ad_live_write(struct ad_live *live, const char *name, const char *root,
                   struct ad_exposition *out);

/* The share of the time from the beginning of a second, AD_LIVE_SECONDS ago or up to one less,
 * until now (CLOCK_MONOTONIC) that was spent computing, 0 to 1. */
double ad_live_busy(const struct ad_live *live, int64_t now_ns);

void ad_live_look(struct ad_live *live, struct ad_live_seen *out);

#endif
