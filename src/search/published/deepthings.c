/* Strategy `deepthings`, after Z. Zhao et al., "DeepThings: Distributed Adaptive Deep Learning
 * Inference on Resource-Constrained IoT Edge Clusters" (IEEE TCAD 2018).
 *
 * Modelled: fused tile partitioning. The early layers, whose maps weigh more than their weights,
 * are one fused range: its last map is divided into a grid of equal tiles, and a device computes
 * all that its tile needs of the layers before, overlap included, from a piece of the input,
 * without any exchange. The tiles are merged on the gateway, which runs all later layers alone.
 *
 * Interpreted: there is one tile per device, in a grid as near to a square as their number allows;
 * the publication has more tiles than devices and lets idle devices steal, which a plan made before
 * the run cannot. The fused range ends at the last place where all paths of the network meet, where
 * everything before can be divided along rows or columns, and the maps so far hold at least as many
 * bytes as the weights so far. The gateway is the source. */
#include "search/published/published.h"

/* The columns of the grid: the largest divisor of n up to its root, if both dimensions may be
 * split and all devices have the same weight.
 */
static int grid_columns(const struct ad_search_problem *p, const double *weight)
{
    int n = p->cluster->ndevices, columns = 1;
    bool equal = true;
    for (int k = 2; k * k <= n; k++)
        columns = n % k == 0 ? k : columns;
    for (int d = 1; d < n; d++)
        equal = equal && weight[d] == weight[0];
    return p->split_h && p->split_w && equal ? columns : 1;
}

void ad_fused_tiles_lay(const struct ad_context *context, const double *weight, int first, int end,
                        struct ad_layout *layout)
{
    int columns = grid_columns(context->problem, weight);
    for (int i = first; i <= end; i++) {
        layout->ops[i] = (struct ad_op_layout){.dim = ad_context_bands(context, i),
                                               .pinned = i == end,
                                               .at = context->problem->cluster->source,
                                               .across = columns};
        ad_cuts_proportional(weight, layout->ndevices, ad_layout_cuts(layout, i));
    }
}

/* The last op of the fused range, -1 when there is none. */
static int range_end(const struct ad_context *context)
{
    const struct ad_graph *graph = context->problem->graph;
    int64_t maps = 0, weights = 0;
    int end = -1;
    for (int i = 0; i < graph->nops && ad_context_bands(context, i) != AD_DIM_WHOLE; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_value *out = &graph->values[op->output];
        maps += out->box.n * ad_region_elements(ad_region_whole(out));
        if (op->weight >= 0)
            weights += graph->weights[op->weight].rows * graph->weights[op->weight].row_elements;
        if (context->cut[i] && maps >= weights)
            end = i;
    }
    return end;
}

enum adaps_status ad_deepthings_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    int n = p->cluster->ndevices, end = range_end(context);
    double equal[AD_MAX_DEVICES];
    struct ad_layout layout;
    for (int d = 0; d < n; d++)
        equal[d] = 1;
    enum adaps_status status = ad_layout_init(&layout, p->graph->nops, n, eval->err);
    layout.hub = p->cluster->source;
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++)
        layout.ops[i] =
            (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = layout.hub};
    if (status == ADAPS_OK)
        ad_fused_tiles_lay(context, equal, 0, end, &layout);
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}
