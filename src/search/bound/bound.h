/* A lower bound on the simulated latency of any plan, whatever the strategy. */
#ifndef AD_SEARCH_BOUND_BOUND_H
#define AD_SEARCH_BOUND_BOUND_H

#include "search/problem.h"

/* *ns: no assignment for this graph and cluster has a smaller makespan (with inputs as float32 only
 * if the problem says so). Counted are the work that must be done at least once, on devices that
 * share it as they like; the latency to and from each; operators that only one device can compute;
 * waits of all for one result; and what must cross the source's links for that sharing, at the
 * least. Not counted: halos, what the other devices exchange, waits for single messages, memory
 * limits, --dims. So it is close where compute counts, and far from any plan where halos and
 * latencies do. A cluster without some of the devices, the source apart, never has a lower bound.
 * A few ms to some tens, most for hundreds of ops; under a second for thousands. ADAPS_EINTERNAL
 * without memory. */
AD_MUST_CHECK enum adaps_status ad_search_bound(const struct ad_search_problem *problem,
                                                int64_t *ns, struct adaps_error *err);

/* The same for one who knows nothing of some kinds of operators but what their outputs cost: not
 * what they read, nor whether they can be split. It is no higher, up to how well weights are found.
 * unknown: AD_BOUND_KIND()s. */
#define AD_BOUND_KIND(kind) ((uint64_t)1 << (kind))
AD_MUST_CHECK enum adaps_status ad_search_bound_without(const struct ad_search_problem *problem,
                                                        uint64_t unknown, int64_t *ns,
                                                        struct adaps_error *err);

#endif
