/* The Pareto front: plans none of which is as good as another one in every objective and better in
 * some. */
#ifndef AD_SEARCH_PARETO_PARETO_H
#define AD_SEARCH_PARETO_PARETO_H

#include "search/pareto/archive.h"
#include "search/result.h"

#define AD_PARETO_PLANS 24 /* of a front, at most */

struct ad_pareto_plan {
    const char *strategy;        /* whose plan it is; "pareto": found by the archive */
    enum ad_objective objective; /* under which; AD_OBJECTIVE_BALANCE: found by the archive */
    struct ad_search_result result;
    /* By objective: latency, interval of the stream (ns), memory of the device with most, bytes
     * that an inference moves (in the mean over the deal of a stream), pJ (-1: not known). */
    int64_t figure[AD_OBJECTIVES];
};

struct ad_pareto {
    struct ad_pareto_objectives objectives;
    struct ad_pareto_plan *plans; /* ascending in the first objective */
    int count;
    int64_t visited; /* layouts */
    double seconds;  /* spent */
};

/* Runs auto and every other strategy under each of the objectives, and an archive between their
 * layouts by the moves of auto; problem->objective does not count. No plan of these strategies
 * dominates one of the front. What the archive finds lies between the ends: it is in no objective
 * better than what auto finds for it. Plans are of one inference at a time, and, with the
 * throughput among the objectives, of streams, too, also from strategies for streams. Deterministic
 * by the problem's seed, unless there is a time limit, which each search and the archive have for
 * themselves. ADAPS_NO: there is no plan at all. On success *out is the caller's. */
AD_MUST_CHECK enum adaps_status ad_pareto_search(const struct ad_search_problem *problem,
                                                 const struct ad_pareto_objectives *objectives,
                                                 struct ad_pareto *out, struct adaps_error *err);
void ad_pareto_fini(struct ad_pareto *pareto);

#endif
