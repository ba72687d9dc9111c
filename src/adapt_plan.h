/* What devices and links are now, and a plan for that beside the one in use. */
#ifndef AD_ADAPT_PLAN_H
#define AD_ADAPT_PLAN_H

#include "control/drift.h"
#include "model_weights.h"

/* Subjects of a drift, by device of a cluster of n: devices, then links. */
static inline int ad_adapt_subjects(int n)
{
    return n + n * n;
}

static inline int ad_adapt_link(int n, int from, int to)
{
    return n + from * n + to;
}

/* The plan in use, and by its devices those of the first plan, of which there are n. */
struct ad_plan_in_use {
    const struct adaps_plan *plan;
    const int *device_of;
};

/* *now, a copy of the first plan's cluster, becomes what was measured: the devices and links that
 * the plan in use works with are quicker or slower than it says by their ratios (subjects are those
 * of the first plan). A link that it does not use can do no more than the ports at its ends have
 * shown: a port has what the best of its links has, as a factor of the first plan's. */
void ad_adapt_measure(struct ad_cluster *now, const struct ad_cluster *first,
                      const struct ad_plan_in_use *in_use, const struct ad_drift *drift);

/* What is to be planned: all borrowed, and not changed meanwhile. */
struct ad_adapt_task {
    const struct adaps_plan *first;
    const struct ad_model_weights *weights;
    const struct ad_cluster *now;
    struct ad_plan_in_use in_use;
    const bool *out; /* by device of the first plan */
};

struct ad_adapt_choice {
    struct adaps_plan *plan; /* the caller's */
    int device_of[AD_MAX_DEVICES];
    int64_t old_ns, new_ns; /* an inference by both, as things are now */
    int64_t push_ns;        /* predicted: what the plan in use has not brought to the devices */
};

/* Errors are those of ad_spare_plan(). */
AD_MUST_CHECK enum adaps_status ad_adapt_choose(const struct ad_adapt_task *task,
                                                struct ad_adapt_choice *out,
                                                struct adaps_error *err);

/* What an inference takes by a plan: the interval, when several are in flight. */
int64_t ad_adapt_each_ns(const struct adaps_plan *plan);

#endif
