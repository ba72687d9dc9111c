#include "search/layout_regions.h"
#include "fusion/region.h"

#include <string.h>

/* Turns the regions of op i in out, which are the hull of what later ops read, into its own, and
 * adds what it reads to those of its producers. exchange[i]: a reader wants op i pinned. */
static void visit(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                  struct ad_layout_memo *memo, bool *exchange, struct ad_assignment *out)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_op_layout *mine = &layout->ops[i];
    struct ad_region *regions = ad_assigned(out, i, 0);
    struct ad_op_regions known = {0};
    int n = layout->ndevices;
    bool derived =
        mine->dim == AD_DIM_EACH || (mine->dim != AD_DIM_WHOLE && !mine->pinned && !exchange[i]);
    if (memo) {
        known = ad_layout_memo_get(memo, graph, layout, i, derived, regions);
        memcpy(regions, known.regions, (size_t)n * sizeof *regions);
    } else {
        ad_layout_op_regions(graph, layout, i, derived, regions);
    }
    for (int k = 0; k < op->ninputs; k++) {
        int p = graph->values[op->inputs[k]].producer;
        if (p < 0)
            continue;
        const struct ad_op_layout *theirs = &layout->ops[p];
        if (mine->dim != AD_DIM_H && mine->dim != AD_DIM_W)
            exchange[p] = true;
        if (theirs->dim != AD_DIM_EACH &&
            (theirs->dim == AD_DIM_WHOLE || theirs->pinned || exchange[p]))
            continue;
        struct ad_region *wanted = ad_assigned(out, p, 0);
        for (int d = 0; d < n; d++)
            if (!ad_region_empty(regions[d]))
                wanted[d] =
                    ad_region_hull(wanted[d], known.reads ? known.reads[k * n + d]
                                                          : ad_need(graph, op, k, regions[d]));
    }
}

void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       struct ad_layout_memo *memo, bool *exchange, struct ad_assignment *out)
{
    out->hub = layout->hub;
    out->u8 = layout->u8;
    out->order = layout->order;
    out->input_chunks = layout->input_chunks;
    out->band_chunks = layout->band_chunks;
    ad_assignment_encode(out, layout->encoding);
    for (int i = 0; i < layout->nops; i++)
        out->early[i] = layout->ops[i].early;
    memset(exchange, 0, (size_t)layout->nops * sizeof *exchange);
    memset(out->region, 0, (size_t)layout->nops * (size_t)layout->ndevices * sizeof *out->region);
    for (int i = 0; i < graph->noutputs; i++) {
        int p = graph->values[graph->outputs[i]].producer;
        if (p < 0)
            continue;
        exchange[p] = true;
        if (layout->ops[p].dim == AD_DIM_EACH)
            *ad_assigned(out, p, source) = ad_region_whole(&graph->values[graph->outputs[i]]);
    }
    for (int i = layout->nops - 1; i >= 0; i--)
        visit(graph, layout, i, memo, exchange, out);
}
