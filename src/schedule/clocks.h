/* What steps and messages take, and the simulator's memory between runs. Internal to schedule/. */
#ifndef AD_SCHEDULE_CLOCKS_H
#define AD_SCHEDULE_CLOCKS_H

#include "schedule/internal.h"

/* What a task takes on a class of equal devices. */
struct ad_time {
    int op, class; /* op -1: nothing known */
    struct ad_region region;
    int64_t ns;
};

/* A step (struct ad_step) as far as the clocks are concerned. */
struct ad_timed_step {
    int32_t tag;     /* 0: it computes; > 0: sends this message; < 0: waits for message -tag */
    int32_t peer;    /* sending: to whom */
    int64_t ns;      /* computing; sending: copying and encoding; waiting: decoding */
    int64_t wire_ns; /* sending: on the wire */
    int64_t overlapped_ns; /* of the processor while a message travels */
};

/* A device's program: the steps in their order. */
struct ad_timed_program {
    struct ad_timed_step *list;
    size_t count, room;
    int64_t work_ns; /* computing, in all */
};

struct ad_clocks {
    struct ad_time *times; /* by hash, the last of each; NULL: nothing is remembered */
    size_t ntimes;         /* a power of two */
    int class[AD_MAX_DEVICES];
    int64_t *latency;          /* [from * ndevices + to], ns */
    int64_t feed_ns, fetch_ns; /* inputs put in at the source, outputs taken out */
    int64_t *arrival;          /* by tag */
    size_t room;
};

/* remember: keep what tasks take. On failure (no memory) there is nothing to free. */
AD_MUST_CHECK bool ad_clocks_init(struct ad_clocks *out, const struct ad_graph *graph,
                                  const struct ad_cluster *cluster, bool remember);
void ad_clocks_fini(struct ad_clocks *clocks);

/* Times added up; INT64_MAX instead of more. */
static inline int64_t ad_clocks_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* When the ports of all devices are free; on a shared medium, when that is. */
struct ad_ports {
    int64_t up[AD_MAX_DEVICES], down[AD_MAX_DEVICES], medium;
};

struct ad_passage {
    int64_t start, end; /* its first byte leaves its sender; its last is at its receiver's port */
};

/* A message goes through its sender's port, the switch's queue, and its receiver's port. */
static inline struct ad_passage ad_ports_pass(struct ad_ports *ports, bool shared, int from, int to,
                                              int64_t ready, int64_t wire_ns)
{
    int64_t *up = shared ? &ports->medium : &ports->up[from];
    int64_t start = ready > *up ? ready : *up, end = ad_clocks_plus(start, wire_ns);
    *up = end;
    if (!shared) {
        int64_t queued = ad_clocks_plus(ports->down[to], wire_ns);
        end = end > queued ? end : queued;
        ports->down[to] = end;
    }
    return (struct ad_passage){start, end};
}

/* Seconds to ns, within [0, 11 days]. */
int64_t ad_clocks_ns(double seconds);

/* What a task takes on a device. */
int64_t ad_clocks_task_ns(struct ad_clocks *clocks, const struct ad_graph *graph,
                          const struct ad_cluster *cluster, int device, const struct ad_task *task);

/* The same where it is known what the task reads of each input. */
int64_t ad_clocks_reading_ns(const struct ad_graph *graph, const struct ad_device *device,
                             const struct ad_task *task, const struct ad_region *reads);

/* What copying and encoding a message (bytes: as float32) take of its sender. */
int64_t ad_clocks_copy_ns(const struct ad_cluster *cluster, int from, enum ad_encoding encoding,
                          int64_t bytes);

/* What decoding it takes of its receiver. */
int64_t ad_clocks_decode_ns(const struct ad_cluster *cluster, int to, enum ad_encoding encoding,
                            int64_t bytes);

/* Processor time that a message of these bytes takes of a device while it travels. */
int64_t ad_clocks_overlapped_ns(const struct ad_cluster *cluster, int device, int64_t bytes);

/* The steps of a device's program as the clocks see them. False without memory; *out is the
 * caller's: its list, freed by ad_free(). */
AD_MUST_CHECK bool ad_clocks_time_program(struct ad_clocks *clocks, const struct ad_graph *graph,
                                          const struct ad_cluster *cluster, int device,
                                          const struct ad_program *program,
                                          struct ad_timed_program *out);

/* As ad_schedule_simulate(), for programs whose tags are 1 to ntags. busy_ns: by device, filled.
 * steps: nullable; the programs, whose steps get their times. limit_ns: INT64_MAX, or the run ends
 * once it is sure to take longer; then *makespan_ns is INT64_MAX. */
AD_MUST_CHECK enum adaps_status
ad_clocks_run(struct ad_clocks *clocks, const struct ad_cluster *cluster,
              const struct ad_timed_program *timed, size_t ntags, struct ad_program *steps,
              int64_t limit_ns, int64_t *busy_ns, int64_t *makespan_ns, struct adaps_error *err);

/* What these programs, by device, make the cluster do (schedule/stream.h). */
struct ad_loads;
void ad_clocks_loads(const struct ad_clocks *clocks, const struct ad_cluster *cluster,
                     const struct ad_timed_program *timed, struct ad_loads *out);

static inline struct ad_time *ad_clocks_time(struct ad_clocks *c, const struct ad_task *task,
                                             int class)
{
    const struct ad_region *r = &task->region;
    uint64_t h = (uint64_t)(uint32_t)task->op * 64 + (uint64_t) class;
    h = (h ^ (uint64_t)(uint32_t)r->h0 << 32 ^ (uint32_t)r->h1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)(uint32_t)r->w0 << 32 ^ (uint32_t)r->w1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)(uint32_t)r->c0 << 32 ^ (uint32_t)r->c1) * 0x9e3779b97f4a7c15u;
    return &c->times[(h >> 32) & (c->ntimes - 1)];
}

#endif
