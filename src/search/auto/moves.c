/* The moves of the annealing: each changes one property of a random run of ops. */
#include "search/auto/moves.h"

#include <string.h>

#define CRITICAL_ODDS 4 /* all runs but one of so many contain a critical op */
#define MORE_STAGES 3   /* one stage of so many is extended by the next one on a side */

struct run {
    int first, end; /* ops */
};

struct move {
    const struct ad_context *context;
    struct ad_rng *rng;
    struct ad_layout *layout;
    const struct ad_critical_path *critical_path;
    const struct ad_elite_pool *pool;
    struct run run;
    int device; /* the critical op's in the run, or -1 */
};

static int below(struct move *m, int n)
{
    return (int)ad_rng_below(m->rng, (uint32_t)n);
}

/* A length of 1 to n, short ones more often. */
static int length(struct move *m, int n)
{
    int limit = 1;
    while (limit < n && ad_rng_below(m->rng, 3))
        limit *= 2;
    return 1 + below(m, limit < n ? limit : n);
}

/* A stage: the ops between two exchanges, with op `at` among them; sometimes together with the
 * stage before or after it. A change of all of it adds no exchange within. */
static struct run draw_stage(struct move *m, int at)
{
    const bool *exchanged = m->critical_path->exchanged;
    int before = below(m, MORE_STAGES) == 0, after = below(m, MORE_STAGES) == 0;
    struct run run = {at, at + 1};
    while (run.first > 0 && (!exchanged[run.first - 1] || before-- > 0))
        run.first--;
    while (run.end < m->layout->nops && (!exchanged[run.end - 1] || after-- > 0))
        run.end++;
    return run;
}

static struct run draw_ops(struct move *m, int at)
{
    int nops = m->layout->nops, n = length(m, nops),
        first = ad_clamp(at - below(m, n), 0, nops - 1);
    return (struct run){first, ad_clamp(first + n, 1, nops)};
}

static struct run draw_segments(struct move *m, int at)
{
    const struct ad_context *context = m->context;
    int n = length(m, context->nsegments),
        first = ad_clamp(context->segment[at] - below(m, n), 0, context->nsegments);
    struct run run = {at, at + 1};
    while (run.first > 0 && context->segment[run.first - 1] >= first)
        run.first--;
    while (run.end < m->layout->nops && context->segment[run.end] < first + n)
        run.end++;
    return run;
}

/* A stage, some ops in a row, or some segments; mostly with a critical op among them. */
static void draw_run(struct move *m)
{
    int at = below(m, m->layout->nops);
    m->device = -1;
    if (m->critical_path->count > 0 && ad_rng_below(m->rng, CRITICAL_ODDS)) {
        const struct ad_critical_op *critical =
            &m->critical_path->ops[below(m, (int)m->critical_path->count)];
        at = critical->op;
        m->device = critical->device;
    }
    if (m->critical_path->exchanged && ad_rng_below(m->rng, 2))
        m->run = draw_stage(m, at);
    else
        m->run = ad_rng_below(m->rng, 2) ? draw_ops(m, at) : draw_segments(m, at);
}

/* Whether its cuts mean something. */
static bool is_split(const struct ad_op_layout *op)
{
    return op->dim == AD_DIM_H || op->dim == AD_DIM_W || op->dim == AD_DIM_C;
}

/* A random number of rows (columns, channels) of a random op of the run, in cut units, at most
 * threshold x extent (ADaPS eq 3); 0 when the op is not split. */
static int draw_step(struct move *m)
{
    const struct ad_graph *graph = m->context->problem->graph;
    int op = m->run.first + below(m, m->run.end - m->run.first);
    int window = (int)(m->context->problem->threshold * AD_CUT_UNITS + 0.5);
    if (!is_split(&m->layout->ops[op]))
        return 0;
    int32_t size = ad_dim_extent(&graph->values[graph->ops[op].output], m->layout->ops[op].dim);
    int rows = length(m, size / 8 + 1);
    return ad_clamp(rows * AD_CUT_UNITS / size, 1, window);
}

/* Moves the boundaries between devices a and b, a < b, by the same step: one of the two gives rows
 * and the other takes them; devices between them keep their share. */
static bool shift(struct move *m)
{
    int n = m->layout->ndevices, step = draw_step(m);
    bool gives = m->device >= 0 && ad_rng_below(m->rng, CRITICAL_ODDS); /* the critical one */
    int a = gives ? m->device : below(m, n), b = below(m, n);
    bool changed = false;
    if (step == 0)
        return false;
    if (a == b || ad_rng_below(m->rng, 2)) /* neighbours mostly */
        b = a + 1 < n ? a + 1 : a - 1;
    if (gives ? a < b : ad_rng_below(m->rng, 2))
        step = -step;
    if (a > b) {
        int c = a;
        a = b;
        b = c;
    }
    for (int i = m->run.first; i < m->run.end; i++) {
        int *cuts = ad_layout_cuts(m->layout, i);
        if (!is_split(&m->layout->ops[i]))
            continue;
        int by = ad_clamp(step, cuts[a] - cuts[a + 1], cuts[b + 1] - cuts[b]);
        for (int d = a + 1; d <= b; d++)
            cuts[d] += by;
        changed = changed || by != 0;
    }
    return changed;
}

/* Another share for one device: none, its share by speed, or a little more or less than now. The
 * others keep their proportions. */
static bool reshare(struct move *m)
{
    const struct ad_context *context = m->context;
    int n = m->layout->ndevices, d = below(m, n), kind = below(m, 4);
    double factor = 1 + 0.2 * ad_rng_float(m->rng), sum = 0;
    bool changed = false;
    for (int k = 0; k < n; k++)
        sum += context->speed[k];
    for (int i = m->run.first; i < m->run.end; i++) {
        int *cuts = ad_layout_cuts(m->layout, i);
        double weight[AD_MAX_DEVICES], others = 0;
        if (!is_split(&m->layout->ops[i]))
            continue;
        for (int k = 0; k < n; k++) {
            weight[k] = cuts[k + 1] - cuts[k];
            others += k == d ? 0 : weight[k];
        }
        if (others <= 0)
            continue;
        double now = weight[d];
        weight[d] = kind == 0   ? 0
                    : kind == 1 ? others * context->speed[d] / (sum - context->speed[d])
                                : now * factor;
        if (weight[d] == now)
            continue;
        ad_cuts_proportional(weight, n, cuts);
        changed = true;
    }
    return changed;
}

/* Only the first few devices of the context's order, by speed. */
static bool prefix(struct move *m)
{
    const struct ad_context *context = m->context;
    int n = m->layout->ndevices, count = 2 + below(m, n - 1);
    bool use[AD_MAX_DEVICES] = {false};
    double weight[AD_MAX_DEVICES];
    bool changed = false;
    for (int k = 0; k < count && k < n; k++)
        use[context->order[k]] = true;
    ad_context_weights(context, use, weight);
    for (int i = m->run.first; i < m->run.end; i++)
        if (is_split(&m->layout->ops[i])) {
            ad_cuts_proportional(weight, n, ad_layout_cuts(m->layout, i));
            changed = true;
        }
    return changed;
}

/* Copies the form or the cuts of the op before or after the run to all of it. */
static bool copy(struct move *m)
{
    int n = m->layout->ndevices, from = ad_rng_below(m->rng, 2) ? m->run.first - 1 : m->run.end;
    bool form = ad_rng_below(m->rng, 2), changed = false;
    if (from < 0 || from >= m->layout->nops)
        return false;
    const struct ad_op_layout *model = &m->layout->ops[from];
    const int *cuts = ad_layout_cuts(m->layout, from);
    for (int i = m->run.first; i < m->run.end; i++) {
        struct ad_op_layout *op = &m->layout->ops[i];
        int *mine = ad_layout_cuts(m->layout, i);
        size_t size = (size_t)(n + 1) * sizeof *cuts;
        bool able = m->context->can[i][model->dim];
        if ((!form || !able) && (!is_split(op) || !is_split(model)))
            continue;
        if (form && able && (op->dim != model->dim || op->at != model->at)) {
            op->dim = model->dim;
            op->at = model->at;
            op->pinned = op->dim == AD_DIM_WHOLE || op->dim >= AD_DIM_C || op->pinned;
            changed = true;
        }
        if (is_split(model) && memcmp(mine, cuts, size) != 0) {
            memcpy(mine, cuts, size);
            changed = true;
        }
    }
    return changed;
}

static bool set_pin(struct ad_op_layout *op, bool pinned)
{
    if (!is_split(op) || op->dim >= AD_DIM_C || op->pinned == pinned)
        return false;
    op->pinned = pinned;
    return true;
}

/* Pins all of the run, none, only its end, or every second or fourth op. */
static bool pin(struct move *m)
{
    int kind = below(m, 5), phase = below(m, 4);
    bool changed = false;
    for (int i = m->run.first; i < m->run.end; i++) {
        bool pinned = kind == 0   ? true
                      : kind == 1 ? false
                      : kind == 2 ? i + 1 == m->run.end
                      : kind == 3 ? (i + phase) % 2 == 0
                                  : (i + phase) % 4 == 0;
        changed = set_pin(&m->layout->ops[i], pinned) || changed;
    }
    return changed;
}

/* Shifts the pins of the run by one op. */
static bool slide(struct move *m)
{
    bool later = ad_rng_below(m->rng, 2), changed = false;
    for (int k = m->run.first; k + 1 < m->run.end; k++) {
        int to = later ? m->run.end - 1 - (k - m->run.first) : k;
        changed =
            set_pin(&m->layout->ops[to], m->layout->ops[later ? to - 1 : to + 1].pinned) || changed;
    }
    return changed;
}

static bool early(struct move *m)
{
    bool to = ad_rng_below(m->rng, 2), changed = false;
    for (int i = m->run.first; i < m->run.end; i++) {
        struct ad_op_layout *op = &m->layout->ops[i];
        changed = changed || (is_split(op) && op->early != to);
        op->early = to;
    }
    return changed;
}

/* Makes the run whole on one device: the source, the fastest, or any. */
static bool whole(struct move *m)
{
    const struct ad_context *context = m->context;
    int which = below(m, 4);
    int at = which == 0   ? context->fastest
             : which == 1 ? below(m, m->layout->ndevices)
                          : context->problem->cluster->source;
    bool changed = false;
    for (int i = m->run.first; i < m->run.end; i++) {
        struct ad_op_layout *op = &m->layout->ops[i];
        changed = changed || op->dim != AD_DIM_WHOLE || op->at != at;
        *op = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = at};
    }
    return changed;
}

/* Splits the run along one dimension; ops that were whole get the shares of the nearest split op
 * before the run, or shares by speed. */
static bool split(struct move *m)
{
    enum ad_dim dim = (enum ad_dim)(AD_DIM_H + below(m, AD_DIMS - AD_DIM_H));
    int n = m->layout->ndevices, like = m->run.first - 1;
    bool pinned = ad_rng_below(m->rng, 2), changed = false;
    while (like >= 0 && !is_split(&m->layout->ops[like]))
        like--;
    if (ad_rng_below(m->rng, 4) == 0)
        like = -1;
    for (int i = m->run.first; i < m->run.end; i++) {
        struct ad_op_layout *op = &m->layout->ops[i];
        int *cuts = ad_layout_cuts(m->layout, i);
        if (op->dim == dim || !m->context->can[i][dim])
            continue;
        if (!is_split(op) && like >= 0)
            memcpy(cuts, ad_layout_cuts(m->layout, like), (size_t)(n + 1) * sizeof *cuts);
        else if (!is_split(op))
            ad_cuts_proportional(m->context->speed, n, cuts);
        op->dim = dim;
        op->across = 0;
        op->pinned = pinned || dim >= AD_DIM_C;
        changed = true;
    }
    return changed;
}

/* Whether the same ops as in the run are found `by` ops later (earlier: by < 0). */
static bool comes_again(const struct move *m, int by)
{
    const int *alike = m->context->alike;
    bool same = true;
    for (int i = m->run.first; i < m->run.end && same; i++)
        same = alike[i] == alike[i + by];
    return same;
}

/* Copies the layout of the run to the ops `by` later. */
static bool paste(struct move *m, int by)
{
    size_t size = (size_t)(m->layout->ndevices + 1) * sizeof *m->layout->cuts;
    bool changed = false;
    for (int i = m->run.first; i < m->run.end; i++) {
        const struct ad_op_layout *from = &m->layout->ops[i];
        struct ad_op_layout *to = &m->layout->ops[i + by];
        changed = changed || from->dim != to->dim || from->pinned != to->pinned ||
                  from->early != to->early || from->at != to->at || from->across != to->across ||
                  memcmp(ad_layout_cuts(m->layout, i), ad_layout_cuts(m->layout, i + by), size);
        *to = *from;
        memcpy(ad_layout_cuts(m->layout, i + by), ad_layout_cuts(m->layout, i), size);
    }
    return changed;
}

/* Pastes at the nearest place after the run (way 1) or before it (-1) where the same ops are, or at
 * all such places. */
static bool paste_along(struct move *m, int way, bool all)
{
    int step = way * (m->run.end - m->run.first), by = step;
    bool changed = false;
    while (m->run.first + by >= 0 && m->run.end + by <= m->layout->nops) {
        bool again = comes_again(m, by);
        changed = (again && paste(m, by)) || changed;
        if (again && !all)
            break;
        by += again ? step : way;
    }
    return changed;
}

/* Networks repeat blocks. Copies the layout of the run to the next place with the same ops, the one
 * before, or all of them. */
static bool repeat(struct move *m)
{
    int which = below(m, 3);
    bool after = which != 1 && paste_along(m, 1, which == 2);
    bool before = which != 0 && paste_along(m, -1, which == 2);
    return after || before;
}

static bool reorder(struct move *m)
{
    enum ad_order order = (enum ad_order)below(m, AD_ORDERS);
    bool changed = order != m->layout->order;
    m->layout->order = order;
    return changed;
}

/* Another number of messages per band. */
static bool rechunk(struct move *m)
{
    int chunks = 1 + below(m, AD_MAX_CHUNKS);
    bool changed = chunks != m->layout->band_chunks;
    m->layout->band_chunks = chunks;
    return changed;
}

/* Copies from a layout of the pool: the run, all up to its end, or all from its beginning on. */
static bool adopt(struct move *m)
{
    if (!m->pool)
        return false;
    const struct ad_layout *from = &m->pool->best[below(m, m->pool->count)].layout;
    int which = below(m, 4), first = which == 0 ? 0 : m->run.first,
        end = which == 1 ? m->layout->nops : m->run.end;
    size_t width = (size_t)m->layout->ndevices + 1, count = (size_t)(end - first);
    memcpy(&m->layout->ops[first], &from->ops[first], count * sizeof *from->ops);
    memcpy(ad_layout_cuts(m->layout, first), ad_layout_cuts(from, first),
           count * width * sizeof *from->cuts);
    return true;
}

bool ad_move(const struct ad_context *context, const struct ad_critical_path *critical_path,
             const struct ad_elite_pool *pool, struct ad_rng *rng, struct ad_layout *layout)
{
    static const struct {
        bool (*change)(struct move *m);
        int weight;
    } kinds[] = {{shift, 40},  {reshare, 12}, {copy, 24}, {pin, 20},   {slide, 14},
                 {early, 14},  {whole, 2},    {split, 5}, {prefix, 3}, {reorder, 3},
                 {rechunk, 4}, {repeat, 12},  {adopt, 10}};
    struct move m = {.context = context,
                     .rng = rng,
                     .layout = layout,
                     .critical_path = critical_path,
                     .pool = pool};
    bool changed = false;
    int total = 0;
    draw_run(&m);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        total += kinds[k].weight;
    do { /* sometimes several changes of one run */
        int i = 0;
        for (int drawn = below(&m, total); drawn >= kinds[i].weight; i++)
            drawn -= kinds[i].weight;
        changed = kinds[i].change(&m) || changed;
    } while (below(&m, 8) == 0);
    return changed;
}
