/* Strategy `auto`, the default: the best plan found.
 *
 * Starts from whatever is best of all other strategies, so it is never predicted slower than any of
 * them; then anneals it on the simulated clock (anneal.c, moves.c). One device alone is a valley
 * that no single move leads out of: when that is ahead, the best layout in which devices share the
 * work is annealed instead. Then the same for the better half of the devices, whose plan is taken
 * (and annealed with all of them) when it is ahead. The random moves come from the problem's seed
 * and the number of evaluations is bounded, so the same input gives the same plan anywhere, unless
 * a time limit ends the search. Where there are few layouts at all, every one is evaluated in the
 * end (exhaustive.c).
 *
 * The threshold is ADaPS equation 3 turned to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step. */
#include "search/anneal.h"
#include "search/subset.h"

/* Evaluations x ops: what an evaluation takes grows with both ops and devices, and what is wanted
 * with devices. */
#define EVALUATION_UNITS 600000
#define MAX_EVALUATIONS 20000
#define MIN_EVALUATIONS 1000

static int64_t budget(const struct ad_terrain *t)
{
    int64_t nops = t->problem->graph->nops, n = EVALUATION_UNITS / (nops > 0 ? nops : 1);
    if (t->problem->evaluations > 0)
        return t->problem->evaluations;
    return n < MIN_EVALUATIONS ? MIN_EVALUATIONS : n > MAX_EVALUATIONS ? MAX_EVALUATIONS : n;
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

/* All others, then the annealing; the best shared layout, if any, into *shared. */
static enum adaps_status search_all(struct ad_eval *eval, struct ad_best *best,
                                    struct ad_best *shared)
{
    const struct ad_terrain *t = eval->terrain;
    eval->best_shared = shared;
    enum adaps_status status = run_others(eval, best);
    if (status == ADAPS_OK && shared->valid)
        status = ad_anneal(eval, shared, t->problem->seed, budget(t));
    eval->best_shared = NULL;
    if (status == ADAPS_OK && shared->valid && ad_score_better(&shared->score, &best->score))
        ad_best_copy(shared, best);
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
    status = search_all(eval, best, &shared);
    /* Fewer devices may lead to a better valley: no more devices, no worse. */
    struct ad_score before = best->score;
    if (status == ADAPS_OK)
        status = ad_subset_search(eval, ad_auto_search, best);
    if (status == ADAPS_OK && ad_score_better(&best->score, &before))
        status = ad_anneal(eval, best, t->problem->seed + 1, budget(t) / 2);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(eval, best);
    eval->space_log10 = ad_layout_space(t);
    ad_best_fini(&shared);
    return status;
}
