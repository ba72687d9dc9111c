/* Strategy `defer`, after A. Parthasarathy and B. Krishnamachari, "DEFER: Distributed Edge
 * Inference for Deep Neural Networks" (COMSNETS 2022): as many groups of layers as devices, of
 * equal numbers of layers, in the order of the devices file, the source first.
 *
 * Interpreted: layers are ops. A group ends where only one value crosses, as the paper's parts have
 * one input and one output, at the place that is nearest to equal numbers; where there is none, at
 * equal numbers. The dispatcher is the source, which computes, too. */
#include "base/mem.h"
#include "search/published/chain.h"
#include "search/published/published.h"

/* counts: [op + 1], zeroed: how many values made before an op are read from it on. last:
 * [value], scratch. */
static void count_crossing(const struct ad_graph *graph, int *last, int *counts)
{
    for (int v = 0; v < graph->nvalues; v++)
        last[v] = -1;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            last[graph->ops[i].inputs[k]] = i;
    for (int v = 0; v < graph->nvalues; v++)
        for (int i = graph->values[v].producer + 1; graph->values[v].constant < 0 && i <= last[v];
             i++)
            counts[i]++;
}

/* Where only one value crosses, as near to `equal` as can be, after `begin`; else `equal`. */
static int end_near(const int *counts, int nops, int begin, int equal)
{
    for (int away = 0; equal < nops && away < nops; away++) {
        if (equal - away > begin && counts[equal - away] == 1)
            return equal - away;
        if (equal + away < nops && equal + away > begin && counts[equal + away] == 1)
            return equal + away;
    }
    return equal > begin ? equal : begin;
}

static void make_chain(const struct ad_search_problem *p, const int *counts, struct ad_chain *chain)
{
    int n = p->cluster->ndevices, nops = p->graph->nops, d = p->cluster->source, begin = 0;
    for (int k = 0; k < n; k++) {
        begin = end_near(counts, nops, begin, (int)((int64_t)nops * (k + 1) / n));
        chain->device[chain->nstages] = d;
        chain->end[chain->nstages++] = begin;
        d = k == 0 ? 0 : d + 1;
        d += d == p->cluster->source;
    }
}

enum adaps_status ad_defer_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    size_t nops = (size_t)p->graph->nops, nvalues = (size_t)p->graph->nvalues;
    int *counts = ad_calloc(nops + 1, sizeof *counts), *last = ad_calloc(nvalues, sizeof *last);
    struct ad_chain chain = {.nstages = 0};
    struct ad_layout layout = {0};
    enum adaps_status status =
        counts && last ? ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err)
                       : ad_error_memory(eval->err, "layers", (nops + nvalues) * sizeof *counts);
    if (status == ADAPS_OK) {
        count_crossing(p->graph, last, counts);
        make_chain(p, counts, &chain);
        ad_chain_layout(eval->context, &chain, &layout);
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    ad_free(counts);
    ad_free(last);
    return status;
}
