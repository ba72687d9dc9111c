/* The ADaPS paper (Mateu Cuadrat, Egger: LCTES 2025) beside adaps: Tables 4, 5 and 6, and the
 * averages that the text gives of Figures 7 and 8.
 *
 *   bench/papers/adaps DEVICES ALEXNET VGG16 MOBILENETV2 INCEPTIONV3 HARDCORENAS
 *
 * DEVICES: a devices file whose first device is the fast one (a Pi 5) and whose second is the slow
 * one (a Pi 4); half of the cluster is like each. The models are the paper's, in its order.
 *
 * Strategies: edgeflow, bbgrap and adaps, with inputs as floats and the paper's thresholds, and
 * `proportional`, layer by layer by the speed of devices: EdgeFlow's own baseline. Readings
 * (tables.c): operators of type 3 split or gathered, and the window of eq 3 or of section 5.6.
 * Latency under two models: the paper's additive one (eqs 4 to 11: the slowest device of each
 * layer, every transfer one after the other, and what is computed twice) and our clocks. In the end
 * it says in words which of the paper's claims hold here (claims.c). Nothing is measured on boards.
 */
#include "adaps.h"
#include "../half_and_half.h"
#include "pipeline.h"
#include "search/published/published.h"
#include "table6.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[METHODS] = {"edgeflow", "bbgrap", "adaps", "proportional"};
static const double thresholds[NETWORKS] = {0.15, 0.05, 0.15, 0.15, 0.15}; /* section 5.1 */

static void fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/papers/adaps: %s%s\n", what, err->message);
    exit(err->status);
}

static enum ad_dim rows_or_columns(const struct ad_context *context, int op)
{
    return ad_context_gathers(context, op) ? AD_DIM_WHOLE : ad_context_bands(context, op);
}

/* Every layer in bands by speed. */
static enum adaps_status proportional(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_bands bands = {.dim_of = rows_or_columns,
                                   .weight = eval->context->speed,
                                   .whole_on = eval->context->fastest};
    return ad_bands_try(eval, &bands, best);
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

/* Seconds of what the device computes of the task's region and others compute, too (eqs 9, 10). */
static double twice_s(const struct ad_search_problem *p, const struct ad_schedule *schedule, int d,
                      const struct ad_task *task)
{
    double seconds = 0;
    double all = (double)ad_region_elements(task->region);
    for (int e = 0; e < schedule->ndevices; e++)
        for (int t = 0; e != d && t < schedule->programs[e].ntasks; t++) {
            const struct ad_task *other = &schedule->programs[e].tasks[t];
            if (other->op == task->op)
                seconds +=
                    (double)ad_region_elements(ad_region_intersect(task->region, other->region)) /
                    all * task_s(p->graph, &p->cluster->devices[d], task);
        }
    return seconds;
}

/* The paper's model: the slowest device of each layer, all transfers, all that is computed twice.
 */
static double additive_ns(const struct ad_search_problem *p, const struct ad_schedule *schedule)
{
    int n = schedule->ndevices;
    double total = 0;
    for (int i = 0; i < p->graph->nops; i++) {
        double slowest = 0;
        for (int d = 0; d < n; d++) {
            double seconds = 0;
            for (int t = 0; t < schedule->programs[d].ntasks; t++) {
                const struct ad_task *task = &schedule->programs[d].tasks[t];
                if (task->op != i)
                    continue;
                seconds += task_s(p->graph, &p->cluster->devices[d], task);
                total += twice_s(p, schedule, d, task) * 1e9;
            }
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
    *out = (struct outcome){(double)result.schedule.bytes,
                            {[ADDITIVE] = additive_ns(problem, &result.schedule),
                             [CLOCKS] = (double)result.schedule.makespan_ns}};
    ad_search_result_fini(&result);
}

static void run_network(const struct ad_cluster *template, int network, const char *path,
                        outcomes all[READINGS])
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
            for (int i = 0; i < READINGS; i++)
                for (int m = 0; m < METHODS; m++) {
                    struct ad_search_problem problem = {.graph = graph,
                                                        .blocks = &blocks,
                                                        .cluster = &cluster,
                                                        .threshold = thresholds[network],
                                                        .gather_type3 = readings[i].gather_type3,
                                                        .window_around = readings[i].window_around,
                                                        .input_f32 = true,
                                                        .split_h = true,
                                                        .split_w = true,
                                                        .split_c = true};
                    run(&problem, (enum method)m, &all[i][c][network][r][m]);
                }
            ad_cluster_fini(&cluster);
        }
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
}

int main(int argc, char **argv)
{
    static outcomes all[READINGS];
    struct ad_cluster template;
    struct adaps_error err;
    if (argc != 2 + NETWORKS) {
        fprintf(stderr, "usage: bench/papers/adaps DEVICES ALEXNET VGG16 MOBILENETV2 INCEPTIONV3 "
                        "HARDCORENAS\n");
        return ADAPS_EUSAGE;
    }
    if (bench_half_and_half_load(argv[1], &template, &err) != ADAPS_OK)
        fail("", &err);
    for (int network = 0; network < NETWORKS; network++)
        run_network(&template, network, argv[2 + network], all);
    print_tables((const outcomes *)all);
    printf("Table 6\n");
    bench_table6();
    printf("\n");
    print_claims((const outcomes *)all);
    ad_cluster_fini(&template);
    return ADAPS_OK;
}
