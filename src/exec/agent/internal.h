/* What the files of the agent's control thread share. agent.c (its life and its loop) calls
 * door.c (its socket and keys), session.c (sessions) and store.c (what needs no session); session.c
 * calls answer_profile.c (timing operators); all of them answer by answer.h. */
#ifndef AD_EXEC_AGENT_INTERNAL_H
#define AD_EXEC_AGENT_INTERNAL_H

#include "exec/agent/agent.h"
#include "exec/agent/announce.h"
#include "exec/agent/answer.h"
#include "exec/agent/errands.h"
#include "exec/agent/line.h"
#include "exec/agent/notify.h"
#include "exec/agent/worker.h"
#include "base/file.h"
#include "wire/endpoint.h"
#include "wire/socket.h"
#include "wire/visitors.h"
#include "wire/wire.h"
#include "wire/zap.h"

/* An inference that waits for the worker. */
struct ad_queued_run {
    struct ad_pending to;
    zmq_msg_t inputs;
    uint32_t deadline_ms;
    bool trace, times;
};

struct ad_agent_session {
    bool open;
    bool ending;                  /* nobody is served any more; waits for the worker */
    bool ready;                   /* connected to the peers */
    struct ad_worker_run *traced; /* the latest inference, when its times are there; or NULL */
    uint64_t id;
    uint32_t inference;      /* the oldest under way, or the latest that was */
    uint32_t asked;          /* the latest that was asked for: numbers ascend from 1 */
    int fd;                  /* of the controller's connection */
    char user[AD_KEY_BYTES]; /* the controller's key, or "" */
    int64_t begun_ns;
    int64_t heard_ns;  /* when its controller gave the latest sign of life */
    int64_t called_ns; /* when it was last called, being silent */
    int64_t used_ns; /* when it last asked for something else, or got the answer of an inference */
    struct ad_pending job, abort, close;
    struct ad_pending home; /* the request that it began with: the way to its controller */
    struct ad_pending runs[AD_STREAM_FRAMES];    /* those under way, as in worker.runs */
    struct ad_queued_run queue[AD_FLIGHTS_MOST]; /* a ring, from `first` */
    int first, queued;
};

struct ad_agent {
    const struct ad_agent_options *options;
    char name[64];
    char endpoint[300]; /* bound */
    struct ad_live live;
    bool shown; /* the audience has it */
    void *context, *monitor;
    struct ad_answer_way router;
    struct ad_notify notify;
    struct ad_announcement *announcement; /* or NULL */
    struct ad_priority priority;          /* of the thread that runs it, before */
    struct ad_keys keys, next_keys;       /* the latter are used as soon as there is no session */
    bool door_shut; /* the endpoint could not be bound with these keys: that is tried again */
    struct ad_file_state keys_state;
    int64_t look_ns; /* when to look at the files of keys again */
    struct ad_guard *guard;
    struct ad_zap *zap;
    struct ad_visitors visitors;
    int spare_fd;                 /* a descriptor for when there are no others; -1: in use */
    struct ad_cache cache;        /* the errands' thread's */
    struct ad_errands errands;    /* HELLO, HAVE, BLOB, PLAN */
    struct ad_cache_stats cached; /* when it was counted last */
    bool running_errands;         /* their thread runs */
    struct ad_worker worker;
    bool working; /* the worker's thread runs */
    struct ad_agent_session session;
    struct ad_wire_message next; /* OPEN or PROFILE that waits for the end of an idle session */
    bool has_next;
    struct ad_line line; /* who waits for it */
    uint64_t kept_for;   /* until then it is that session's controller that comes next */
    int64_t kept_until_ns;
    uint64_t instance; /* the same for nobody else */
    int64_t start_ns;
    uint64_t inferences;
};

/* Reads the keys and listens. As ad_agent_run(). */
AD_MUST_CHECK enum adaps_status ad_agent_open_door(struct ad_agent *agent,
                                                   const struct ad_endpoint *listen,
                                                   struct adaps_error *err);
void ad_agent_close_door(struct ad_agent *agent);

/* Takes what the control socket's monitor tells. */
void ad_agent_take_events(struct ad_agent *agent);

/* Whether the sender of a message may still use this agent; to be asked of every one. An error is
 * to be answered. */
AD_MUST_CHECK enum adaps_status ad_agent_admit(struct ad_agent *agent,
                                               const struct ad_wire_message *message,
                                               struct adaps_error *err);

/* Reads the files of keys again if they have changed. */
void ad_agent_look_at_keys(struct ad_agent *agent);

/* The same every now and then. Returns when to call it again (CLOCK_MONOTONIC), or INT64_MAX. */
int64_t ad_agent_watch_keys(struct ad_agent *agent, int64_t now);

/* HELLO, HAVE, BLOB, PLAN: an errand, whose answer comes from ad_agent_errands_done(). An error is
 * to be answered. */
AD_MUST_CHECK enum adaps_status
ad_agent_store(struct ad_agent *agent, struct ad_wire_message *message, struct adaps_error *err);

void ad_agent_errands_done(struct ad_agent *agent);
void ad_agent_run_errand(void *self, struct ad_errand *errand); /* in their thread */

bool ad_agent_answer_profile(struct ad_agent *agent, struct ad_pending *to);
void ad_agent_drop_profile(struct ad_agent *agent); /* its times */

/* Whether a session may begin, for an OPEN or PROFILE. `wait`: its controller waits in line;
 * `after`: the session that it closed for this one. ADAPS_NO: the request was answered, or is kept
 * until the present session has ended. */
AD_MUST_CHECK enum adaps_status ad_agent_take_turn(struct ad_agent *agent,
                                                   struct ad_wire_message *message, bool wait,
                                                   uint64_t after, struct adaps_error *err);

/* The next one is whoever closes this session, for a moment. */
void ad_agent_keep_for(struct ad_agent *agent, uint64_t session);

/* Somebody else is here. Where the present session's controller is silent, it gets a message: if it
 * is gone, its machine says so now, and not when it sends the end of the connection again. */
void ad_agent_call_controller(struct ad_agent *agent);

/* OPEN, CONNECT, RUN, TRACE, PROFILE, ABORT, CLOSE, PING, CLOCK; later answers come from
 * ad_agent_worker_done(). */
AD_MUST_CHECK enum adaps_status
ad_agent_serve(struct ad_agent *agent, struct ad_wire_message *message, struct adaps_error *err);
void ad_agent_worker_done(struct ad_agent *agent);

/* The connection is gone: its session ends, its request is not served. */
void ad_agent_lose(struct ad_agent *agent, int fd);

/* Ends the session, because `why`, as soon as the worker lets go. */
void ad_agent_end_session(struct ad_agent *agent, const char *why);

/* Forgets the session. Requires an idle worker. */
void ad_agent_free_session(struct ad_agent *agent);

/* Ends the session when its controller cannot be reached any more. Returns when to look again
 * (CLOCK_MONOTONIC), or INT64_MAX. */
int64_t ad_agent_check_controller(struct ad_agent *agent, int64_t now);

#endif
