/* What all strategies share around their search functions. */
#include "search/strategies/search.h"
#include "base/round.h"
#include "base/clock.h"
#include "search/bound/bound.h"
#include "search/published/published.h"
#include "search/strategies/link_encodings.h"
#include "search/stream/fit.h"
#include "search/stream/judge.h"
#include "search/stream/turns.h"

#include <math.h>
#include <string.h>

/* The best single device's latency, 0 when none has the memory. */
static enum adaps_status single_latency(const struct ad_search_problem *problem, int64_t *ns,
                                        struct adaps_error *err)
{
    struct ad_search_problem latency = *problem;
    struct ad_search_result single = {0};
    struct adaps_error why = {0};
    latency.objective = AD_OBJECTIVE_LATENCY;
    latency.latency_cap_ns = 0;
    enum adaps_status status =
        ad_search_layouts(&latency, "single", ad_single_search, &single, &why);
    *ns = status == ADAPS_OK ? single.schedule.makespan_ns : 0;
    ad_search_result_fini(&single);
    if (status == ADAPS_NO)
        return ADAPS_OK;
    if (status != ADAPS_OK && err)
        *err = why;
    return status;
}

/* Turns the result into the same layout in the graph's order, with nothing computed or sent early.
 */
static enum adaps_status without_lookahead(const struct ad_search_problem *problem,
                                           struct ad_search_result *result, struct adaps_error *err)
{
    ad_assignment_put_in_order(&result->assignment);
    ad_schedule_fini(&result->schedule);
    return ad_schedule_build(problem->graph, problem->cluster, &result->assignment,
                             &result->schedule, err);
}

/* The time of ad_clock_ns() at which a search that starts now has to end; 0 = none. */
static int64_t deadline_of(const struct ad_search_problem *problem)
{
    int64_t deadline;
    if (problem->time_limit_ns <= 0)
        return 0;
    if (__builtin_add_overflow(ad_clock_ns(), problem->time_limit_ns, &deadline))
        return INT64_MAX;
    return deadline;
}

/* Searches with these encodings, within the time limit; then the layout found gets the encodings of
 * the problem. */
static enum adaps_status search_with(const struct ad_strategy *strategy,
                                     const struct ad_search_problem *problem, unsigned encodings,
                                     struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_problem searched = *problem;
    searched.encodings = encodings;
    searched.deadline_ns = deadline_of(problem);
    enum adaps_status status;
    if (strategy->plan_stream && ad_search_streams(problem))
        status = strategy->plan_stream(&searched, result, err);
    else if (strategy->plan)
        status = strategy->plan(&searched, result, err);
    else
        status = ad_search_layouts(&searched, strategy->name, strategy->search, result, err);
    if (status != ADAPS_OK || result->stream.nturns > 0)
        return status; /* else it is complete */
    const struct ad_search_problem found = ad_search_problem_of(problem, result);
    if (problem->in_order)
        status = without_lookahead(&found, result, err);
    return status == ADAPS_OK ? ad_search_encode(&found, result, err) : status;
}

/* Searches again with other encodings, and replaces the result if that one is better. */
static enum adaps_status search_again(const struct ad_strategy *strategy,
                                      const struct ad_search_problem *problem, unsigned encodings,
                                      struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_result again = {.bound = NAN, .gap = NAN, .u8 = result->u8};
    enum adaps_status status = search_with(strategy, problem, encodings, &again, err);
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

/* How the inferences of a plan follow each other: as many in flight as a stream needs, or one. */
static enum adaps_status settle_stream(const struct ad_search_problem *problem,
                                       struct ad_search_result *result, struct adaps_error *err)
{
    if (result->stream.nturns > 0)
        return ADAPS_OK;
    result->stream = AD_STREAM_ONE;
    if (ad_search_streams(problem))
        return ad_stream_fit(problem, &result->schedule, &result->stream, err);
    return ad_stream_simulate(problem->graph, problem->cluster, &result->schedule, &result->stream,
                              err);
}

#define MAX_TRIALS 3

/* The sets of encodings to search with, the problem's first. Auto's search with lossy encodings
 * tries several, so that its plan is never predicted slower than an exact one, nor slower with zfp
 * than without. */
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

#define BUILDING 0.03 /* of a time limit: for what comes after a search */

/* What each trial may take of a time limit that began at `start`; 1 if it is over. */
static int64_t remaining(const struct ad_search_problem *problem, int64_t start, int ntrials)
{
    int64_t limit = problem->time_limit_ns, left = limit - (int64_t)(BUILDING * (double)limit);
    left = (left - (ad_clock_ns() - start)) / ntrials;
    return left > 1 ? left : 1;
}

/* The bound of the problem's graph holds for plans of that graph; with sums in blocks some need
 * less of their inputs. */
static enum adaps_status bound_of_both(const struct ad_search_problem *found, int64_t *bound_ns,
                                       struct adaps_error *err)
{
    int64_t in_blocks_ns = 0;
    enum adaps_status status = ad_search_bound(found, &in_blocks_ns, err);
    *bound_ns = in_blocks_ns < *bound_ns ? in_blocks_ns : *bound_ns;
    return status;
}

/* The answers of a stream may be too far apart for the problem. */
static enum adaps_status check_rate(const struct ad_search_problem *problem, const char *strategy,
                                    const struct ad_search_result *result, struct adaps_error *err)
{
    int64_t cap = problem->interval_cap_ns, interval = result->stream.interval_ns;
    if (cap <= 0 || interval <= cap)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_NO,
                        "no plan of strategy %s gives %.4g answers a second: the best gives %.4g",
                        strategy, 1e9 / (double)cap, 1e9 / (double)interval);
}

/* Whether the stream of a schedule may be better than that: its interval is at least its largest
 * load, its latency at least that of one inference. */
static enum adaps_status may_win(const struct ad_search_problem *problem,
                                 const struct ad_search_result *other,
                                 struct ad_stream_verdict than, bool *may, struct adaps_error *err)
{
    struct ad_loads loads;
    enum adaps_status status = ADAPS_OK;
    *may = true;
    if (than.slow_ns > 0 || other->stream.nturns > 0)
        return ADAPS_OK;
    if (problem->objective == AD_OBJECTIVE_LATENCY)
        *may = (double)other->schedule.makespan_ns < than.cost;
    if (problem->objective != AD_OBJECTIVE_THROUGHPUT)
        return ADAPS_OK;
    status = ad_schedule_loads(problem->graph, problem->cluster, &other->schedule, &loads, err);
    *may = status == ADAPS_OK && (double)ad_loads_most(&loads) < than.cost;
    return status;
}

/* The plan of another strategy: *result becomes it if it is better. *found: the status
 * of the search for *result. What has no plan is none. */
static enum adaps_status offer_other(const struct ad_strategy *strategy,
                                     const struct ad_search_problem *problem,
                                     struct ad_search_result *result, enum adaps_status *found,
                                     struct adaps_error *err)
{
    struct ad_search_result other = {.bound = NAN, .gap = NAN, .u8 = result->u8};
    struct adaps_error why = {0};
    struct ad_stream_verdict theirs, mine = {INT64_MAX, INFINITY};
    struct ad_search_problem asked = *problem;
    if (strategy->stream)
        asked.objective = AD_OBJECTIVE_THROUGHPUT;
    enum adaps_status status = search_with(strategy, &asked, asked.encodings, &other, &why);
    const struct ad_search_problem of = ad_search_problem_of(&asked, &other);
    bool may = false;
    if (status == ADAPS_OK && *found == ADAPS_OK)
        status = ad_stream_judge(problem, result, &mine, &why);
    if (status == ADAPS_OK)
        status = may_win(&of, &other, mine, &may, &why);
    if (status == ADAPS_OK && may)
        status = settle_stream(&of, &other, &why);
    if (status == ADAPS_OK && may)
        status = ad_stream_judge(problem, &other, &theirs, &why);
    if (status == ADAPS_OK && may && ad_stream_fits(problem, &other.schedule) &&
        ad_stream_verdict_better(theirs, mine)) {
        struct ad_search_result worse = *result;
        other.visited += worse.visited;
        other.space_log10 = fmax(other.space_log10, worse.space_log10);
        *result = other;
        other = worse;
        *found = ADAPS_OK;
    }
    ad_search_result_fini(&other);
    return status == ADAPS_OK || status == ADAPS_NO ? ADAPS_OK
                                                    : ad_error_set(err, status, "%s", why.message);
}

/* Of auto: its stream is as good as that of any other strategy, and as its own with exact messages;
 * so is its layout in the graph's order. found: as above, with *err. */
static enum adaps_status offer_others(const struct ad_search_problem *problem, int64_t deadline_ns,
                                      struct ad_search_result *result, enum adaps_status found,
                                      struct adaps_error *err)
{
    struct ad_search_problem each = *problem;
    enum adaps_status status = ADAPS_OK;
    bool lossy = problem->encodings & AD_ENCODINGS_LOSSY;
    for (const struct ad_strategy *s = ad_strategies + !lossy; s->name && !s->small; s++) {
        each.encodings =
            s == ad_strategies ? problem->encodings & ~AD_ENCODINGS_LOSSY : problem->encodings;
        if (deadline_ns > 0)
            each.time_limit_ns = deadline_ns - ad_clock_ns();
        if (status != ADAPS_OK || (deadline_ns > 0 && each.time_limit_ns <= 0))
            break;
        if (!s->stream || ad_search_streams(problem))
            status = offer_other(s, &each, result, &found, err);
    }
    return status == ADAPS_OK ? found : status;
}

enum adaps_status ad_search_run(const struct ad_strategy *strategy,
                                const struct ad_search_problem *problem,
                                struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_search_problem capped = *problem;
    unsigned trials[MAX_TRIALS];
    int ntrials = list_trials(strategy, problem, trials);
    int64_t lower_bound_ns = 0;
    memset(result, 0, sizeof *result);
    result->bound = result->gap = NAN;
    result->u8 = ad_search_u8(problem);
    bool traffic = strategy->traffic && problem->objective == AD_OBJECTIVE_TRAFFIC;
    if (strategy->stream && !traffic && !ad_search_streams(problem))
        capped.objective = AD_OBJECTIVE_THROUGHPUT;
    int64_t start = ad_clock_ns();
    enum adaps_status status = ADAPS_OK;
    if (problem->objective == AD_OBJECTIVE_TRAFFIC && problem->latency_cap_ns <= 0)
        status = single_latency(problem, &capped.latency_cap_ns, err);
    if (status == ADAPS_OK)
        status = ad_search_bound(problem, &lower_bound_ns, err);
    int64_t deadline_ns = 0;
    bool others = strategy == &ad_strategies[0] &&
                  (ad_search_streams(problem) ||
                   (problem->in_order && problem->objective == AD_OBJECTIVE_LATENCY));
    if (capped.time_limit_ns > 0) { /* what is left, without what it takes to build the plan */
        deadline_ns = ad_clock_ns() + remaining(&capped, start, 1);
        int64_t each_ns = remaining(&capped, start, ntrials);
        capped.time_limit_ns = others ? each_ns / 4 * 3 : each_ns;
    }
    if (status == ADAPS_OK)
        status = search_with(strategy, &capped, trials[0], result, err);
    for (int i = 1; i < ntrials && status == ADAPS_OK; i++)
        status = search_again(strategy, &capped, trials[i], result, err);
    if (others && (status == ADAPS_OK || status == ADAPS_NO))
        status = offer_others(&capped, deadline_ns, result, status, err);
    const struct ad_search_problem found = ad_search_problem_of(&capped, result);
    if (status == ADAPS_OK && result->graph)
        status = bound_of_both(&found, &lower_bound_ns, err);
    if (status == ADAPS_OK)
        status = settle_stream(&found, result, err);
    if (status == ADAPS_OK)
        status = check_rate(problem, strategy->name, result, err);
    result->seconds = (double)(ad_clock_ns() - start) * 1e-9;
    result->space_log10 = ad_round_coarse(result->space_log10);
    result->lower_bound_ns = lower_bound_ns;
    if (status != ADAPS_OK)
        ad_search_result_fini(result);
    return status;
}

/* The encodings that links of given assignments have. */
static unsigned encodings_of(const struct ad_assignment *given, int count)
{
    unsigned all = 0;
    for (int i = 0; i < count; i++)
        for (int l = 0; l < given[i].ndevices * given[i].ndevices; l++)
            all |= AD_ENCODING_BIT(given[i].encoding[l]);
    return all & ~AD_ENCODING_BIT(AD_ENCODING_F32);
}

/* Builds the schedules of all; result->assignment becomes the best. */
static enum adaps_status choose_given(struct ad_eval *eval, const struct ad_assignment *given,
                                      int count, struct ad_search_result *result)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_score best = {0};
    enum adaps_status status =
        ad_assignment_init(&result->assignment, p->graph->nops, p->cluster->ndevices, eval->err);
    for (int i = 0; i < count && status == ADAPS_OK; i++) {
        struct ad_schedule schedule;
        struct ad_score score;
        struct ad_loads loads;
        status = ad_schedule_build(p->graph, p->cluster, &given[i], &schedule, eval->err);
        if (status != ADAPS_OK)
            break;
        status = ad_schedule_loads(p->graph, p->cluster, &schedule, &loads, eval->err);
        if (status == ADAPS_OK)
            ad_eval_score_schedule(eval, &schedule, &loads, &score);
        ad_schedule_fini(&schedule);
        if (status != ADAPS_OK)
            break;
        if (i == 0 || ad_score_better(&score, &best)) {
            ad_assignment_copy(&given[i], &result->assignment);
            best = score;
        }
    }
    result->visited = count;
    return status;
}

static enum adaps_status finish_given(struct ad_eval *eval, const char *name,
                                      const struct ad_search_problem *problem,
                                      struct ad_search_result *result)
{
    enum adaps_status status = ad_search_result_build(eval, name, result);
    if (status == ADAPS_OK && problem->in_order)
        status = without_lookahead(problem, result, eval->err);
    if (status == ADAPS_OK && problem->encodings)
        status = ad_search_encode(problem, result, eval->err);
    if (status == ADAPS_OK)
        ad_search_result_note(eval, result);
    return status;
}

enum adaps_status ad_search_given(const struct ad_search_problem *problem, const char *name,
                                  const struct ad_given *all, struct ad_search_result *result,
                                  struct adaps_error *err)
{
    const struct ad_assignment *given = all->items;
    int count = all->count;
    struct ad_search_problem bounded = *problem;
    struct ad_context context = {0};
    struct ad_eval eval = {0};
    memset(result, 0, sizeof *result);
    result->bound = result->gap = NAN;
    result->u8 = ad_search_u8(problem);
    bounded.encodings |= encodings_of(given, count);
    for (int i = 0; i < count; i++)
        bounded.input_f32 = bounded.input_f32 && !given[i].u8;
    int64_t start = ad_clock_ns();
    enum adaps_status status = ad_search_bound(&bounded, &result->lower_bound_ns, err);
    if (status == ADAPS_OK)
        status = ad_context_init(&context, problem, err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&eval, &context, err);
    if (status == ADAPS_OK && all->ndeal > 0)
        status = ad_turns_given(problem, given, count, all->deal, all->ndeal, result, err);
    else if (status == ADAPS_OK)
        status = choose_given(&eval, given, count, result);
    if (status == ADAPS_OK && all->ndeal == 0)
        status = finish_given(&eval, name, problem, result);
    if (status == ADAPS_OK)
        status = settle_stream(problem, result, err);
    if (status == ADAPS_OK)
        status = check_rate(problem, name, result, err);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    result->seconds = (double)(ad_clock_ns() - start) * 1e-9;
    if (status != ADAPS_OK)
        ad_search_result_fini(result);
    return status;
}
