/* Strategy `adaps`: the search of ADaPS (Mateu Cuadrat, Egger: ADaPS: Adaptive Data Partitioning to
 * Parallelize CNN Inference on Resource-Constrained Hardware, LCTES 2025), equations 1 to 12 and
 * section 4.5, as published. paper.h has the problem of one chain and how its gaps are read; here
 * it is made from the graph, and its answer becomes an ordinary assignment: the regions are the
 * chosen intervals, and the common schedule moves what is missing. The simulated clock is reported;
 * it has no part in the choice.
 *
 * Modelled: the network is cut into sub-blocks (4.2); each is planned by itself along its height
 * and along its width, and the lower score is taken. Operators of type 3 (Table 2) are not split:
 * they run whole on the fastest device.
 *
 * Interpreted:
 * - Within a sub-block, layers that are split form a chain until one that is not: one of type 3,
 *   with fewer rows than devices, or without a rule that lets this dimension be cut. Between
 * chains, as at the borders of a sub-block, eq 12 has no neighbour: no transfer is charged there.
 * - speed_d is the device's convolution rate relative to the fastest; a row of a layer weighs what
 *   the cost model says of the whole layer on the fastest device, divided by its rows. (The paper
 *   fits one linear model from measurements.)
 * - BW_d is the mean bandwidth of the links into d; latency has no place in eq 8.
 * - A dilated kernel reads the span of its taps.
 * - A layer that is not split counts with its time on the fastest device, so that height and width
 *   compare.
 * - A region whose tile could not be computed with the same bits (one single pixel) grows as in
 *   every strategy; the score ignores that.
 * - Equal chains (ResNet has many) are planned once (4.5.3).
 *
 * The certificate: no layout of the window has a lower sum of scores than `bound`. */
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

/* A chain that was planned. */
struct chain {
    struct ad_paper_layer *layers;
    int nlayers;
    struct ad_paper_result result;
};

/* One dimension of one sub-block. chain[k], layer[k]: what op k of the block is in; chain -1: whole
 */
struct side {
    enum ad_dim dim;
    double score, bound, space_log10;
    int *chain, *layer;
};

struct planner {
    const struct ad_context *context;
    const struct ad_graph *graph;
    struct ad_search_result *result;
    double tick_ns; /* of the score: 1, or more where links are so slow that it would not fit */
    double speed[AD_MAX_DEVICES], bandwidth[AD_MAX_DEVICES]; /* the latter in bytes per tick */
    struct chain *chains;
    size_t nchains, chain_room;
    struct ad_paper_layer *layers; /* of the chain being collected */
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
    return n > 1 && ad_op_type(&p->graph->ops[op]) != 3 && p->context->can[op][dim] && rows >= n &&
           rows <= AD_PAPER_ROWS;
}

static struct ad_paper_layer layer_of(const struct planner *p, int index, enum ad_dim dim)
{
    const struct ad_op *op = &p->graph->ops[index];
    const struct ad_box *box = &p->graph->values[op->output].box;
    struct ad_axis axis = ad_op_axis(p->graph, op, dim == AD_DIM_H ? AD_ALONG_H : AD_ALONG_W);
    int64_t rows = extent_of(box, dim);
    return (struct ad_paper_layer){
        .out_size = (int)rows,
        .kernel = (int)(axis.dilation * (axis.taps - 1) + 1),
        .stride = (int)axis.stride,
        .pad = (int)axis.pad,
        .work = whole_ns(p, op) / (double)rows / p->tick_ns,
        .bytes = (double)(ad_box_elements(*box) / rows) * sizeof(float),
    };
}

static bool same_layers(const struct ad_paper_layer *a, const struct ad_paper_layer *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].out_size != b[i].out_size || a[i].kernel != b[i].kernel ||
            a[i].stride != b[i].stride || a[i].pad != b[i].pad || a[i].work != b[i].work ||
            a[i].bytes != b[i].bytes)
            return false;
    return true;
}

/* Plans p->layers, unless an equal chain has been planned; *out: its index. */
static enum adaps_status plan_chain(struct planner *p, int nlayers, int *out)
{
    const struct ad_search_problem *problem = p->context->problem;
    for (size_t i = 0; i < p->nchains; i++)
        if (p->chains[i].nlayers == nlayers &&
            same_layers(p->chains[i].layers, p->layers, nlayers)) {
            *out = (int)i;
            return ADAPS_OK;
        }
    struct chain chain = {.nlayers = nlayers};
    chain.layers = ad_calloc((size_t)nlayers, sizeof *chain.layers);
    if (!chain.layers || !ad_grow(&p->chains, p->nchains, &p->chain_room, sizeof *p->chains)) {
        ad_free(chain.layers);
        return ad_error_memory(p->err, "chains", (p->nchains + 1) * sizeof *p->chains);
    }
    memcpy(chain.layers, p->layers, (size_t)nlayers * sizeof *chain.layers);
    const struct ad_paper_problem paper = {.layers = chain.layers,
                                           .nlayers = nlayers,
                                           .ndevices = problem->cluster->ndevices,
                                           .speed = p->speed,
                                           .bandwidth = p->bandwidth,
                                           .threshold = problem->threshold,
                                           .node_limit = NODE_LIMIT,
                                           .deadline_ns = problem->deadline_ns,
                                           .iterations = ITERATIONS};
    enum adaps_status status = ad_paper_search(&paper, &chain.result, p->err);
    if (status != ADAPS_OK) {
        ad_free(chain.layers);
        return status;
    }
    p->result->visited += chain.result.visited;
    *out = (int)p->nchains;
    p->chains[p->nchains++] = chain;
    return ADAPS_OK;
}

/* The block along one dimension. */
static enum adaps_status plan_side(struct planner *p, const struct ad_block *block,
                                   struct side *side)
{
    side->score = side->bound = side->space_log10 = 0;
    for (int first = 0, end; first < block->nops; first = end) {
        int nlayers = 0, chain = -1;
        end = first;
        while (end < block->nops && is_split(p, block->ops[end], side->dim))
            p->layers[nlayers++] = layer_of(p, block->ops[end++], side->dim);
        if (nlayers > 0) {
            enum adaps_status status = plan_chain(p, nlayers, &chain);
            if (status != ADAPS_OK)
                return status;
            side->score += (double)p->chains[chain].result.score * p->tick_ns;
            side->bound += p->chains[chain].result.bound * p->tick_ns;
            side->space_log10 += p->chains[chain].result.space_log10;
        } else {
            double ns = whole_ns(p, &p->graph->ops[block->ops[end++]]);
            side->score += ns;
            side->bound += ns;
        }
        for (int k = first; k < end; k++) {
            side->chain[k] = chain;
            side->layer[k] = k - first;
        }
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
        const struct ad_box *box = &p->graph->values[op->output].box;
        ns += 3 * whole_ns(p, op) / slowest +
              (double)ad_box_elements(*box) * sizeof(float) / narrowest + 4.0 * AD_PAPER_ROWS;
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
    p->layers = ad_calloc(nops, sizeof *p->layers);
    bool room = p->layers;
    for (int i = 0; i < 2; i++) {
        p->sides[i].dim = i == 0 ? AD_DIM_H : AD_DIM_W;
        p->sides[i].chain = ad_calloc(nops, sizeof(int));
        p->sides[i].layer = ad_calloc(nops, sizeof(int));
        room = room && p->sides[i].chain && p->sides[i].layer;
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
    }
    ad_free(p->chains);
    ad_free(p->layers);
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
