/* Step 4 of the bound (bound.c): what the source's links can carry.
 *
 * Of a plan count only what its result needs. Let x[v] be the share of what is read of value v that
 * the source computes (of the network's inputs: 1), z[v] the share that the others compute together
 * (of the inputs: 0). Overlaps are allowed; whatever the routes are, for every op r that reads v,
 *
 *   x[v] + z[v] >= 1          everything is computed by somebody
 *   down[v] >= x[r] - x[v]    what the source reads (of outputs: all) and does not compute comes
 *   up[v]   >= z[r] - z[v]    down to it, and what only the source computes goes up to the others
 *
 * as shares of v's bytes: any share of r's output reads at least that share of v. That is so for
 * all operators (FC, broadcasts and others that read more are fine) but for some windows at edges,
 * and where another reader reads more of v: keeps_share() tells, else r and v are not tied. A
 * concat along channels is one value per operand, tied only to readers of all channels. A byte that
 * the others have of v and did not compute must once have come up from the source, through
 * whomever.
 *
 * A makespan T is at least every device's work, up's seconds, and down's (on one medium: their
 * sum), each with the latency of the way there and back, if the source does not compute all (T is
 * at least that, else). Weights y >= 0 of these sum up to 1; weak duality:
 *
 *   T >= min over x, z of  sum y[source] a x + sum min over other d of y[d] a[d] z
 *                          + y[uplink] up + y[downlink] down  (+ latencies)
 *
 * which is a smallest cut of a graph (x and 1 - z are sides of nodes, all terms are arcs), so a
 * flow in it, found by Dinic's algorithm, is a bound for any y. The y are improved as in step 3. */
#include "search/bound/bound_links.h"
#include "fusion/rules.h"

#include <math.h>
#include <string.h>

/* --- the smallest cut of a graph, by Dinic's algorithm --- */

enum { HERE, AWAY, FIRST_NODE }; /* the ends */

struct arc {
    int to, next;
    double capacity, room;
};

struct net {
    struct arc *arcs; /* in pairs, there and back */
    size_t narcs, room;
    int nnodes;
    int *first, *next, *level, *queue; /* by node */
};

static bool add_arc(struct net *net, int from, int to, double capacity)
{
    for (int back = 0; back < 2; back++) {
        int node = back ? to : from;
        if (!ad_grow(&net->arcs, net->narcs, &net->room, sizeof *net->arcs))
            return false;
        net->arcs[net->narcs] =
            (struct arc){back ? from : to, net->first[node], back ? 0 : capacity, 0};
        net->first[node] = (int)net->narcs++;
    }
    return true;
}

/* Distances from HERE where there is room; whether it reaches AWAY. */
static bool find_levels(struct net *net, double least)
{
    int head = 0, tail = 0;
    memset(net->level, -1, (size_t)net->nnodes * sizeof *net->level);
    net->level[HERE] = 0;
    net->queue[tail++] = HERE;
    while (head < tail) {
        int at = net->queue[head++];
        for (int i = net->first[at]; i >= 0; i = net->arcs[i].next) {
            const struct arc *arc = &net->arcs[i];
            if (arc->room > least && net->level[arc->to] < 0) {
                net->level[arc->to] = net->level[at] + 1;
                net->queue[tail++] = arc->to;
            }
        }
    }
    return net->level[AWAY] >= 0;
}

/* Sends what one path, of these arcs, lets through; its first full arc. */
static int send(struct net *net, const int *path, int length, double *sum)
{
    int full = 0;
    for (int i = 1; i < length; i++)
        if (net->arcs[path[i]].room < net->arcs[path[full]].room)
            full = i;
    double amount = net->arcs[path[full]].room;
    for (int i = 0; i < length; i++) {
        net->arcs[path[i]].room -= amount;
        net->arcs[path[i] ^ 1].room += amount;
    }
    *sum += amount;
    return full;
}

/* Flow along levels until none is left. */
static double block(struct net *net, double least)
{
    int *path = net->queue, length = 0, at = HERE;
    double sum = 0;
    memcpy(net->next, net->first, (size_t)net->nnodes * sizeof *net->next);
    for (;;) {
        int *i = &net->next[at];
        while (*i >= 0 &&
               !(net->arcs[*i].room > least && net->level[net->arcs[*i].to] == net->level[at] + 1))
            *i = net->arcs[*i].next;
        if (*i >= 0) {
            path[length++] = *i;
            at = net->arcs[*i].to;
        } else if (length > 0) {
            at = net->arcs[path[--length] ^ 1].to;
            net->next[at] = net->arcs[net->next[at]].next;
        } else {
            return sum;
        }
        if (at == AWAY) {
            length = send(net, path, length, &sum);
            at = net->arcs[path[length] ^ 1].to;
        }
    }
}

/* A flow: never more than the smallest cut, and the same up to roundings; then level is >= 0 on
 * HERE's side of it. Every path must have a finite arc. */
static double smallest_cut(struct net *net)
{
    double sum = 0, least = 0;
    for (size_t i = 0; i < net->narcs; i++) {
        net->arcs[i].room = net->arcs[i].capacity;
        least += isfinite(net->arcs[i].capacity) ? net->arcs[i].capacity : 0;
    }
    least *= 1e-13;
    while (find_levels(net, least))
        sum += block(net, least);
    return sum;
}

/* --- the problem --- */

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
    struct net net;
    double y[AD_MAX_DEVICES + 2], load[AD_MAX_DEVICES + 2]; /* of devices, uplink, downlink; or of
                                                               devices and the medium */
};

/* Nodes of an item, each on HERE's side of the cut if
 *   HAS     the source computes it,
 *   FREE    the others do not,
 *   WANTS   the source needs it,
 *   SPARES  the others do not need it. */
enum { HAS, FREE, WANTS, SPARES, NODES };

static int node_of(int item, int which)
{
    return FIRST_NODE + item * NODES + which;
}

static bool shared(const struct links *l)
{
    return l->w->problem->cluster->shared_medium;
}

static int link_of(const struct links *l, bool up)
{
    return l->n + (!up && !shared(l));
}

static bool is_output(const struct ad_graph *graph, int value)
{
    for (int o = 0; o < graph->noutputs; o++)
        if (graph->outputs[o] == value)
            return true;
    return false;
}

/* Whether any share of the marked outputs reads at least that share of the marked inputs along an
 * axis. What windows read are intervals, so by Hall's theorem it does if every run of outputs does:
 * at each end of a run, the worst start is known. */
static bool axis_keeps_share(const struct ad_axis *a, const uint8_t *out, const uint8_t *in)
{
    int64_t outputs = ad_bound_count(out, a->outputs), inputs = ad_bound_count(in, a->size);
    int64_t index = 0, lo = 0, hi = 0, before_lo = 0, before_hi = 0, worst = INT64_MIN;
    if (a->dilation > 1 && a->taps > 1) /* not intervals; a tap at the output's place is enough */
        return a->stride == 1 && a->size == a->outputs && a->pad % a->dilation == 0 &&
               a->pad / a->dilation < a->taps && memcmp(in, out, (size_t)a->size) == 0;
    for (int64_t o = 0; o < a->outputs; o++) {
        int64_t start = o * a->stride - a->pad;
        if (!out[o])
            continue;
        for (; lo < start && lo < a->size; lo++)
            before_lo += in[lo];
        for (; hi < start + a->taps && hi < a->size; hi++)
            before_hi += in[hi];
        int64_t from = before_lo * outputs - index * inputs;
        worst = from > worst ? from : worst;
        index++;
        if (before_hi * outputs - index * inputs < worst)
            return false;
    }
    return true;
}

/* Whether any share of what is read of op's output takes at least that share of what is read of a
 * value. */
static bool keeps_share(const struct ad_bound_work *w, const struct ad_op *op, int value)
{
    const struct ad_graph *graph = w->problem->graph;
    const struct ad_box *box = &graph->values[value].box;
    ad_bound_mark(w, op, value);
    if (memcmp(w->marks, w->rows[value], (size_t)box->h) != 0 ||
        memcmp(w->marks + box->h, w->columns[value], (size_t)box->w) != 0 ||
        (w->channels[value] &&
         memcmp(w->marks + box->h + box->w, w->channels[value], (size_t)box->c) != 0))
        return false; /* another reader reads more */
    if (op->kind == AD_OP_RESAMPLE || op->kind == AD_OP_DEPTH_TO_SPACE ||
        w->depth[op->output] != graph->values[op->output].box.c)
        return false;
    if (!ad_op_has_window(op))
        return true;
    struct ad_axis h = ad_axis_h(graph, op), width = ad_axis_w(graph, op);
    return axis_keeps_share(&h, w->rows[op->output], w->rows[value]) &&
           axis_keeps_share(&width, w->columns[op->output], w->columns[value]);
}

/* Whether any part of the output takes all channels of the input at its place. */
static bool reads_all_channels(const struct ad_graph *graph, const struct ad_op *op)
{
    return op->kind == AD_OP_FC || (op->kind == AD_OP_CONV && op->groups == 1) ||
           op->kind == AD_OP_SOFTMAX || op->kind == AD_OP_PERMUTE || op->kind == AD_OP_REDUCE ||
           !ad_op_splits(graph, op);
}

/* A concat along channels is one item per operand; any other value is one. */
static int parts_of(const struct ad_graph *graph, const struct ad_value *value)
{
    const struct ad_op *op = value->producer >= 0 ? &graph->ops[value->producer] : NULL;
    return op && op->kind == AD_OP_CONCAT && ad_op_splits(graph, op) ? op->ninputs : 1;
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
    l->count[value] = v->constant < 0 && l->w->pixels[value] > 0 ? parts_of(graph, v) : 0;
    bool bytes = op < 0 && ad_search_u8(problem) && ad_picture_fit(graph, value);
    enum ad_encoding least = bytes ? AD_ENCODING_U8 : ad_search_encoding(problem);
    for (int j = 0; j < l->count[value]; j++) {
        double share = l->count[value] > 1 ? (double)graph->values[graph->ops[op].inputs[j]].box.c /
                                                 (double)v->box.c
                                           : 1;
        double size = ad_encoding_density(least) *
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
    struct net *net = &l->net;
    struct item *item = &l->items[i];
    int has = node_of(i, HAS), free = node_of(i, FREE), wants = node_of(i, WANTS);
    int spares = node_of(i, SPARES);
    item->arc = net->narcs;
    if (item->op < 0)
        return add_arc(net, HERE, spares, 0);
    bool output = is_output(l->w->problem->graph, l->w->problem->graph->ops[item->op].output);
    return add_arc(net, HERE, free, 0) && add_arc(net, has, AWAY, 0) &&
           add_arc(net, wants, has, 0) && add_arc(net, free, spares, 0) &&
           add_arc(net, free, has, INFINITY) && (!output || add_arc(net, HERE, wants, INFINITY));
}

/* Item i is made of item `of`. */
static bool add_reading(struct links *l, int i, int of)
{
    return add_arc(&l->net, node_of(of, SPARES), node_of(i, FREE), INFINITY) &&
           (l->items[of].op < 0 || add_arc(&l->net, node_of(i, HAS), node_of(of, WANTS), INFINITY));
}

static bool add_readings(struct links *l, int i, int part)
{
    const struct ad_graph *graph = l->w->problem->graph;
    const struct ad_op *op = &graph->ops[l->items[i].op];
    bool all = l->count[op->output] == 1 && reads_all_channels(graph, op);
    for (int k = 0; k < op->ninputs; k++) {
        int v = op->inputs[k];
        if ((l->count[op->output] > 1 && k != part) || (l->count[v] > 1 && !all) ||
            l->count[v] == 0 || !keeps_share(l->w, op, v))
            continue;
        for (int j = 0; j < l->count[v]; j++)
            if (!add_reading(l, i, l->first_item[v] + j))
                return false;
    }
    return true;
}

static bool make_net(struct links *l)
{
    struct net *net = &l->net;
    net->nnodes = node_of(l->nitems, 0);
    size_t nodes = (size_t)net->nnodes;
    net->first = ad_calloc(nodes, sizeof *net->first);
    net->next = ad_calloc(nodes, sizeof *net->next);
    net->level = ad_calloc(nodes, sizeof *net->level);
    net->queue = ad_calloc(nodes, sizeof *net->queue);
    if (!net->first || !net->next || !net->level || !net->queue)
        return false;
    memset(net->first, -1, nodes * sizeof *net->first);
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
    ad_free(l->net.arcs);
    ad_free(l->net.first);
    ad_free(l->net.next);
    ad_free(l->net.level);
    ad_free(l->net.queue);
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

/* Arcs in the order of add_node_arcs(). */
static void set_capacities(struct links *l)
{
    for (int i = 0; i < l->nitems; i++) {
        const struct item *item = &l->items[i];
        struct arc *arc = &l->net.arcs[item->arc];
        double up = item->up * l->y[link_of(l, true)];
        if (item->op < 0) {
            arc[0].capacity = up;
            continue;
        }
        const double *a = times(l, item);
        arc[0].capacity = item->share * weigh_others(l, a);
        arc[2].capacity = item->share * l->y[l->source] * a[l->source];
        arc[4].capacity = item->down * l->y[link_of(l, false)];
        arc[6].capacity = up;
    }
}

/* Adds an item to the loads of those other devices on which it weighs least. */
static void load_others(struct links *l, const struct item *item)
{
    const double *a = times(l, item);
    double least = weigh_others(l, a) * (1 + 1e-9);
    int ties = 0;
    for (int d = 0; d < l->n; d++)
        ties += d != l->source && l->y[d] * a[d] <= least;
    for (int d = 0; d < l->n; d++)
        if (d != l->source && l->y[d] * a[d] <= least)
            l->load[d] += item->share * a[d] / ties;
}

/* What the cut says that everybody does. */
static void add_loads(struct links *l)
{
    const int *level = l->net.level;
    for (int i = 0; i < l->nitems; i++) {
        const struct item *item = &l->items[i];
        bool free = item->op < 0 || level[node_of(i, FREE)] >= 0;
        if (free && level[node_of(i, SPARES)] < 0)
            l->load[link_of(l, true)] += item->up;
        if (item->op < 0)
            continue;
        bool has = level[node_of(i, HAS)] >= 0;
        if (has)
            l->load[l->source] += item->share * times(l, item)[l->source];
        if (!free)
            load_others(l, item);
        if (!has && level[node_of(i, WANTS)] >= 0)
            l->load[link_of(l, false)] += item->down;
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

/* The others work, and the links carry, only within a time that is shorter than T by this. The
 * medium may be used from the beginning. */
static double begin_loads(struct links *l)
{
    double to = nearest(l, l->w->to), from = nearest(l, l->w->from), sum = 0;
    for (int r = 0; r < l->width; r++) {
        l->load[r] = r == l->source ? 0 : r == l->n && shared(l) ? from : to + from;
        sum += l->y[r] * l->load[r];
    }
    return sum;
}

static double dual(struct links *l)
{
    double sum = begin_loads(l);
    set_capacities(l);
    sum += smallest_cut(&l->net);
    add_loads(l);
    return sum;
}

/* Weights with more than the mean load gain. Their sum stays 1. */
static void push(struct links *l, double step)
{
    double mean = 0, sum = 0;
    for (int r = 0; r < l->width; r++)
        mean += l->y[r] * l->load[r];
    for (int r = 0; r < l->width && mean > 0; r++) {
        double gain = step * (l->load[r] - mean) / mean;
        sum += l->y[r] = fmax(l->y[r] * exp(fmax(-1, fmin(1, gain))), 1e-12);
    }
    for (int r = 0; r < l->width && sum > 0; r++)
        l->y[r] /= sum;
}

/* As without links, and of links as much as the source's work weighs beside sending the inputs. */
static void begin_weights(struct links *l, const double *y, double alone)
{
    double sum = 0, up = 0;
    for (int i = 0; i < l->nitems; i++)
        up += l->items[i].op < 0 ? l->items[i].up : 0;
    for (int d = 0; d < l->n; d++)
        sum += l->y[d] = fmax(y[d], 1e-9);
    double links = up > alone ? 0.2 * alone / up : 0.2;
    for (int d = 0; d < l->n; d++)
        l->y[d] *= (1 - links) / sum;
    for (int r = l->n; r < l->width; r++)
        l->y[r] = links / (l->width - l->n);
}

/* The best dual value found, or what the source takes for all. */
static double improve(struct links *l, const double *y)
{
    double alone = 0, best = 0, before = 0;
    for (int i = 0; i < l->w->problem->graph->nops; i++)
        alone += l->w->a[(size_t)i * (size_t)l->n + (size_t)l->source];
    begin_weights(l, y, alone);
    for (int step = 0; step < AD_BOUND_STEPS && best < alone; step++) {
        best = fmax(best, dual(l));
        push(l, 0.7 / sqrt(1 + step));
        if (step % 12 == 11 && step > 12 && best < before * 1.002)
            break;
        before = step % 12 == 11 ? best : before;
    }
    return fmin(best, alone);
}

enum adaps_status ad_bound_links(const struct ad_bound_work *work, const double *y, double *seconds,
                                 struct adaps_error *err)
{
    struct links l = {.w = work, .n = work->n, .source = work->problem->cluster->source};
    enum adaps_status status = ADAPS_OK;
    *seconds = 0;
    if (work->n < 2)
        return ADAPS_OK;
    l.width = work->n + (shared(&l) ? 1 : 2);
    if (make(&l))
        *seconds = improve(&l, y);
    else
        status = ad_error_memory(err, "lower bound", (size_t)work->problem->graph->nops);
    fini(&l);
    return status;
}
