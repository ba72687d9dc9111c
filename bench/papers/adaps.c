/* The ADaPS paper (Mateu Cuadrat, Egger: LCTES 2025) beside adaps: Tables 4, 5 and 6, and the
 * averages that the text gives of Figures 7 and 8.
 *
 *   bench/papers/adaps DEVICES ALEXNET VGG16 MOBILENETV2 INCEPTIONV3 HARDCORENAS
 *
 * DEVICES: a devices file whose first device is the fast one (a Pi 5) and whose second is the slow
 * one (a Pi 4); half of the cluster is like each. The models are the paper's, in its order.
 *
 * Strategies: edgeflow, bbgrap and adaps, with inputs as floats and the paper's thresholds, for
 * both readings of type 3, and `proportional`, layer by layer by the speed of devices: EdgeFlow's
 * own baseline. Latency under two models: the paper's additive one (the slowest device of each
 * layer, and every transfer one after the other, eqs 4 to 12) and our clocks. In the end it says in
 * words which of the paper's claims hold here. Nothing is measured on boards.
 */
#include "../half_and_half.h"
#include "pipeline.h"
#include "search/published/published.h"
#include "table6.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NETWORKS = 5, COUNTS = 2, RATES = 2, READINGS = 2 };
enum method { EDGEFLOW, BBGRAP, ADAPS, PROPORTIONAL, METHODS };

static const char *const networks[NETWORKS] = {"AlexNet", "VGG16", "MobileNetV2", "InceptionV3",
                                               "HardcoreNAS"};
static const char *const methods[METHODS] = {"edgeflow", "bbgrap", "adaps", "proportional"};
static const double thresholds[NETWORKS] = {0.15, 0.05, 0.15, 0.15, 0.15}; /* section 5.1 */
static const int counts[COUNTS] = {2, 4};
static const double mbits[RATES] = {10, 100};
static const char *const readings[READINGS] = {"type 3 split", "type 3 gathered"};

/* Tables 4 and 5: bytes of BBGraP and ADaPS relative to EdgeFlow. */
static const double published[COUNTS][NETWORKS][RATES][2] = {
    {{{1.45, 0.73}, {1.45, 0.96}},
     {{1.08, 0.46}, {1.08, 0.61}},
     {{0.50, 0.52}, {0.51, 0.53}},
     {{2.18, 0.97}, {2.17, 0.98}},
     {{1.71, 0.94}, {1.71, 0.95}}},
    {{{1.05, 0.88}, {0.86, 0.72}},
     {{0.98, 0.81}, {0.98, 0.81}},
     {{0.92, 0.93}, {0.71, 0.72}},
     {{1.22, 1.09}, {1.29, 1.10}},
     {{1.08, 1.02}, {1.04, 0.98}}},
};

/* A plan under both models. */
struct outcome {
    double bytes, clocks_ns, additive_ns;
};

static struct outcome outcomes[READINGS][COUNTS][NETWORKS][RATES][METHODS];

static void fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/papers/adaps: %s%s\n", what, err->message);
    exit(err->status);
}

/* Every layer in bands by speed. */
static enum adaps_status proportional(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_search_problem *p = context->problem;
    struct ad_layout layout;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    for (int i = 0; i < layout.nops && status == ADAPS_OK; i++) {
        enum ad_dim dim =
            ad_context_gathers(context, i) ? AD_DIM_WHOLE : ad_context_bands(context, i);
        layout.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true, .at = context->fastest};
        ad_cuts_proportional(context->speed, layout.ndevices, ad_layout_cuts(&layout, i));
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    return status;
}

/* Seconds of a task on a device, as the clocks have them. */
static double task_s(const struct ad_graph *graph, const struct ad_device *device,
                     const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t r0, r1, in = 0, images = graph->values[op->output].box.n;
    for (int k = 0; k < op->ninputs; k++)
        in += graph->values[op->inputs[k]].box.n *
              ad_region_elements(ad_need(graph, op, k, task->region));
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    struct ad_work work =
        ad_cost_work(graph, op, images * ad_region_elements(task->region), in, r1 - r0);
    return ad_cost_seconds(device, &work);
}

/* The paper's model: the slowest device of each layer, then all transfers. */
static double additive_ns(const struct ad_search_problem *p, const struct ad_schedule *schedule)
{
    int n = schedule->ndevices;
    double total = 0;
    for (int i = 0; i < p->graph->nops; i++) {
        double slowest = 0;
        for (int d = 0; d < n; d++) {
            double seconds = 0;
            for (int t = 0; t < schedule->programs[d].ntasks; t++)
                if (schedule->programs[d].tasks[t].op == i)
                    seconds +=
                        task_s(p->graph, &p->cluster->devices[d], &schedule->programs[d].tasks[t]);
            slowest = fmax(slowest, seconds);
        }
        total += slowest * 1e9;
    }
    for (int d = 0; d < n; d++)
        for (int k = 0; k < schedule->programs[d].nsteps; k++) {
            const struct ad_step *step = &schedule->programs[d].steps[k];
            if (step->kind == AD_STEP_SEND)
                total += (double)ad_step_bytes(p->graph, step) /
                         p->cluster->links[d * n + step->peer].bandwidth * 1e9;
        }
    return total;
}

static void run(const struct ad_search_problem *problem, enum method method, struct outcome *out)
{
    struct ad_search_result result = {.bound = NAN, .gap = NAN};
    struct adaps_error err = {0};
    enum adaps_status status =
        method == PROPORTIONAL
            ? ad_search_layouts(problem, methods[method], proportional, &result, &err)
            : ad_search_run(ad_strategy_find(methods[method]), problem, &result, &err);
    if (status != ADAPS_OK)
        fail(methods[method], &err);
    *out = (struct outcome){(double)result.schedule.bytes, (double)result.schedule.makespan_ns,
                            additive_ns(problem, &result.schedule)};
    ad_search_result_fini(&result);
}

static void run_network(const struct ad_cluster *template, int network, const char *path)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct adaps_error err;
    if (ad_pipeline_front(path, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        fail("", &err);
    ad_graph_drop_weights(graph);
    for (int c = 0; c < COUNTS; c++)
        for (int r = 0; r < RATES; r++) {
            struct ad_cluster cluster;
            if (bench_half_and_half(template, counts[c], mbits[r] * 1e6 / 8, &cluster, &err) !=
                ADAPS_OK)
                fail("", &err);
            for (int reading = 0; reading < READINGS; reading++)
                for (int m = 0; m < METHODS; m++) {
                    struct ad_search_problem problem = {.graph = graph,
                                                        .blocks = &blocks,
                                                        .cluster = &cluster,
                                                        .threshold = thresholds[network],
                                                        .gather_type3 = reading == 1,
                                                        .input_f32 = true,
                                                        .split_h = true,
                                                        .split_w = true,
                                                        .split_c = true};
                    run(&problem, (enum method)m, &outcomes[reading][c][network][r][m]);
                }
            ad_cluster_fini(&cluster);
        }
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
}

static double bytes_ratio(int reading, int c, int network, int r, enum method method,
                          enum method base)
{
    const struct outcome *cell = outcomes[reading][c][network][r];
    return cell[method].bytes / cell[base].bytes;
}

static double latency_ratio(int reading, int c, int network, int r, enum method method,
                            bool additive)
{
    const struct outcome *cell = outcomes[reading][c][network][r];
    return additive ? cell[method].additive_ns / cell[EDGEFLOW].additive_ns
                    : cell[method].clocks_ns / cell[EDGEFLOW].clocks_ns;
}

/* Table 4 or 5, and how far ours is from it: mean |ln| of the ratios. */
static void print_bytes(int c)
{
    double far[READINGS][4] = {{0}};
    printf("Table %d, %d devices: bytes relative to EdgeFlow; published, then ours by reading\n",
           4 + c, counts[c]);
    printf(
        "(BB, AD: bbgrap and adaps; BB/p, AD/p: relative to EdgeFlow's proportional baseline)\n");
    printf("%-12s %5s  %5s %5s", "network", "mbit", "BB", "AD");
    for (int reading = 0; reading < READINGS; reading++)
        printf("  | %-15s %5s %5s %5s %5s", readings[reading], "BB", "AD", "BB/p", "AD/p");
    printf("\n");
    for (int network = 0; network < NETWORKS; network++)
        for (int r = 0; r < RATES; r++) {
            const double *theirs = published[c][network][r];
            printf("%-12s %5.0f  %5.2f %5.2f", networks[network], mbits[r], theirs[0], theirs[1]);
            for (int reading = 0; reading < READINGS; reading++) {
                double ours[4] = {
                    bytes_ratio(reading, c, network, r, BBGRAP, EDGEFLOW),
                    bytes_ratio(reading, c, network, r, ADAPS, EDGEFLOW),
                    bytes_ratio(reading, c, network, r, BBGRAP, PROPORTIONAL),
                    bytes_ratio(reading, c, network, r, ADAPS, PROPORTIONAL),
                };
                printf("  | %-15s", "");
                for (int k = 0; k < 4; k++) {
                    printf(" %5.2f", ours[k]);
                    far[reading][k] += fabs(log(ours[k] / theirs[k % 2])) / (NETWORKS * RATES);
                }
            }
            printf("\n");
        }
    printf("%-12s %5s  %5s %5s", "mean |ln|", "", "", "");
    for (int reading = 0; reading < READINGS; reading++)
        printf("  | %-15s %5.2f %5.2f %5.2f %5.2f", "", far[reading][0], far[reading][1],
               far[reading][2], far[reading][3]);
    printf("\n\n");
}

/* Geometric mean of adaps' latency relative to EdgeFlow's over some networks. */
static double mean_latency(int reading, int c, int r, bool additive, int first, int end)
{
    double sum = 0;
    for (int network = first; network < end; network++)
        sum += log(latency_ratio(reading, c, network, r, ADAPS, additive));
    return exp(sum / (end - first));
}

static void print_latency(int c)
{
    printf("Figure %d, %d devices: latency relative to EdgeFlow, by model and reading\n", 7 + c,
           counts[c]);
    printf("%-12s %5s", "network", "mbit");
    for (int model = 0; model < 2; model++)
        for (int reading = 0; reading < READINGS; reading++)
            printf("  | %s, %-15s %5s %5s", model ? "clocks  " : "additive", readings[reading],
                   "BB", "AD");
    printf("\n");
    for (int network = 0; network < NETWORKS; network++)
        for (int r = 0; r < RATES; r++) {
            printf("%-12s %5.0f", networks[network], mbits[r]);
            for (int model = 0; model < 2; model++)
                for (int reading = 0; reading < READINGS; reading++)
                    printf("  | %25s %5.2f %5.2f", "",
                           latency_ratio(reading, c, network, r, BBGRAP, !model),
                           latency_ratio(reading, c, network, r, ADAPS, !model));
            printf("\n");
        }
    for (int r = 0; r < RATES; r++) {
        printf("%-12s %5.0f", "AD, mean", mbits[r]);
        for (int model = 0; model < 2; model++)
            for (int reading = 0; reading < READINGS; reading++)
                printf("  | %25s %5s %5.2f", "", "",
                       mean_latency(reading, c, r, !model, 0, NETWORKS));
        printf("\n");
    }
    printf("\n");
}

static void say(bool holds, const char *claim, double ours, const char *what)
{
    printf("%-14s %s; ours: %.0f %%%s\n", holds ? "holds" : "does not hold", claim, ours, what);
}

/* The claims of sections 5.2 to 5.4, under a model, with type 3 split. */
static void claims(bool additive)
{
    enum { SPLIT = 0, SIMPLE = 3 }; /* the first three networks have one path */
    int lower = 0, faster = 0, more_at_100 = 0, better_at_10 = 0;
    double two = 0, four = 0;
    for (int r = 0; r < RATES; r++) {
        two += log(mean_latency(SPLIT, 0, r, additive, 0, SIMPLE)) / RATES;
        four += log(mean_latency(SPLIT, 1, r, additive, 0, NETWORKS)) / RATES;
    }
    for (int c = 0; c < COUNTS; c++)
        for (int network = 0; network < NETWORKS; network++)
            for (int r = 0; r < RATES; r++) {
                const struct outcome *cell = outcomes[SPLIT][c][network][r];
                lower += cell[ADAPS].bytes <= cell[EDGEFLOW].bytes &&
                         cell[ADAPS].bytes <= cell[BBGRAP].bytes;
                faster += latency_ratio(SPLIT, c, network, r, ADAPS, additive) < 1;
            }
    for (int network = 0; network < NETWORKS; network++) {
        more_at_100 += latency_ratio(SPLIT, 0, network, 1, ADAPS, additive) <
                       latency_ratio(SPLIT, 0, network, 0, ADAPS, additive);
        better_at_10 += latency_ratio(SPLIT, 1, network, 0, ADAPS, additive) <
                        latency_ratio(SPLIT, 1, network, 1, ADAPS, additive);
    }
    const int cells = COUNTS * NETWORKS * RATES;
    printf("Claims, under %s, type 3 split:\n",
           additive ? "the paper's additive model" : "our clocks");
    say(two <= log(0.75), "5.2: two devices, networks of one path: about 30 % less than EdgeFlow",
        100 * (1 - exp(two)), " less");
    say(four <= log(0.90), "5.4: four devices: about 15 % less than EdgeFlow",
        100 * (1 - exp(four)), " less");
    say(2 * more_at_100 > NETWORKS,
        "5.2: two devices: for most networks more is gained at 100 mbit than at 10",
        100.0 * more_at_100 / NETWORKS, " of the networks");
    say(2 * better_at_10 > NETWORKS,
        "5.4: four devices: often more is gained at 10 mbit than at 100",
        100.0 * better_at_10 / NETWORKS, " of the networks");
    say(2 * lower > cells, "5.3, 5.4: fewest bytes of the three for most networks",
        100.0 * lower / cells, " of the cells");
    say(2 * faster > cells, "5.5: ahead of EdgeFlow in most configurations", 100.0 * faster / cells,
        " of the cells");
    printf("\n");
}

int main(int argc, char **argv)
{
    struct ad_cluster template;
    struct adaps_error err;
    if (argc != 2 + NETWORKS) {
        fprintf(stderr, "usage: bench/papers/adaps DEVICES ALEXNET VGG16 MOBILENETV2 INCEPTIONV3 "
                        "HARDCORENAS\n");
        return ADAPS_EUSAGE;
    }
    if (ad_cluster_load(argv[1], &template, &err) != ADAPS_OK)
        fail("", &err);
    if (template.ndevices < 2) {
        fprintf(stderr, "bench/papers/adaps: %s: two devices are wanted\n", argv[1]);
        return ADAPS_EINPUT;
    }
    for (int network = 0; network < NETWORKS; network++)
        run_network(&template, network, argv[2 + network]);
    for (int c = 0; c < COUNTS; c++)
        print_bytes(c);
    for (int c = 0; c < COUNTS; c++)
        print_latency(c);
    printf("Table 6\n");
    bench_table6();
    printf("\n");
    claims(true);
    claims(false);
    ad_cluster_fini(&template);
    return ADAPS_OK;
}
