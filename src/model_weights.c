#include "model_weights.h"
#include "base/file.h"
#include "import/import.h"
#include "ir/partial.h"
#include "ir/weight.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void ad_model_weights_init(struct ad_model_weights *weights, const struct adaps_plan *plan,
                           const char *model)
{
    *weights = (struct ad_model_weights){.plan = plan, .model = model};
}

void ad_model_weights_fini(struct ad_model_weights *weights)
{
    ad_graph_free(weights->graph);
    weights->graph = NULL;
}

/* The graph becomes one that adds input channels in the same blocks as the plan's. */
static enum adaps_status in_blocks(const struct adaps_plan *plan, struct ad_graph **graph,
                                   struct adaps_error *err)
{
    struct ad_graph *copy = NULL;
    if (!ad_graph_is_partial(plan->graph))
        return ADAPS_OK;
    enum adaps_status status = ad_graph_partial_like(*graph, plan->graph, &copy, err);
    return status == ADAPS_OK ? ad_partial_replace(graph, copy, err) : status;
}

/* standing: as in struct ad_import_options. */
static enum adaps_status import_file(struct ad_model_weights *weights, const char *model,
                                     const char *const *standing, struct adaps_error *err)
{
    struct ad_onnx_model *file = NULL;
    struct ad_graph *graph = NULL;
    const struct ad_import_options import = {.like = weights->plan->graph,
                                             .standing = standing,
                                             .nstanding = (size_t)weights->plan->graph->nops};
    enum adaps_status status = ad_onnx_load(model, &file, err);
    if (status == ADAPS_OK)
        status = ad_ir_import(file, &import, &graph, err);
    if (status == ADAPS_OK) {
        status = in_blocks(weights->plan, &graph, err);
        if (status == ADAPS_OK)
            status = ad_plan_check_weights(weights->plan, graph, err);
        if (status != ADAPS_OK)
            ad_error_prefix(err, "%s: ", model);
    }
    if (status == ADAPS_OK)
        weights->graph = graph;
    else
        ad_graph_free(graph);
    ad_onnx_free(file);
    return status;
}

/* As it is imported by default or, for the plan of a mapping, with the plan's operators apart. */
static enum adaps_status open_file(struct ad_model_weights *weights, const char *model,
                                   struct adaps_error *err)
{
    const struct ad_graph *graph = weights->plan->graph;
    enum adaps_status status = import_file(weights, model, NULL, err);
    if (status != ADAPS_EINPUT)
        return status;
    const char **names = ad_calloc((size_t)graph->nops, sizeof *names);
    if (!names)
        return ad_error_memory(err, "operators", (size_t)graph->nops * sizeof *names);
    for (int i = 0; i < graph->nops; i++)
        names[i] = graph->ops[i].name;
    if (import_file(weights, model, names, NULL) == ADAPS_OK)
        status = ADAPS_OK;
    ad_free(names);
    return status;
}

/* Where the model may be: the path that the plan names, then a file of that name beside the plan,
 * then in the current folder. NULL without memory. */
#define PLACES 3
static char *place(const struct adaps_plan *plan, int i)
{
    const char *slash = strrchr(plan->model_path, '/');
    const char *base = slash ? slash + 1 : plan->model_path;
    const char *beside = plan->plan_path ? plan->plan_path : "";
    if (i == 0)
        return ad_file_relative_to(beside, plan->model_path);
    return i == 1 ? ad_file_relative_to(beside, base) : ad_strdup(base);
}

#define MESSAGE_BYTES sizeof((struct adaps_error *)0)->message

/* The first place whose model is the plan's. */
static enum adaps_status open_somewhere(struct ad_model_weights *weights, struct adaps_error *err)
{
    char tried[PLACES * (MESSAGE_BYTES + 2)] = "";
    char *paths[PLACES] = {NULL};
    enum adaps_status status = ADAPS_EINPUT;
    for (int i = 0; i < PLACES && status == ADAPS_EINPUT; i++) {
        paths[i] = place(weights->plan, i);
        if (!paths[i]) {
            status = ad_error_memory(err, "path of the model", PATH_MAX);
            break;
        }
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || strcmp(paths[k], paths[i]) == 0;
        if (again)
            continue;
        struct adaps_error why = {0};
        status = open_file(weights, paths[i], &why);
        size_t n = strlen(tried);
        snprintf(tried + n, sizeof tried - n, "%s%s", n ? "; " : "", why.message);
        if (status != ADAPS_OK && status != ADAPS_EINPUT && err)
            *err = why;
    }
    for (int i = 0; i < PLACES; i++)
        ad_free(paths[i]);
    if (status == ADAPS_EINPUT)
        return ad_error_set(err, status, "the plan's model cannot be read: %s", tried);
    return status;
}

enum adaps_status ad_model_weights_open(struct ad_model_weights *weights, struct adaps_error *err)
{
    if (weights->graph || ad_weights_attached(weights->plan->graph))
        return ADAPS_OK;
    return weights->model ? open_file(weights, weights->model, err) : open_somewhere(weights, err);
}

const struct ad_graph *ad_model_weights_graph(const struct ad_model_weights *weights)
{
    return weights->graph ? weights->graph : weights->plan->graph;
}

static enum adaps_status read_rows(const struct ad_weight_source *source,
                                   const struct ad_slice *slice, int64_t r0, int64_t r1, float *to,
                                   struct adaps_error *err)
{
    struct ad_model_weights *weights = source->self;
    enum adaps_status status = ad_model_weights_open(weights, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_graph *graph = ad_model_weights_graph(weights);
    return ad_weight_read(&graph->weights[slice->weight], r0, r1, to, err);
}

struct ad_weight_source ad_model_weights_source(struct ad_model_weights *weights)
{
    return (struct ad_weight_source){.read = read_rows, .self = weights};
}

enum adaps_status ad_model_local_run(const struct adaps_plan *plan, const char *model, int threads,
                                     struct ad_local_run **out, struct adaps_error *err)
{
    struct ad_model_weights weights;
    ad_model_weights_init(&weights, plan, model);
    enum adaps_status status = ad_model_weights_open(&weights, err);
    if (status == ADAPS_OK) {
        const struct ad_weight_source source = ad_model_weights_source(&weights);
        status = ad_local_run_single(plan, threads, &source, out, err);
    }
    ad_model_weights_fini(&weights);
    return status;
}
