/* Evaluation: what a layout costs, and the best layout so far. The cost is the simulated clock of
 * the layout's schedule. */
#ifndef AD_SEARCH_EVAL_H
#define AD_SEARCH_EVAL_H

#include "search/context.h"
#include "search/layout_memo.h"

/* Ordered by excess memory, time beyond the cap, the objective, then time, bytes, messages; less is
 * better. */
struct ad_score {
    int64_t excess_bytes; /* beyond what devices have, over all devices */
    int64_t over_cap_ns;  /* of latency and interval together; 0 when there is no cap */
    int64_t objective;    /* its figure; latency: 0 */
    int64_t makespan_ns, bytes, messages;
    int devices; /* that compute; not part of the order */
    /* By objective, not part of the order. Latency: ns; traffic: bytes; memory: of the device with
     * most, 0 where memory does not matter; throughput: the interval, ns; energy: pJ, -1 if it is
     * not known. */
    int64_t figure[AD_OBJECTIVES];
};

/* The best layout found so far, if any. */
struct ad_best {
    struct ad_layout layout;
    struct ad_score score;
    bool valid;
};

/* Who sees every layout that is scored, the better ones and the others. */
struct ad_eval_observer {
    void (*see)(void *data, const struct ad_layout *layout, const struct ad_score *score);
    void *data; /* borrowed */
};

/* An evaluation takes as long, and counts, as so many estimates. */
#define AD_ESTIMATES 4

struct ad_eval {
    const struct ad_context *context;
    struct ad_assignment scratch; /* of the last layout */
    struct ad_scorer *scorer;
    struct ad_layout_memo *memo;
    bool *exchange;                   /* scratch of ad_layout_regions() */
    struct ad_limits limits;          /* what takes longer needs no score, see ad_eval_score() */
    struct ad_eval_observer observer; /* see NULL: none */
    int64_t work_end;      /* of ad_scorer_work(), at which ad_eval_late() begins; 0: never */
    int64_t evaluated;     /* layouts so far */
    int64_t estimated;     /* layouts given up by their estimate: these are not evaluated */
    double space_log10;    /* set by the search function */
    int64_t least_memory;  /* over all layouts seen: the least need of the neediest device */
    int64_t enough_memory; /* set by the search function: with so much on every device it would find
                              a plan; 0: what least_memory says has to do */
    int64_t
        with_ns[AD_MAX_DEVICES]; /* best feasible makespan in which the device computes, or -1 */
    struct adaps_error *err;
};

/* A search over layouts: fills *best (empty, the caller's to free) and sets eval->space_log10. */
typedef enum adaps_status ad_search_fn(struct ad_eval *eval, struct ad_best *best);

AD_MUST_CHECK enum adaps_status ad_eval_init(struct ad_eval *out, const struct ad_context *context,
                                             struct adaps_error *err);
void ad_eval_fini(struct ad_eval *eval);
AD_MUST_CHECK enum adaps_status ad_best_init(struct ad_best *out, const struct ad_context *context,
                                             struct adaps_error *err);
void ad_best_fini(struct ad_best *best);
void ad_best_copy(const struct ad_best *from, struct ad_best *to);

/* Keeps a copy of a layout if it is better than *best; says so. */
bool ad_best_offer(struct ad_best *best, const struct ad_layout *layout,
                   const struct ad_score *score);

bool ad_score_better(const struct ad_score *a, const struct ad_score *b);

/* What figures by objective are together (struct ad_balance): 0 or more. */
int64_t ad_balance_of(const struct ad_balance *balance, const int64_t *figure);

/* The layout's assignment into eval->scratch. */
void ad_eval_assign(struct ad_eval *eval, const struct ad_layout *layout);

/* Evaluates a layout and keeps a copy in *best if it is better; *better (nullable) says so. */
AD_MUST_CHECK enum adaps_status ad_eval_try(struct ad_eval *eval, const struct ad_layout *layout,
                                            struct ad_best *best, bool *better);

/* The same, and the layout's score. best: nullable. A layout that is beyond the limits may be given
 * up (ad_scorer_clock()): then its score is worse than all others, it is not kept, the observer
 * does not see it, and it does not count among those that tell what a left out device would cost.
 * The limits may be changed at any time; where memory matters they have no effect. */
AD_MUST_CHECK enum adaps_status ad_eval_score(struct ad_eval *eval, const struct ad_layout *layout,
                                              struct ad_best *best, struct ad_score *score);

/* The same for the layout that ad_eval_assign() was called for last. */
AD_MUST_CHECK enum adaps_status ad_eval_score_assigned(struct ad_eval *eval,
                                                       const struct ad_layout *layout,
                                                       struct ad_best *best,
                                                       struct ad_score *score);

/* The score of a whole schedule with these loads, which is seen as one more layout. */
void ad_eval_score_schedule(struct ad_eval *eval, const struct ad_schedule *schedule,
                            const struct ad_loads *loads, struct ad_score *score);

/* Layouts visited so far: those evaluated, and estimates as parts of one. */
static inline int64_t ad_eval_visited(const struct ad_eval *eval)
{
    return eval->evaluated + eval->estimated / AD_ESTIMATES;
}

/* Counts what another evaluation has visited, too. */
static inline void ad_eval_add_visited(struct ad_eval *eval, const struct ad_eval *other)
{
    eval->evaluated += other->evaluated;
    eval->estimated += other->estimated;
}

/* The same of one with the same context, and what it has seen. */
void ad_eval_add(struct ad_eval *eval, const struct ad_eval *other);

/* Whether a search should end: it is at the problem's deadline or at its work's end. */
bool ad_eval_late(const struct ad_eval *eval);

/* Bytes that a device needs and does not have. */
int64_t ad_memory_excess(const struct ad_device *device, int64_t need);

#endif
