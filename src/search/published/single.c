/* Strategy `single`: the whole network on one device.
 *
 * Every device is tried. The clock includes the way of the input from the source to the device and
 * of the result back, so the source wins ties of speed. A device that has too little memory loses
 * to any that has enough. */
#include "search/published/published.h"

#include <math.h>

enum adaps_status ad_single_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    layout.u8 = context->u8;
    for (int k = 0; k < p->cluster->ndevices && status == ADAPS_OK; k++) {
        for (int i = 0; i < layout.nops; i++)
            layout.ops[i] =
                (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = context->order[k]};
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    eval->space_log10 = log10(p->cluster->ndevices);
    ad_layout_fini(&layout);
    return status;
}
