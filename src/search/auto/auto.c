/* Strategy `auto`, the default: the best plan found.
 *
 * It begins with the best of all other strategies, so it is never predicted slower than any of
 * them, and improves layouts by simulated annealing on the simulated clock (anneal.c, moves.c).
 *
 * One device alone is a local optimum that no single move leads out of, and there are other deep
 * ones. So what is annealed is an elite pool (elite.h): the best layouts in which devices share the
 * work, of several kinds. They come from the templates (templates.c), from the same search on the
 * better half of the devices, and from that layout with more devices joined in (join.c). Successive
 * halving gives the more promising ones more of the work.
 *
 * The random moves come from the problem's seed, and the work is bounded by a count, not by time:
 * the same input gives the same plan anywhere. With a time limit the search ends there, and fills
 * the time when nothing else bounds it. Where there are few layouts at all, every one is evaluated
 * in the end (search/exact/exhaustive.c).
 *
 * The threshold is ADaPS equation 3 applied to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step. */
#include "search/auto/auto.h"
#include "base/clock.h"
#include "search/auto/anneal.h"
#include "search/auto/join.h"
#include "search/auto/subset.h"
#include "search/auto/templates.h"
#include "search/exact/exhaustive.h"
#include "search/paper/adaps.h"
#include "search/published/published.h"

#include <math.h>

/* What a search for few devices takes by default: WORK is about half a second, and as small graphs
 * are soon done, not more than MAX_EVALUATIONS. With the search on half of the devices, which takes
 * up to half as long, and the other strategies that is about 1 s. */
#define WORK 14400000.0
#define MAX_EVALUATIONS 24000.0
#define FEW_DEVICES 4
#define MANY_DEVICES 16
#define MAX_EFFORT 1000000

#define HALF_SHARE 0.5 /* of a run's work: what the run on half of the devices may take */
#define LEAST 0.2      /* of a run's work: always left for the annealing */

/* How the pool of a run on half of the devices compares with that of the run on all. */
#define AHEAD 32 /* better by one part in so many: the run may take MORE times its work */
#define MORE 2
#define BEHIND 12 /* worse by one part in so many: LITTLE of its work */
#define LITTLE 0.3

#define ROUNDS 3 /* of the successive halving */

/* The kinds of layouts in the pool that are no templates. */
#define OTHERS (-1)
#define HALF (-2)
#define JOINED (-3)

/* One run of the search: on all devices, or, as a part of that, on the better half of them. */
struct run {
    struct ad_eval *eval;
    struct ad_elite_pool pool;
    struct ad_best shared; /* the best layout seen in which two or more devices compute */
    double share;          /* of the work that a run takes by default */
    double half_share;     /* of share: what the run on half of the devices took */
    int64_t pool_ns;       /* makespan of the pool's best before it is annealed; 0: none, or
                              another objective */
    bool on_half;          /* it is the run on half of the devices of another one, */
    int64_t outer_ns;      /* whose pool_ns this is; else 0 */
};

static enum adaps_status run_init(struct run *out, struct ad_eval *eval, double share)
{
    *out = (struct run){.eval = eval, .share = share, .half_share = HALF_SHARE};
    enum adaps_status status = ad_best_init(&out->shared, eval->context, eval->err);
    if (status != ADAPS_OK)
        return status;
    status = ad_elite_pool_init(&out->pool, eval->context, eval->err);
    if (status != ADAPS_OK)
        ad_best_fini(&out->shared);
    return status;
}

static void run_fini(struct run *run)
{
    ad_elite_pool_fini(&run->pool);
    ad_best_fini(&run->shared);
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* A part of what the run may take. */
static struct ad_budget budget(const struct run *run, double part)
{
    const struct ad_search_problem *p = run->eval->context->problem;
    double devices = clamp(p->cluster->ndevices, FEW_DEVICES, MANY_DEVICES);
    double more = 1 + (devices - FEW_DEVICES) / 3; /* 5 times as much for 16 */
    part *= run->share;
    if (p->evaluations > 0)
        return (struct ad_budget){(int64_t)((double)p->evaluations * part), INT64_MAX};
    part *= more * (double)clamp(p->effort, 1, MAX_EFFORT);
    return (struct ad_budget){(int64_t)(MAX_EVALUATIONS * part), (int64_t)(WORK * part)};
}

/* Tries a strategy's layout with the context's encoding on the links. */
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

/* One of the other strategies, or the templates (search NULL), from nothing: what one finds must
 * not depend on those before it. mine: scratch. */
static enum adaps_status run_other(struct run *run, ad_search_fn *search, struct ad_best *mine,
                                   struct ad_best *best)
{
    mine->valid = false;
    enum adaps_status status =
        search ? search(run->eval, mine) : ad_templates_search(run->eval, &run->pool, mine);
    if (status == ADAPS_OK && mine->valid)
        status = try_encoded(run->eval, mine);
    if (status == ADAPS_OK && (!best->valid || ad_score_better(&mine->score, &best->score)))
        ad_best_copy(mine, best);
    return status;
}

/* Keeps a layout that was evaluated in run->shared, if devices share the work. */
static void take_shared(void *data, const struct ad_layout *layout, const struct ad_score *score)
{
    struct run *run = data;
    if (score->devices > 1)
        ad_best_offer(&run->shared, layout, score);
}

/* All others into *best; the best layout that they evaluate in which devices share the work goes
 * into the pool. */
static enum adaps_status run_others(struct run *run, struct ad_best *best)
{
    static ad_search_fn *const others[] = {
        ad_single_search,      ad_edgeflow_search,   NULL,
        ad_bbgrap_search,      ad_modnn_search,      ad_coedge_search,
        ad_deepslicing_search, ad_deepthings_search,
    };
    struct ad_best mine;
    enum adaps_status status = ad_best_init(&mine, run->eval->context, run->eval->err);
    run->eval->observer = (struct ad_eval_observer){take_shared, run};
    for (size_t i = 0; i < sizeof others / sizeof *others && status == ADAPS_OK; i++)
        status = run_other(run, others[i], &mine, best);
    run->eval->observer = (struct ad_eval_observer){0};
    if (status == ADAPS_OK && run->shared.valid)
        ad_elite_pool_offer(&run->pool, OTHERS, &run->shared.layout, &run->shared.score);
    run->shared.valid = false;
    ad_best_fini(&mine);
    return status;
}

/* Notes the makespan of the pool's best. A run on half of the devices may take more work if its
 * pool is much better than that of the run on all, and less if it is much worse. */
static void weigh_pool(struct run *run)
{
    ad_elite_pool_sort(&run->pool);
    if (run->pool.count == 0 || run->eval->context->problem->objective != AD_OBJECTIVE_LATENCY)
        return;
    run->pool_ns = run->pool.best[0].score.makespan_ns;
    if (run->pool_ns < run->outer_ns - run->outer_ns / AHEAD)
        run->share *= MORE;
    else if (run->outer_ns > 0 && run->pool_ns > run->outer_ns + run->outer_ns / BEHIND)
        run->share *= LITTLE;
}

static enum adaps_status search(struct run *run, struct ad_best *best);

/* Searches in the subset of the devices. *found: *layout is the best, of the whole cluster. */
static enum adaps_status search_subset(struct run *run, const struct ad_subset *subset,
                                       struct ad_layout *layout, bool *found)
{
    struct ad_eval *eval = run->eval;
    struct ad_search_problem problem = *eval->context->problem;
    struct ad_context context = {0};
    struct ad_eval half_eval = {0};
    struct ad_best best = {0};
    struct run half = {0};
    problem.cluster = &subset->cluster;
    enum adaps_status status = ad_context_init(&context, &problem, eval->err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&half_eval, &context, eval->err);
    if (status == ADAPS_OK)
        status = ad_best_init(&best, &context, eval->err);
    if (status == ADAPS_OK)
        status = run_init(&half, &half_eval, run->share * HALF_SHARE);
    if (status == ADAPS_OK) {
        half.on_half = true;
        half.outer_ns = run->pool_ns;
        status = search(&half, &best);
        run->half_share = half.share / run->share;
        ad_eval_add_visited(eval, &half_eval);
    }
    *found = status == ADAPS_OK && best.valid;
    if (*found)
        ad_subset_widen(subset, &best.layout, layout);
    run_fini(&half);
    ad_best_fini(&best);
    ad_eval_fini(&half_eval);
    ad_context_fini(&context);
    return status;
}

/* Searches on the better half of the devices, tries the layout found in the whole cluster, and puts
 * it into run->shared if devices share the work there. Nothing for fewer than three devices. */
static enum adaps_status search_half(struct run *run)
{
    const struct ad_context *context = run->eval->context;
    struct adaps_error *err = run->eval->err;
    struct ad_subset subset;
    struct ad_layout layout;
    struct ad_score score;
    int all = context->problem->cluster->ndevices, half = ad_subset_devices(all);
    bool found = false;
    if (half < 2) {
        if (!run->on_half)
            run->half_share = 0;
        return ADAPS_OK;
    }
    enum adaps_status status = ad_layout_init(&layout, context->problem->graph->nops, all, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_subset_init(&subset, context, half, err);
    if (status == ADAPS_OK)
        status = search_subset(run, &subset, &layout, &found);
    if (found)
        status = ad_eval_score(run->eval, &layout, NULL, &score);
    if (found && status == ADAPS_OK)
        take_shared(run, &layout, &score);
    ad_subset_fini(&subset);
    ad_layout_fini(&layout);
    return status;
}

/* Offers the layout of half of the devices to the pool, and that with more devices joined in, if
 * there is one. */
static enum adaps_status offer_half(struct run *run)
{
    struct ad_best joined;
    enum adaps_status status = ad_best_init(&joined, run->eval->context, run->eval->err);
    if (status == ADAPS_OK && run->shared.valid) {
        ad_elite_pool_offer(&run->pool, HALF, &run->shared.layout, &run->shared.score);
        status = ad_join_search(run->eval, &run->shared, &joined);
    }
    if (status == ADAPS_OK && joined.valid)
        ad_elite_pool_offer(&run->pool, JOINED, &joined.layout, &joined.score);
    ad_best_fini(&joined);
    return status;
}

/* The part of a run's work that is left for the annealing after so much. */
static double left_after(const struct run *run, int64_t work)
{
    struct ad_budget all = budget(run, 1);
    double left = fmax(LEAST, 1 - (double)work / (double)all.work);
    return left * (1 + HALF_SHARE - run->half_share);
}

/* Successive halving of the pool: anneals all of it for a while, the better half for as long
 * together, and the best one for the rest, which goes into *best if it is better. share: of the
 * whole budget. */
static enum adaps_status anneal_pool(struct run *run, double share, struct ad_best *best)
{
    struct ad_elite_pool *pool = &run->pool;
    uint64_t seed = run->eval->context->problem->seed;
    enum adaps_status status = ADAPS_OK;
    int left = pool->count;
    for (int round = 0; round < ROUNDS && left > 0 && status == ADAPS_OK; round++) {
        double part = share * (round + 1 < ROUNDS ? 1 : 6) / 8.0 / left;
        bool mix = round > 0; /* in the first round all would become one */
        for (int i = 0; i < left && status == ADAPS_OK; i++)
            status = ad_anneal(run->eval, &pool->best[i], mix ? pool : NULL,
                               seed + (uint64_t)(round * AD_ELITE_POOL + i), budget(run, part));
        ad_elite_pool_sort(pool);
        left = round + 2 < ROUNDS ? (left + 1) / 2 : 1;
    }
    if (status == ADAPS_OK && pool->count > 0 &&
        ad_score_better(&pool->best[0].score, &best->score))
        ad_best_copy(&pool->best[0], best);
    return status;
}

static enum adaps_status search(struct run *run, struct ad_best *best)
{
    int64_t work = ad_scorer_work(run->eval->scorer);
    enum adaps_status status = run_others(run, best);
    if (status == ADAPS_OK) {
        weigh_pool(run);
        status = search_half(run);
    }
    if (status == ADAPS_OK)
        status = offer_half(run);
    ad_elite_pool_sort(&run->pool);
    if (status == ADAPS_OK)
        status = anneal_pool(run, left_after(run, ad_scorer_work(run->eval->scorer) - work), best);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(run->eval, best);
    run->eval->space_log10 = ad_context_space(run->eval->context);
    return status;
}

static enum adaps_status search_once(struct ad_eval *eval, double share, struct ad_best *best)
{
    struct run run;
    enum adaps_status status = run_init(&run, eval, share);
    if (status != ADAPS_OK)
        return status;
    status = search(&run, best);
    run_fini(&run);
    return status;
}

/* Each takes as long as the one before left. */
#define REPEATS 4

/* The search, repeated with more work as long as the problem's time limit leaves time for it, if
 * there is one and neither evaluations nor effort are given. */
static enum adaps_status search_in_time(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    int64_t start = ad_clock_ns();
    enum adaps_status status = search_once(eval, 1, best);
    if (p->deadline_ns <= 0 || p->evaluations > 0 || p->effort > 0)
        return status;
    int64_t now = ad_clock_ns(), took = now - start;
    for (int i = 0; i < REPEATS && status == ADAPS_OK && p->deadline_ns - now > took; i++) {
        double share = fmin((double)(p->deadline_ns - now) / (double)took, MAX_EFFORT);
        status = search_once(eval, share, best);
        now = ad_clock_ns();
    }
    return status;
}

/* The plan of strategy adaps, its messages encoded as auto's may be. */
static enum adaps_status plan_paper(const struct ad_search_problem *problem,
                                    struct ad_search_result *out, struct adaps_error *err)
{
    bool u8 = ad_search_u8(problem);
    enum adaps_status status = ad_adaps_plan(problem, out, err);
    if (status != ADAPS_OK || (!u8 && !problem->encodings))
        return status;
    ad_schedule_fini(&out->schedule);
    out->assignment.u8 = out->u8 = u8;
    ad_assignment_encode(&out->assignment, ad_search_quickest(problem));
    return ad_schedule_build(problem->graph, problem->cluster, &out->assignment, &out->schedule,
                             err);
}

/* The overlaps of strategy adaps are not layouts: its plan competes with auto's at the end. */
enum adaps_status ad_auto_plan(const struct ad_search_problem *problem,
                               struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result paper = {.bound = NAN, .gap = NAN};
    struct adaps_error why = {0};
    enum adaps_status status = ad_search_layouts(problem, "auto", search_in_time, result, err);
    if (status != ADAPS_OK || problem->objective != AD_OBJECTIVE_LATENCY)
        return status;
    status = plan_paper(problem, &paper, &why);
    result->visited += paper.visited;
    if (status == ADAPS_OK && paper.schedule.makespan_ns < result->schedule.makespan_ns) {
        paper.visited = result->visited;
        paper.space_log10 = fmax(paper.space_log10, result->space_log10);
        ad_search_result_fini(result);
        *result = paper;
        return ADAPS_OK;
    }
    ad_search_result_fini(&paper);
    if (status == ADAPS_OK || status == ADAPS_NO)
        return ADAPS_OK;
    return ad_error_set(err, status, "%s", why.message);
}
