/* The simulator's memory between runs. Internal to schedule/. */
#ifndef AD_SCHEDULE_CLOCKS_H
#define AD_SCHEDULE_CLOCKS_H

#include "schedule/internal.h"

/* What a task takes on a class of equal devices. */
struct ad_time {
    int op, class; /* op -1: nothing known */
    struct ad_region region;
    int64_t ns;
};

/* Zero-initialised it serves for one run. */
struct ad_clocks {
    struct ad_time *times; /* by hash, the last of each; NULL: compute all */
    size_t ntimes;         /* a power of two */
    int class[AD_MAX_DEVICES];
    int64_t *arrival; /* by tag */
    size_t room;
};

/* With memory for times. False without memory; then there is nothing to free. */
AD_MUST_CHECK bool ad_clocks_init(struct ad_clocks *out, const struct ad_graph *graph,
                                  const struct ad_cluster *cluster);
void ad_clocks_fini(struct ad_clocks *clocks);

/* Seconds to ns, within [0, 11 days]. */
int64_t ad_clocks_ns(double seconds);

/* What a task takes on a device. */
int64_t ad_clocks_task_ns(struct ad_clocks *clocks, const struct ad_graph *graph,
                          const struct ad_cluster *cluster, int device, const struct ad_task *task);

/* As ad_schedule_simulate(), for a schedule from lowering: its tags are 1 to ntags. */
AD_MUST_CHECK enum adaps_status ad_clocks_run(struct ad_clocks *clocks,
                                              const struct ad_graph *graph,
                                              const struct ad_cluster *cluster, size_t ntags,
                                              struct ad_schedule *schedule,
                                              struct adaps_error *err);

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
