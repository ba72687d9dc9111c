#include "search/eval.h"
#include "schedule/energy.h"
#include "base/clock.h"
#include "search/layout_regions.h"

enum adaps_status ad_eval_init(struct ad_eval *out, const struct ad_context *context,
                               struct adaps_error *err)
{
    const struct ad_search_problem *p = context->problem;
    *out = (struct ad_eval){
        .context = context,
        .least_memory = -1,
        .limits = AD_NO_LIMITS,
        .err = err,
    };
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        out->with_ns[d] = -1;
    out->exchange = ad_calloc((size_t)p->graph->nops, sizeof *out->exchange);
    if (!out->exchange)
        return ad_error_memory(err, "search", (size_t)p->graph->nops);
    enum adaps_status status =
        ad_assignment_init(&out->scratch, p->graph->nops, p->cluster->ndevices, err);
    if (status == ADAPS_OK)
        status = ad_scorer_new(p->graph, p->cluster, &out->scorer, err);
    if (status == ADAPS_OK && ad_search_streams(p))
        ad_scorer_stream(out->scorer);
    out->memo = ad_layout_memo_new(p->graph, p->cluster->source, p->cluster->ndevices);
    if (status == ADAPS_OK && !out->memo)
        status = ad_error_memory(err, "search", (size_t)p->graph->nops);
    if (status != ADAPS_OK)
        ad_eval_fini(out);
    return status;
}

void ad_eval_fini(struct ad_eval *eval)
{
    ad_assignment_fini(&eval->scratch);
    ad_scorer_free(eval->scorer);
    eval->scorer = NULL;
    ad_layout_memo_free(eval->memo);
    eval->memo = NULL;
    ad_free(eval->exchange);
    eval->exchange = NULL;
}

enum adaps_status ad_best_init(struct ad_best *out, const struct ad_context *context,
                               struct adaps_error *err)
{
    const struct ad_search_problem *p = context->problem;
    *out = (struct ad_best){.valid = false};
    return ad_layout_init(&out->layout, p->graph->nops, p->cluster->ndevices, err);
}

void ad_best_fini(struct ad_best *best)
{
    ad_layout_fini(&best->layout);
}

void ad_best_copy(const struct ad_best *from, struct ad_best *to)
{
    ad_layout_copy(&from->layout, &to->layout);
    to->score = from->score;
    to->valid = from->valid;
}

bool ad_score_better(const struct ad_score *a, const struct ad_score *b)
{
    if (a->excess_bytes != b->excess_bytes)
        return a->excess_bytes < b->excess_bytes;
    if (a->over_cap_ns != b->over_cap_ns)
        return a->over_cap_ns < b->over_cap_ns;
    if (a->objective != b->objective)
        return a->objective < b->objective;
    if (a->makespan_ns != b->makespan_ns)
        return a->makespan_ns < b->makespan_ns;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes;
    return a->messages < b->messages;
}

bool ad_best_offer(struct ad_best *best, const struct ad_layout *layout,
                   const struct ad_score *score)
{
    if (best->valid && !ad_score_better(score, &best->score))
        return false;
    if (layout->ops != best->layout.ops)
        ad_layout_copy(layout, &best->layout);
    best->score = *score;
    best->valid = true;
    return true;
}

bool ad_eval_late(const struct ad_eval *eval)
{
    int64_t deadline = eval->context->problem->deadline_ns;
    return (deadline > 0 && ad_clock_ns() >= deadline) ||
           (eval->work_end > 0 && ad_scorer_work(eval->scorer) >= eval->work_end);
}

/* The lesser of two numbers of which -1 is none. */
static int64_t least(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

void ad_eval_add(struct ad_eval *eval, const struct ad_eval *other)
{
    ad_eval_add_visited(eval, other);
    eval->least_memory = least(eval->least_memory, other->least_memory);
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        eval->with_ns[d] = least(eval->with_ns[d], other->with_ns[d]);
}

int64_t ad_memory_excess(const struct ad_device *device, int64_t need)
{
    return device->memory > 0 && (uint64_t)need > device->memory ? need - (int64_t)device->memory
                                                                 : 0;
}

static struct ad_forecast forecast_of(const struct ad_cluster *cluster,
                                      const struct ad_schedule *schedule,
                                      const struct ad_loads *loads)
{
    struct ad_forecast out = {.makespan_ns = schedule->makespan_ns,
                              .interval_ns = ad_loads_most(loads),
                              .energy = ad_energy_of(cluster, loads),
                              .bytes = schedule->bytes,
                              .messages = schedule->messages};
    for (int d = 0; d < schedule->ndevices; d++)
        out.computing |= (uint64_t)(schedule->programs[d].ntasks > 0) << d;
    return out;
}

/* By how much something is beyond a cap; 0 = no cap. */
static int64_t beyond(int64_t ns, int64_t cap_ns)
{
    return cap_ns > 0 && ns > cap_ns ? ns - cap_ns : 0;
}

#define SUM 0.05  /* how much of the sum of all counts */
#define MOST 1e18 /* of a balance */

int64_t ad_balance_of(const struct ad_balance *balance, const int64_t *figure)
{
    double most = 0, sum = 0;
    for (int o = 0; o < AD_OBJECTIVES; o++) {
        double part = balance->weight[o] * (double)(figure[o] - balance->best[o]);
        most = part > most ? part : most;
        sum += part;
    }
    double all = most + SUM * sum;
    return all < 0 ? 0 : all < MOST ? (int64_t)all : (int64_t)MOST;
}

/* memory: by device; only read when memory may matter. */
static void score_forecast(struct ad_eval *eval, const struct ad_forecast *forecast,
                           const int64_t *memory, struct ad_score *score)
{
    const struct ad_search_problem *p = eval->context->problem;
    const struct ad_cluster *cluster = p->cluster;
    int64_t largest = 0,
            interval_ns = ad_stream_least(forecast->makespan_ns, forecast->interval_ns);
    *score = (struct ad_score){.makespan_ns = forecast->makespan_ns,
                               .bytes = forecast->bytes,
                               .messages = forecast->messages,
                               .devices = __builtin_popcountll(forecast->computing)};
    score->over_cap_ns =
        beyond(forecast->makespan_ns, p->latency_cap_ns) + beyond(interval_ns, p->interval_cap_ns);
    for (int d = 0; eval->context->memory_matters && d < cluster->ndevices; d++) {
        score->excess_bytes += ad_memory_excess(&cluster->devices[d], memory[d]);
        largest = memory[d] > largest ? memory[d] : largest;
    }
    int64_t time_ns = ad_search_streams(p) ? interval_ns : forecast->makespan_ns;
    score->figure[AD_OBJECTIVE_LATENCY] = forecast->makespan_ns;
    score->figure[AD_OBJECTIVE_TRAFFIC] = forecast->bytes;
    score->figure[AD_OBJECTIVE_MEMORY] = largest;
    score->figure[AD_OBJECTIVE_THROUGHPUT] = interval_ns;
    score->figure[AD_OBJECTIVE_ENERGY] = ad_energy_pj(&forecast->energy, time_ns);
    score->objective = p->objective == AD_OBJECTIVE_BALANCE
                           ? ad_balance_of(p->balance, score->figure)
                       : p->objective == AD_OBJECTIVE_LATENCY ? 0
                                                              : score->figure[p->objective];
    if (eval->least_memory < 0 || largest < eval->least_memory)
        eval->least_memory = largest;
    for (int d = 0; score->excess_bytes == 0 && d < cluster->ndevices; d++)
        if ((forecast->computing >> d & 1) &&
            (eval->with_ns[d] < 0 || forecast->makespan_ns < eval->with_ns[d]))
            eval->with_ns[d] = forecast->makespan_ns;
}

/* The forecast of what is in scratch; *memory: by device, until the next evaluation. */
static enum adaps_status find_forecast(struct ad_eval *eval, struct ad_forecast *forecast,
                                       const int64_t **memory)
{
    const struct ad_schedule *schedule;
    *memory = NULL;
    if (!eval->context->memory_matters)
        return ad_scorer_clock(eval->scorer, &eval->scratch, eval->limits, forecast);
    enum adaps_status status = ad_scorer_run(eval->scorer, &eval->scratch, true, &schedule);
    if (status != ADAPS_OK)
        return status;
    *forecast =
        forecast_of(eval->context->problem->cluster, schedule, ad_scorer_loads(eval->scorer));
    *memory = schedule->memory;
    return ADAPS_OK;
}

void ad_eval_assign(struct ad_eval *eval, const struct ad_layout *layout)
{
    ad_layout_memo_regions(eval->memo, layout, &eval->scratch);
}

/* layout: what is in scratch. best: nullable. */
static enum adaps_status evaluate(struct ad_eval *eval, const struct ad_layout *layout,
                                  struct ad_best *best, struct ad_score *score, bool *won)
{
    struct ad_forecast forecast;
    const int64_t *memory;
    enum adaps_status status = find_forecast(eval, &forecast, &memory);
    *won = false;
    if (status != ADAPS_OK)
        return status;
    eval->evaluated += !forecast.guessed;
    eval->estimated += forecast.guessed;
    if (forecast.over) {
        *score = (struct ad_score){
            .over_cap_ns = INT64_MAX, .objective = INT64_MAX, .makespan_ns = INT64_MAX};
        return ADAPS_OK;
    }
    score_forecast(eval, &forecast, memory, score);
    *won = best && ad_best_offer(best, layout, score);
    if (eval->observer.see)
        eval->observer.see(eval->observer.data, layout, score);
    return ADAPS_OK;
}

enum adaps_status ad_eval_try(struct ad_eval *eval, const struct ad_layout *layout,
                              struct ad_best *best, bool *better)
{
    struct ad_score score;
    bool won = false;
    ad_eval_assign(eval, layout);
    enum adaps_status status = evaluate(eval, layout, best, &score, &won);
    if (better)
        *better = won;
    return status;
}

enum adaps_status ad_eval_score(struct ad_eval *eval, const struct ad_layout *layout,
                                struct ad_best *best, struct ad_score *score)
{
    ad_eval_assign(eval, layout);
    return ad_eval_score_assigned(eval, layout, best, score);
}

enum adaps_status ad_eval_score_assigned(struct ad_eval *eval, const struct ad_layout *layout,
                                         struct ad_best *best, struct ad_score *score)
{
    bool won;
    return evaluate(eval, layout, best, score, &won);
}

void ad_eval_score_schedule(struct ad_eval *eval, const struct ad_schedule *schedule,
                            const struct ad_loads *loads, struct ad_score *score)
{
    struct ad_forecast forecast = forecast_of(eval->context->problem->cluster, schedule, loads);
    score_forecast(eval, &forecast, schedule->memory, score);
}
