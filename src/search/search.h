/* Strategies: ways to choose an assignment. All return the same type and run on the same runtime.
 * One file each; the table in search.c lists them. */
#ifndef AD_SEARCH_SEARCH_H
#define AD_SEARCH_SEARCH_H

#include "blocks/blocks.h"
#include "schedule/schedule.h"

/* What a strategy makes small when it has a choice: the simulated latency, the bytes moved, or the
 * memory of the device that needs most. The others break ties. */
enum ad_objective { AD_OBJECTIVE_LATENCY, AD_OBJECTIVE_TRAFFIC, AD_OBJECTIVE_MEMORY };

struct ad_search_problem {
    const struct ad_graph *graph;
    const struct ad_blocks *blocks;
    const struct ad_cluster *cluster;
    double threshold;               /* ADaPS eq 3, 0..1 */
    bool split_h, split_w, split_c; /* --dims */
    bool input_f32;     /* inputs that may be pictures travel as float32, not as bytes */
    unsigned encodings; /* AD_ENCODING_BIT()s: what is no picture may travel so, too */
    bool late;          /* nothing goes ahead: the layout that is found, in the graph's order */
    enum ad_objective objective;
    int64_t latency_cap_ns; /* the answer may take this long; 0: no cap, but under the objective
                               traffic the best single device's latency, if one has the memory */
    /* What the search may take. The same seed and evaluations give the same plan; a time limit
     * ends the improvement at a wall time, and alone keeps it going until then: plans under one may
     * differ. */
    uint64_t seed;         /* of random choices */
    int64_t evaluations;   /* layouts that auto's improvement may evaluate, and the largest number
                              of layouts that are enumerated; 0 = each one's default */
    int64_t effort;        /* so many times auto's default number of evaluations; 0 = once */
    int64_t time_limit_ns; /* of auto's improvement, from the start of the search; 0 = none */
    int64_t deadline_ns;   /* of one of its trials, by ad_clock_ns(): set by ad_search_run() */
};

/* Whether inputs may travel as bytes. */
static inline bool ad_search_u8(const struct ad_search_problem *problem)
{
    return !problem->input_f32 && ad_picture_any(problem->graph);
}

/* The allowed encoding with the fewest bytes. */
enum ad_encoding ad_search_encoding(const struct ad_search_problem *problem);

/* The one that layouts are looked for with, on all links alike: of those with fewer bytes than
 * float32, if there are any, the one that takes messages to the next device soonest, encoding and
 * decoding included, in the mean over all pairs of devices; under the objective traffic the one
 * with the fewest bytes. */
enum ad_encoding ad_search_quickest(const struct ad_search_problem *problem);

struct ad_search_result {
    struct ad_assignment assignment;
    struct ad_schedule schedule;
    int64_t visited;    /* candidate assignments evaluated */
    double space_log10; /* log10 of the size of the space the strategy chooses from */
    double seconds;     /* spent */
    bool u8;            /* pictures may travel as bytes: one device alone is to be timed so, too */
    int64_t lower_bound_ns; /* no plan at all answers sooner (search/bound/bound.h) */
    double bound, gap; /* of strategy adaps: a lower bound of the paper's score (eq 11, ns) within
                          the window, and (score - bound) / score; NAN for others */
    char note[256];    /* why: devices left out and what they would have cost */
};
void ad_search_result_fini(struct ad_search_result *result);

struct ad_strategy {
    const char *name;
    const char *summary; /* one line for --help */
    enum adaps_status (*run)(const struct ad_search_problem *problem,
                             struct ad_search_result *result, struct adaps_error *err);
    bool small; /* refuses all but small instances (ADAPS_NO); not among those compared */
};

/* NULL-name-terminated table; the first is the default, those for small instances are the last. */
extern const struct ad_strategy ad_strategies[];
const struct ad_strategy *ad_strategy_find(const char *name); /* NULL when unknown */

/* Runs a strategy and fills result (schedule included, times, visited). Memory limits are hard:
 * ADAPS_NO when the result needs more than a device has, naming the device, what it needs and has,
 * and the smallest memory that would do; or when it takes longer than the cap. */
AD_MUST_CHECK enum adaps_status ad_search_run(const struct ad_strategy *strategy,
                                              const struct ad_search_problem *problem,
                                              struct ad_search_result *result,
                                              struct adaps_error *err);

#endif
