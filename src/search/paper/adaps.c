/* Strategy `adaps`: the search of ADaPS (Mateu Cuadrat, Egger: ADaPS: Adaptive Data Partitioning to
 * Parallelize CNN Inference on Resource-Constrained Hardware, LCTES 2025), equations 1 to 12 and
 * section 4.5. paper.h has the problem of one chain and how its gaps are read; here it is made from
 * the graph, and its answer becomes an ordinary assignment: the regions are the chosen intervals,
 * and the common schedule moves what is missing. The simulated clock is reported; it has no part in
 * the choice.
 *
 * Modelled: the network is cut into sub-blocks (4.2); each is planned by itself along its height
 * and along its width, and the lower score is taken. Operators of type 3 (Table 2) are split where
 * rows stay rows (Concat), as edgeflow splits them, or run whole on the fastest device
 * (ad_context_gathers()).
 *
 * Interpreted:
 * - Within a sub-block, layers that are split form a chain as long as each reads the one before
 *   alone. Where a chain begins, what its first layer reads lies as it was planned before, or at
 *   the source; where it ends in a layer that some device wants whole, that is known, too. Both are
 *   layers of the chain whose intervals are given, so eqs 6 to 8 charge all that crosses the
 *   border. Of several inputs the largest says how they lie; all their bytes are charged.
 *   (Eq 12 as printed has no neighbour there. Then halos go to the widest tensors: latency and
 *   bytes were behind edgeflow's, where the paper's are ahead.)
 * - A layer that is not split (of type 3, with fewer rows than devices, or without a rule that lets
 *   this dimension be cut) counts with its time on the fastest device, and what that fetches.
 * - speed_d is the device's rate (ad_cost_main_class()) relative to the fastest; a row of a layer
 *   weighs what the cost model says of the whole layer on the fastest device, divided by its rows.
 *   (The paper fits one linear model from measurements.)
 * - BW_d is the mean bandwidth of the links into d; latency has no place in eq 8.
 * - A dilated kernel reads the span of its taps.
 * - A region whose tile could not be computed with the same bits (one single pixel) grows as in
 *   every strategy; the score ignores that.
 * - Equal chains (ResNet has many) are planned once (4.5.3).
 *
 * The certificate: no layout of the window, chain by chain as the ones before were chosen, has a
 * lower sum of scores than `bound`. */
#include "search/paper/adaps.h"
#include "fusion/rules.h"
#include "base/units.h"
#include "fusion/region.h"
#include "search/paper/paper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NODE_LIMIT 20000
#define ITERATIONS 200
#define MOST_TICKS 0x1p52

/* A chain that was planned. It may begin with how its input lies, and end with who reads it whole.
 */
struct chain {
    struct ad_paper_layer *layers;
    int nlayers;
    struct ad_paper_interval entry[AD_MAX_DEVICES], exit[AD_MAX_DEVICES];
    struct ad_paper_result result;
};

/* One dimension of one sub-block. chain[k], layer[k]: what op k of the block is in; chain -1:
 * whole; charged[k]: its chain pays for bringing it together. */
struct side {
    enum ad_dim dim;
    double score, bound, space_log10;
    int *chain, *layer;
    bool *charged;
};

struct planner {
    const struct ad_context *context;
    const struct ad_graph *graph;
    struct ad_search_result *result;
    double tick_ns; /* of the score: 1, or more where links are so slow that it would not fit */
    double speed[AD_MAX_DEVICES], bandwidth[AD_MAX_DEVICES]; /* the latter in bytes per tick */
    struct chain *chains;
    size_t nchains, chain_room;
    struct ad_paper_layer *layers; /* of the chain being collected, and its ends */
    struct ad_paper_interval entry[AD_MAX_DEVICES], exit[AD_MAX_DEVICES];
    int *place; /* by op: its place in its block */
    struct side sides[2], *better;
    double score, bound, space_log10;
    struct adaps_error *err;
};

static int64_t extent_of(const struct ad_box *box, enum ad_dim dim)
{
    return dim == AD_DIM_H ? box->h : box->w;
}

/* Nanoseconds of a whole op on the fastest device. */
static double whole_ns(const struct planner *p, const struct ad_op *op)
{
    const struct ad_cluster *cluster = p->context->problem->cluster;
    int64_t r0, r1, in = ad_values_elements(p->graph, op->inputs, op->ninputs);
    const struct ad_value *output = &p->graph->values[op->output];
    ad_weight_slice(p->graph, op, ad_region_whole(output), &r0, &r1);
    struct ad_work work = ad_cost_work(p->graph, op, ad_box_elements(output->box), in, r1 - r0);
    return ad_cost_seconds(&cluster->devices[p->context->fastest], &work) * 1e9;
}

static bool is_split(const struct planner *p, int op, enum ad_dim dim)
{
    int64_t rows = extent_of(&p->graph->values[p->graph->ops[op].output].box, dim);
    int n = p->context->problem->cluster->ndevices;
    return n > 1 && !ad_context_gathers(p->context, op) && p->context->can[op][dim] && rows >= n &&
           rows <= AD_PAPER_ROWS;
}

static struct ad_paper_layer layer_of(const struct planner *p, int index, enum ad_dim dim)
{
    const struct ad_op *op = &p->graph->ops[index];
    const struct ad_value *out = &p->graph->values[op->output];
    struct ad_axis axis = ad_op_axis(p->graph, op, dim == AD_DIM_H ? AD_ALONG_H : AD_ALONG_W);
    int64_t rows = extent_of(&out->box, dim);
    return (struct ad_paper_layer){
        .out_size = (int)rows,
        .kernel = (int)(axis.dilation * (axis.taps - 1) + 1),
        .stride = (int)axis.stride,
        .pad = (int)axis.pad,
        .work = whole_ns(p, op) / (double)rows / p->tick_ns,
        .bytes = (double)(ad_value_bytes(out) / rows),
    };
}

static bool same_intervals(const struct ad_paper_interval *a, const struct ad_paper_interval *b,
                           int n)
{
    if (!a || !b)
        return a == b;
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_layers(const struct ad_paper_layer *a, const struct ad_paper_layer *b, int n,
                        int ndevices)
{
    for (int i = 0; i < n; i++)
        if (a[i].out_size != b[i].out_size || a[i].kernel != b[i].kernel ||
            a[i].stride != b[i].stride || a[i].pad != b[i].pad || a[i].work != b[i].work ||
            a[i].bytes != b[i].bytes || !same_intervals(a[i].given, b[i].given, ndevices))
            return false;
    return true;
}

/* Keeps p->layers as a chain; its given layers are its own. NULL without memory. */
static struct chain *add_chain(struct planner *p, int nlayers)
{
    struct chain chain = {.nlayers = nlayers};
    chain.layers = ad_calloc((size_t)nlayers, sizeof *chain.layers);
    if (!chain.layers || !ad_grow(&p->chains, p->nchains, &p->chain_room, sizeof *p->chains)) {
        ad_free(chain.layers);
        return NULL;
    }
    struct chain *kept = &p->chains[p->nchains];
    *kept = chain;
    memcpy(kept->layers, p->layers, (size_t)nlayers * sizeof *chain.layers);
    memcpy(kept->entry, p->entry, sizeof kept->entry);
    memcpy(kept->exit, p->exit, sizeof kept->exit);
    return kept;
}

/* Plans p->layers, unless an equal chain has been planned; *out: its index. */
static enum adaps_status plan_chain(struct planner *p, int nlayers, int *out)
{
    const struct ad_search_problem *problem = p->context->problem;
    int n = problem->cluster->ndevices;
    for (size_t i = 0; i < p->nchains; i++) {
        struct chain *old = &p->chains[i];
        for (int l = 0; l < old->nlayers; l++) /* the array of chains may have moved */
            if (old->layers[l].given)
                old->layers[l].given = l == 0 ? old->entry : old->exit;
        if (old->nlayers == nlayers && same_layers(old->layers, p->layers, nlayers, n)) {
            *out = (int)i;
            return ADAPS_OK;
        }
    }
    struct chain *chain = add_chain(p, nlayers);
    if (!chain)
        return ad_error_memory(p->err, "chains", (p->nchains + 1) * sizeof *p->chains);
    const struct ad_paper_problem paper = {.layers = p->layers,
                                           .nlayers = nlayers,
                                           .ndevices = n,
                                           .speed = p->speed,
                                           .bandwidth = p->bandwidth,
                                           .threshold = problem->threshold,
                                           .around = problem->window_around,
                                           .node_limit = NODE_LIMIT,
                                           .deadline_ns = problem->deadline_ns,
                                           .iterations = ITERATIONS};
    enum adaps_status status = ad_paper_search(&paper, &chain->result, p->err);
    if (status != ADAPS_OK) {
        ad_free(chain->layers);
        return status;
    }
    p->result->visited += chain->result.visited;
    *out = (int)p->nchains++;
    return ADAPS_OK;
}

/* --- what crosses borders --- */

/* All of it on one device, in the order of the devices. */
static void lie_on(int device, int ndevices, int rows, struct ad_paper_interval *out)
{
    for (int d = 0; d < ndevices; d++)
        out[d] = (struct ad_paper_interval){d > device ? rows : 0, d >= device ? rows : 0};
}

/* What the devices have of a value along the side's dimension. False: it is split along the other
 * one. Then a device that has a part of all columns counts as having none, for it fetches about as
 * much, and the fastest as having all, for one must: missing_ns() is what that leaves out. */
static bool lie_of(const struct planner *p, const struct ad_block *block, const struct side *side,
                   int value, struct ad_paper_interval *out)
{
    const struct ad_value *v = &p->graph->values[value];
    int n = p->context->problem->cluster->ndevices, rows = (int)extent_of(&v->box, side->dim);
    int place = v->producer >= 0 ? p->place[v->producer] : -1;
    bool here = place >= 0 && place < block->nops && block->ops[place] == v->producer;
    if (v->producer < 0 || (here && side->chain[place] < 0)) {
        lie_on(v->producer < 0 ? p->context->problem->cluster->source : p->context->fastest, n,
               rows, out);
        return true;
    }
    int at = 0;
    for (int d = 0; d < n; d++) {
        struct ad_region r = *ad_assigned(&p->result->assignment, v->producer, d);
        struct ad_region whole = ad_region_whole(v);
        if (here) {
            out[d] = p->chains[side->chain[place]].result.cuts[side->layer[place] * n + d];
        } else if (side->dim == AD_DIM_H) {
            bool full = !ad_region_empty(r) && r.w0 == 0 && r.w1 == whole.w1;
            out[d] =
                full ? (struct ad_paper_interval){r.h0, r.h1} : (struct ad_paper_interval){at, at};
        } else {
            bool full = !ad_region_empty(r) && r.h0 == 0 && r.h1 == whole.h1;
            out[d] =
                full ? (struct ad_paper_interval){r.w0, r.w1} : (struct ad_paper_interval){at, at};
        }
        /* regions that grew (ad_region_allow()) may begin before those of the device before */
        out[d].s = ad_clamp(out[d].s, d > 0 ? out[d - 1].s : 0, at);
        out[d].e = out[d].e > out[d].s ? out[d].e : out[d].s;
        at = out[d].e > at ? out[d].e : at;
    }
    if (at < rows) /* split along the other dimension */
        lie_on(p->context->fastest, n, rows, out);
    return at == rows;
}

/* Nanoseconds in which the fastest device fetches what it lacks of a value that was planned before
 * the block. */
static double missing_ns(const struct planner *p, int value, double bytes)
{
    const struct ad_value *v = &p->graph->values[value];
    int fastest = p->context->fastest;
    struct ad_region own = *ad_assigned(&p->result->assignment, v->producer, fastest);
    double all = (double)ad_region_elements(ad_region_whole(v));
    return bytes * (1 - (double)ad_region_elements(own) / all) / p->bandwidth[fastest] * p->tick_ns;
}

/* The inputs of an op that come from other ops or the network's input; the one with most bytes
 * (-1: none), and the bytes of a row of all of them. */
static int largest_input(const struct planner *p, const struct ad_op *op, enum ad_dim dim,
                         int *count, double *row_bytes)
{
    int64_t most = 0;
    int largest = -1;
    *count = 0;
    *row_bytes = 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *v = &p->graph->values[op->inputs[k]];
        int64_t bytes = ad_value_bytes(v), rows = extent_of(&v->box, dim);
        if (v->constant >= 0)
            continue;
        ++*count;
        *row_bytes += (double)bytes / (double)rows;
        if (bytes > most) {
            most = bytes;
            largest = op->inputs[k];
        }
    }
    return largest;
}

/* Puts in front of the chain what its first op reads. */
static int put_entry(struct planner *p, const struct ad_block *block, struct side *side,
                     const struct ad_op *op)
{
    double row_bytes;
    int count, value = largest_input(p, op, side->dim, &count, &row_bytes);
    if (value < 0)
        return 0;
    int64_t rows = extent_of(&p->graph->values[value].box, side->dim);
    if (rows > AD_PAPER_ROWS)
        return 0;
    if (!lie_of(p, block, side, value, p->entry)) { /* for its share by speed */
        double sum = 0;
        for (int d = 0; d < p->context->problem->cluster->ndevices; d++)
            sum += p->speed[d];
        double ns = missing_ns(p, value, row_bytes * (double)rows) / sum;
        side->score += ns;
        side->bound += ns;
    }
    p->layers[0] = (struct ad_paper_layer){
        .out_size = (int)rows, .kernel = 1, .stride = 1, .bytes = row_bytes, .given = p->entry};
    return 1;
}

/* Whether op `next` reads op `last` alone, so that both are layers of a chain. */
static bool follows(const struct planner *p, int last, int next, enum ad_dim dim)
{
    double row_bytes;
    int count, value = largest_input(p, &p->graph->ops[next], dim, &count, &row_bytes);
    return count == 1 && p->graph->values[value].producer == last;
}

/* Who wants all of an op's output: -1 nobody, the source if it is an output of the network, or the
 * fastest device if an op that is not split reads it. */
static int whole_at(const struct planner *p, int op, enum ad_dim dim)
{
    const struct ad_graph *graph = p->graph;
    for (int i = 0; i < graph->noutputs; i++)
        if (graph->values[graph->outputs[i]].producer == op)
            return p->context->problem->cluster->source;
    for (int i = op + 1; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (graph->values[graph->ops[i].inputs[k]].producer == op && !is_split(p, i, dim))
                return p->context->fastest;
    return -1;
}

static int put_exit(struct planner *p, const struct side *side, int op, int nlayers)
{
    int at = whole_at(p, op, side->dim);
    int rows = (int)extent_of(&p->graph->values[p->graph->ops[op].output].box, side->dim);
    if (at < 0)
        return 0;
    lie_on(at, p->context->problem->cluster->ndevices, 1, p->exit);
    p->layers[nlayers] =
        (struct ad_paper_layer){.out_size = 1, .kernel = rows, .stride = rows, .given = p->exit};
    return 1;
}

/* Nanoseconds in which the fastest device fetches what it lacks of the inputs of a whole op, but
 * for what chains have paid for. */
static double gather_ns(const struct planner *p, const struct ad_block *block,
                        const struct side *side, const struct ad_op *op)
{
    int n = p->context->problem->cluster->ndevices, at = p->context->fastest;
    double ns = 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *v = &p->graph->values[op->inputs[k]];
        struct ad_paper_interval lie[AD_MAX_DEVICES];
        int64_t rows = extent_of(&v->box, side->dim);
        int place = v->producer >= 0 ? p->place[v->producer] : -1;
        bool here = place >= 0 && place < block->nops && block->ops[place] == v->producer;
        if (v->constant >= 0 || (here && side->charged[place]) || rows > AD_PAPER_ROWS)
            continue;
        double bytes = (double)ad_value_bytes(v);
        if (!lie_of(p, block, side, op->inputs[k], lie)) {
            ns += missing_ns(p, op->inputs[k], bytes);
            continue;
        }
        double missing = 1 - (double)(lie[at].e - lie[at].s) / (double)rows;
        ns += n > 1 ? missing * bytes / p->bandwidth[at] * p->tick_ns : 0;
    }
    return ns;
}

/* Collects and plans the chain that begins at place `first`; *end: where the next begins. */
static enum adaps_status plan_chain_at(struct planner *p, const struct ad_block *block,
                                       struct side *side, int first, int *end)
{
    int entry = put_entry(p, block, side, &p->graph->ops[block->ops[first]]), chain = -1;
    int nlayers = entry, k = first;
    do
        p->layers[nlayers++] = layer_of(p, block->ops[k++], side->dim);
    while (k < block->nops && is_split(p, block->ops[k], side->dim) &&
           follows(p, block->ops[k - 1], block->ops[k], side->dim));
    int exit = put_exit(p, side, block->ops[k - 1], nlayers);
    enum adaps_status status = plan_chain(p, nlayers + exit, &chain);
    if (status != ADAPS_OK)
        return status;
    side->score += (double)p->chains[chain].result.score * p->tick_ns;
    side->bound += p->chains[chain].result.bound * p->tick_ns;
    side->space_log10 += p->chains[chain].result.space_log10;
    for (int i = first; i < k; i++) {
        side->chain[i] = chain;
        side->layer[i] = entry + i - first;
        side->charged[i] = exit && i + 1 == k;
    }
    *end = k;
    return ADAPS_OK;
}

/* The block along one dimension. */
static enum adaps_status plan_side(struct planner *p, const struct ad_block *block,
                                   struct side *side)
{
    side->score = side->bound = side->space_log10 = 0;
    for (int first = 0, end; first < block->nops; first = end) {
        if (is_split(p, block->ops[first], side->dim)) {
            enum adaps_status status = plan_chain_at(p, block, side, first, &end);
            if (status != ADAPS_OK)
                return status;
            continue;
        }
        const struct ad_op *op = &p->graph->ops[block->ops[first]];
        double ns = whole_ns(p, op) + gather_ns(p, block, side, op);
        side->score += ns;
        side->bound += ns;
        side->chain[first] = -1;
        side->layer[first] = 0;
        side->charged[first] = false;
        end = first + 1;
    }
    return ADAPS_OK;
}

/* The regions of a block as the better side has them. */
static void assign_block(struct planner *p, const struct ad_block *block)
{
    const struct side *side = p->better;
    int n = p->context->problem->cluster->ndevices;
    for (int k = 0; k < block->nops; k++) {
        const struct ad_op *op = &p->graph->ops[block->ops[k]];
        struct ad_region whole = ad_region_whole(&p->graph->values[op->output]);
        for (int d = 0; d < n; d++) {
            struct ad_region r = whole;
            if (side->chain[k] < 0) {
                r = d == p->context->fastest ? whole : ad_region_none();
            } else {
                const struct ad_paper_interval *cut =
                    &p->chains[side->chain[k]].result.cuts[side->layer[k] * n + d];
                if (side->dim == AD_DIM_H)
                    r.h0 = cut->s, r.h1 = cut->e;
                else
                    r.w0 = cut->s, r.w1 = cut->e;
            }
            *ad_assigned(&p->result->assignment, block->ops[k], d) =
                ad_region_allow(p->graph, op, r);
        }
    }
}

static enum adaps_status plan_block(struct planner *p, const struct ad_block *block)
{
    for (int k = 0; k < block->nops; k++)
        p->place[block->ops[k]] = k;
    for (int i = 0; i < 2; i++) {
        enum adaps_status status = plan_side(p, block, &p->sides[i]);
        if (status != ADAPS_OK)
            return status;
    }
    const struct side *h = &p->sides[0], *w = &p->sides[1];
    double large = fmax(h->space_log10, w->space_log10);
    p->better = &p->sides[w->score < h->score];
    p->score += p->better->score;
    p->bound += fmin(h->bound, w->bound);
    p->space_log10 += large + log10(1 + pow(10, fmin(h->space_log10, w->space_log10) - large));
    assign_block(p, block);
    return ADAPS_OK;
}

/* The least power of two at which a chain of all ops has less than MOST_TICKS. */
static double tick_of(const struct planner *p)
{
    double slowest = 1, narrowest = INFINITY, ns = 0, tick = 1;
    for (int d = 0; d < p->context->problem->cluster->ndevices; d++) {
        slowest = fmin(slowest, p->speed[d]);
        narrowest = fmin(narrowest, p->bandwidth[d]);
    }
    for (int i = 0; i < p->graph->nops; i++) {
        const struct ad_op *op = &p->graph->ops[i];
        ns += 3 * whole_ns(p, op) / slowest +
              (double)ad_value_bytes(&p->graph->values[op->output]) / narrowest +
              4.0 * AD_PAPER_ROWS;
    }
    while (ns * p->context->problem->cluster->ndevices / tick >= MOST_TICKS)
        tick *= 2;
    return tick;
}

static enum adaps_status planner_init(struct planner *p)
{
    const struct ad_context *context = p->context;
    const struct ad_cluster *cluster = context->problem->cluster;
    size_t nops = (size_t)p->graph->nops;
    int n = cluster->ndevices;
    for (int d = 0; d < n; d++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += k != d ? cluster->links[k * n + d].bandwidth : 0;
        p->bandwidth[d] = n > 1 ? sum / (n - 1) * 1e-9 : 1;
        p->speed[d] = context->speed[d] / context->speed[context->fastest];
    }
    p->tick_ns = tick_of(p);
    for (int d = 0; d < n; d++)
        p->bandwidth[d] *= p->tick_ns;
    p->layers = ad_calloc(nops + 2, sizeof *p->layers);
    p->place = ad_calloc(nops, sizeof *p->place);
    bool room = p->layers && p->place;
    for (int i = 0; i < 2; i++) {
        p->sides[i].dim = i == 0 ? AD_DIM_H : AD_DIM_W;
        p->sides[i].chain = ad_calloc(nops, sizeof(int));
        p->sides[i].layer = ad_calloc(nops, sizeof(int));
        p->sides[i].charged = ad_calloc(nops, sizeof(bool));
        room = room && p->sides[i].chain && p->sides[i].layer && p->sides[i].charged;
    }
    return room ? ADAPS_OK : ad_error_memory(p->err, "search", nops * sizeof *p->layers);
}

static void planner_fini(struct planner *p)
{
    for (size_t i = 0; i < p->nchains; i++) {
        ad_paper_result_fini(&p->chains[i].result);
        ad_free(p->chains[i].layers);
    }
    for (int i = 0; i < 2; i++) {
        ad_free(p->sides[i].chain);
        ad_free(p->sides[i].layer);
        ad_free(p->sides[i].charged);
    }
    ad_free(p->chains);
    ad_free(p->layers);
    ad_free(p->place);
}

static void certify(const struct planner *p)
{
    struct ad_search_result *r = p->result;
    char score[32], bound[32];
    r->bound = p->bound;
    r->gap = p->score > 0 ? fmax(0, (p->score - p->bound) / p->score) : 0;
    r->space_log10 = p->space_log10;
    size_t used = strlen(r->note);
    snprintf(r->note + used, sizeof r->note - used,
             "%sthe paper's score is %s; no layout of the window has less than %s (gap %.2f %%)",
             used ? "; " : "", ad_format_ns(p->score, score, sizeof score),
             ad_format_ns(p->bound, bound, sizeof bound), r->gap * 100);
}

static enum adaps_status plan(struct planner *p, struct ad_eval *eval)
{
    const struct ad_search_problem *problem = p->context->problem;
    enum adaps_status status = ad_assignment_init(&p->result->assignment, p->graph->nops,
                                                  problem->cluster->ndevices, p->err);
    if (status == ADAPS_OK)
        status = planner_init(p);
    for (int b = 0; b < problem->blocks->nblocks && status == ADAPS_OK; b++)
        status = plan_block(p, &problem->blocks->blocks[b]);
    if (status == ADAPS_OK)
        status = ad_search_result_build(eval, "adaps", p->result);
    if (status == ADAPS_OK)
        certify(p);
    return status;
}

enum adaps_status ad_adaps_plan(const struct ad_search_problem *problem,
                                struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_context context;
    struct ad_eval eval;
    struct planner p = {.context = &context, .graph = problem->graph, .result = result, .err = err};
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_eval_init(&eval, &context, err);
    if (status == ADAPS_OK) {
        status = plan(&p, &eval);
        ad_eval_fini(&eval);
    }
    planner_fini(&p);
    ad_context_fini(&context);
    return status;
}
