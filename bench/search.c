/* Every strategy's prediction, side by side: networks x {2, 4, 8 devices} x {10, 100, 1000 mbit}.
 *
 *   bench/search [-x EFFORT | -e EVALUATIONS] [--tsv FILE] DEVICES MODEL.onnx...
 *
 * The cluster of D devices has D/2 like the first device of DEVICES (devices/pi5-pi4.conf: a Pi 5)
 * and D/2 like the second (a Pi 4), on a star with the file's latency; the first is the source. Two
 * tables: latency and bytes relative to edgeflow, as ADaPS's Figs 7, 8 and Tables 4, 5 have them,
 * with `auto` relative to the best single device and to the best of all other strategies; then the
 * geometric means. -x: as adaps plan --effort for 8 devices, and proportionally more for fewer,
 * whose layouts take less to evaluate; default 8, for plans that are used for a long time. -e: as
 * adaps plan --evaluations. --tsv: a line per network, cluster and strategy, in the columns of
 * bench/compare (bench/chart draws it), marked as simulated. All of it is simulated. Exit status 1
 * when `auto` is slower than another strategy.
 */
#include "half_and_half.h"
#include "pipeline.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int device_counts[] = {2, 4, 8};
static const double mbits[] = {10, 100, 1000};

#define DEFAULT_EFFORT 8
#define MOST_DEVICES 8 /* of device_counts */
#define COUNTS (sizeof device_counts / sizeof *device_counts)
#define RATES (sizeof mbits / sizeof *mbits)

/* Sums of logarithms over the networks. */
struct means {
    double single[COUNTS][RATES], others[COUNTS][RATES], edgeflow[COUNTS][RATES];
    int networks, slower;
};

static void fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/search: %s%s\n", what, err->message);
    exit(err->status);
}

static const struct ad_comparison *find(const struct ad_comparison *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].strategy, name) == 0 && !list[i].error[0])
            return &list[i];
    return NULL;
}

static double ratio(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : NAN;
}

static int devices_used(const struct ad_comparison *item, int n)
{
    int used = 0;
    for (int d = 0; d < n; d++)
        used += item->memory[d] > 0;
    return used;
}

static void write_cell(FILE *tsv, const struct ad_comparison *list, int n, const char *network,
                       size_t count, size_t rate)
{
    const struct ad_comparison *base = find(list, n, "edgeflow"), *single = find(list, n, "single");
    const char *ending = strstr(network, ".onnx");
    size_t length = ending ? (size_t)(ending - network) : strlen(network);
    for (int i = 0; i < n; i++) {
        if (list[i].error[0])
            continue;
        fprintf(tsv, "simulated\t%.*s\t%d\t%.0f\t%s\t%d\t%.6g\t%.6g\t%.6g\t%.6g\t%lld\n",
                (int)length, network, device_counts[count], mbits[rate], list[i].strategy,
                devices_used(&list[i], device_counts[count]), (double)list[i].predicted_ns / 1e6,
                (double)list[i].predicted_ns / 1e6, ratio(list[i].predicted_ns, base->predicted_ns),
                ratio(list[i].predicted_ns, single->predicted_ns), (long long)list[i].bytes);
    }
}

/* One line of the table. */
static void print_cell(const struct ad_comparison *list, int n, const char *network, size_t count,
                       size_t rate, struct means *means)
{
    const struct ad_comparison *best = find(list, n, "auto"), *base = find(list, n, "edgeflow"),
                               *single = find(list, n, "single");
    int64_t other = INT64_MAX;
    if (!best || !base || !single) {
        fprintf(stderr, "bench/search: %s: no plan of auto, edgeflow or single\n", network);
        exit(ADAPS_NO);
    }
    printf("%-16.16s %2d %5.0f %9.1f", network, device_counts[count], mbits[rate],
           (double)best->predicted_ns / 1e6);
    for (int i = 0; i < n; i++) {
        bool there = !list[i].error[0];
        if (there && &list[i] != best && list[i].predicted_ns < other)
            other = list[i].predicted_ns;
        printf(" %5.2f/%-5.2f", there ? ratio(list[i].predicted_ns, base->predicted_ns) : NAN,
               there ? ratio(list[i].bytes, base->bytes) : NAN);
    }
    double to_single = ratio(best->predicted_ns, single->predicted_ns);
    double to_others = ratio(best->predicted_ns, other);
    printf(" %8.3f %8.3f %8.2f\n", to_single, to_others, best->search_s);
    means->single[count][rate] += log(to_single);
    means->others[count][rate] += log(to_others);
    means->edgeflow[count][rate] += log(ratio(best->predicted_ns, base->predicted_ns));
    means->slower += best->predicted_ns > other;
}

static void compare(const struct ad_cluster *template, const char *path,
                    const struct ad_search_problem *options, FILE *tsv, struct means *means)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    if (ad_pipeline_front(path, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        fail("", &err);
    ad_graph_drop_weights(graph);
    const char *slash = strrchr(path, '/');
    for (size_t count = 0; count < COUNTS; count++)
        for (size_t rate = 0; rate < RATES; rate++) {
            struct ad_cluster cluster;
            struct ad_comparison *list;
            int n;
            if (bench_half_and_half(template, device_counts[count], mbits[rate] * 1e6 / 8, &cluster,
                                    &err) != ADAPS_OK)
                fail("", &err);
            ad_algorithms_choose(graph, &cluster);
            struct ad_search_problem problem = {.graph = graph,
                                                .blocks = &blocks,
                                                .cluster = &cluster,
                                                .threshold = 0.15,
                                                .evaluations = options->evaluations,
                                                .effort = options->effort * MOST_DEVICES /
                                                          device_counts[count],
                                                .split_h = true,
                                                .split_w = true,
                                                .split_c = true};
            if (ad_search_compare(&problem, &list, &n, &err) != ADAPS_OK)
                fail("", &err);
            const char *name = slash ? slash + 1 : path;
            print_cell(list, n, name, count, rate, means);
            if (tsv)
                write_cell(tsv, list, n, name, count, rate);
            ad_comparison_free(list, n);
            ad_cluster_fini(&cluster);
        }
    means->networks++;
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
}

static void print_means(const struct means *means)
{
    printf("\ngeometric means over %d networks: auto relative to\n%7s %5s %9s %12s %9s\n",
           means->networks, "devices", "mbit", "edgeflow", "best single", "best other");
    for (size_t count = 0; count < COUNTS; count++)
        for (size_t rate = 0; rate < RATES; rate++)
            printf("%7d %5.0f %9.3f %12.3f %9.3f\n", device_counts[count], mbits[rate],
                   exp(means->edgeflow[count][rate] / means->networks),
                   exp(means->single[count][rate] / means->networks),
                   exp(means->others[count][rate] / means->networks));
}

int main(int argc, char **argv)
{
    struct ad_cluster template;
    struct adaps_error err;
    struct means means = {.networks = 0};
    static const struct option longs[] = {{"tsv", required_argument, NULL, 't'}, {0}};
    struct ad_search_problem options = {.effort = DEFAULT_EFFORT};
    FILE *tsv = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "e:x:", longs, NULL)) != -1) {
        if (option == 't' && !(tsv = fopen(optarg, "we"))) {
            perror(optarg);
            return ADAPS_EINPUT;
        }
        if (option == 'e')
            options.evaluations = atoll(optarg) > 0 ? atoll(optarg) : -1;
        else if (option == 'x' || option == '?')
            options.effort = option == 'x' ? atoll(optarg) : 0;
    }
    argv += optind;
    argc -= optind;
    if (argc < 2 || options.evaluations < 0 || options.effort < 1) {
        fprintf(stderr, "usage: bench/search [-x EFFORT | -e EVALUATIONS] [--tsv FILE] DEVICES "
                        "MODEL.onnx...\n");
        return ADAPS_EUSAGE;
    }
    if (bench_half_and_half_load(argv[0], &template, &err) != ADAPS_OK)
        fail("", &err);
    printf("predicted; latency/bytes relative to edgeflow; auto relative to single and the best "
           "other\n"
           "%-16s %2s %5s %9s",
           "network", "D", "mbit", "auto ms");
    for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++)
        if (!s->stream) /* those are not compared for the latency */
            printf(" %11.11s", s->name);
    printf(" %8s %8s %8s\n", "/single", "/other", "auto s");
    if (tsv)
        fputs("times\tnetwork\tdevices\tmbit\tstrategy\tdevices_used\tlatency_ms\t"
              "predicted_ms\tratio\tsingle_ratio\tplanned_bytes\n",
              tsv);
    for (int i = 1; i < argc; i++)
        compare(&template, argv[i], &options, tsv, &means);
    print_means(&means);
    if (tsv && fclose(tsv) != 0) {
        perror("bench/search: --tsv");
        return ADAPS_EINTERNAL;
    }
    ad_cluster_fini(&template);
    return means.slower ? ADAPS_NO : ADAPS_OK;
}
