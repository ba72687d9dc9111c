/* Strategy `deepslicing`, after S. Zhang et al., "DeepSlicing: Collaborative and Adaptive CNN
 * Inference with Low Latency" (IEEE TPDS 2021).
 *
 * Modelled: the network is cut into groups of layers. Within a group every device computes the
 * slice of columns that its part of the group's end needs, overlap included, without exchange; at
 * the end of a group the devices synchronise. Slices are proportional to speed, and data goes
 * through the master (ADaPS, Table 1: W, centralised, groups of a fixed number of layers).
 *
 * Interpreted: the length of a group is counted in convolutions and pools, and a group ends where
 * all paths of the network meet, at the first such place once it is full. The lengths 1, 2, 4, ...
 * are tried, as well as one group for all, and the best kept. The master is the source; what has
 * neither columns nor rows to slice runs there. With rows as the only allowed dimension, rows are
 * sliced. */
#include "fusion/rules.h"
#include "search/published/published.h"

#include <math.h>

static enum ad_dim slice_dim(const struct ad_context *context, int op)
{
    return context->can[op][AD_DIM_W] ? AD_DIM_W : ad_context_bands(context, op);
}

static void group(const struct ad_context *context, int length, struct ad_layout *layout)
{
    int layers = 0;
    for (int i = 0; i < layout->nops; i++) {
        layers += ad_op_has_window(&context->problem->graph->ops[i]);
        bool end = context->cut[i] && layers >= length;
        layout->ops[i] =
            (struct ad_op_layout){.dim = slice_dim(context, i), .pinned = end, .at = layout->hub};
        layers = end ? 0 : layers;
    }
}

enum adaps_status ad_deepslicing_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    int windows = 0, tried = 0;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    layout.hub = p->cluster->source;
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        windows += ad_op_has_window(&p->graph->ops[i]);
        ad_cuts_proportional(context->speed, layout.ndevices, ad_layout_cuts(&layout, i));
    }
    for (int length = 1; status == ADAPS_OK; length *= 2, tried++) {
        group(context, length, &layout);
        status = ad_eval_try(eval, &layout, best, NULL);
        if (length > windows)
            break;
    }
    eval->space_log10 = log10(tried + 1);
    ad_layout_fini(&layout);
    return status;
}
