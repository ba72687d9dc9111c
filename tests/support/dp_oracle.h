/* The soonest answer of all layouts of a chain on two devices whose tasks are in the order of the
 * graph, by dynamic programming: an oracle for the strategy exhaustive that shares neither its
 * enumeration nor lowering and simulation.
 *
 * It goes through the chain backwards, as the needs do. All that the ops before op i have to know
 * of the later ones are the regions of op i (as laid out, and as pruned to what is read) and
 * whether op i wants an exchange before it: that is a state. The rest of the run is then a function
 * of four clocks at the moment before op i: both devices', and both directions' of the link. Each
 * direction has one sender, whose messages have an order, so all there is in this function are
 * additions and maxima: answer = max(clock[k] + delay[k]) and a layout of the rest is as good as
 * another for any clocks if no delay is larger. A state keeps the vectors of delays that no other
 * is as good as (its Pareto set), so nothing is lost. This does not hold for a shared medium, where
 * both devices compete for one clock. */
#ifndef TESTS_DP_ORACLE_H
#define TESTS_DP_ORACLE_H

#include "search/problem.h"

struct ad_dp_answer {
    int64_t makespan_ns;
    int states;  /* over all ops */
    int vectors; /* kept in them */
};

/* Two devices on a switch, a chain: each op reads one value that is not a constant, the network's
 * input or the output of the op before it, and the last one's output is the network's. Obeys
 * --dims, but no memory limits or caps. Returns false for any other problem. */
bool ad_dp_oracle(const struct ad_search_problem *problem, struct ad_dp_answer *out);

#endif
