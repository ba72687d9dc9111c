#include "search/eval.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Whether some plan could need more memory than some device has: whatever a plan is, no device
 * holds more than all weights and all values. */
static bool memory_matters(const struct ad_search_problem *p)
{
    const struct ad_graph *graph = p->graph;
    int64_t all = 0;
    for (int w = 0; w < graph->nweights; w++)
        all += graph->weights[w].rows * graph->weights[w].row_elements;
    for (int v = 0; v < graph->nvalues; v++)
        all += graph->values[v].box.n * ad_region_elements(ad_region_whole(&graph->values[v]));
    for (int d = 0; d < p->cluster->ndevices; d++)
        if (p->cluster->devices[d].memory > 0 &&
            (uint64_t)all > p->cluster->devices[d].memory / sizeof(float))
            return true;
    return p->objective == AD_OBJECTIVE_MEMORY;
}

enum adaps_status ad_eval_init(struct ad_eval *out, const struct ad_context *context,
                               struct adaps_error *err)
{
    const struct ad_search_problem *p = context->problem;
    *out = (struct ad_eval){
        .context = context,
        .weigh = memory_matters(p),
        .share = 1,
        .half_share = AD_SUBSET_SHARE,
        .least_memory = -1,
        .cap_ns = p->latency_cap_ns,
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
    out->memo = ad_layout_memo_new(p->graph, p->cluster->ndevices);
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
    if (a->excess != b->excess)
        return a->excess < b->excess;
    if (a->late != b->late)
        return a->late < b->late;
    if (a->first != b->first)
        return a->first < b->first;
    if (a->makespan_ns != b->makespan_ns)
        return a->makespan_ns < b->makespan_ns;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes;
    return a->messages < b->messages;
}

/* Bytes that a device needs and does not have. */
static int64_t excess_of(const struct ad_device *device, int64_t need)
{
    return device->memory > 0 && (uint64_t)need > device->memory ? need - (int64_t)device->memory
                                                                 : 0;
}

static struct ad_forecast forecast_of(const struct ad_schedule *schedule)
{
    struct ad_forecast out = {.makespan_ns = schedule->makespan_ns,
                              .bytes = schedule->bytes,
                              .messages = schedule->messages};
    for (int d = 0; d < schedule->ndevices; d++)
        out.computing |= (uint64_t)(schedule->programs[d].ntasks > 0) << d;
    return out;
}

static bool keep(struct ad_best *best, const struct ad_layout *layout, const struct ad_score *score,
                 int devices)
{
    if ((best->shared && devices < 2) || (best->valid && !ad_score_better(score, &best->score)))
        return false;
    if (layout->ops != best->layout.ops)
        ad_layout_copy(layout, &best->layout);
    best->score = *score;
    best->valid = true;
    return true;
}

/* memory: by device; only read when memory may matter. */
static void score_forecast(struct ad_eval *eval, const struct ad_forecast *forecast,
                           const int64_t *memory, struct ad_score *score)
{
    const struct ad_cluster *cluster = eval->context->problem->cluster;
    enum ad_objective objective = eval->context->problem->objective;
    int64_t largest = 0;
    *score = (struct ad_score){.makespan_ns = forecast->makespan_ns,
                               .bytes = forecast->bytes,
                               .messages = forecast->messages};
    if (eval->cap_ns > 0 && forecast->makespan_ns > eval->cap_ns)
        score->late = forecast->makespan_ns - eval->cap_ns;
    for (int d = 0; eval->weigh && d < cluster->ndevices; d++) {
        score->excess += excess_of(&cluster->devices[d], memory[d]);
        largest = memory[d] > largest ? memory[d] : largest;
    }
    score->first = objective == AD_OBJECTIVE_TRAFFIC  ? forecast->bytes
                   : objective == AD_OBJECTIVE_MEMORY ? largest
                                                      : 0;
    if (eval->least_memory < 0 || largest < eval->least_memory)
        eval->least_memory = largest;
    for (int d = 0; score->excess == 0 && d < cluster->ndevices; d++)
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
    if (!eval->weigh)
        return ad_scorer_clock(eval->scorer, &eval->scratch, eval->limits, forecast);
    enum adaps_status status = ad_scorer_run(eval->scorer, &eval->scratch, true, &schedule);
    if (status != ADAPS_OK)
        return status;
    *forecast = forecast_of(schedule);
    *memory = schedule->memory;
    return ADAPS_OK;
}

void ad_eval_assign(struct ad_eval *eval, const struct ad_layout *layout)
{
    const struct ad_search_problem *p = eval->context->problem;
    ad_layout_regions_again(eval->memo, p->graph, p->cluster->source, layout, eval->exchange,
                            &eval->scratch);
}

/* layout: what is in scratch. */
static enum adaps_status evaluate(struct ad_eval *eval, const struct ad_layout *layout,
                                  struct ad_best *best, struct ad_score *score, bool *won)
{
    struct ad_forecast forecast;
    const int64_t *memory;
    enum adaps_status status = find_forecast(eval, &forecast, &memory);
    if (status != ADAPS_OK)
        return status;
    eval->visited += !forecast.guessed;
    eval->guessed += forecast.guessed;
    if (forecast.over) {
        *score = (struct ad_score){.late = INT64_MAX, .first = INT64_MAX, .makespan_ns = INT64_MAX};
        *won = false;
        return ADAPS_OK;
    }
    score_forecast(eval, &forecast, memory, score);
    int devices = __builtin_popcountll(forecast.computing);
    *won = keep(best, layout, score, devices);
    if (eval->best_shared && eval->best_shared != best)
        keep(eval->best_shared, layout, score, devices);
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

static enum adaps_status refuse_memory(struct ad_eval *eval, const char *strategy,
                                       const struct ad_schedule *schedule)
{
    const struct ad_cluster *cluster = eval->context->problem->cluster;
    char list[640] = "", need[32], has[32];
    size_t used = 0;
    for (int d = 0; d < cluster->ndevices && used < sizeof list; d++)
        if (excess_of(&cluster->devices[d], schedule->memory[d]) > 0)
            used += (size_t)snprintf(
                list + used, sizeof list - used, "%s%s needs %s and has %s", used ? ", " : "",
                cluster->devices[d].name,
                ad_format_bytes((double)schedule->memory[d], need, sizeof need),
                ad_format_bytes((double)cluster->devices[d].memory, has, sizeof has));
    return ad_error_set(eval->err, ADAPS_NO,
                        "no plan of strategy %s fits into the devices' memory: in the closest "
                        "%s; with %" PRId64 " bytes (%s) on every device one would fit",
                        strategy, list, eval->least_memory,
                        ad_format_bytes((double)eval->least_memory, need, sizeof need));
}

static enum adaps_status refuse_late(struct ad_eval *eval, const char *strategy,
                                     const struct ad_schedule *schedule)
{
    char cap[32], time[32];
    return ad_error_set(eval->err, ADAPS_NO,
                        "no plan of strategy %s answers within %s: the soonest takes %s", strategy,
                        ad_format_ns((double)eval->cap_ns, cap, sizeof cap),
                        ad_format_ns((double)schedule->makespan_ns, time, sizeof time));
}

enum adaps_status ad_eval_finish_assignment(struct ad_eval *eval, const char *strategy,
                                            struct ad_search_result *result)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_score score;
    enum adaps_status status =
        ad_schedule_build(p->graph, p->cluster, &result->assignment, &result->schedule, eval->err);
    if (status != ADAPS_OK)
        return status;
    struct ad_forecast forecast = forecast_of(&result->schedule);
    score_forecast(eval, &forecast, result->schedule.memory, &score);
    if (score.excess > 0)
        return refuse_memory(eval, strategy, &result->schedule);
    return score.late > 0 ? refuse_late(eval, strategy, &result->schedule) : ADAPS_OK;
}

enum adaps_status ad_eval_finish(struct ad_eval *eval, const struct ad_best *best,
                                 const char *strategy, struct ad_search_result *result)
{
    const struct ad_search_problem *p = eval->context->problem;
    enum adaps_status status =
        ad_assignment_init(&result->assignment, p->graph->nops, p->cluster->ndevices, eval->err);
    if (status != ADAPS_OK)
        return status;
    ad_layout_regions(p->graph, p->cluster->source, &best->layout, eval->exchange,
                      &result->assignment);
    result->visited = eval->visited + eval->guessed / AD_GUESSES;
    return ad_eval_finish_assignment(eval, strategy, result);
}

static void note_add(struct ad_search_result *result, const char *fmt, ...) AD_PRINTF(2, 3);
static void note_add(struct ad_search_result *result, const char *fmt, ...)
{
    size_t used = strlen(result->note);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(result->note + used, sizeof result->note - used, fmt, ap);
    va_end(ap);
}

void ad_eval_note_left_out(const struct ad_eval *eval, struct ad_search_result *result)
{
    const struct ad_cluster *cluster = eval->context->problem->cluster;
    int64_t now = result->schedule.makespan_ns;
    int left = cluster->ndevices - __builtin_popcountll(forecast_of(&result->schedule).computing),
        said = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        char entry[192], with[32], more[32];
        if (result->schedule.programs[d].ntasks > 0)
            continue;
        int n = snprintf(entry, sizeof entry, "%s%s",
                         said              ? ", "
                         : result->note[0] ? "; left out: "
                                           : "left out: ",
                         cluster->devices[d].name);
        if (eval->with_ns[d] >= 0)
            snprintf(entry + n, sizeof entry - (size_t)n, " (with it %s, %s%s)",
                     ad_format_ns((double)eval->with_ns[d], with, sizeof with),
                     eval->with_ns[d] < now ? "-" : "+",
                     ad_format_ns(fabs((double)(eval->with_ns[d] - now)), more, sizeof more));
        if (strlen(result->note) + strlen(entry) + sizeof ", and 63 more" > sizeof result->note) {
            note_add(result, ", and %d more", left - said);
            return;
        }
        note_add(result, "%s", entry);
        said++;
    }
}
