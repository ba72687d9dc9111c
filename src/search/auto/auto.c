/* Strategy `auto`, the default: the best plan found.
 *
 * Starts from whatever is best of all other strategies, so it is never predicted slower than any of
 * them; then anneals on the simulated clock (anneal.c, moves.c). One device alone is a valley that
 * no single move leads out of, and others are deep: what is annealed are the best layouts in which
 * devices share the work, of several kinds (templates.c, elite.h), the more promising for longer;
 * what the same search finds for the better half of the devices is one of them, and another is that
 * with more devices (join.c). The random moves come from the problem's seed, and what they take is
 * bounded by work, not by time, so the same input gives the same plan anywhere, unless a time limit
 * is given: then the search ends there, and fills the time when nothing else bounds it. Where there
 * are few layouts at all, every one is evaluated in the end (exhaustive.c).
 *
 * The threshold is ADaPS equation 3 turned to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step. */
#include "base/clock.h"
#include "search/auto/anneal.h"
#include "search/join.h"
#include "search/auto/elite.h"
#include "search/subset.h"

#include <math.h>

/* What a search for few devices takes by default: WORK is about half a second, and as small graphs
 * are soon done, not more than MAX_EVALUATIONS. With the search of half of the devices, which takes
 * up to half as long, and the other strategies that is about 1 s. */
#define WORK 14400000.0
#define MAX_EVALUATIONS 24000.0
#define FEW_DEVICES 4
#define MANY_DEVICES 16
#define MAX_EFFORT 1000000

/* The kinds of starts that are no templates. */
#define OTHERS (-1)
#define HALF (-2)
#define JOINED (-3)

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* A part of what the search may take. */
static struct ad_budget budget(const struct ad_eval *eval, double part)
{
    const struct ad_search_problem *p = eval->context->problem;
    double devices = clamp(p->cluster->ndevices, FEW_DEVICES, MANY_DEVICES);
    double more = 1 + (devices - FEW_DEVICES) / 3; /* 5 times as much for 16 */
    part *= eval->share;
    if (p->evaluations > 0)
        return (struct ad_budget){(int64_t)((double)p->evaluations * part), INT64_MAX};
    part *= more * (double)clamp(p->effort, 1, MAX_EFFORT);
    return (struct ad_budget){(int64_t)(MAX_EVALUATIONS * part), (int64_t)(WORK * part)};
}

/* A strategy's layout with fewer bytes on the links, if that is better. */
static enum adaps_status try_encoded(struct ad_eval *eval, struct ad_best *best)
{
    enum ad_encoding was = best->layout.encoding;
    bool better = false;
    best->layout.encoding = eval->context->encoding;
    enum adaps_status status =
        was != eval->context->encoding ? ad_eval_try(eval, &best->layout, best, &better) : ADAPS_OK;
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
    enum adaps_status status = ad_best_init(&mine, eval->context, eval->err);
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
#define AHEAD 32   /* far ahead: by one part in so many */
#define BEHIND 12  /* far behind: likewise */
#define LEAST 0.2  /* of what a search may take: is left to annealing, whatever its starts took */
#define LITTLE 0.3 /* of its share: what a search for half takes that is far behind */

/* The part of a search's work that is left after so much. */
static double left_after(const struct ad_eval *eval, int64_t work)
{
    struct ad_budget all = budget(eval, 1);
    return fmax(LEAST, 1 - (double)work / (double)all.work);
}

/* Anneals all starts for a while, the better half of them for as long, and the best one of these,
 * which goes into *best when it is ahead. share: of the whole budget. */
static enum adaps_status race(struct ad_eval *eval, struct ad_elite_pool *starts, double share,
                              struct ad_best *best)
{
    const struct ad_context *t = eval->context;
    enum adaps_status status = ADAPS_OK;
    int left = starts->count;
    for (int round = 0; round < ROUNDS && left > 0 && status == ADAPS_OK; round++) {
        double part = share * (round + 1 < ROUNDS ? 1 : 6) / 8.0 / left;
        bool mix = round > 0; /* at first all would become one */
        for (int i = 0; i < left && status == ADAPS_OK; i++)
            status = ad_anneal(eval, &starts->best[i], mix ? starts : NULL,
                               t->problem->seed + (uint64_t)(round * AD_ELITE_POOL + i),
                               budget(eval, part));
        ad_elite_pool_sort(starts);
        left = round + 2 < ROUNDS ? (left + 1) / 2 : 1;
    }
    if (status == ADAPS_OK && starts->count > 0 &&
        ad_score_better(&starts->best[0].score, &best->score))
        ad_best_copy(&starts->best[0], best);
    return status;
}

/* The layouts of half of the devices with more devices, if there are any. */
static enum adaps_status offer_joined(struct ad_eval *eval, struct ad_elite_pool *starts,
                                      const struct ad_best *half)
{
    struct ad_best joined;
    enum adaps_status status = ad_best_init(&joined, eval->context, eval->err);
    if (status == ADAPS_OK && half->valid)
        status = ad_join_search(eval, half, &joined);
    if (status == ADAPS_OK && joined.valid)
        ad_elite_pool_offer(starts, JOINED, &joined.layout, &joined.score);
    ad_best_fini(&joined);
    return status;
}

/* Notes what the best start takes; where that is far ahead of the starts with more devices, few are
 * worth more of the work, and less where it is far behind. */
static void weigh_starts(struct ad_eval *eval, struct ad_elite_pool *starts)
{
    ad_elite_pool_sort(starts);
    if (starts->count == 0 || eval->context->problem->objective != AD_OBJECTIVE_LATENCY)
        return;
    eval->start_ns = starts->best[0].score.makespan_ns;
    if (eval->start_ns < eval->rival_ns - eval->rival_ns / AHEAD)
        eval->share *= 2;
    else if (eval->rival_ns > 0 && eval->start_ns > eval->rival_ns + eval->rival_ns / BEHIND)
        eval->share *= LITTLE;
}

/* All others, then the annealing of the best layouts in which devices share the work. */
static enum adaps_status search_all(struct ad_eval *eval, struct ad_best *best,
                                    struct ad_best *shared, struct ad_elite_pool *starts)
{
    int64_t work = ad_scorer_work(eval->scorer);
    eval->best_shared = shared;
    eval->starts = starts;
    enum adaps_status status = run_others(eval, best);
    eval->best_shared = NULL;
    eval->starts = NULL;
    if (status == ADAPS_OK && shared->valid)
        ad_elite_pool_offer(starts, OTHERS, &shared->layout, &shared->score);
    shared->valid = false;
    weigh_starts(eval, starts);
    if (status == ADAPS_OK)
        status = ad_subset_search(eval, ad_auto_search, shared);
    if (status == ADAPS_OK && shared->valid)
        ad_elite_pool_offer(starts, HALF, &shared->layout, &shared->score);
    if (status == ADAPS_OK)
        status = offer_joined(eval, starts, shared);
    ad_elite_pool_sort(starts);
    double share = left_after(eval, ad_scorer_work(eval->scorer) - work);
    share *= 1 + AD_SUBSET_SHARE - eval->half_share;
    return status == ADAPS_OK ? race(eval, starts, share, best) : status;
}

enum adaps_status ad_auto_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *t = eval->context;
    struct ad_best shared;
    struct ad_elite_pool starts;
    enum adaps_status status = ad_best_init(&shared, t, eval->err);
    if (status != ADAPS_OK)
        return status;
    status = ad_elite_pool_init(&starts, t, eval->err);
    if (status != ADAPS_OK) {
        ad_best_fini(&shared);
        return status;
    }
    shared.shared = true;
    status = search_all(eval, best, &shared, &starts);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(eval, best);
    eval->space_log10 = ad_layout_space(t);
    ad_elite_pool_fini(&starts);
    ad_best_fini(&shared);
    return status;
}

/* Each goes on for as long as the one before left. */
#define REPEATS 4

enum adaps_status ad_auto_search_in_time(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    int64_t start = ad_clock_ns();
    enum adaps_status status = ad_auto_search(eval, best);
    if (p->deadline_ns <= 0 || p->evaluations > 0 || p->effort > 0)
        return status;
    int64_t now = ad_clock_ns(), took = now - start;
    for (int i = 0; i < REPEATS && status == ADAPS_OK && p->deadline_ns - now > took; i++) {
        eval->share = fmin((double)(p->deadline_ns - now) / (double)took, MAX_EFFORT);
        status = ad_auto_search(eval, best);
        now = ad_clock_ns();
    }
    return status;
}
