/* Graphs whose last operator is to be tested: each kind in turn, with random sizes and parameters.
 */
#ifndef TESTS_RANDOM_OPERATOR_H
#define TESTS_RANDOM_OPERATOR_H

#include "ir/graph.h"

/* Case i, always the same. Half of the cases, the odd ones, are windows. */
struct ad_graph *ad_random_operator(int i);

/* Runs the block after it for `cases` operators: op, the last one of graph. */
#define AD_EACH_OPERATOR(graph, op, i, cases)                                                      \
    for (int i = 0; i < (cases); i++)                                                              \
        for (struct ad_graph *graph = ad_random_operator(i); graph;                                \
             ad_graph_free(graph), graph = NULL)                                                   \
            for (const struct ad_op *op = &graph->ops[graph->nops - 1]; op; op = NULL)

#endif
