/* Steps 1 and 2 of the bound. */
#include "search/bound/work.h"
#include "fusion/rules.h"
#include "search/bound/bound.h"

#include <math.h>
#include <string.h>

struct ad_reads ad_bound_reads(const struct ad_bound_work *w, const struct ad_op *op, int k)
{
    if (w->unknown & AD_BOUND_KIND(op->kind))
        return (struct ad_reads){{AD_READS_ANY, AD_READS_ANY, AD_READS_ANY}};
    return ad_op_reads(w->problem->graph, op, k);
}

bool ad_bound_is_whole(const struct ad_bound_work *w, const struct ad_op *op)
{
    return !(w->unknown & AD_BOUND_KIND(op->kind)) && !ad_op_splits(w->problem->graph, op);
}

/* x to the power of 0, 1/16, -1/16, 1/8, -1/8, 1/4 or -1/4. Square roots are the same everywhere.
 */
static double tilted(double x, int tilt)
{
    static const int roots[] = {0, 4, 4, 3, 3, 2, 2};
    if (tilt == 0)
        return 1;
    for (int i = 0; i < roots[tilt]; i++)
        x = sqrt(x);
    return tilt % 2 ? x : 1 / x;
}

void ad_bound_weights(const struct ad_bound_work *w, int first, int end, int tilt, double *y)
{
    double total[AD_MAX_DEVICES] = {0}, unit = 0x1p20;
    for (int i = first; i < end; i++)
        for (int d = 0; d < w->n; d++)
            total[d] += w->a[(size_t)i * (size_t)w->n + (size_t)d];
    double source = total[w->problem->cluster->source];
    for (int d = 0; d < w->n; d++) {
        double ratio = source > 0 && total[d] > 0 ? source / total[d] : 1;
        double weight = fmax(1 / unit, fmin(unit, ratio * tilted(ratio, tilt)));
        y[d] = floor(weight * unit) / unit;
    }
}

static void mark_whole(struct ad_bound_work *w, int value)
{
    const struct ad_box *box = &w->problem->graph->values[value].box;
    for (int axis = 0; axis < AD_ALONG; axis++)
        memset(w->read[value].along[axis], 1, (size_t)ad_box_along(box, axis));
    w->pixels[value] = box->h * box->w;
    w->depth[value] = box->c;
}

static bool same_marks(const struct ad_marks *a, const struct ad_marks *b, const struct ad_box *box,
                       int axis)
{
    return memcmp(a->along[axis], b->along[axis], (size_t)ad_box_along(box, axis)) == 0;
}

/* Step 1, for an input of an op whose output's marks are final. */
static void mark_input(struct ad_bound_work *w, const struct ad_op *op, int k)
{
    const struct ad_graph *graph = w->problem->graph;
    int v = op->inputs[k];
    const struct ad_box *box = &graph->values[v].box;
    struct ad_marks *read = &w->read[v];
    struct ad_reads reads = ad_bound_reads(w, op, k);
    ad_reads_mark(graph, op, k, &reads, &w->read[op->output], &w->marks);
    uint8_t *channels = w->marks.along[AD_ALONG_C];
    int64_t pixels = ad_marks_count(w->marks.along[AD_ALONG_H], box->h) *
                     ad_marks_count(w->marks.along[AD_ALONG_W], box->w);
    bool same = pixels == w->pixels[v] && same_marks(&w->marks, read, box, AD_ALONG_H) &&
                same_marks(&w->marks, read, box, AD_ALONG_W);
    for (int64_t c = 0; same && c < box->c; c++)
        channels[c] |= read->along[AD_ALONG_C][c];
    int64_t depth = ad_marks_count(channels, box->c);
    if (pixels * depth <= w->pixels[v] * w->depth[v])
        return;
    for (int axis = 0; axis < AD_ALONG; axis++)
        memcpy(read->along[axis], w->marks.along[axis], (size_t)ad_box_along(box, axis));
    w->pixels[v] = pixels;
    w->depth[v] = depth;
}

static void fill_times(struct ad_bound_work *w, int i)
{
    const struct ad_graph *graph = w->problem->graph;
    const struct ad_op *op = &graph->ops[i];
    const struct ad_marks *read = &w->read[op->output];
    if (w->pixels[op->output] > 0 && ad_bound_is_whole(w, op))
        mark_whole(w, op->output); /* a part costs as much */
    int64_t depth = w->depth[op->output], in = 0;
    int64_t out = graph->values[op->output].box.n * depth * w->pixels[op->output];
    if (out == 0)
        return; /* nobody needs it */
    for (int k = 0; k < op->ninputs; k++) {
        struct ad_reads reads = ad_bound_reads(w, op, k);
        in += ad_reads_least(graph, op, k, &reads, read);
    }
    struct ad_work work = ad_cost_work(graph, op, out, in, op->weight >= 0 ? depth : 0);
    for (int d = 0; d < w->n; d++)
        w->a[(size_t)i * (size_t)w->n + (size_t)d] =
            fmin(ad_cost_seconds(&w->problem->cluster->devices[d], &work), AD_BOUND_MOST_SECONDS);
}

static void mark_and_time(struct ad_bound_work *w)
{
    const struct ad_graph *graph = w->problem->graph;
    for (int i = 0; i < graph->noutputs; i++)
        mark_whole(w, graph->outputs[i]);
    for (int i = graph->nops - 1; i >= 0; i--) {
        const struct ad_op *op = &graph->ops[i];
        fill_times(w, i);
        for (int k = 0; k < op->ninputs && w->pixels[op->output] > 0; k++)
            if (graph->values[op->inputs[k]].constant < 0)
                mark_input(w, op, k);
    }
}

/* Whether some part of the op's output may be computed without any operand that is computed. */
static bool op_starts_freely(const struct ad_bound_work *w, const struct ad_op *op)
{
    const struct ad_graph *graph = w->problem->graph;
    bool waits = false, constants = false, stretches = false;
    for (int k = 0; k < op->ninputs; k++) {
        struct ad_reads reads = ad_bound_reads(w, op, k);
        if (graph->values[op->inputs[k]].constant >= 0) {
            constants = true;
            continue;
        }
        waits = true;
        stretches |= reads.along[AD_ALONG_C] == AD_READS_STRETCH;
        if (!ad_reads_known(&reads) ||
            ad_region_empty(ad_need(graph, op, k, ad_region_whole(&graph->values[op->output]))))
            return true;
    }
    return !waits || (constants && stretches);
}

static bool starts_freely(const struct ad_bound_work *w)
{
    for (int i = 0; i < w->problem->graph->nops; i++)
        if (op_starts_freely(w, &w->problem->graph->ops[i]))
            return true;
    return false;
}

/* Every reader of op i's output needs all of it for any part of its own. */
static bool all_wait(const struct ad_bound_work *w, int i)
{
    const struct ad_graph *graph = w->problem->graph;
    int value = graph->ops[i].output, readers = 0;
    for (int r = i + 1; r < graph->nops; r++)
        for (int k = 0; k < graph->ops[r].ninputs; k++)
            if (graph->ops[r].inputs[k] == value) {
                struct ad_reads reads = ad_bound_reads(w, &graph->ops[r], k);
                if (!ad_reads_whole(&reads))
                    return false;
                readers++;
            }
    return readers > 0 && !ad_value_is_output(graph, value);
}

/* Step 2. */
static enum adaps_status find_segments(struct ad_bound_work *w, struct adaps_error *err)
{
    const struct ad_graph *graph = w->problem->graph;
    bool *cut = ad_calloc((size_t)graph->nops, sizeof *cut);
    if (!cut)
        return ad_error_memory(err, "lower bound", (size_t)graph->nops);
    ad_blocks_cuts(graph, cut);
    for (int i = 0; i < graph->nops; i++)
        if (i + 1 == graph->nops || (cut[i] && all_wait(w, i)))
            w->end[w->nsegments++] = i + 1;
    ad_free(cut);
    return ADAPS_OK;
}

/* Latency of the quickest chain of messages from the source (forward), or to it. */
static void latencies(const struct ad_cluster *cluster, bool forward, double *out)
{
    int n = cluster->ndevices;
    for (int d = 0; d < n; d++)
        out[d] = d == cluster->source ? 0 : INFINITY;
    for (int round = 0; round < n; round++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) {
                const struct ad_link *link = &cluster->links[forward ? i * n + k : k * n + i];
                if (i != k && out[i] + link->latency < out[k])
                    out[k] = out[i] + link->latency;
            }
}

static struct ad_marks place_marks(uint8_t **at, const struct ad_box *box)
{
    struct ad_marks marks;
    for (int axis = 0; axis < AD_ALONG; axis++) {
        marks.along[axis] = *at;
        *at += ad_box_along(box, axis);
    }
    return marks;
}

static bool make_room(struct ad_bound_work *w)
{
    const struct ad_graph *graph = w->problem->graph;
    size_t bytes = 0, nops = (size_t)graph->nops, nvalues = (size_t)graph->nvalues;
    struct ad_box largest = {0};
    for (int v = 0; v < graph->nvalues; v++) {
        const struct ad_box *box = &graph->values[v].box;
        largest.h = box->h > largest.h ? box->h : largest.h;
        largest.w = box->w > largest.w ? box->w : largest.w;
        largest.c = box->c > largest.c ? box->c : largest.c;
        bytes += (size_t)(box->h + box->w + box->c);
    }
    bytes += (size_t)(largest.h + largest.w + largest.c);
    w->bytes = ad_calloc(bytes, 1);
    w->read = ad_calloc(nvalues, sizeof *w->read);
    w->pixels = ad_calloc(nvalues, sizeof *w->pixels);
    w->depth = ad_calloc(nvalues, sizeof *w->depth);
    w->a = ad_calloc(nops * (size_t)w->n, sizeof *w->a);
    w->end = ad_calloc(nops, sizeof *w->end);
    if (!w->bytes || !w->read || !w->pixels || !w->depth || !w->a || !w->end)
        return false;
    uint8_t *at = w->bytes;
    w->marks = place_marks(&at, &largest);
    for (int v = 0; v < graph->nvalues; v++)
        w->read[v] = place_marks(&at, &graph->values[v].box);
    return true;
}

enum adaps_status ad_bound_work_init(struct ad_bound_work *out,
                                     const struct ad_search_problem *problem, uint64_t unknown,
                                     struct adaps_error *err)
{
    const struct ad_graph *graph = problem->graph;
    *out = (struct ad_bound_work){
        .problem = problem, .unknown = unknown, .n = problem->cluster->ndevices};
    if (!make_room(out))
        return ad_error_memory(err, "lower bound", (size_t)graph->nops * (size_t)out->n);
    enum adaps_status status = find_segments(out, err);
    if (status != ADAPS_OK)
        return status;
    mark_and_time(out);
    latencies(problem->cluster, false, out->from);
    out->starts_freely = starts_freely(out);
    if (!out->starts_freely) {
        latencies(problem->cluster, true, out->to);
    } else if (out->nsegments > 1) { /* a later segment need not wait for an earlier one */
        out->end[0] = graph->nops;
        out->nsegments = 1;
    }
    return ADAPS_OK;
}

void ad_bound_work_fini(struct ad_bound_work *work)
{
    ad_free(work->bytes);
    ad_free(work->read);
    ad_free(work->pixels);
    ad_free(work->depth);
    ad_free(work->a);
    ad_free(work->end);
    *work = (struct ad_bound_work){0};
}
