/* Simulated annealing. A random move is kept when the clock gets better, or when it gets worse by
 * little compared with the temperature. The temperature falls from three thousandths of the latency
 * to almost nothing, several times, each time from the best layout so far.
 *
 * Moves mostly touch ops on the critical path (critical_path.h). Those that leave the assignment as
 * it is cost no evaluation. Most of those that make it much worse are recognised by an estimate,
 * which costs a part of an evaluation. */
#include "search/auto/anneal.h"
#include "base/round.h"
#include "search/auto/moves.h"

#include <math.h>

#define HOT 0.003     /* the first temperature, relative to what is minimised */
#define COLD 0.00002  /* the last one, likewise */
#define FALLS 3       /* of the temperature, each from half as hot as the one before */
#define IDLE_MOVES 64 /* moves in a row without an effect: no trial is drawn */
#define DOUBTS 8    /* one move of so many is evaluated whatever its estimate, which may be wrong */
#define WORSE 0.001 /* estimates later than now by more than this part: not evaluated */

struct anneal {
    struct ad_eval *eval;
    struct ad_best *best;
    const struct ad_elite_pool *pool;
    struct ad_layout now, trial;
    struct ad_score score; /* of now */
    int64_t estimate;      /* likewise, or -1 */
    struct ad_rng rng;
    struct ad_critical_path critical_path; /* of now */
    struct ad_assignment assignment;       /* of now */
};

/* What is minimised. */
static double cost(const struct anneal *a, const struct ad_score *score)
{
    return a->eval->context->problem->objective == AD_OBJECTIVE_LATENCY ? (double)score->makespan_ns
                                                                        : (double)score->objective;
}

/* Uniform in [0, 1). */
static double uniform(struct anneal *a)
{
    return (double)(ad_rng_next(&a->rng) >> 11) * 0x1p-53;
}

/* allowed: how much worse it may be. */
static bool accepts(struct anneal *a, const struct ad_score *score, double allowed)
{
    if (ad_score_better(score, &a->score))
        return true;
    if (score->excess_bytes > a->score.excess_bytes || score->over_cap_ns > a->score.over_cap_ns)
        return false;
    return cost(a, score) - cost(a, &a->score) <= allowed;
}

static void swap_layouts(struct anneal *a)
{
    struct ad_layout swap = a->now;
    a->now = a->trial;
    a->trial = swap;
}

/* Keeps the assignment of `now`, which is the last one made, and its critical path. */
static enum adaps_status note_now(struct anneal *a)
{
    const struct ad_search_problem *p = a->eval->context->problem;
    const struct ad_schedule *schedule;
    ad_assignment_copy(&a->eval->scratch, &a->assignment);
    enum adaps_status status = ad_scorer_run(a->eval->scorer, &a->assignment, false, &schedule);
    if (status != ADAPS_OK)
        return status;
    a->estimate = ad_scorer_estimate(a->eval->scorer);
    return ad_critical_path_find(&a->critical_path, p->graph, schedule, p->cluster->source,
                                 a->eval->err);
}

/* Draws moves of `now` until one changes its assignment: that is the trial. False when IDLE_MOVES
 * moves in a row did not. */
static bool draw_trial(struct anneal *a)
{
    for (int i = 0; i < IDLE_MOVES; i++) {
        ad_layout_copy(&a->now, &a->trial);
        if (!ad_move(a->eval->context, &a->critical_path, a->pool, &a->rng, &a->trial))
            continue;
        ad_eval_assign(a->eval, &a->trial);
        if (!ad_assignment_same(&a->eval->scratch, &a->assignment))
            return true;
        swap_layouts(a);
    }
    return false;
}

/* Beyond these limits a trial is not worth an evaluation. allowed: as in accepts(). */
static struct ad_limits limits_of(struct anneal *a, double allowed)
{
    int64_t now = a->score.makespan_ns, more = (int64_t)(allowed + WORSE * (double)now);
    bool trusted = ad_rng_below(&a->rng, DOUBTS) > 0 && a->estimate >= 0;
    return (struct ad_limits){now + (int64_t)allowed, trusted ? a->estimate + more : INT64_MAX};
}

static enum adaps_status step(struct anneal *a, double temperature)
{
    struct ad_score score;
    if (!draw_trial(a))
        return ADAPS_OK;
    double allowed = -ad_round_coarse(log(1 - uniform(a))) * temperature;
    if (ad_search_by_latency(a->eval->context->problem))
        a->eval->limits = limits_of(a, allowed);
    enum adaps_status status = ad_eval_score_assigned(a->eval, &a->trial, a->best, &score);
    a->eval->limits = AD_NO_LIMITS;
    if (status != ADAPS_OK || !accepts(a, &score, allowed))
        return status;
    swap_layouts(a);
    a->score = score;
    return note_now(a);
}

/* One fall of the temperature. */
static enum adaps_status fall(struct anneal *a, double hot, struct ad_budget budget)
{
    enum adaps_status status = ADAPS_OK;
    ad_layout_copy(&a->best->layout, &a->now);
    a->now.hub = -1; /* direct messages are hardly ever later; nor are pictures as bytes, nor fewer
                        bytes */
    a->now.u8 = a->eval->context->u8;
    a->now.encoding = a->eval->context->encoding;
    a->score = a->best->score;
    status = ad_eval_score(a->eval, &a->now, a->best, &a->score);
    if (status == ADAPS_OK)
        status = note_now(a);
    double spent = 0, all = (double)budget.evaluations * AD_ESTIMATES;
    double part = all > 0 && budget.work > 0 ? 0 : 1;
    int64_t moves = 0, work = ad_scorer_work(a->eval->scorer);
    while (part < 1 && status == ADAPS_OK && !ad_eval_late(a->eval)) {
        int64_t before = a->eval->estimated;
        status = step(a, hot * ad_round_coarse(pow(COLD / HOT, part)) * cost(a, &a->best->score));
        spent += a->eval->estimated > before ? 1 : AD_ESTIMATES;
        int64_t done = ad_scorer_work(a->eval->scorer) - work + ++moves * a->now.nops;
        part = fmax(spent / all, (double)done / (double)budget.work);
    }
    return status;
}

/* Tries every number of messages for inputs, then for bands. */
static enum adaps_status try_chunks(struct anneal *a)
{
    enum adaps_status status = ADAPS_OK;
    ad_layout_copy(&a->best->layout, &a->trial);
    for (int chunks = 1; chunks <= AD_MAX_CHUNKS && status == ADAPS_OK; chunks++) {
        a->trial.input_chunks = chunks;
        if (chunks != a->best->layout.input_chunks && !ad_eval_late(a->eval))
            status = ad_eval_try(a->eval, &a->trial, a->best, NULL);
    }
    ad_layout_copy(&a->best->layout, &a->trial);
    for (int chunks = 1; chunks <= AD_MAX_CHUNKS && status == ADAPS_OK; chunks++) {
        a->trial.band_chunks = chunks;
        if (chunks != a->best->layout.band_chunks && !ad_eval_late(a->eval))
            status = ad_eval_try(a->eval, &a->trial, a->best, NULL);
    }
    return status;
}

/* Tries the graph's order of tasks, which the descents of templates leave out. */
static enum adaps_status try_graph_order(struct anneal *a)
{
    if (ad_eval_late(a->eval))
        return ADAPS_OK;
    ad_layout_copy(&a->best->layout, &a->trial);
    a->trial.order = AD_ORDER_GRAPH;
    return ad_eval_try(a->eval, &a->trial, a->best, NULL);
}

enum adaps_status ad_anneal(struct ad_eval *eval, struct ad_best *best,
                            const struct ad_elite_pool *pool, uint64_t seed,
                            struct ad_budget budget)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct anneal a = {.eval = eval, .best = best, .pool = pool, .rng = {seed}};
    int nops = p->graph->nops, n = p->cluster->ndevices;
    if (n == 1 || nops == 0)
        return ADAPS_OK;
    enum adaps_status status = ad_layout_init(&a.now, nops, n, eval->err);
    if (status == ADAPS_OK)
        status = ad_layout_init(&a.trial, nops, n, eval->err);
    if (status == ADAPS_OK)
        status = ad_assignment_init(&a.assignment, nops, n, eval->err);
    struct ad_budget each = {budget.evaluations / FALLS, budget.work / FALLS};
    double hot = HOT;
    if (status == ADAPS_OK && !pool) /* the first time that this layout is annealed */
        status = try_graph_order(&a);
    for (int i = 0; i < FALLS && status == ADAPS_OK && !ad_eval_late(eval); i++, hot /= 2) {
        status = fall(&a, hot, each);
        if (status == ADAPS_OK)
            status = try_chunks(&a);
    }
    ad_critical_path_fini(&a.critical_path);
    ad_assignment_fini(&a.assignment);
    ad_layout_fini(&a.now);
    ad_layout_fini(&a.trial);
    return status;
}
