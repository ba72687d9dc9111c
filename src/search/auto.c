/* Strategy `auto`, the default: the best plan found.
 *
 * Starts from whatever is best of all other strategies, so it is never predicted slower than any of
 * them; then anneals on the simulated clock (anneal.c, moves.c). One device alone is a valley that
 * no single move leads out of, and others are deep: what is annealed are the best layouts in which
 * devices share the work, of several kinds (templates.c, starts.h), the more promising for longer;
 * what the same search finds for the better half of the devices is one of them. The random moves
 * come from the problem's seed and the number of evaluations is bounded, so the same input gives
 * the same plan anywhere, unless a time limit ends the search. Where there are few layouts at all,
 * every one is evaluated in the end (exhaustive.c).
 *
 * The threshold is ADaPS equation 3 turned to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step. */
#include "search/anneal.h"
#include "search/starts.h"
#include "search/subset.h"

/* Evaluations by default: fewer for larger graphs, whose layouts take longer each, and more for
 * more devices, where there is more to find. */
#define EVALUATION_UNITS 400000 /* evaluations x ops, on few devices */
#define MIN_EVALUATIONS 1000
#define MAX_EVALUATIONS 12000
#define FEW_DEVICES 4
#define MANY_DEVICES 16

/* The kinds of starts that are no templates. */
#define OTHERS (-1)
#define HALF (-2)

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static int64_t budget(const struct ad_eval *eval)
{
    const struct ad_search_problem *p = eval->terrain->problem;
    int64_t nops = clamp(p->graph->nops, 1, INT64_MAX), effort = clamp(p->effort, 1, INT64_MAX);
    int64_t devices = clamp(p->cluster->ndevices, FEW_DEVICES, MANY_DEVICES);
    int64_t n = clamp(EVALUATION_UNITS / nops, MIN_EVALUATIONS, MAX_EVALUATIONS);
    n = n * (FEW_DEVICES + devices) / (2 * FEW_DEVICES) * effort;
    return (int64_t)((double)(p->evaluations > 0 ? p->evaluations : n) * eval->share);
}

/* A strategy's layout with fewer bytes on the links, if that is better. */
static enum adaps_status try_encoded(struct ad_eval *eval, struct ad_best *best)
{
    enum ad_encoding was = best->layout.encoding;
    bool better = false;
    best->layout.encoding = eval->terrain->encoding;
    enum adaps_status status =
        was != eval->terrain->encoding ? ad_eval_try(eval, &best->layout, best, &better) : ADAPS_OK;
    if (!better)
        best->layout.encoding = was;
    return status;
}

/* The other strategies, each from nothing: what one finds must not depend on those before it. */
static enum adaps_status run_others(struct ad_eval *eval, struct ad_best *best)
{
    static ad_search_fn *const others[] = {
        ad_single_search, ad_edgeflow_search, ad_templates_search,   ad_bbgrap_search,
        ad_modnn_search,  ad_coedge_search,   ad_deepslicing_search, ad_deepthings_search,
    };
    struct ad_best mine;
    enum adaps_status status = ad_best_init(&mine, eval->terrain, eval->err);
    for (size_t i = 0; i < sizeof others / sizeof *others && status == ADAPS_OK; i++) {
        mine.valid = false;
        status = others[i](eval, &mine);
        if (status == ADAPS_OK && mine.valid)
            status = try_encoded(eval, &mine);
        if (status == ADAPS_OK && (!best->valid || ad_score_better(&mine.score, &best->score)))
            ad_best_copy(&mine, best);
    }
    ad_best_fini(&mine);
    return status;
}

#define ROUNDS 3

/* Anneals all starts for a while, the better half of them for as long, and the best one of these,
 * which goes into *best when it is ahead. */
static enum adaps_status race(struct ad_eval *eval, struct ad_starts *starts, struct ad_best *best)
{
    const struct ad_terrain *t = eval->terrain;
    enum adaps_status status = ADAPS_OK;
    int left = starts->count;
    for (int round = 0; round < ROUNDS && left > 0 && status == ADAPS_OK; round++) {
        int64_t each = budget(eval) / 8 * (round + 1 < ROUNDS ? 1 : 6) / left;
        for (int i = 0; i < left && status == ADAPS_OK; i++)
            status = ad_anneal(eval, &starts->best[i],
                               t->problem->seed + (uint64_t)(round * AD_STARTS + i), each);
        ad_starts_sort(starts);
        left = round + 2 < ROUNDS ? (left + 1) / 2 : 1;
    }
    if (status == ADAPS_OK && starts->count > 0 &&
        ad_score_better(&starts->best[0].score, &best->score))
        ad_best_copy(&starts->best[0], best);
    return status;
}

/* All others, then the annealing of the best layouts in which devices share the work. */
static enum adaps_status search_all(struct ad_eval *eval, struct ad_best *best,
                                    struct ad_best *shared, struct ad_starts *starts)
{
    eval->best_shared = shared;
    eval->starts = starts;
    enum adaps_status status = run_others(eval, best);
    eval->best_shared = NULL;
    eval->starts = NULL;
    if (status == ADAPS_OK && shared->valid)
        ad_starts_offer(starts, OTHERS, &shared->layout, &shared->score);
    shared->valid = false;
    if (status == ADAPS_OK)
        status = ad_subset_search(eval, ad_auto_search, shared);
    if (status == ADAPS_OK && shared->valid)
        ad_starts_offer(starts, HALF, &shared->layout, &shared->score);
    ad_starts_sort(starts);
    return status == ADAPS_OK ? race(eval, starts, best) : status;
}

enum adaps_status ad_auto_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_terrain *t = eval->terrain;
    struct ad_best shared;
    struct ad_starts starts;
    enum adaps_status status = ad_best_init(&shared, t, eval->err);
    if (status != ADAPS_OK)
        return status;
    status = ad_starts_init(&starts, t, eval->err);
    if (status != ADAPS_OK) {
        ad_best_fini(&shared);
        return status;
    }
    shared.shared = true;
    status = search_all(eval, best, &shared, &starts);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(eval, best);
    eval->space_log10 = ad_layout_space(t);
    ad_starts_fini(&starts);
    ad_best_fini(&shared);
    return status;
}
