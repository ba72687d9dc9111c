#include "search/published/published.h"

enum adaps_status ad_bands_try(struct ad_eval *eval, const struct ad_bands *bands,
                               struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    if (bands->hub)
        layout.hub = bands->whole_on;
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        layout.ops[i] = (struct ad_op_layout){
            .dim = bands->dim_of(context, i), .pinned = true, .at = bands->whole_on};
        ad_cuts_proportional(bands->weight, layout.ndevices, ad_layout_cuts(&layout, i));
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}
