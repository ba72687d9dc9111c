/* Concatenations without copies (ir/concat.h), in an engine's buffers. */
#include "exec/engine_priv.h"
#include "schedule/places.h"

/* What lies in a value makes it larger, and live longer. */
static void grow_roots(const struct ad_graph *graph, struct ad_buffer *buffers)
{
    for (int v = 0; v < graph->nvalues; v++) {
        if (buffers[v].root < 0)
            continue;
        struct ad_buffer *root = &buffers[buffers[v].root];
        struct ad_region part = buffers[v].box;
        part.c0 += (int32_t)buffers[v].shift;
        part.c1 += (int32_t)buffers[v].shift;
        root->box = ad_region_hull(root->box, part);
        root->first = buffers[v].first < root->first ? buffers[v].first : root->first;
        root->last = buffers[v].last > root->last ? buffers[v].last : root->last;
    }
}

enum adaps_status ad_concats_find(const struct adaps_plan *plan, int device,
                                  struct ad_buffer *buffers, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_places places;
    enum adaps_status status = ad_places_init(&places, graph, err);
    if (status != ADAPS_OK)
        return status;
    for (int v = 0; v < graph->nvalues; v++)
        places.here[v] = !ad_region_empty(buffers[v].box);
    ad_places_find(&places, graph, &plan->schedule.programs[device]);
    for (int v = 0; v < graph->nvalues; v++) {
        buffers[v].root = places.at[v].root;
        buffers[v].shift = places.at[v].shift;
    }
    grow_roots(graph, buffers);
    ad_places_fini(&places);
    return ADAPS_OK;
}
