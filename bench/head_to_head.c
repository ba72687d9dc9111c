/* One device against other engines: adaps' tile engine, in this process as `adaps run
 * --local` uses it, and each competitor, in turns; then a table of layers. For bench/single.
 *
 *   bench/head-to-head [OPTION...] MODEL.onnx [NAME=COMMAND...]
 *
 *   -r ROUNDS   turns of each engine (25); each is an inference that does not count and one that
 *               does. Engines change places from round to round.
 *   -t THREADS  compute threads (1)
 *   -c CPU      stay on this processor
 *   -k LANES    convolutions with vectors of at most so many floats: 16, 8, or 0 for XNNPACK's
 *   -w FOLDER   for files that competitors read and write (.)
 *   -s FILE     write a line per engine to it
 *   -l FILE     write a line per layer to it
 *   -n NAME     of the network in these lines; by default the file's
 *
 * A competitor that cannot start is left out. Exit status 1 when an answer is off by more than 1e-3
 * of the largest element, and those of adaps. */
#include "bench/competitor.h"
#include "bench/peak.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "cost/shape.h"
#include "exec/kernels/choice.h"
#include "exec/engine/engine.h"
#include "pipeline.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COMPETITORS 8
#define RESAMPLES 2000
#define TOLERANCE 1e-3

struct comparison {
    const char *model, *folder;
    char name[64];
    int rounds, threads;
    struct adaps_plan *plan;
    struct ad_engine *engine;
    struct ad_tensor input, output, other;
    double *layers; /* seconds, op by op, all rounds of each */
    struct competitor competitors[MAX_COMPETITORS];
    double difference[MAX_COMPETITORS + 1]; /* of the answer, relative to the largest element */
    struct run_time *times[MAX_COMPETITORS + 1]; /* by engine, ours first, and round */
    int ncompetitors;
};

static void fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/head-to-head: %s%s\n", what, err->message);
    exit(err->status);
}

static void *room(size_t count, size_t size)
{
    void *p = ad_calloc(count, size);
    struct adaps_error err;
    if (!p)
        fail("", (ad_error_memory(&err, "times", count * size), &err));
    return p;
}

/* --- our engine --- */

/* A step per op, for the times of layers. */
static void make_plan(struct comparison *c)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    if (ad_pipeline_front(c->model, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        fail("", &err);
    ad_blocks_fini(&blocks);
    if (graph->ninputs != 1 || graph->noutputs != 1) {
        ad_error_set(&err, ADAPS_EINPUT, "%s: one input and one output are wanted", c->model);
        fail("", &err);
    }
    struct ad_task *tasks = room((size_t)graph->nops, sizeof *tasks);
    for (int i = 0; i < graph->nops; i++)
        tasks[i] = (struct ad_task){i, ad_region_whole(&graph->values[graph->ops[i].output])};
    if (ad_plan_of_tasks(graph, tasks, graph->nops, c->threads, &c->plan, &err) != ADAPS_OK)
        fail("", &err);
    ad_free(tasks);
}

static void make_tensors(struct comparison *c)
{
    const struct ad_graph *graph = c->plan->graph;
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    const struct ad_value *out = &graph->values[graph->outputs[0]];
    struct ad_rng rng = {1};
    struct adaps_error err;
    if (ad_tensor_init(&c->input, in->rank, in->dims, &err) != ADAPS_OK ||
        ad_tensor_init(&c->output, out->rank, out->dims, &err) != ADAPS_OK ||
        ad_tensor_init(&c->other, out->rank, out->dims, &err) != ADAPS_OK)
        fail("", &err);
    for (size_t i = 0; i < c->input.count; i++)
        c->input.data[i] = ad_rng_float(&rng);
}

static void start_engine(struct comparison *c)
{
    struct ad_engine_options options = {.threads = c->threads};
    struct ad_weight_source weights = ad_weights_of_graph(c->plan->graph);
    struct adaps_error err;
    if (ad_engine_new(c->plan, &options, &weights, &c->engine, &err) != ADAPS_OK)
        fail("", &err);
}

/* Feeding and fetching are part of an inference. */
static struct run_time infer(struct comparison *c)
{
    static const struct ad_transport none = {0};
    struct adaps_error err;
    int64_t cpu = process_cpu_ns(), wall = ad_clock_ns();
    ad_engine_feed(c->engine, 0, c->input.data);
    for (int i = 0; i < c->plan->schedule.programs[0].nsteps; i++)
        if (ad_engine_step(c->engine, i, &none, &err) != ADAPS_OK)
            fail("", &err);
    ad_engine_fetch(c->engine, 0, c->output.data);
    return (struct run_time){(double)(ad_clock_ns() - wall) * 1e-9,
                             (double)(process_cpu_ns() - cpu) * 1e-9};
}

/* One inference, layer by layer. The time of an addition that is part of another layer counts
 * there. With one thread a layer's time is its processor time, if that is less, so other programs
 * on the processor do not count. */
static void time_layers(struct comparison *c, int round)
{
    static const struct ad_transport none = {0};
    struct adaps_error err;
    int64_t last = process_cpu_ns();
    ad_engine_feed(c->engine, 0, c->input.data);
    const struct ad_program *program = &c->plan->schedule.programs[0];
    for (int i = 0; i < program->nsteps; i++) {
        int64_t begin, end, before = last;
        size_t op = (size_t)program->tasks[program->steps[i].first_task].op;
        if (ad_engine_step(c->engine, i, &none, &err) != ADAPS_OK)
            fail("", &err);
        ad_engine_times(c->engine, i, &begin, &end);
        last = process_cpu_ns();
        if (c->threads == 1 && last - before < end - begin)
            end = begin + last - before;
        c->layers[op * (size_t)c->rounds + (size_t)round] = (double)(end - begin) * 1e-9;
    }
}

/* --- competitors --- */

static void set_environment(const struct comparison *c)
{
    char path[4096], text[256];
    snprintf(path, sizeof path, "%s/input.raw", c->folder);
    FILE *file = fopen(path, "wbe");
    bool good = file && fwrite(c->input.data, sizeof *c->input.data, c->input.count, file) ==
                            c->input.count;
    if (!file || fclose(file) != 0 || !good) {
        perror(path);
        exit(ADAPS_EINPUT);
    }
    setenv("COMPETITOR_INPUT", path, 1);
    setenv("COMPETITOR_MODEL", c->model, 1);
    setenv("COMPETITOR_SHAPE", ad_dims_format(c->input.rank, c->input.dims, text, sizeof text), 1);
    snprintf(text, sizeof text, "%d", c->threads);
    setenv("COMPETITOR_THREADS", text, 1);
}

/* entry: NAME=COMMAND */
static void add_competitor(struct comparison *c, const char *entry)
{
    const char *command = strchr(entry, '=');
    struct competitor *competitor = &c->competitors[c->ncompetitors];
    struct adaps_error err;
    char name[32];
    if (!command || c->ncompetitors == MAX_COMPETITORS) {
        fprintf(stderr, "bench/head-to-head: '%s': NAME=COMMAND expected, at most %d\n", entry,
                MAX_COMPETITORS);
        exit(ADAPS_EUSAGE);
    }
    snprintf(name, sizeof name, "%.*s", (int)(command - entry), entry);
    enum adaps_status status = competitor_start(competitor, name, command + 1, c->folder, &err);
    if (status == ADAPS_OK)
        status = competitor_answer(competitor, c->other.data, c->other.count, &err);
    if (status != ADAPS_OK) {
        fprintf(stderr, "bench/head-to-head: %s: without %s\n", c->name, err.message);
        competitor_end(competitor);
        return;
    }
    double most = 0, off = 0;
    for (size_t i = 0; i < c->output.count; i++) {
        double a = c->output.data[i], b = c->other.data[i];
        most = fmax(most, fabs(b));
        off = fabs(a - b) <= off ? off : fabs(a - b); /* a NaN stays */
    }
    c->ncompetitors++;
    c->difference[c->ncompetitors] = off / most;
}

static struct run_time turn(struct comparison *c, int engine)
{
    struct run_time time;
    struct adaps_error err;
    if (engine == 0) {
        infer(c);
        return infer(c);
    }
    for (int i = 0; i < 2; i++)
        if (competitor_run(&c->competitors[engine - 1], &time, &err) != ADAPS_OK)
            fail("", &err);
    return time;
}

/* --- tables --- */

static double median_of(const struct comparison *c, int engine, bool cpu, double *scratch)
{
    for (int r = 0; r < c->rounds; r++)
        scratch[r] = cpu ? c->times[engine][r].cpu_s : c->times[engine][r].wall_s;
    return ad_stats_median(scratch, (size_t)c->rounds);
}

/* Medians, and our time relative to each competitor's: median of rounds, 95 % interval. */
static void print_engines(const struct comparison *c, FILE *tsv)
{
    size_t n = (size_t)c->rounds;
    double *values = room(2 * n + RESAMPLES, sizeof *values), *scratch = values + n;
    double cpu0 = median_of(c, 0, true, values);
    printf("%-16s %-8s %10s %10s %8s %15s %10s %10s\n", c->name, "engine", "ms", "cpu ms",
           "adaps/it", "95 %", "by cpu ms", "answer off");
    for (int e = 0; e <= c->ncompetitors; e++) {
        const char *name = e ? c->competitors[e - 1].name : "adaps";
        double wall = median_of(c, e, false, values), cpu = median_of(c, e, true, values);
        for (size_t r = 0; r < n; r++)
            values[r] = c->times[0][r].wall_s / c->times[e][r].wall_s;
        struct ad_interval ratio = ad_stats_bootstrap(values, n, 0.95, RESAMPLES, 1, scratch);
        printf("%-16s %-8s %10.3f %10.3f %8.3f %7.3f-%7.3f %10.3f %10.1e\n", "", name, wall * 1e3,
               cpu * 1e3, ratio.median, ratio.lo, ratio.hi, cpu0 / cpu, c->difference[e]);
        if (tsv)
            fprintf(tsv, "%s\t%d\t%s\t%.6g\t%.6g\t%.4f\t%.4f\t%.4f\t%.4f\t%d\t%.2g\n", c->name,
                    c->threads, name, wall * 1e3, cpu * 1e3, ratio.median, ratio.lo, ratio.hi,
                    cpu0 / cpu, c->rounds, c->difference[e]);
    }
    ad_free(values);
}

/* Bytes that an op must move at least: its operands, result and weights, once. */
static double bytes_of(const struct ad_graph *graph, const struct ad_op *op)
{
    double elements = 0;
    for (int k = 0; k <= op->ninputs; k++) {
        const struct ad_box *b = &graph->values[k ? op->inputs[k - 1] : op->output].box;
        elements += (double)(b->n * b->h * b->w * b->c);
    }
    if (op->weight >= 0)
        elements += (double)graph->weights[op->weight].rows *
                    (double)graph->weights[op->weight].row_elements;
    return elements * sizeof(float);
}

/* A layer's share of peak: of arithmetic, or of memory, whichever is larger. A layer without a
 * time of its own, such as an addition that is part of a convolution, has rates of 0. */
static void print_layers(const struct comparison *c, FILE *tsv)
{
    const struct ad_graph *graph = c->plan->graph;
    double flops = peak_flops() * c->threads, memory = peak_bytes(), sum = 0;
    double *seconds = room((size_t)graph->nops, sizeof *seconds), macs = 0;
    for (int i = 0; i < graph->nops; i++) {
        seconds[i] = ad_stats_median(c->layers + (size_t)i * (size_t)c->rounds, (size_t)c->rounds);
        sum += seconds[i];
    }
    printf(
        "\npeak, measured: %.1f GFLOP/s, %.1f GB/s from memory\n%-24s %-52s %9s %6s %8s %7s %6s\n",
        flops / 1e9, memory / 1e9, "layer", "shape", "ms", "% time", "GFLOP/s", "GB/s", "% peak");
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        struct ad_shape shape = ad_shape_of(graph, op);
        char text[AD_SHAPE_TEXT];
        double per_second = seconds[i] > 0 ? 1 / seconds[i] : 0;
        double work = 2.0 * (double)ad_cost_macs(graph, op) * per_second;
        double moved = bytes_of(graph, op) * per_second;
        double share = 100 * fmax(work / flops, memory > 0 ? moved / memory : 0);
        macs += (double)ad_cost_macs(graph, op);
        ad_shape_format(&shape, text, sizeof text);
        printf("%-24.24s %-52.52s %9.4f %6.2f %8.1f %7.1f %6.1f\n", op->name, text,
               seconds[i] * 1e3, 100 * seconds[i] / sum, work / 1e9, moved / 1e9, share);
        if (tsv)
            fprintf(tsv, "%s\t%d\t%s\t%s\t%.6g\t%.4g\t%.4g\t%.4g\t%.3g\n", c->name, c->threads,
                    op->name, text, seconds[i] * 1e3, 100 * seconds[i] / sum, work / 1e9,
                    moved / 1e9, share);
    }
    printf("%-24s %-52s %9.4f %6.2f %8.1f %7s %6.1f\n\n", "all", "", sum * 1e3, 100.0,
           2 * macs / sum / 1e9, "", 100 * 2 * macs / sum / flops);
    ad_free(seconds);
}

/* --- */

static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("bench/head-to-head: -c");
        exit(ADAPS_EUSAGE);
    }
}

static FILE *open_table(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        perror(path);
        exit(ADAPS_EINPUT);
    }
    return file;
}

static void name_network(struct comparison *c, const char *name)
{
    const char *slash = strrchr(c->model, '/'), *base = slash ? slash + 1 : c->model;
    const char *ending = strstr(base, ".onnx");
    size_t length = ending ? (size_t)(ending - base) : strlen(base);
    snprintf(c->name, sizeof c->name, "%.*s", name ? 63 : (int)length, name ? name : base);
}

/* All layers in one step, as one device's program has them. */
static void run_engines(struct comparison *c, char **competitors, int count)
{
    struct ad_program *program = &c->plan->schedule.programs[0];
    struct ad_program all = *program;
    struct ad_step step = {.kind = AD_STEP_COMPUTE, .ntasks = program->ntasks};
    program->steps = &step;
    program->nsteps = 1;
    start_engine(c);
    infer(c);
    if (count > 0)
        set_environment(c);
    for (int i = 0; i < count; i++)
        add_competitor(c, competitors[i]);
    int engines = c->ncompetitors + 1;
    for (int e = 0; e < engines; e++)
        c->times[e] = room((size_t)c->rounds, sizeof **c->times);
    for (int r = 0; r < c->rounds; r++)
        for (int k = 0; k < engines; k++) {
            int e = r % 2 ? engines - 1 - k : k;
            c->times[e][r] = turn(c, e);
        }
    for (int i = 0; i < c->ncompetitors; i++)
        competitor_end(&c->competitors[i]);
    ad_engine_free(c->engine);
    *program = all;
}

static void run_layers(struct comparison *c)
{
    c->layers = room((size_t)c->plan->graph->nops * (size_t)c->rounds, sizeof(double));
    start_engine(c);
    infer(c);
    for (int r = 0; r < c->rounds; r++)
        time_layers(c, r);
    ad_engine_free(c->engine);
}

static int finish(struct comparison *c)
{
    int status = ADAPS_OK;
    for (int e = 0; e <= c->ncompetitors; e++) {
        if (!(c->difference[e] <= TOLERANCE))
            status = ADAPS_NO;
        ad_free(c->times[e]);
    }
    adaps_plan_free(c->plan);
    ad_tensor_fini(&c->input);
    ad_tensor_fini(&c->output);
    ad_tensor_fini(&c->other);
    ad_free(c->layers);
    return status;
}

int main(int argc, char **argv)
{
    struct comparison c = {.folder = ".", .rounds = 25, .threads = 1};
    const char *name = NULL;
    FILE *tsv = NULL, *layers = NULL;
    int option, cpu = -1;
    while ((option = getopt(argc, argv, "r:t:c:k:w:s:l:n:")) != -1) {
        if (option == 'r' || option == 't')
            *(option == 'r' ? &c.rounds : &c.threads) = atoi(optarg);
        else if (option == 'c')
            cpu = atoi(optarg);
        else if (option == 'k')
            ad_processor_limit_lanes(atoi(optarg));
        else if (option == 'w')
            c.folder = optarg;
        else if (option == 's')
            tsv = open_table(optarg);
        else if (option == 'l')
            layers = open_table(optarg);
        else if (option == 'n')
            name = optarg;
        else
            c.rounds = 0;
    }
    if (c.rounds < 1 || c.rounds > 100000 || c.threads < 1 || optind == argc) {
        fputs("usage: bench/head-to-head [-r ROUNDS] [-t THREADS] [-c CPU] [-k LANES] [-w FOLDER] "
              "[-s "
              "FILE] [-l FILE] "
              "[-n NAME] MODEL.onnx [NAME=COMMAND...]\n",
              stderr);
        return ADAPS_EUSAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a competitor that has ended is an error */
    if (cpu >= 0)
        stay_on(cpu);
    c.model = argv[optind];
    name_network(&c, name);
    make_plan(&c);
    make_tensors(&c);
    run_engines(&c, argv + optind + 1, argc - optind - 1);
    print_engines(&c, tsv);
    run_layers(&c);
    print_layers(&c, layers);
    int status = finish(&c);
    if ((tsv && fclose(tsv) != 0) || (layers && fclose(layers) != 0)) {
        perror("bench/head-to-head");
        return ADAPS_EINTERNAL;
    }
    return status;
}
