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

static enum ad_dim rows_first(const struct ad_context *context, int op)
{
    if (context->problem->gather_type3 && ad_context_gathers(context, op))
        return AD_DIM_WHOLE;
    enum ad_dim dim = ad_context_bands(context, op);
    return dim == AD_DIM_WHOLE && context->dense[op] ? AD_DIM_C : dim;
}

enum adaps_status ad_bbgrap_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_cluster *cluster = eval->context->problem->cluster;
    double equal[AD_MAX_DEVICES];
    for (int d = 0; d < cluster->ndevices; d++)
        equal[d] = 1;
    const struct ad_bands bands = {
        .dim_of = rows_first, .weight = equal, .whole_on = cluster->source};
    return ad_bands_try(eval, &bands, best);
}
