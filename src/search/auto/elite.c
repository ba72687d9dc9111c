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

void ad_elite_pool_fini(struct ad_elite_pool *starts)
{
    for (int i = 0; i < AD_ELITE_POOL; i++)
        ad_best_fini(&starts->best[i]);
    *starts = (struct ad_elite_pool){.count = 0};
}

/* Where a layout of this kind goes: the place of its kind, a free one, or the worst. */
static int place_of(const struct ad_elite_pool *starts, int kind)
{
    int worst = 0;
    for (int i = 0; i < starts->count; i++) {
        if (starts->kind[i] == kind)
            return i;
        if (ad_score_better(&starts->best[worst].score, &starts->best[i].score))
            worst = i;
    }
    return starts->count < AD_ELITE_POOL ? starts->count : worst;
}

/* Whether one of them has this very score: then it is the same layout, or as good as. */
static bool has(const struct ad_elite_pool *starts, const struct ad_score *score)
{
    bool found = false;
    for (int i = 0; i < starts->count && !found; i++)
        found = !ad_score_better(score, &starts->best[i].score) &&
                !ad_score_better(&starts->best[i].score, score);
    return found;
}

void ad_elite_pool_offer(struct ad_elite_pool *starts, int kind, const struct ad_layout *layout,
                         const struct ad_score *score)
{
    int i = place_of(starts, kind);
    if (has(starts, score) ||
        (i < starts->count && !ad_score_better(score, &starts->best[i].score)))
        return;
    starts->count += i == starts->count;
    starts->kind[i] = kind;
    ad_layout_copy(layout, &starts->best[i].layout);
    starts->best[i].score = *score;
    starts->best[i].valid = true;
}

void ad_elite_pool_sort(struct ad_elite_pool *starts)
{
    for (int i = 1; i < starts->count; i++) /* by insertion: stable */
        for (int k = i;
             k > 0 && ad_score_better(&starts->best[k].score, &starts->best[k - 1].score); k--) {
            struct ad_best best = starts->best[k];
            int kind = starts->kind[k];
            starts->best[k] = starts->best[k - 1];
            starts->kind[k] = starts->kind[k - 1];
            starts->best[k - 1] = best;
            starts->kind[k - 1] = kind;
        }
}
