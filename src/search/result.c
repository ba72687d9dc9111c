#include "search/result.h"
#include "schedule/energy.h"
#include "search/layout_regions.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ad_search_result_fini(struct ad_search_result *result)
{
    ad_graph_free(result->graph);
    ad_assignment_fini(&result->assignment);
    for (int t = 0; t < result->nothers; t++)
        ad_assignment_fini(&result->others[t]);
    ad_free(result->others);
    ad_schedule_fini(&result->schedule);
    ad_stream_fini(&result->stream);
    ad_layout_fini(&result->layout);
    memset(result, 0, sizeof *result);
}

struct ad_search_problem ad_search_problem_of(const struct ad_search_problem *problem,
                                              const struct ad_search_result *result)
{
    struct ad_search_problem of = *problem;
    of.graph = ad_search_result_graph(problem, result);
    return of;
}

enum adaps_status ad_search_refuse_memory(const struct ad_cluster *cluster, const char *strategy,
                                          const struct ad_schedule *schedule, int64_t least,
                                          struct adaps_error *err)
{
    char list[640] = "", need[32], has[32];
    size_t used = 0;
    for (int d = 0; d < cluster->ndevices && used < sizeof list; d++)
        if (ad_memory_excess(&cluster->devices[d], schedule->memory[d]) > 0)
            used += (size_t)snprintf(
                list + used, sizeof list - used, "%s%s needs %s and has %s", used ? ", " : "",
                cluster->devices[d].name,
                ad_format_bytes((double)schedule->memory[d], need, sizeof need),
                ad_format_bytes((double)cluster->devices[d].memory, has, sizeof has));
    return ad_error_set(err, ADAPS_NO,
                        "no plan of strategy %s fits into the devices' memory: in the closest "
                        "%s; with %" PRId64 " bytes (%s) on every device one would fit",
                        strategy, list, least, ad_format_bytes((double)least, need, sizeof need));
}

static enum adaps_status refuse_time(struct ad_eval *eval, const char *strategy,
                                     const struct ad_schedule *schedule, int64_t interval_ns)
{
    char cap[32], time[32];
    int64_t apart_ns = eval->context->problem->interval_cap_ns;
    if (apart_ns > 0 && interval_ns > apart_ns)
        return ad_error_set(eval->err, ADAPS_NO,
                            "no plan of strategy %s gives %.4g answers a second: the best gives "
                            "%.4g",
                            strategy, 1e9 / (double)apart_ns, 1e9 / (double)interval_ns);
    return ad_error_set(
        eval->err, ADAPS_NO, "no plan of strategy %s answers within %s: the soonest takes %s",
        strategy, ad_format_ns((double)eval->context->problem->latency_cap_ns, cap, sizeof cap),
        ad_format_ns((double)schedule->makespan_ns, time, sizeof time));
}

enum adaps_status ad_search_result_build(struct ad_eval *eval, const char *strategy,
                                         struct ad_search_result *result)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_loads loads;
    enum adaps_status status =
        ad_schedule_build(p->graph, p->cluster, &result->assignment, &result->schedule, eval->err);
    if (status == ADAPS_OK)
        status = ad_schedule_loads(p->graph, p->cluster, &result->schedule, &loads, eval->err);
    if (status != ADAPS_OK)
        return status;
    ad_eval_score_schedule(eval, &result->schedule, &loads, &result->score);
    if (result->score.excess_bytes > 0)
        return ad_search_refuse_memory(
            p->cluster, strategy, &result->schedule,
            eval->enough_memory > 0 ? eval->enough_memory : eval->least_memory, eval->err);
    return result->score.over_cap_ns > 0
               ? refuse_time(eval, strategy, &result->schedule, ad_loads_most(&loads))
               : ADAPS_OK;
}

/* Bytes that an inference moves, in the mean over the deal. */
static int64_t mean_bytes(const struct ad_search_result *result)
{
    int deals = result->stream.ndeal > 0 ? result->stream.ndeal : 1;
    int64_t sum = 0;
    for (int t = 0; t < result->stream.nturns; t++)
        sum += ad_stream_turn(&result->stream, &result->schedule, t)->bytes *
               ad_stream_share(&result->stream, t);
    return sum / deals;
}

enum adaps_status ad_search_figures(const struct ad_search_problem *problem,
                                    const struct ad_search_result *result, int64_t *figure,
                                    struct adaps_error *err)
{
    struct ad_energy_figures energy;
    const struct ad_schedule *schedule = &result->schedule;
    enum adaps_status status =
        ad_energy_figures(ad_search_result_graph(problem, result), problem->cluster, schedule,
                          &result->stream, &energy, err);
    if (status != ADAPS_OK)
        return status;
    figure[AD_OBJECTIVE_LATENCY] = schedule->makespan_ns;
    figure[AD_OBJECTIVE_THROUGHPUT] = result->stream.interval_ns;
    figure[AD_OBJECTIVE_TRAFFIC] = mean_bytes(result);
    figure[AD_OBJECTIVE_ENERGY] = energy.all_pj;
    figure[AD_OBJECTIVE_MEMORY] = 0;
    for (int d = 0; d < schedule->ndevices; d++)
        if (schedule->memory[d] > figure[AD_OBJECTIVE_MEMORY])
            figure[AD_OBJECTIVE_MEMORY] = schedule->memory[d];
    return ADAPS_OK;
}

/* "traffic made small, within 12.3 ms" */
static void note_objective(const struct ad_search_problem *problem, struct ad_search_result *result)
{
    const char *what = problem->objective == AD_OBJECTIVE_THROUGHPUT
                           ? "interval"
                           : ad_objective_name(problem->objective);
    char cap[32];
    if (problem->latency_cap_ns > 0)
        snprintf(result->note, sizeof result->note, "%s made small, within %s", what,
                 ad_format_ns((double)problem->latency_cap_ns, cap, sizeof cap));
    else if (problem->objective != AD_OBJECTIVE_LATENCY)
        snprintf(result->note, sizeof result->note, "%s made small", what);
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

/* "left out: NAME (with it 12.3 ms, +0.4 ms), ..., and 3 more": the best layout seen in which the
 * device computes, and how much later that answers. */
static void note_left_out(const struct ad_eval *eval, struct ad_search_result *result)
{
    const struct ad_cluster *cluster = eval->context->problem->cluster;
    int64_t now = result->schedule.makespan_ns;
    int left = 0, said = 0;
    for (int d = 0; d < cluster->ndevices; d++)
        left += result->schedule.programs[d].ntasks == 0;
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

void ad_search_result_note(const struct ad_eval *eval, struct ad_search_result *result)
{
    note_objective(eval->context->problem, result);
    note_left_out(eval, result);
}

enum adaps_status ad_search_result_of(struct ad_eval *eval, const char *strategy,
                                      const struct ad_layout *layout,
                                      struct ad_search_result *result)
{
    const struct ad_search_problem *p = eval->context->problem;
    enum adaps_status status =
        ad_assignment_init(&result->assignment, p->graph->nops, p->cluster->ndevices, eval->err);
    if (status != ADAPS_OK)
        return status;
    ad_layout_regions(p->graph, p->cluster->source, layout, eval->exchange, &result->assignment);
    status = ad_search_result_build(eval, strategy, result);
    if (status == ADAPS_OK)
        status = ad_layout_init(&result->layout, layout->nops, layout->ndevices, eval->err);
    if (status != ADAPS_OK)
        return status;
    ad_layout_copy(layout, &result->layout);
    ad_search_result_note(eval, result);
    return ADAPS_OK;
}

enum adaps_status ad_search_layouts(const struct ad_search_problem *problem, const char *strategy,
                                    ad_search_fn *search, struct ad_search_result *result,
                                    struct adaps_error *err)
{
    struct ad_context context = {0};
    struct ad_eval eval = {0};
    struct ad_best best = {0};
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&eval, &context, err);
    if (status == ADAPS_OK)
        status = ad_best_init(&best, &context, err);
    if (status == ADAPS_OK)
        status = search(&eval, &best);
    if (status == ADAPS_OK)
        status = ad_search_result_of(&eval, strategy, &best.layout, result);
    result->visited = ad_eval_visited(&eval);
    result->space_log10 = eval.space_log10;
    ad_best_fini(&best);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    return status;
}
