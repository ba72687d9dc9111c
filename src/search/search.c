/* The table of strategies, and what all of them share around their search functions. */
#include "search/strategies.h"
#include "base/clock.h"
#include "search/paper/adaps.h"
#include "base/units.h"
#include "search/bound/bound.h"
#include "search/encodings.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

/* "traffic made small, within 12.3 ms" */
static void note_objective(const struct ad_search_problem *problem, struct ad_search_result *result)
{
    const char *what = problem->objective == AD_OBJECTIVE_TRAFFIC  ? "traffic"
                       : problem->objective == AD_OBJECTIVE_MEMORY ? "memory"
                                                                   : "latency";
    char cap[32];
    if (problem->latency_cap_ns > 0)
        snprintf(result->note, sizeof result->note, "%s made small, within %s", what,
                 ad_format_ns((double)problem->latency_cap_ns, cap, sizeof cap));
    else if (problem->objective != AD_OBJECTIVE_LATENCY)
        snprintf(result->note, sizeof result->note, "%s made small", what);
}

/* Searches, then builds the result. */
static enum adaps_status drive(const struct ad_search_problem *problem, const char *name,
                               ad_search_fn *search, struct ad_search_result *result,
                               struct adaps_error *err)
{
    struct ad_context context;
    struct ad_eval eval;
    struct ad_best best;
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_eval_init(&eval, &context, err);
    if (status != ADAPS_OK) {
        ad_context_fini(&context);
        return status;
    }
    status = ad_best_init(&best, &context, err);
    if (status == ADAPS_OK)
        status = search(&eval, &best);
    if (status == ADAPS_OK)
        status = ad_eval_finish(&eval, &best, name, result);
    if (status == ADAPS_OK) {
        result->space_log10 = eval.space_log10;
        note_objective(problem, result);
        ad_eval_note_left_out(&eval, result);
    }
    ad_best_fini(&best);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    return status;
}

/* The function that the table wants, around ad_NAME_search(). */
#define STRATEGY(name)                                                                             \
    static enum adaps_status run_##name(const struct ad_search_problem *problem,                   \
                                        struct ad_search_result *result, struct adaps_error *err)  \
    {                                                                                              \
        return drive(problem, #name, ad_##name##_search, result, err);                             \
    }
STRATEGY(single)
STRATEGY(edgeflow)
STRATEGY(bbgrap)
STRATEGY(modnn)
STRATEGY(coedge)
STRATEGY(deepslicing)
STRATEGY(deepthings)
STRATEGY(exhaustive)

/* The paper's overlaps are not layouts: its plan competes with auto's at the end. */
static enum adaps_status run_auto(const struct ad_search_problem *problem,
                                  struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result paper = {.bound = NAN, .gap = NAN};
    struct adaps_error other = {0};
    enum adaps_status status = drive(problem, "auto", ad_auto_search_in_time, result, err);
    if (status != ADAPS_OK || problem->objective != AD_OBJECTIVE_LATENCY)
        return status;
    status = ad_adaps_run(problem, &paper, &other);
    if (status == ADAPS_OK && (result->u8 || problem->encodings)) {
        ad_schedule_fini(&paper.schedule);
        paper.assignment.u8 = result->u8;
        ad_assignment_encode(&paper.assignment, ad_search_quickest(problem));
        status = ad_schedule_build(problem->graph, problem->cluster, &paper.assignment,
                                   &paper.schedule, &other);
    }
    result->visited += paper.visited;
    if (status == ADAPS_OK && paper.schedule.makespan_ns < result->schedule.makespan_ns) {
        paper.visited = result->visited;
        paper.u8 = result->u8;
        paper.space_log10 = fmax(paper.space_log10, result->space_log10);
        ad_search_result_fini(result);
        *result = paper;
        return ADAPS_OK;
    }
    ad_search_result_fini(&paper);
    if (status == ADAPS_OK || status == ADAPS_NO)
        return ADAPS_OK;
    return ad_error_set(err, status, "%s", other.message);
}

const struct ad_strategy ad_strategies[] = {
    {"auto", "the best plan found: all others, then local improvement", run_auto, false},
    {"single", "everything on the one device that answers soonest", run_single, false},
    {"edgeflow", "bands by a linear programme per layer, rows exchanged at every layer",
     run_edgeflow, false},
    {"adaps", "the paper's search: its score (eqs 1-12) in its window, with a certificate",
     ad_adaps_run, false},
    {"bbgrap", "equal bands, rows exchanged at every layer", run_bbgrap, false},
    {"modnn", "bands by speed along the longer edge, exchanged through the source", run_modnn,
     false},
    {"coedge", "bands by speed without the slowest, exchanged through the source", run_coedge,
     false},
    {"deepslicing", "columns by speed, exchanged behind groups of layers", run_deepslicing, false},
    {"deepthings", "the early layers as a grid of fused tiles, the rest on the source",
     run_deepthings, false},
    {"exhaustive", "every layout of a small instance; refuses larger ones", run_exhaustive, true},
    {NULL, NULL, NULL, false},
};

const struct ad_strategy *ad_strategy_find(const char *name)
{
    for (const struct ad_strategy *s = ad_strategies; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

/* The best single device's latency, 0 when none has the memory. */
static enum adaps_status single_latency(const struct ad_search_problem *problem, int64_t *ns,
                                        struct adaps_error *err)
{
    struct ad_search_problem latency = *problem;
    struct ad_search_result single = {0};
    struct adaps_error why = {0};
    latency.objective = AD_OBJECTIVE_LATENCY;
    latency.latency_cap_ns = 0;
    enum adaps_status status = drive(&latency, "single", ad_single_search, &single, &why);
    *ns = status == ADAPS_OK ? single.schedule.makespan_ns : 0;
    ad_search_result_fini(&single);
    if (status == ADAPS_NO)
        return ADAPS_OK;
    if (status != ADAPS_OK && err)
        *err = why;
    return status;
}

/* The same layout, with nothing computed or sent ahead. */
static enum adaps_status put_off(const struct ad_search_problem *problem,
                                 struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_assignment *a = &result->assignment;
    a->order = AD_ORDER_GRAPH;
    a->input_chunks = a->band_chunks = 0;
    memset(a->early, 0, (size_t)a->nops * sizeof *a->early);
    ad_schedule_fini(&result->schedule);
    return ad_schedule_build(problem->graph, problem->cluster, a, &result->schedule, err);
}

/* By ad_clock_ns(), 0 = none. */
static int64_t deadline_of(const struct ad_search_problem *problem)
{
    int64_t deadline;
    if (problem->time_limit_ns <= 0)
        return 0;
    if (__builtin_add_overflow(ad_clock_ns(), problem->time_limit_ns, &deadline))
        return INT64_MAX;
    return deadline;
}

/* A layout that is looked for with these encodings, within the time limit, and then gets those of
 * the problem. */
static enum adaps_status lay_out(const struct ad_strategy *strategy,
                                 const struct ad_search_problem *problem, unsigned encodings,
                                 struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_problem searched = *problem;
    searched.encodings = encodings;
    searched.deadline_ns = deadline_of(problem);
    enum adaps_status status = strategy->run(&searched, result, err);
    if (status == ADAPS_OK && problem->late)
        status = put_off(problem, result, err);
    return status == ADAPS_OK ? ad_search_encode(problem, result, err) : status;
}

/* The same search with other encodings: its layout instead, if that is better. */
static enum adaps_status lay_out_again(const struct ad_strategy *strategy,
                                       const struct ad_search_problem *problem, unsigned encodings,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result again = {.bound = NAN, .gap = NAN, .u8 = result->u8};
    enum adaps_status status = lay_out(strategy, problem, encodings, &again, err);
    int64_t visited = result->visited + again.visited;
    if (status == ADAPS_OK && again.schedule.makespan_ns < result->schedule.makespan_ns) {
        struct ad_search_result other = *result;
        *result = again;
        again = other;
    }
    result->visited = visited;
    ad_search_result_fini(&again);
    return status;
}

#define MAX_TRIALS 3

/* The sets of encodings that a layout is looked for with, the problem's first. Those of a lossy
 * search of auto are several: so its answer is never predicted later than that of an exact plan,
 * nor with zfp later than without. */
static int list_trials(const struct ad_strategy *strategy, const struct ad_search_problem *problem,
                       unsigned trials[MAX_TRIALS])
{
    unsigned half = problem->encodings & AD_ENCODING_BIT(AD_ENCODING_F16);
    int n = 0;
    trials[n++] = problem->encodings;
    if (strategy != &ad_strategies[0] || !(problem->encodings & AD_ENCODINGS_LOSSY) ||
        problem->objective != AD_OBJECTIVE_LATENCY)
        return n;
    trials[n++] = 0;
    if (half && ad_search_quickest(problem) != AD_ENCODING_F16)
        trials[n++] = half;
    return n;
}

enum adaps_status ad_search_run(const struct ad_strategy *strategy,
                                const struct ad_search_problem *problem,
                                struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_problem capped = *problem;
    unsigned trials[MAX_TRIALS];
    int ntrials = list_trials(strategy, problem, trials);
    memset(result, 0, sizeof *result);
    result->bound = result->gap = NAN;
    result->u8 = ad_search_u8(problem);
    int64_t start = ad_clock_ns();
    if (problem->time_limit_ns > ntrials)
        capped.time_limit_ns /= ntrials;
    enum adaps_status status = ADAPS_OK;
    if (problem->objective == AD_OBJECTIVE_TRAFFIC && problem->latency_cap_ns <= 0)
        status = single_latency(problem, &capped.latency_cap_ns, err);
    if (status == ADAPS_OK)
        status = lay_out(strategy, &capped, trials[0], result, err);
    for (int i = 1; i < ntrials && status == ADAPS_OK; i++)
        status = lay_out_again(strategy, &capped, trials[i], result, err);
    result->seconds = (double)(ad_clock_ns() - start) * 1e-9;
    if (status == ADAPS_OK)
        status = ad_search_bound(problem, &result->lower_bound_ns, err);
    if (status != ADAPS_OK)
        ad_search_result_fini(result);
    return status;
}

void ad_search_result_fini(struct ad_search_result *result)
{
    ad_assignment_fini(&result->assignment);
    ad_schedule_fini(&result->schedule);
    memset(result, 0, sizeof *result);
}
