#include "spare_plan.h"
#include "pipeline.h"

#define LAYOUTS 2000             /* that the search may improve */
#define MOST_NS AD_SPARE_PLAN_NS /* and how long it may do so */

/* The cluster without the devices that are out. */
static enum adaps_status cluster_without(const struct ad_cluster *from, const bool *out,
                                         struct ad_cluster *to, int *device_of,
                                         struct adaps_error *err)
{
    int n = 0;
    for (int d = 0; d < from->ndevices; d++)
        if (!out[d])
            device_of[n++] = d;
    enum adaps_status status = ad_cluster_init(to, n, err);
    if (status != ADAPS_OK)
        return status;
    to->shared_medium = from->shared_medium;
    to->common = from->common;
    for (int a = 0; a < n; a++) {
        ad_cluster_set_device(to, a, &from->devices[device_of[a]]);
        if (device_of[a] == from->source)
            to->source = a;
        for (int b = 0; b < n; b++)
            to->links[a * n + b] = from->links[device_of[a] * from->ndevices + device_of[b]];
    }
    return ADAPS_OK;
}

static enum adaps_status search(const struct adaps_plan *first, const struct ad_graph *graph,
                                const struct ad_blocks *blocks, const struct ad_cluster *cluster,
                                struct ad_search_problem *problem, struct ad_search_result *result,
                                struct adaps_error *err)
{
    *problem = (struct ad_search_problem){
        .graph = graph,
        .blocks = blocks,
        .cluster = cluster,
        .threshold = first->threshold,
        .split_h = true,
        .split_w = true,
        .split_c = true,
        .gather_type3 = first->gather_type3,
        .objective = first->stream.frames > 1 ? AD_OBJECTIVE_THROUGHPUT : AD_OBJECTIVE_LATENCY,
        .evaluations = LAYOUTS,
        .time_limit_ns = MOST_NS,
    };
    enum adaps_status status = ad_search_run(&ad_strategies[0], problem, result, err);
    if (status == ADAPS_OK && result->graph)
        return ad_error_set(err, ADAPS_EINTERNAL, "the search has changed the order of sums");
    return status;
}

enum adaps_status ad_spare_plan(const struct adaps_plan *first,
                                const struct ad_model_weights *weights, const bool *out,
                                struct adaps_plan **plan, int *device_of, struct adaps_error *err)
{
    return ad_spare_plan_on(first, &first->cluster, weights, out, plan, device_of, err);
}

enum adaps_status ad_spare_plan_on(const struct adaps_plan *first, const struct ad_cluster *now,
                                   const struct ad_model_weights *weights, const bool *out,
                                   struct adaps_plan **plan, int *device_of,
                                   struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_cluster cluster = {0};
    struct ad_blocks blocks = {0};
    struct ad_search_problem problem;
    struct ad_search_result result = {0};
    enum adaps_status status = cluster_without(now, out, &cluster, device_of, err);
    if (status == ADAPS_OK)
        status = ad_graph_copy(first->graph, &graph, err);
    if (status == ADAPS_OK)
        status = ad_blocks_find(graph, &blocks, err);
    if (status == ADAPS_OK)
        status = search(first, graph, &blocks, &cluster, &problem, &result, err);
    if (status == ADAPS_OK) {
        struct ad_provenance provenance = ad_pipeline_provenance(
            &result, first->model_path, &first->model_digest, ad_strategies[0].name, &problem);
        provenance.numbers = ad_model_weights_graph(weights);
        status = ad_plan_make(graph, &cluster, &result.schedule, &provenance, plan, err);
    }
    if (status == ADAPS_OK)
        graph = NULL; /* the plan's now */
    ad_search_result_fini(&result);
    ad_blocks_fini(&blocks);
    ad_cluster_fini(&cluster);
    ad_graph_free(graph);
    return status;
}
