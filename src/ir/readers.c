#include "ir/readers.h"
#include "base/mem.h"

static void survey(const struct ad_graph *graph, struct ad_readers *out)
{
    int count = 0;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            out->first[graph->ops[i].inputs[k]] += ad_input_first(&graph->ops[i], k);
    for (int v = 0; v < graph->nvalues; v++) {
        count += out->first[v];
        out->first[v] = count;
    }
    out->first[graph->nvalues] = count;
    for (int i = graph->nops - 1; i >= 0; i--)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (ad_input_first(&graph->ops[i], k))
                out->list[--out->first[graph->ops[i].inputs[k]]] = (struct ad_reader){i, k};
}

bool ad_readers_init(struct ad_readers *out, const struct ad_graph *graph)
{
    size_t reads = 0;
    for (int i = 0; i < graph->nops; i++)
        reads += (size_t)graph->ops[i].ninputs;
    *out = (struct ad_readers){
        .first = ad_calloc((size_t)graph->nvalues + 1, sizeof *out->first),
        .list = ad_calloc(reads, sizeof *out->list),
    };
    if (out->first && out->list) {
        survey(graph, out);
        return true;
    }
    ad_readers_fini(out);
    return false;
}

void ad_readers_fini(struct ad_readers *readers)
{
    ad_free(readers->first);
    ad_free(readers->list);
    *readers = (struct ad_readers){0};
}
