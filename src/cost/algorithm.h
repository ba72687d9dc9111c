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

#define AD_ALGORITHM_CHOICES 3

/* Choices for all devices and for some of them: devices that are slow another way, or lack memory,
 * may be worth less than what the others lose by their choice. */
struct ad_algorithm_choices {
    int count, nops;
    int *winograd[AD_ALGORITHM_CHOICES]; /* by op; the first: for all devices */
};

/* The choices that are worth a search: that for all devices, and such for the source and the
 * fastest others with which these take clearly less than with the ones before. The graph has the
 * first one afterwards. Free with ad_algorithms_fini(), also after a failure. */
AD_MUST_CHECK enum adaps_status ad_algorithms_list(struct ad_graph *graph,
                                                   const struct ad_cluster *cluster,
                                                   struct ad_algorithm_choices *out,
                                                   struct adaps_error *err);
void ad_algorithms_take(const struct ad_algorithm_choices *choices, int i, struct ad_graph *graph);
void ad_algorithms_fini(struct ad_algorithm_choices *choices);

/* Sets Winograd's algorithm wherever it can be used, with the m that takes fewest units
 * (cost/shape.h): what adaps profile times beside the direct way. Returns of how many ops. */
int ad_algorithms_all(struct ad_graph *graph);

#endif
