/* Annealing: a random move is kept when the clock gets better, or not much worse for the
 * temperature, which falls from a thousandth of the latency to nothing; several falls, each from
 * the best so far. */
#include "search/anneal.h"
#include "base/clock.h"
#include "search/moves.h"

#include <math.h>

#define HOT 0.001     /* of what is made small: the first temperature */
#define COLD 0.00002  /* the last */
#define FALLS 3       /* each from half as hot as the one before */
#define IDLE_MOVES 64 /* moves in a row that change nothing: the end */

struct anneal {
    struct ad_eval *eval;
    struct ad_best *best;
    struct ad_layout now, trial;
    struct ad_score score; /* of now */
    struct ad_rng rng;
};

static double energy(const struct anneal *a, const struct ad_score *score)
{
    return a->eval->terrain->problem->objective == AD_OBJECTIVE_LATENCY ? (double)score->makespan_ns
                                                                        : (double)score->first;
}

/* Uniform in [0, 1). */
static double uniform(struct anneal *a)
{
    return (double)(ad_rng_next(&a->rng) >> 11) * 0x1p-53;
}

static bool accepts(struct anneal *a, const struct ad_score *score, double temperature)
{
    if (ad_score_better(score, &a->score))
        return true;
    if (score->excess > a->score.excess || score->late > a->score.late)
        return false;
    double worse = energy(a, score) - energy(a, &a->score);
    return worse <= -log(1 - uniform(a)) * temperature;
}

static enum adaps_status step(struct anneal *a, double temperature)
{
    struct ad_score score;
    ad_layout_copy(&a->now, &a->trial);
    for (int i = 0; !ad_move(a->eval->terrain, &a->rng, &a->trial); i++)
        if (i == IDLE_MOVES)
            return ADAPS_OK;
    enum adaps_status status = ad_eval_score(a->eval, &a->trial, a->best, &score);
    if (status == ADAPS_OK && accepts(a, &score, temperature)) {
        struct ad_layout swap = a->now;
        a->now = a->trial;
        a->trial = swap;
        a->score = score;
    }
    return status;
}

/* One fall of the temperature. */
static enum adaps_status fall(struct anneal *a, double hot, int64_t evaluations)
{
    int64_t deadline = a->eval->terrain->problem->deadline_ns;
    enum adaps_status status = ADAPS_OK;
    ad_layout_copy(&a->best->layout, &a->now);
    a->now.hub = -1; /* directly is hardly ever later, nor are pictures as bytes */
    a->now.levels = a->eval->terrain->levels;
    a->score = a->best->score;
    if (a->now.hub != a->best->layout.hub || a->now.levels != a->best->layout.levels)
        status = ad_eval_score(a->eval, &a->now, a->best, &a->score);
    for (int64_t i = 0; i < evaluations && status == ADAPS_OK; i++) {
        double part = (double)i / (double)evaluations;
        if (deadline > 0 && ad_clock_ns() >= deadline)
            break;
        status = step(a, hot * pow(COLD / HOT, part) * energy(a, &a->best->score));
    }
    return status;
}

/* In how many parts inputs travel: the best of all. */
static enum adaps_status try_parts(struct anneal *a)
{
    enum adaps_status status = ADAPS_OK;
    ad_layout_copy(&a->best->layout, &a->trial);
    for (int parts = 1; parts <= AD_MAX_PARTS && status == ADAPS_OK; parts++) {
        a->trial.parts = parts;
        if (parts != a->best->layout.parts)
            status = ad_eval_try(a->eval, &a->trial, a->best, NULL);
    }
    return status;
}

enum adaps_status ad_anneal(struct ad_eval *eval, struct ad_best *best, uint64_t seed,
                            int64_t evaluations)
{
    const struct ad_search_problem *p = eval->terrain->problem;
    struct anneal a = {.eval = eval, .best = best, .rng = {seed}};
    int nops = p->graph->nops, n = p->cluster->ndevices;
    if (n == 1 || nops == 0)
        return ADAPS_OK;
    enum adaps_status status = ad_layout_init(&a.now, nops, n, eval->err);
    if (status == ADAPS_OK)
        status = ad_layout_init(&a.trial, nops, n, eval->err);
    double hot = HOT;
    for (int i = 0; i < FALLS && status == ADAPS_OK; i++, hot /= 2) {
        status = fall(&a, hot, evaluations / FALLS);
        if (status == ADAPS_OK)
            status = try_parts(&a);
    }
    ad_layout_fini(&a.now);
    ad_layout_fini(&a.trial);
    return status;
}
