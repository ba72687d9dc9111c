/* Strategy `auto`, the default: the best plan found.
 *
 * It begins with the best of all other strategies, so it is never predicted slower than any of
 * them, and improves layouts by simulated annealing on the simulated clock (anneal.c, moves.c).
 *
 * One device alone is a local optimum that no single move leads out of, and there are other deep
 * ones. So what is annealed is an elite pool (elite.h): the best layouts in which devices share the
 * work, of several kinds. They come from the templates (templates.c), from the same search on the
 * better part of the devices (subset.h), and from that layout with more devices joined in (join.c).
 * Successive halving gives the more promising ones more of the work (starts.c).
 *
 * A search on some devices is the same whether it is all that is asked for or a part of one on
 * more of them: what it may take depends on the network and its own devices only. So the plan for
 * 16 or 32 devices is never worse than that for the 8 fastest of them, nor that for four than that
 * for three. A part is given up, though, when the templates for all devices are so much better than
 * those for the part, and for parts of that, that annealing would not make up for it; the work that
 * it leaves goes into the annealing on all.
 *
 * The random moves come from the problem's seed, and the work is bounded by a count, not by time:
 * the same input gives the same plan anywhere, on any number of cores. With a time limit the search
 * ends there, and fills the time when nothing else bounds it. Where there are few layouts at all,
 * every one is evaluated in the end (search/exact/exhaustive.c).
 *
 * The threshold is ADaPS equation 3 applied to boundaries: a shift moves a boundary by at most
 * threshold x extent in one step. */
#include "search/auto/auto.h"
#include "base/clock.h"
#include "schedule/energy.h"
#include "search/auto/join.h"
#include "search/auto/layers.h"
#include "search/auto/starts.h"
#include "search/auto/subset.h"
#include "search/auto/templates.h"
#include "search/exact/exhaustive.h"
#include "search/paper/adaps.h"
#include "search/published/deeperthings.h"
#include "search/published/halp.h"
#include "search/published/published.h"

#include <math.h>
#include <stdio.h>

/* What a search takes by default, in units of ad_scorer_work() (about 40 ns): so much, and so much
 * more for every op on every device, but no less than WORK_DEVICE for each beyond FEW_DEVICES. As
 * small graphs are soon done, not more than MAX_EVALUATIONS.
 */
#define WORK 13000000.0
#define WORK_OP_DEVICE 11000.0
#define WORK_DEVICE 5000000.0
#define FEW_DEVICES 4
#define MAX_OP_DEVICES 10000
#define MAX_EVALUATIONS 24000.0
#define MAX_EFFORT 1000000
#define BY_ONE 0.6 /* times that, where the part has just one device less (ad_subset_by_one()) */

#define TEMPLATES 0.5 /* of a search's work: what the templates may take */
#define LEAST 0.2     /* of a search's work: always left for the annealing */
#define HOPELESS 1.1  /* times what all devices take before the annealing: see limit_ns */

#define UNSPENT 0.8 /* of a time limit: what must be left for a plan beside the search */

/* The kinds of layouts in the pool that are no templates. */
#define OTHERS (-1)
#define SUBSET (-2)
#define JOINED (-3)
#define QUICK (-4)

/* One search: on all devices, or, as a part of that, on the better part of them. */
struct run {
    struct ad_eval *eval;
    struct ad_elite_pool pool;
    struct ad_best shared; /* the best layout seen in which two or more devices compute */
    double share;          /* times what a search takes by default */
    int64_t limit_ns;      /* a part is given up that is later, with its own parts, before any
                              annealing */
    bool given_up;
    bool part_done; /* it has a part that was not given up */
    double left;    /* of the work of a part that was given up, with its own parts */
};

static enum adaps_status run_init(struct run *out, struct ad_eval *eval, double share)
{
    *out = (struct run){.eval = eval, .share = share, .limit_ns = INT64_MAX};
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

/* Times what a search takes by default on so many devices, with the problem's effort. */
static double times(const struct run *run, int ndevices)
{
    int64_t effort = run->eval->context->problem->effort;
    return run->share * (ad_subset_by_one(ndevices) ? BY_ONE : 1) *
           fmax(1, fmin((double)effort, MAX_EFFORT));
}

/* What a search on so many of the devices may take. */
static double work_on(const struct run *run, int ndevices)
{
    int64_t size = (int64_t)run->eval->context->problem->graph->nops * ndevices;
    size = size < MAX_OP_DEVICES ? size : MAX_OP_DEVICES;
    double more =
        fmax(WORK_OP_DEVICE * (double)size, WORK_DEVICE * (double)(ndevices - FEW_DEVICES));
    return times(run, ndevices) * (WORK + more);
}

/* A part of what the run may take. */
static struct ad_budget budget(const struct run *run, double part)
{
    const struct ad_search_problem *p = run->eval->context->problem;
    if (p->evaluations > 0)
        return (struct ad_budget){(int64_t)((double)p->evaluations * part * run->share), INT64_MAX};
    int n = p->cluster->ndevices;
    return (struct ad_budget){(int64_t)(MAX_EVALUATIONS * part * times(run, n)),
                              (int64_t)(work_on(run, n) * part)};
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
    if (status == ADAPS_OK && mine->valid &&
        (!best->valid || ad_score_better(&mine->score, &best->score)))
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
 * into the pool. The templates come last, and end at the eval's work_end. */
static enum adaps_status run_others(struct run *run, struct ad_best *best)
{
    static ad_search_fn *const others[] = {
        ad_single_search, ad_edgeflow_search,    ad_bbgrap_search,     ad_modnn_search,
        ad_coedge_search, ad_deepslicing_search, ad_deepthings_search, ad_aofl_search,
        ad_dpfp_search,   ad_flexpie_search,     ad_pipeline_search,   ad_defer_search,
        ad_edgeci_search, ad_pico_search,        ad_layers_search,     NULL,
    };
    struct ad_best mine;
    struct ad_budget templates = budget(run, TEMPLATES);
    enum adaps_status status = ad_best_init(&mine, run->eval->context, run->eval->err);
    run->eval->observer = (struct ad_eval_observer){take_shared, run};
    int64_t half_ns = ad_search_part(run->eval->context->problem, 2).deadline_ns;
    for (size_t i = 0; i < sizeof others / sizeof *others && status == ADAPS_OK; i++) {
        if (best->valid && ad_eval_late(run->eval))
            break;
        if (best->valid && others[i] && half_ns > 0 && ad_clock_ns() >= half_ns)
            continue; /* what is left of a time limit is for the templates */
        if (!others[i] && templates.work < INT64_MAX / 2)
            run->eval->work_end = ad_scorer_work(run->eval->scorer) + templates.work;
        status = run_other(run, others[i], &mine, best);
    }
    run->eval->work_end = 0;
    const struct ad_context *context = run->eval->context;
    if (status == ADAPS_OK && context->memory_matters &&
        context->problem->objective == AD_OBJECTIVE_TRAFFIC)
        status = run_other(run, ad_dn2pciot_search, &mine, best);
    run->eval->observer = (struct ad_eval_observer){0};
    if (status == ADAPS_OK && run->shared.valid)
        ad_elite_pool_offer(&run->pool, OTHERS, &run->shared.layout, &run->shared.score);
    run->shared.valid = false;
    ad_best_fini(&mine);
    return status;
}

static enum adaps_status search(struct run *run, struct ad_best *best);

/* Notes the end of the search on a part of the devices. */
static void note_part(struct run *run, const struct run *part)
{
    int n = part->eval->context->problem->cluster->ndevices;
    double used = (double)ad_scorer_work(part->eval->scorer);
    run->part_done = !part->given_up;
    run->left = part->given_up ? fmax(0, work_on(part, n) - used) + part->left : 0;
}

/* Searches in a subset of the devices (NULL: all), for this objective. limit_ns: as in struct run.
 * *found: *layout is the best, of the whole cluster. */
static enum adaps_status search_subset(struct run *run, const struct ad_subset *subset,
                                       enum ad_objective objective, int64_t limit_ns,
                                       struct ad_layout *layout, bool *found)
{
    struct ad_eval *eval = run->eval;
    struct ad_search_problem problem = ad_search_part(eval->context->problem, 2);
    struct ad_context context = {0};
    struct ad_eval inner_eval = {0};
    struct ad_best best = {0};
    struct run inner = {0};
    if (subset)
        problem.cluster = &subset->cluster;
    problem.objective = objective;
    enum adaps_status status = ad_context_init(&context, &problem, eval->err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&inner_eval, &context, eval->err);
    if (status == ADAPS_OK)
        status = ad_best_init(&best, &context, eval->err);
    if (status == ADAPS_OK)
        status = run_init(&inner, &inner_eval, run->share);
    inner.limit_ns = limit_ns;
    if (status == ADAPS_OK) {
        status = search(&inner, &best);
        if (status == ADAPS_OK && subset)
            note_part(run, &inner);
        ad_eval_add_visited(eval, &inner_eval);
    }
    *found = status == ADAPS_OK && best.valid;
    if (*found && subset)
        ad_subset_widen(subset, &best.layout, layout);
    else if (*found)
        ad_layout_copy(&best.layout, layout);
    run_fini(&inner);
    ad_best_fini(&best);
    ad_eval_fini(&inner_eval);
    ad_context_fini(&context);
    return status;
}

static bool is_late(const struct run *run, const struct ad_best *best)
{
    return best->valid && best->score.makespan_ns > run->limit_ns;
}

/* The limit for the parts of a run; *best: before the annealing. */
static int64_t limit_of_parts(const struct run *run, const struct ad_best *best)
{
    const struct ad_context *context = run->eval->context;
    if (!best->valid || !ad_search_by_latency(context->problem) ||
        context->problem->evaluations > 0 || context->memory_matters)
        return INT64_MAX;
    return is_late(run, best) ? run->limit_ns
                              : (int64_t)(HOPELESS * (double)best->score.makespan_ns);
}

/* Searches on the better part of the devices, tries the layout found in the whole cluster, and puts
 * it into run->shared if devices share the work there. Nothing for fewer than three devices. */
static enum adaps_status search_fewer(struct run *run, struct ad_best *best)
{
    const struct ad_context *context = run->eval->context;
    struct adaps_error *err = run->eval->err;
    struct ad_subset subset;
    struct ad_layout layout;
    struct ad_score score;
    int all = context->problem->cluster->ndevices, fewer = ad_subset_devices(all);
    bool found = false;
    if (fewer < 2 || ad_eval_late(run->eval))
        return ADAPS_OK;
    enum adaps_status status = ad_layout_init(&layout, context->problem->graph->nops, all, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_subset_init(&subset, context, fewer, err);
    if (status == ADAPS_OK)
        status = search_subset(run, &subset, context->problem->objective, limit_of_parts(run, best),
                               &layout, &found);
    if (found)
        status = ad_eval_score(run->eval, &layout, best, &score);
    if (found && status == ADAPS_OK)
        take_shared(run, &layout, &score);
    ad_subset_fini(&subset);
    ad_layout_fini(&layout);
    return status;
}

/* Offers the layout of fewer devices to the pool, and that with more devices joined in, if there is
 * one. */
static enum adaps_status offer_fewer(struct run *run)
{
    struct ad_best joined;
    enum adaps_status status = ad_best_init(&joined, run->eval->context, run->eval->err);
    if (status == ADAPS_OK && run->shared.valid) {
        ad_elite_pool_offer(&run->pool, SUBSET, &run->shared.layout, &run->shared.score);
        status = ad_join_search(run->eval, &run->shared, &joined);
    }
    if (status == ADAPS_OK && joined.valid)
        ad_elite_pool_offer(&run->pool, JOINED, &joined.layout, &joined.score);
    ad_best_fini(&joined);
    return status;
}

/* Energy, one inference at a time. */
static bool by_energy_alone(const struct ad_search_problem *problem)
{
    return problem->objective == AD_OBJECTIVE_ENERGY && problem->interval_cap_ns == 0;
}

/* Idle devices take energy, too: what is soonest is tried, and put into the pool. */
static enum adaps_status search_quick(struct run *run, struct ad_best *best)
{
    const struct ad_search_problem *p = run->eval->context->problem;
    struct ad_layout layout;
    struct ad_score score;
    bool found = false;
    if (!by_energy_alone(p) || p->cluster->ndevices < 2 || ad_eval_late(run->eval))
        return ADAPS_OK;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, run->eval->err);
    if (status != ADAPS_OK)
        return status;
    status = search_subset(run, NULL, AD_OBJECTIVE_LATENCY, INT64_MAX, &layout, &found);
    if (found)
        status = ad_eval_score(run->eval, &layout, best, &score);
    if (found && status == ADAPS_OK && score.devices > 1)
        ad_elite_pool_offer(&run->pool, QUICK, &layout, &score);
    ad_layout_fini(&layout);
    return status;
}

/* What the annealing may take after so much work. */
static struct ad_budget budget_after(const struct run *run, int64_t work)
{
    struct ad_budget b = budget(run, fmax(LEAST, 1 - (double)work / (double)budget(run, 1).work));
    double more = 1 + run->left / (double)b.work;
    return (struct ad_budget){(int64_t)((double)b.evaluations * more), b.work + (int64_t)run->left};
}

static enum adaps_status search(struct run *run, struct ad_best *best)
{
    struct ad_eval *eval = run->eval;
    int64_t before = ad_scorer_work(eval->scorer);
    enum adaps_status status = run_others(run, best);
    if (status == ADAPS_OK)
        status = search_quick(run, best);
    bool late = is_late(run, best);
    if (status == ADAPS_OK)
        status = search_fewer(run, best);
    run->given_up = status == ADAPS_OK && late && !run->part_done;
    if (run->given_up)
        return ADAPS_OK;
    if (status == ADAPS_OK)
        status = offer_fewer(run);
    if (status == ADAPS_OK)
        status = ad_starts_anneal(eval, &run->pool,
                                  budget_after(run, ad_scorer_work(eval->scorer) - before));
    if (status == ADAPS_OK && run->pool.count > 0 &&
        ad_score_better(&run->pool.best[0].score, &best->score))
        ad_best_copy(&run->pool.best[0], best);
    if (status == ADAPS_OK)
        status = ad_exhaustive_if_small(eval, best);
    eval->space_log10 = ad_context_space(eval->context);
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
#define LEFTOVER_SEEDS 1000
#define LEFTOVER_EVALUATIONS 6000

/* The search, repeated with more work as long as the problem's time limit leaves time for it, if
 * there is one and neither evaluations nor effort are given. What is left then goes into its
 * layout. */
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
    bool improvable = best->valid && p->cluster->ndevices > 1 && p->graph->nops > 0;
    for (uint64_t i = 1; status == ADAPS_OK && improvable && !ad_eval_late(eval); i++)
        status = ad_anneal(eval, best, NULL, p->seed + i * LEFTOVER_SEEDS,
                           (struct ad_budget){LEFTOVER_EVALUATIONS, INT64_MAX});
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

/* *best becomes `other` if that is better; what is not taken is freed. */
static void keep_better(struct ad_search_result *best, struct ad_search_result *other, bool better)
{
    int64_t visited = best->visited + other->visited;
    double space = fmax(best->space_log10, other->space_log10);
    struct ad_search_result worse = better ? *best : *other;
    if (better)
        *best = *other;
    best->visited = visited;
    best->space_log10 = space;
    ad_search_result_fini(&worse);
    *other = (struct ad_search_result){0};
}

/* Whether there is a plan in it. */
static bool is_plan(const struct ad_search_result *result)
{
    return result->schedule.ndevices > 0;
}

/* *out becomes what a search found, if that is better. status: of the search, whose error is *why;
 * that it has no plan is none. */
static enum adaps_status offer(struct ad_search_result *out, struct ad_search_result *found,
                               enum adaps_status status, const struct adaps_error *why,
                               struct adaps_error *err)
{
    keep_better(out, found,
                status == ADAPS_OK &&
                    (!is_plan(out) || ad_score_better(&found->score, &out->score)));
    return status == ADAPS_OK || status == ADAPS_NO ? ADAPS_OK
                                                    : ad_error_set(err, status, "%s", why->message);
}

/* The plan that needs least memory, as if there were no limits: when devices have as much, it is
 * the result, else the error says how much that is. So what the error tells is enough. */
static enum adaps_status plan_smallest(const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    const struct ad_cluster *cluster = problem->cluster;
    struct ad_search_problem smallest = *problem;
    struct ad_cluster unlimited;
    int n = cluster->ndevices;
    int64_t excess = 0, most = 0;
    enum adaps_status status = ad_cluster_copy(cluster, &unlimited, err);
    if (status == ADAPS_OK) {
        for (int d = 0; d < n; d++)
            unlimited.devices[d].memory = 0;
        smallest.cluster = &unlimited;
        smallest.objective = AD_OBJECTIVE_MEMORY;
        status = ad_search_layouts(&smallest, "auto", search_in_time, result, err);
    }
    for (int d = 0; status == ADAPS_OK && d < n; d++) {
        int64_t need = result->schedule.memory[d];
        excess += ad_memory_excess(&cluster->devices[d], need);
        most = need > most ? need : most;
    }
    if (excess > 0)
        status = ad_search_refuse_memory(cluster, "auto", &result->schedule, most, err);
    ad_cluster_fini(&unlimited);
    return status;
}

/* Whether there is time for a plan that only competes with that of the search: most of it is left,
 * if it is limited. Of a large network each of them takes a while, whatever its limit. */
static bool has_time(const struct ad_search_problem *problem)
{
    return problem->deadline_ns <= 0 || (double)(problem->deadline_ns - ad_clock_ns()) >
                                            UNSPENT * (double)problem->time_limit_ns;
}

/* Tries channels with parts by weight, ahead as ad_channels_plan() has it; *out becomes that plan
 * if it is better. */
static enum adaps_status try_channels(const struct ad_search_problem *problem, const double *weight,
                                      bool ahead, struct ad_search_result *out,
                                      struct adaps_error *err)
{
    struct ad_search_result found = {.bound = NAN, .gap = NAN, .u8 = out->u8};
    struct adaps_error why = {0};
    if (!has_time(problem))
        return ADAPS_OK;
    enum adaps_status status = ad_channels_plan(problem, "auto", weight, ahead, &found, &why);
    return offer(out, &found, status, &why, err);
}

/* Tiles, channels and sums in blocks (ir/partial.h), with parts by speed and as strategy
 * deeperthings has them. *out is empty when there is no such plan. */
static enum adaps_status plan_channels(const struct ad_search_problem *problem,
                                       struct ad_search_result *out, struct adaps_error *err)
{
    struct ad_context context;
    double equal[AD_MAX_DEVICES];
    if (ad_search_streams(problem) || problem->cluster->ndevices < 2)
        return ADAPS_OK;
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d < problem->cluster->ndevices; d++)
        equal[d] = 1;
    out->u8 = context.u8;
    status = try_channels(problem, context.speed, true, out, err);
    if (status == ADAPS_OK)
        status = try_channels(problem, equal, false, out, err);
    ad_context_fini(&context);
    return status;
}

static enum adaps_status plan_partition(const struct ad_search_problem *problem,
                                        struct ad_search_result *out, struct adaps_error *err)
{
    enum adaps_status status = ad_search_layouts(problem, "dn2pciot", ad_dn2pciot_search, out, err);
    out->space_log10 = 0; /* they are among auto's layouts */
    return status;
}

typedef enum adaps_status plan_fn(const struct ad_search_problem *problem,
                                  struct ad_search_result *out, struct adaps_error *err);

/* The plan of another strategy, in a quarter of the time; *out becomes it if it is better. */
static enum adaps_status try_plan(const struct ad_search_problem *problem, plan_fn *plan,
                                  struct ad_search_result *out, struct adaps_error *err)
{
    struct ad_search_result found = {.bound = NAN, .gap = NAN, .u8 = out->u8};
    const struct ad_search_problem quarter = ad_search_part(problem, 4);
    struct adaps_error why = {0};
    if (problem->cluster->ndevices < 2 || !has_time(problem))
        return ADAPS_OK;
    enum adaps_status status = plan(&quarter, &found, &why);
    return offer(out, &found, status, &why, err);
}

/* The best plan that is no layout of this graph: sums in blocks, and the zones of halp, which lie
 * in another order than the devices; or that of dn2pciot, which has starts of its own. */
static enum adaps_status plan_others(const struct ad_search_problem *problem,
                                     struct ad_search_result *out, struct adaps_error *err)
{
    enum adaps_status status = plan_channels(problem, out, err);
    if (status == ADAPS_OK)
        status = try_plan(problem, ad_halp_plan, out, err);
    return status == ADAPS_OK && !ad_search_streams(problem)
               ? try_plan(problem, plan_partition, out, err)
               : status;
}

/* Whether strategy adaps has a plan that is sooner or, under that objective, takes less energy. */
static enum adaps_status paper_is_better(const struct ad_search_problem *problem,
                                         const struct ad_search_result *paper,
                                         const struct ad_search_result *result, bool *better,
                                         struct adaps_error *err)
{
    int64_t mine = paper->schedule.makespan_ns, best = result->schedule.makespan_ns;
    enum adaps_status status = ADAPS_OK;
    if (problem->objective == AD_OBJECTIVE_ENERGY) {
        if (problem->latency_cap_ns > 0 && mine > problem->latency_cap_ns)
            return ADAPS_OK;
        status = ad_energy_alone(problem->graph, problem->cluster, &paper->schedule, &mine, err);
        if (status == ADAPS_OK)
            status = ad_energy_alone(ad_search_result_graph(problem, result), problem->cluster,
                                     &result->schedule, &best, err);
    }
    *better = mine < best;
    return status;
}

/* *result becomes the best single device's plan where several devices are not worth their while. */
static enum adaps_status prefer_single(const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result single = {.bound = NAN, .gap = NAN, .u8 = result->u8};
    struct adaps_error why = {0};
    if (problem->worth <= 0 || !ad_search_by_latency(problem))
        return ADAPS_OK;
    enum adaps_status status = ad_search_layouts(problem, "auto", ad_single_search, &single, &why);
    if (status != ADAPS_OK && status != ADAPS_NO)
        return ad_error_set(err, status, "%s", why.message);
    int64_t alone = single.schedule.makespan_ns, together = result->schedule.makespan_ns;
    bool prefer = status == ADAPS_OK && alone > together &&
                  (double)alone < (double)together * (1 + problem->worth);
    if (prefer)
        snprintf(single.note, sizeof single.note,
                 "several devices would be %.1f %% sooner, too little to share the work",
                 100 * (double)(alone - together) / (double)together);
    keep_better(result, &single, prefer);
    return ADAPS_OK;
}

/* The overlaps of strategy adaps are not layouts, nor are sums in blocks and the zones of halp:
 * such plans compete with auto's. That of adaps has a quarter of the time, if that is limited. */
enum adaps_status ad_auto_plan(const struct ad_search_problem *problem,
                               struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result paper = {.bound = NAN, .gap = NAN}, others = paper;
    const struct ad_search_problem quarter = ad_search_part(problem, 4);
    struct adaps_error why = {0};
    enum adaps_status status = ADAPS_NO;
    bool competes = ad_search_by_latency(problem) || by_energy_alone(problem);
    if (competes)
        status = plan_paper(&quarter, &paper, &why);
    if (status != ADAPS_OK)
        ad_search_result_fini(&paper);
    if (status != ADAPS_OK && status != ADAPS_NO)
        return ad_error_set(err, status, "%s", why.message);
    status = plan_others(problem, &others, err);
    if (status == ADAPS_OK)
        status = ad_search_layouts(problem, "auto", search_in_time, result, err);
    if (status == ADAPS_NO && (is_plan(&others) || problem->latency_cap_ns <= 0)) {
        /* memory is short, or only a plan that is no layout keeps to the cap */
        ad_search_result_fini(result);
        result->bound = result->gap = NAN;
        result->u8 = ad_search_u8(problem);
        status = is_plan(&others) ? ADAPS_OK : plan_smallest(problem, result, err);
    }
    if (status == ADAPS_OK)
        keep_better(result, &others,
                    is_plan(&others) &&
                        (!is_plan(result) || ad_score_better(&others.score, &result->score)));
    bool better = false;
    if (status == ADAPS_OK && is_plan(&paper))
        status = paper_is_better(problem, &paper, result, &better, err);
    if (status == ADAPS_OK)
        keep_better(result, &paper, better);
    if (status == ADAPS_OK)
        status = prefer_single(problem, result, err);
    ad_search_result_fini(&paper);
    ad_search_result_fini(&others);
    return status;
}
