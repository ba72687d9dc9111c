/* The controller's side: pushing a plan to agents, running inferences on them, asking for their
 * state. Every wait has a deadline; every failure names the agent, the step and the cause. */
#ifndef AD_CONTROL_SESSION_H
#define AD_CONTROL_SESSION_H

#include "base/health.h"
#include "base/interrupt.h"
#include "wire/frame.h"
#include "control/trace.h"
#include "exec/kernels/choice.h"
#include "plan/weight_source.h"
#include "wire/live.h"

struct ad_session_options {
    /* For opening a session as a whole, then for each inference; a push may have nothing move for
     * so long. Only the time in which this process was awake counts. 0 = 30 */
    double deadline_s;
    const char *key_file; /* this side's CURVE key pair; NULL = the default place if it exists */
    /* Called for coarse progress ("push", done, total bytes); may be NULL. */
    void (*progress)(void *self, const char *what, uint64_t done, uint64_t total);
    void *progress_self;
    /* An agent that serves another controller is waited for, in line, so many seconds at most; 0:
     * not at all. waiting(waiting_self, ...) tells what for, again and again; may be NULL. before:
     * how many controllers come before this one, the one that is served included. */
    double wait_s;
    void (*waiting)(void *self, const char *what, int before, double waited_s);
    void *waiting_self;
    uint64_t after; /* what ad_session_leave() returned of the session before; 0: none */
    /* Agents say with each answer when messages were handed over and there, for the links of struct
     * ad_run_stats. */
    bool message_times;
    /* What sessions with these options do is counted here; borrowed until they are closed; NULL:
     * nowhere. */
    struct ad_session_counts *counts;
    /* Ends ad_session_finish() from another thread; NULL: nobody does. */
    struct ad_interrupt *interrupt;
};

/* What a push moved, per device. */
struct ad_push_report {
    uint64_t weight_bytes_needed; /* of the device's slices, spares included */
    uint64_t weight_bytes_sent;   /* 0 on a second push of the same plan */
    int blobs_needed, blobs_sent;
    uint64_t plan_bytes_sent;
};

/* Sends every agent the plan and the slices it lacks, also those that only the plan's spares need,
 * unless its cache has no room for these. Agents that only spares give work to get their weights if
 * they are there. `reports` has plan->cluster.ndevices entries.
 * Other devices whose program is empty are not contacted. `weights` is read only when something is
 * missing; NULL for a plan without weights. ADAPS_EAGENT names the agent; ADAPS_EINPUT: the model
 * file cannot be read. */
AD_MUST_CHECK enum adaps_status ad_push(const struct adaps_plan *plan,
                                        const struct ad_session_options *options,
                                        const struct ad_weight_source *weights,
                                        struct ad_push_report *reports, struct adaps_error *err);

struct ad_session;

/* Connects to all agents that have a program, loads the plan there (it must have been pushed:
 * ADAPS_EAGENT names the agent that lacks it otherwise), connects them with each other. */
AD_MUST_CHECK enum adaps_status ad_session_open(const struct adaps_plan *plan,
                                                const struct ad_session_options *options,
                                                struct ad_session **out, struct adaps_error *err);

/* Measured on one device in one inference. */
struct ad_device_stats {
    int64_t compute_ns;                 /* sum of COMPUTE steps */
    int64_t wait_ns;                    /* sum of RECV steps */
    int64_t total_ns;                   /* first step's start to last step's end */
    uint64_t bytes_sent, messages_sent; /* payload to other agents */
};

struct ad_run_stats {
    int64_t latency_ns;              /* at the source agent: input there -> result there */
    int64_t wall_ns;                 /* at the controller: call to return */
    struct ad_device_stats *devices; /* caller's array of ndevices, or NULL */
    double *links; /* caller's array of [from * ndevices + to], or NULL: how long messages took, as
                      factors of what the plan has (link_watch.h); 0: not known */
    struct ad_trace
        *trace; /* NULL, or initialised for the plan: the inference is traced. Takes a few
                   round trips to each agent before and after it, outside of wall_ns */
};

/* One inference. inputs: graph->ninputs tensors in ONNX order (shapes are checked: ADAPS_EINPUT
 * names the input, both shapes). outputs: graph->noutputs tensors, initialised here, the caller's
 * to free. After an ADAPS_EAGENT failure the session can only be closed. */
AD_MUST_CHECK enum adaps_status ad_session_run(struct ad_session *session,
                                               const struct ad_tensor *inputs,
                                               struct ad_tensor *outputs,
                                               struct ad_run_stats *stats, struct adaps_error *err);

/* The same for what it tells: of a network of one input, which is zeros, and one output, which is
 * thrown away. */
AD_MUST_CHECK enum adaps_status ad_session_run_zeros(struct ad_session *session,
                                                     struct ad_run_stats *stats,
                                                     struct adaps_error *err);

/* The same in two parts, so that several inferences are in flight: agents that have done their part
 * of one begin the next, and inputs travel meanwhile. Answers come in the order of the inputs. At
 * most AD_FLIGHTS_MOST; inputs are copied. ADAPS_EUSAGE: too many, or none to finish. A failure is
 * that of all in flight. stats->trace is not used; wall_ns counts from the beginning. With an
 * interrupt, finishing may return ADAPS_NO, woken before the answer was there: then it is called
 * again; or ADAPS_ECANCELLED: then the session can only be closed. */
AD_MUST_CHECK enum adaps_status ad_session_begin(struct ad_session *session,
                                                 const struct ad_tensor *inputs,
                                                 struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_session_finish(struct ad_session *session,
                                                  struct ad_tensor *outputs,
                                                  struct ad_run_stats *stats,
                                                  struct adaps_error *err);

/* After a failure: which agents are lost, or to blame for it. lost: by device, filled. Returns
 * whether there is any; a failure may be known before it is known whose it is. */
bool ad_session_lost(const struct ad_session *session, bool *lost);
void ad_session_close(struct ad_session *session);

/* The same, to open another session of this controller at once (ad_session_options.after): whoever
 * is in line lets it. */
uint64_t ad_session_leave(struct ad_session *session);

/* Why an agent could not be asked, as far as it is known for sure. */
enum ad_agent_trouble {
    AD_TROUBLE_NONE,        /* none, or another one */
    AD_TROUBLE_KEY,         /* it does not take the key that the devices file has for it */
    AD_TROUBLE_NO_KEY,      /* it wants keys, and the devices file has none for it */
    AD_TROUBLE_NOT_ALLOWED, /* this side's key is not on its list */
    AD_TROUBLE_CLOSES,      /* it closes every connection before the handshake is over */
    AD_TROUBLE_PROTOCOL     /* it speaks another version of the protocol: */
};

/* What may make an agent's machine slow, or let it fail. */
struct ad_agent_health {
    bool known; /* false: an older agent, or one that was busy with its disk */
    struct ad_health machine;
    struct ad_interface interface; /* by which it talks to this side */
    int64_t ahead_ns; /* its clock of the day against this side's, exact to the round trip */
    uint64_t cache_limit, cache_free;
    bool cache_free_known;
    char cache_dir[200], cache_trouble[200]; /* the latter "": it can be written */
};

/* An agent's own account of itself. */
struct ad_agent_status {
    char name[64], version[32], machine[64]; /* name the agent was given, "x86_64 Linux 6.1" */
    int cores, threads;
    double speed;         /* emulated, 1 = full */
    double load1;         /* 1-minute load average */
    char cpu[64];         /* "Cortex-A76", "" when unknown */
    double frequency_hz;  /* NAN when the machine does not say */
    double temperature_c; /* NAN when the machine does not say */
    uint64_t memory_total, memory_available, cache_bytes;
    int cached_blobs, cached_plans;
    bool busy;                      /* a session is open */
    uint64_t inferences;            /* since its start */
    int64_t uptime_ns, rtt_ns;      /* rtt of this question */
    struct ad_kernel_facts kernels; /* no rows when the agent does not say */
    bool tells;                     /* what it does: older agents do not */
    struct ad_live_seen live;
};
AD_MUST_CHECK enum adaps_status ad_agent_query(const struct ad_device *device,
                                               const struct ad_session_options *options,
                                               struct ad_agent_status *out,
                                               struct adaps_error *err);

/* The same, and the health of its machine (nullable), which takes the agent up to a second longer.
 * *trouble: when it fails, why; *protocol: the version that the other side speaks, with
 * AD_TROUBLE_PROTOCOL.
 */
AD_MUST_CHECK enum adaps_status
ad_agent_examine(const struct ad_device *device, const struct ad_session_options *options,
                 struct ad_agent_status *out, struct ad_agent_health *health,
                 enum ad_agent_trouble *trouble, int *protocol, struct adaps_error *err);

#endif
