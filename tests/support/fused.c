/* Fused ranges: the backward walk that sizes what each operator computes. */
#include "support/fused.h"

void ad_fused_backward(const struct ad_graph *graph, int first, int last, struct ad_region *regions)
{
    for (int i = last; i >= first; i--) {
        const struct ad_op *op = &graph->ops[i];
        regions[i] = ad_region_allow(graph, op, regions[i]);
        for (int k = 0; k < op->ninputs; k++) {
            int producer = graph->values[op->inputs[k]].producer;
            if (producer >= first)
                regions[producer] =
                    ad_region_hull(regions[producer], ad_need(graph, op, k, regions[i]));
        }
    }
}

struct ad_region ad_fused_input(const struct ad_graph *graph, int first, int last,
                                const struct ad_region *regions, int v)
{
    struct ad_region read = ad_region_none();
    int producer = graph->values[v].producer;
    if (producer >= first && producer <= last)
        return read;
    for (int i = first; i <= last; i++) {
        const struct ad_op *op = &graph->ops[i];
        for (int k = 0; k < op->ninputs; k++)
            if (op->inputs[k] == v)
                read = ad_region_hull(read, ad_need(graph, op, k, regions[i]));
    }
    return read;
}

struct ad_region ad_region_set_hull(const struct ad_region_set *set)
{
    struct ad_region hull = ad_region_none();
    for (size_t i = 0; i < set->count; i++)
        hull = ad_region_hull(hull, set->boxes[i]);
    return hull;
}
