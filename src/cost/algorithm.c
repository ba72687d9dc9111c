#include "cost/algorithm.h"
#include "base/mem.h"
#include "cost/cost.h"
#include "ir/quantised.h"
#include "ir/winograd.h"

#include <math.h>

#define MATTERS 0.95     /* at most so much of the time by another choice: worth a search */
#define GAIN 0.9         /* at most so much of the direct time, since predictions are not exact */
#define MOST_INPUTS 4096 /* channels; the error grows with the root of them */

/* --- time --- */

/* Of a band of so many rows, or those of the tiles that it takes. */
static double seconds_by(const struct ad_graph *graph, struct ad_op *op, int m, int64_t rows,
                         const struct ad_device *device)
{
    const struct ad_box *in = &graph->values[op->inputs[0]].box;
    const struct ad_box *out = &graph->values[op->output].box;
    int64_t grid = ad_winograd_grid(m, op->window.kh, op->window.dh);
    rows = (rows + grid - 1) / grid * grid;
    rows = rows < out->h ? rows : out->h;
    op->winograd = m;
    struct ad_work work = ad_cost_work(graph, op, ad_box_elements(*out) / out->h * rows,
                                       ad_box_elements(*in) / out->h * rows, out->c);
    return ad_cost_seconds(device, &work);
}

/* Time by F(m x m, 3 x 3) relative to the direct time: the mean over the devices, and over bands of
 * the whole, the half, a quarter ... of the rows. Where bands are not much larger than a tile,
 * large tiles are computed twice. */
static double ratio(const struct ad_graph *graph, struct ad_op *op, int m,
                    const struct ad_cluster *cluster)
{
    int64_t height = graph->values[op->output].box.h;
    double sum = 0;
    int n = 0;
    for (int share = 1; share <= cluster->ndevices; share *= 2)
        for (int d = 0; d < cluster->ndevices; d++, n++) {
            int64_t rows = (height + share - 1) / share;
            double by = seconds_by(graph, op, m, rows, &cluster->devices[d]);
            sum += by / seconds_by(graph, op, 0, rows, &cluster->devices[d]);
        }
    return sum / n;
}

static bool may(const struct ad_graph *graph, const struct ad_op *op, int m)
{
    const struct ad_box *out = &graph->values[op->output].box;
    return !ad_op_is_quantised(graph, op) && ad_op_may_winograd(op, m, out->h, out->w);
}

static int quickest(const struct ad_graph *graph, struct ad_op *op,
                    const struct ad_cluster *cluster)
{
    int best = 0;
    double least = GAIN;
    if (!may(graph, op, 2) || graph->values[op->inputs[0]].box.c > MOST_INPUTS)
        return 0;
    for (int m = 2; m <= AD_WINOGRAD_LARGEST && may(graph, op, m); m += 2) {
        double its = ratio(graph, op, m, cluster);
        if (its < least) {
            least = its;
            best = m;
        }
    }
    return best;
}

/* --- memory --- */

static double weight_bytes(const struct ad_graph *graph, const struct ad_op *op, bool transformed)
{
    if (op->weight < 0)
        return 0;
    const struct ad_weight *w = &graph->weights[op->weight];
    double bytes = (double)w->rows * (double)w->row_elements * sizeof(float);
    if (!transformed || op->winograd == 0)
        return bytes;
    struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
    return bytes * ad_winograd_growth(&shape);
}

static double value_bytes(const struct ad_graph *graph, int value)
{
    return (double)ad_value_bytes(&graph->values[value]);
}

/* What an op has at once beside weights. */
static double working_bytes(const struct ad_graph *graph, const struct ad_op *op, int threads)
{
    double bytes = value_bytes(graph, op->output);
    size_t floats = 0;
    for (int k = 0; k < op->ninputs; k++)
        bytes += value_bytes(graph, op->inputs[k]);
    if (op->winograd != 0) {
        struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
        const struct ad_box *out = &graph->values[op->output].box;
        if (!ad_winograd_scratch(&shape, out->n, out->h, out->w, threads, &floats))
            return INFINITY;
    }
    return bytes + (double)floats * sizeof(float);
}

/* Whether the whole network fits a device. Bands of it have all its weights. */
static bool fits(const struct ad_graph *graph, const struct ad_device *device)
{
    double weights = 0, most = 0;
    for (int i = 0; i < graph->nops; i++) {
        weights += weight_bytes(graph, &graph->ops[i], true);
        most = fmax(most, working_bytes(graph, &graph->ops[i], device->threads));
    }
    return device->memory == 0 || weights + most <= (double)device->memory;
}

/* Makes the layer direct that takes most memory for what it saves; false when there is none. */
static bool drop_dearest(struct ad_graph *graph, const struct ad_cluster *cluster)
{
    struct ad_op *dearest = NULL;
    double most = 0;
    for (int i = 0; i < graph->nops; i++) {
        struct ad_op *op = &graph->ops[i];
        int m = op->winograd;
        if (m == 0)
            continue;
        double more = weight_bytes(graph, op, true) - weight_bytes(graph, op, false), saved = 0;
        int64_t rows = graph->values[op->output].box.h;
        for (int d = 0; d < cluster->ndevices; d++) {
            double by = seconds_by(graph, op, m, rows, &cluster->devices[d]);
            saved += seconds_by(graph, op, 0, rows, &cluster->devices[d]) - by;
        }
        op->winograd = m;
        if (!dearest || more / fmax(saved, 1e-9) > most) {
            dearest = op;
            most = more / fmax(saved, 1e-9);
        }
    }
    if (dearest)
        dearest->winograd = 0;
    return dearest != NULL;
}

void ad_algorithms_choose(struct ad_graph *graph, const struct ad_cluster *cluster)
{
    for (int i = 0; i < graph->nops; i++) {
        struct ad_op *op = &graph->ops[i];
        op->winograd = quickest(graph, op, cluster);
    }
    for (int d = 0; d < cluster->ndevices; d++)
        while (!fits(graph, &cluster->devices[d]) && drop_dearest(graph, cluster))
            continue;
}

/* --- for some of the devices --- */

/* What devices take together for all ops, each as much of an op as it is quick. */
static double seconds_together(struct ad_graph *graph, const struct ad_cluster *cluster,
                               const int *winograd)
{
    double sum = 0;
    for (int i = 0; i < graph->nops; i++) {
        double rate = 0;
        int64_t rows = graph->values[graph->ops[i].output].box.h;
        for (int d = 0; d < cluster->ndevices; d++) {
            double seconds =
                seconds_by(graph, &graph->ops[i], winograd[i], rows, &cluster->devices[d]);
            rate += seconds > 0 ? 1 / seconds : 0;
        }
        sum += rate > 0 ? 1 / rate : 0;
    }
    return sum;
}

static bool keep(struct ad_algorithm_choices *out, const struct ad_graph *graph)
{
    int *winograd = ad_calloc((size_t)graph->nops, sizeof *winograd);
    for (int i = 0; winograd && i < graph->nops; i++)
        winograd[i] = graph->ops[i].winograd;
    out->winograd[out->count] = winograd;
    out->count += winograd != NULL;
    return winograd != NULL;
}

/* Whether these devices take clearly less by the graph's choice than by each that is kept. */
static bool matters(const struct ad_algorithm_choices *kept, struct ad_graph *graph,
                    const struct ad_cluster *devices, int *scratch)
{
    bool better = true;
    for (int i = 0; i < graph->nops; i++)
        scratch[i] = graph->ops[i].winograd;
    double now = seconds_together(graph, devices, scratch);
    for (int c = 0; c < kept->count && better; c++)
        better = now < MATTERS * seconds_together(graph, devices, kept->winograd[c]);
    for (int i = 0; i < graph->nops; i++)
        graph->ops[i].winograd = scratch[i];
    return better;
}

/* Whether one more than so many devices are of another kind, or twice as many as a power of two. */
static bool ends_kind(const struct ad_device *devices, int n)
{
    return !ad_cost_same(&devices[n - 1], &devices[n]) ||
           devices[n - 1].memory != devices[n].memory || (n & (n - 1)) == 0;
}

enum adaps_status ad_algorithms_list(struct ad_graph *graph, const struct ad_cluster *cluster,
                                     struct ad_algorithm_choices *out, struct adaps_error *err)
{
    struct ad_cluster some = *cluster;
    int n = cluster->ndevices, *scratch = ad_calloc((size_t)graph->nops, sizeof *scratch);
    *out = (struct ad_algorithm_choices){.nops = graph->nops};
    some.devices = ad_calloc((size_t)n, sizeof *some.devices);
    bool room = scratch && some.devices;
    if (room) {
        int order[AD_MAX_DEVICES];
        ad_cost_order(cluster, ad_cost_main_class(graph), order);
        for (int d = 0; d < n; d++)
            some.devices[d] = cluster->devices[order[d]];
        ad_algorithms_choose(graph, cluster);
        room = keep(out, graph);
    }
    for (int k = n - 1; k >= 1 && room && out->count < AD_ALGORITHM_CHOICES; k--) {
        if (!ends_kind(some.devices, k))
            continue;
        some.ndevices = k;
        ad_algorithms_choose(graph, &some);
        if (matters(out, graph, &some, scratch))
            room = keep(out, graph);
    }
    if (room)
        ad_algorithms_take(out, 0, graph);
    ad_free(some.devices);
    ad_free(scratch);
    return room ? ADAPS_OK : ad_error_memory(err, "algorithms", (size_t)graph->nops);
}

void ad_algorithms_take(const struct ad_algorithm_choices *choices, int i, struct ad_graph *graph)
{
    for (int k = 0; k < choices->nops; k++)
        graph->ops[k].winograd = choices->winograd[i][k];
}

void ad_algorithms_fini(struct ad_algorithm_choices *choices)
{
    for (int c = 0; c < choices->count; c++)
        ad_free(choices->winograd[c]);
    choices->count = 0;
}

int ad_algorithms_all(struct ad_graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->nops; i++) {
        struct ad_op *op = &graph->ops[i];
        double least = INFINITY;
        int best = 0;
        for (int m = 2; m <= AD_WINOGRAD_LARGEST && may(graph, op, m); m += 2) {
            op->winograd = m;
            struct ad_shape shape = ad_shape_of(graph, op);
            double units = ad_shape_units(&shape);
            best = units < least ? m : best;
            least = fmin(least, units);
        }
        op->winograd = best;
        count += best != 0;
    }
    return count;
}
