#include "search/layout_regions.h"
#include "fusion/region.h"

#include <string.h>

/* Turns the regions of op i in out, which are the hull of what later ops read, into its own, and
 * adds what it reads to those of its producers. exchange[i]: a reader wants op i pinned. */
static void visit(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                  bool *exchange, struct ad_assignment *out)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_op_layout *mine = &layout->ops[i];
    struct ad_region *regions = ad_assigned(out, i, 0);
    int n = layout->ndevices;
    ad_layout_op_regions(graph, layout, i, ad_layout_derived(mine, exchange[i]), regions);
    for (int k = 0; k < op->ninputs; k++) {
        int p = graph->values[op->inputs[k]].producer;
        if (p < 0)
            continue;
        const struct ad_op_layout *theirs = &layout->ops[p];
        exchange[p] = exchange[p] || ad_layout_exchanges(mine);
        if (!ad_layout_derived(theirs, exchange[p]))
            continue;
        struct ad_region *wanted = ad_assigned(out, p, 0);
        for (int d = 0; d < n; d++)
            if (!ad_region_empty(regions[d]))
                wanted[d] = ad_region_hull(wanted[d], ad_need(graph, op, k, regions[d]));
    }
}

void ad_layout_head(const struct ad_layout *layout, struct ad_assignment *out)
{
    out->hub = layout->hub;
    out->u8 = layout->u8;
    out->order = layout->order;
    out->input_chunks = layout->input_chunks;
    out->band_chunks = layout->band_chunks;
    ad_assignment_encode(out, layout->encoding);
    for (int i = 0; i < layout->nops; i++)
        out->early[i] = layout->ops[i].early;
}

void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       bool *exchange, struct ad_assignment *out)
{
    ad_layout_head(layout, out);
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
        visit(graph, layout, i, exchange, out);
}
