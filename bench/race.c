/* One device alone, against other engines: adaps' tile engine, in this process as `adaps run
 * --local` has it, and each rival, in turns; then a table of layers. For bench/single.
 *
 *   bench/race [OPTION...] MODEL.onnx [NAME=COMMAND...]
 *
 *   -r ROUNDS   turns of each engine (25); each is an inference that does not count and one that
 *               does. Engines change places from round to round.
 *   -t THREADS  compute threads (1)
 *   -c CPU      stay on this processor
 *   -k LANES    convolutions with vectors of at most so many floats: 16, 8, or 0 for XNNPACK's
 *   -w FOLDER   for files that rivals read and write (.)
 *   -s FILE     a line per engine is written to it, -l FILE: a line per layer
 *   -n NAME     of the network in these lines; by default the file's
 *
 * A rival that cannot start is left out. Exit status 1 when an answer is off by more than 1e-3 of
 * the largest element, and those of adaps. */
#include "race.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "cost/shape.h"
#include "exec/kernels/conv.h"
#include "exec/engine/engine.h"
#include "pipeline.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RIVALS 8
#define RESAMPLES 2000
#define TOLERANCE 1e-3

struct race {
    const char *model, *folder;
    char name[64];
    int rounds, threads;
    struct adaps_plan *plan;
    struct ad_engine *engine;
    struct ad_tensor input, output, other;
    double *layers; /* seconds, op by op, all rounds of each */
    struct race_rival rivals[MAX_RIVALS];
    double difference[MAX_RIVALS + 1];       /* of the answer, relative to the largest element */
    struct race_time *times[MAX_RIVALS + 1]; /* by engine, ours first, and round */
    int nrivals;
};

static void fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/race: %s%s\n", what, err->message);
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
static void make_plan(struct race *race)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    if (ad_pipeline_front(race->model, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        fail("", &err);
    ad_blocks_fini(&blocks);
    if (graph->ninputs != 1 || graph->noutputs != 1) {
        ad_error_set(&err, ADAPS_EINPUT, "%s: one input and one output are wanted", race->model);
        fail("", &err);
    }
    struct ad_task *tasks = room((size_t)graph->nops, sizeof *tasks);
    for (int i = 0; i < graph->nops; i++)
        tasks[i] = (struct ad_task){i, ad_region_whole(&graph->values[graph->ops[i].output])};
    if (ad_plan_of_tasks(graph, tasks, graph->nops, race->threads, &race->plan, &err) != ADAPS_OK)
        fail("", &err);
    ad_free(tasks);
}

static void make_tensors(struct race *race)
{
    const struct ad_graph *graph = race->plan->graph;
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    const struct ad_value *out = &graph->values[graph->outputs[0]];
    struct ad_rng rng = {1};
    struct adaps_error err;
    if (ad_tensor_init(&race->input, in->rank, in->dims, &err) != ADAPS_OK ||
        ad_tensor_init(&race->output, out->rank, out->dims, &err) != ADAPS_OK ||
        ad_tensor_init(&race->other, out->rank, out->dims, &err) != ADAPS_OK)
        fail("", &err);
    for (size_t i = 0; i < race->input.count; i++)
        race->input.data[i] = ad_rng_float(&rng);
}

static void start_engine(struct race *race)
{
    struct ad_engine_options options = {.threads = race->threads};
    struct ad_weight_source weights = ad_weights_of_plan(race->plan);
    struct adaps_error err;
    if (ad_engine_new(race->plan, &options, &weights, &race->engine, &err) != ADAPS_OK)
        fail("", &err);
}

/* Feeding and fetching are part of an inference. */
static struct race_time infer(struct race *race)
{
    static const struct ad_transport none = {0};
    struct adaps_error err;
    int64_t cpu = race_cpu_ns(), wall = ad_clock_ns();
    ad_engine_feed(race->engine, 0, race->input.data);
    for (int i = 0; i < race->plan->schedule.programs[0].nsteps; i++)
        if (ad_engine_step(race->engine, i, &none, &err) != ADAPS_OK)
            fail("", &err);
    ad_engine_fetch(race->engine, 0, race->output.data);
    return (struct race_time){(double)(ad_clock_ns() - wall) * 1e-9,
                              (double)(race_cpu_ns() - cpu) * 1e-9};
}

/* One inference, layer by layer; an addition's time is in that of what it adds to. Of one thread a
 * layer's time is its processor time, when that is less: what others had of the processor meanwhile
 * does not count. */
static void time_layers(struct race *race, int round)
{
    static const struct ad_transport none = {0};
    struct adaps_error err;
    int64_t last = race_cpu_ns();
    ad_engine_feed(race->engine, 0, race->input.data);
    const struct ad_program *program = &race->plan->schedule.programs[0];
    for (int i = 0; i < program->nsteps; i++) {
        int64_t begin, end, before = last;
        size_t op = (size_t)program->tasks[program->steps[i].first_task].op;
        if (ad_engine_step(race->engine, i, &none, &err) != ADAPS_OK)
            fail("", &err);
        ad_engine_times(race->engine, i, &begin, &end);
        last = race_cpu_ns();
        if (race->threads == 1 && last - before < end - begin)
            end = begin + last - before;
        race->layers[op * (size_t)race->rounds + (size_t)round] = (double)(end - begin) * 1e-9;
    }
}

/* --- rivals --- */

static void set_environment(const struct race *race)
{
    char path[4096], text[256];
    snprintf(path, sizeof path, "%s/input.raw", race->folder);
    FILE *file = fopen(path, "wbe");
    bool good = file && fwrite(race->input.data, sizeof *race->input.data, race->input.count,
                               file) == race->input.count;
    if (!file || fclose(file) != 0 || !good) {
        perror(path);
        exit(ADAPS_EINPUT);
    }
    setenv("RACE_INPUT", path, 1);
    setenv("RACE_MODEL", race->model, 1);
    setenv("RACE_SHAPE", ad_dims_format(race->input.rank, race->input.dims, text, sizeof text), 1);
    snprintf(text, sizeof text, "%d", race->threads);
    setenv("RACE_THREADS", text, 1);
}

/* entry: NAME=COMMAND */
static void add_rival(struct race *race, const char *entry)
{
    const char *command = strchr(entry, '=');
    struct race_rival *rival = &race->rivals[race->nrivals];
    struct adaps_error err;
    char name[32];
    if (!command || race->nrivals == MAX_RIVALS) {
        fprintf(stderr, "bench/race: '%s': NAME=COMMAND expected, at most %d\n", entry, MAX_RIVALS);
        exit(ADAPS_EUSAGE);
    }
    snprintf(name, sizeof name, "%.*s", (int)(command - entry), entry);
    enum adaps_status status = race_rival_start(rival, name, command + 1, race->folder, &err);
    if (status == ADAPS_OK)
        status = race_rival_answer(rival, race->other.data, race->other.count, &err);
    if (status != ADAPS_OK) {
        fprintf(stderr, "bench/race: %s: without %s\n", race->name, err.message);
        race_rival_end(rival);
        return;
    }
    double most = 0, off = 0;
    for (size_t i = 0; i < race->output.count; i++) {
        double a = race->output.data[i], b = race->other.data[i];
        most = fmax(most, fabs(b));
        off = fabs(a - b) <= off ? off : fabs(a - b); /* a NaN stays */
    }
    race->nrivals++;
    race->difference[race->nrivals] = off / most;
}

static struct race_time turn(struct race *race, int engine)
{
    struct race_time time;
    struct adaps_error err;
    if (engine == 0) {
        infer(race);
        return infer(race);
    }
    for (int i = 0; i < 2; i++)
        if (race_rival_run(&race->rivals[engine - 1], &time, &err) != ADAPS_OK)
            fail("", &err);
    return time;
}

/* --- tables --- */

static double median_of(const struct race *race, int engine, bool cpu, double *scratch)
{
    for (int r = 0; r < race->rounds; r++)
        scratch[r] = cpu ? race->times[engine][r].cpu_s : race->times[engine][r].wall_s;
    return ad_stats_median(scratch, (size_t)race->rounds);
}

/* Medians, and our time relative to each rival's: median of rounds, 95 % interval. */
static void print_engines(const struct race *race, FILE *tsv)
{
    size_t n = (size_t)race->rounds;
    double *values = room(2 * n + RESAMPLES, sizeof *values), *scratch = values + n;
    double cpu0 = median_of(race, 0, true, values);
    printf("%-16s %-8s %10s %10s %8s %15s %10s %10s\n", race->name, "engine", "ms", "cpu ms",
           "adaps/it", "95 %", "by cpu ms", "answer off");
    for (int e = 0; e <= race->nrivals; e++) {
        const char *name = e ? race->rivals[e - 1].name : "adaps";
        double wall = median_of(race, e, false, values), cpu = median_of(race, e, true, values);
        for (size_t r = 0; r < n; r++)
            values[r] = race->times[0][r].wall_s / race->times[e][r].wall_s;
        struct ad_interval ratio = ad_stats_bootstrap(values, n, 0.95, RESAMPLES, 1, scratch);
        printf("%-16s %-8s %10.3f %10.3f %8.3f %7.3f-%7.3f %10.3f %10.1e\n", "", name, wall * 1e3,
               cpu * 1e3, ratio.median, ratio.lo, ratio.hi, cpu0 / cpu, race->difference[e]);
        if (tsv)
            fprintf(tsv, "%s\t%d\t%s\t%.6g\t%.6g\t%.4f\t%.4f\t%.4f\t%.4f\t%d\t%.2g\n", race->name,
                    race->threads, name, wall * 1e3, cpu * 1e3, ratio.median, ratio.lo, ratio.hi,
                    cpu0 / cpu, race->rounds, race->difference[e]);
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

/* A layer's share of peak: of arithmetic, or of memory, whichever it is nearer to. What takes no
 * time of its own, as an addition that is part of a convolution, has rates of 0. */
static void print_layers(const struct race *race, FILE *tsv)
{
    const struct ad_graph *graph = race->plan->graph;
    double flops = race_peak_flops() * race->threads, memory = race_peak_bytes(), sum = 0;
    double *seconds = room((size_t)graph->nops, sizeof *seconds), macs = 0;
    for (int i = 0; i < graph->nops; i++) {
        seconds[i] =
            ad_stats_median(race->layers + (size_t)i * (size_t)race->rounds, (size_t)race->rounds);
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
            fprintf(tsv, "%s\t%d\t%s\t%s\t%.6g\t%.4g\t%.4g\t%.4g\t%.3g\n", race->name,
                    race->threads, op->name, text, seconds[i] * 1e3, 100 * seconds[i] / sum,
                    work / 1e9, moved / 1e9, share);
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
        perror("bench/race: -c");
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

static void name_network(struct race *race, const char *name)
{
    const char *slash = strrchr(race->model, '/'), *base = slash ? slash + 1 : race->model;
    const char *ending = strstr(base, ".onnx");
    size_t length = ending ? (size_t)(ending - base) : strlen(base);
    snprintf(race->name, sizeof race->name, "%.*s", name ? 63 : (int)length, name ? name : base);
}

/* All layers in one step, as one device's program has them. */
static void run_race(struct race *race, char **rivals, int count)
{
    struct ad_program *program = &race->plan->schedule.programs[0];
    struct ad_program all = *program;
    struct ad_step step = {.kind = AD_STEP_COMPUTE, .ntasks = program->ntasks};
    program->steps = &step;
    program->nsteps = 1;
    start_engine(race);
    infer(race);
    if (count > 0)
        set_environment(race);
    for (int i = 0; i < count; i++)
        add_rival(race, rivals[i]);
    int engines = race->nrivals + 1;
    for (int e = 0; e < engines; e++)
        race->times[e] = room((size_t)race->rounds, sizeof **race->times);
    for (int r = 0; r < race->rounds; r++)
        for (int k = 0; k < engines; k++) {
            int e = r % 2 ? engines - 1 - k : k;
            race->times[e][r] = turn(race, e);
        }
    for (int i = 0; i < race->nrivals; i++)
        race_rival_end(&race->rivals[i]);
    ad_engine_free(race->engine);
    *program = all;
}

static void run_layers(struct race *race)
{
    race->layers = room((size_t)race->plan->graph->nops * (size_t)race->rounds, sizeof(double));
    start_engine(race);
    infer(race);
    for (int r = 0; r < race->rounds; r++)
        time_layers(race, r);
    ad_engine_free(race->engine);
}

static int finish(struct race *race)
{
    int status = ADAPS_OK;
    for (int e = 0; e <= race->nrivals; e++) {
        if (!(race->difference[e] <= TOLERANCE))
            status = ADAPS_NO;
        ad_free(race->times[e]);
    }
    adaps_plan_free(race->plan);
    ad_tensor_fini(&race->input);
    ad_tensor_fini(&race->output);
    ad_tensor_fini(&race->other);
    ad_free(race->layers);
    return status;
}

int main(int argc, char **argv)
{
    struct race race = {.folder = ".", .rounds = 25, .threads = 1};
    const char *name = NULL;
    FILE *tsv = NULL, *layers = NULL;
    int option, cpu = -1;
    while ((option = getopt(argc, argv, "r:t:c:k:w:s:l:n:")) != -1) {
        if (option == 'r' || option == 't')
            *(option == 'r' ? &race.rounds : &race.threads) = atoi(optarg);
        else if (option == 'c')
            cpu = atoi(optarg);
        else if (option == 'k')
            ad_conv_limit_lanes(atoi(optarg));
        else if (option == 'w')
            race.folder = optarg;
        else if (option == 's')
            tsv = open_table(optarg);
        else if (option == 'l')
            layers = open_table(optarg);
        else if (option == 'n')
            name = optarg;
        else
            race.rounds = 0;
    }
    if (race.rounds < 1 || race.rounds > 100000 || race.threads < 1 || optind == argc) {
        fputs("usage: bench/race [-r ROUNDS] [-t THREADS] [-c CPU] [-k LANES] [-w FOLDER] [-s "
              "FILE] [-l FILE] "
              "[-n NAME] MODEL.onnx [NAME=COMMAND...]\n",
              stderr);
        return ADAPS_EUSAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a rival that has ended is an error */
    if (cpu >= 0)
        stay_on(cpu);
    race.model = argv[optind];
    name_network(&race, name);
    make_plan(&race);
    make_tensors(&race);
    run_race(&race, argv + optind + 1, argc - optind - 1);
    print_engines(&race, tsv);
    run_layers(&race);
    print_layers(&race, layers);
    int status = finish(&race);
    if ((tsv && fclose(tsv) != 0) || (layers && fclose(layers) != 0)) {
        perror("bench/race");
        return ADAPS_EINTERNAL;
    }
    return status;
}
