/* Strategies: ways to choose an assignment. All return the same type and run on the same runtime.
 */
#ifndef AD_SEARCH_STRATEGIES_SEARCH_H
#define AD_SEARCH_STRATEGIES_SEARCH_H

#include "search/result.h"

/* A search over layouts, or a function of its own that fills the whole result. */
struct ad_strategy {
    const char *name;
    const char *summary;  /* one line for --help */
    ad_search_fn *search; /* NULL: plan */
    enum adaps_status (*plan)(const struct ad_search_problem *problem,
                              struct ad_search_result *result, struct adaps_error *err);
    /* What it does for a stream (ad_search_streams()), when that is something else. */
    enum adaps_status (*plan_stream)(const struct ad_search_problem *problem,
                                     struct ad_search_result *result, struct adaps_error *err);
    bool stream;  /* only for streams: no strategy for the soonest answer */
    bool traffic; /* of those: knows what to do for the least traffic of one inference, too */
    bool small;   /* refuses all but small instances (ADAPS_NO); not among those compared */
};

/* Ends with a NULL name. The first is the default, those for small instances are the last. */
extern const struct ad_strategy ad_strategies[];
const struct ad_strategy *ad_strategy_find(const char *name); /* NULL when unknown */

/* Runs a strategy and fills result (schedule and stream included, times, visited). Memory limits
 * are hard: ADAPS_NO when the result needs more memory than a device has, naming the device, what
 * it needs and has, and the smallest memory that would do; or when it takes longer than the cap. */
AD_MUST_CHECK enum adaps_status ad_search_run(const struct ad_strategy *strategy,
                                              const struct ad_search_problem *problem,
                                              struct ad_search_result *result,
                                              struct adaps_error *err);

/* Assignments that are given instead of searched: several for the same inference, of which the one
 * with the better score is taken, or the turns of a stream. */
struct ad_given {
    const struct ad_assignment *items;
    int count;
    const int *deal; /* inference i takes turn deal[i % ndeal] */
    int ndeal;       /* 0: they are not turns */
};

/* A result of them. Each keeps its links' encodings unless the problem allows others (--lossy,
 * --compress), turns always. Errors as above, and those of ad_schedule_build(). name: of the
 * strategy, for messages. */
AD_MUST_CHECK enum adaps_status ad_search_given(const struct ad_search_problem *problem,
                                                const char *name, const struct ad_given *given,
                                                struct ad_search_result *result,
                                                struct adaps_error *err);

#endif
