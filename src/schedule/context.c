#include "schedule/context.h"
#include "schedule/memo.h"

#include <xxhash.h>

#define LARGE 20000 /* ops times devices of which one answer is kept, and two of half as many */

/* Who reads what: each op once per value, as its first such input. */
static void survey_readers(struct ad_lowering_context *c)
{
    const struct ad_graph *graph = c->graph;
    int count = 0;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            c->first_reader[graph->ops[i].inputs[k]] += ad_input_first(&graph->ops[i], k);
    for (int v = 0; v < graph->nvalues; v++) {
        count += c->first_reader[v];
        c->first_reader[v] = count;
    }
    c->first_reader[graph->nvalues] = count;
    for (int i = graph->nops - 1; i >= 0; i--)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (ad_input_first(&graph->ops[i], k))
                c->readers[--c->first_reader[graph->ops[i].inputs[k]]] = (struct ad_reader){i, k};
}

static size_t read_count(const struct ad_graph *graph)
{
    size_t count = 0;
    for (int i = 0; i < graph->nops; i++)
        count += (size_t)graph->ops[i].ninputs;
    return count;
}

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
        .first_reader = ad_calloc((size_t)graph->nvalues + 1, sizeof *out->first_reader),
        .readers = ad_calloc(read_count(graph), sizeof *out->readers),
    };
    if (!out->first_reader || !out->readers) {
        ad_lowering_context_fini(out);
        return ad_error_memory(err, "lowering", (size_t)graph->nvalues);
    }
    survey_readers(out);
    return ADAPS_OK;
}

void ad_lowering_context_fini(struct ad_lowering_context *c)
{
    ad_free(c->first_reader);
    ad_free(c->readers);
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
