/* Concatenations without copies (ir/aliasing.h), in an engine's buffers. */
#include "exec/engine/internal.h"
#include "schedule/aliasing.h"

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

enum adaps_status ad_alias_find(const struct ad_graph *graph, const struct ad_program *program,
                                struct ad_buffer *buffers, struct adaps_error *err)
{
    struct ad_program_aliases aliases;
    enum adaps_status status = ad_program_aliases_init(&aliases, graph, err);
    if (status != ADAPS_OK)
        return status;
    for (int v = 0; v < graph->nvalues; v++)
        aliases.here[v] = !ad_region_empty(buffers[v].box);
    ad_program_aliases_find(&aliases, graph, program);
    for (int v = 0; v < graph->nvalues; v++) {
        buffers[v].root = aliases.at[v].root;
        buffers[v].shift = aliases.at[v].shift;
    }
    grow_roots(graph, buffers);
    ad_program_aliases_fini(&aliases);
    return ADAPS_OK;
}
