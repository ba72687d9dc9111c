/* Strategy `edgeflow`: layer-by-layer bands, after EdgeFlow (distributed inference by partitioning
 * each layer among devices, which exchange what the next layer reads).
 *
 * Modelled: every layer that can be split along its rows is split in proportion to the devices'
 * speeds, without overlap, and rows beyond a device's own band are fetched before each layer.
 * Layers of type 3 that aggregate or reorder (fully connected, softmax, global average, reshape)
 * run whole on the fastest device.
 *
 * Interpreted: the speed of a device is its convolution rate; concatenation along channels is split
 * as well (rows stay rows), which is generous to the method; with columns as the only allowed
 * dimension, columns are split; a layer with fewer rows than devices leaves devices empty. The
 * method's linear program, which shifts the shares to balance transfers, is not part of this. */
#include "search/strategies.h"

static bool aggregates(const struct ad_op *op)
{
    switch (op->kind) {
    case AD_OP_FC:
    case AD_OP_SOFTMAX:
    case AD_OP_GAP:
    case AD_OP_RESHAPE:
    case AD_OP_PERMUTE:
        return true;
    default:
        return false;
    }
}

enum adaps_status ad_edgeflow_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_terrain *t = eval->terrain;
    const struct ad_search_problem *p = t->problem;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        enum ad_dim dim = t->can[i][AD_DIM_H]   ? AD_DIM_H
                          : t->can[i][AD_DIM_W] ? AD_DIM_W
                                                : AD_DIM_WHOLE;
        if (aggregates(&p->graph->ops[i]))
            dim = AD_DIM_WHOLE;
        layout.ops[i] = (struct ad_op_layout){dim, true, t->fastest};
        ad_cuts_proportional(t->speed, layout.ndevices, ad_layout_cuts(&layout, i));
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}
