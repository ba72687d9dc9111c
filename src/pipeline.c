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
 *
 * and, when they are asked for, the same for the devices that are left when one is lost
 * (spare_plan.c).
 */
#include "pipeline.h"
#include "base/machine.h"
#include "from_plan.h"
#include "ir/partial.h"
#include "search/given/layout_file.h"
#include "search/given/mapping_layout.h"
#include "search/given/platform.h"
#include "search/stream/judge.h"
#include "spare_plan.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The front for a model that was parsed, which is not needed any more then. */
static enum adaps_status front_of(struct ad_onnx_model *file,
                                  const struct ad_import_options *import, struct ad_graph **graph,
                                  struct ad_blocks *blocks, struct ad_digest *model_digest,
                                  struct adaps_error *err)
{
    struct ad_graph *imported = NULL;
    enum adaps_status status = ad_ir_import(file, import, &imported, err);
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

enum adaps_status ad_pipeline_front(const char *model, const struct ad_import_options *import,
                                    struct ad_graph **graph, struct ad_blocks *blocks,
                                    struct ad_digest *model_digest, struct adaps_error *err)
{
    struct ad_onnx_model *file;
    enum adaps_status status = ad_onnx_load(model, &file, err);
    return status == ADAPS_OK ? front_of(file, import, graph, blocks, model_digest, err) : status;
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
        .interval_cap_ns = options->interval_cap_ns,
        .worth = ad_search_worth(cluster),
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

/* The layouts of a file instead of a search. */
static enum adaps_status follow_layout(const struct ad_layout_file *file,
                                       const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_assignment *turns = ad_calloc((size_t)file->nturns, sizeof *turns);
    int deal[AD_STREAM_DEALS];
    struct ad_given given = {.items = turns, .deal = deal};
    enum adaps_status status = turns ? ad_layout_file_deal(file, deal, &given.ndeal, err)
                                     : ad_error_memory(err, "layout", (size_t)file->nturns);
    while (given.count < file->nturns && status == ADAPS_OK) {
        status = ad_layout_file_read(file, given.count, problem->graph, problem->cluster,
                                     &turns[given.count], err);
        given.count += status == ADAPS_OK;
    }
    if (status == ADAPS_OK)
        status = ad_search_given(problem, "layout", &given, result, err);
    for (int t = 0; t < given.count && status == ADAPS_EINTERNAL; t++)
        status = ad_layout_file_explain(file, t, problem->graph, problem->cluster, &turns[t],
                                        status, err);
    for (int t = 0; t < given.count; t++)
        ad_assignment_fini(&turns[t]);
    ad_free(turns);
    return status;
}

enum adaps_status ad_pipeline_map(const struct ad_pipeline_options *options,
                                  struct ad_pipeline_mapped *out, struct adaps_error *err)
{
    *out = (struct ad_pipeline_mapped){0};
    enum adaps_status status = ad_mapping_read(options->mapping, &out->mapping, err);
    if (status == ADAPS_OK)
        status = ad_onnx_load(options->model, &out->file, err);
    if (status == ADAPS_OK)
        status = ad_mapping_resolve(&out->mapping, out->file, err);
    const struct ad_import_options import = {.dims = &options->dims,
                                             .assumed = options->assumed,
                                             .places = out->mapping.places,
                                             .facts = &out->facts};
    if (status == ADAPS_OK)
        status = ad_ir_import(out->file, &import, &out->graph, err);
    if (status == ADAPS_OK)
        status = ad_mapping_check(&out->mapping, out->file, &out->facts, err);
    if (status == ADAPS_OK && options->devices)
        status = ad_cluster_load(options->devices, &out->cluster, err);
    if (status == ADAPS_OK && (options->devices || options->platform))
        status = ad_platform_apply(options->platform, options->devices, &out->mapping,
                                   &out->cluster, err);
    if (status != ADAPS_OK)
        ad_pipeline_mapped_fini(out);
    return status;
}

void ad_pipeline_mapped_fini(struct ad_pipeline_mapped *mapped)
{
    ad_mapping_fini(&mapped->mapping);
    ad_import_facts_fini(&mapped->facts);
    ad_graph_free(mapped->graph);
    ad_cluster_fini(&mapped->cluster);
    ad_onnx_free(mapped->file);
    *mapped = (struct ad_pipeline_mapped){0};
}

/* The regions of a mapping instead of a search. */
static enum adaps_status follow_mapping(const struct ad_pipeline_mapped *mapped,
                                        const struct ad_search_problem *problem,
                                        struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_assignment *given;
    int count;
    enum adaps_status status =
        ad_mapping_assign(&mapped->mapping, mapped->file, &mapped->facts, problem->graph,
                          problem->cluster, ad_search_u8(problem), &given, &count, err);
    if (status == ADAPS_OK)
        status = ad_search_given(problem, "mapping",
                                 &(struct ad_given){.items = given, .count = count}, result, err);
    ad_mapping_assignments_free(given, count);
    return status;
}

/* The plan keeps what was chosen, to print it. */
static enum adaps_status keep_assignments(struct adaps_plan *plan, struct ad_search_result *result,
                                          struct adaps_error *err)
{
    size_t count = (size_t)result->nothers + 1;
    plan->assignment = ad_calloc(count, sizeof *plan->assignment);
    if (!plan->assignment)
        return ad_error_memory(err, "assignment", count * sizeof *plan->assignment);
    plan->nassignments = (int)count;
    plan->assignment[0] = result->assignment;
    for (size_t t = 1; t < count; t++)
        plan->assignment[t] = result->others[t - 1];
    result->assignment = (struct ad_assignment){0};
    result->nothers = 0;
    return ADAPS_OK;
}

struct ad_provenance ad_pipeline_provenance(struct ad_search_result *result, const char *model_path,
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
        .stream = &result->stream,
    };
}

/* What a plan is made of: the front and the devices, and what is given instead of a search. */
struct parts {
    struct ad_pipeline_mapped mapped; /* without a mapping, the graph and the cluster alone */
    struct ad_layout_file layout;
    struct ad_blocks blocks;
    struct ad_digest digest;
};

/* The devices of the file, or one for this machine: of the board whose table is built in. */
static enum adaps_status find_cluster(const char *devices, struct ad_cluster *out,
                                      struct adaps_error *err)
{
    if (devices)
        return ad_cluster_load(devices, out, err);
    enum adaps_status status = ad_cluster_add(out, "", "here", "x86", err);
    if (status == ADAPS_OK)
        status = ad_cluster_use_threads(out, 0, ad_machine_cores(), err);
    return status;
}

static enum adaps_status prepare(const struct ad_pipeline_options *options, struct parts *out,
                                 struct adaps_error *err)
{
    const struct ad_import_options import = {.dims = &options->dims, .assumed = options->assumed};
    struct ad_onnx_model *file;
    enum adaps_status status =
        options->model_data
            ? ad_onnx_parse(options->model_data, options->model_size, options->model, &file, err)
            : ad_onnx_load(options->model, &file, err);
    if (status == ADAPS_OK)
        status = front_of(file, &import, &out->mapped.graph, &out->blocks, &out->digest, err);
    if (status == ADAPS_OK && options->cluster)
        return ad_cluster_copy(options->cluster, &out->mapped.cluster, err);
    return status == ADAPS_OK ? find_cluster(options->devices, &out->mapped.cluster, err) : status;
}

/* Adds input channels in the blocks that the layout says. */
static enum adaps_status follow_blocks(struct parts *parts, struct adaps_error *err)
{
    struct ad_graph **graph = &parts->mapped.graph, *partial = NULL;
    bool any = false;
    int32_t *blocks = ad_calloc((size_t)(*graph)->nops, sizeof *blocks);
    enum adaps_status status =
        blocks ? ad_layout_file_blocks(&parts->layout, *graph, blocks, &any, err)
               : ad_error_memory(err, "layout", (size_t)(*graph)->nops * sizeof *blocks);
    if (status == ADAPS_OK && any)
        status = ad_graph_partial(*graph, blocks, &partial, err);
    if (status == ADAPS_OK && any)
        status = ad_partial_replace(graph, partial, err);
    if (status == ADAPS_OK && any) {
        ad_blocks_fini(&parts->blocks);
        status = ad_blocks_find(*graph, &parts->blocks, err);
    }
    ad_free(blocks);
    return status;
}

/* Imports the model again, with these operators apart. */
static enum adaps_status import_apart(const struct ad_pipeline_options *options, const char **names,
                                      size_t count, struct parts *out, struct adaps_error *err)
{
    const struct ad_import_options apart = {
        .dims = &options->dims, .standing = names, .nstanding = count};
    ad_graph_free(out->mapped.graph);
    ad_blocks_fini(&out->blocks);
    out->mapped.graph = NULL;
    enum adaps_status status = ad_pipeline_front(options->model, &apart, &out->mapped.graph,
                                                 &out->blocks, &out->digest, err);
    return status == ADAPS_OK ? follow_blocks(out, err) : status;
}

/* The same of a layout: operators that it lists stay apart, even if the import would join them. */
static enum adaps_status prepare_layout(const struct ad_pipeline_options *options,
                                        struct parts *out, struct adaps_error *err)
{
    enum adaps_status status = ad_layout_file_open(options->layout, &out->layout, err);
    if (status != ADAPS_OK)
        return status;
    size_t count = 0, before = 0;
    const char **names = ad_calloc(out->layout.nops, sizeof *names);
    status = names ? prepare(options, out, err) : ad_error_memory(err, "layout", out->layout.nops);
    if (status == ADAPS_OK)
        status = follow_blocks(out, err);
    while (status == ADAPS_OK) {
        if (!ad_layout_file_missing(&out->layout, out->mapped.graph, names, &count))
            status = ad_error_memory(err, "layout", out->layout.nops);
        if (status != ADAPS_OK || count == before)
            break;
        before = count;
        status = import_apart(options, names, count, out, err);
    }
    ad_free(names);
    return status;
}

static enum adaps_status prepare_mapping(const struct ad_pipeline_options *options,
                                         struct parts *out, struct adaps_error *err)
{
    enum adaps_status status = ad_pipeline_map(options, &out->mapped, err);
    if (status != ADAPS_OK)
        return status;
    out->digest = out->mapped.file->digest;
    return ad_blocks_find(out->mapped.graph, &out->blocks, err);
}

/* What the options change of the devices, and by which algorithm each convolution may be computed
 * then. choices: the caller's (ad_algorithms_fini()), none if convolutions are direct. */
static enum adaps_status settle(const struct ad_pipeline_options *options, struct ad_graph *graph,
                                struct ad_cluster *cluster, struct ad_algorithm_choices *choices,
                                struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    ad_cluster_override_links(cluster, options->bandwidth, options->latency);
    for (int d = 0; options->corrections && d < cluster->ndevices; d++)
        cluster->devices[d].speed *= options->corrections[d];
    if (!options->conv_direct)
        status = ad_algorithms_list(graph, cluster, choices, err);
    return status == ADAPS_OK && options->objective == AD_OBJECTIVE_ENERGY
               ? ad_cluster_check_power(cluster, err)
               : status;
}

/* By what the options say: a layout or a mapping that is given, or a search. */
static enum adaps_status choose(const struct ad_pipeline_options *options,
                                const struct parts *parts, const struct ad_search_problem *problem,
                                const char **strategy, struct ad_search_result *result,
                                struct adaps_error *err)
{
    if (options->layout) {
        *strategy = "layout";
        return follow_layout(&parts->layout, problem, result, err);
    }
    if (options->mapping) {
        *strategy = "mapping";
        return follow_mapping(&parts->mapped, problem, result, err);
    }
    struct ad_search_problem started = *problem;
    struct ad_assignment from = {0};
    enum adaps_status status = ADAPS_OK;
    if (options->from) {
        status = ad_from_plan(options->from, problem->graph, &parts->digest, problem->cluster,
                              &from, err);
        started.from = &from;
    }
    if (status == ADAPS_OK)
        status = search(strategy, options->strategy, &started, result, err);
    ad_assignment_fini(&from);
    return status;
}

/* *best becomes the better one of two results, the other is freed. *found: the status of the search
 * for *best. */
static enum adaps_status take_better(const struct ad_search_problem *problem,
                                     struct ad_search_result *best, enum adaps_status *found,
                                     struct ad_search_result *other, bool *taken,
                                     struct adaps_error *err)
{
    struct ad_stream_verdict theirs, mine = {INT64_MAX, INFINITY};
    enum adaps_status status = ad_stream_judge(problem, other, &theirs, err);
    if (status == ADAPS_OK && *found == ADAPS_OK)
        status = ad_stream_judge(problem, best, &mine, err);
    *taken = status == ADAPS_OK && ad_stream_verdict_better(theirs, mine);
    int64_t visited = best->visited + other->visited;
    double seconds = best->seconds + other->seconds;
    int64_t bound = *found == ADAPS_OK && best->lower_bound_ns < other->lower_bound_ns
                        ? best->lower_bound_ns
                        : other->lower_bound_ns;
    struct ad_search_result worse = *taken ? *best : *other;
    if (*taken) {
        *best = *other;
        *found = ADAPS_OK;
    }
    best->visited = visited;
    best->seconds = seconds;
    best->lower_bound_ns = bound; /* no plan by any of the choices answers sooner */
    ad_search_result_fini(&worse);
    return status;
}

/* With each of the choices of algorithms: the best result, whose choice the graph has afterwards.
 */
static enum adaps_status choose_all(const struct ad_pipeline_options *options,
                                    const struct parts *parts,
                                    const struct ad_algorithm_choices *choices,
                                    const struct ad_search_problem *problem, const char **strategy,
                                    struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_graph *graph = parts->mapped.graph;
    int count = choices->count > 1 ? choices->count : 1, best = 0;
    struct ad_search_problem each = *problem;
    each.time_limit_ns /= count;
    enum adaps_status found = choose(options, parts, &each, strategy, result, err);
    for (int i = 1; i < count && (found == ADAPS_OK || found == ADAPS_NO); i++) {
        struct ad_search_result other = {0};
        struct adaps_error why = {0};
        bool taken = false;
        ad_algorithms_take(choices, i, graph);
        enum adaps_status status = choose(options, parts, &each, strategy, &other, &why);
        if (status == ADAPS_OK)
            status = take_better(problem, result, &found, &other, &taken, &why);
        best = taken ? i : best;
        if (status != ADAPS_OK && status != ADAPS_NO)
            found = ad_error_set(err, status, "%s", why.message);
    }
    if (count > 1)
        ad_algorithms_take(choices, best, graph);
    return found;
}

/* So many passes are done. */
static void tell(const struct ad_pipeline_options *options, uint64_t done)
{
    if (options->progress)
        options->progress(options->progress_self, "plan", done, options->spares ? 4 : 3);
}

enum adaps_status ad_pipeline_compile(const struct ad_pipeline_options *options,
                                      struct adaps_plan **out, struct adaps_error *err)
{
    struct parts parts = {0};
    struct ad_graph **graph = &parts.mapped.graph;
    struct ad_cluster *cluster = &parts.mapped.cluster;
    struct ad_search_result result = {0};
    struct ad_algorithm_choices choices = {0};
    const char *strategy = NULL;
    struct adaps_plan *plan = NULL;
    char model_path[PATH_MAX];

    enum adaps_status status = options->layout    ? prepare_layout(options, &parts, err)
                               : options->mapping ? prepare_mapping(options, &parts, err)
                                                  : prepare(options, &parts, err);
    if (status == ADAPS_OK)
        status = settle(options, *graph, cluster, &choices, err);
    if (status != ADAPS_OK)
        goto out;
    tell(options, 1);

    const struct ad_search_problem problem = problem_of(options, *graph, &parts.blocks, cluster);
    status = choose_all(options, &parts, &choices, &problem, &strategy, &result, err);
    if (status != ADAPS_OK)
        goto out;
    tell(options, 2);

    if (result.graph) {
        status = ad_partial_replace(graph, result.graph, err);
        result.graph = NULL;
    }
    if (status != ADAPS_OK)
        goto out;
    const struct ad_provenance provenance = ad_pipeline_provenance(
        &result, realpath(options->model, model_path) ? model_path : options->model, &parts.digest,
        strategy, &problem);
    status = ad_plan_make(*graph, cluster, &result.schedule, &provenance, &plan, err);
    if (status == ADAPS_OK) {
        *graph = NULL; /* the plan's now */
        status = keep_assignments(plan, &result, err);
    }
    if (status == ADAPS_OK)
        tell(options, 3);
    if (status == ADAPS_OK && options->spares)
        status = ad_spare_plans(plan,
                                &(struct ad_spare_effort){.seed = options->seed,
                                                          .evaluations = options->evaluations,
                                                          .effort = options->effort,
                                                          .time_limit_ns = options->time_limit_ns},
                                err);
    if (status == ADAPS_OK && options->spares)
        tell(options, 4);
out:
    if (status == ADAPS_OK)
        *out = plan;
    else
        adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_algorithms_fini(&choices);
    ad_blocks_fini(&parts.blocks);
    ad_layout_file_fini(&parts.layout);
    ad_pipeline_mapped_fini(&parts.mapped);
    return status;
}

/* Graph, sub-blocks and devices for several plans. What was made is the caller's, on failure, too.
 */
static enum adaps_status prepare_several(const struct ad_pipeline_options *options,
                                         struct ad_graph **graph, struct ad_blocks *blocks,
                                         struct ad_digest *model, struct ad_cluster *cluster,
                                         struct ad_algorithm_choices *choices,
                                         struct adaps_error *err)
{
    const struct ad_import_options import = {.dims = &options->dims, .assumed = options->assumed};
    enum adaps_status status =
        ad_pipeline_front(options->model, &import, graph, blocks, model, err);
    if (status == ADAPS_OK)
        status = find_cluster(options->devices, cluster, err);
    return status == ADAPS_OK ? settle(options, *graph, cluster, choices, err) : status;
}

/* The strategies side by side, with each of the choices of algorithms. */
static enum adaps_status compare_all(const struct ad_search_problem *problem,
                                     const struct ad_algorithm_choices *choices,
                                     struct ad_graph *graph, struct ad_pipeline_comparison *out,
                                     struct adaps_error *err)
{
    enum adaps_status status = ad_search_compare(problem, &out->items, &out->count, err);
    for (int i = 1; i < choices->count && status == ADAPS_OK; i++) {
        struct ad_comparison *items = NULL;
        int count = 0;
        ad_algorithms_take(choices, i, graph);
        status = ad_search_compare(problem, &items, &count, err);
        if (status == ADAPS_OK)
            ad_comparison_merge(out->items, items, count);
        ad_comparison_free(items, count);
    }
    return status;
}

enum adaps_status ad_pipeline_compare(const struct ad_pipeline_options *options,
                                      struct ad_pipeline_comparison *out, struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_digest model_digest;
    struct ad_algorithm_choices choices = {0};
    *out = (struct ad_pipeline_comparison){0};
    enum adaps_status status =
        prepare_several(options, &graph, &blocks, &model_digest, &out->cluster, &choices, err);
    if (status == ADAPS_OK) {
        const struct ad_search_problem problem = problem_of(options, graph, &blocks, &out->cluster);
        status = compare_all(&problem, &choices, graph, out, err);
    }
    if (status != ADAPS_OK)
        ad_pipeline_comparison_fini(out);
    ad_algorithms_fini(&choices);
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

enum adaps_status ad_pipeline_pareto(const struct ad_pipeline_options *options,
                                     const struct ad_pareto_objectives *objectives,
                                     struct ad_pipeline_pareto *out, struct adaps_error *err)
{
    struct ad_pipeline_options settled = *options;
    *out = (struct ad_pipeline_pareto){0};
    for (int i = 0; i < objectives->count; i++)
        if (objectives->list[i] == AD_OBJECTIVE_ENERGY)
            settled.objective = AD_OBJECTIVE_ENERGY;
    struct ad_algorithm_choices choices = {0}; /* that for all devices, which the graph has */
    enum adaps_status status = prepare_several(&settled, &out->graph, &out->blocks,
                                               &out->model_digest, &out->cluster, &choices, err);
    ad_algorithms_fini(&choices);
    if (status == ADAPS_OK) {
        const struct ad_search_problem problem =
            problem_of(options, out->graph, &out->blocks, &out->cluster);
        status = ad_pareto_search(&problem, objectives, &out->front, err);
    }
    if (status != ADAPS_OK)
        ad_pipeline_pareto_fini(out);
    return status;
}

/* A graph for a plan of the front. Sums in blocks take the weights' numbers in another order, so
 * they get those of the file once more. *numbers: the graph that has them; NULL: this one. */
static enum adaps_status graph_for(const struct ad_pipeline_options *options,
                                   struct ad_pipeline_pareto *pareto,
                                   struct ad_search_result *result, struct ad_graph **out,
                                   const struct ad_graph **numbers, struct adaps_error *err)
{
    const struct ad_import_options import = {.dims = &options->dims, .assumed = options->assumed};
    struct ad_blocks blocks = {0};
    struct ad_digest digest;
    *numbers = result->graph ? NULL : pareto->graph;
    if (!result->graph)
        return ad_graph_copy(pareto->graph, out, err);
    enum adaps_status status =
        ad_pipeline_front(options->model, &import, out, &blocks, &digest, err);
    ad_blocks_fini(&blocks);
    if (status == ADAPS_OK && !ad_digest_equal(&digest, &pareto->model_digest))
        status = ad_error_set(err, ADAPS_EINPUT, "%s has changed", options->model);
    if (status == ADAPS_OK) {
        status = ad_partial_replace(out, result->graph, err);
        result->graph = NULL;
    }
    return status;
}

enum adaps_status ad_pipeline_pareto_plan(const struct ad_pipeline_options *options,
                                          struct ad_pipeline_pareto *pareto, int i,
                                          struct adaps_plan **out, struct adaps_error *err)
{
    struct ad_pareto_plan *item = &pareto->front.plans[i];
    const struct ad_search_problem problem =
        problem_of(options, pareto->graph, &pareto->blocks, &pareto->cluster);
    struct ad_graph *graph = NULL;
    struct ad_cluster cluster = {0};
    char model_path[PATH_MAX];
    const struct ad_graph *numbers;
    enum adaps_status status = graph_for(options, pareto, &item->result, &graph, &numbers, err);
    if (status == ADAPS_OK)
        status = ad_cluster_copy(&pareto->cluster, &cluster, err);
    if (status == ADAPS_OK) {
        struct ad_provenance provenance = ad_pipeline_provenance(
            &item->result, realpath(options->model, model_path) ? model_path : options->model,
            &pareto->model_digest, item->strategy, &problem);
        provenance.numbers = numbers;
        status = ad_plan_make(graph, &cluster, &item->result.schedule, &provenance, out, err);
    }
    if (status == ADAPS_OK)
        graph = NULL; /* the plan's now */
    ad_graph_free(graph);
    ad_cluster_fini(&cluster);
    return status;
}

void ad_pipeline_pareto_fini(struct ad_pipeline_pareto *pareto)
{
    ad_pareto_fini(&pareto->front);
    ad_blocks_fini(&pareto->blocks);
    ad_graph_free(pareto->graph);
    ad_cluster_fini(&pareto->cluster);
    *pareto = (struct ad_pipeline_pareto){0};
}
