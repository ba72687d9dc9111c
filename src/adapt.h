/* Adaptation: when devices or links have become slower or faster than a plan says, for longer than
 * noise lasts (control/drift.h), another plan for what they are now, if that gains more than it
 * costs. Knows no session: it is told what was measured, plans in a thread of its own while the
 * stream goes on, and says when there is a plan to go on with. One thread calls it. */
#ifndef AD_ADAPT_H
#define AD_ADAPT_H

#include "control/session.h"
#include "model_weights.h"

struct ad_adapt;

/* What became of a drift. Times are nanoseconds; devices are those of the first plan. */
struct ad_adaptation {
    int64_t inference; /* answers of the stream when it was found */
    int device, to;    /* what has drifted: a device (to: -1), or the link from one to another */
    double factor;     /* its speed, as a factor of what the plan in use says */
    double before;     /* what that had been, as far as it is known */
    int64_t old_ns, new_ns; /* an inference by the plan in use and by the new one, both predicted
                               for what devices and links are now; of a stream, the interval */
    int64_t left;           /* inferences that would gain */
    int64_t plan_ns;        /* planning, while the stream went on */
    int64_t cost_ns;        /* predicted: push, opening, and the pause in the stream */
    bool taken;             /* the new plan is in use, or will be; else it would not gain enough */
    uint64_t push_bytes;    /* what it took, when it is done: */
    int64_t push_ns, open_ns;
    bool done;
};

/* All is borrowed; the weights are open. */
AD_MUST_CHECK enum adaps_status ad_adapt_new(const struct adaps_plan *first,
                                             const struct ad_model_weights *weights,
                                             struct ad_adapt **out, struct adaps_error *err);
void ad_adapt_free(struct ad_adapt *adapt); /* NULL is fine; waits for the search */

/* An answer, of the plan in use. */
struct ad_adapt_answer {
    const struct adaps_plan *plan;
    const int *device_of;                  /* by device of that plan: of the first */
    uint32_t number;                       /* in its session, from 0 */
    const struct ad_device_stats *devices; /* by device of that plan */
    const double *links;                   /* as in struct ad_run_stats */
    const bool *out;                       /* by device of the first plan: not to be used */
    int64_t inference;                     /* of the stream, from 1 */
    int64_t left;                          /* how many inferences another plan would have */
    int64_t open_ns;                       /* what opening a session took the last time */
};

/* Takes note of an answer. Whether there is a plan to go on with: see ad_adapt_take(). Without
 * memory nothing is adapted. */
bool ad_adapt_observe(struct ad_adapt *adapt, const struct ad_adapt_answer *answer);

/* Whether there is one, still. */
bool ad_adapt_ready(const struct ad_adapt *adapt);

/* The plan, the caller's from now on, and by its devices those of the first. The adaptation that it
 * belongs to, to be completed; valid until the next call. */
struct ad_adaptation *ad_adapt_take(struct ad_adapt *adapt, struct adaps_plan **plan,
                                    int *device_of);

/* Another plan is in use: what was measured of the one before it is forgotten, as is a plan that is
 * ready; waits for a search. */
void ad_adapt_restart(struct ad_adapt *adapt);

/* The first plan's devices and links as they were measured last. */
const struct ad_cluster *ad_adapt_cluster(const struct ad_adapt *adapt);

const struct ad_adaptation *ad_adapt_list(const struct ad_adapt *adapt, int *count);

#endif
