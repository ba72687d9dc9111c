#include "search/auto/elite.h"

enum adaps_status ad_elite_pool_init(struct ad_elite_pool *out, const struct ad_context *context,
                                     struct adaps_error *err)
{
    *out = (struct ad_elite_pool){.count = 0};
    for (int i = 0; i < AD_ELITE_POOL; i++) {
        enum adaps_status status = ad_best_init(&out->best[i], context, err);
        if (status != ADAPS_OK) {
            ad_elite_pool_fini(out);
            return status;
        }
    }
    return ADAPS_OK;
}

void ad_elite_pool_fini(struct ad_elite_pool *pool)
{
    for (int i = 0; i < AD_ELITE_POOL; i++)
        ad_best_fini(&pool->best[i]);
    *pool = (struct ad_elite_pool){.count = 0};
}

/* Where a layout of this kind goes: the place of its kind, a free place, or that of the worst. */
static int place_of(const struct ad_elite_pool *pool, int kind)
{
    int worst = 0;
    for (int i = 0; i < pool->count; i++) {
        if (pool->kind[i] == kind)
            return i;
        if (ad_score_better(&pool->best[worst].score, &pool->best[i].score))
            worst = i;
    }
    return pool->count < AD_ELITE_POOL ? pool->count : worst;
}

/* Whether a layout of the pool has this very score: most likely it is the same layout. */
static bool has(const struct ad_elite_pool *pool, const struct ad_score *score)
{
    bool found = false;
    for (int i = 0; i < pool->count && !found; i++)
        found = !ad_score_better(score, &pool->best[i].score) &&
                !ad_score_better(&pool->best[i].score, score);
    return found;
}

void ad_elite_pool_offer(struct ad_elite_pool *pool, int kind, const struct ad_layout *layout,
                         const struct ad_score *score)
{
    int i = place_of(pool, kind);
    if (has(pool, score) || (i < pool->count && !ad_score_better(score, &pool->best[i].score)))
        return;
    pool->count += i == pool->count;
    pool->kind[i] = kind;
    ad_layout_copy(layout, &pool->best[i].layout);
    pool->best[i].score = *score;
    pool->best[i].valid = true;
}

void ad_elite_pool_sort(struct ad_elite_pool *pool)
{
    for (int i = 1; i < pool->count; i++) /* by insertion: stable */
        for (int k = i; k > 0 && ad_score_better(&pool->best[k].score, &pool->best[k - 1].score);
             k--) {
            struct ad_best best = pool->best[k];
            int kind = pool->kind[k];
            pool->best[k] = pool->best[k - 1];
            pool->kind[k] = pool->kind[k - 1];
            pool->best[k - 1] = best;
            pool->kind[k - 1] = kind;
        }
}
