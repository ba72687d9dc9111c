/* Inferences in which bench/arm/blocks.c counts instructions: one of the whole network, then one
 * layer by layer. For bench/arm/judge.
 *
 *   bench/arm/infer [-k LANES] [-s BYTES] MODEL.onnx
 *
 *   -k LANES    convolutions with vectors of at most so many floats: 4 for those that adaps chooses
 * on ARM, 0 for XNNPACK's -s BYTES    of packed weights that are used at all pixels before the next
 * are (1 MB)
 *
 * Each begins with one that does not count. Parts are 0, what does not count; 1, the network; and
 * 2 + I, layer I, of which a line tells: its multiply-adds, its shape and its name. */
#include "base/rng.h"
#include "cost/shape.h"
#include "exec/engine/engine.h"
#include "exec/kernels/choice.h"
#include "pipeline.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct run {
    struct adaps_plan *plan;
    struct ad_tensor input, output;
    size_t slice_bytes;
};

static void fail(const struct adaps_error *err)
{
    fprintf(stderr, "bench/arm/infer: %s\n", err->message);
    exit(err->status);
}

/* To blocks.c: that was part n. */
static void mark(int n)
{
    syscall(SYS_getppid, n);
}

static void make_plan(struct run *run, const char *model)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    if (ad_pipeline_front(model, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        fail(&err);
    ad_blocks_fini(&blocks);
    struct ad_task *tasks = ad_calloc((size_t)graph->nops, sizeof *tasks);
    if (!tasks || graph->ninputs != 1 || graph->noutputs != 1) {
        ad_error_set(&err, ADAPS_EINPUT, "%s: one input and one output are wanted", model);
        fail(&err);
    }
    for (int i = 0; i < graph->nops; i++)
        tasks[i] = (struct ad_task){i, ad_region_whole(&graph->values[graph->ops[i].output])};
    if (ad_plan_of_tasks(graph, tasks, graph->nops, 1, &run->plan, &err) != ADAPS_OK)
        fail(&err);
    ad_free(tasks);
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    const struct ad_value *out = &graph->values[graph->outputs[0]];
    struct ad_rng rng = {1};
    if (ad_tensor_init(&run->input, in->rank, in->dims, &err) != ADAPS_OK ||
        ad_tensor_init(&run->output, out->rank, out->dims, &err) != ADAPS_OK)
        fail(&err);
    for (size_t i = 0; i < run->input.count; i++)
        run->input.data[i] = ad_rng_float(&rng);
}

/* first: the part of step 0, and the others follow; 0: none counts. */
static void infer(struct run *run, struct ad_engine *engine, int first)
{
    static const struct ad_transport none = {0};
    const struct ad_program *program = &run->plan->schedule.programs[0];
    struct adaps_error err;
    ad_engine_feed(engine, 0, run->input.data);
    mark(0);
    for (int i = 0; i < program->nsteps; i++) {
        if (ad_engine_step(engine, i, &none, &err) != ADAPS_OK)
            fail(&err);
        if (first > 1)
            first = 2 + program->tasks[program->steps[i].first_task].op;
        mark(first);
    }
    ad_engine_fetch(engine, 0, run->output.data);
}

static void infer_twice(struct run *run, int first)
{
    struct ad_engine_options options = {.threads = 1, .slice_bytes = run->slice_bytes};
    struct ad_weight_source weights = ad_weights_of_graph(run->plan->graph);
    struct ad_engine *engine;
    struct adaps_error err;
    if (ad_engine_new(run->plan, &options, &weights, &engine, &err) != ADAPS_OK)
        fail(&err);
    infer(run, engine, 0);
    infer(run, engine, first);
    ad_engine_free(engine);
}

/* All layers in one step, as one device's program has them. */
static void infer_whole(struct run *run)
{
    struct ad_program *program = &run->plan->schedule.programs[0];
    struct ad_program layers = *program;
    struct ad_step step = {.kind = AD_STEP_COMPUTE, .ntasks = program->ntasks};
    program->steps = &step;
    program->nsteps = 1;
    infer_twice(run, 1);
    *program = layers;
}

static void print_layers(const struct run *run)
{
    const struct ad_graph *graph = run->plan->graph;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        struct ad_shape shape = ad_shape_of(graph, op);
        char text[AD_SHAPE_TEXT];
        ad_shape_format(&shape, text, sizeof text);
        printf("%d\t%lld\t%s\t%s\n", 2 + i, (long long)ad_cost_macs(graph, op), text, op->name);
    }
}

int main(int argc, char **argv)
{
    struct run run = {.slice_bytes = (size_t)1 << 20};
    int option;
    while ((option = getopt(argc, argv, "k:s:")) != -1) {
        if (option == 'k')
            ad_processor_limit_lanes(atoi(optarg));
        else if (option == 's')
            run.slice_bytes = (size_t)atoll(optarg);
        else
            optind = argc;
    }
    if (optind + 1 != argc || run.slice_bytes == 0) {
        fputs("usage: bench/arm/infer [-k LANES] [-s BYTES] MODEL.onnx\n", stderr);
        return ADAPS_EUSAGE;
    }
    make_plan(&run, argv[optind]);
    print_layers(&run);
    infer_whole(&run);
    infer_twice(&run, 2);
    adaps_plan_free(run.plan);
    ad_tensor_fini(&run.input);
    ad_tensor_fini(&run.output);
    return ADAPS_OK;
}
