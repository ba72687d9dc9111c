/* Strategy `aofl`, after L. Zhou et al., "Adaptive Parallel Execution of Deep Neural Networks on
 * Heterogeneous Edge Devices" (ACM/IEEE SEC 2019): the adaptive optimally fused-layer method.
 *
 * Modelled: convolutions and pools are fused into groups. The last map of a group is divided among
 * the devices, each of which computes all that its part needs of the layers before, overlap
 * included, without an exchange; between groups the devices exchange through the host. A dynamic
 * programme finds where groups end, by what computing and exchanging take on these devices and
 * links, and the number of devices is chosen, too.
 *
 * Interpreted:
 * - The host is the source. It runs alone what has no rows, and any op that is sooner done there. A
 *   device keeps what it computed: only what others lack goes through the host, not whole maps.
 * - Parts are bands of rows (columns, where only these are allowed), in proportion to the devices'
 *   speeds, so equal for equal devices.
 * - The host and the fastest others take part. For each number of them the programme finds the
 *   groups by its own costs (fused_model.c, from the cost tables and the links), and the clocks
 *   choose the number. Of more than 8 devices not all numbers are tried.
 * - In a network with branches, groups are runs of ops in the graph's order (fused_groups.h). */
#include "search/published/fused_groups.h"
#include "search/published/published.h"

#include <math.h>

#define ALL_NUMBERS 8 /* up to here each number of devices is tried, then twice as many */

enum adaps_status ad_aofl_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    double weight[AD_MAX_DEVICES] = {0};
    const struct ad_fused_options options = {.context = context,
                                             .weight = weight,
                                             .schemes = ad_fused_bands(context->problem),
                                             .through_source = true};
    enum adaps_status status = ADAPS_OK;
    int n = context->problem->cluster->ndevices, tried = 0;
    for (int k = 1; k <= n && status == ADAPS_OK; tried++) {
        for (int i = 0; i < k; i++)
            weight[context->order[i]] = context->speed[context->order[i]];
        status = ad_fused_try(eval, &options, best);
        k = k < ALL_NUMBERS || k == n ? k + 1 : 2 * k < n ? 2 * k : n;
    }
    eval->space_log10 += log10(tried); /* each has as many layouts, at most */
    return status;
}
