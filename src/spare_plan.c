#include "spare_plan.h"
#include "pipeline.h"

const struct ad_spare_effort ad_spare_hurry = {.evaluations = 2000,
                                               .time_limit_ns = (int64_t)1000 * 1000 * 1000};

static enum adaps_status search(const struct adaps_plan *first, const struct ad_graph *graph,
                                const struct ad_blocks *blocks, const struct ad_cluster *cluster,
                                const struct ad_spare_effort *effort,
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
        .worth = ad_search_worth(cluster),
        .seed = effort->seed,
        .evaluations = effort->evaluations,
        .effort = effort->effort,
        .time_limit_ns = effort->time_limit_ns,
    };
    enum adaps_status status = ad_search_run(&ad_strategies[0], problem, result, err);
    if (status == ADAPS_OK && result->graph)
        return ad_error_set(err, ADAPS_EINTERNAL, "the search has changed the order of sums");
    return status;
}

enum adaps_status ad_spare_plan(const struct adaps_plan *first, const struct ad_cluster *now,
                                const struct ad_graph *numbers, const bool *out,
                                const struct ad_spare_effort *effort, struct adaps_plan **plan,
                                int *device_of, struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_cluster cluster = {0};
    struct ad_blocks blocks = {0};
    struct ad_search_problem problem;
    struct ad_search_result result = {0};
    enum adaps_status status = ad_cluster_without(now, out, &cluster, device_of, err);
    if (status == ADAPS_OK)
        status = ad_graph_copy(first->graph, &graph, err);
    if (status == ADAPS_OK)
        status = ad_blocks_find(graph, &blocks, err);
    if (status == ADAPS_OK)
        status = search(first, graph, &blocks, &cluster, effort, &problem, &result, err);
    if (status == ADAPS_OK) {
        struct ad_provenance provenance = ad_pipeline_provenance(
            &result, first->model_path, &first->model_digest, ad_strategies[0].name, &problem);
        provenance.numbers = numbers;
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

enum adaps_status ad_spare_plans(struct adaps_plan *plan, const struct ad_spare_effort *effort,
                                 struct adaps_error *err)
{
    const struct ad_cluster *cluster = &plan->cluster;
    if (ad_plan_lossy(plan))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "a lossy plan has no spares: its answers depend on its devices");
    for (int lost = 0; lost < cluster->ndevices; lost++) {
        bool out[AD_MAX_DEVICES] = {false};
        int device_of[AD_MAX_DEVICES];
        struct adaps_plan *spare = NULL;
        if (lost == cluster->source || !ad_plan_works(plan, lost))
            continue;
        out[lost] = true;
        enum adaps_status status =
            ad_spare_plan(plan, cluster, plan->graph, out, effort, &spare, device_of, err);
        if (status == ADAPS_NO)
            continue;
        if (status == ADAPS_OK)
            status = ad_plan_add_spare(plan, lost, spare, err);
        if (status != ADAPS_OK) {
            adaps_plan_free(spare);
            return ad_error_prefix(err,
                                   "the plan for the loss of '%s': ", cluster->devices[lost].name);
        }
    }
    return ADAPS_OK;
}
