/* Random graphs that compute with bytes (ir/quantised.h). */
#ifndef TESTS_QUANTISED_GRAPH_H
#define TESTS_QUANTISED_GRAPH_H

#include "base/rng.h"
#include "ir/graph.h"

/* The graph with most of its ops on quantised values, of random types, scales and zero points, and
 * operators between floats and these where they meet. Takes the graph over; it has its numbers. */
AD_MUST_CHECK enum adaps_status ad_random_graph_quantised(struct ad_graph *graph, uint64_t seed,
                                                          struct ad_graph **out,
                                                          struct adaps_error *err);

#endif
