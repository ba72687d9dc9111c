/* Strategy `coedge`, after L. Zeng et al., "CoEdge: Cooperative DNN Inference with Adaptive
 * Workload Partitioning over Heterogeneous Edge Devices" (IEEE/ACM ToN 2021).
 *
 * Modelled: each layer is divided along its rows in proportion to the devices' speeds. A device
 * whose part would be less than a halo (the rows beyond a part that a window reads, at least one)
 * is dropped from the layer, the slowest first, and the rest is divided anew, so that a halo never
 * reaches beyond a neighbour. What devices exchange goes through the master (ADaPS, Table 1).
 *
 * Interpreted: the publication weighs energy under a deadline; without figures for energy its
 * programme comes down to parts proportional to speed. It drops devices for the whole network; here
 * layer by layer, so that small maps at the end do not cost the help on the large ones. The master
 * is the source; what has no rows to divide (the classifier) runs there. */
#include "fusion/rules.h"
#include "search/published/published.h"

/* Rows (columns) of input that one part reads of its neighbour; at least 1. */
static int32_t halo(const struct ad_graph *graph, const struct ad_op *op, enum ad_dim dim)
{
    if (!ad_op_has_window(op))
        return 1;
    struct ad_axis axis = ad_op_axis(graph, op, dim == AD_DIM_H ? AD_ALONG_H : AD_ALONG_W);
    int64_t reach = (axis.taps - 1) * axis.dilation;
    int64_t rows = reach - axis.pad > axis.pad ? reach - axis.pad : axis.pad;
    return rows > 1 ? (int32_t)rows : 1;
}

/* Cuts among as many devices, from the fastest, as get at least `least` rows each. */
static void divide(const struct ad_context *context, int32_t rows, int32_t least, int *cuts)
{
    int n = context->problem->cluster->ndevices, left = n;
    double weight[AD_MAX_DEVICES] = {0};
    for (int d = 0; d < n; d++)
        weight[d] = context->speed[d];
    for (;; left--) {
        int slowest = -1;
        bool fits = true;
        ad_cuts_proportional(weight, n, cuts);
        for (int d = 0; d < n; d++) {
            if (weight[d] <= 0)
                continue;
            if (slowest < 0 || weight[d] <= weight[slowest])
                slowest = d;
            fits = fits && ad_cut_row(cuts[d + 1], rows) - ad_cut_row(cuts[d], rows) >= least;
        }
        if (fits || left <= 1)
            return;
        weight[slowest] = 0;
    }
}

enum adaps_status ad_coedge_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    layout.hub = p->cluster->source;
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        const struct ad_op *op = &p->graph->ops[i];
        enum ad_dim dim = ad_context_bands(context, i);
        layout.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true, .at = layout.hub};
        if (dim != AD_DIM_WHOLE)
            divide(context, ad_dim_extent(&p->graph->values[op->output], dim),
                   halo(p->graph, op, dim), ad_layout_cuts(&layout, i));
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}
