#include "bench/network.h"
#include "cost/algorithm.h"
#include "cost/board.h"
#include "base/rng.h"
#include "base/units.h"
#include "exec/engine/internal.h"
#include "onnx/model.h"
#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void network_fail(const struct adaps_error *err)
{
    fprintf(stderr, "bench/head-to-head: %s\n", err->message);
    exit(err->status);
}

void *network_room(size_t count, size_t size)
{
    void *p = ad_calloc(count, size);
    struct adaps_error err;
    if (!p) {
        ad_error_memory(&err, "network", count * size);
        network_fail(&err);
    }
    return p;
}

bool network_take_dim(struct ad_dim_bindings *dims, const char *text)
{
    struct ad_dim_binding dim = {.name = text};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || dims->count == AD_MAX_DIM_BINDINGS ||
        !ad_parse_int(equals + 1, 1, INT32_MAX, &dim.size))
        return false;
    dim.length = (size_t)(equals - text);
    for (size_t i = 0; i < dims->count; i++)
        if (dims->items[i].length == dim.length &&
            memcmp(dims->items[i].name, text, dim.length) == 0)
            return dims->items[i].size == dim.size;
    dims->items[dims->count++] = dim;
    return true;
}

/* --- plan --- */

/* A step for each task, but for additions that the convolution before them does as it stores: these
 * two are one. */
static void split_steps(struct adaps_plan *plan)
{
    struct ad_program *program = &plan->schedule.programs[0];
    struct ad_step *steps =
        ad_arena_alloc(&plan->schedule.arena, (size_t)program->ntasks, sizeof *steps);
    bool *fused = network_room((size_t)program->ntasks, sizeof *fused);
    struct adaps_error err;
    if (!steps) {
        ad_error_memory(&err, "steps", (size_t)program->ntasks * sizeof *steps);
        network_fail(&err);
    }
    if (ad_residuals_find(plan->graph, program, fused, &err) != ADAPS_OK)
        network_fail(&err);
    program->steps = steps;
    program->nsteps = 0;
    for (int t = 0; t < program->ntasks; t++) {
        if (t > 0 && fused[t - 1])
            steps[program->nsteps - 1].ntasks = 2;
        else
            steps[program->nsteps++] =
                (struct ad_step){.kind = AD_STEP_COMPUTE, .first_task = t, .ntasks = 1};
    }
    ad_free(fused);
}

/* As adaps plan does for one device without a board of its own. */
static void choose_algorithms(struct ad_graph *graph)
{
    struct ad_cluster one;
    struct adaps_error err;
    if (ad_cluster_init(&one, 1, &err) != ADAPS_OK)
        network_fail(&err);
    one.devices[0].table = ad_board_x86();
    one.devices[0].speed = one.devices[0].threads = 1;
    ad_algorithms_choose(graph, &one);
    ad_cluster_fini(&one);
}

static void make_plan(struct network *n)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    char assumed[AD_ASSUMED] = "";
    const struct ad_import_options import = {.dims = &n->dims, .assumed = assumed};
    if (ad_pipeline_front(n->path, &import, &graph, &blocks, &digest, &err) != ADAPS_OK)
        network_fail(&err);
    if (*assumed)
        fprintf(stderr, "bench/head-to-head: %s: %s became 1: --dim NAME=N gives another size\n",
                n->path, assumed);
    ad_blocks_fini(&blocks);
    if (!n->conv_direct)
        choose_algorithms(graph);
    struct ad_task *tasks = network_room((size_t)graph->nops, sizeof *tasks);
    for (int i = 0; i < graph->nops; i++)
        tasks[i] = (struct ad_task){i, ad_region_whole(&graph->values[graph->ops[i].output])};
    if (ad_plan_of_tasks(graph, tasks, graph->nops, n->threads, &n->plan, &err) != ADAPS_OK)
        network_fail(&err);
    ad_free(tasks);
    split_steps(n->plan);
}

/* --- tensors --- */

static struct ad_tensor *make_tensors(const struct ad_graph *graph, const int *values, int count)
{
    struct adaps_error err;
    struct ad_tensor *tensors = network_room((size_t)count + 1, sizeof *tensors);
    for (int i = 0; i < count; i++) {
        const struct ad_value *value = &graph->values[values[i]];
        if (ad_tensor_init(&tensors[i], value->rank, value->dims, &err) != ADAPS_OK)
            network_fail(&err);
    }
    return tensors;
}

/* The type of an input in the file. */
static int32_t type_of(const struct ad_onnx_model *model, const char *input)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (strcmp(graph->input[i]->name, input) == 0)
            return graph->input[i]->type->tensor_type->elem_type;
    return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

static float random_number(struct ad_rng *rng, int32_t type)
{
    if (!ad_onnx_type_is_float(type))
        return (float)ad_rng_below(rng, 128);
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
        type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16)
        return ((float)ad_rng_below(rng, 257) - 128) / 128;
    return ad_rng_float(rng);
}

static void fill_inputs(struct network *n)
{
    const struct ad_graph *graph = n->plan->graph;
    struct ad_rng rng = {n->seed};
    struct ad_onnx_model *model;
    struct adaps_error err;
    if (ad_onnx_load(n->path, &model, &err) != ADAPS_OK)
        network_fail(&err);
    for (int i = 0; i < graph->ninputs; i++) {
        int32_t type = type_of(model, graph->values[graph->inputs[i]].name);
        for (size_t k = 0; k < n->inputs[i].count; k++)
            n->inputs[i].data[k] = random_number(&rng, type);
    }
    ad_onnx_free(model);
}

/* That of the file without its ending. */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *ending = strstr(base, ".onnx");
    return ad_asprintf("%.*s", ending ? (int)(ending - base) : (int)strlen(base), base);
}

void network_load(struct network *n, const char *name)
{
    n->name = name ? ad_strdup(name) : name_of(n->path);
    if (!n->name)
        exit(ADAPS_EINTERNAL);
    make_plan(n);
    const struct ad_graph *graph = n->plan->graph;
    n->inputs = make_tensors(graph, graph->inputs, graph->ninputs);
    n->outputs = make_tensors(graph, graph->outputs, graph->noutputs);
    for (int i = 0; i < graph->noutputs; i++)
        n->answer_count += n->outputs[i].count;
    fill_inputs(n);
}

void network_fini(struct network *n)
{
    for (int i = 0; i < n->plan->graph->ninputs; i++)
        ad_tensor_fini(&n->inputs[i]);
    for (int i = 0; i < n->plan->graph->noutputs; i++)
        ad_tensor_fini(&n->outputs[i]);
    ad_free(n->inputs);
    ad_free(n->outputs);
    ad_free(n->name);
    adaps_plan_free(n->plan);
}

/* --- engine --- */

struct ad_engine *network_engine(const struct network *n, int threads)
{
    struct ad_engine_options options = {.threads = threads};
    struct ad_weight_source weights = ad_weights_of_graph(n->plan->graph);
    struct ad_engine *engine;
    struct adaps_error err;
    if (ad_engine_new(n->plan, &options, &weights, &engine, &err) != ADAPS_OK)
        network_fail(&err);
    return engine;
}

void network_feed(const struct network *n, struct ad_engine *engine)
{
    for (int i = 0; i < n->plan->graph->ninputs; i++)
        ad_engine_feed(engine, i, n->inputs[i].data);
}

void network_step(struct ad_engine *engine, int step)
{
    static const struct ad_transport none = {0};
    struct adaps_error err;
    if (ad_engine_step(engine, step, &none, &err) != ADAPS_OK)
        network_fail(&err);
}

void network_fetch(struct network *n, struct ad_engine *engine)
{
    for (int i = 0; i < n->plan->graph->noutputs; i++)
        ad_engine_fetch(engine, i, n->outputs[i].data);
}

/* --- competitors --- */

static void write_inputs(const struct network *n, const char *path)
{
    FILE *file = fopen(path, "wbe");
    bool good = file != NULL;
    for (int i = 0; good && i < n->plan->graph->ninputs; i++)
        good = fwrite(n->inputs[i].data, sizeof(float), n->inputs[i].count, file) ==
               n->inputs[i].count;
    if (!file || fclose(file) != 0 || !good) {
        perror(path);
        exit(ADAPS_EINPUT);
    }
}

void network_tell(const struct network *n, const char *folder)
{
    char text[256], *shapes = NULL;
    size_t size;
    char *path = ad_asprintf("%s/input.raw", folder);
    FILE *list = open_memstream(&shapes, &size);
    if (!path || !list)
        exit(ADAPS_EINTERNAL);
    write_inputs(n, path);
    for (int i = 0; i < n->plan->graph->ninputs; i++)
        fprintf(list, "%s%s", i ? "," : "",
                ad_dims_format(n->inputs[i].rank, n->inputs[i].dims, text, sizeof text));
    if (fclose(list) != 0)
        exit(ADAPS_EINTERNAL);
    setenv("COMPETITOR_INPUT", path, 1);
    setenv("COMPETITOR_MODEL", n->path, 1);
    setenv("COMPETITOR_SHAPE", shapes, 1);
    snprintf(text, sizeof text, "%d", n->threads);
    setenv("COMPETITOR_THREADS", text, 1);
    free(shapes);
    ad_free(path);
}

static double difference_of(const float *ours, const float *theirs, size_t count)
{
    double most = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        double a = ours[i], b = theirs[i], d = fabs(a - b);
        if (isfinite(b))
            most = fmax(most, fabs(b));
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        off = d <= off ? off : d; /* a NaN stays */
    }
    return off == 0 ? 0 : off / most;
}

double network_difference(const struct network *n, const char *engine, const float *answer,
                          double tolerance)
{
    const struct ad_graph *graph = n->plan->graph;
    double worst = 0;
    for (int i = 0; i < graph->noutputs; answer += n->outputs[i++].count) {
        double off = difference_of(n->outputs[i].data, answer, n->outputs[i].count);
        worst = off <= worst ? worst : off;
        if (!(off <= tolerance))
            fprintf(stderr,
                    "bench/head-to-head: %s: output '%s' of %s is off by %.1e of its largest "
                    "element\n",
                    n->name, graph->values[graph->outputs[i]].name, engine, off);
    }
    return worst;
}
