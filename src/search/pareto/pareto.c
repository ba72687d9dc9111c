/* First every strategy runs under every objective: the plans of auto are the ends of the front.
 * Then an archive (archive.h) is filled with what annealings see that start from its members. Each
 * of these makes another balance of the objectives small, by the moves of auto (search/auto/); the
 * balances are drawn from the seed. Published: AutoDiCE searches such fronts by NSGA-II, whose
 * crowding distance bounds the archive here. */
#include "search/pareto/pareto.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/round.h"
#include "schedule/energy.h"
#include "search/auto/anneal.h"
#include "search/layout_regions.h"
#include "search/strategies/search.h"

#include <string.h>

#define ANNEALINGS 24    /* each with a balance of its own */
#define EVALUATIONS 1500 /* of each, by default */
#define WORK 1500000     /* likewise, as ad_scorer_work() counts it */
#define WHOLE 1e9        /* the balance of what is worst in an objective */
#define SEEDS 1000003    /* between the seeds of two annealings */

/* What a front is made from. */
struct front {
    const struct ad_search_problem *problem;
    const struct ad_pareto_objectives *objectives;
    struct ad_pareto_plan *plans;
    size_t count, room;
    int64_t visited;
    struct adaps_error *err;
};

/* --- candidates --- */

/* Takes over the result. */
static enum adaps_status add(struct front *f, const char *strategy, enum ad_objective objective,
                             struct ad_search_result *result)
{
    struct ad_pareto_plan plan = {.strategy = strategy, .objective = objective, .result = *result};
    enum adaps_status status = ad_search_figures(f->problem, result, plan.figure, f->err);
    if (status == ADAPS_OK && f->count == f->room &&
        !ad_grow(&f->plans, f->count, &f->room, sizeof *f->plans))
        status = ad_error_memory(f->err, "front", f->count * sizeof *f->plans);
    if (status == ADAPS_OK)
        f->plans[f->count++] = plan;
    else
        ad_search_result_fini(&plan.result);
    *result = (struct ad_search_result){0};
    return status;
}

/* A strategy under an objective, if it has a plan. *why: of the last that has none. */
static enum adaps_status try_strategy(struct front *f, const struct ad_strategy *strategy,
                                      enum ad_objective objective, struct adaps_error *why)
{
    struct ad_search_problem problem = *f->problem;
    struct ad_search_result result;
    problem.objective = objective;
    enum adaps_status status = ad_search_run(strategy, &problem, &result, why);
    if (status == ADAPS_NO)
        return ADAPS_OK;
    if (status != ADAPS_OK)
        return ad_error_set(f->err, status, "%s", why->message);
    f->visited += result.visited;
    return add(f, strategy->name, objective, &result);
}

static bool has_throughput(const struct ad_pareto_objectives *objectives)
{
    for (int i = 0; i < objectives->count; i++)
        if (objectives->list[i] == AD_OBJECTIVE_THROUGHPUT)
            return true;
    return false;
}

/* Every strategy under every objective; those for streams under the throughput, if that counts. */
static enum adaps_status try_strategies(struct front *f, struct adaps_error *why)
{
    enum adaps_status status = ADAPS_OK;
    for (const struct ad_strategy *s = ad_strategies; s->name && status == ADAPS_OK; s++) {
        if (s->small)
            continue;
        if (s->stream && has_throughput(f->objectives))
            status = try_strategy(f, s, AD_OBJECTIVE_THROUGHPUT, why);
        for (int i = 0; i < f->objectives->count && !s->stream && status == ADAPS_OK; i++)
            status = try_strategy(f, s, f->objectives->list[i], why);
    }
    return status;
}

/* --- the archive --- */

/* The least and the largest figure of each objective in the archive. */
static void find_range(const struct ad_archive *archive, int64_t *least, int64_t *most)
{
    for (int o = 0; o < AD_OBJECTIVES; o++) {
        least[o] = most[o] = archive->best[0].score.figure[o];
        for (int i = 1; i < archive->count; i++) {
            int64_t figure = archive->best[i].score.figure[o];
            least[o] = figure < least[o] ? figure : least[o];
            most[o] = figure > most[o] ? figure : most[o];
        }
    }
}

/* A balance in which each objective has a random weight. */
static void draw_balance(const struct ad_archive *archive, struct ad_rng *rng,
                         struct ad_balance *out)
{
    int64_t most[AD_OBJECTIVES];
    *out = (struct ad_balance){.best = {0}};
    find_range(archive, out->best, most);
    for (int i = 0; i < archive->objectives->count; i++) {
        enum ad_objective o = archive->objectives->list[i];
        double range = (double)(most[o] - out->best[o]);
        uint32_t share = 1 + ad_rng_below(rng, 16);
        out->weight[o] = ad_round_coarse(WHOLE * share / 16 / (range > 1 ? range : 1));
    }
}

/* The member with the smallest balance. */
static const struct ad_best *choose_start(const struct ad_archive *archive,
                                          const struct ad_balance *balance)
{
    const struct ad_best *best = &archive->best[0];
    for (int i = 1; i < archive->count; i++)
        if (ad_balance_of(balance, archive->best[i].score.figure) <
            ad_balance_of(balance, best->score.figure))
            best = &archive->best[i];
    return best;
}

static struct ad_budget budget(const struct ad_search_problem *problem)
{
    int64_t effort = problem->effort > 0 ? problem->effort : 1;
    if (problem->evaluations > 0)
        return (struct ad_budget){problem->evaluations / ANNEALINGS + 1, INT64_MAX};
    return (struct ad_budget){EVALUATIONS * effort, WORK * effort};
}

/* Anneals from a member of the archive, which sees all that is evaluated. balance: the eval's
 * problem has it. */
static enum adaps_status anneal_once(struct ad_eval *eval, struct ad_archive *archive,
                                     struct ad_balance *balance, struct ad_rng *rng, uint64_t seed)
{
    struct ad_best best;
    draw_balance(archive, rng, balance);
    enum adaps_status status = ad_best_init(&best, eval->context, eval->err);
    if (status != ADAPS_OK)
        return status;
    ad_layout_copy(&choose_start(archive, balance)->layout, &best.layout);
    status = ad_eval_score(eval, &best.layout, &best, &best.score);
    if (status == ADAPS_OK)
        status = ad_anneal(eval, &best, NULL, seed, budget(eval->context->problem));
    ad_best_fini(&best);
    return status;
}

/* The archive begins with the layouts that the strategies' plans come from. */
static enum adaps_status fill(struct front *f, struct ad_eval *eval, struct ad_archive *archive,
                              struct ad_balance *balance)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_rng rng = {p->seed ^ SEEDS};
    enum adaps_status status = ADAPS_OK;
    eval->observer = (struct ad_eval_observer){ad_archive_see, archive};
    for (size_t i = 0; i < f->count && status == ADAPS_OK; i++) {
        const struct ad_search_result *result = &f->plans[i].result;
        struct ad_score score;
        if (result->layout.nops > 0 && !result->graph)
            status = ad_eval_score(eval, &result->layout, NULL, &score);
    }
    for (uint64_t i = 0; i < ANNEALINGS && status == ADAPS_OK; i++)
        if (archive->count > 0 && !ad_eval_late(eval))
            status = anneal_once(eval, archive, balance, &rng, p->seed + (i + 1) * SEEDS);
    eval->observer = (struct ad_eval_observer){0};
    f->visited += ad_eval_visited(eval);
    return status;
}

/* --- from the archive to plans --- */

/* Whether it is in no objective better than the plan of auto for that. */
static bool between_ends(const struct front *f, const int64_t *figure)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct ad_pareto_plan *end = &f->plans[i];
        if (end->strategy == ad_strategies[0].name &&
            figure[end->objective] < end->figure[end->objective])
            return false;
    }
    return true;
}

/* A member of the archive as a plan of one inference at a time, or of a stream. */
static enum adaps_status add_member(struct front *f, const struct ad_assignment *assignment,
                                    enum ad_objective objective)
{
    struct ad_search_problem problem = *f->problem;
    struct ad_search_result result;
    struct adaps_error why = {0};
    int64_t figure[AD_OBJECTIVES];
    problem.objective = objective;
    enum adaps_status status = ad_search_given(
        &problem, "pareto", &(struct ad_given){.items = assignment, .count = 1}, &result, &why);
    if (status == ADAPS_NO)
        return ADAPS_OK;
    if (status != ADAPS_OK)
        return ad_error_set(f->err, status, "%s", why.message);
    result.visited = f->visited;
    status = ad_search_figures(&problem, &result, figure, f->err);
    if (status == ADAPS_OK && between_ends(f, figure))
        return add(f, "pareto", AD_OBJECTIVE_BALANCE, &result);
    ad_search_result_fini(&result);
    return status;
}

static enum adaps_status add_members(struct front *f, struct ad_eval *eval,
                                     const struct ad_archive *archive)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < archive->count && status == ADAPS_OK; i++) {
        ad_eval_assign(eval, &archive->best[i].layout);
        status = add_member(f, &eval->scratch, AD_OBJECTIVE_LATENCY);
        if (status == ADAPS_OK && has_throughput(f->objectives))
            status = add_member(f, &eval->scratch, AD_OBJECTIVE_THROUGHPUT);
    }
    return status;
}

static enum adaps_status search_archive(struct front *f)
{
    struct ad_balance balance = {.best = {0}};
    struct ad_search_problem problem = *f->problem;
    struct ad_context context = {0};
    struct ad_eval eval = {0};
    struct ad_archive archive = {.count = 0};
    for (int i = 0; i < f->objectives->count; i++)
        balance.weight[f->objectives->list[i]] = 1;
    problem.objective = AD_OBJECTIVE_BALANCE;
    problem.balance = &balance;
    if (problem.time_limit_ns > 0)
        problem.deadline_ns = ad_clock_ns() + problem.time_limit_ns;
    enum adaps_status status = ad_context_init(&context, &problem, f->err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&eval, &context, f->err);
    if (status == ADAPS_OK)
        status = ad_archive_init(&archive, f->objectives, &context, f->err);
    if (status == ADAPS_OK)
        status = fill(f, &eval, &archive, &balance);
    if (status == ADAPS_OK)
        status = add_members(f, &eval, &archive);
    ad_archive_fini(&archive);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    return status;
}

/* --- the front --- */

/* Whether plan i is worse than another one, or as good as an earlier one. */
static bool is_worse(const struct front *f, size_t i)
{
    for (size_t k = 0; k < f->count; k++) {
        const int64_t *a = f->plans[k].figure, *b = f->plans[i].figure;
        if (k != i && (ad_pareto_dominates(f->objectives, a, b) ||
                       (k < i && ad_pareto_equal(f->objectives, a, b))))
            return true;
    }
    return false;
}

static void drop(struct front *f, size_t which)
{
    ad_search_result_fini(&f->plans[which].result);
    f->count--;
    memmove(&f->plans[which], &f->plans[which + 1], (f->count - which) * sizeof *f->plans);
}

/* Leaves those that are not dominated, at most AD_PARETO_PLANS of them. */
static enum adaps_status thin(struct front *f)
{
    bool *worse = ad_calloc(f->count, sizeof *worse);
    const int64_t **figure = ad_calloc(f->count, sizeof *figure);
    enum adaps_status status =
        worse && figure ? ADAPS_OK : ad_error_memory(f->err, "front", f->count);
    for (size_t i = 0; i < f->count && status == ADAPS_OK; i++)
        worse[i] = is_worse(f, i);
    for (size_t i = f->count; i-- > 0 && status == ADAPS_OK;)
        if (worse[i])
            drop(f, i);
    while (status == ADAPS_OK && f->count > AD_PARETO_PLANS) {
        for (size_t i = 0; i < f->count; i++)
            figure[i] = f->plans[i].figure;
        drop(f, (size_t)ad_pareto_most_crowded(f->objectives, figure, (int)f->count));
    }
    ad_free(worse);
    ad_free(figure);
    return status;
}

/* Whether a comes before b: less in the first objective, else in the second, and so on. */
static bool before(const struct front *f, const struct ad_pareto_plan *a,
                   const struct ad_pareto_plan *b)
{
    for (int i = 0; i < f->objectives->count; i++) {
        enum ad_objective o = f->objectives->list[i];
        if (a->figure[o] != b->figure[o])
            return a->figure[o] < b->figure[o];
    }
    return false;
}

static void sort(struct front *f)
{
    for (size_t i = 1; i < f->count; i++) /* by insertion: stable */
        for (size_t k = i; k > 0 && before(f, &f->plans[k], &f->plans[k - 1]); k--) {
            struct ad_pareto_plan swap = f->plans[k];
            f->plans[k] = f->plans[k - 1];
            f->plans[k - 1] = swap;
        }
}

enum adaps_status ad_pareto_search(const struct ad_search_problem *problem,
                                   const struct ad_pareto_objectives *objectives,
                                   struct ad_pareto *out, struct adaps_error *err)
{
    struct front f = {.problem = problem, .objectives = objectives, .err = err};
    struct adaps_error why = {0};
    int64_t start = ad_clock_ns();
    enum adaps_status status = try_strategies(&f, &why);
    if (status == ADAPS_OK && f.count == 0)
        status = ad_error_set(err, ADAPS_NO, "no strategy has a plan: %s", why.message);
    if (status == ADAPS_OK)
        status = search_archive(&f);
    if (status == ADAPS_OK)
        status = thin(&f);
    if (status == ADAPS_OK)
        sort(&f);
    *out = (struct ad_pareto){.objectives = *objectives,
                              .plans = f.plans,
                              .count = (int)f.count,
                              .visited = f.visited,
                              .seconds = (double)(ad_clock_ns() - start) * 1e-9};
    if (status != ADAPS_OK)
        ad_pareto_fini(out);
    return status;
}

void ad_pareto_fini(struct ad_pareto *pareto)
{
    for (int i = 0; i < pareto->count; i++)
        ad_search_result_fini(&pareto->plans[i].result);
    ad_free(pareto->plans);
    *pareto = (struct ad_pareto){.count = 0};
}
