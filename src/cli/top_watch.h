/* The agents of a devices file, asked again and again, each in a thread of its own, so that one
 * that does not answer holds up nobody. */
#ifndef AD_CLI_TOP_WATCH_H
#define AD_CLI_TOP_WATCH_H

#include "control/session.h"

/* Rates are of this many answers, and so of as many intervals but one. */
#define AD_TOP_SAMPLES 10

struct ad_top_link {
    char peer[64];
    double sent, received; /* bytes per second; NAN: not known yet */
    double messages;       /* sent per second */
    uint64_t bytes_sent;   /* since the agent's start */
};

enum ad_top_state {
    AD_TOP_ASKED, /* nothing is known yet */
    AD_TOP_ANSWERS,
    AD_TOP_NO_ANSWER /* to the latest question */
};

/* What is known of a device. */
struct ad_top_device {
    const struct ad_device *device;
    enum ad_top_state state;
    struct ad_agent_status agent; /* valid when it answers */
    struct adaps_error err;       /* when it does not */
    double rate;                  /* inferences per second; NAN: not known yet */
    struct ad_top_link links[AD_LIVE_LINKS];
    int nlinks;
};

struct ad_top_watch;

/* Begins to ask all devices, every interval_s. All is borrowed. ADAPS_EINTERNAL: a thread cannot be
 * started, or memory is short. */
AD_MUST_CHECK enum adaps_status ad_top_watch_start(const struct ad_cluster *cluster,
                                                   const struct ad_session_options *options,
                                                   double interval_s, struct ad_top_watch **out,
                                                   struct adaps_error *err);

/* Copies what is known. out: an entry per device of the cluster. Returns how many answers, good or
 * bad, have come in all. */
uint64_t ad_top_watch_look(struct ad_top_watch *watch, struct ad_top_device *out);

/* Waits until every device has answered n times, or has failed to. */
void ad_top_watch_await(struct ad_top_watch *watch, int n);

/* Whether ending would have to wait for an answer. */
bool ad_top_watch_busy(struct ad_top_watch *watch);

/* Ends the threads; those that wait for an answer end when it is there or its deadline is over.
 * NULL is fine. */
void ad_top_watch_stop(struct ad_top_watch *watch);

#endif
