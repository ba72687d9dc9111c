/* Strategy `flexpie`, after R. Zhang et al., "FlexPie: Accelerate Distributed Inference on Edge
 * Devices with Flexible Combinatorial Optimization" (arXiv 2502.15312, 2025).
 *
 * Modelled: each layer is divided in one of four ways, by rows, by columns, by output channels or
 * in a grid, and after each layer the devices either exchange what the next one needs, or go on
 * without, computing the overlap more than once; layers without an exchange between them are
 * divided in the same way. A dynamic programme with pruning finds the combination that takes least
 * by estimates of computing and of exchanging.
 *
 * Interpreted:
 * - The estimates are ours (fused_model.c, from the cost tables and the links) in place of the
 *   publication's, which are learned from traces by boosted trees.
 * - The programme goes from the first layer to the last, not backwards: the optimum is the same,
 *   and where the values of earlier branches lie is known. What is pruned are groups of layers that
 *   compute for longer than the best plan that ends with the same layer, so nothing is lost.
 * - Parts are in proportion to the devices' speeds, of which the publication has equal ones. The
 *   grid has as many columns as the largest divisor of the number of devices up to its root, equal
 *   ones; its bands are in proportion to speed.
 * - Layers by output channels need no exchange where each reads just its own channels (depthwise
 *   convolutions, pools, functions).
 * - An op that is sooner done so, or cannot be divided, runs whole on the source.
 * - In a network with branches, groups are runs of ops in the graph's order (fused_groups.h). */
#include "search/published/fused_groups.h"
#include "search/published/published.h"

enum adaps_status ad_flexpie_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_fused_options options = {
        .context = context,
        .weight = context->speed,
        .schemes = AD_SCHEME_BIT(AD_SCHEME_ROWS) | AD_SCHEME_BIT(AD_SCHEME_COLUMNS) |
                   AD_SCHEME_BIT(AD_SCHEME_GRID) | AD_SCHEME_BIT(AD_SCHEME_CHANNELS)};
    return ad_fused_try(eval, &options, best);
}
