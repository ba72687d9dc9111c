/* One device against other engines: adaps' tile engine, in this process as `adaps run
 * --local` uses it, and each competitor, in turns; then tables of layers. For bench/single.
 *
 *   bench/head-to-head [OPTION...] MODEL.onnx [NAME=COMMAND...]
 *
 *   -r ROUNDS      turns of each engine (25); each is an inference that does not count and one
 *                  that does. Engines change places from round to round.
 *   -t THREADS     compute threads (1)
 *   -c CPU         stay on this processor
 *   -k LANES       convolutions with vectors of at most so many floats: 16, 8, or 0 for XNNPACK's
 *                  (and none by Winograd's algorithm)
 *   --conv HOW     auto: by Winograd's algorithm where adaps plan would say so (default); direct
 *   --dim NAME=N   the size of a symbolic dimension of the model (1); may be repeated
 *   --seed N       of the inputs, which are random (1)
 *   -w FOLDER      for files that competitors read and write (.)
 *   -s FILE        write a line per engine to it
 *   -l FILE        write a line per layer to it
 *   -n NAME        of the network in these lines; by default the file's
 *
 * A competitor that cannot start is left out. Exit status 1 when an output is off by more than 1e-3
 * of its largest element, and those of adaps. */
#include "bench/competitor.h"
#include "bench/layers.h"
#include "bench/peak.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/units.h"
#include "exec/kernels/choice.h"

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
    struct network network;
    const char *folder;
    int rounds;
    struct ad_engine *engine;
    struct competitor competitors[MAX_COMPETITORS];
    double difference[MAX_COMPETITORS + 1]; /* of the answer, relative to the largest element */
    struct run_time *times[MAX_COMPETITORS + 1]; /* by engine, ours first, and round */
    int ncompetitors;
};

/* --- our engine --- */

/* Feeding and fetching are part of an inference. All layers are one step, as in one device's
 * program. */
static struct run_time infer(struct comparison *c)
{
    int64_t cpu = process_cpu_ns(), wall = ad_clock_ns();
    network_feed(&c->network, c->engine);
    network_step(c->engine, 0);
    network_fetch(&c->network, c->engine);
    return (struct run_time){(double)(ad_clock_ns() - wall) * 1e-9,
                             (double)(process_cpu_ns() - cpu) * 1e-9};
}

/* --- competitors --- */

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
    float *answer = network_room(c->network.answer_count, sizeof *answer);
    enum adaps_status status = competitor_start(competitor, name, command + 1, c->folder, &err);
    if (status == ADAPS_OK)
        status = competitor_answer(competitor, answer, c->network.answer_count, &err);
    if (status == ADAPS_OK) {
        c->ncompetitors++;
        c->difference[c->ncompetitors] = network_difference(&c->network, name, answer, TOLERANCE);
    } else {
        fprintf(stderr, "bench/head-to-head: %s: without %s\n", c->network.name, err.message);
        competitor_end(competitor);
    }
    ad_free(answer);
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
            network_fail(&err);
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
    double *values = network_room(2 * n + RESAMPLES, sizeof *values), *scratch = values + n;
    double cpu0 = median_of(c, 0, true, values);
    printf("%-16s %-8s %10s %10s %8s %15s %10s %10s\n", c->network.name, "engine", "ms", "cpu ms",
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
            fprintf(tsv, "%s\t%d\t%s\t%.6g\t%.6g\t%.4f\t%.4f\t%.4f\t%.4f\t%d\t%.2g\n",
                    c->network.name, c->network.threads, name, wall * 1e3, cpu * 1e3, ratio.median,
                    ratio.lo, ratio.hi, cpu0 / cpu, c->rounds, c->difference[e]);
    }
    ad_free(values);
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

/* All layers in one step, as one device's program has them. */
static void run_engines(struct comparison *c, char **competitors, int count)
{
    struct ad_program *program = &c->network.plan->schedule.programs[0];
    struct ad_program all = *program;
    struct ad_step step = {.kind = AD_STEP_COMPUTE, .ntasks = program->ntasks};
    program->steps = &step;
    program->nsteps = 1;
    c->engine = network_engine(&c->network, c->network.threads);
    infer(c);
    if (count > 0)
        network_tell(&c->network, c->folder);
    for (int i = 0; i < count; i++)
        add_competitor(c, competitors[i]);
    int engines = c->ncompetitors + 1;
    for (int e = 0; e < engines; e++)
        c->times[e] = network_room((size_t)c->rounds, sizeof **c->times);
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

static int finish(struct comparison *c)
{
    int status = ADAPS_OK;
    for (int e = 0; e <= c->ncompetitors; e++) {
        if (!(c->difference[e] <= TOLERANCE))
            status = ADAPS_NO;
        ad_free(c->times[e]);
    }
    network_fini(&c->network);
    return status;
}

static int usage(void)
{
    fputs(
        "usage: bench/head-to-head [-r ROUNDS] [-t THREADS] [-c CPU] [-k LANES] [--dim NAME=N]... "
        "[--seed N] [--conv auto|direct] [-w FOLDER] [-s FILE] [-l FILE] [-n NAME] MODEL.onnx "
        "[NAME=COMMAND...]\n",
        stderr);
    return ADAPS_EUSAGE;
}

int main(int argc, char **argv)
{
    struct comparison c = {.folder = ".", .rounds = 25, .network = {.threads = 1, .seed = 1}};
    const char *name = NULL;
    FILE *tsv = NULL, *layers = NULL;
    static const struct option longs[] = {{"dim", required_argument, NULL, 'd'},
                                          {"seed", required_argument, NULL, 'i'},
                                          {"conv", required_argument, NULL, 'a'},
                                          {NULL, 0, NULL, 0}};
    int option, cpu = -1, lanes = 16;
    int64_t seed;
    while ((option = getopt_long(argc, argv, "r:t:c:k:w:s:l:n:", longs, NULL)) != -1) {
        if (option == 'r' || option == 't')
            *(option == 'r' ? &c.rounds : &c.network.threads) = atoi(optarg);
        else if (option == 'c')
            cpu = atoi(optarg);
        else if (option == 'k')
            ad_processor_limit_lanes(lanes = atoi(optarg));
        else if (option == 'a' && (strcmp(optarg, "auto") == 0 || strcmp(optarg, "direct") == 0))
            c.network.conv_direct = optarg[0] == 'd';
        else if (option == 'w')
            c.folder = optarg;
        else if (option == 's')
            tsv = open_table(optarg);
        else if (option == 'l')
            layers = open_table(optarg);
        else if (option == 'n')
            name = optarg;
        else if (option == 'i' && ad_parse_int(optarg, 0, INT64_MAX, &seed))
            c.network.seed = (uint64_t)seed;
        else if (option != 'd' || !network_take_dim(&c.network.dims, optarg))
            return usage();
    }
    if (c.rounds < 1 || c.rounds > 100000 || c.network.threads < 1 || optind == argc)
        return usage();
    signal(SIGPIPE, SIG_IGN); /* a competitor that has ended is an error */
    if (cpu >= 0)
        stay_on(cpu);
    c.network.path = argv[optind];
    c.network.conv_direct = c.network.conv_direct || lanes < 8;
    network_load(&c.network, name);
    run_engines(&c, argv + optind + 1, argc - optind - 1);
    print_engines(&c, tsv);
    layers_report(&c.network, c.rounds, layers);
    int status = finish(&c);
    if ((tsv && fclose(tsv) != 0) || (layers && fclose(layers) != 0)) {
        perror("bench/head-to-head");
        return ADAPS_EINTERNAL;
    }
    return status;
}
