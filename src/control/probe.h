/* The controller's side of measuring: operators on an agent, links between agents. */
#ifndef AD_CONTROL_PROBE_H
#define AD_CONTROL_PROBE_H

#include "control/session.h"

/* A connection to one agent for asking it to time operators. */
struct ad_probe;

/* Connects; *out and *status (what the agent says of itself) on success. ADAPS_EAGENT names it. */
AD_MUST_CHECK enum adaps_status ad_probe_open(const struct ad_device *device,
                                              const struct ad_session_options *options,
                                              struct ad_probe **out, struct ad_agent_status *status,
                                              struct adaps_error *err);
void ad_probe_close(struct ad_probe *probe); /* NULL is fine */

struct ad_probe_times {
    int passes;             /* that were measured */
    double pass_s;          /* of a pass through all tasks */
    double spread;          /* of passes: how far pass_s, the median, is above the lower quartile */
    double speed;           /* measured, when the agent emulates a slower device; else 1 */
    double feed_s, fetch_s; /* putting network inputs in, taking outputs out */
    uint64_t bytes;         /* that it took in memory */
    struct ad_encoding_rates encoding; /* 0: it did not say */
};

/* Has the agent run the tasks, one after the other and again until budget_s (of which agents take
 * at most two minutes) is over. seconds: by task, the caller's, as in the agent's engine at the
 * agent's speed. Waits for budget_s and the deadline of the options, with a sign of life all the
 * time. ADAPS_EINPUT: the agent refuses (memory). */
AD_MUST_CHECK enum adaps_status ad_probe_run(struct ad_probe *probe, const struct ad_graph *graph,
                                             const struct ad_task *tasks, int ntasks, int threads,
                                             double budget_s, double *seconds,
                                             struct ad_probe_times *out, struct adaps_error *err);

/* What a message takes between two agents: in addition to latency and bandwidth of the link, its
 * sender copies it, at so many bytes per second. */
struct ad_link_times {
    struct ad_link there, back; /* a to b, b to a; half of a round trip each is the latency */
    double copy[2];             /* at a, b */
};

/* Seconds that a round trip takes two agents, a and b: waiting, and copying and handing over what
 * they send. */
struct ad_trip_times {
    double wait[2], send[2];
};

/* What three kinds of round trips say of the links: small messages there and back, large ones there
 * and small ones back, large ones there and back. */
void ad_probe_link_times(const struct ad_trip_times *small, const struct ad_trip_times *there,
                         const struct ad_trip_times *both, double small_bytes, double large_bytes,
                         struct ad_link_times *out);

/* Times messages between two agents, which must be idle, for about budget_s. */
AD_MUST_CHECK enum adaps_status ad_probe_links(const struct ad_device *a, const struct ad_device *b,
                                               const struct ad_session_options *options,
                                               double budget_s, struct ad_link_times *out,
                                               struct adaps_error *err);

/* Seconds that a message, and each of its bytes, takes of a device's processor besides copying,
 * sent or received, while something is computed and all exchange messages. */
struct ad_message_times {
    double message_s, byte_s;
};

/* Measures that on all agents of a cluster of two at least, which must be idle, for about budget_s.
 * The cluster's links are those that were measured. out: by device. */
AD_MUST_CHECK enum adaps_status ad_probe_messages(const struct ad_cluster *cluster,
                                                  const struct ad_session_options *options,
                                                  double budget_s, struct ad_message_times *out,
                                                  struct adaps_error *err);

#endif
