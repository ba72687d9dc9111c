/* Templates, the first step of strategy auto: bands with recomputed halos, fewer devices, early
 * merging.
 *
 * A band is fixed at chosen ops only (pins); in between every device computes what its own later
 * ops read, so nothing is exchanged there. Chosen on the simulated clock: the device subset (the
 * source and the fastest others), the op behind which everything runs whole on one device, that
 * device, whether feature vectors are split by output, the order of the tasks, whether what others
 * wait for is computed first, in how many chunks, and the pins.
 *
 * How: a grid over templates (subset x pin pattern x merge op), then descent along each of the
 * template's coordinates in turn, then single pins toggled and segments turned to columns as long
 * as the clock gets better. The idea of fusing layers to save exchanges is that of fused-layer
 * tiling (DeepThings and others); which layers to fuse is searched here instead of given. */
#include "search/starts.h"
#include "search/strategies.h"

#include <math.h>

#define GRID_MERGES 8 /* merge ops in the grid; the descent sees all */
#define PIN_ROUNDS 2
#define COORDINATES 8 /* of struct point; lean goes with devices */
#define LEANS 4

enum pattern {
    PIN_ALL,     /* every op exchanges */
    PIN_CUTS,    /* ops where all paths meet */
    PIN_WINDOWS, /* convolutions and pools */
    PIN_SECOND,  /* every second of these */
    PIN_FOURTH,
    PIN_EIGHTH,
    PIN_NONE,
    PATTERNS
};

/* The most promising first. */
static const enum ad_order orders[AD_ORDERS] = {AD_ORDER_EDGES, AD_ORDER_PIECES, AD_ORDER_CORES,
                                                AD_ORDER_READY, AD_ORDER_GRAPH};

/* What devices slower than the fastest have of their share by speed: a thin band that needs few
 * messages may be worth more than a fair one. */
static const double leans[LEANS] = {1, 0.75, 0.5, 0.3};

/* One template. */
struct point {
    int devices; /* how many of terrain->order compute */
    int lean;    /* index into leans */
    int pattern;
    int merge;            /* index into search->merges */
    bool last_is_fastest; /* whole ops run on the fastest device rather than the source */
    int dense;            /* what one pixel is: 0 whole, 1 split by output, 2 computed by each that
                             reads it, but dense layers split by output */
    bool late;            /* what others wait for is not computed first */
    int order;            /* index into orders */
    int chunks;           /* in how many messages bands go that others want most of */
};

struct search {
    struct ad_eval *eval;
    const struct ad_terrain *terrain;
    struct ad_best *best;
    struct ad_layout layout; /* being built */
    int *merges;             /* op indices: the last op that is split; -1 first */
    int nmerges;
    int subsets[AD_MAX_DEVICES], nsubsets; /* values of point.devices */
    bool has_dense;
    struct point at; /* the best template */
};

static bool has_window(const struct ad_op *op)
{
    return op->kind == AD_OP_CONV || op->kind == AD_OP_MAXPOOL || op->kind == AD_OP_AVGPOOL;
}

static bool pinned(const struct ad_terrain *t, int pattern, int op, int windows)
{
    bool window = has_window(&t->problem->graph->ops[op]);
    switch (pattern) {
    case PIN_ALL:
        return true;
    case PIN_CUTS:
        return t->cut[op];
    case PIN_WINDOWS:
        return window;
    case PIN_SECOND:
        return window && windows % 2 == 0;
    case PIN_FOURTH:
        return window && windows % 4 == 0;
    case PIN_EIGHTH:
        return window && windows % 8 == 0;
    default:
        return false;
    }
}

static void build(struct search *s, const struct point *point)
{
    const struct ad_terrain *t = s->terrain;
    const struct ad_graph *graph = t->problem->graph;
    bool use[AD_MAX_DEVICES] = {false};
    double weight[AD_MAX_DEVICES];
    int windows = 0;
    s->layout.order = orders[point->order];
    s->layout.chunks = point->chunks;
    for (int k = 0; k < point->devices; k++)
        use[t->order[k]] = true;
    ad_terrain_weights(t, use, weight);
    for (int d = 0; d < s->layout.ndevices; d++)
        weight[d] *= t->speed[d] < t->speed[t->fastest] ? leans[point->lean] : 1;
    for (int i = 0; i < graph->nops; i++) {
        struct ad_op_layout *op = &s->layout.ops[i];
        enum ad_dim dim = i <= s->merges[point->merge] ? ad_terrain_bands(t, i) : AD_DIM_WHOLE;
        windows += has_window(&graph->ops[i]);
        if (point->dense == 2 && t->can[i][AD_DIM_EACH] && graph->ops[i].kind != AD_OP_FC &&
            i <= s->merges[point->merge])
            dim = AD_DIM_EACH;
        else if (dim == AD_DIM_WHOLE && point->dense && t->dense[i] && point->devices > 1)
            dim = AD_DIM_C;
        op->dim = dim;
        op->early = !point->late;
        op->pinned = dim == AD_DIM_C || pinned(t, point->pattern, i, windows);
        op->at = point->last_is_fastest ? t->fastest : t->problem->cluster->source;
        ad_cuts_proportional(weight, s->layout.ndevices, ad_layout_cuts(&s->layout, i));
    }
}

/* Evaluates a template; s->at becomes it if it is the best so far. */
static enum adaps_status probe(struct search *s, const struct point *point, bool *better)
{
    struct ad_score score, before = s->best->score;
    bool first = !s->best->valid;
    build(s, point);
    enum adaps_status status = ad_eval_score(s->eval, &s->layout, s->best, &score);
    bool won = status == ADAPS_OK && (first || ad_score_better(&score, &before));
    if (won)
        s->at = *point;
    if (better)
        *better = won;
    if (status == ADAPS_OK && s->eval->starts && point->devices > 1 && s->merges[point->merge] >= 0)
        ad_starts_offer(s->eval->starts, point->devices * PATTERNS + point->pattern, &s->layout,
                        &score);
    return status;
}

static enum adaps_status grid(struct search *s)
{
    int stride = (s->nmerges + GRID_MERGES - 1) / GRID_MERGES;
    for (int k = 0; k < s->nsubsets; k++)
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            for (int m = s->nmerges - 1; m >= 0; m -= stride)
                for (int dense = 0; dense <= (s->has_dense ? 2 : 0); dense++) {
                    struct point point = {.devices = s->subsets[k],
                                          .pattern = pattern,
                                          .merge = m,
                                          .dense = dense,
                                          .chunks = 1};
                    enum adaps_status status = probe(s, &point, NULL);
                    if (status != ADAPS_OK)
                        return status;
                    if (s->subsets[k] == 1)
                        return ADAPS_OK; /* one device alone: nothing else to choose */
                }
    return ADAPS_OK;
}

static bool same_point(const struct point *a, const struct point *b)
{
    return a->devices == b->devices && a->lean == b->lean && a->pattern == b->pattern &&
           a->merge == b->merge && a->last_is_fastest == b->last_is_fastest &&
           a->dense == b->dense && a->late == b->late && a->order == b->order &&
           a->chunks == b->chunks;
}

/* One coordinate of s->at through all its values. */
static enum adaps_status descend(struct search *s, int coordinate, bool *improved)
{
    int counts[] = {s->nsubsets * LEANS,  PATTERNS, s->nmerges, 2,
                    s->has_dense ? 3 : 1, 2,        AD_ORDERS,  AD_MAX_PARTS};
    struct point start = s->at;
    for (int v = 0; v < counts[coordinate]; v++) {
        struct point point = start;
        bool better;
        if (coordinate == 0) {
            point.devices = s->subsets[v / LEANS];
            point.lean = v % LEANS;
        } else if (coordinate == 1)
            point.pattern = v;
        else if (coordinate == 2)
            point.merge = v;
        else if (coordinate == 3)
            point.last_is_fastest = v;
        else if (coordinate == 4)
            point.dense = v;
        else if (coordinate == 5)
            point.late = v;
        else if (coordinate == 6)
            point.order = v;
        else
            point.chunks = v + 1;
        if (same_point(&point, &start))
            continue;
        enum adaps_status status = probe(s, &point, &better);
        if (status != ADAPS_OK)
            return status;
        *improved = *improved || better;
    }
    return ADAPS_OK;
}

/* Toggles the pin of every split op in turn. Works on *best. */
static enum adaps_status toggle_pins(struct search *s, bool *improved)
{
    struct ad_layout *layout = &s->layout;
    ad_layout_copy(&s->best->layout, layout);
    for (int i = 0; i < layout->nops; i++) {
        struct ad_op_layout *op = &layout->ops[i];
        bool better;
        if (op->dim != AD_DIM_H && op->dim != AD_DIM_W)
            continue;
        op->pinned = !op->pinned;
        enum adaps_status status = ad_eval_try(s->eval, layout, s->best, &better);
        if (status != ADAPS_OK)
            return status;
        if (!better)
            op->pinned = !op->pinned;
        *improved = *improved || better;
    }
    return ADAPS_OK;
}

/* Turns the rows of a segment to columns where that helps. */
static enum adaps_status turn_segments(struct search *s)
{
    const struct ad_terrain *t = s->terrain;
    struct ad_layout *layout = &s->layout;
    for (int segment = 0; segment < t->nsegments; segment++) {
        bool turned = false;
        ad_layout_copy(&s->best->layout, layout);
        for (int i = 0; i < layout->nops; i++)
            if (t->segment[i] == segment && layout->ops[i].dim == AD_DIM_H && t->can[i][AD_DIM_W]) {
                layout->ops[i].dim = AD_DIM_W;
                turned = true;
            }
        enum adaps_status status = turned ? ad_eval_try(s->eval, layout, s->best, NULL) : ADAPS_OK;
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

static enum adaps_status prepare(struct search *s)
{
    const struct ad_terrain *t = s->terrain;
    int nops = t->problem->graph->nops, n = t->problem->cluster->ndevices;
    s->merges = ad_calloc((size_t)nops + 1, sizeof *s->merges);
    if (!s->merges)
        return ad_error_memory(s->eval->err, "search", (size_t)nops);
    s->merges[s->nmerges++] = -1;
    for (int i = 0; i < nops; i++) {
        if ((t->cut[i] && ad_terrain_bands(t, i) != AD_DIM_WHOLE) || i + 1 == nops)
            s->merges[s->nmerges++] = i;
        s->has_dense = s->has_dense || t->dense[i];
    }
    for (int k = n; k > 0; k = k > 8 ? k / 2 : k - 1)
        s->subsets[s->nsubsets++] = k;
    enum adaps_status status = ad_layout_init(&s->layout, nops, n, s->eval->err);
    s->layout.levels = t->levels;
    s->layout.encoding = t->encoding;
    return status;
}

/* log10 of subset x merge x pins (x dimension per segment), ... */
static double space(const struct search *s)
{
    const struct ad_terrain *t = s->terrain;
    double total = log10(s->nsubsets * LEANS) + log10(s->nmerges) + log10(2) +
                   (s->has_dense ? log10(3) : 0) + log10(2 * AD_ORDERS * AD_MAX_PARTS);
    int last_turn = -1;
    for (int i = 0; i < t->problem->graph->nops; i++) {
        total += ad_terrain_bands(t, i) != AD_DIM_WHOLE ? log10(2) : 0;
        if (t->can[i][AD_DIM_H] && t->can[i][AD_DIM_W] && t->segment[i] != last_turn) {
            total += log10(2);
            last_turn = t->segment[i];
        }
    }
    return total;
}

enum adaps_status ad_templates_search(struct ad_eval *eval, struct ad_best *best)
{
    struct search s = {.eval = eval, .terrain = eval->terrain, .best = best};
    enum adaps_status status = prepare(&s);
    if (status == ADAPS_OK)
        status = grid(&s);
    for (bool improved = true; improved && status == ADAPS_OK;) {
        improved = false;
        for (int c = 0; c < COORDINATES && status == ADAPS_OK; c++)
            status = descend(&s, c, &improved);
    }
    bool improved = true;
    for (int round = 0; round < PIN_ROUNDS && improved && status == ADAPS_OK; round++) {
        improved = false;
        status = toggle_pins(&s, &improved);
    }
    if (status == ADAPS_OK && eval->terrain->problem->split_w)
        status = turn_segments(&s);
    eval->space_log10 = space(&s);
    ad_layout_fini(&s.layout);
    ad_free(s.merges);
    return status;
}
