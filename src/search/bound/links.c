/* Step 4 of the bound (bound.c): what the source's links can carry.
 *
 * Only what a plan's result needs counts. Of what is read of value v, let x[v] be the share that
 * the source computes (1 for the network's inputs), and z[v] the share that the others compute
 * together (0 for the inputs). Shares may overlap. Whatever the routes are, for every op r that
 * reads v,
 *
 *   x[v] + z[v] >= 1          everything is computed by somebody
 *   down[v] >= x[r] - x[v]    the source reads this (all of an output) and does not compute it:
 *                             it comes down to the source
 *   up[v]   >= z[r] - z[v]    the others read this and do not compute it: it goes up to them
 *
 * as shares of v's bytes. That takes that any share of r's output reads at least that share of v,
 * which most operators do (FC, broadcasts and others read more). Where it is not certain, at some
 * edges of windows or because another reader reads more of v, r and v are not tied: keeps_share().
 * A concat along channels is one value per operand, tied only to readers of all channels. A byte of
 * v that the others have and did not compute must have come from the source at some time, on
 * whatever way.
 *
 * If the source computes everything, T is at least the time of that. Else it is at least every
 * device's work, the seconds of up, and those of down (on one medium: their sum), each with the
 * latency of the way there and back. For weights y >= 0 of these that sum up to 1, by weak duality:
 *
 *   T >= min over x, z of  sum y[source] a x + sum min over other d of y[d] a[d] z
 *                          + y[uplink] up + y[downlink] down  (+ latencies)
 *
 * The right side is a smallest cut of a graph: x and 1 - z are sides of nodes, and all terms are
 * arcs. So a flow in it, found by Dinic's algorithm, is a bound for any y. The y are those of step
 * 3 and a few of the links. */
#include "search/bound/links.h"
#include "search/bound/cut.h"

#include <math.h>
#include <string.h>

/* From so many items on, fewer weights are tried. */
#define MANY_ITEMS 150
#define VERY_MANY_ITEMS 600
#define MOST_UNITS 0x1p44 /* the source's work is 0x1p40 */

struct item {
    int op;          /* -1: an input of the network */
    double share;    /* of the op */
    double up, down; /* seconds on the source's links */
    size_t arc;      /* its first */
};

struct links {
    const struct ad_bound_work *w;
    int n, source, width; /* width: devices and links */
    int *first_item;      /* by value: of count[] items */
    int *count;           /* by value */
    struct item *items;
    int nitems;
    struct ad_cut_net net;
    double y[AD_MAX_DEVICES + 2]; /* of devices, uplink, downlink; or of devices and the medium */
    double unit;                  /* of capacities, which are whole: seconds */
};

/* Nodes of an item, each on AD_CUT_HERE's side of the cut if
 *   HAS     the source computes it,
 *   FREE    the others do not,
 *   WANTS   the source needs it,
 *   SPARES  the others do not need it. */
enum { HAS, FREE, WANTS, SPARES, NODES };

static int node_of(int item, int which)
{
    return AD_CUT_FIRST_NODE + item * NODES + which;
}

static bool shared(const struct links *l)
{
    return l->w->problem->cluster->shared_medium;
}

static int link_of(const struct links *l, bool up)
{
    return l->n + (!up && !shared(l));
}

/* Whether any share of what is read of op's output takes at least that share of what is read of
 * input k. */
static bool keeps_share(const struct ad_bound_work *w, const struct ad_op *op, int k,
                        const struct ad_reads *reads)
{
    const struct ad_graph *graph = w->problem->graph;
    const struct ad_box *box = &graph->values[op->inputs[k]].box;
    const struct ad_marks *out = &w->read[op->output], *in = &w->read[op->inputs[k]];
    struct ad_marks marks = w->marks;
    if (w->depth[op->output] != graph->values[op->output].box.c)
        return false;
    ad_reads_mark(graph, op, k, reads, out, &marks);
    for (int axis = 0; axis < AD_ALONG; axis++)
        if (memcmp(marks.along[axis], in->along[axis], (size_t)ad_box_along(box, axis)) != 0)
            return false; /* another reader reads more */
    return ad_reads_keep_share(graph, op, k, reads, out, in);
}

/* A concat along channels is one item per operand; any other value is one. */
static int parts_of(const struct ad_bound_work *w, const struct ad_value *value)
{
    const struct ad_op *op = value->producer >= 0 ? &w->problem->graph->ops[value->producer] : NULL;
    if (!op || op->ninputs == 0)
        return 1;
    struct ad_reads reads = ad_bound_reads(w, op, 0);
    return reads.along[AD_ALONG_C] == AD_READS_STRETCH ? op->ninputs : 1;
}

/* The best bandwidth of the source's links. */
static double bandwidth(const struct links *l, bool up)
{
    const struct ad_cluster *cluster = l->w->problem->cluster;
    double best = 0;
    for (int d = 0; d < l->n; d++)
        if (d != l->source)
            best = fmax(best,
                        cluster->links[up ? l->source * l->n + d : d * l->n + l->source].bandwidth);
    return best;
}

static void add_items(struct links *l, int value)
{
    const struct ad_search_problem *problem = l->w->problem;
    const struct ad_graph *graph = problem->graph;
    const struct ad_value *v = &graph->values[value];
    int op = v->producer;
    l->first_item[value] = l->nitems;
    l->count[value] = v->constant < 0 && l->w->pixels[value] > 0 ? parts_of(l->w, v) : 0;
    bool bytes = op < 0 && ad_search_u8(problem) && ad_picture_fit(graph, value);
    enum ad_encoding least = bytes ? AD_ENCODING_U8 : ad_search_encoding(problem);
    for (int j = 0; j < l->count[value]; j++) {
        double share = l->count[value] > 1 ? (double)graph->values[graph->ops[op].inputs[j]].box.c /
                                                 (double)v->box.c
                                           : 1;
        double size =
            (ad_value_is_quantised(v) ? (double)ad_value_unit(v) : ad_encoding_density(least)) *
            (double)(v->box.n * l->w->depth[value] * l->w->pixels[value]) * share;
        l->items[l->nitems++] =
            (struct item){.op = op,
                          .share = share,
                          .up = fmin(size / bandwidth(l, true), AD_BOUND_MOST_SECONDS),
                          .down = fmin(size / bandwidth(l, false), AD_BOUND_MOST_SECONDS)};
    }
}

static bool add_node_arcs(struct links *l, int i)
{
    struct ad_cut_net *net = &l->net;
    struct item *item = &l->items[i];
    int has = node_of(i, HAS), free = node_of(i, FREE), wants = node_of(i, WANTS);
    int spares = node_of(i, SPARES);
    item->arc = net->narcs;
    if (item->op < 0)
        return ad_cut_arc(net, AD_CUT_HERE, spares, 0);
    bool output =
        ad_value_is_output(l->w->problem->graph, l->w->problem->graph->ops[item->op].output);
    return ad_cut_arc(net, AD_CUT_HERE, free, 0) && ad_cut_arc(net, has, AD_CUT_AWAY, 0) &&
           ad_cut_arc(net, wants, has, 0) && ad_cut_arc(net, free, spares, 0) &&
           ad_cut_arc(net, free, has, INFINITY) &&
           (!output || ad_cut_arc(net, AD_CUT_HERE, wants, INFINITY));
}

/* Item i is made of item `of`. */
static bool add_reading(struct links *l, int i, int of)
{
    return ad_cut_arc(&l->net, node_of(of, SPARES), node_of(i, FREE), INFINITY) &&
           (l->items[of].op < 0 ||
            ad_cut_arc(&l->net, node_of(i, HAS), node_of(of, WANTS), INFINITY));
}

static bool add_readings(struct links *l, int i, int part)
{
    const struct ad_graph *graph = l->w->problem->graph;
    const struct ad_op *op = &graph->ops[l->items[i].op];
    bool whole = l->count[op->output] == 1;
    for (int k = 0; k < op->ninputs; k++) {
        int v = op->inputs[k];
        struct ad_reads reads = ad_bound_reads(l->w, op, k);
        bool all = whole && reads.along[AD_ALONG_C] == AD_READS_ALL;
        if ((!whole && k != part) || (l->count[v] > 1 && !all) || l->count[v] == 0 ||
            !keeps_share(l->w, op, k, &reads))
            continue;
        for (int j = 0; j < l->count[v]; j++)
            if (!add_reading(l, i, l->first_item[v] + j))
                return false;
    }
    return true;
}

static bool make_net(struct links *l)
{
    if (!ad_cut_init(&l->net, node_of(l->nitems, 0)))
        return false;
    for (int i = 0; i < l->nitems; i++)
        if (!add_node_arcs(l, i))
            return false;
    for (int i = 0; i < l->nitems; i++) {
        int op = l->items[i].op;
        if (op >= 0 && !add_readings(l, i, i - l->first_item[l->w->problem->graph->ops[op].output]))
            return false;
    }
    return true;
}

static bool make(struct links *l)
{
    const struct ad_graph *graph = l->w->problem->graph;
    size_t nvalues = (size_t)graph->nvalues, items = nvalues;
    for (int i = 0; i < graph->nops; i++)
        items += (size_t)graph->ops[i].ninputs;
    l->first_item = ad_calloc(nvalues, sizeof *l->first_item);
    l->count = ad_calloc(nvalues, sizeof *l->count);
    l->items = ad_calloc(items, sizeof *l->items);
    if (!l->first_item || !l->count || !l->items)
        return false;
    for (int v = 0; v < graph->nvalues; v++)
        add_items(l, v);
    return make_net(l);
}

static void fini(struct links *l)
{
    ad_free(l->first_item);
    ad_free(l->count);
    ad_free(l->items);
    ad_cut_fini(&l->net);
}

/* --- the dual value --- */

static const double *times(const struct links *l, const struct item *item)
{
    return &l->w->a[(size_t)item->op * (size_t)l->n];
}

static double weigh_others(const struct links *l, const double *a)
{
    double least = INFINITY;
    for (int d = 0; d < l->n; d++)
        if (d != l->source)
            least = fmin(least, l->y[d] * a[d]);
    return least;
}

/* Whole units, rounded down: flows are exact then, and no larger capacity makes one smaller. Far
 * more than the source's work is as good as that. */
static double whole(const struct links *l, double seconds)
{
    return fmin(floor(seconds / l->unit), MOST_UNITS);
}

/* Arcs in the order of add_node_arcs(). */
static void set_capacities(struct links *l)
{
    for (int i = 0; i < l->nitems; i++) {
        const struct item *item = &l->items[i];
        struct ad_cut_arc *arc = &l->net.arcs[item->arc];
        double up = whole(l, item->up * l->y[link_of(l, true)]);
        if (item->op < 0) {
            arc[0].capacity = up;
            continue;
        }
        const double *a = times(l, item);
        arc[0].capacity = whole(l, item->share * weigh_others(l, a));
        arc[2].capacity = whole(l, item->share * l->y[l->source] * a[l->source]);
        arc[4].capacity = whole(l, item->down * l->y[link_of(l, false)]);
        arc[6].capacity = up;
    }
}

/* The least latency of a way from the source to another device (forward), or back. */
static double nearest(const struct links *l, const double *latency)
{
    double least = INFINITY;
    for (int d = 0; d < l->n; d++)
        if (d != l->source)
            least = fmin(least, latency[d]);
    return least;
}

/* The others work, and the links carry, only within a time that is shorter than T by the way there
 * and back. The medium may be used from the beginning. Returns what this adds. */
static double begin(const struct links *l, double *weights)
{
    double to = nearest(l, l->w->to), from = nearest(l, l->w->from), sum = 0;
    *weights = 0;
    for (int r = 0; r < l->width; r++) {
        sum += r == l->source ? 0 : l->y[r] * (r == l->n && shared(l) ? from : to + from);
        *weights += l->y[r];
    }
    return sum;
}

/* The best dual value of all weights of links. No cut is larger than the source's work, so most of
 * them need no look. In a large graph most are left out. */
static void try_links(struct links *l, double alone, double *best)
{
    static const double tried[] = {0,   0.03125, 0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1,
                                   1.5, 2,       4,      8,     16,     32,   64,    256, 1024};
    enum { TRIED = sizeof tried / sizeof *tried };
    int step = l->nitems > VERY_MANY_ITEMS ? 5 : l->nitems > MANY_ITEMS ? 2 : 1;
    for (int up = 0; up < TRIED; up += step)
        for (int down = 0; down < (shared(l) ? 1 : TRIED); down += step) {
            l->y[link_of(l, false)] = tried[down];
            l->y[link_of(l, true)] = tried[up];
            double weights, sum = begin(l, &weights);
            if ((sum + alone) / weights <= *best)
                continue;
            set_capacities(l);
            sum += ad_cut_smallest(&l->net) * l->unit;
            *best = fmax(*best, sum / weights);
        }
}

/* The best dual value found, or what the source takes for all. Where links are slow, the others
 * weigh little: their work is no matter. */
static double improve(struct links *l)
{
    static const double scales[] = {1, 0, 0.25, 0.5, 0.125, 0x1p-5, 0x1p-8};
    double alone = 0, best = nearest(l, l->w->to) + nearest(l, l->w->from);
    int nops = l->w->problem->graph->nops;
    for (int i = 0; i < nops; i++)
        alone += l->w->a[(size_t)i * (size_t)l->n + (size_t)l->source];
    if (!(alone > 0))
        return 0;
    l->unit = alone * 0x1p-40;
    size_t nscales = l->nitems > VERY_MANY_ITEMS ? 2 : sizeof scales / sizeof *scales;
    for (size_t s = 0; s < nscales; s++) {
        ad_bound_weights(l->w, 0, nops, 0, l->y);
        for (int d = 0; d < l->n; d++)
            l->y[d] *= d == l->source ? 1 : scales[s];
        try_links(l, alone, &best);
    }
    return fmin(best, alone);
}

enum adaps_status ad_bound_links(const struct ad_bound_work *work, double *seconds,
                                 struct adaps_error *err)
{
    struct links l = {.w = work, .n = work->n, .source = work->problem->cluster->source};
    enum adaps_status status = ADAPS_OK;
    *seconds = 0;
    if (work->n < 2)
        return ADAPS_OK;
    l.width = work->n + (shared(&l) ? 1 : 2);
    if (make(&l))
        *seconds = improve(&l);
    else
        status = ad_error_memory(err, "lower bound", (size_t)work->problem->graph->nops);
    fini(&l);
    return status;
}
