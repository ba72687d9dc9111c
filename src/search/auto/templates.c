/* Templates, the first step of strategy auto: layouts that a few numbers describe.
 *
 * A band is fixed at chosen ops only (pins). Between them every device computes what its own later
 * ops read, so nothing is exchanged there. A template says for all ops of one height (patterns.h)
 * - which devices share them (the source and the fastest others),
 * - how much less than their share by speed slower devices have, and all but the source,
 * - how much less all but the source have at the end of these ops than at their beginning,
 * - how many rows each device has beyond these shares,
 * - which ops have staggered boundaries, and which ops are pinned,
 * - whether the rows that others wait for are computed first;
 *
 * and for the whole network
 * - after which op everything runs whole on one device, and on which,
 * - whether feature vectors are split by output,
 * - where memory may be short: whether all after that op is split by output channels instead,
 * - the order of the tasks, and the numbers of messages for inputs and for bands.
 *
 * First comes a grid over templates that treat all heights alike (number of devices x pin pattern x
 * merge op). Then, for each number of devices, coordinate descent on the simulated clock from the
 * best of them. In a descent so many devices must go on sharing half of the work, for one device
 * alone is a local optimum, and so are few. Where a descent ends depends on which coordinates come
 * first, so there are two from each start. After each, rows of one height are given from
 * device to device at all heights: where 7 rows go 2, 2, 2 and 1 to four equal devices, the 14 and
 * 28 before them should do so, too. Last, single pins are toggled and segments turned to columns as
 * long as the clock gets better.
 *
 * Fusing layers to save exchanges is the idea of fused-layer tiling (DeepThings and others); which
 * layers to fuse is searched here instead of given. */
#include "search/auto/templates.h"
#include "search/auto/patterns.h"
#include "search/auto/subset.h"

#include <math.h>
#include <string.h>

#define GRID_MERGES 4 /* merge ops in the grid; the descent sees all */
#define PIN_ROUNDS 2
#define COORDINATES 7 /* of struct point, */
#define OF_GROUPS 6   /* of struct group; devices and lean are one */
#define LEANS 7
#define TAPERS 5
#define ORDERS (AD_ORDERS - 1) /* tried in descents; the graph's order is a local optimum, too */
#define DESCENDED 2            /* kinds from whose best template descents start */
#define DESCENTS 2             /* from each */
#define STAGGER 4              /* staggered boundaries are off by 1/STAGGER of a row */
#define ERRS 20                /* what is later by 1/ERRS, by its estimate, is not evaluated */
#define ROUNDS 3               /* of a descent at most, and of giving rows */
#define ROW_PARTS 2            /* rows are given whole and halved */

/* The most promising first. */
static const enum ad_order orders[AD_ORDERS] = {AD_ORDER_EDGES, AD_ORDER_PIECES, AD_ORDER_CORES,
                                                AD_ORDER_READY, AD_ORDER_GRAPH};

/* The part of its share by speed that a device slower than the fastest gets: a thin band that needs
 * few messages may be better than a fair one. */
static const double leans[LEANS] = {1, 0.75, 0.5, 0.3, 0.87, 0.62, 0.4};

/* The part of its share that a device other than the source still has at the end of a group: what
 * others compute last, the source waits for. */
static const double tapers[TAPERS] = {1, 0.7, 0.4, 0.2, 0};

/* How the ops of one height are shared, and where they exchange. */
struct group {
    int devices; /* how many of context->order compute */
    int lean;    /* index into leans, for devices slower than the fastest */
    int away;    /* index into leans, for all but the source */
    int pattern;
    int not_early; /* the rows that others wait for are not computed first */
    int stagger;
    int taper;                /* index into tapers */
    int more[AD_MAX_DEVICES]; /* cut units that a device has beyond its share, if it has one */
};

/* One template. */
struct point {
    struct group group[AD_MAX_GROUPS];
    int merge;            /* index into search->merges */
    bool last_is_fastest; /* whole ops run on the fastest device rather than the source */
    int dense;            /* ops of one pixel: 0 whole, 1 split by output, 2 computed by each
                             device that reads them, but dense layers split by output */
    bool channels;        /* what comes after the merge op is split by output channels where that
                             can be: weights are divided, and all inputs exchanged */
    int order;            /* index into orders */
    int input_chunks;     /* in how many messages inputs travel */
    int band_chunks;      /* likewise bands of which others want more than half */
};

/* The best template of the grid with so many devices and this pattern. */
struct kind {
    bool valid;
    int descents; /* that have started from it */
    struct point point;
    struct ad_score score;
};

struct search {
    struct ad_eval *eval;
    struct ad_elite_pool *pool;
    const struct ad_context *context;
    struct ad_best *best;
    struct ad_layout layout; /* being built */
    int *merges;             /* op indices: the last op that is split; -1 first */
    int nmerges;
    int subsets[AD_MAX_DEVICES], nsubsets; /* values of group.devices */
    bool has_dense;
    struct ad_patterns patterns;
    struct kind *kinds; /* [subset * AD_PATTERNS + pattern] */
    struct point at;    /* the best template, in the grid or a descent */
    /* of a descent: */
    int devices;      /* that have to share the work */
    int64_t estimate; /* of the best, or -1 */
};

/* The devices' shares of a group at its beginning, in cut units; they need not add up. */
static void weigh(const struct search *s, const struct group *group, double *weight)
{
    const struct ad_context *context = s->context;
    bool use[AD_MAX_DEVICES] = {false};
    double sum = 0;
    for (int k = 0; k < group->devices; k++)
        use[context->order[k]] = true;
    ad_context_weights(context, use, weight);
    for (int d = 0; d < s->layout.ndevices; d++) {
        weight[d] *= context->speed[d] < context->speed[context->fastest] ? leans[group->lean] : 1;
        weight[d] *= d != context->problem->cluster->source ? leans[group->away] : 1;
        sum += weight[d];
    }
    for (int d = 0; d < s->layout.ndevices; d++)
        if (weight[d] > 0)
            weight[d] = fmax(0, weight[d] / sum * AD_CUT_UNITS + group->more[d]);
}

/* The cuts of an op from its group's shares. */
static void cut(struct search *s, int op, const struct group *group, const double *shares)
{
    const struct ad_graph *graph = s->context->problem->graph;
    enum ad_dim dim = s->layout.ops[op].dim;
    int *cuts = ad_layout_cuts(&s->layout, op), n = s->layout.ndevices;
    double weight[AD_MAX_DEVICES], keep = 1 - (1 - tapers[group->taper]) * s->patterns.done[op];
    for (int d = 0; d < n; d++)
        weight[d] = shares[d] * (d != s->context->problem->cluster->source ? keep : 1);
    ad_cuts_proportional(weight, n, cuts);
    if (dim != AD_DIM_H && dim != AD_DIM_W)
        return;
    int row = AD_CUT_UNITS / ad_dim_extent(&graph->values[graph->ops[op].output], dim);
    int by = ad_pattern_side(&s->patterns, (enum ad_stagger)group->stagger, op) * row / STAGGER;
    for (int d = 1; d < n; d++)
        if (cuts[d] > 0 && cuts[d] < AD_CUT_UNITS)
            cuts[d] = ad_clamp(cuts[d] + by, 0, AD_CUT_UNITS);
}

static void build(struct search *s, const struct point *point)
{
    const struct ad_context *context = s->context;
    const struct ad_graph *graph = context->problem->graph;
    double weight[AD_MAX_GROUPS][AD_MAX_DEVICES];
    s->layout.order = orders[point->order];
    s->layout.input_chunks = point->input_chunks;
    s->layout.band_chunks = point->band_chunks;
    for (int g = 0; g < s->patterns.ngroups; g++)
        weigh(s, &point->group[g], weight[g]);
    for (int i = 0; i < graph->nops; i++) {
        struct ad_op_layout *op = &s->layout.ops[i];
        const struct group *group = &point->group[s->patterns.group[i]];
        bool before = i <= s->merges[point->merge];
        enum ad_dim dim = before ? ad_context_bands(context, i) : AD_DIM_WHOLE;
        if (point->dense == 2 && context->can[i][AD_DIM_EACH] && !ad_op_is_dense(&graph->ops[i]) &&
            before)
            dim = AD_DIM_EACH;
        else if (dim == AD_DIM_WHOLE && point->dense && context->dense[i] && group->devices > 1)
            dim = AD_DIM_C;
        if (!before && point->channels && context->can[i][AD_DIM_C])
            dim = AD_DIM_C;
        op->dim = dim;
        op->early = !group->not_early;
        op->pinned = dim == AD_DIM_C || ad_pattern_pins(&s->patterns, group->pattern, i);
        op->at = point->last_is_fastest ? context->fastest : context->problem->cluster->source;
        cut(s, i, group, weight[s->patterns.group[i]]);
    }
}

/* Takes the estimate of the layout evaluated last: layouts whose estimate is far beyond it are not
 * evaluated from now on (graph order: no estimate). */
static enum adaps_status note_estimate(struct search *s)
{
    const struct ad_schedule *schedule;
    enum adaps_status status = ad_scorer_run(s->eval->scorer, &s->eval->scratch, false, &schedule);
    s->estimate = status == ADAPS_OK ? ad_scorer_estimate(s->eval->scorer) : -1;
    return status;
}

/* Layouts may be given up when they are later than the best so far (nullable), or when their
 * estimate says so. estimate: of the best, or -1. */
static struct ad_limits limits_of(const struct search *s, const struct ad_score *best,
                                  int64_t estimate)
{
    if (!best || !ad_search_by_latency(s->context->problem))
        return AD_NO_LIMITS;
    return (struct ad_limits){best->makespan_ns,
                              estimate > 0 ? estimate + estimate / ERRS : INT64_MAX};
}

/* Whether time or work has run out. One template is evaluated all the same. */
static bool ended(const struct search *s)
{
    return s->best->valid && ad_eval_late(s->eval);
}

/* Evaluates a template, which may be given up where it is later than `limit` (nullable). If it is
 * better than *best, it goes into *best and s->at. */
static enum adaps_status probe(struct search *s, const struct point *point,
                               const struct ad_score *limit, struct ad_best *best,
                               struct ad_score *score, bool *better)
{
    struct ad_score before = best->score;
    bool first = !best->valid;
    build(s, point);
    s->eval->limits = limits_of(s, limit, better ? s->estimate : -1);
    enum adaps_status status = ad_eval_score(s->eval, &s->layout, best, score);
    s->eval->limits = AD_NO_LIMITS;
    bool won = status == ADAPS_OK && (first || ad_score_better(score, &before));
    if (won)
        s->at = *point;
    if (won && better)
        status = note_estimate(s);
    if (better)
        *better = *better || won;
    return status;
}

/* A template that treats all heights alike. */
static struct point uniform(const struct search *s, int subset, int pattern, int merge, int dense,
                            bool channels)
{
    struct point point = {
        .merge = merge, .dense = dense, .channels = channels, .input_chunks = 1, .band_chunks = 1};
    for (int g = 0; g < s->patterns.ngroups; g++)
        point.group[g] = (struct group){.devices = s->subsets[subset], .pattern = pattern};
    return point;
}

/* Whether at least so many devices share half of the work or more. */
static bool shares(const struct search *s, const struct point *point, int devices)
{
    double shared = 0;
    int last = point->channels ? s->layout.nops - 1 : s->merges[point->merge];
    for (int i = 0; i <= last; i++)
        shared += point->group[s->patterns.group[i]].devices >= devices ? s->patterns.work[i] : 0;
    return 2 * shared >= s->patterns.all_work;
}

static enum adaps_status grid_point(struct search *s, int subset, const struct point *point)
{
    struct kind *kind = &s->kinds[subset * AD_PATTERNS + point->group[0].pattern];
    struct ad_score score;
    enum adaps_status status =
        probe(s, point, kind->valid ? &kind->score : NULL, s->best, &score, NULL);
    if (shares(s, point, s->subsets[subset]) &&
        (!kind->valid || ad_score_better(&score, &kind->score)))
        *kind = (struct kind){true, 0, *point, score};
    return status;
}

/* All templates of the grid with so many devices. */
static enum adaps_status grid_of(struct search *s, int subset)
{
    static const enum ad_pattern patterns[] = {AD_PIN_ALL,  AD_PIN_CUTS, AD_PIN_WINDOWS,
                                               AD_PIN_NONE, AD_PIN_READ, AD_PIN_THIN,
                                               AD_PIN_THIN2};
    int stride = (s->nmerges + GRID_MERGES - 1) / GRID_MERGES;
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (int m = s->nmerges - 1; m >= 0; m -= stride)
            for (int dense = 0; dense <= (s->has_dense ? 2 : 0); dense += 2)
                for (int channels = 0; channels <= s->context->memory_matters; channels++) {
                    struct point point = uniform(s, subset, patterns[i], m, dense, channels);
                    if (status == ADAPS_OK && !ended(s))
                        status = grid_point(s, subset, &point);
                }
    return status;
}

/* The whole grid. Few devices are left to the search on fewer of them (subset.h). */
static enum adaps_status grid(struct search *s)
{
    int fewer = ad_subset_devices(s->layout.ndevices);
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < s->nsubsets && s->subsets[k] > fewer && status == ADAPS_OK; k++)
        status = grid_of(s, k);
    return status;
}

static bool same_point(const struct point *a, const struct point *b)
{
    return memcmp(a->group, b->group, sizeof a->group) == 0 && a->merge == b->merge &&
           a->last_is_fastest == b->last_is_fastest && a->dense == b->dense &&
           a->channels == b->channels && a->order == b->order &&
           a->input_chunks == b->input_chunks && a->band_chunks == b->band_chunks;
}

/* Evaluates a template of a descent that began at `start`, if it is another one and enough devices
 * share the work. */
static enum adaps_status visit(struct search *s, const struct point *start,
                               const struct point *point, struct ad_best *best, bool *improved)
{
    struct ad_score score;
    if (ended(s) || same_point(point, start) || !shares(s, point, s->devices))
        return ADAPS_OK;
    return probe(s, point, &best->score, best, &score, improved);
}

/* Tries all values of one coordinate of s->at. */
static enum adaps_status descend(struct search *s, int coordinate, struct ad_best *best,
                                 bool *improved)
{
    int counts[COORDINATES] = {s->nmerges,
                               2,
                               s->has_dense ? 3 : 1,
                               s->context->memory_matters ? 2 : 1,
                               ORDERS,
                               AD_MAX_CHUNKS,
                               AD_MAX_CHUNKS};
    struct point start = s->at;
    enum adaps_status status = ADAPS_OK;
    for (int v = 0; v < counts[coordinate] && status == ADAPS_OK; v++) {
        struct point point = start;
        if (coordinate == 0)
            point.merge = v;
        else if (coordinate == 1)
            point.last_is_fastest = v;
        else if (coordinate == 2)
            point.dense = v;
        else if (coordinate == 3)
            point.channels = v;
        else if (coordinate == 4)
            point.order = v;
        else if (coordinate == 5)
            point.input_chunks = v + 1;
        else
            point.band_chunks = v + 1;
        status = visit(s, &start, &point, best, improved);
    }
    return status;
}

/* Tries all values of one property of the groups first to last of s->at: how they are shared (what
 * 0), the lean to the source (1), pin patterns (2), early or not (3), staggers (4), tapers (5). */
static enum adaps_status descend_groups(struct search *s, int first, int last, int what,
                                        struct ad_best *best, bool *improved)
{
    int counts[OF_GROUPS] = {s->nsubsets * LEANS, LEANS, AD_PATTERNS, 2, AD_STAGGERS, TAPERS};
    enum adaps_status status = ADAPS_OK;
    struct point start = s->at;
    for (int v = 0; v < counts[what] && status == ADAPS_OK; v++) {
        struct point point = start;
        for (int g = first; g <= last; g++) {
            struct group *group = &point.group[g];
            if (what == 0) {
                group->devices = s->subsets[v / LEANS];
                group->lean = v % LEANS;
            } else if (what == 1)
                group->away = v;
            else if (what == 2)
                group->pattern = v;
            else if (what == 3)
                group->not_early = v;
            else if (what == 4)
                group->stagger = v;
            else
                group->taper = v;
        }
        status = visit(s, &start, &point, best, improved);
    }
    return status;
}

/* Descends from the best template of a kind until no coordinate alone makes it better.
 * groups_first: the first round tries only those of the groups. */
static enum adaps_status descend_all(struct search *s, bool groups_first, struct ad_best *best)
{
    enum adaps_status status = ADAPS_OK;
    bool improved = true;
    for (int round = 0; round < ROUNDS && improved && status == ADAPS_OK; round++) {
        improved = false;
        for (int c = 0; c < COORDINATES && status == ADAPS_OK; c++)
            if (round > 0 || !groups_first)
                status = descend(s, c, best, &improved);
        for (int what = 0; what < OF_GROUPS && status == ADAPS_OK; what++)
            status = descend_groups(s, 0, s->patterns.ngroups - 1, what, best, &improved);
        for (int g = 0; g < s->patterns.ngroups * OF_GROUPS && status == ADAPS_OK; g++)
            status =
                descend_groups(s, g / OF_GROUPS, g / OF_GROUPS, g % OF_GROUPS, best, &improved);
    }
    return status;
}

static int32_t height_of(const struct search *s, int group)
{
    const struct ad_graph *graph = s->context->problem->graph;
    int op = 0;
    while (s->patterns.group[op] != group)
        op++;
    return graph->values[graph->ops[op].output].box.h;
}

/* Tries the shares of a group, in whole rows of it, for all groups. */
static enum adaps_status share_as(struct search *s, int group, struct ad_best *best, bool *improved)
{
    struct point start = s->at, point = start;
    int cuts[AD_MAX_DEVICES + 1], n = s->layout.ndevices;
    int32_t height = height_of(s, group);
    double weight[AD_MAX_DEVICES];
    weigh(s, &start.group[group], weight);
    ad_cuts_proportional(weight, n, cuts);
    for (int d = 0; d <= n; d++)
        cuts[d] = ad_row_cut(ad_cut_row(cuts[d], height), height);
    for (int g = 0; g < s->patterns.ngroups; g++) {
        struct group *to = &point.group[g];
        to->devices = start.group[group].devices;
        to->lean = start.group[group].lean;
        memset(to->more, 0, sizeof to->more);
        weigh(s, to, weight);
        for (int d = 0; d < n; d++)
            to->more[d] = cuts[d + 1] - cuts[d] - (int)lround(weight[d]);
    }
    return visit(s, &start, &point, best, improved);
}

/* In all groups, device `to` gets so many cut units of device `from` (-1: of all others), as long
 * as that is better. */
static enum adaps_status give(struct search *s, int from, int to, int units, struct ad_best *best,
                              bool *improved)
{
    enum adaps_status status = ADAPS_OK;
    for (bool better = true; better && status == ADAPS_OK;) {
        struct point start = s->at, point = start;
        better = false;
        for (int g = 0; g < s->patterns.ngroups; g++) {
            point.group[g].more[to] += units;
            if (from >= 0)
                point.group[g].more[from] -= units;
        }
        status = visit(s, &start, &point, best, &better);
        *improved = *improved || better;
    }
    return status;
}

/* Gives rows and parts of rows of a group's height: each device gets some or loses some, and those
 * next to each other exchange some. */
static enum adaps_status give_rows(struct search *s, int group, struct ad_best *best,
                                   bool *improved)
{
    enum adaps_status status = ADAPS_OK;
    int n = s->layout.ndevices;
    int32_t height = height_of(s, group);
    if (height < 2)
        return ADAPS_OK;
    for (int k = 0; k < 2 * n - 1; k++)
        for (int part = 1; part <= ROW_PARTS; part++)
            for (int sign = -1; sign <= 1 && status == ADAPS_OK; sign += 2) {
                int units = ad_clamp(AD_CUT_UNITS / height / part, 1, AD_CUT_UNITS);
                status = give(s, k < n ? -1 : k - n, k < n ? k : k - n + 1, sign * units, best,
                              improved);
            }
    return status;
}

/* Shares in rows of one height, for all heights. */
static enum adaps_status share_rows(struct search *s, struct ad_best *best)
{
    enum adaps_status status = ADAPS_OK;
    bool improved = true;
    for (int g = 0; g < s->patterns.ngroups && status == ADAPS_OK; g++)
        if (height_of(s, g) > 1)
            status = share_as(s, g, best, &improved);
    for (int round = 0; round < ROUNDS && improved && status == ADAPS_OK; round++) {
        improved = false;
        for (int g = 0; g < s->patterns.ngroups && status == ADAPS_OK; g++)
            status = give_rows(s, g, best, &improved);
    }
    return status;
}

/* Toggles the pin of every split op of *best in turn. */
static enum adaps_status toggle_pins(struct search *s, struct ad_best *best, bool *improved)
{
    struct ad_layout *layout = &s->layout;
    enum adaps_status status = ADAPS_OK;
    ad_layout_copy(&best->layout, layout);
    for (int i = 0; i < layout->nops && status == ADAPS_OK; i++) {
        struct ad_op_layout *op = &layout->ops[i];
        bool better = false;
        if ((op->dim != AD_DIM_H && op->dim != AD_DIM_W) || ended(s))
            continue;
        op->pinned = !op->pinned;
        s->eval->limits = limits_of(s, &best->score, -1);
        status = ad_eval_try(s->eval, layout, best, &better);
        s->eval->limits = AD_NO_LIMITS;
        if (!better)
            op->pinned = !op->pinned;
        *improved = *improved || better;
    }
    return status;
}

static enum adaps_status toggle_all(struct search *s, struct ad_best *best)
{
    enum adaps_status status = ADAPS_OK;
    bool improved = true;
    for (int round = 0; round < PIN_ROUNDS && improved && status == ADAPS_OK; round++) {
        improved = false;
        status = toggle_pins(s, best, &improved);
    }
    return status;
}

/* Whether descents from a kind would find nothing new: it has had some, or a kind with the same
 * best layout has, or, with more than two devices, a kind with as many. */
static bool settled(const struct search *s, int i)
{
    bool known = false;
    for (int k = 0; k < s->nsubsets * AD_PATTERNS && !known; k++)
        known = s->kinds[k].descents > 0 &&
                (s->kinds[k].score.makespan_ns == s->kinds[i].score.makespan_ns ||
                 (s->layout.ndevices > 2 && k / AD_PATTERNS == i / AD_PATTERNS));
    return known;
}

/* The best kind of the grid that is not settled; -1: there is none. */
static int next_kind(const struct search *s)
{
    int next = -1;
    for (int i = 0; i < s->nsubsets * AD_PATTERNS; i++) {
        const struct kind *kind = &s->kinds[i];
        if (kind->valid && !settled(s, i) &&
            (next < 0 || ad_score_better(&kind->score, &s->kinds[next].score)))
            next = i;
    }
    return next;
}

/* One descent from a kind; its end, improved, is offered to the pool. */
static enum adaps_status descend_kind(struct search *s, int k, struct ad_best *best)
{
    struct kind *kind = &s->kinds[k];
    int nth = kind->descents++;
    s->at = kind->point;
    s->devices = s->subsets[k / AD_PATTERNS];
    build(s, &s->at);
    best->valid = false;
    enum adaps_status status = ad_eval_try(s->eval, &s->layout, best, NULL);
    if (status == ADAPS_OK)
        status = note_estimate(s);
    if (status == ADAPS_OK)
        status = descend_all(s, nth > 0, best);
    if (status == ADAPS_OK)
        status = share_rows(s, best);
    if (status == ADAPS_OK)
        status = toggle_all(s, best);
    if (status == ADAPS_OK)
        ad_elite_pool_offer(s->pool, k * DESCENTS + nth, &best->layout, &best->score);
    if (status == ADAPS_OK && ad_score_better(&best->score, &s->best->score))
        ad_best_copy(best, s->best);
    return status;
}

/* Descents from the best few kinds of the grid. */
static enum adaps_status descend_kinds(struct search *s)
{
    struct ad_best best;
    enum adaps_status status = ad_best_init(&best, s->context, s->eval->err);
    for (int n = 0, k; n < DESCENDED && !ended(s) && status == ADAPS_OK && (k = next_kind(s)) >= 0;
         n++)
        for (int i = 0; i < DESCENTS && status == ADAPS_OK; i++)
            status = descend_kind(s, k, &best);
    ad_best_fini(&best);
    return status;
}

/* Turns the rows of each segment to columns where that is better. */
static enum adaps_status turn_segments(struct search *s)
{
    const struct ad_context *context = s->context;
    struct ad_layout *layout = &s->layout;
    for (int segment = 0; segment < context->nsegments; segment++) {
        bool turned = false;
        ad_layout_copy(&s->best->layout, layout);
        for (int i = 0; i < layout->nops; i++)
            if (context->segment[i] == segment && layout->ops[i].dim == AD_DIM_H &&
                context->can[i][AD_DIM_W]) {
                layout->ops[i].dim = AD_DIM_W;
                turned = true;
            }
        enum adaps_status status =
            turned && !ended(s) ? ad_eval_try(s->eval, layout, s->best, NULL) : ADAPS_OK;
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

static enum adaps_status prepare(struct search *s)
{
    const struct ad_context *context = s->context;
    int nops = context->problem->graph->nops, n = context->problem->cluster->ndevices;
    size_t count = (size_t)nops + 1;
    s->merges = ad_calloc(count, sizeof *s->merges);
    for (int k = n; k > 0; k = k > 8 ? k / 2 : k - 1)
        s->subsets[s->nsubsets++] = k;
    s->kinds = ad_calloc((size_t)s->nsubsets * AD_PATTERNS, sizeof *s->kinds);
    if (!s->merges || !s->kinds)
        return ad_error_memory(s->eval->err, "search", count);
    s->merges[s->nmerges++] = -1;
    for (int i = 0; i < nops; i++) {
        if ((context->cut[i] && ad_context_bands(context, i) != AD_DIM_WHOLE) || i + 1 == nops)
            s->merges[s->nmerges++] = i;
        s->has_dense = s->has_dense || context->dense[i];
    }
    enum adaps_status status = ad_patterns_init(&s->patterns, context, s->eval->err);
    if (status == ADAPS_OK)
        status = ad_layout_init(&s->layout, nops, n, s->eval->err);
    s->layout.u8 = context->u8;
    s->layout.encoding = context->encoding;
    return status;
}

/* log10 of subset x merge x pins (x dimension per segment), ... */
static double space(const struct search *s)
{
    const struct ad_context *context = s->context;
    double total = log10(s->nsubsets * LEANS) + log10(s->nmerges) + log10(2) +
                   (s->has_dense ? log10(3) : 0) + log10(2 * AD_ORDERS * AD_MAX_CHUNKS);
    int last_turn = -1;
    for (int i = 0; i < context->problem->graph->nops; i++) {
        total += ad_context_bands(context, i) != AD_DIM_WHOLE ? log10(2) : 0;
        if (context->can[i][AD_DIM_H] && context->can[i][AD_DIM_W] &&
            context->segment[i] != last_turn) {
            total += log10(2);
            last_turn = context->segment[i];
        }
    }
    return total;
}

enum adaps_status ad_templates_search(struct ad_eval *eval, struct ad_elite_pool *pool,
                                      struct ad_best *best)
{
    struct search s = {.eval = eval, .pool = pool, .context = eval->context, .best = best};
    enum adaps_status status = prepare(&s);
    if (status == ADAPS_OK)
        status = grid(&s);
    if (status == ADAPS_OK)
        status = descend_kinds(&s);
    if (status == ADAPS_OK && best->valid)
        status = toggle_all(&s, best);
    if (status == ADAPS_OK && best->valid && eval->context->problem->split_w)
        status = turn_segments(&s);
    eval->space_log10 = space(&s);
    ad_layout_fini(&s.layout);
    ad_free(s.merges);
    ad_patterns_fini(&s.patterns);
    ad_free(s.kinds);
    return status;
}
