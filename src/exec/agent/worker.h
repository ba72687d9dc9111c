/* The agent's compute thread: holds the engines of the plan loaded last and the data connections of
 * the session. The control thread gives it one job at a time, or inferences, and keeps answering
 * meanwhile.
 *
 * While a job is under way, job and result belong to the worker, and so does an inference that was
 * posted until it is done; otherwise they belong to the control thread. */
#ifndef AD_EXEC_AGENT_WORKER_H
#define AD_EXEC_AGENT_WORKER_H

#include "base/priority.h"
#include "exec/agent/cache.h"
#include "exec/agent/live.h"
#include "exec/agent/peer_links.h"
#include "exec/agent/profile.h"
#include "exec/agent/speeds.h"
#include "wire/wire.h"

#include <pthread.h>
#include <stdatomic.h>

enum ad_job_kind {
    AD_JOB_NONE,
    AD_JOB_LOAD,    /* plan, device, session, peers -> engine built, ports open */
    AD_JOB_JOIN,    /* peers with endpoints, deadline -> connected */
    AD_JOB_PROFILE, /* request -> times; the engine goes */
    AD_JOB_CLOSE,   /* closes the data connections; the engine stays */
    AD_JOB_QUIT
};

struct ad_job {
    enum ad_job_kind kind;
    struct ad_digest plan;
    int device;
    uint64_t session;
    int64_t deadline_ns; /* CLOCK_MONOTONIC */
    struct ad_peer peers[AD_MAX_DEVICES];
    int npeers;
    Adaps__Wire__Profile *request; /* PROFILE; the worker reads and frees it */
};

struct ad_job_result {
    enum adaps_status status;
    struct adaps_error err;
    struct ad_profile_times times; /* PROFILE: the control thread's */
    int ntasks;                    /* PROFILE: that were timed */
};

/* Network inputs or outputs at the source, one after the other; empty on other devices. */
struct ad_ends {
    float *data;
    size_t bytes;
};

/* How an inference went. ADAPS_NO: it was given up since another one failed. */
struct ad_run_result {
    enum adaps_status status;
    struct adaps_error err;
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    int64_t latency_ns, compute_ns, wait_ns, total_ns;
    uint64_t bytes_sent, messages_sent;
};

/* One inference at a time. */
struct ad_worker_run {
    /* set before it is posted */
    uint32_t inference;
    int64_t deadline_ns;
    bool trace;            /* keep the times for ad_worker_times() */
    bool times;            /* keep those of messages for ad_worker_moved() */
    bool pictures;         /* inputs are bytes, not floats */
    struct ad_ends inputs; /* filled; the memory is the worker's */

    /* valid when it is done */
    struct ad_ends outputs;
    struct ad_run_result result;
    atomic_int step; /* where it is or failed */
    bool taken;      /* posted, and not taken back: the control thread's view */

    /* the worker's */
    bool posted, done; /* under the mutex */
    bool active, begun;
    struct ad_worker_engine *head, *tail; /* of the steps before step `rest` and from there on;
                                             NULL: not yet, or there are none */
    int rest;
    int64_t number; /* inferences that were begun before it */
    const struct ad_program *program;
    int next;                         /* step */
    bool waiting;                     /* for a message */
    int64_t first_ns, last_ns;        /* of the steps */
    struct ad_timestamps *timestamps; /* when it is traced, or times are kept */
};

/* Of one of the plan's turns, for one inference at a time. Where a device has buffers for fewer
 * than are in flight, inferences take turns with the heads, and each has a tail. */
struct ad_worker_engine {
    int turn;
    enum ad_engine_part part;
    int rest; /* of the turn's program: the first step that is its tail's */
    bool busy;
    struct ad_engine *engine;
};

struct ad_worker {
    /* set by the owner before start */
    const struct ad_cache *cache;
    struct ad_live *live;
    const struct ad_keys *keys;
    struct ad_guard *guard;
    void *context;
    char host[256]; /* where to listen for peers */
    struct ad_speeds speeds;
    int threads;
    struct ad_priority priority; /* of the thread */

    struct ad_job job;
    struct ad_job_result result;
    struct ad_worker_run *runs; /* as many as the plan has in flight */
    int nruns;
    size_t input_bytes; /* of an inference, at the source; else 0 */
    struct ad_peer_links links;
    bool busy;   /* with a job: the control thread's view */
    int running; /* inferences posted and not taken: likewise */
    int done_fd; /* readable when a job or an inference is done: then call ad_worker_finish() */

    /* the worker's */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    bool has_job, done; /* under the mutex */
    atomic_int cancel;
    int wake_fd;
    struct adaps_plan *plan;
    struct ad_worker_engine *engines; /* the first makes what all share */
    int nengines;
    struct ad_cached *weights; /* the engines', as many as the device has slices */
    int nweights;
    int device;
    int64_t begun;           /* inferences, since its start */
    bool pictures;           /* ad_picture_all() of the plan: inputs may be bytes */
    struct ad_digest loaded; /* digest of plan, when there are engines */
};

AD_MUST_CHECK enum adaps_status ad_worker_start(struct ad_worker *worker, struct adaps_error *err);

/* Cancels what is under way, ends the thread, frees everything. */
void ad_worker_stop(struct ad_worker *worker);

/* Forgets the plan. Requires an idle worker, and no session. */
void ad_worker_unload(struct ad_worker *worker);

/* Starts worker->job. Requires an idle worker. */
void ad_worker_post(struct ad_worker *worker);

/* A run that may be filled and posted, or NULL: all are under way. A session of the plan is ready.
 */
struct ad_worker_run *ad_worker_free_run(struct ad_worker *worker);

/* Starts an inference, beside those under way. Numbers ascend. Requires no job. */
void ad_worker_post_run(struct ad_worker *worker, struct ad_worker_run *run);

/* Makes what is under way end soon, with ADAPS_EAGENT unless it is just done. */
void ad_worker_cancel(struct ad_worker *worker);

/* Times of a step in the latest inference, which was traced (CLOCK_MONOTONIC), as in wire.proto;
 * left_ns 0 when not known. Requires an idle worker. */
void ad_worker_times(const struct ad_worker_run *run, int step, int64_t *start_ns, int64_t *mark_ns,
                     int64_t *end_ns, int64_t *left_ns);

/* Of a SEND or RECV step of an inference that is done, ns since its beginning: when the message was
 * handed over; when it was there, 0 when nobody had waited for it. */
int64_t ad_worker_moved(const struct ad_worker_run *run, int step);

/* Takes the end of a job, when done_fd is readable: then worker->result is the owner's. False when
 * there is none, or it is not done yet. */
bool ad_worker_finish(struct ad_worker *worker);

/* Takes an inference that is done, the oldest first: its result is the owner's until it is posted
 * again. NULL when there is none. */
struct ad_worker_run *ad_worker_take_run(struct ad_worker *worker);

/* Whether it has anything to do. */
static inline bool ad_worker_idle(const struct ad_worker *worker)
{
    return !worker->busy && worker->running == 0;
}

#endif
