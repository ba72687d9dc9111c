/* Strategy `bbgrap`, after BBGraP as ADaPS (section 2, Table 1) describes it.
 *
 * Modelled: every layer's output is divided into as many equal parts as there are devices, along
 * the rows, else the columns, else the channels; devices exchange directly, layer by layer. The
 * speeds of devices and links play no part.
 *
 * Interpreted: which dimension comes first (rows: a band's halo is contiguous); channels are
 * divided where the map is a single pixel or a feature vector. A layer with fewer rows than devices
 * leaves some empty. What cannot be divided runs on the source. */
#include "search/published/published.h"

enum adaps_status ad_bbgrap_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    int n = p->cluster->ndevices;
    double equal[AD_MAX_DEVICES];
    struct ad_layout layout;
    for (int d = 0; d < n; d++)
        equal[d] = 1;
    enum adaps_status status = ad_layout_init(&layout, p->graph->nops, n, eval->err);
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        enum ad_dim dim = ad_context_bands(context, i);
        if (dim == AD_DIM_WHOLE && context->dense[i])
            dim = AD_DIM_C;
        if (p->gather_type3 && ad_context_gathers(context, i))
            dim = AD_DIM_WHOLE;
        layout.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true, .at = p->cluster->source};
        ad_cuts_proportional(equal, n, ad_layout_cuts(&layout, i));
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}
