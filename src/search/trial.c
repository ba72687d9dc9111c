#include "search/trial.h"

enum adaps_status ad_trial_init(struct ad_trial *out, const struct ad_search_problem *problem,
                                struct ad_graph *graph, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    *out = (struct ad_trial){.problem = *problem, .graph = graph};
    if (graph) {
        out->problem.graph = graph;
        out->problem.blocks = &out->blocks;
        status = ad_blocks_find(graph, &out->blocks, err);
    }
    if (status == ADAPS_OK)
        status = ad_context_init(&out->context, &out->problem, err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&out->eval, &out->context, err);
    if (status == ADAPS_OK)
        status =
            ad_layout_init(&out->layout, out->problem.graph->nops, problem->cluster->ndevices, err);
    return status;
}

void ad_trial_fini(struct ad_trial *trial)
{
    ad_layout_fini(&trial->layout);
    ad_eval_fini(&trial->eval);
    ad_context_fini(&trial->context);
    ad_blocks_fini(&trial->blocks);
    ad_graph_free(trial->graph);
    *trial = (struct ad_trial){.graph = NULL};
}

struct ad_graph *ad_trial_take_graph(struct ad_trial *trial)
{
    struct ad_graph *graph = trial->graph;
    trial->graph = NULL;
    return graph;
}
