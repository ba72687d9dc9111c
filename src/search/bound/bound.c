/* The bound, in four steps.
 *
 * 1. What must be computed: from the network's outputs backwards, the rows and columns that are
 *    really read (a stride of 2 with one tap leaves every second row unread). Of several readers of
 *    a value the one that reads most counts (of several that read the same pixels, all: the parts
 *    of a Split).
 * 2. Segments: behind an op where all paths meet, whose readers need all of it for any part of
 *    theirs, everything after starts when everything before has ended, on whatever devices. The
 *    segments' bounds add up.
 * 3. In a segment op i takes a[i][d] seconds on device d, a share of it at least that share (the
 *    rate, the constant, the bytes of outputs and weights are all no better for a part). Device d
 *    can only work from when the input can have reached it until when its result can still reach
 *    the source: w[d] seconds are lost. Weak duality of the linear programme "share out all ops,
 *    minimise the latest end": for any weights y >= 0 on a set of devices,
 *
 *      T >= (sum over i of min over d of y[d] a[i][d]  +  sum over d of y[d] w[d]) / sum of y
 *
 *    Devices with w[d] > T cannot help, so the sets {d : w[d] <= limit} are tried from the smallest
 *    limit on; the bound is the smallest of max(T(set), limit). That is done within each segment
 *    (the first waits for the input, the last for the result), and around all of them with the way
 *    there and back. The y are improved by multiplicative steps; every y is valid, so their quality
 *    affects the bound's height only.
 * 4. The same over the whole network with the source's links as further machines: what the others
 *    compute needs bytes from the source, and their results come back (bound_links.c). The larger
 *    one of both is the bound. */
#include "search/bound/bound.h"
#include "search/bound/bound_links.h"
#include "fusion/resample.h"
#include "fusion/rules.h"

#include <math.h>
#include <string.h>

#define LEVELS 8

int64_t ad_bound_count(const uint8_t *marks, int64_t size)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += marks[i];
    return sum;
}

static void mark_axis(const struct ad_axis *axis, const uint8_t *out, uint8_t *in)
{
    memset(in, 0, (size_t)axis->size);
    for (int64_t o = 0; o < axis->outputs; o++)
        for (int64_t j = 0; out[o] && j < axis->taps; j++) {
            int64_t at = o * axis->stride - axis->pad + j * axis->dilation;
            if (at >= 0 && at < axis->size)
                in[at] = 1;
        }
}

/* Which rows (or columns) of an input are read for the marked ones of the output. */
static void mark_input(const struct ad_graph *graph, const struct ad_op *op, int value, bool row,
                       const uint8_t *out, uint8_t *in)
{
    const struct ad_box *box = &graph->values[value].box, *to = &graph->values[op->output].box;
    int64_t size = row ? box->h : box->w, outputs = row ? to->h : to->w;
    if (ad_op_has_window(op)) {
        struct ad_axis axis = row ? ad_axis_h(graph, op) : ad_axis_w(graph, op);
        mark_axis(&axis, out, in);
    } else if (op->kind == AD_OP_RESAMPLE) {
        memset(in, 0, (size_t)size);
        for (int64_t i = 0; i < outputs; i++) {
            int64_t lo = i, hi = i + 1;
            if (out[i] &&
                ad_resample_need(&op->resampling, row ? AD_ALONG_H : AD_ALONG_W, size, &lo, &hi))
                memset(in + lo, 1, (size_t)(hi - lo));
        }
    } else if (op->kind == AD_OP_DEPTH_TO_SPACE) {
        int32_t block = row ? op->window.sh : op->window.sw;
        int32_t crop = row ? op->window.pt : op->window.pl;
        memset(in, 0, (size_t)size);
        for (int64_t i = 0; i < outputs; i++)
            in[(i + crop) / block] |= out[i];
    } else if (op->kind == AD_OP_SPACE_TO_DEPTH) {
        for (int64_t i = 0; i < size; i++)
            in[i] = out[i / op->block];
    } else if (ad_op_splits(graph, op) && op->kind != AD_OP_GAP && op->kind != AD_OP_FC &&
               size == outputs) {
        memcpy(in, out, (size_t)size);
    } else {
        memset(in, 1, (size_t)size);
    }
}

/* The first marked place whose block of pixels has it at `phase`; -1: there is none. */
static int32_t first_at(const uint8_t *marks, int64_t size, int32_t crop, int32_t block,
                        int32_t phase)
{
    for (int64_t i = 0; i < size; i++)
        if (marks[i] && (i + crop) % block == phase)
            return (int32_t)i;
    return -1;
}

/* Of depth-to-space: every pixel of a block comes from channels of its own. out: NULL, all. */
static void mark_spread(const struct ad_bound_work *w, const struct ad_op *op, const uint8_t *out,
                        uint8_t *in)
{
    const struct ad_graph *graph = w->problem->graph;
    const struct ad_window *window = &op->window;
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    for (int32_t py = 0; py < window->sh; py++) {
        int32_t y = first_at(w->rows[op->output], whole.h1, window->pt, window->sh, py);
        for (int32_t px = 0; y >= 0 && px < window->sw; px++) {
            int32_t x = first_at(w->columns[op->output], whole.w1, window->pl, window->sw, px);
            for (int32_t c = 0; x >= 0 && c < whole.c1; c++) {
                struct ad_region one = {y, y + 1, x, x + 1, c, c + 1};
                if (!out || out[c])
                    in[ad_need(graph, op, 0, one).c0] = 1;
            }
        }
    }
}

/* Which channels of an operand are read for the marked ones of the output. */
static void mark_channels(const struct ad_bound_work *w, const struct ad_op *op, int value,
                          uint8_t *in)
{
    const struct ad_graph *graph = w->problem->graph;
    struct ad_region whole = ad_region_whole(&graph->values[op->output]), read;
    int64_t size = graph->values[value].box.c;
    const uint8_t *out = w->channels[op->output];
    bool all = !out || w->depth[op->output] == whole.c1;
    if (op->kind == AD_OP_DEPTH_TO_SPACE) {
        memset(in, 0, (size_t)size);
        mark_spread(w, op, out, in);
        return;
    }
    memset(in, all && op->kind != AD_OP_RESAMPLE ? 1 : 0, (size_t)size);
    if (all && op->kind != AD_OP_RESAMPLE)
        return;
    for (int k = 0; k < op->ninputs; k++)
        for (int32_t c = 0; c < whole.c1 && op->inputs[k] == value; c++) {
            struct ad_region one = whole;
            one.c0 = c;
            one.c1 = c + 1;
            if (out && !out[c])
                continue;
            read = ad_need(graph, op, k, one);
            for (int32_t i = read.c0; i < read.c1; i++)
                in[i] = 1;
        }
}

static void mark_whole(struct ad_bound_work *w, int value)
{
    const struct ad_box *box = &w->problem->graph->values[value].box;
    memset(w->rows[value], 1, (size_t)box->h);
    memset(w->columns[value], 1, (size_t)box->w);
    w->pixels[value] = box->h * box->w;
    w->depth[value] = box->c;
    if (w->channels[value])
        memset(w->channels[value], 1, (size_t)box->c);
}

void ad_bound_mark(const struct ad_bound_work *w, const struct ad_op *op, int value)
{
    const struct ad_graph *graph = w->problem->graph;
    uint8_t *columns = w->marks + graph->values[value].box.h;
    mark_input(graph, op, value, true, w->rows[op->output], w->marks);
    mark_input(graph, op, value, false, w->columns[op->output], columns);
    if (w->channels[value])
        mark_channels(w, op, value, columns + graph->values[value].box.w);
}

/* Step 1, for the inputs of an op whose output's marks are final. */
static void mark_inputs(struct ad_bound_work *w, const struct ad_op *op)
{
    const struct ad_graph *graph = w->problem->graph;
    for (int k = 0; k < op->ninputs && w->pixels[op->output] > 0; k++) {
        int v = op->inputs[k];
        const struct ad_box *box = &graph->values[v].box;
        uint8_t *rows = w->marks, *columns = rows + box->h, *channels = columns + box->w;
        if (graph->values[v].constant >= 0)
            continue;
        ad_bound_mark(w, op, v);
        int64_t pixels = ad_bound_count(rows, box->h) * ad_bound_count(columns, box->w);
        bool same = pixels == w->pixels[v] && memcmp(rows, w->rows[v], (size_t)box->h) == 0 &&
                    memcmp(columns, w->columns[v], (size_t)box->w) == 0;
        for (int64_t c = 0; same && w->channels[v] && c < box->c; c++)
            channels[c] |= w->channels[v][c];
        int64_t depth = w->channels[v] ? ad_bound_count(channels, box->c) : box->c;
        if (pixels * depth <= w->pixels[v] * w->depth[v])
            continue;
        if (w->channels[v])
            memcpy(w->channels[v], channels, (size_t)box->c);
        w->depth[v] = depth;
        memcpy(w->rows[v], rows, (size_t)box->h);
        memcpy(w->columns[v], columns, (size_t)box->w);
        w->pixels[v] = pixels;
    }
}

/* Input elements that grow with the share of the output that is computed. */
static int64_t shared_inputs(const struct ad_graph *graph, const struct ad_op *op, int64_t out)
{
    const struct ad_value *first = &graph->values[op->inputs[0]];
    int64_t whole = ad_region_elements(ad_region_whole(&graph->values[op->output]));
    int64_t operands = 0;
    switch (op->kind) {
    case AD_OP_REDUCE:
        return first->format == AD_NHWC ? out * first->box.c : op->outer * op->inner;
    case AD_OP_GAP:
    case AD_OP_FC:
        return first->box.n * ad_region_elements(ad_region_whole(first));
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_value *v = &graph->values[op->inputs[k]];
            operands += ad_region_elements(ad_region_whole(v)) == whole &&
                        v->box.n == graph->values[op->output].box.n;
        }
        return operands * out;
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
    case AD_OP_RESAMPLE:
        return 0; /* a part at the edge may read little */
    default:
        return out;
    }
}

static void fill_times(struct ad_bound_work *w, int i)
{
    const struct ad_graph *graph = w->problem->graph;
    const struct ad_op *op = &graph->ops[i];
    const struct ad_box *box = &graph->values[op->output].box;
    if (w->pixels[op->output] > 0 && !ad_op_splits(graph, op))
        mark_whole(w, op->output); /* a part costs as much */
    int64_t depth = w->depth[op->output], out = box->n * depth * w->pixels[op->output];
    int64_t rows = op->weight >= 0 ? depth : 0;
    if (out == 0)
        return; /* nobody needs it */
    int64_t in = shared_inputs(graph, op, out);
    if (op->kind == AD_OP_GAP)
        in = in / box->c * depth;
    struct ad_work work = ad_cost_work(graph, op, out, in, rows);
    for (int d = 0; d < w->n; d++)
        w->a[(size_t)i * (size_t)w->n + (size_t)d] =
            fmin(ad_cost_seconds(&w->problem->cluster->devices[d], &work), AD_BOUND_MOST_SECONDS);
}

/* Whether something may be computed without waiting for the network's input. */
static bool starts_freely(const struct ad_graph *graph)
{
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        int constants = 0;
        for (int k = 0; k < op->ninputs; k++) {
            bool constant = graph->values[op->inputs[k]].constant >= 0;
            constants += constant;
            if (!constant &&
                ad_region_empty(ad_need(graph, op, k, ad_region_whole(&graph->values[op->output]))))
                return true;
        }
        if (constants == op->ninputs || (constants > 0 && op->kind == AD_OP_CONCAT))
            return true;
    }
    return false;
}

/* Every reader of op i's output needs all of it for any part of its own. */
static bool all_wait(const struct ad_graph *graph, int i)
{
    int value = graph->ops[i].output, readers = 0;
    for (int k = i + 1; k < graph->nops; k++)
        for (int j = 0; j < graph->ops[k].ninputs; j++)
            if (graph->ops[k].inputs[j] == value) {
                if (graph->ops[k].kind != AD_OP_FC && ad_op_splits(graph, &graph->ops[k]))
                    return false;
                readers++;
            }
    for (int o = 0; o < graph->noutputs; o++)
        if (graph->outputs[o] == value)
            return false;
    return readers > 0;
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
        if (i + 1 == graph->nops || (cut[i] && all_wait(graph, i)))
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

/* The dual value at y over the devices with use[d]; loads under it into load. */
static double dual(const struct ad_bound_work *w, int first, int end, const bool *use,
                   const double *lost, const double *y, double *load)
{
    double sum = 0, weights = 0;
    for (int d = 0; d < w->n; d++) {
        load[d] = use[d] ? lost[d] : 0;
        sum += use[d] ? y[d] * lost[d] : 0;
        weights += use[d] ? y[d] : 0;
    }
    for (int i = first; i < end; i++) {
        const double *a = &w->a[(size_t)i * (size_t)w->n];
        double least = INFINITY;
        int ties = 0;
        for (int d = 0; d < w->n; d++)
            least = use[d] ? fmin(least, y[d] * a[d]) : least;
        for (int d = 0; d < w->n; d++)
            ties += use[d] && y[d] * a[d] <= least * (1 + 1e-9);
        for (int d = 0; d < w->n && ties > 0; d++)
            if (use[d] && y[d] * a[d] <= least * (1 + 1e-9))
                load[d] += a[d] / ties;
        sum += least;
    }
    return sum / weights;
}

/* T over a set of devices: the best dual value found, and ops that one device computes alone. good,
 * if not NULL: the weights of that value. */
static double bound_of_set(const struct ad_bound_work *w, int first, int end, const bool *use,
                           const double *lost, double *good)
{
    const struct ad_graph *graph = w->problem->graph;
    double y[AD_MAX_DEVICES], load[AD_MAX_DEVICES], best = 0;
    for (int d = 0; d < w->n; d++) {
        double total = 0;
        for (int i = first; i < end; i++)
            total += w->a[(size_t)i * (size_t)w->n + (size_t)d];
        y[d] = 1 / fmax(total, 1e-12);
    }
    for (int step = 0; step < AD_BOUND_STEPS; step++) {
        double value = dual(w, first, end, use, lost, y, load), largest = 0;
        if (good && value > best)
            memcpy(good, y, (size_t)w->n * sizeof *y);
        best = fmax(best, value);
        for (int d = 0; d < w->n && value > 0; d++) {
            double push = 0.7 / sqrt(1 + step) * (load[d] - value) / value;
            y[d] *= exp(fmax(-1, fmin(1, push)));
            largest = use[d] ? fmax(largest, y[d]) : largest;
        }
        for (int d = 0; d < w->n && largest > 0; d++)
            y[d] = fmax(y[d] / largest, 1e-9);
    }
    for (int i = first; i < end; i++) {
        double alone = INFINITY;
        for (int d = 0; d < w->n && !ad_op_splits(graph, &graph->ops[i]); d++)
            if (use[d])
                alone = fmin(alone, w->a[(size_t)i * (size_t)w->n + (size_t)d] + lost[d]);
        best = isfinite(alone) ? fmax(best, alone) : best;
    }
    return best;
}

/* Rounds down to one of few levels, which a bound may, so that few sets are tried. */
static void coarsen(int n, double *lost)
{
    double most = 0;
    for (int d = 0; d < n; d++)
        most = fmax(most, lost[d]);
    for (int d = 0; d < n && most > 0; d++)
        lost[d] = floor(lost[d] / most * LEVELS + 1e-9) * most / LEVELS;
}

/* The set of those devices of `among` that lose at most `limit`; the next limit that changes it, or
 * infinity. */
static double choose(int n, const bool *among, const double *lost, double limit, bool *use)
{
    double next = INFINITY;
    for (int d = 0; d < n; d++) {
        use[d] = among[d] && lost[d] <= limit;
        if (among[d] && !use[d])
            next = fmin(next, lost[d]);
    }
    return next;
}

/* Step 3 for one segment and the devices of `among`: the source, at least. */
static double bound_segment(const struct ad_bound_work *w, int segment, const bool *among)
{
    double lost[AD_MAX_DEVICES], bound = INFINITY, next;
    bool use[AD_MAX_DEVICES];
    int first = segment > 0 ? w->end[segment - 1] : 0;
    for (int d = 0; d < w->n; d++) {
        lost[d] = segment == 0 ? w->to[d] : 0;
        lost[d] += segment == w->nsegments - 1 ? w->from[d] : 0;
    }
    coarsen(w->n, lost);
    for (double limit = 0; limit < bound; limit = next) {
        next = choose(w->n, among, lost, limit, use);
        bound = fmin(bound, fmax(limit, bound_of_set(w, first, w->end[segment], use, lost, NULL)));
    }
    return bound;
}

/* ... and for all: a device too far away to hear of the input and be heard of takes no part in any.
 */
static double bound_all(const struct ad_bound_work *w)
{
    double lost[AD_MAX_DEVICES], bound = INFINITY, next;
    bool all[AD_MAX_DEVICES], use[AD_MAX_DEVICES];
    for (int d = 0; d < w->n; d++) {
        lost[d] = w->to[d] + w->from[d];
        all[d] = true;
    }
    coarsen(w->n, lost);
    for (double limit = 0; limit < bound; limit = next) {
        double sum = 0;
        next = choose(w->n, all, lost, limit, use);
        for (int s = 0; s < w->nsegments && sum < bound; s++)
            sum += bound_segment(w, s, use);
        bound = fmin(bound, fmax(limit, sum));
    }
    return bound;
}

/* Step 4: what the links can carry, from weights that are good without them. */
static enum adaps_status bound_links(const struct ad_bound_work *w, double *seconds,
                                     struct adaps_error *err)
{
    double lost[AD_MAX_DEVICES] = {0}, y[AD_MAX_DEVICES];
    bool all[AD_MAX_DEVICES];
    for (int d = 0; d < w->n; d++) {
        all[d] = true;
        y[d] = 1;
    }
    bound_of_set(w, 0, w->problem->graph->nops, all, lost, y);
    return ad_bound_links(w, y, seconds, err);
}

static bool make_room(struct ad_bound_work *w)
{
    const struct ad_graph *graph = w->problem->graph;
    size_t marks = 0, scratch = 0, nops = (size_t)graph->nops, nvalues = (size_t)graph->nvalues;
    for (int v = 0; v < graph->nvalues; v++) {
        size_t own = (size_t)graph->values[v].box.h + (size_t)graph->values[v].box.w;
        own += ad_value_splits(&graph->values[v]) ? (size_t)graph->values[v].box.c : 0;
        scratch = own > scratch ? own : scratch;
        marks += own;
    }
    w->marks = ad_calloc(scratch + marks, 1);
    w->rows = ad_calloc(nvalues, sizeof *w->rows);
    w->columns = ad_calloc(nvalues, sizeof *w->columns);
    w->channels = ad_calloc(nvalues, sizeof *w->channels);
    w->pixels = ad_calloc(nvalues, sizeof *w->pixels);
    w->depth = ad_calloc(nvalues, sizeof *w->depth);
    w->a = ad_calloc(nops * (size_t)w->n, sizeof *w->a);
    w->end = ad_calloc(nops, sizeof *w->end);
    if (!w->marks || !w->rows || !w->columns || !w->channels || !w->pixels || !w->depth || !w->a ||
        !w->end)
        return false;
    uint8_t *at = w->marks + scratch;
    for (int v = 0; v < graph->nvalues; v++) {
        w->rows[v] = at;
        w->columns[v] = at + graph->values[v].box.h;
        at += graph->values[v].box.h + graph->values[v].box.w;
        if (ad_value_splits(&graph->values[v])) {
            w->channels[v] = at;
            at += graph->values[v].box.c;
        }
    }
    return true;
}

static void free_room(struct ad_bound_work *w)
{
    ad_free(w->marks);
    ad_free(w->rows);
    ad_free(w->columns);
    ad_free(w->channels);
    ad_free(w->pixels);
    ad_free(w->depth);
    ad_free(w->a);
    ad_free(w->end);
}

enum adaps_status ad_search_bound(const struct ad_search_problem *problem, int64_t *ns,
                                  struct adaps_error *err)
{
    const struct ad_graph *graph = problem->graph;
    struct ad_bound_work w = {.problem = problem, .n = problem->cluster->ndevices};
    enum adaps_status status = ADAPS_OK;
    double seconds = 0, linked = 0;
    *ns = 0;
    if (!make_room(&w))
        status = ad_error_memory(err, "lower bound", (size_t)graph->nops * (size_t)w.n);
    if (status == ADAPS_OK)
        status = find_segments(&w, err);
    if (status != ADAPS_OK)
        goto out;
    for (int i = 0; i < graph->noutputs; i++)
        mark_whole(&w, graph->outputs[i]);
    for (int i = graph->nops - 1; i >= 0; i--) {
        fill_times(&w, i);
        mark_inputs(&w, &graph->ops[i]);
    }
    latencies(problem->cluster, false, w.from);
    if (!starts_freely(graph)) {
        latencies(problem->cluster, true, w.to);
    } else if (w.nsegments > 1) { /* a later segment need not wait for an earlier one */
        w.end[0] = graph->nops;
        w.nsegments = 1;
    }
    if (graph->nops > 0)
        seconds = bound_all(&w);
    if (graph->nops > 0)
        status = bound_links(&w, &linked, err);
    /* Messages are rounded, too: at most a few per value and device. */
    linked -= 2e-9 * w.n * graph->nvalues;
    seconds = fmax(seconds, linked);
    /* The source puts inputs in before anybody has them, and takes outputs out at the end. */
    const struct ad_device *source = &problem->cluster->devices[problem->cluster->source];
    if (!starts_freely(graph))
        seconds += fmin(ad_cost_feed_seconds(graph, source), AD_BOUND_MOST_SECONDS);
    seconds += fmin(ad_cost_fetch_seconds(graph, source), AD_BOUND_MOST_SECONDS);
    /* The clocks round every task and message to whole ns. */
    double rounded = floor(seconds * 1e9 * (1 - 1e-8)) - 0.5 * graph->nops - 2.0 * w.n - 3;
    *ns = rounded > 0 ? (int64_t)rounded : 0;
out:
    free_room(&w);
    return status;
}
