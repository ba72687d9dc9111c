/* Timing operators on an agent, and the cost table that follows from it. */
#include "cli/profile_internal.h"
#include "base/stats.h"
#include "cost/algorithm.h"
#include "fusion/region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A network goes to the agent in chunks whose weights take at most this much. Of a layer with
 * larger weights only some output channels are timed. */
#define CHUNK_BYTES ((uint64_t)512 << 20)
#define LAYER_BYTES ((uint64_t)128 << 20)
/* And at most the free memory divided by this: an agent lends half of it, for the chunk's values,
 * too. A chunk holds three of the largest layers. */
#define CHUNK_SHARE 8
#define LAYER_SHARE 24

#define WINOGRAD_SHARE 0.25 /* of the time of a network */

/* Whole operators and bands, as shares of the rows; and how the time is shared among them. */
static const struct {
    double rows, budget;
} bands[] = {{1, 0.4}, {0.5, 0.2}, {0.25, 0.2}, {0.1, 0.2}};
#define BANDS (int)(sizeof bands / sizeof *bands)

void ad_profile_device_fini(struct ad_profile_device *device)
{
    ad_shapes_unref(device->made);
    ad_free(device->shapes);
    ad_free(device->models);
    memset(device, 0, sizeof *device);
}

/* --- what is timed --- */

static uint64_t weight_bytes(const struct ad_graph *graph, const struct ad_op *op)
{
    if (op->weight < 0)
        return 0;
    const struct ad_weight *w = &graph->weights[op->weight];
    return (uint64_t)w->rows * (uint64_t)w->row_elements * sizeof(float);
}

static uint64_t layer_limit(const struct ad_profile_device *device)
{
    uint64_t limit = device->status.memory_available / LAYER_SHARE;
    return limit < LAYER_BYTES ? limit : LAYER_BYTES;
}

/* Share of the output channels that are timed. */
static double channel_share(const struct ad_graph *graph, const struct ad_op *op, uint64_t limit)
{
    uint64_t bytes = weight_bytes(graph, op);
    int64_t channels = graph->values[op->output].box.c;
    if (bytes <= limit || op->groups > 1 || channels < 64)
        return 1;
    double rows = floor((double)channels * (double)limit / (double)bytes / 16) * 16;
    return fmax(rows, 16) / (double)channels;
}

/* The middle `share` of the rows of an op's output; empty when it cannot be less than the whole. */
static struct ad_region band(const struct ad_graph *graph, const struct ad_op *op, double share,
                             uint64_t limit)
{
    struct ad_region whole = ad_region_whole(&graph->values[op->output]), r = whole;
    int32_t rows = (int32_t)fmax(1, round(whole.h1 * share));
    r.c1 = (int32_t)round(whole.c1 * channel_share(graph, op, limit));
    if (share < 1) {
        r.h0 = (whole.h1 - rows) / 2;
        r.h1 = r.h0 + rows;
    }
    r = ad_region_allow(graph, op, r);
    return share < 1 && r.h1 - r.h0 == whole.h1 ? ad_region_none() : r;
}

/* Notes a time of an op's band. */
static enum adaps_status note(struct ad_profile_device *device, const struct ad_graph *graph,
                              const struct ad_task *task, double seconds, struct adaps_error *err)
{
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_shape shape = ad_shape_of(graph, op);
    int32_t rows = (task->region.h1 - task->region.h0) * shape.n;
    seconds *= (double)shape.oc / (task->region.c1 - task->region.c0);
    size_t i = 0;
    while (i < device->count && memcmp(&device->shapes[i].shape, &shape, sizeof shape) != 0)
        i++;
    if (i == device->count) {
        if (!ad_grow(&device->shapes, device->count, &device->room, sizeof *device->shapes))
            return ad_error_memory(err, "profile", device->count * sizeof *device->shapes);
        device->shapes[device->count++] = (struct ad_timed_shape){.shape = shape};
    }
    struct ad_timed_shape *s = &device->shapes[i];
    int k = 0;
    while (k < s->npoints && s->points[k].rows != rows)
        k++;
    if (k == AD_SHAPE_POINTS)
        return ADAPS_OK; /* there are enough */
    struct ad_timed_point *point = &s->points[k];
    if (k == s->npoints || (point->sample && !device->sampling))
        *point = (struct ad_timed_point){.rows = rows, .sample = device->sampling};
    if (k == s->npoints)
        s->npoints++;
    if (point->sample == device->sampling) {
        point->sum += fmax(seconds, AD_SHAPE_NO_TIME);
        point->count++;
    }
    return ADAPS_OK;
}

void ad_profile_end_turn(struct ad_profile_device *device)
{
    for (size_t i = 0; i < device->count; i++)
        for (int k = 0; k < device->shapes[i].npoints; k++) {
            struct ad_timed_point *point = &device->shapes[i].points[k];
            double seconds = point->count ? point->sum / point->count : INFINITY;
            point->seconds = point->seconds > 0 ? fmin(point->seconds, seconds) : seconds;
            point->sum = 0;
            point->count = 0;
        }
}

/* Times ops [first, end) in bands of `share`. */
static enum adaps_status time_band(struct ad_probe *probe, const struct ad_graph *graph, int first,
                                   int end, double share, double budget_s,
                                   struct ad_profile_device *device, struct ad_probe_times *times,
                                   struct adaps_error *err)
{
    size_t room = (size_t)(end - first);
    struct ad_task *tasks = ad_calloc(room, sizeof *tasks);
    double *seconds = ad_calloc(room, sizeof *seconds);
    enum adaps_status status =
        tasks && seconds ? ADAPS_OK : ad_error_memory(err, "profile", room * sizeof *tasks);
    int n = 0;
    for (int i = first; i < end && status == ADAPS_OK; i++) {
        struct ad_region region = band(graph, &graph->ops[i], share, layer_limit(device));
        if (device->winograd && graph->ops[i].winograd == 0)
            continue;
        if (ad_kind_has(graph->ops[i].kind, AD_FIELD_WHOLE))
            continue; /* what it takes depends on the numbers */
        if (!ad_region_empty(region))
            tasks[n++] = (struct ad_task){i, region};
    }
    *times = (struct ad_probe_times){.speed = 1};
    if (status == ADAPS_OK && n > 0)
        status =
            ad_probe_run(probe, graph, tasks, n, device->threads, budget_s, seconds, times, err);
    for (int i = 0; i < n && status == ADAPS_OK; i++)
        status = note(device, graph, &tasks[i], seconds[i], err);
    if (status == ADAPS_OK && n > 0) {
        device->speed = fmin(device->speed, times->speed);
        device->encoding = times->encoding;
    }
    ad_free(tasks);
    ad_free(seconds);
    return status;
}

/* Where the chunk that begins with op `first` ends. */
static int chunk_end(const struct ad_graph *graph, int first,
                     const struct ad_profile_device *device)
{
    uint64_t bytes = 0, limit = device->status.memory_available / CHUNK_SHARE;
    int i = first;
    limit = limit < CHUNK_BYTES ? limit : CHUNK_BYTES;
    for (; i < graph->nops; i++) {
        double share = channel_share(graph, &graph->ops[i], layer_limit(device));
        bytes += (uint64_t)((double)weight_bytes(graph, &graph->ops[i]) * share);
        if (bytes > limit && i > first)
            break;
    }
    return i;
}

static void note_ends(const struct ad_graph *graph, const int *values, int n, double seconds,
                      bool sample, struct ad_timed_ends *ends)
{
    if (sample && !ends->sample && ends->elements > 0) /* those of a network replace them */
        return;
    if (ends->sample && !sample)
        *ends = (struct ad_timed_ends){0};
    ends->elements += (double)ad_values_elements(graph, values, n);
    ends->seconds += seconds;
    ends->sample = sample;
}

/* A pass over all chunks, in all bands. */
static enum adaps_status time_ops(struct ad_probe *probe, const struct ad_graph *graph,
                                  double budget_s, struct ad_profile_device *device,
                                  struct ad_timed_model *model, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    int chunks = 0;
    for (int i = 0; i < graph->nops; i = chunk_end(graph, i, device))
        chunks++;
    for (int first = 0; first < graph->nops && status == ADAPS_OK;) {
        int end = chunk_end(graph, first, device);
        for (int p = 0; p < BANDS && status == ADAPS_OK; p++) {
            struct ad_probe_times times;
            status = time_band(probe, graph, first, end, bands[p].rows,
                               budget_s * bands[p].budget / chunks, device, &times, err);
            if (p > 0 || device->winograd || status != ADAPS_OK)
                continue;
            model->pass_s += times.pass_s;
            model->spread = fmax(model->spread, times.spread);
            model->feed_s = times.feed_s;
            model->fetch_s = times.fetch_s;
            model->passes = times.passes;
            note_ends(graph, graph->inputs, graph->ninputs, times.feed_s, device->sampling,
                      &device->inputs);
            note_ends(graph, graph->outputs, graph->noutputs, times.fetch_s, device->sampling,
                      &device->outputs);
        }
        first = end;
    }
    model->ops = graph->nops;
    return status;
}

/* The layers that Winograd's algorithm can compute, by it. Their plans are other ones: the graph
 * has the algorithm. */
static enum adaps_status time_winograd(struct ad_probe *probe, struct ad_graph *graph,
                                       double budget_s, struct ad_profile_device *device,
                                       struct adaps_error *err)
{
    struct ad_timed_model unused = {.name = "Winograd"};
    struct ad_op *ops = ad_calloc((size_t)graph->nops, sizeof *ops);
    enum adaps_status status = ADAPS_OK;
    if (!ops)
        return ad_error_memory(err, "profile", (size_t)graph->nops * sizeof *ops);
    memcpy(ops, graph->ops, (size_t)graph->nops * sizeof *ops);
    if (ad_algorithms_all(graph) > 0) {
        device->winograd = true;
        status = time_ops(probe, graph, budget_s, device, &unused, err);
        device->winograd = false;
    }
    memcpy(graph->ops, ops, (size_t)graph->nops * sizeof *ops);
    ad_free(ops);
    return status;
}

enum adaps_status ad_profile_model(struct ad_probe *probe, struct ad_graph *graph, double budget_s,
                                   struct ad_profile_device *device, struct ad_timed_model *model,
                                   struct adaps_error *err)
{
    enum adaps_status status =
        time_ops(probe, graph, budget_s * (1 - WINOGRAD_SHARE), device, model, err);
    return status == ADAPS_OK ? time_winograd(probe, graph, budget_s * WINOGRAD_SHARE, device, err)
                              : status;
}

/* --- tile, cold weights, slices --- */

static enum adaps_status run_tasks(struct ad_probe *probe, const char *const *shapes, int nshapes,
                                   const struct ad_task *tasks, int ntasks, int threads,
                                   double budget_s, double *seconds, struct adaps_error *err)
{
    struct ad_graph *graph;
    struct ad_probe_times times;
    enum adaps_status status = ad_profile_graph(shapes, nshapes, &graph, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_probe_run(probe, graph, tasks, ntasks, threads, budget_s, seconds, &times, err);
    ad_graph_free(graph);
    return status;
}

#define WIDEST 33

/* Finds the pixels of a tile: the width of steps that explains the times of 2, 3, ... pixels best.
 */
static enum adaps_status find_tile(struct ad_probe *probe, double budget_s,
                                   struct ad_profile_device *device, struct adaps_error *err)
{
    static const char *const shapes[] = {"conv 1x1 1x40x512 -> 1x40x64"};
    struct ad_task tasks[WIDEST];
    double seconds[WIDEST], best = INFINITY;
    for (int i = 0; i < WIDEST; i++)
        tasks[i] = (struct ad_task){0, {0, 1, 0, i + 2, 0, 64}};
    device->table.tile = 1;
    enum adaps_status status =
        run_tasks(probe, shapes, 1, tasks, WIDEST, device->threads, budget_s, seconds, err);
    if (status != ADAPS_OK || device->threads > 1) /* threads share tiles out */
        return status;
    for (int tile = 1; tile <= 16; tile++) { /* least squares of a + b * tiles */
        double n = WIDEST, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
        for (int i = 0; i < WIDEST; i++) {
            double x = (i + 2 + tile - 1) / tile, y = seconds[i];
            sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
        }
        double b = (n * sxy - sx * sy) / (n * sxx - sx * sx), a = (sy - b * sx) / n;
        double residual = syy - a * sy - b * sxy;
        if (residual < best * 0.8) { /* a larger step must explain clearly more */
            best = residual;
            device->table.tile = tile;
        }
    }
    return ADAPS_OK;
}

/* Times weights of 1 MB that were just used, and the same after 16 MB of others; and a layer with
 * 9.4 MB of weights in slices of its channels. */
static enum adaps_status find_slices(struct ad_probe *probe, double budget_s,
                                     struct ad_profile_device *device, struct adaps_error *err)
{
    static const char *const shapes[] = {"fc 1x1x4096 -> 1x1x1024", "conv 1x1 1x4x512 -> 1x4x512",
                                         "conv 3x3 14x14x512 -> 14x14x512"};
    static const int32_t widths[] = {512, 256, 128, 64, 32};
    struct ad_task tasks[8] = {
        {0, {0, 1, 0, 1, 0, 1024}}, {1, {0, 1, 0, 4, 0, 512}}, {1, {0, 1, 0, 4, 0, 512}}};
    double seconds[8];
    for (int i = 0; i < 5; i++)
        tasks[3 + i] = (struct ad_task){2, {0, 14, 0, 14, 0, widths[i]}};
    enum adaps_status status =
        run_tasks(probe, shapes, 3, tasks, 8, device->threads, budget_s, seconds, err);
    if (status != ADAPS_OK)
        return status;
    if (seconds[1] > seconds[2] * 1.05)
        device->cold_bw = 512.0 * 512 * sizeof(float) / (seconds[1] - seconds[2]);
    double best = INFINITY;
    for (int i = 0; i < 5; i++)
        best = fmin(best, seconds[3 + i] / widths[i]);
    for (int i = 4; i >= 0; i--)
        if (seconds[3 + i] / widths[i] <= best * 1.05)
            device->slice_bytes = 9.0 * 512 * sizeof(float) * widths[i];
    return ADAPS_OK;
}

enum adaps_status ad_profile_caches(struct ad_probe *probe, double budget_s,
                                    struct ad_profile_device *device, struct adaps_error *err)
{
    enum adaps_status status = find_tile(probe, budget_s / 2, device, err);
    return status == ADAPS_OK ? find_slices(probe, budget_s / 2, device, err) : status;
}

enum adaps_status ad_profile_classes(struct ad_probe *probe, double budget_s,
                                     struct ad_profile_device *device, struct adaps_error *err)
{
    struct ad_timed_model unused = {.name = "samples"};
    struct ad_graph *graph;
    int count = 0;
    while (ad_profile_samples[count])
        count++;
    enum adaps_status status = ad_profile_graph(ad_profile_samples, count, &graph, err);
    if (status != ADAPS_OK)
        return status;
    device->sampling = true;
    status = ad_profile_model(probe, graph, budget_s, device, &unused, err);
    device->sampling = false;
    ad_graph_free(graph);
    return status;
}

/* --- the table --- */

static int by_rows(const void *a, const void *b)
{
    return ((const struct ad_shape_point *)a)->rows - ((const struct ad_shape_point *)b)->rows;
}

static struct ad_shape_time time_of(const struct ad_timed_shape *s)
{
    struct ad_shape_time t = {.shape = s->shape, .npoints = s->npoints};
    for (int i = 0; i < s->npoints; i++)
        t.points[i] = (struct ad_shape_point){s->points[i].rows, s->points[i].seconds};
    qsort(t.points, (size_t)t.npoints, sizeof *t.points, by_rows);
    return t;
}

static double whole_seconds(const struct ad_timed_shape *s)
{
    struct ad_shape_time t = time_of(s);
    return t.points[t.npoints - 1].seconds;
}

static enum adaps_status make_shapes(const struct ad_profile_device *device, size_t without,
                                     struct ad_shapes **out, struct adaps_error *err)
{
    struct ad_shapes *shapes = ad_shapes_new();
    enum adaps_status status =
        shapes ? ADAPS_OK : ad_error_memory(err, "shapes", device->count * sizeof *device->shapes);
    for (size_t i = 0; i < device->count && status == ADAPS_OK; i++) {
        struct ad_shape_time t = time_of(&device->shapes[i]);
        if (i != without)
            status = ad_shapes_add(shapes, &t, err);
    }
    if (status == ADAPS_OK)
        status = ad_shapes_finish(shapes, err);
    if (status == ADAPS_OK)
        *out = shapes;
    else
        ad_shapes_unref(shapes);
    return status;
}

/* How far each shape's time is from what the others of its class predict. */
static enum adaps_status find_residuals(struct ad_profile_device *device, struct adaps_error *err)
{
    double *errors = ad_calloc(device->count, sizeof *errors);
    if (!errors)
        return ad_error_memory(err, "profile", device->count * sizeof *errors);
    enum adaps_status status = ADAPS_OK;
    for (int class = 0; class < AD_COST_CLASSES && status == ADAPS_OK; class ++) {
        size_t n = 0;
        device->samples[class] = 0;
        for (size_t i = 0; i < device->count && status == ADAPS_OK; i++) {
            const struct ad_shape *s = &device->shapes[i].shape;
            struct ad_shapes *others = NULL;
            if ((int)ad_shape_class(s) != class)
                continue;
            device->samples[class]++;
            if (ad_function_follows(s->kind, (enum ad_function)s->function))
                continue;
            status = make_shapes(device, i, &others, err);
            if (status != ADAPS_OK)
                break;
            bool exact;
            struct ad_shape_part whole = {(double)s->n * s->oh * s->ow, s->oc};
            double guess = ad_shapes_seconds(others, s, whole, device->table.constant_s,
                                             device->table.tile, &exact);
            if (guess > 0)
                errors[n++] = fabs(guess / whole_seconds(&device->shapes[i]) - 1);
            ad_shapes_unref(others);
        }
        device->residual[class] = n ? ad_stats_median(errors, n) : 0;
    }
    ad_free(errors);
    return status;
}

enum adaps_status ad_profile_table(struct ad_profile_device *device, struct adaps_error *err)
{
    struct ad_cost_table *table = &device->table;
    double units[AD_COST_CLASSES] = {0}, seconds[AD_COST_CLASSES] = {0}, bytes = 0, copying = 0;
    table->constant_s = 1;
    for (size_t i = 0; i < device->count; i++)
        for (int k = 0; k < device->shapes[i].npoints; k++)
            table->constant_s = fmin(table->constant_s, device->shapes[i].points[k].seconds);
    for (size_t i = 0; i < device->count; i++) {
        const struct ad_shape *s = &device->shapes[i].shape;
        double t = whole_seconds(&device->shapes[i]) - table->constant_s;
        if (t <= 0)
            continue;
        units[ad_shape_class(s)] += ad_shape_units(s);
        seconds[ad_shape_class(s)] += t;
        if (ad_operator_of(s->kind)->activation && s->function == AD_FN_NONE) { /* a copy */
            bytes += 8 * ad_shape_units(s);
            copying += t;
        }
    }
    for (int class = 0; class < AD_COST_CLASSES; class ++)
        if (units[class] > 0)
            table->rate[class] = units[class] / seconds[class];
    if (bytes > 0)
        table->memory_bw = bytes / copying;
    if (device->inputs.seconds > 0)
        table->feed_rate = device->inputs.elements / device->inputs.seconds;
    if (device->outputs.seconds > 0)
        table->fetch_rate = device->outputs.elements / device->outputs.seconds;
    table->encoding = device->encoding;
    snprintf(table->source, sizeof table->source,
             "measured %.20s by adaps profile, %.50s, %d thread%s", device->when,
             device->status.cpu[0] ? device->status.cpu : device->status.machine, device->threads,
             device->threads == 1 ? "" : "s");
    enum adaps_status status = find_residuals(device, err);
    if (status == ADAPS_OK)
        status = make_shapes(device, device->count, &device->made, err);
    table->shapes = device->made;
    return status;
}
