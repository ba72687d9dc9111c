/* The agent's compute thread: holds the engine of the plan loaded last and the data connections of
 * the session. The control thread gives it one job at a time and keeps answering meanwhile.
 *
 * While a job is under way, job, result, inputs and outputs belong to the worker; otherwise to the
 * control thread. */
#ifndef AD_EXEC_AGENT_WORKER_H
#define AD_EXEC_AGENT_WORKER_H

#include "base/priority.h"
#include "exec/agent/cache.h"
#include "exec/agent/peer_links.h"
#include "exec/agent/profile.h"

#include <pthread.h>
#include <stdatomic.h>

enum ad_job_kind {
    AD_JOB_NONE,
    AD_JOB_LOAD,    /* plan, device, session, peers -> engine built, ports open */
    AD_JOB_JOIN,    /* peers with endpoints, deadline -> connected */
    AD_JOB_RUN,     /* inference, deadline, inputs -> outputs, stats */
    AD_JOB_PROFILE, /* tasks, budget -> times; the engine goes */
    AD_JOB_CLOSE,   /* closes the data connections; the engine stays */
    AD_JOB_QUIT
};

struct ad_job {
    enum ad_job_kind kind;
    struct ad_digest plan;
    int device;
    uint64_t session;
    uint32_t inference;
    int64_t deadline_ns; /* CLOCK_MONOTONIC */
    bool trace;          /* RUN: keep the times for ad_worker_times() */
    bool pictures;       /* RUN: inputs are bytes, not floats */
    struct ad_peer peers[AD_MAX_DEVICES];
    int npeers;
    struct adaps_plan *tasks; /* PROFILE: the control thread's */
    int64_t budget_ns;
};

struct ad_job_result {
    enum adaps_status status;
    struct adaps_error err;
    int step;         /* RUN: where it failed */
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    int64_t latency_ns, compute_ns, wait_ns, total_ns;
    uint64_t bytes_sent, messages_sent;
    struct ad_profile_times times; /* PROFILE: the control thread's */
};

/* Network inputs or outputs at the source, one after the other; empty on other devices. */
struct ad_ends {
    float *data;
    size_t bytes;
};

struct ad_worker {
    /* set by the owner before start */
    const struct ad_cache *cache;
    const struct ad_keys *keys;
    void *context;
    char host[256]; /* where to listen for peers */
    double speed;
    int threads;
    struct ad_priority priority; /* of the thread */

    struct ad_job job;
    struct ad_job_result result;
    struct ad_ends inputs, outputs;
    struct ad_peer_links links;
    bool busy;   /* the control thread's view */
    int done_fd; /* readable when a job is done: then call ad_worker_finish() */

    /* the worker's */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    bool has_job, done; /* under the mutex */
    atomic_int cancel;
    int wake_fd;
    atomic_int step; /* of the run under way */
    struct adaps_plan *plan;
    struct ad_engine *engine;
    struct ad_mapping *mappings; /* of the engine's weights, as many as the device has slices */
    int nmappings;
    int device;
    bool pictures;           /* ad_picture_all() of the plan: a RUN may bring bytes */
    struct ad_digest loaded; /* digest of plan, when there is an engine */
};

AD_MUST_CHECK enum adaps_status ad_worker_start(struct ad_worker *worker, struct adaps_error *err);

/* Cancels what is under way, ends the thread, frees everything. */
void ad_worker_stop(struct ad_worker *worker);

/* Forgets the engine. Requires !busy and no session. */
void ad_worker_unload(struct ad_worker *worker);

/* Starts worker->job. Requires !busy. */
void ad_worker_post(struct ad_worker *worker);

/* Makes the job under way end soon, with ADAPS_EAGENT unless it is just done. */
void ad_worker_cancel(struct ad_worker *worker);

/* Times of a step in the run that was the latest job (CLOCK_MONOTONIC), as in wire.proto; left_ns 0
 * when not known. Requires !busy, and that the run was traced. */
void ad_worker_times(const struct ad_worker *worker, int step, int64_t *start_ns, int64_t *mark_ns,
                     int64_t *end_ns, int64_t *left_ns);

/* Takes the end of a job: then worker->result is the owner's. False when it is not done yet. */
bool ad_worker_finish(struct ad_worker *worker);

#endif
