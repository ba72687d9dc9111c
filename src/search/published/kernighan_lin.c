/* An epoch makes the best operation there is, also one for the worse, locks what it moved, and at
 * last goes back to the best partitioning it saw. Epochs follow each other while they help.
 *
 * The paper evaluates all moves and swaps before each operation. Here each vertex keeps the best
 * move found for it: it is found again when a neighbour of the vertex has moved, when the vertex is
 * next to move, and for all from time to time. A move is tried to the devices that the vertex has
 * to do with, and to a few others at random. Swaps are for what memory forbids to move: the vertex
 * that would gain most, with each on the device that it wants to go to.
 *
 * The longest time alone says nothing of most operations: stages with rising powers of all times
 * come next to it (work_state.h). */
#include "search/published/kernighan_lin.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

#define BIT(d) (UINT64_C(1) << (d))
#define STRANGERS 3     /* devices tried at random */
#define REFRESH 64      /* operations after which all vertices look again */
#define LOOKS 16        /* vertices that look again before one of them moves */
#define SWAPS 2         /* vertices for which partners are sought before each operation */
#define MOST_EPOCHS 40  /* of a stage */
#define PER_BYTE 1e9    /* what a byte beyond the memory weighs in a gain */
#define MOST_TARGETS 16 /* devices that a vertex looks at: of more some at random */
#define KICKED 8        /* the part of the vertices that a new round puts elsewhere, at most */
#define LEAST_GAIN 1e-3 /* of the sum, for another epoch */

static const int stages[] = {1, 2, 3, 4, 6};
#define STAGES (sizeof stages / sizeof *stages)

struct step {
    int v, from;
};

struct climb {
    const struct ad_work_graph *graph;
    const struct ad_kl_options *options;
    struct ad_work_state state;
    struct ad_rng rng;
    struct ad_kl_effort *effort;
    bool *locked;
    double *gain, *wish;  /* by vertex: of its best move; of the best that memory forbids */
    int *target, *wished; /* where to */
    int *looked;          /* by vertex: before which operation its gain was found */
    int now;              /* operations so far */
    struct step *log;
    int nlog;
    int *best; /* part */
    struct ad_work_cost best_cost;
};

/* --- the best move of a vertex --- */

static bool allows(const struct climb *c, int v, int to)
{
    return !c->options->allows || c->options->allows(c->options->data, c->state.part, v, to);
}

static uint64_t candidates(struct climb *c, int v)
{
    int n = c->graph->ndevices;
    uint64_t all = ad_work_state_near(&c->state, v);
    for (int i = 0; i < STRANGERS; i++)
        all |= BIT(ad_rng_below(&c->rng, (uint32_t)n));
    all &= ~BIT(c->state.part[v]);
    while (__builtin_popcountll(all) > MOST_TARGETS)
        all &= ~BIT(ad_rng_below(&c->rng, (uint32_t)n));
    return all;
}

static int64_t beyond(const struct climb *c, int d, int64_t freed)
{
    int64_t excess = c->state.used[d] - freed - c->graph->limit[d];
    return excess > 0 ? excess : 0;
}

static void look(struct climb *c, int v)
{
    const struct ad_work_state *s = &c->state;
    struct ad_work_leaving leaving;
    int from = s->part[v];
    double relief =
        PER_BYTE * (double)(beyond(c, from, 0) - beyond(c, from, ad_work_state_freed(s, v)));
    c->gain[v] = c->wish[v] = INFINITY;
    c->looked[v] = c->now;
    ad_work_state_leave(s, v, &leaving);
    for (uint64_t rest = candidates(c, v); rest; rest &= rest - 1) {
        int d = __builtin_ctzll(rest);
        if (!allows(c, v, d))
            continue;
        double gain = ad_work_state_gain(s, &leaving, d) - relief;
        bool fits = s->used[d] + ad_work_state_need(s, v, d) <= c->graph->limit[d];
        if (fits && gain < c->gain[v]) {
            c->gain[v] = gain;
            c->target[v] = d;
        } else if (!fits && gain < c->wish[v]) {
            c->wish[v] = gain;
            c->wished[v] = d;
        }
    }
}

static void look_at_all(struct climb *c)
{
    for (int v = 0; v < c->graph->nvertices; v++)
        if (!c->locked[v])
            look(c, v);
}

static void look_unless_done(struct climb *c, int v)
{
    if (!c->locked[v] && c->looked[v] != c->now)
        look(c, v);
}

/* Those whose gain a move of v changes most. */
static void look_around(struct climb *c, int v)
{
    const struct ad_work_graph *g = c->graph;
    const struct ad_work_state *s = &c->state;
    for (int i = g->first[v]; i < g->first[v + 1]; i++)
        look_unless_done(c, g->readers[i]);
    for (int i = s->source_first[v]; i < s->source_first[v + 1]; i++) {
        int u = s->sources[i];
        look_unless_done(c, u);
        for (int k = g->first[u]; k < g->first[u + 1]; k++)
            look_unless_done(c, g->readers[k]);
    }
}

/* --- the best operation --- */

static int least(const struct climb *c, const double *gain)
{
    int best = -1;
    double least = INFINITY;
    for (int v = 0; v < c->graph->nvertices; v++)
        if (!c->locked[v] && gain[v] < least) {
            least = gain[v];
            best = v;
        }
    return best;
}

static int best_move(struct climb *c)
{
    for (int i = 0;; i++) {
        int v = least(c, c->gain);
        if (v < 0 || c->looked[v] == c->now)
            return v;
        look(c, v);
        if (i >= LOOKS && c->gain[v] < INFINITY)
            return v;
    }
}

/* After v went to a device that is now too full: the best vertex to send from there to `back`. */
static int partner_for(struct climb *c, int v, int back, double *gain)
{
    const struct ad_work_state *s = &c->state;
    int from = s->part[v], best = -1;
    *gain = INFINITY;
    for (int u = 0; u < c->graph->nvertices; u++) {
        struct ad_work_leaving leaving;
        if (s->part[u] != from || u == v || c->locked[u] ||
            s->used[from] - ad_work_state_freed(s, u) > c->graph->limit[from] ||
            s->used[back] + ad_work_state_need(s, u, back) > c->graph->limit[back] ||
            !allows(c, u, back))
            continue;
        ad_work_state_leave(s, u, &leaving);
        double g = ad_work_state_gain(s, &leaving, back);
        if (g < *gain) {
            *gain = g;
            best = u;
        }
    }
    return best;
}

static void move(struct climb *c, int v, int to)
{
    c->log[c->nlog++] = (struct step){v, c->state.part[v]};
    ad_work_state_move(&c->state, v, to);
    c->locked[v] = true;
}

/* Swaps a vertex with one on the device that it wants to go to, if that is better than `gain`. */
static bool swap_better(struct climb *c, double gain)
{
    for (int i = 0; i < SWAPS; i++) {
        struct ad_work_leaving leaving;
        double second;
        int v = least(c, c->wish);
        if (v < 0 || c->wish[v] >= gain)
            return false;
        int from = c->state.part[v], to = c->wished[v];
        if (c->looked[v] != c->now)
            look(c, v);
        if (c->wish[v] >= gain)
            continue;
        to = c->wished[v];
        ad_work_state_leave(&c->state, v, &leaving);
        double first = ad_work_state_gain(&c->state, &leaving, to);
        ad_work_state_move(&c->state, v, to);
        int u = partner_for(c, v, from, &second);
        ad_work_state_move(&c->state, v, from);
        if (u >= 0 && first + second < gain) {
            move(c, v, to);
            move(c, u, from);
            return true;
        }
        c->wish[v] = INFINITY; /* until it looks again */
    }
    return false;
}

/* --- epochs --- */

static int64_t excess(const struct climb *c)
{
    int64_t sum = 0;
    for (int d = 0; d < c->graph->ndevices; d++)
        sum += beyond(c, d, 0);
    return sum;
}

static void unlock(struct climb *c)
{
    for (int v = 0; v < c->graph->nvertices; v++)
        c->locked[v] = c->options->fixed && c->options->fixed[v];
    c->nlog = 0;
}

/* One operation; false: there is none. */
static bool operate(struct climb *c)
{
    int before = c->nlog;
    int v = best_move(c);
    if (!swap_better(c, v < 0 ? INFINITY : c->gain[v])) {
        if (v < 0)
            return false;
        move(c, v, c->target[v]);
    }
    c->effort->operations++;
    c->now++;
    if (c->now % REFRESH == 0)
        look_at_all(c);
    else
        for (int i = before; i < c->nlog; i++)
            look_around(c, c->log[i].v);
    return true;
}

static bool epoch(struct climb *c)
{
    double sum = ad_work_state_sum(&c->state), start = sum;
    int64_t over = excess(c), start_over = over;
    int best = 0, waited = 0;
    unlock(c);
    c->now++;
    look_at_all(c);
    c->effort->epochs++;
    while ((c->options->patience == 0 || waited++ < c->options->patience) && operate(c)) {
        double s = ad_work_state_sum(&c->state);
        int64_t o = excess(c);
        if (o < over || (o == over && s < sum)) {
            sum = s;
            over = o;
            best = c->nlog;
            waited = 0;
        }
    }
    while (c->nlog > best) {
        const struct step *last = &c->log[--c->nlog];
        ad_work_state_move(&c->state, last->v, last->from);
    }
    return over < start_over || sum < start * (1 - LEAST_GAIN);
}

/* Keeps the partitioning if it is the best by what is wanted. */
static void keep(struct climb *c)
{
    struct ad_work_cost cost = {.excess = excess(c), .seconds = ad_work_state_longest(&c->state)};
    if (cost.excess > c->best_cost.excess ||
        (cost.excess == c->best_cost.excess && cost.seconds >= c->best_cost.seconds))
        return;
    c->best_cost = cost;
    memcpy(c->best, c->state.part, (size_t)c->graph->nvertices * sizeof *c->best);
}

static void stage(struct climb *c, int squarings)
{
    ad_work_state_scale(&c->state, squarings);
    for (int i = 0; i < MOST_EPOCHS && epoch(c); i++) {
        keep(c);
        ad_work_state_scale(&c->state, squarings);
    }
}

static void climb_stages(struct climb *c)
{
    if (c->options->objective == AD_WORK_BYTES)
        stage(c, 0);
    for (size_t i = 0; c->options->objective == AD_WORK_RATE && i < STAGES; i++)
        stage(c, stages[i]);
}

/* Puts a vertex elsewhere if there is room. */
static void push(struct climb *c, int v, int to)
{
    const struct ad_work_state *s = &c->state;
    if (!c->locked[v] && s->part[v] != to && allows(c, v, to) &&
        s->used[to] + ad_work_state_need(s, v, to) <= c->graph->limit[to])
        ad_work_state_move(&c->state, v, to);
}

/* From the best: some vertices on a way through the graph go to one device. */
static void kick(struct climb *c)
{
    const struct ad_work_graph *g = c->graph;
    const struct ad_work_state *s = &c->state;
    for (int v = 0; v < g->nvertices; v++)
        ad_work_state_move(&c->state, v, c->best[v]);
    unlock(c);
    int v = (int)ad_rng_below(&c->rng, (uint32_t)g->nvertices);
    int to = (int)ad_rng_below(&c->rng, (uint32_t)g->ndevices);
    int count = 1 + (int)ad_rng_below(&c->rng, (uint32_t)(g->nvertices / KICKED + 1));
    for (int i = 0; i < count; i++) {
        int sources = s->source_first[v + 1] - s->source_first[v];
        int readers = g->first[v + 1] - g->first[v];
        push(c, v, to);
        if (sources + readers == 0)
            return;
        int k = (int)ad_rng_below(&c->rng, (uint32_t)(sources + readers));
        v = k < sources ? s->sources[s->source_first[v] + k]
                        : g->readers[g->first[v] + k - sources];
    }
}

/* --- the whole --- */

static enum adaps_status allocate(struct climb *c, struct adaps_error *err)
{
    size_t n = (size_t)c->graph->nvertices;
    c->locked = ad_calloc(n, sizeof *c->locked);
    c->gain = ad_calloc(n, sizeof *c->gain);
    c->wish = ad_calloc(n, sizeof *c->wish);
    c->target = ad_calloc(n, sizeof *c->target);
    c->wished = ad_calloc(n, sizeof *c->wished);
    c->looked = ad_calloc(n, sizeof *c->looked);
    c->log = ad_calloc(n + 1, sizeof *c->log);
    c->best = ad_calloc(n, sizeof *c->best);
    if (!c->locked || !c->gain || !c->wish || !c->target || !c->wished || !c->looked || !c->log ||
        !c->best)
        return ad_error_memory(err, "vertices", n * sizeof *c->gain);
    return ADAPS_OK;
}

static void release(struct climb *c)
{
    ad_work_state_fini(&c->state);
    ad_free(c->locked);
    ad_free(c->gain);
    ad_free(c->wish);
    ad_free(c->target);
    ad_free(c->wished);
    ad_free(c->looked);
    ad_free(c->log);
    ad_free(c->best);
}

enum adaps_status ad_kl_improve(const struct ad_work_graph *graph,
                                const struct ad_kl_options *options, int *part,
                                struct ad_kl_effort *effort, struct adaps_error *err)
{
    struct ad_kl_effort none = {0};
    struct climb c = {.graph = graph,
                      .options = options,
                      .rng = {options->seed},
                      .effort = effort ? effort : &none,
                      .best_cost = {.excess = INT64_MAX}};
    enum adaps_status status = ad_work_state_init(&c.state, graph, options->objective, part, err);
    if (status == ADAPS_OK)
        status = allocate(&c, err);
    if (status == ADAPS_OK) {
        keep(&c);
        climb_stages(&c);
        for (int i = 0; i < options->rounds && graph->nvertices > 0; i++) {
            kick(&c);
            climb_stages(&c);
        }
        memcpy(part, c.best, (size_t)graph->nvertices * sizeof *part);
    }
    release(&c);
    return status;
}
