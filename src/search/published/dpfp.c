/* Strategy `dpfp`, after N. Li, A. Iosifidis and Q. Zhang, "Receptive Field-based Segmentation for
 * Distributed CNN Inference Acceleration in Collaborative Edge Computing" (IEEE ICC 2022): dynamic
 * programming for fused-layer parallelisation.
 *
 * Modelled: the network is partitioned into blocks of consecutive layers. The output of a block is
 * divided among the edge servers in proportion to what they compute in a second, and the receptive
 * field of each part says what a server needs of all layers of the block and of its input (which
 * the region rules compute, src/fusion/). After a block the servers exchange what their next parts
 * need beyond their own ones, directly with each other. A dynamic programme finds the blocks whose
 * computing and exchanging takes least.
 *
 * Interpreted:
 * - All devices take part. The server where the task arrives is the source; it runs alone what has
 *   no rows, and any op that is sooner done there.
 * - Parts are bands of rows (columns, where only these are allowed).
 * - A block takes as long as the busiest port in its exchange and then its slowest server
 *   (fused_model.c, from the cost tables and the links).
 * - In a network with branches, blocks are runs of ops in the graph's order (fused_groups.h). */
#include "search/published/fused_groups.h"
#include "search/published/published.h"

enum adaps_status ad_dpfp_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_fused_options options = {
        .context = context, .weight = context->speed, .schemes = ad_fused_bands(context->problem)};
    return ad_fused_try(eval, &options, best);
}
