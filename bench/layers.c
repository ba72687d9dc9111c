#include "bench/layers.h"
#include "bench/peak.h"
#include "base/stats.h"
#include "cost/cost.h"

#include <math.h>

struct layer {
    const struct ad_op *op;
    char shape[AD_SHAPE_TEXT];
    double seconds;      /* 0: it is part of the layer before it */
    double flops, bytes; /* that it must do and move at least */
    double least_s;      /* what the processor would need for these at its peak */
};

struct report {
    const struct network *network;
    const struct ad_graph *graph;
    int rounds;
    struct layer *layers;          /* by op */
    double peak_flops, peak_bytes; /* per second; 0: not known */
    double seconds;                /* of all layers */
};

/* --- times --- */

/* One inference, layer by layer, to times (seconds, by op). An addition that is part of another
 * layer has none. With one thread a layer's time is its processor time, if that is
 * less, so other programs on the processor do not count. */
static void time_layers(const struct network *n, struct ad_engine *engine, int threads,
                        double *times)
{
    const struct ad_program *program = &n->plan->schedule.programs[0];
    int64_t last = process_cpu_ns();
    network_feed(n, engine);
    for (int i = 0; i < program->nsteps; i++) {
        int64_t begin, end, before = last;
        network_step(engine, i);
        ad_engine_times(engine, i, &begin, &end);
        last = process_cpu_ns();
        if (threads == 1 && last - before < end - begin)
            end = begin + last - before;
        times[program->tasks[program->steps[i].first_task].op] = (double)(end - begin) * 1e-9;
    }
}

/* The layers' times over all rounds. */
static void time_rounds(struct report *r, struct ad_engine *engine, int threads)
{
    size_t nops = (size_t)r->graph->nops, rounds = (size_t)r->rounds;
    double *times = network_room(nops * rounds, sizeof *times);
    double *one = network_room(rounds, sizeof *one);
    time_layers(r->network, engine, threads, times); /* does not count */
    for (size_t k = 0; k < rounds; k++)
        time_layers(r->network, engine, threads, times + k * nops);
    for (size_t i = 0; i < nops; i++) {
        for (size_t k = 0; k < rounds; k++)
            one[k] = times[k * nops + i];
        struct layer *layer = &r->layers[i];
        layer->seconds = ad_stats_median(one, rounds);
        r->seconds += layer->seconds;
    }
    ad_free(one);
    ad_free(times);
}

static void measure(struct report *r)
{
    int threads = r->network->threads;
    struct ad_engine *engine = network_engine(r->network, threads);
    time_rounds(r, engine, threads);
    ad_engine_free(engine);
}

/* --- what layers are --- */

/* Bytes that an op must move at least: its operands, result and weights, once. */
static double bytes_of(const struct ad_graph *graph, const struct ad_op *op)
{
    double elements = 0;
    for (int k = 0; k <= op->ninputs; k++)
        elements += (double)ad_box_elements(graph->values[k ? op->inputs[k - 1] : op->output].box);
    if (op->weight >= 0)
        elements += (double)graph->weights[op->weight].rows *
                    (double)graph->weights[op->weight].row_elements;
    return elements * sizeof(float);
}

static void describe(const struct report *r)
{
    for (int i = 0; i < r->graph->nops; i++) {
        struct layer *layer = &r->layers[i];
        const struct ad_op *op = layer->op = &r->graph->ops[i];
        struct ad_shape shape = ad_shape_of(r->graph, op);
        ad_shape_format(&shape, layer->shape, sizeof layer->shape);
        layer->flops = 2.0 * (double)ad_cost_macs(r->graph, op);
        layer->bytes = bytes_of(r->graph, op);
        layer->least_s = layer->flops / r->peak_flops;
        if (r->peak_bytes > 0)
            layer->least_s = fmax(layer->least_s, layer->bytes / r->peak_bytes);
    }
}

/* --- tables --- */

/* Of a time: rates, and the share of the peak, be it of arithmetic or of memory. */
struct rates {
    double percent, gflops, gbytes, peak;
};

static struct rates rates_of(const struct report *r, double seconds, double flops, double bytes,
                             double least_s)
{
    double per_second = seconds > 0 ? 1 / seconds : 0;
    return (struct rates){100 * seconds / r->seconds, flops * per_second / 1e9,
                          bytes * per_second / 1e9, 100 * least_s * per_second};
}

static void print_layers(const struct report *r, FILE *tsv)
{
    const struct network *n = r->network;
    double flops = 0;
    printf("\npeak, measured: %.1f GFLOP/s, %.1f GB/s from memory\n%-24s %-52s %9s %6s %8s "
           "%7s %6s\n",
           r->peak_flops / 1e9, r->peak_bytes / 1e9, "layer", "shape", "ms", "% time", "GFLOP/s",
           "GB/s", "% peak");
    for (int i = 0; i < r->graph->nops; i++) {
        const struct layer *l = &r->layers[i];
        struct rates rates = rates_of(r, l->seconds, l->flops, l->bytes, l->least_s);
        flops += l->flops;
        printf("%-24.24s %-52.52s %9.4f %6.2f %8.1f %7.1f %6.1f\n", l->op->name, l->shape,
               l->seconds * 1e3, rates.percent, rates.gflops, rates.gbytes, rates.peak);
        if (tsv)
            fprintf(tsv, "%s\t%d\t%s\t%s\t%.6g\t%.4g\t%.4g\t%.4g\t%.3g\n", n->name, n->threads,
                    l->op->name, l->shape, l->seconds * 1e3, rates.percent, rates.gflops,
                    rates.gbytes, rates.peak);
    }
    struct rates all = rates_of(r, r->seconds, flops, 0, flops / r->peak_flops);
    printf("%-24s %-52s %9.4f %6.2f %8.1f %7s %6.1f\n", "all", "", r->seconds * 1e3, 100.0,
           all.gflops, "", all.peak);
}

void layers_report(const struct network *n, int rounds, FILE *tsv)
{
    struct report r = {.network = n, .graph = n->plan->graph, .rounds = rounds};
    r.layers = network_room((size_t)r.graph->nops, sizeof *r.layers);
    r.peak_flops = peak_flops() * n->threads;
    r.peak_bytes = peak_bytes();
    describe(&r);
    measure(&r);
    print_layers(&r, tsv);
    putchar('\n');
    ad_free(r.layers);
}
