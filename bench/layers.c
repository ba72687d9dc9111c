#include "bench/layers.h"
#include "ir/winograd.h"
#include "bench/peak.h"
#include "base/clock.h"
#include "base/stats.h"
#include "cost/cost.h"
#include "exec/engine/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WATCHED_ROUNDS 5
#define NOTICEABLE 0.01 /* of the time: what a layer takes that is worth a line */
#define MOSTLY 0.5      /* of a layer's time on one thread */
#define AWAKE_NS 20000  /* of processor time: less is that of the clocks themselves */
#define QUIET_TIMES 3   /* in a row: a thread that is awake may have to wait for a processor */
#define KIND_TEXT 64

struct layer {
    const struct ad_op *op;
    char shape[AD_SHAPE_TEXT];
    char kind[KIND_TEXT]; /* for the summary */
    const char *kernels;  /* by which it is computed */
    bool xnnpack;
    double seconds;      /* 0: it is part of the layer before it */
    double quickest_s;   /* of the rounds, when others disturbed least */
    double alone;        /* share of its time that no other thread could help with */
    double flops, bytes; /* that it must do and move at least */
    double least_s;      /* what the processor would need for these at its peak */
};

struct report {
    const struct network *network;
    const struct ad_graph *graph;
    int rounds;
    struct layer *layers;          /* by op */
    double peak_flops, peak_bytes; /* per second; 0: not known */
    double seconds, quickest_s;    /* of all layers */
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
        layer->seconds = ad_stats_median(one, rounds); /* which sorts them */
        layer->quickest_s = one[0];
        r->seconds += layer->seconds;
        r->quickest_s += layer->quickest_s;
    }
    ad_free(one);
    ad_free(times);
}

/* By the quickest rounds, as a slow one may be due to other programs. */
static bool is_noticeable(const struct report *r, const struct layer *layer)
{
    return layer->quickest_s >= NOTICEABLE * r->quickest_s;
}

/* How much of each layer only one thread could do. */
static void watch_layers(const struct report *r, struct ad_engine *engine)
{
    const struct ad_program *program = &r->network->plan->schedule.programs[0];
    int64_t shared = 0;
    double *all = network_room((size_t)r->graph->nops, sizeof *all);
    ad_pool_watch(&shared);
    for (int k = 0; k < WATCHED_ROUNDS; k++) {
        network_feed(r->network, engine);
        for (int i = 0; i < program->nsteps; i++) {
            int op = program->tasks[program->steps[i].first_task].op;
            int64_t begin, end, before = shared;
            network_step(engine, i);
            ad_engine_times(engine, i, &begin, &end);
            all[op] += (double)(end - begin);
            r->layers[op].alone += (double)(end - begin - (shared - before));
        }
    }
    ad_pool_watch(NULL);
    for (int i = 0; i < r->graph->nops; i++)
        r->layers[i].alone = all[i] > 0 ? fmax(0, r->layers[i].alone / all[i]) : 0;
    ad_free(all);
}

/* Processor time of all threads but this one. */
static int64_t others_cpu_ns(void)
{
    return process_cpu_ns() - ad_clock_thread_ns();
}

/* Waits until the threads of the pool sleep, as they do when they have been idle for some
 * milliseconds; returns others_cpu_ns(). That of a thread that runs is known only after the
 * kernel's next tick. */
static int64_t wait_for_sleep(void)
{
    const struct timespec ticks = {.tv_nsec = 12000000};
    int64_t now = others_cpu_ns();
    for (int quiet = 0, left = 100; quiet < QUIET_TIMES && left > 0; left--) {
        int64_t before = now;
        nanosleep(&ticks, NULL);
        now = others_cpu_ns();
        quiet = now - before <= AWAKE_NS ? quiet + 1 : 0;
    }
    return now;
}

/* What XNNPACK shares out wakes all threads of the pool, which then stay awake for some
 * milliseconds. When a layer wakes none of them, one thread computes it. */
static void watch_xnnpack(const struct report *r, struct ad_engine *engine)
{
    const struct ad_program *program = &r->network->plan->schedule.programs[0];
    network_feed(r->network, engine);
    for (int i = 0; i < program->nsteps; i++) {
        struct layer *layer = &r->layers[program->tasks[program->steps[i].first_task].op];
        bool look = layer->xnnpack && is_noticeable(r, layer);
        int64_t before = look ? wait_for_sleep() : 0;
        network_step(engine, i);
        if (look && wait_for_sleep() - before <= AWAKE_NS)
            layer->alone = 1;
    }
}

static void measure(struct report *r)
{
    int threads = r->network->threads;
    struct ad_engine *engine = network_engine(r->network, threads);
    time_rounds(r, engine, threads);
    if (threads > 1) {
        watch_layers(r, engine);
        watch_xnnpack(r, engine);
    }
    ad_engine_free(engine);
}

/* --- what layers are --- */

/* By which kernels the engine computes an op. */
static const char *kernels_of(const struct ad_graph *graph, const struct ad_op *op)
{
    if (ad_kernel_of(op->kind)->work == AD_WORK_COPY)
        return "copy";
    return ad_kernels_name(ad_task_choice(graph, op).kernels);
}

/* The kinds of the summary: of convolutions by window and groups, of functions by name. */
static void name_kind(const struct ad_graph *graph, const struct ad_op *op, char *out)
{
    const struct ad_operator *row = ad_operator_of(op->kind);
    enum ad_cost_class class = ad_cost_class_of(graph, op);
    const char *groups = class == AD_COST_GROUPED     ? " grouped"
                         : class == AD_COST_DEPTHWISE ? " depthwise"
                                                      : "";
    if (ad_op_is_conv(op))
        snprintf(out, KIND_TEXT, "%s %dx%d%s", row->short_name, op->window.kh, op->window.kw,
                 groups);
    else if (row->activation && op->function != AD_FN_NONE)
        snprintf(out, KIND_TEXT, "%s %s", row->short_name, ad_function_name(op->function));
    else
        snprintf(out, KIND_TEXT, "%s", row->short_name);
}

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

/* Operations that arithmetic takes at least: by Winograd's algorithm those of its products. */
static double least_flops(const struct ad_graph *graph, const struct ad_op *op)
{
    double flops = 2.0 * (double)ad_cost_macs(graph, op);
    if (op->winograd == 0)
        return flops;
    struct ad_winograd_shape s = ad_winograd_shape_of(graph, op);
    int tile = ad_winograd_tile(s.m, s.kh) * ad_winograd_tile(s.m, s.kw);
    return flops * ad_winograd_growth(&s) / tile;
}

static void describe(const struct report *r)
{
    const struct ad_program *program = &r->network->plan->schedule.programs[0];
    for (int i = 0; i < r->graph->nops; i++) {
        struct layer *layer = &r->layers[i];
        const struct ad_op *op = layer->op = &r->graph->ops[i];
        struct ad_shape shape = ad_shape_of(r->graph, op);
        ad_shape_format(&shape, layer->shape, sizeof layer->shape);
        name_kind(r->graph, op, layer->kind);
        layer->kernels = kernels_of(r->graph, op);
        layer->xnnpack = ad_task_choice(r->graph, op).kernels == AD_KERNELS_XNNPACK;
        layer->flops = 2.0 * (double)ad_cost_macs(r->graph, op);
        layer->bytes = bytes_of(r->graph, op);
        layer->least_s = least_flops(r->graph, op) / r->peak_flops;
        if (r->peak_bytes > 0)
            layer->least_s = fmax(layer->least_s, layer->bytes / r->peak_bytes);
    }
    for (int i = 0; i < program->nsteps; i++)
        for (int t = 1; t < program->steps[i].ntasks; t++)
            r->layers[program->tasks[program->steps[i].first_task + t].op].kernels =
                "with the conv";
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
    printf("\npeak, measured: %.1f GFLOP/s, %.1f GB/s from memory\n%-24s %-52s %-13s %9s %6s %8s "
           "%7s %6s\n",
           r->peak_flops / 1e9, r->peak_bytes / 1e9, "layer", "shape", "kernels", "ms", "% time",
           "GFLOP/s", "GB/s", "% peak");
    for (int i = 0; i < r->graph->nops; i++) {
        const struct layer *l = &r->layers[i];
        struct rates rates = rates_of(r, l->seconds, l->flops, l->bytes, l->least_s);
        flops += l->flops;
        printf("%-24.24s %-52.52s %-13s %9.4f %6.2f %8.1f %7.1f %6.1f\n", l->op->name, l->shape,
               l->kernels, l->seconds * 1e3, rates.percent, rates.gflops, rates.gbytes, rates.peak);
        if (tsv)
            fprintf(tsv, "%s\t%d\t%s\t%s\t%.6g\t%.4g\t%.4g\t%.4g\t%.3g\t%s\n", n->name, n->threads,
                    l->op->name, l->shape, l->seconds * 1e3, rates.percent, rates.gflops,
                    rates.gbytes, rates.peak, l->kernels);
    }
    struct rates all = rates_of(r, r->seconds, flops, 0, flops / r->peak_flops);
    printf("%-24s %-52s %-13s %9.4f %6.2f %8.1f %7s %6.1f\n", "all", "", "", r->seconds * 1e3,
           100.0, all.gflops, "", all.peak);
}

struct kind {
    const char *name, *kernels;
    int layers;
    double seconds, flops, bytes, least_s;
};

static int longer_first(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static struct kind *kind_of(struct kind *kinds, int *count, const struct layer *layer)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(kinds[i].name, layer->kind) == 0 &&
            strcmp(kinds[i].kernels, layer->kernels) == 0)
            return &kinds[i];
    kinds[*count] = (struct kind){.name = layer->kind, .kernels = layer->kernels};
    return &kinds[(*count)++];
}

/* A kind's share of the peak: what its layers would take at least, of what they take. */
static void print_kinds(const struct report *r)
{
    struct kind *kinds = network_room((size_t)r->graph->nops, sizeof *kinds);
    int count = 0;
    for (int i = 0; i < r->graph->nops; i++) {
        const struct layer *layer = &r->layers[i];
        struct kind *kind = kind_of(kinds, &count, layer);
        kind->layers++;
        if (layer->seconds == 0) /* of other layers' time, so its work is none of this time */
            continue;
        kind->seconds += layer->seconds;
        kind->flops += layer->flops;
        kind->bytes += layer->bytes;
        kind->least_s += layer->least_s;
    }
    qsort(kinds, (size_t)count, sizeof *kinds, longer_first);
    printf("\n%-24s %-13s %6s %9s %6s %8s %7s %6s\n", "kind of layer", "kernels", "layers", "ms",
           "% time", "GFLOP/s", "GB/s", "% peak");
    for (int i = 0; i < count; i++) {
        const struct kind *k = &kinds[i];
        struct rates rates = rates_of(r, k->seconds, k->flops, k->bytes, k->least_s);
        char gflops[16] = "-";
        if (k->flops > 0)
            snprintf(gflops, sizeof gflops, "%.1f", rates.gflops);
        printf("%-24s %-13s %6d %9.4f %6.2f %8s %7.1f %6.1f\n", k->name, k->kernels, k->layers,
               k->seconds * 1e3, rates.percent, gflops, rates.gbytes, rates.peak);
    }
    ad_free(kinds);
}

/* Layers of which only one thread computes most. */
static void print_alone(const struct report *r)
{
    int found = 0;
    for (int i = 0; i < r->graph->nops; i++) {
        const struct layer *l = &r->layers[i];
        if (l->alone <= MOSTLY || !is_noticeable(r, l))
            continue;
        if (found++ == 0)
            printf("\n%-24s %-52s %-13s %9s %6s %7s\n", "on one thread", "shape", "kernels", "ms",
                   "% time", "% of it");
        printf("%-24.24s %-52.52s %-13s %9.4f %6.2f %7.1f\n", l->op->name, l->shape, l->kernels,
               l->seconds * 1e3, 100 * l->seconds / r->seconds, 100 * l->alone);
    }
    if (found == 0)
        printf("\non one thread: no layer that takes %.0f %% of the time\n", 100 * NOTICEABLE);
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
    print_kinds(&r);
    if (n->threads > 1)
        print_alone(&r);
    putchar('\n');
    ad_free(r.layers);
}
