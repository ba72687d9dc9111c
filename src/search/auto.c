/* Strategy `auto`, the default: the best plan found.
 *
 * Starts from whatever is best of all other strategies, so it is never predicted slower than any of
 * them; then improves it on the simulated clock by moves on runs of segments (all, halves, quarters
 * and so on down to single segments, overlapping): shift the boundary between two devices, take a
 * device out or in, make the run whole on one device or split it, fuse it or pin it, turn it to
 * columns, send what others wait for before the rest is computed; and by pins and early sends of
 * single ops. A move is kept when the clock gets better (equal clock: fewer bytes). Then the same
 * for the better half of the devices, whose plan is taken (and improved with all of them) when it
 * is ahead. The order of moves is fixed and the number of evaluations bounded, so the same input
 * gives the same plan anywhere. Where there are few layouts at all, every one is evaluated in the
 * end (exhaustive.c).
 *
 * The threshold is ADaPS equation 3 turned to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step, and no boundary farther than that from where the shares that were
 * chosen last (by speed, or by a device's leaving or joining) put it. */
#include "search/subset.h"
#include "base/clock.h"

#define MAX_EVALUATIONS 4000
#define EVALUATION_UNITS 4000000 /* evaluations x ops x devices, for large cases */
#define MIN_EVALUATIONS 200

struct run {
    int first, end; /* ops */
};

struct improve {
    struct ad_eval *eval;
    const struct ad_terrain *terrain;
    struct ad_best *best;
    struct ad_layout trial;
    int *centre;  /* like layout.cuts: what shifts may not move far away from */
    int64_t last; /* eval->visited at which the budget ends */
    bool improved;
    enum adaps_status status;
};

static bool going_on(const struct improve *m)
{
    int64_t deadline = m->terrain->problem->deadline_ns;
    return m->status == ADAPS_OK && m->eval->visited < m->last &&
           (deadline == 0 || ad_clock_ns() < deadline);
}

static void start_trial(struct improve *m)
{
    ad_layout_copy(&m->best->layout, &m->trial);
}

/* Evaluates the trial; true when it is the new best. */
static bool accept_trial(struct improve *m)
{
    bool better = false;
    m->status = ad_eval_try(m->eval, &m->trial, m->best, &better);
    m->improved = m->improved || better;
    return better;
}

static bool is_split(const struct ad_op_layout *op)
{
    return op->dim != AD_DIM_WHOLE;
}

static int *centre_of(const struct improve *m, int op)
{
    return &m->centre[(size_t)op * (size_t)(m->trial.ndevices + 1)];
}

static void recentre(struct improve *m, struct run run)
{
    for (int i = run.first; i < run.end; i++)
        for (int d = 0; d <= m->trial.ndevices; d++)
            centre_of(m, i)[d] = ad_layout_cuts(&m->best->layout, i)[d];
}

static int clamp(int x, int lo, int hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Moves the boundary in front of device d by delta units, throughout the run. Devices without a
 * share that lie there move along. */
static bool shift_boundary(struct improve *m, struct run run, int d, int delta, int window)
{
    bool changed = false;
    start_trial(m);
    for (int i = run.first; i < run.end; i++) {
        int *cuts = ad_layout_cuts(&m->trial, i);
        if (!is_split(&m->trial.ops[i]) || cuts[d] == cuts[d + 1])
            continue; /* each boundary once: the one in front of a device with a share */
        int lo = d, old = cuts[d];
        while (lo > 0 && cuts[lo - 1] == old)
            lo--;
        if (lo == 0)
            continue; /* the outer edge */
        int centre = centre_of(m, i)[d];
        int to =
            clamp(clamp(old + delta, centre - window, centre + window), cuts[lo - 1], cuts[d + 1]);
        changed = changed || to != old;
        for (int k = lo; k <= d; k++)
            cuts[k] = to;
    }
    return changed && accept_trial(m);
}

/* Gives device d the share `share` (of 1) of every split op of the run, the others the rest as they
 * had it. */
static bool give_share(struct improve *m, struct run run, int d, double share)
{
    int n = m->trial.ndevices;
    bool changed = false;
    start_trial(m);
    for (int i = run.first; i < run.end; i++) {
        int *cuts = ad_layout_cuts(&m->trial, i);
        double weight[AD_MAX_DEVICES] = {0}, others = 0;
        for (int k = 0; k < n; k++)
            weight[k] = cuts[k + 1] - cuts[k];
        double now = weight[d] / AD_CUT_UNITS;
        for (int k = 0; k < n; k++)
            others += k == d ? 0 : weight[k];
        if (!is_split(&m->trial.ops[i]) || others <= 0 || (now > 0) == (share > 0))
            continue;
        weight[d] = share * others / (1 - share);
        ad_cuts_proportional(weight, n, cuts);
        changed = true;
    }
    if (!changed || !accept_trial(m))
        return false;
    recentre(m, run);
    return true;
}

/* The run whole on device `at`. */
static bool make_whole(struct improve *m, struct run run, int at)
{
    bool changed = false;
    start_trial(m);
    for (int i = run.first; i < run.end; i++) {
        struct ad_op_layout *op = &m->trial.ops[i];
        changed = changed || is_split(op) || op->at != at;
        *op = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = at};
    }
    return changed && accept_trial(m);
}

/* Splits the run along dim, what was whole or split otherwise. The shares of what was whole are
 * those of the nearest split op before the run, or by speed. */
static bool make_split(struct improve *m, struct run run, enum ad_dim dim, bool pinned)
{
    const struct ad_terrain *t = m->terrain;
    int n = m->trial.ndevices, like = run.first - 1;
    bool changed = false;
    start_trial(m);
    while (like >= 0 && !is_split(&m->trial.ops[like]))
        like--;
    for (int i = run.first; i < run.end; i++) {
        struct ad_op_layout *op = &m->trial.ops[i];
        int *cuts = ad_layout_cuts(&m->trial, i);
        if (op->dim == dim || !t->can[i][dim])
            continue;
        if (!is_split(op) && like >= 0)
            for (int d = 0; d <= n; d++)
                cuts[d] = ad_layout_cuts(&m->trial, like)[d];
        else if (!is_split(op))
            ad_cuts_proportional(t->speed, n, cuts);
        op->dim = dim;
        op->pinned = pinned || dim >= AD_DIM_C;
        changed = true;
    }
    if (!changed || !accept_trial(m))
        return false;
    recentre(m, run);
    return true;
}

static bool set_pins(struct improve *m, struct run run, bool pinned)
{
    bool changed = false;
    start_trial(m);
    for (int i = run.first; i < run.end; i++) {
        struct ad_op_layout *op = &m->trial.ops[i];
        if (!is_split(op) || op->dim >= AD_DIM_C || op->pinned == pinned)
            continue;
        op->pinned = pinned;
        changed = true;
    }
    return changed && accept_trial(m);
}

static bool set_early(struct improve *m, struct run run, bool early)
{
    bool changed = false;
    start_trial(m);
    for (int i = run.first; i < run.end; i++) {
        struct ad_op_layout *op = &m->trial.ops[i];
        changed = changed || op->early != early;
        op->early = early;
    }
    return changed && accept_trial(m);
}

static void shift_moves(struct improve *m, struct run run)
{
    int window = (int)(m->terrain->problem->threshold * AD_CUT_UNITS + 0.5);
    for (int d = 1; d < m->trial.ndevices; d++)
        for (int step = window; step >= AD_CUT_UNITS / 128 && going_on(m); step /= 2) {
            /* As far as it helps in one direction, else in the other. */
            bool moved = false;
            while (going_on(m) && shift_boundary(m, run, d, step, window))
                moved = true;
            while (!moved && going_on(m) && shift_boundary(m, run, d, -step, window))
                continue;
        }
}

static void device_moves(struct improve *m, struct run run)
{
    const struct ad_terrain *t = m->terrain;
    int n = m->trial.ndevices;
    double sum = 0;
    for (int d = 0; d < n; d++)
        sum += t->speed[d];
    for (int d = 0; d < n && going_on(m); d++) {
        give_share(m, run, d, 0);
        if (going_on(m) && n > 1)
            give_share(m, run, d, clamp((int)(t->speed[d] / sum * 1000), 1, 900) / 1000.0);
    }
    if (going_on(m))
        make_whole(m, run, t->problem->cluster->source);
    if (going_on(m) && t->fastest != t->problem->cluster->source)
        make_whole(m, run, t->fastest);
}

static void form_moves(struct improve *m, struct run run)
{
    for (enum ad_dim dim = AD_DIM_H; dim < AD_DIMS && going_on(m); dim++) {
        make_split(m, run, dim, true);
        if (dim < AD_DIM_C && going_on(m))
            make_split(m, run, dim, false);
    }
    if (going_on(m))
        set_pins(m, run, true);
    if (going_on(m))
        set_pins(m, run, false);
    if (going_on(m))
        set_early(m, run, true);
    if (going_on(m))
        set_early(m, run, false);
}

static struct run run_of(const struct ad_terrain *t, int first_segment, int end_segment)
{
    int nops = t->problem->graph->nops;
    struct run run = {nops, nops};
    for (int i = nops; i-- > 0;) {
        if (t->segment[i] >= end_segment)
            run.end = i;
        if (t->segment[i] >= first_segment)
            run.first = i;
    }
    return run;
}

/* All moves on all runs of `length` segments. */
static void sweep(struct improve *m, int length)
{
    const struct ad_terrain *t = m->terrain;
    int stride = length > 1 ? length / 2 : 1;
    for (int s = 0; s < t->nsegments && going_on(m); s += stride) {
        struct run run = run_of(t, s, s + length);
        device_moves(m, run);
        shift_moves(m, run);
        form_moves(m, run);
        if (s + length >= t->nsegments)
            break;
    }
}

static void single_ops(struct improve *m)
{
    for (int i = 0; i < m->trial.nops && going_on(m); i++) {
        struct run one = {i, i + 1};
        set_pins(m, one, !m->best->layout.ops[i].pinned);
        if (going_on(m))
            set_early(m, one, !m->best->layout.ops[i].early);
    }
}

static int64_t budget(const struct ad_terrain *t)
{
    int64_t size = (int64_t)t->problem->graph->nops * t->problem->cluster->ndevices;
    if (t->problem->evaluations > 0)
        return t->problem->evaluations;
    int64_t n = EVALUATION_UNITS / (size > 0 ? size : 1);
    return n < MIN_EVALUATIONS ? MIN_EVALUATIONS : n > MAX_EVALUATIONS ? MAX_EVALUATIONS : n;
}

static void reorder(struct improve *m)
{
    for (enum ad_order order = AD_ORDER_GRAPH; order <= AD_ORDER_EDGES && going_on(m); order++)
        if (order != m->best->layout.order) {
            start_trial(m);
            m->trial.order = order;
            accept_trial(m);
        }
    for (int parts = 1; parts <= AD_MAX_PARTS && going_on(m); parts++)
        if (parts != m->best->layout.parts) {
            start_trial(m);
            m->trial.parts = parts;
            accept_trial(m);
        }
}

/* What a seed of a published strategy does not do: pictures as bytes, and exchanges without a hub. */
static void modernise(struct improve *m)
{
    if (going_on(m) && m->terrain->levels && !m->best->layout.levels) {
        start_trial(m);
        m->trial.levels = true;
        accept_trial(m);
    }
    if (going_on(m) && m->best->layout.hub >= 0) {
        start_trial(m);
        m->trial.hub = -1;
        accept_trial(m);
    }
    reorder(m);
}

static enum adaps_status improve(struct ad_eval *eval, struct ad_best *best, int64_t evaluations)
{
    const struct ad_terrain *t = eval->terrain;
    struct improve m = {.eval = eval, .terrain = t, .best = best, .improved = true};
    int nops = t->problem->graph->nops, n = t->problem->cluster->ndevices;
    if (n == 1 || nops == 0)
        return ADAPS_OK;
    m.last = eval->visited + evaluations;
    m.status = ad_layout_init(&m.trial, nops, n, eval->err);
    if (m.status != ADAPS_OK)
        return m.status;
    m.centre = ad_calloc((size_t)nops * (size_t)(n + 1), sizeof *m.centre);
    if (!m.centre)
        m.status = ad_error_memory(eval->err, "search", (size_t)nops);
    else
        recentre(&m, (struct run){0, nops});
    modernise(&m);
    while (m.improved && going_on(&m)) {
        m.improved = false;
        for (int length = t->nsegments;; length = (length + 1) / 2) {
            sweep(&m, length);
            if (length == 1)
                break;
        }
        single_ops(&m);
        reorder(&m);
    }
    ad_free(m.centre);
    ad_layout_fini(&m.trial);
    return m.status;
}

/* The other strategies, each from nothing: what one finds must not depend on those before it. */
static enum adaps_status run_others(struct ad_eval *eval, struct ad_best *best)
{
    static ad_search_fn *const others[] = {
        ad_single_search, ad_edgeflow_search, ad_fused_search,       ad_bbgrap_search,
        ad_modnn_search,  ad_coedge_search,   ad_deepslicing_search, ad_deepthings_search,
    };
    struct ad_best mine;
    enum adaps_status status = ad_best_init(&mine, eval->terrain, eval->err);
    for (size_t i = 0; i < sizeof others / sizeof *others && status == ADAPS_OK; i++) {
        mine.valid = false;
        status = others[i](eval, &mine);
        if (status == ADAPS_OK && (!best->valid || ad_score_better(&mine.score, &best->score)))
            ad_best_copy(&mine, best);
    }
    ad_best_fini(&mine);
    return status;
}

enum adaps_status ad_auto_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_terrain *t = eval->terrain;
    struct ad_best shared;
    enum adaps_status status = ad_best_init(&shared, t, eval->err);
    if (status != ADAPS_OK)
        return status;
    shared.shared = true;
    eval->best_shared = &shared;
    status = run_others(eval, best);
    /* One device alone is a valley that no single move leads out of: when it is ahead, the best
     * shared layout is improved as well. */
    bool alone = status == ADAPS_OK && shared.valid && ad_score_better(&best->score, &shared.score);
    if (status == ADAPS_OK)
        status = improve(eval, best, budget(t) / (alone ? 2 : 1));
    if (status == ADAPS_OK && alone)
        status = improve(eval, &shared, budget(t) / 2);
    if (status == ADAPS_OK && alone && ad_score_better(&shared.score, &best->score))
        ad_best_copy(&shared, best);
    eval->best_shared = NULL;
    /* Fewer devices may lead to a better valley: no more devices, no worse. */
    struct ad_score before = best->score;
    if (status == ADAPS_OK)
        status = ad_subset_search(eval, ad_auto_search, best);
    if (status == ADAPS_OK && ad_score_better(&best->score, &before))
        status = improve(eval, best, budget(t) / 2);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(eval, best);
    eval->space_log10 = ad_layout_space(t);
    ad_best_fini(&shared);
    return status;
}
