/* Strategy `collaborative`, after R. Hadidi et al., "Toward Collaborative Inferencing of Deep
 * Neural Networks on Internet-of-Things Devices" (IEEE IoT Journal 2020), procedure 1: a balanced
 * pipeline in which long layers are divided among several devices.
 *
 * Modelled: step 1, a layer that fits the memory of no device is divided; step 2, groups of layers
 * that follow each other, of as even a latency as can be, each on a device of its own, and layers
 * divided over devices where that evens it further; convolutions by output channel, by rows
 * ("spatial") or by input channel ("filter", the sums merged), dense layers by output or by input
 * (section 4, Table 2). The latencies come from the devices' profiles. Step 3, corrections by what
 * runs measure, is adaps bench --refine.
 *
 * Interpreted: "groups with same latency" are those whose largest load is smallest: a stage's
 * computing, or what it receives or sends, by an exact programme over the devices in their order,
 * the source first. A divided layer takes the pools and functions after it along where these keep
 * its parts apart. Sums are merged by the first device of the next stage. Filter splitting is in
 * blocks of channels (ir/partial.h), at least twice as many as devices. */
#include "search/published/collaborative.h"
#include "base/mem.h"
#include "ir/operators.h"
#include "ir/partial.h"
#include "search/layout_regions.h"
#include "search/published/chain.h"
#include "search/trial.h"

#include <math.h>
#include <string.h>

enum method { TOGETHER, BY_OUTPUT, BY_ROWS, BY_INPUT };

/* Ops [begin, end) on `count` devices from place `first` of the order on. */
struct stage {
    enum method method;
    int begin, end, first, count;
};

struct state {
    double load; /* of the longest stage from here on */
    enum method method;
    int end, count;
};

struct pipeline {
    const struct ad_search_problem *problem;
    const struct ad_chains *chains;
    int ndevices, order[AD_MAX_DEVICES];
    int npositions;
    struct state *states; /* [position * (ndevices + 1) + devices used] */
    double *loads;        /* scratch, by position */
    int nstages;
    struct stage stages[AD_MAX_DEVICES];
};

/* --- what a divided layer takes --- */

/* Whether an op keeps channels apart and reads nothing but op i's output. */
static bool follows(const struct ad_graph *graph, int i)
{
    const struct ad_op *op = &graph->ops[i];
    return i > 0 && op->ninputs == 1 && op->inputs[0] == graph->ops[i - 1].output &&
           !ad_kind_has(op->kind, AD_FIELD_WEIGHT) &&
           ad_operator_of(op->kind)->c == AD_REACH_SAME &&
           graph->values[op->output].format == graph->values[op->inputs[0]].format;
}

/* The layer at op i and what it takes along. */
static int layer_end(const struct ad_graph *graph, int i)
{
    int end = i + 1;
    while (end < graph->nops && follows(graph, end))
        end++;
    return end;
}

static int32_t blocks_for(const struct ad_graph *graph, int i, int count)
{
    return ad_partial_blocks(graph, i, ad_partial_shared(count));
}

static bool divides(const struct pipeline *p, const struct stage *s)
{
    const struct ad_graph *graph = p->problem->graph;
    const struct ad_op *op = &graph->ops[s->begin];
    if (!ad_kind_has(op->kind, AD_FIELD_WEIGHT) || ad_op_is_depthwise(graph, op))
        return false;
    if (s->method == BY_INPUT)
        return p->problem->split_c && blocks_for(graph, s->begin, s->count) >= s->count;
    enum ad_dim dim = s->method == BY_OUTPUT ? AD_DIM_C : AD_DIM_H;
    const struct ad_value *out = &graph->values[op->output];
    return (dim == AD_DIM_C ? p->problem->split_c : p->problem->split_h) &&
           ad_dim_extent(out, dim) >= s->count && ad_dim_splits(graph, op, dim);
}

/* Bytes of weights, and of the layer's own values, that a device of the stage has. */
static double bytes_of(const struct pipeline *p, const struct stage *s)
{
    const struct ad_graph *graph = p->problem->graph;
    const struct ad_op *op = &graph->ops[s->begin];
    const struct ad_weight *w = &graph->weights[op->weight];
    double weights = (double)w->rows * (double)w->row_elements * sizeof(float);
    double in = ad_chains_crossing(p->chains, s->begin),
           out = ad_chains_crossing(p->chains, s->end);
    return (s->method == BY_ROWS ? weights : weights / s->count) + AD_CHAIN_BUFFERS * fmax(in, out);
}

/* Seconds that the longest of its devices and ports takes for a divided layer; INFINITY: a device
 * lacks the memory. */
static double divided_load(const struct pipeline *p, const struct stage *s)
{
    double rate = 0, bandwidth = INFINITY;
    double in = ad_chains_crossing(p->chains, s->begin),
           out = ad_chains_crossing(p->chains, s->end);
    for (int k = s->first; k < s->first + s->count; k++) {
        int class = ad_chains_class(p->chains, p->order[k]);
        if (bytes_of(p, s) > ad_chains_memory(p->chains, class))
            return INFINITY;
        rate += 1 / ad_chains_seconds(p->chains, class, s->begin, s->end);
        bandwidth = fmin(bandwidth, ad_chains_bandwidth(p->chains, class));
    }
    if (s->method == BY_OUTPUT)
        in *= s->count;
    if (s->method == BY_INPUT)
        out *= s->count;
    return fmax(1 / rate, fmax(in, out) / bandwidth);
}

/* --- the programme --- */

static struct state *state_at(const struct pipeline *p, int position, int used)
{
    return &p->states[(size_t)position * (size_t)(p->ndevices + 1) + (size_t)used];
}

static void offer(struct state *best, double load, double rest, enum method method, int end,
                  int count)
{
    double all = fmax(load, rest);
    if (all < best->load)
        *best = (struct state){all, method, end, count};
}

/* The position at which an op stands, or the next one. */
static int position_of(const struct pipeline *p, int op)
{
    int k = 0;
    while (k < p->npositions && ad_chains_position(p->chains, k) < op)
        k++;
    return k;
}

static void try_groups(struct pipeline *p, int position, int used)
{
    struct state *best = state_at(p, position, used);
    ad_chains_loads(p->chains, ad_chains_class(p->chains, p->order[used]), position, p->loads);
    for (int q = position + 1; q <= p->npositions; q++)
        offer(best, p->loads[q], state_at(p, q, used + 1)->load, TOGETHER, q, 1);
}

static void try_divided(struct pipeline *p, int position, int used)
{
    int begin = ad_chains_position(p->chains, position);
    int end = layer_end(p->problem->graph, begin), q = position_of(p, end);
    if (ad_chains_position(p->chains, q) != end)
        return; /* of a long network not every op is a position */
    for (int count = 2; used + count <= p->ndevices; count++)
        for (enum method m = BY_OUTPUT; m <= BY_INPUT; m++) {
            const struct stage s = {m, begin, end, used, count};
            if (divides(p, &s))
                offer(state_at(p, position, used), divided_load(p, &s),
                      state_at(p, q, used + count)->load, m, q, count);
        }
}

static void solve(struct pipeline *p)
{
    for (int position = p->npositions; position >= 0; position--)
        for (int used = p->ndevices; used >= 0; used--) {
            bool done = position == p->npositions;
            *state_at(p, position, used) = (struct state){.load = done ? 0 : INFINITY};
            if (done || used == p->ndevices)
                continue;
            try_groups(p, position, used);
            try_divided(p, position, used);
        }
    for (int position = 0, used = 0; position < p->npositions;) {
        const struct state *s = state_at(p, position, used);
        if (s->load == INFINITY)
            return;
        p->stages[p->nstages++] =
            (struct stage){s->method, ad_chains_position(p->chains, position),
                           ad_chains_position(p->chains, s->end), used, s->count};
        used += s->count;
        position = s->end;
    }
}

/* --- the layout --- */

/* What sums the parts of stage k: the first device of the next one, at last the source. */
static int merges(const struct pipeline *p, int k)
{
    return k + 1 < p->nstages ? p->order[p->stages[k + 1].first] : p->problem->cluster->source;
}

/* Parts by speed among the stage's devices; in whole blocks where there are some. */
static void cut(const struct ad_context *context, const struct pipeline *p, const struct stage *s,
                int32_t blocks, int *cuts)
{
    double weight[AD_MAX_DEVICES] = {0};
    for (int k = s->first; k < s->first + s->count; k++)
        weight[p->order[k]] = context->speed[p->order[k]];
    ad_cuts_proportional(weight, p->ndevices, cuts);
    for (int d = 0; d <= p->ndevices && blocks > 1; d++)
        cuts[d] = (int)((int64_t)cuts[d] * blocks + AD_CUT_UNITS / 2) / AD_CUT_UNITS *
                  (AD_CUT_UNITS / blocks);
}

static void lay_op(const struct ad_context *context, const struct pipeline *p, int k,
                   int32_t blocks, int op, struct ad_layout *layout)
{
    const struct ad_graph *graph = context->problem->graph;
    const struct stage *s = &p->stages[k];
    const struct ad_op *o = &graph->ops[op];
    struct ad_op_layout *out = &layout->ops[op];
    *out = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = p->order[s->first]};
    if (s->method == TOGETHER)
        return;
    enum ad_dim dim = s->method == BY_ROWS ? AD_DIM_H : AD_DIM_C;
    bool summed = s->method == BY_INPUT && o->partial <= 1;
    out->at = merges(p, k);
    if (summed || !ad_dim_splits(graph, o, dim))
        return;
    out->dim = dim;
    cut(context, p, s, s->method == BY_INPUT ? blocks : 0, ad_layout_cuts(layout, op));
}

/* Ops of a graph with sums in blocks belong to the stage of the op that they were made of. */
static void lay_all(const struct ad_context *context, const struct pipeline *p,
                    struct ad_layout *layout)
{
    const struct ad_graph *graph = context->problem->graph, *original = p->problem->graph;
    int32_t blocks = 0;
    layout->u8 = context->u8;
    layout->encoding = context->encoding;
    for (int i = 0, o = 0, k = 0; i < graph->nops; i++) {
        while (o >= p->stages[k].end)
            k++;
        if (graph->ops[i].partial > 1)
            blocks = graph->ops[i].partial;
        lay_op(context, p, k, blocks, i, layout);
        o += graph->ops[i].output == original->ops[o].output;
    }
}

/* The graph in which layers that are divided by input are in blocks; *out NULL: there are none. */
static enum adaps_status graph_for(const struct pipeline *p, struct ad_graph **out,
                                   struct adaps_error *err)
{
    const struct ad_graph *graph = p->problem->graph;
    int32_t *blocks = ad_calloc((size_t)graph->nops, sizeof *blocks);
    bool any = false;
    *out = NULL;
    if (!blocks)
        return ad_error_memory(err, "layers", (size_t)graph->nops * sizeof *blocks);
    for (int k = 0; k < p->nstages; k++) {
        const struct stage *s = &p->stages[k];
        blocks[s->begin] = s->method == BY_INPUT ? blocks_for(graph, s->begin, s->count) : 0;
        any = any || s->method == BY_INPUT;
    }
    enum adaps_status status = any ? ad_graph_partial(graph, blocks, out, err) : ADAPS_OK;
    ad_free(blocks);
    return status;
}

static enum adaps_status lay(const struct pipeline *p, struct ad_search_result *result,
                             struct adaps_error *err)
{
    struct ad_trial trial = {.graph = NULL};
    struct ad_graph *graph;
    enum adaps_status status = graph_for(p, &graph, err);
    if (status == ADAPS_OK)
        status = ad_trial_init(&trial, p->problem, graph, err);
    if (status == ADAPS_OK) {
        lay_all(&trial.context, p, &trial.layout);
        status = ad_search_result_of(&trial.eval, "collaborative", &trial.layout, result);
    }
    if (status == ADAPS_OK)
        result->graph = ad_trial_take_graph(&trial);
    ad_trial_fini(&trial);
    return status;
}

/* --- the strategy --- */

/* The source first, then the order of the devices file. */
static void put_in_order(struct pipeline *p)
{
    int n = 0;
    p->order[n++] = p->problem->cluster->source;
    for (int d = 0; d < p->ndevices; d++)
        if (d != p->problem->cluster->source)
            p->order[n++] = d;
}

static enum adaps_status plan(struct pipeline *p, struct ad_search_result *result,
                              struct adaps_error *err)
{
    size_t width = (size_t)p->npositions + 1, states = width * (size_t)(p->ndevices + 1);
    p->states = ad_calloc(states, sizeof *p->states);
    p->loads = ad_calloc(width, sizeof *p->loads);
    if (!p->states || !p->loads)
        return ad_error_memory(err, "pipeline", states * sizeof *p->states);
    put_in_order(p);
    solve(p);
    if (p->nstages == 0) /* a name for what lacks memory */
        p->stages[p->nstages++] = (struct stage){TOGETHER, 0, p->problem->graph->nops, 0, 1};
    result->visited = 1;
    return lay(p, result, err);
}

enum adaps_status ad_collaborative_plan(const struct ad_search_problem *problem,
                                        struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_context context;
    struct ad_chains *chains = NULL;
    struct pipeline p = {.problem = problem, .ndevices = problem->cluster->ndevices};
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_chains_new(&context, AD_CHAIN_BUFFERS, &chains, err);
    if (status == ADAPS_OK) {
        p.chains = chains;
        p.npositions = ad_chains_positions(chains);
        status = plan(&p, result, err);
    }
    ad_free(p.states);
    ad_free(p.loads);
    ad_chains_free(chains);
    ad_context_fini(&context);
    return status;
}
