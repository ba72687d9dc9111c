/* Shared by the files of the controller's session. */
#ifndef AD_CONTROL_SESSION_INTERNAL_H
#define AD_CONTROL_SESSION_INTERNAL_H

#include "control/link_watch.h"
#include "control/probe.h"
#include "control/remote.h"
#include "control/trace.h"

/* What each agent said in an inference. */
enum ad_reply {
    AD_REPLY_NONE,
    AD_REPLY_DONE,
    AD_REPLY_FAILED, /* with err and step */
    AD_REPLY_ABORTED /* with step */
};
struct ad_outcome {
    enum ad_reply reply;
    int step;
    struct adaps_error err;
};

/* An inference that has begun; its arrays are kept for the next in its place. */
struct ad_flight {
    uint32_t number;
    int64_t start_ns, latency_ns;
    struct ad_outcome *outcomes;     /* by remote */
    struct ad_device_stats *devices; /* by device */
    struct ad_tensor *outputs;       /* by output, when the source is done */
    struct ad_moves *moves;          /* by device, when the session has link_watch */
};

struct ad_session {
    const struct adaps_plan *plan;
    void *context;
    int64_t deadline_ns; /* how long, not when */
    uint64_t id;
    struct ad_remote *remotes; /* the agents that have a program */
    int nremotes;
    int source;                                /* index in remotes */
    uint32_t inference;                        /* of the latest that has begun, from 1 */
    struct ad_deadline deadline;               /* of the oldest that is not finished */
    int flying;                                /* the latest so many are not finished: */
    struct ad_flight flights[AD_FLIGHTS_MOST]; /* by number modulo their number */
    bool ready;                                /* open on all agents */
    bool broken;                               /* can only be closed */
    bool cancelled;                            /* that is why; nobody has failed */
    struct ad_interrupt *interrupt;            /* nullable, borrowed */
    struct ad_session_counts *counts;          /* likewise */
    int culprit;                               /* the device that is to blame for it, or -1 */
    struct ad_link_watch *link_watch;          /* NULL: not asked for, or not known */
    size_t input_bytes, output_bytes;
    bool pictures;                       /* all inputs may be: then they travel as bytes */
    struct ad_picture input_pictures[2]; /* ad_picture_of_inputs() */
};

/* --- traces (trace.c) --- */

/* By the sample of the shortest round trip, as NTP has it: offset is the other clock minus this
 * side's, within +-uncertainty whatever the way there took of the round trip. */
void ad_clock_estimate(const struct ad_clock_sample *samples, int n, int64_t *offset_ns,
                       int64_t *uncertainty_ns);

/* Estimates the offsets of all agents' clocks; `again`: keeps an earlier estimate that is better.
 * ADAPS_EAGENT names the agent. */
AD_MUST_CHECK enum adaps_status ad_session_clocks(struct ad_session *session,
                                                  struct ad_trace *trace, bool again,
                                                  struct adaps_error *err);

/* After a traced inference: everybody's times, checked, on one clock. */
AD_MUST_CHECK enum adaps_status
ad_session_fetch_trace(struct ad_session *session, struct ad_trace *trace, struct adaps_error *err);

/* Checks what an agent sent against its program and takes it over; times are the agent's.
 * ADAPS_EAGENT names the step and the value. */
AD_MUST_CHECK enum adaps_status ad_trace_take(const struct adaps_plan *plan, int device,
                                              const Adaps__Wire__Trace *trace,
                                              struct ad_device_trace *out, struct adaps_error *err);

/* Puts all devices on the clock of the source, from its begin_ns. */
AD_MUST_CHECK enum adaps_status ad_trace_align(struct ad_trace *trace, int source,
                                               struct adaps_error *err);

/* --- probes (probe.c) --- */

/* Checks what an agent answered to a PROFILE of ntasks tasks and takes it over. ADAPS_EAGENT names
 * the value. */
AD_MUST_CHECK enum adaps_status ad_probe_take(const Adaps__Wire__Profiled *profiled, int ntasks,
                                              double *seconds, struct ad_probe_times *out,
                                              struct adaps_error *err);

/* --- run.c --- */

void ad_session_drop_flights(struct ad_session *session);

/* --- failures (post_mortem.c) --- */

/* After an inference went wrong: stops the other agents, finds out where everybody was, and says
 * who is to blame: a lost agent first, then the first that failed, else the deadline. Returns the
 * status; the session is broken. */
enum adaps_status ad_session_post_mortem(struct ad_session *session, const struct ad_flight *flight,
                                         struct adaps_error *err);

#endif
