#include "search/strategies/compare.h"

#include <stdio.h>
#include <string.h>

static enum adaps_status compare_one(const struct ad_search_problem *problem,
                                     const struct ad_strategy *strategy, struct ad_comparison *out,
                                     struct adaps_error *err)
{
    struct ad_search_result result;
    struct adaps_error why = {0};
    size_t n = (size_t)problem->cluster->ndevices;
    out->strategy = strategy->name;
    out->by_interval = problem->objective == AD_OBJECTIVE_THROUGHPUT;
    enum adaps_status status = ad_search_run(strategy, problem, &result, &why);
    if (status == ADAPS_NO) {
        snprintf(out->error, sizeof out->error, "%s", why.message);
        return ADAPS_OK;
    }
    if (status != ADAPS_OK) {
        if (err)
            *err = why;
        return status;
    }
    out->predicted_ns = result.schedule.makespan_ns;
    out->bytes = result.schedule.bytes;
    out->messages = result.schedule.messages;
    out->interval_ns = result.stream.interval_ns;
    out->visited = result.visited;
    out->lower_bound_ns = result.lower_bound_ns;
    out->search_s = result.seconds;
    out->memory = ad_calloc(n, sizeof *out->memory);
    if (out->memory)
        memcpy(out->memory, result.schedule.memory, n * sizeof *out->memory);
    else
        status = ad_error_memory(err, "comparison", n);
    ad_search_result_fini(&result);
    return status;
}

enum adaps_status ad_search_compare(const struct ad_search_problem *problem,
                                    struct ad_comparison **out, int *count, struct adaps_error *err)
{
    int n = 0;
    while (ad_strategies[n].name && !ad_strategies[n].small)
        n++;
    *out = ad_calloc((size_t)n, sizeof **out);
    if (!*out)
        return ad_error_memory(err, "comparison", (size_t)n);
    enum adaps_status status = ADAPS_OK;
    *count = 0;
    for (int i = 0; i < n && status == ADAPS_OK; i++)
        if (!ad_strategies[i].stream || ad_search_streams(problem))
            status = compare_one(problem, &ad_strategies[i], &(*out)[(*count)++], err);
    if (status != ADAPS_OK) {
        ad_comparison_free(*out, n);
        *out = NULL;
        *count = 0;
    }
    return status;
}

static bool is_better(const struct ad_comparison *a, const struct ad_comparison *than)
{
    if (a->error[0] || than->error[0])
        return !a->error[0];
    return a->by_interval ? a->interval_ns < than->interval_ns
                          : a->predicted_ns < than->predicted_ns;
}

void ad_comparison_merge(struct ad_comparison *into, struct ad_comparison *other, int count)
{
    for (int i = 0; i < count; i++) {
        bool both = !into[i].error[0] && !other[i].error[0];
        int64_t visited = into[i].visited + other[i].visited;
        double seconds = into[i].search_s + other[i].search_s;
        int64_t bound = into[i].lower_bound_ns;
        if (both && other[i].lower_bound_ns < bound)
            bound = other[i].lower_bound_ns;
        if (is_better(&other[i], &into[i])) {
            struct ad_comparison worse = into[i];
            into[i] = other[i];
            other[i] = worse;
            bound = both ? bound : into[i].lower_bound_ns;
        }
        into[i].visited = visited;
        into[i].search_s = seconds;
        into[i].lower_bound_ns = bound;
    }
}

void ad_comparison_free(struct ad_comparison *comparisons, int count)
{
    for (int i = 0; comparisons && i < count; i++)
        ad_free(comparisons[i].memory);
    ad_free(comparisons);
}
