#include "search/auto/starts.h"
#include "base/parallel.h"

#define ROUNDS 3
#define FINALISTS 2

/* Parts of the budget by round. */
static const double parts[ROUNDS] = {0.125, 0.125, 0.75};

/* One start of a round. */
struct start {
    struct ad_best best;
    struct ad_eval eval; /* after the annealing only its counts are valid */
    struct adaps_error error;
    enum adaps_status status;
    uint64_t seed;
};

struct round {
    const struct ad_context *context;
    const struct ad_elite_pool *pool; /* that moves copy from, or NULL; it does not change */
    struct ad_budget budget;          /* of each start */
    struct start starts[AD_ELITE_POOL];
};

static void anneal(void *data, int index)
{
    struct round *round = data;
    struct start *start = &round->starts[index];
    start->status = ad_eval_init(&start->eval, round->context, &start->error);
    if (start->status != ADAPS_OK)
        return;
    start->status = ad_anneal(&start->eval, &start->best, round->pool, start->seed, round->budget);
    ad_eval_fini(&start->eval);
}

/* Takes the results of a round, or its first error. */
static enum adaps_status take(struct ad_eval *eval, struct ad_elite_pool *pool,
                              const struct round *round, int count)
{
    for (int i = 0; i < count; i++) {
        const struct start *start = &round->starts[i];
        if (start->status != ADAPS_OK)
            return ad_error_set(eval->err, start->status, "%s", start->error.message);
        ad_eval_add(eval, &start->eval);
        ad_best_copy(&start->best, &pool->best[i]);
    }
    ad_elite_pool_sort(pool);
    return ADAPS_OK;
}

static enum adaps_status run_round(struct ad_eval *eval, struct ad_elite_pool *pool, int nth,
                                   int count, struct ad_budget budget)
{
    double part = parts[nth] / count;
    struct round round = {
        .context = eval->context,
        .pool = nth > 0 ? pool : NULL, /* in the first round all would become one */
        .budget = {(int64_t)((double)budget.evaluations * part),
                   (int64_t)((double)budget.work * part)},
    };
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < count && status == ADAPS_OK; i++) {
        struct start *start = &round.starts[i];
        start->seed = eval->context->problem->seed + (uint64_t)(nth * AD_ELITE_POOL + i);
        status = ad_best_init(&start->best, eval->context, eval->err);
        if (status == ADAPS_OK)
            ad_best_copy(&pool->best[i], &start->best);
    }
    if (status == ADAPS_OK) {
        ad_parallel(count, anneal, &round);
        status = take(eval, pool, &round, count);
    }
    for (int i = 0; i < count; i++)
        ad_best_fini(&round.starts[i].best);
    return status;
}

enum adaps_status ad_starts_anneal(struct ad_eval *eval, struct ad_elite_pool *pool,
                                   struct ad_budget budget)
{
    enum adaps_status status = ADAPS_OK;
    int left = pool->count;
    ad_elite_pool_sort(pool);
    for (int round = 0; round < ROUNDS && left > 0 && status == ADAPS_OK; round++) {
        status = run_round(eval, pool, round, left, budget);
        left = round + 2 < ROUNDS ? (left + 1) / 2 : left < FINALISTS ? left : FINALISTS;
    }
    return status;
}
