/* Strategy `deeperthings`, after R. Stahl et al., "DeeperThings: Fully Distributed CNN Inference on
 * Resource-Constrained Edge Devices" (Int. J. Parallel Programming 2021).
 *
 * Modelled: the early layers, whose maps weigh more, are fused tiles as in DeepThings, but in
 * several groups, between which devices exchange. In the layers after them the weights are divided,
 * by output channels (layer output partitioning: every device needs the whole input) or by input
 * channels (layer input partitioning: every device computes a part of every sum). Two layers are
 * fused when one divided by output is followed by one divided by input: what a device made of the
 * first is all that it reads in the second, and nothing is exchanged between them. Pools, depthwise
 * convolutions and functions in between stay on the same channels. So layers take turns.
 *
 * Interpreted: the publication chooses by an integer programme over layers; here a group ends where
 * the height of maps changes, each of these places is tried as the end of the last group, and the
 * clocks choose. The devices have equal parts, in blocks of channels (ir/partial.h), as many as a
 * power of two that is at least twice the devices. Sums are added on each device as far as its
 * blocks go, then by rows, or on the source where there are fewer rows than devices. What divides
 * neither way is whole on the source. */
#include "search/published/deeperthings.h"
#include "base/mem.h"
#include "ir/operators.h"
#include "ir/partial.h"
#include "search/published/published.h"
#include "search/trial.h"

#include <string.h>

#define MOST_ENDS 12

/* Where a value lies after the end of the tiles. */
enum lies { GATHERED, CHANNELS, ROWS };

/* One end of the fused tiles, on the graph as it is or with sums in blocks. */
struct layer_walk {
    const struct ad_graph *graph;
    bool split_h, split_c; /* --dims */
    int end;               /* the last op of the tiles; -1: there are none */
    int ndevices, source;
    int32_t blocks;               /* of channels, that devices share */
    int part[AD_MAX_DEVICES + 1]; /* device d has the blocks from part[d] to part[d + 1] */
    enum lies *lies;              /* by value */
    int32_t *sums;                /* by op, what ad_graph_partial() takes; NULL: it is not asked */
    struct ad_layout *layout;     /* NULL: it is not asked */
};

/* --- one op --- */

static void lay(struct layer_walk *w, int op, enum ad_dim dim)
{
    if (w->layout)
        w->layout->ops[op] = (struct ad_op_layout){.dim = dim, .pinned = true, .at = w->source};
}

/* The devices' blocks of channels, `together` of which are one. */
static enum lies lay_channels(struct layer_walk *w, int op, int together)
{
    lay(w, op, AD_DIM_C);
    for (int d = 0; w->layout && d <= w->ndevices; d++)
        ad_layout_cuts(w->layout, op)[d] =
            (w->part[d] + together - 1) / together * together * (AD_CUT_UNITS / w->blocks);
    return CHANNELS;
}

/* Rows by the devices' parts where there are enough, else whole on the source. */
static enum lies lay_rows(struct layer_walk *w, int op)
{
    const struct ad_op *o = &w->graph->ops[op];
    if (!w->split_h || w->graph->values[o->output].box.h < w->ndevices ||
        !ad_dim_splits(w->graph, o, AD_DIM_H)) {
        lay(w, op, AD_DIM_WHOLE);
        return GATHERED;
    }
    lay(w, op, AD_DIM_H);
    for (int d = 0; w->layout && d <= w->ndevices; d++)
        ad_layout_cuts(w->layout, op)[d] = w->part[d] * (AD_CUT_UNITS / w->blocks);
    return ROWS;
}

/* Sums of partial sums: by the device that has the first of each pair while there are as many as
 * devices, which are mostly its own, then by rows. */
static enum lies lay_fold(struct layer_walk *w, int op)
{
    const struct ad_op *o = &w->graph->ops[op];
    int64_t left = w->graph->values[o->output].box.c / o->inner;
    return w->split_c && left >= w->ndevices ? lay_channels(w, op, (int)(w->blocks / left))
                                             : lay_rows(w, op);
}

static bool splits_channels(const struct layer_walk *w, const struct ad_op *op)
{
    return w->split_c && ad_dim_splits(w->graph, op, AD_DIM_C);
}

/* Whether the channels of all operands lie where a device makes the same channels of them. */
static bool reads_own_channels(const struct layer_walk *w, const struct ad_op *op)
{
    for (int k = 0; k < op->ninputs; k++)
        if (w->graph->values[op->inputs[k]].constant < 0 && w->lies[op->inputs[k]] != CHANNELS)
            return false;
    enum ad_reach c = ad_operator_of(op->kind)->c;
    return c == AD_REACH_SAME || ad_op_is_depthwise(w->graph, op);
}

/* A layer with weights for all input channels. Its sums are partial where the layer before left its
 * channels on the devices. */
static enum lies lay_layer(struct layer_walk *w, int i)
{
    const struct ad_op *op = &w->graph->ops[i];
    if (op->partial > 1)
        return lay_channels(w, i, 1);
    if (w->sums && w->lies[op->inputs[0]] == CHANNELS &&
        ad_partial_blocks(w->graph, i, w->blocks) == w->blocks) {
        w->sums[i] = w->blocks;
        return w->graph->values[op->output].box.h < w->ndevices ? GATHERED : ROWS;
    }
    return splits_channels(w, op) ? lay_channels(w, i, 1) : lay_rows(w, i);
}

static enum lies lay_op(struct layer_walk *w, int i)
{
    const struct ad_op *op = &w->graph->ops[i];
    bool depthwise = ad_op_is_depthwise(w->graph, op);
    if (ad_kind_has(op->kind, AD_FIELD_CHANNELS))
        return lay_fold(w, i);
    if (ad_kind_has(op->kind, AD_FIELD_WEIGHT) && !depthwise)
        return lay_layer(w, i);
    return splits_channels(w, op) && reads_own_channels(w, op) ? lay_channels(w, i, 1)
                                                               : lay_rows(w, i);
}

/* --- all ops --- */

static struct layer_walk walk_of(const struct ad_search_problem *p, int end)
{
    return (struct layer_walk){.graph = p->graph,
                               .split_h = p->split_h,
                               .split_c = p->split_c,
                               .end = end,
                               .ndevices = p->cluster->ndevices,
                               .source = p->cluster->source};
}

static void walk(struct layer_walk *w)
{
    for (int v = 0; v < w->graph->nvalues; v++)
        w->lies[v] = GATHERED;
    for (int i = 0; i < w->graph->nops; i++)
        w->lies[w->graph->ops[i].output] = i > w->end ? lay_op(w, i) : ROWS;
}

/* Blocks by weight: as near to it as whole blocks allow. */
static void share_blocks(struct layer_walk *w, const double *weight)
{
    double sum = 0, upto = 0;
    w->blocks = ad_partial_shared(w->ndevices);
    for (int d = 0; d < w->ndevices; d++)
        sum += weight[d];
    for (int d = 0; d < w->ndevices; d++) {
        upto += weight[d];
        w->part[d + 1] = (int)(upto / sum * w->blocks + 0.5);
    }
}

/* --- where the tiles end --- */

/* Where the tiles may end: nowhere, and where the height changes and all paths meet, in the part of
 * the network in which everything divides by rows. Returns how many. */
static int find_ends(const struct ad_context *context, int *ends)
{
    const struct ad_graph *graph = context->problem->graph;
    int n = 0, last = -1;
    ends[n++] = -1;
    for (int i = 0; i + 1 < graph->nops && ad_context_bands(context, i) != AD_DIM_WHOLE; i++) {
        const struct ad_value *out = &graph->values[graph->ops[i].output];
        bool lower = graph->values[graph->ops[i + 1].output].box.h != out->box.h;
        if (context->cut[i] && lower && n < MOST_ENDS - 1)
            ends[n++] = i;
        last = context->cut[i] ? i : last;
    }
    if (ends[n - 1] != last)
        ends[n++] = last;
    return n;
}

/* Tiles from each possible end to the next, up to `end`. */
static void lay_tiles(const struct ad_context *context, const double *weight, int end,
                      struct ad_layout *layout)
{
    int ends[MOST_ENDS], n = find_ends(context, ends);
    for (int k = 1; k < n && ends[k] <= end; k++)
        ad_fused_tiles_lay(context, weight, ends[k - 1] + 1, ends[k], layout);
}

/* --- one end --- */

/* The graph for this end of the tiles; *out NULL: no sums are in blocks. */
static enum adaps_status graph_for(const struct ad_search_problem *p, const double *weight, int end,
                                   struct ad_graph **out, struct adaps_error *err)
{
    const struct ad_graph *graph = p->graph;
    struct layer_walk w = walk_of(p, end);
    enum adaps_status status = ADAPS_OK;
    w.sums = ad_calloc((size_t)graph->nops, sizeof *w.sums);
    w.lies = ad_calloc((size_t)graph->nvalues, sizeof *w.lies);
    *out = NULL;
    if (!w.sums || !w.lies)
        status = ad_error_memory(err, "layers", (size_t)graph->nops * sizeof *w.sums);
    bool any = false;
    if (status == ADAPS_OK) {
        share_blocks(&w, weight);
        walk(&w);
        for (int i = 0; i < graph->nops; i++)
            any = any || w.sums[i] > 1;
    }
    if (any && w.ndevices > 1)
        status = ad_graph_partial(graph, w.sums, out, err);
    ad_free(w.sums);
    ad_free(w.lies);
    return status;
}

static enum adaps_status lay_all(const struct ad_context *context, const double *weight, int end,
                                 struct ad_layout *layout, struct adaps_error *err)
{
    const struct ad_search_problem *p = context->problem;
    struct layer_walk w = walk_of(p, end);
    w.layout = layout;
    w.lies = ad_calloc((size_t)p->graph->nvalues, sizeof *w.lies);
    if (!w.lies)
        return ad_error_memory(err, "layers", (size_t)p->graph->nvalues * sizeof *w.lies);
    share_blocks(&w, weight);
    lay_tiles(context, weight, end, layout);
    walk(&w);
    ad_free(w.lies);
    return ADAPS_OK;
}

/* Orders in which the tasks of a layout may run, the published one first. */
static const struct {
    enum ad_order order;
    bool early;
} ways[] = {{AD_ORDER_GRAPH, false}, {AD_ORDER_READY, false}, {AD_ORDER_PIECES, true}};

/* One end of the tiles, with its layout. */
struct attempt {
    struct ad_trial trial;
    int nways; /* how many of `ways` are tried */
};

static enum adaps_status attempt_init(struct attempt *a, const struct ad_search_problem *problem,
                                      const double *weight, bool ahead, int end,
                                      struct adaps_error *err)
{
    struct ad_graph *graph;
    struct ad_trial *t = &a->trial;
    *a = (struct attempt){.nways = ahead ? (int)(sizeof ways / sizeof *ways) : 1};
    enum adaps_status status = graph_for(problem, weight, end, &graph, err);
    if (status == ADAPS_OK)
        status = ad_trial_init(t, problem, graph, err);
    if (status == ADAPS_OK)
        status = lay_all(&t->context, weight, end, &t->layout, err);
    t->layout.u8 = ahead && t->context.u8;
    if (ahead)
        t->layout.encoding = t->context.encoding;
    return status;
}

/* The score of the layout in the best of the ways, in which it is left. */
static enum adaps_status score_ways(struct attempt *a, struct ad_score *best)
{
    struct ad_trial *t = &a->trial;
    int chosen = 0, count = a->nways;
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i <= count && status == ADAPS_OK; i++) {
        struct ad_score score;
        int way = i < count ? i : chosen;
        t->layout.order = ways[way].order;
        for (int k = 0; k < t->layout.nops; k++)
            t->layout.ops[k].early = ways[way].early && t->layout.ops[k].dim != AD_DIM_WHOLE;
        if (i == count)
            break;
        status = ad_eval_score(&t->eval, &t->layout, NULL, &score);
        if (status == ADAPS_OK && (i == 0 || ad_score_better(&score, best))) {
            *best = score;
            chosen = i;
        }
    }
    return status;
}

/* The layout as the result, which takes the graph. */
static enum adaps_status finish(struct attempt *a, const char *strategy,
                                struct ad_search_result *result)
{
    struct ad_trial *t = &a->trial;
    enum adaps_status status = ad_search_result_of(&t->eval, strategy, &t->layout, result);
    if (status == ADAPS_OK)
        result->graph = ad_trial_take_graph(t);
    return status;
}

/* --- all ends --- */

enum adaps_status ad_channels_plan(const struct ad_search_problem *problem, const char *strategy,
                                   const double *weight, bool ahead,
                                   struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_context context;
    struct ad_score best = {0}, score;
    struct attempt attempts[2] = {{.nways = 0}}, *now = &attempts[0], *kept = &attempts[1];
    int ends[MOST_ENDS], n = 0;
    bool any = false;
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    n = find_ends(&context, ends);
    ad_context_fini(&context);
    for (int i = 0; i < n && status == ADAPS_OK; i++) {
        status = attempt_init(now, problem, weight, ahead, ends[i], err);
        if (status == ADAPS_OK)
            status = score_ways(now, &score);
        if (status == ADAPS_OK && (!any || ad_score_better(&score, &best))) {
            struct attempt *worse = kept;
            kept = now;
            now = worse;
            best = score;
            any = true;
        }
        ad_trial_fini(&now->trial);
    }
    if (status == ADAPS_OK)
        status = finish(kept, strategy, result);
    result->visited = (int64_t)n * kept->nways;
    ad_trial_fini(&kept->trial);
    return status;
}

enum adaps_status ad_deeperthings_plan(const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    double equal[AD_MAX_DEVICES];
    for (int d = 0; d < problem->cluster->ndevices; d++)
        equal[d] = 1;
    return ad_channels_plan(problem, "deeperthings", equal, false, result, err);
}
