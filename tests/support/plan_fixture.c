#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "ir/partial.h"
#include "pipeline.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void ad_fixture_cluster(struct ad_cluster *out, int ndevices)
{
    ck_assert_int_eq(ad_cluster_init(out, ndevices, NULL), ADAPS_OK);
    for (int d = 0; d < ndevices; d++) {
        struct ad_device *device = &out->devices[d];
        snprintf(device->name, sizeof device->name, "dev%d", d);
        snprintf(device->board, sizeof device->board, "board%d", d % 2);
        device->speed = 1.0 / (1 + d);
        device->threads = 1 + d;
        device->source = d == 0;
        for (int k = 0; k < AD_COST_CLASSES; k++)
            device->table.rate[k] = 1e8;
        device->table.constant_s = 1e-7;
        device->table.memory_bw = 1e9;
    }
    out->source = 0;
    ad_cluster_override_links(out, 1e8, 10e-6);
}

struct ad_graph *ad_fixture_graph(uint64_t seed)
{
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    enum adaps_status status = ad_random_graph(seed, NULL, &graph, &err);
    ck_assert_msg(status == ADAPS_OK, "seed %ju: %s", (uintmax_t)seed, err.message);
    return graph;
}

static struct adaps_plan *make(struct ad_graph *graph, struct ad_cluster *cluster,
                               const char *strategy, enum ad_objective objective)
{
    struct ad_blocks blocks;
    struct ad_search_result result = {0};
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    struct ad_digest digest = ad_digest_of("model", 5);
    ck_assert_int_eq(ad_blocks_find(graph, &blocks, NULL), ADAPS_OK);
    struct ad_search_problem problem = {.graph = graph,
                                        .blocks = &blocks,
                                        .cluster = cluster,
                                        .threshold = 0.15,
                                        .split_h = true,
                                        .split_w = true,
                                        .split_c = true,
                                        .objective = objective,
                                        .evaluations = 300}; /* it need not be a good plan */
    enum adaps_status status = ad_search_run(ad_strategy_find(strategy), &problem, &result, &err);
    ck_assert_msg(status == ADAPS_OK, "%s: %s", strategy, err.message);
    if (result.graph) {
        ck_assert_int_eq(ad_partial_replace(&graph, result.graph, &err), ADAPS_OK);
        result.graph = NULL;
    }
    const struct ad_provenance provenance =
        ad_pipeline_provenance(&result, "/models/net.onnx", &digest, strategy, &problem);
    status = ad_plan_make(graph, cluster, &result.schedule, &provenance, &plan, &err);
    ck_assert_msg(status == ADAPS_OK, "%s: %s", strategy, err.message);
    ck_assert_int_eq(cluster->ndevices, 0); /* taken over */
    ad_search_result_fini(&result);
    ad_blocks_fini(&blocks);
    return plan;
}

struct adaps_plan *ad_fixture_make(struct ad_graph *graph, struct ad_cluster *cluster,
                                   const char *strategy)
{
    return make(graph, cluster, strategy, AD_OBJECTIVE_LATENCY);
}

struct adaps_plan *ad_fixture_make_stream(struct ad_graph *graph, struct ad_cluster *cluster,
                                          const char *strategy)
{
    return make(graph, cluster, strategy, AD_OBJECTIVE_THROUGHPUT);
}

void ad_fixture_buffer(struct adaps_plan *plan, int n)
{
    ad_schedule_buffer(&plan->schedule, n);
    for (int t = 1; t < plan->stream.nturns; t++)
        ad_schedule_buffer(&plan->stream.others[t - 1], n);
}

enum adaps_status ad_fixture_infer(const struct adaps_plan *plan, const struct ad_graph *weights,
                                   int threads, const struct ad_tensor *inputs,
                                   struct ad_tensor *outputs, struct adaps_error *err)
{
    struct ad_local_run *run = NULL;
    const struct ad_weight_source source = ad_weights_of_graph(weights);
    enum adaps_status status = ad_local_run_new(plan, threads, &source, &run, err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(run, inputs, outputs, err);
    ad_local_run_free(run);
    return status;
}

struct adaps_plan *ad_fixture_plan(uint64_t seed)
{
    static const char *const strategies[] = {"edgeflow", "deepthings", "auto",
                                             "single",   "pipeline",   "replicas"};
    struct ad_cluster cluster;
    ad_fixture_cluster(&cluster, 1 + (int)(seed % 4));
    return ad_fixture_make(ad_fixture_graph(seed), &cluster, strategies[seed / 4 % 6]);
}

struct adaps_plan *ad_fixture_banded(int ndevices)
{
    struct ad_builder b;
    struct ad_cluster cluster;
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 32, 24, 8);
    for (int i = 0; i < 4; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_cluster(&cluster, ndevices);
    return ad_fixture_make(graph, &cluster, "edgeflow");
}
