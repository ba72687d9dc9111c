/* The objective: the simulated clock of a layout's schedule. */
#ifndef AD_SEARCH_EVAL_H
#define AD_SEARCH_EVAL_H

#include "search/layout.h"

/* Ordered by excess memory, time beyond the cap, what the objective makes small, then time, bytes,
 * messages; less is better. */
struct ad_score {
    int64_t excess; /* bytes beyond what devices have, over all devices */
    int64_t late;   /* ns beyond the cap, 0 when there is none */
    int64_t first;  /* traffic: bytes; memory: of the device with most; latency: 0 */
    int64_t makespan_ns, bytes, messages;
};

#define AD_SUBSET_SHARE 0.5 /* of a search's work: what that for half of the devices may take */
#define AD_GUESSES 4        /* an evaluation takes as long, and counts, as so many estimates */

struct ad_best;
struct ad_elite_pool;

struct ad_eval {
    const struct ad_context *context;
    struct ad_assignment scratch;
    struct ad_scorer *scorer;
    struct ad_layout_memo *memo;
    double share;     /* of auto's evaluations that a search may take; 1 at first */
    int64_t start_ns; /* what the best start takes; 0: none, or another objective */
    int64_t rival_ns; /* in a search for half of the devices start_ns of that for all; else 0 */
    bool part;        /* it is a search for half of the devices of another, which shares its work */
    double half_share; /* what the search for half took, of `share`; AD_SUBSET_SHARE at first */
    bool weigh;        /* memory may matter: a device could run out of it, or it is the objective */
    bool *exchange;
    int64_t visited;         /* layouts evaluated so far */
    int64_t guessed;         /* layouts given up by their estimate: these are not evaluated */
    struct ad_limits limits; /* what takes longer needs no score, see ad_eval_score() */
    double space_log10;      /* set by the search function */
    int64_t
        with_ns[AD_MAX_DEVICES]; /* best feasible makespan in which the device computes; or -1 */
    int64_t least_memory; /* over all layouts seen: the largest need of a device, at its least */
    int64_t cap_ns;       /* 0 = none */
    struct ad_best *best_shared;  /* nullable: kept up to date with all that is tried */
    struct ad_elite_pool *starts; /* nullable: templates are offered to it (search/auto/elite.h) */
    struct adaps_error *err;
};

/* The best layout found so far, if any. */
struct ad_best {
    struct ad_layout layout;
    struct ad_score score;
    bool valid;
    bool shared; /* takes only layouts in which two or more devices compute */
};

AD_MUST_CHECK enum adaps_status ad_eval_init(struct ad_eval *out, const struct ad_context *context,
                                             struct adaps_error *err);
void ad_eval_fini(struct ad_eval *eval);
AD_MUST_CHECK enum adaps_status ad_best_init(struct ad_best *out, const struct ad_context *context,
                                             struct adaps_error *err);
void ad_best_fini(struct ad_best *best);
void ad_best_copy(const struct ad_best *from, struct ad_best *to);

bool ad_score_better(const struct ad_score *a, const struct ad_score *b);

/* The layout's assignment into eval->scratch. */
void ad_eval_assign(struct ad_eval *eval, const struct ad_layout *layout);

/* Evaluates a layout and keeps a copy in *best (and best_shared) if it is better; *better
 * (nullable) says so. */
AD_MUST_CHECK enum adaps_status ad_eval_try(struct ad_eval *eval, const struct ad_layout *layout,
                                            struct ad_best *best, bool *better);

/* The same, and the layout's score. A layout that is beyond the limits may be given up
 * (ad_scorer_clock()): then its score is worse than all, and it is neither kept nor one of those
 * that tell of left out devices. The limits may be changed at any time; where memory may matter
 * they have no effect. */
AD_MUST_CHECK enum adaps_status ad_eval_score(struct ad_eval *eval, const struct ad_layout *layout,
                                              struct ad_best *best, struct ad_score *score);

/* The same for the layout that ad_eval_assign() was called for last. */
AD_MUST_CHECK enum adaps_status ad_eval_score_assigned(struct ad_eval *eval,
                                                       const struct ad_layout *layout,
                                                       struct ad_best *best,
                                                       struct ad_score *score);

/* Fills assignment, schedule and visited of a result. ADAPS_NO when the layout needs more memory
 * than a device has: names every such device, what it needs and has, and the smallest memory seen.
 * Also when it takes longer than the cap. */
AD_MUST_CHECK enum adaps_status ad_eval_finish(struct ad_eval *eval, const struct ad_best *best,
                                               const char *strategy,
                                               struct ad_search_result *result);

/* The same for regions that are not of a layout: assignment and visited are filled already. */
AD_MUST_CHECK enum adaps_status ad_eval_finish_assignment(struct ad_eval *eval,
                                                          const char *strategy,
                                                          struct ad_search_result *result);

/* "left out: NAME (with it 12.3 ms, +0.4 ms), ..., and 3 more" into note: the best layout seen in
 * which the device computes, and how much later that answers. */
void ad_eval_note_left_out(const struct ad_eval *eval, struct ad_search_result *result);

#endif
