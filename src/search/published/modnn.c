/* Strategy `modnn`, after J. Mao et al., "MoDNN: Local Distributed Mobile Computing System for Deep
 * Neural Network" (DATE 2017).
 *
 * Modelled: the biased one-dimensional partition. Each layer is divided along the longer edge of
 * its map, in parts proportional to the devices' speeds, and all that devices exchange between two
 * layers goes through one of them, the group owner. Fully connected layers are divided by output.
 *
 * Interpreted: the group owner is the source, which has the input and wants the result. A device
 * keeps what it computed: only what others lack goes through the group owner, not whole maps. The
 * clustering of sparse fully connected weights has no meaning for dense ones: parts are contiguous.
 * What cannot be divided runs on the group owner. */
#include "search/published/published.h"

static enum ad_dim longer_edge(const struct ad_context *context, int op)
{
    const struct ad_graph *graph = context->problem->graph;
    const struct ad_value *out = &graph->values[graph->ops[op].output];
    if (context->can[op][AD_DIM_W] && ad_dim_extent(out, AD_DIM_W) > ad_dim_extent(out, AD_DIM_H))
        return AD_DIM_W;
    enum ad_dim dim = ad_context_bands(context, op);
    return dim == AD_DIM_WHOLE && context->dense[op] ? AD_DIM_C : dim;
}

enum adaps_status ad_modnn_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_bands bands = {.dim_of = longer_edge,
                                   .weight = context->speed,
                                   .whole_on = context->problem->cluster->source,
                                   .hub = true};
    return ad_bands_try(eval, &bands, best);
}
