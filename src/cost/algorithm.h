/* By which algorithm each convolution is computed. It is a property of the graph, the same for all
 * devices, so that their answers have the same bits: it follows from the graph and the devices
 * file, and is kept in the plan (struct ad_op: winograd). */
#ifndef AD_COST_ALGORITHM_H
#define AD_COST_ALGORITHM_H

#include "cost/cluster.h"
#include "ir/graph.h"

/* Sets Winograd's algorithm where the whole layer is predicted to take clearly less by it, on the
 * mean of the devices, where it stays exact enough (docs/numerics.md), and where the transformed
 * weights fit the memory of every device; all other layers are computed directly. */
void ad_algorithms_choose(struct ad_graph *graph, const struct ad_cluster *cluster);

/* Sets Winograd's algorithm wherever it can be used, with the m that takes fewest units
 * (cost/shape.h): what adaps profile times beside the direct way. Returns of how many ops. */
int ad_algorithms_all(struct ad_graph *graph);

#endif
