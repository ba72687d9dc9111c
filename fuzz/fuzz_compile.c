/* ONNX files through every pass: what is imported can be planned for three unequal devices by every
 * strategy; the plan is packed, and read again with all its checks. The input is an ONNX file. */
#include "fuzz.h"
#include "wire_mutate.h"
#include "cost/board.h"
#include "import/import.h"
#include "pipeline.h"

#define COMPILE_MAX_OPS 40       /* larger graphs take too long for fuzzing */
#define COMPILE_MAX_ELEMENTS 1e8 /* of a value */

static void compile_cluster(struct ad_cluster *cluster)
{
    struct adaps_error err = {0};
    static const double speeds[] = {1e-3, 4e-4, 2e-3};
    FUZZ_CHECK(ad_cluster_init(cluster, 3, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < 3; i++) {
        struct ad_device *device = &cluster->devices[i];
        snprintf(device->name, sizeof device->name, "d%d", i);
        device->table = ad_board_x86();
        device->speed = speeds[i];
        device->threads = 1;
        device->source = i == 0;
    }
    cluster->source = 0;
    ad_cluster_override_links(cluster, 1e9, 1e-6);
}

/* Takes the graph over. */
static void compile_with(const char *strategy, struct ad_graph *graph)
{
    struct adaps_error err = {0};
    struct ad_blocks blocks = {0};
    struct ad_cluster cluster = {0};
    struct ad_search_result result = {0};
    struct adaps_plan *plan = NULL, *again = NULL;
    struct ad_digest digest = {{0}};
    void *bytes;
    size_t size;
    FUZZ_CHECK(ad_blocks_find(graph, &blocks, &err) == ADAPS_OK, "%s", err.message);
    compile_cluster(&cluster);
    const struct ad_search_problem problem = {.graph = graph,
                                              .blocks = &blocks,
                                              .cluster = &cluster,
                                              .threshold = 0.15,
                                              .split_h = true,
                                              .evaluations = 10};
    FUZZ_CHECK(ad_search_run(ad_strategy_find(strategy), &problem, &result, &err) == ADAPS_OK,
               "%s: %s", strategy, err.message);
    const struct ad_provenance provenance =
        ad_pipeline_provenance(&result, "m.onnx", &digest, strategy, &problem);
    FUZZ_CHECK(ad_plan_make(graph, &cluster, &result.schedule, &provenance, &plan, &err) ==
                   ADAPS_OK,
               "%s: %s", strategy, err.message);
    FUZZ_CHECK(ad_plan_pack(plan, &bytes, &size, &err) == ADAPS_OK, "%s", err.message);
    FUZZ_CHECK(ad_plan_unpack(bytes, size, "compiled", &again, &err) == ADAPS_OK, "%s: %s",
               strategy, err.message);
    FUZZ_CHECK(ad_digest_equal(&plan->digest, &again->digest), "%s: another digest", strategy);
    adaps_plan_free(again);
    ad_free(bytes);
    adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_cluster_fini(&cluster);
    ad_blocks_fini(&blocks);
}

static bool compile_is_small(const struct ad_graph *graph)
{
    for (int i = 0; i < graph->nvalues; i++) {
        const struct ad_box *box = &graph->values[i].box;
        if ((double)box->n * (double)box->h * (double)box->w * (double)box->c >
            COMPILE_MAX_ELEMENTS)
            return false;
    }
    return graph->nops <= COMPILE_MAX_OPS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const strategies[] = {"single", "edgeflow", "auto"};
    for (int i = 0; i < 3; i++) {
        struct ad_onnx_model *model = NULL;
        struct ad_graph *graph = NULL;
        bool small = ad_onnx_parse(data, size, "fuzz.onnx", &model, NULL) == ADAPS_OK &&
                     ad_ir_import(model, NULL, &graph, NULL) == ADAPS_OK && compile_is_small(graph);
        ad_onnx_free(model);
        if (small)
            compile_with(strategies[i], graph);
        else
            ad_graph_free(graph);
        if (!small)
            return 0;
    }
    fuzz_accepted++;
    return 0;
}

/* The parser has its own target. */
WIRE_MUTATOR(onnx__model_proto__descriptor, 0)
