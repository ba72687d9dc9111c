/* From a model and a devices file to a plan: every pass, once, in order.
 *
 *   onnx/     the file, parsed and checked
 *   import/   the typed graph (ir/): shapes inferred, batch normalisation folded, activations fused
 *   blocks/   single-entry, single-exit sub-blocks
 *   cost/     the devices, their speeds, the links between them; by which algorithm each
 *             convolution is computed
 *   search/   which device computes which region of which layer; it asks fusion/ for halos and
 *             schedule/ for steps and simulated clocks
 *   plan/     the chosen schedule with all that it takes to run it
 */
#include "pipeline.h"
#include "search/given/layout_file.h"

#include <limits.h>
#include <stdlib.h>

enum adaps_status ad_pipeline_front(const char *model, const struct ad_import_options *import,
                                    struct ad_graph **graph, struct ad_blocks *blocks,
                                    struct ad_digest *model_digest, struct adaps_error *err)
{
    struct ad_onnx_model *file = NULL;
    struct ad_graph *imported = NULL;

    enum adaps_status status = ad_onnx_load(model, &file, err);
    if (status == ADAPS_OK)
        status = ad_ir_import(file, import, &imported, err);
    if (status == ADAPS_OK)
        status = ad_blocks_find(imported, blocks, err);
    if (status == ADAPS_OK) {
        *graph = imported;
        *model_digest = file->digest;
    } else {
        ad_graph_free(imported);
    }
    ad_onnx_free(file);
    return status;
}

static struct ad_search_problem problem_of(const struct ad_pipeline_options *options,
                                           const struct ad_graph *graph,
                                           const struct ad_blocks *blocks,
                                           const struct ad_cluster *cluster)
{
    return (struct ad_search_problem){
        .graph = graph,
        .blocks = blocks,
        .cluster = cluster,
        .threshold = options->threshold,
        .split_h = options->split_h,
        .split_w = options->split_w,
        .split_c = options->split_c,
        .gather_type3 = options->gather_type3,
        .input_f32 = options->input_f32,
        .encodings = options->encodings,
        .in_order = options->late,
        .objective = options->objective,
        .latency_cap_ns = options->latency_cap_ns,
        .seed = options->seed,
        .evaluations = options->evaluations,
        .effort = options->effort,
        .time_limit_ns = options->time_limit_ns,
    };
}

/* The layouts of all layers, chosen by the strategy, and their schedule. *used: its name. */
static enum adaps_status search(const char **used, const char *name,
                                const struct ad_search_problem *problem,
                                struct ad_search_result *result, struct adaps_error *err)
{
    const struct ad_strategy *strategy = name ? ad_strategy_find(name) : &ad_strategies[0];
    if (!strategy)
        return ad_error_set(err, ADAPS_EUSAGE, "no strategy is called '%s'", name);
    *used = strategy->name;
    return ad_search_run(strategy, problem, result, err);
}

/* The layout of a file instead of a search. */
static enum adaps_status follow_layout(const char *path, const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_assignment given;
    enum adaps_status status =
        ad_layout_file_read(path, problem->graph, problem->cluster, &given, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_search_given(problem, "layout", &given, 1, result, err);
    if (status == ADAPS_EINTERNAL)
        status =
            ad_layout_file_explain(path, problem->graph, problem->cluster, &given, status, err);
    ad_assignment_fini(&given);
    return status;
}

/* The plan keeps what was chosen, to print it. */
static enum adaps_status keep_assignment(struct adaps_plan *plan, struct ad_search_result *result,
                                         struct adaps_error *err)
{
    plan->assignment = ad_calloc(1, sizeof *plan->assignment);
    if (!plan->assignment)
        return ad_error_memory(err, "assignment", sizeof *plan->assignment);
    *plan->assignment = result->assignment;
    result->assignment = (struct ad_assignment){0};
    return ADAPS_OK;
}

struct ad_provenance ad_pipeline_provenance(const struct ad_search_result *result,
                                            const char *model_path,
                                            const struct ad_digest *model_digest,
                                            const char *strategy,
                                            const struct ad_search_problem *problem)
{
    return (struct ad_provenance){
        .model_path = model_path,
        .model_digest = *model_digest,
        .strategy = strategy,
        .threshold = problem->threshold,
        .gather_type3 = problem->gather_type3,
        .u8 = result->u8,
        .visited = result->visited,
        .space_log10 = result->space_log10,
        .search_s = result->seconds,
        .lower_bound_ns = result->lower_bound_ns,
        .note = result->note,
    };
}

enum adaps_status ad_pipeline_compile(const struct ad_pipeline_options *options,
                                      struct adaps_plan **out, struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_cluster cluster = {0};
    struct ad_search_result result = {0};
    struct ad_digest model_digest;
    const char *strategy = "layout";
    struct adaps_plan *plan = NULL;
    const struct ad_import_options import = {.dims = &options->dims, .assumed = options->assumed};
    char model_path[PATH_MAX];

    enum adaps_status status =
        ad_pipeline_front(options->model, &import, &graph, &blocks, &model_digest, err);
    if (status != ADAPS_OK)
        goto out;
    status = ad_cluster_load(options->devices, &cluster, err);
    if (status != ADAPS_OK)
        goto out;
    ad_cluster_override_links(&cluster, options->bandwidth, options->latency);
    if (!options->conv_direct)
        ad_algorithms_choose(graph, &cluster);

    const struct ad_search_problem problem = problem_of(options, graph, &blocks, &cluster);
    status = options->layout ? follow_layout(options->layout, &problem, &result, err)
                             : search(&strategy, options->strategy, &problem, &result, err);
    if (status != ADAPS_OK)
        goto out;

    const struct ad_provenance provenance = ad_pipeline_provenance(
        &result, realpath(options->model, model_path) ? model_path : options->model, &model_digest,
        strategy, &problem);
    status = ad_plan_make(graph, &cluster, &result.schedule, &provenance, &plan, err);
    if (status == ADAPS_OK) {
        graph = NULL; /* the plan's now */
        status = keep_assignment(plan, &result, err);
    }
out:
    if (status == ADAPS_OK)
        *out = plan;
    else
        adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_cluster_fini(&cluster);
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
    return status;
}

enum adaps_status ad_pipeline_compare(const struct ad_pipeline_options *options,
                                      struct ad_pipeline_comparison *out, struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_digest model_digest;
    const struct ad_import_options import = {.dims = &options->dims, .assumed = options->assumed};
    *out = (struct ad_pipeline_comparison){0};
    enum adaps_status status =
        ad_pipeline_front(options->model, &import, &graph, &blocks, &model_digest, err);
    if (status == ADAPS_OK)
        status = ad_cluster_load(options->devices, &out->cluster, err);
    if (status == ADAPS_OK) {
        ad_cluster_override_links(&out->cluster, options->bandwidth, options->latency);
        if (!options->conv_direct)
            ad_algorithms_choose(graph, &out->cluster);
        const struct ad_search_problem problem = problem_of(options, graph, &blocks, &out->cluster);
        status = ad_search_compare(&problem, &out->items, &out->count, err);
    }
    if (status != ADAPS_OK)
        ad_pipeline_comparison_fini(out);
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
    return status;
}

void ad_pipeline_comparison_fini(struct ad_pipeline_comparison *comparison)
{
    ad_comparison_free(comparison->items, comparison->count);
    ad_cluster_fini(&comparison->cluster);
    *comparison = (struct ad_pipeline_comparison){0};
}
