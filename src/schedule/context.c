#include "schedule/context.h"
#include "schedule/memo.h"

#include <xxhash.h>

#define LARGE 20000 /* ops times devices of which one answer is kept, and two of half as many */

/* Of answers per question: fewer for what is large, since an answer takes memory for every op and
 * device. */
static int answers_kept(const struct ad_graph *graph, const struct ad_cluster *cluster)
{
    int64_t size = (int64_t)graph->nops * cluster->ndevices;
    return size > LARGE ? 1 : size > LARGE / 2 ? 2 : AD_KEPT;
}

enum adaps_status ad_lowering_context_init(struct ad_lowering_context *out,
                                           const struct ad_graph *graph,
                                           const struct ad_cluster *cluster,
                                           struct ad_clocks *clocks, bool reused,
                                           struct adaps_error *err)
{
    *out = (struct ad_lowering_context){
        .graph = graph,
        .cluster = cluster,
        .clocks = clocks,
        .err = err,
        .ndevices = cluster->ndevices,
        .nops = graph->nops,
        .reused = reused,
        .kept = reused ? answers_kept(graph, cluster) : 1,
    };
    return ad_readers_init(&out->readers, graph)
               ? ADAPS_OK
               : ad_error_memory(err, "lowering", (size_t)graph->nvalues);
}

void ad_lowering_context_fini(struct ad_lowering_context *c)
{
    ad_readers_fini(&c->readers);
    ad_arena_fini(&c->arena);
    *c = (struct ad_lowering_context){0};
}

void ad_lowering_context_take(struct ad_lowering_context *c, const struct ad_assignment *assignment)
{
    size_t links = (size_t)c->ndevices * (size_t)c->ndevices;
    bool in_graph_order = assignment->order == AD_ORDER_GRAPH || assignment->hub >= 0;
    bool cuts = !in_graph_order && assignment->order >= AD_ORDER_PIECES;
    c->hub = assignment->hub;
    c->early = assignment->early;
    c->u8 = assignment->u8;
    c->encoding = assignment->encoding;
    c->encodings = XXH3_64bits(c->encoding, links * sizeof *c->encoding);
    c->order = assignment->order;
    c->input_chunks = in_graph_order || assignment->input_chunks < 1 ? 1 : assignment->input_chunks;
    c->band_chunks = !cuts || assignment->band_chunks < 1 ? 1 : assignment->band_chunks;
}
