/* The tree of the paper's section 4.5: layer, then device, then start, then end; starts in order of
 * growing overlap with the device before, ends in order of growing size. Depth first.
 *
 * A node's bound is the cost of what is fixed plus the larger of
 *   the relaxation's cost-to-go of every side from where it stands (bound.c), and
 *   t_comp of what is fixed, or of the balanced sizes where that is more, and the relaxation's cost
 *   of the layers after it.
 * Costs that only grow with the size (or the overlap) end a row of siblings at once (4.5.4).
 *
 * Sub-tree reuse (4.5.3): what layers >= l cost at least depends on the layout of layer l - 1
 * alone. Per such layout a table keeps either the cost and the layouts, or the budget within which
 * nothing was found. It is the memo of evaluations as well: below the same layout no layout is
 * evaluated again. */
#include "search/paper/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REUSE_SLOTS 16384 /* power of two */
#define REUSE_BYTES ((size_t)16 << 20)

struct subtree {
    bool exact; /* cost and layouts; else nothing costs less than cost */
    int layer;
    int64_t cost;
    struct ad_paper_interval
        *cuts; /* the layout of layer - 1, then of all from layer on; or NULL */
};

struct tree {
    const struct ad_paper_model *m;
    const struct ad_paper_bound *bound;
    struct ad_paper_result *best;
    struct ad_paper_interval *cuts; /* being built */
    struct ad_paper_interval
        *found;   /* [layer * n]: the best layouts of layers >= it below `cuts` */
    size_t n;     /* intervals of all layers */
    double *open; /* [layer * (2 * ndevices + 1) + side]: cost-to-go of sides >= it, not fixed */
    struct subtree *subtrees;
    size_t reuse_left; /* bytes */
    int64_t limit;     /* visited when the search gives up */
    bool stopped;
    struct ad_arena arena;
};

/* What is fixed of a layer. */
struct partial {
    int64_t slowest, overlap, data; /* t_comp and t_ov so far; t_data from the layer before */
    double sides;                   /* the relaxation's cost-to-go of the fixed sides */
};

/* The search of one layer: beta falls as better layouts are found. */
struct level {
    int layer;
    int64_t beta;
};

static struct ad_paper_interval *cuts_of(struct tree *t, int layer)
{
    return &t->cuts[ad_paper_at(t->m, layer, 0)];
}

static struct ad_paper_interval *found_of(struct tree *t, int layer)
{
    return &t->found[(size_t)layer * t->n];
}

static bool reaches(double bound, int64_t beta)
{
    return bound - 1e-9 * fabs(bound) > (double)beta - 1; /* scores are whole */
}

static double later(const struct tree *t, int layer)
{
    return layer + 1 < t->m->nlayers ? t->bound->least[layer + 1] : 0;
}

/* Everything fixed, the rest of this layer balanced, and all later layers relaxed. */
static double layer_bound(const struct tree *t, int layer, const struct partial *p)
{
    int64_t slowest = t->m->least[layer] > p->slowest ? t->m->least[layer] : p->slowest;
    return (double)(slowest + p->overlap + p->data) + later(t, layer);
}

/* Fixed sides from their positions in this layer, open ones from those in the layer before. */
static double side_bound(const struct tree *t, int layer, const struct partial *p, int open_side)
{
    size_t row = (size_t)layer * (2 * (size_t)t->m->ndevices + 1);
    return (double)p->data + p->sides + t->open[row + (size_t)open_side] + t->bound->rest[layer];
}

static bool visit(struct tree *t)
{
    if (++t->best->visited >= t->limit)
        t->stopped = true;
    return !t->stopped;
}

static bool cut(struct tree *t, bool it)
{
    t->best->pruned += it;
    return it;
}

static uint64_t hash_of(int layer, const struct ad_paper_interval *cuts, int n)
{
    uint64_t h = 0x9e3779b97f4a7c15u * (uint64_t)(layer + 1);
    for (int d = 0; d < n; d++) {
        h = (h ^ (uint64_t)cuts[d].s) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 29) ^ (uint64_t)cuts[d].e) * 0x94d049bb133111ebu;
    }
    return h ^ (h >> 32);
}

/* The slot for the layers after the present layout of layer - 1, and whether it holds them. */
static struct subtree *slot_of(struct tree *t, int layer, bool *hit)
{
    int n = t->m->ndevices;
    const struct ad_paper_interval *before = cuts_of(t, layer - 1);
    struct subtree *slot = &t->subtrees[hash_of(layer, before, n) & (REUSE_SLOTS - 1)];
    *hit = slot->cuts && slot->layer == layer &&
           memcmp(slot->cuts, before, (size_t)n * sizeof *before) == 0;
    return slot;
}

static size_t subtree_length(const struct tree *t, int layer)
{
    return (size_t)(t->m->nlayers - layer + 1) * (size_t)t->m->ndevices;
}

/* Keeps a result; without memory it is just not kept. */
static void keep_subtree(struct tree *t, int layer, int64_t cost, bool exact)
{
    bool hit;
    struct subtree *slot = slot_of(t, layer, &hit);
    size_t n = (size_t)t->m->ndevices, length = subtree_length(t, layer);
    if (!hit) {
        if (slot->cuts)
            t->reuse_left += subtree_length(t, slot->layer) * sizeof *slot->cuts;
        ad_free(slot->cuts);
        slot->cuts = NULL;
        if (t->reuse_left < length * sizeof *slot->cuts)
            return;
        slot->cuts = ad_calloc(length, sizeof *slot->cuts);
        if (!slot->cuts)
            return;
        t->reuse_left -= length * sizeof *slot->cuts;
        slot->layer = layer;
        memcpy(slot->cuts, cuts_of(t, layer - 1), n * sizeof *slot->cuts);
    }
    slot->exact = exact;
    slot->cost = cost;
    if (exact)
        memcpy(slot->cuts + n, found_of(t, layer), (length - n) * sizeof *slot->cuts);
}

/* True when the table answers for a budget: *cost is exact (found_of() filled) or >= beta. */
static bool reuse(struct tree *t, int layer, int64_t beta, int64_t *cost)
{
    bool hit;
    struct subtree *slot = slot_of(t, layer, &hit);
    size_t n = (size_t)t->m->ndevices;
    if (!hit || (!slot->exact && slot->cost < beta))
        return false;
    *cost = slot->cost;
    t->best->reused++;
    if (slot->exact)
        memcpy(found_of(t, layer), slot->cuts + n,
               (subtree_length(t, layer) - n) * sizeof *slot->cuts);
    return true;
}

static int64_t explore(struct tree *t, int layer, int64_t beta);

/* All devices of the layer have their rows: on to the next layer. */
static void complete(struct tree *t, struct level *v, const struct partial *p)
{
    size_t n = (size_t)t->m->ndevices;
    int64_t fixed = p->slowest + p->overlap + p->data, rest = 0;
    bool last = v->layer + 1 == t->m->nlayers;
    if (!last)
        rest = explore(t, v->layer + 1, v->beta - fixed);
    if (fixed + rest >= v->beta)
        return;
    v->beta = fixed + rest;
    struct ad_paper_interval *found = found_of(t, v->layer);
    memcpy(found, cuts_of(t, v->layer), n * sizeof *found);
    if (!last)
        memcpy(found + n, found_of(t, v->layer + 1),
               (subtree_length(t, v->layer + 1) - n) * sizeof *found);
}

static void fix_start(struct tree *t, struct level *v, int d, const struct partial *p);

/* All ends of device d, by growing size. */
static void fix_end(struct tree *t, struct level *v, int d, const struct partial *p)
{
    const struct ad_paper_model *m = t->m;
    struct ad_paper_interval *cuts = cuts_of(t, v->layer);
    struct ad_paper_interval range = ad_paper_ends(m, v->layer, d, cuts[d].s);
    const double *togo = ad_paper_togo(t->bound, v->layer, 2 * d + 1);
    int first = m->window[ad_paper_at(m, v->layer, d)].emin;
    for (int e = range.s; e <= range.e && visit(t); e++) {
        struct partial next = *p;
        int64_t time = ad_paper_time(m, v->layer, d, e - cuts[d].s);
        cuts[d].e = e;
        next.slowest = time > p->slowest ? time : p->slowest;
        if (cut(t, reaches(layer_bound(t, v->layer, &next), v->beta)))
            return; /* larger ones cost more */
        if (v->layer > 0)
            next.data += ad_paper_fetch(m, v->layer - 1, d, cuts_of(t, v->layer - 1)[d], cuts[d]);
        next.sides += togo[e - first];
        if (cut(t, reaches(layer_bound(t, v->layer, &next), v->beta) ||
                       reaches(side_bound(t, v->layer, &next, 2 * d + 2), v->beta)))
            continue;
        if (d + 1 < m->ndevices)
            fix_start(t, v, d + 1, &next);
        else
            complete(t, v, &next);
    }
}

/* All starts of device d, by growing overlap. */
static void fix_start(struct tree *t, struct level *v, int d, const struct partial *p)
{
    const struct ad_paper_model *m = t->m;
    struct ad_paper_interval *cuts = cuts_of(t, v->layer);
    struct ad_paper_interval range = ad_paper_starts(m, v->layer, d);
    const double *togo = ad_paper_togo(t->bound, v->layer, 2 * d);
    size_t i = ad_paper_at(m, v->layer, d);
    for (int s = range.e; s >= range.s && visit(t); s--) {
        struct partial next = *p;
        cuts[d].s = s;
        if (d > 0)
            next.overlap += (m->overlap[i - 1] + m->overlap[i]) * (cuts[d - 1].e - s);
        if (cut(t, reaches(layer_bound(t, v->layer, &next), v->beta)))
            return;
        next.sides += togo[s - m->window[i].smin];
        if (cut(t, reaches(side_bound(t, v->layer, &next, 2 * d + 1), v->beta)))
            continue;
        fix_end(t, v, d, &next);
    }
}

/* The least cost-to-go of every side of the layer from the layer before, summed from the last. */
static void open_sides(struct tree *t, int layer)
{
    const struct ad_paper_model *m = t->m;
    int sides = 2 * m->ndevices;
    double *open = &t->open[(size_t)layer * (size_t)(sides + 1)];
    open[sides] = 0;
    for (int side = sides - 1; side >= 0; side--) {
        double least = INFINITY;
        if (layer > 0) {
            const struct ad_paper_interval *c = &cuts_of(t, layer - 1)[side / 2];
            const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer - 1, side / 2)];
            least =
                ad_paper_enter(t->bound, layer, side)[side % 2 ? c->e - w->emin : c->s - w->smin];
        } else {
            const struct ad_paper_window *w = &m->window[side / 2];
            int positions = side % 2 ? w->emax - w->emin : w->smax - w->smin;
            const double *togo = ad_paper_togo(t->bound, 0, side);
            for (int x = 0; x <= positions; x++)
                least = fmin(least, togo[x]);
        }
        open[side] = open[side + 1] + least;
    }
}

/* The least cost of layers >= layer after the present layout of layer - 1, if below beta (then
 * found_of() has the layouts); else something >= beta. */
static int64_t explore(struct tree *t, int layer, int64_t beta)
{
    struct level v = {layer, beta};
    struct partial none = {0, 0, 0, 0};
    int64_t cost;
    if (layer > 0 && reuse(t, layer, beta, &cost))
        return cost;
    open_sides(t, layer);
    if (!reaches(side_bound(t, layer, &none, 0), beta))
        fix_start(t, &v, 0, &none);
    if (layer > 0 && !t->stopped)
        keep_subtree(t, layer, v.beta, v.beta < beta);
    return v.beta;
}

static enum adaps_status prepare(struct tree *t, struct adaps_error *err)
{
    const struct ad_paper_model *m = t->m;
    size_t layers = (size_t)m->nlayers, n = (size_t)m->ndevices;
    t->n = layers * n;
    t->reuse_left = REUSE_BYTES;
    t->cuts = ad_arena_alloc(&t->arena, t->n, sizeof *t->cuts);
    t->found = ad_arena_alloc(&t->arena, layers, t->n * sizeof *t->found);
    t->open = ad_arena_alloc(&t->arena, layers * (2 * n + 1), sizeof *t->open);
    t->subtrees = ad_calloc(REUSE_SLOTS, sizeof *t->subtrees);
    if (!t->cuts || !t->found || !t->open || !t->subtrees)
        return ad_error_memory(err, "search tree", layers * t->n * sizeof *t->found);
    return ADAPS_OK;
}

enum adaps_status ad_paper_tree(const struct ad_paper_model *m, const struct ad_paper_bound *bound,
                                struct ad_paper_result *best, struct adaps_error *err)
{
    struct tree t = {.m = m, .bound = bound, .best = best};
    enum adaps_status status = prepare(&t, err);
    if (status == ADAPS_OK) {
        t.limit = best->visited + m->problem->node_limit;
        int64_t score = explore(&t, 0, best->score);
        if (score < best->score) {
            best->score = score;
            memcpy(best->cuts, t.found, t.n * sizeof *t.found);
        }
        best->proven = !t.stopped;
        if (best->score ==
            INT64_MAX) /* no first guess, and the budget ends before the first leaf */
            status = ad_error_set(err, ADAPS_EINPUT, "%" PRId64 " nodes: too few for a layout",
                                  m->problem->node_limit);
    }
    for (int i = 0; t.subtrees && i < REUSE_SLOTS; i++)
        ad_free(t.subtrees[i].cuts);
    ad_free(t.subtrees);
    ad_arena_fini(&t.arena);
    return status;
}
