/* All strategies on one problem, side by side. */
#ifndef AD_SEARCH_STRATEGIES_COMPARE_H
#define AD_SEARCH_STRATEGIES_COMPARE_H

#include "search/strategies/search.h"

/* The result of one strategy. When it has no feasible plan, error says why and the rest is 0. */
struct ad_comparison {
    const char *strategy; /* borrowed from the table */
    bool by_interval;     /* that is what was to be short, not the latency */
    int64_t interval_ns;  /* of a stream, predicted */
    int64_t predicted_ns, bytes, messages, visited, lower_bound_ns;
    int64_t *memory; /* by device; owned; NULL when infeasible */
    double search_s;
    char error[sizeof((struct adaps_error *)0)->message]; /* "" when there is a plan */
};

/* Runs every strategy of the table but those for small instances, in its order, into *out (*count
 * entries, ad_comparison_free). A strategy without a feasible plan is an entry, not a failure. */
AD_MUST_CHECK enum adaps_status ad_search_compare(const struct ad_search_problem *problem,
                                                  struct ad_comparison **out, int *count,
                                                  struct adaps_error *err);
/* Takes the better row of each strategy of two comparisons of the same length, such as with other
 * algorithms: the sooner or quicker one, and the lesser bound. */
void ad_comparison_merge(struct ad_comparison *into, struct ad_comparison *other, int count);
void ad_comparison_free(struct ad_comparison *comparisons, int count);

#endif
