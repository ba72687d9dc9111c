/* The table of strategies, and what all of them share around their search functions. */
#include "search/strategies.h"
#include "base/clock.h"

#include <string.h>

/* Searches, then builds the result. */
static enum adaps_status drive(const struct ad_search_problem *problem, const char *name,
                               ad_search_fn *search, struct ad_search_result *result,
                               struct adaps_error *err)
{
    struct ad_terrain terrain;
    struct ad_eval eval;
    struct ad_best best;
    enum adaps_status status = ad_terrain_init(&terrain, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_eval_init(&eval, &terrain, err);
    if (status != ADAPS_OK) {
        ad_terrain_fini(&terrain);
        return status;
    }
    status = ad_best_init(&best, &terrain, err);
    if (status == ADAPS_OK)
        status = search(&eval, &best);
    if (status == ADAPS_OK)
        status = ad_eval_finish(&eval, &best, name, result);
    if (status == ADAPS_OK) {
        result->space_log10 = eval.space_log10;
        ad_eval_note_left_out(&eval, result);
    }
    ad_best_fini(&best);
    ad_eval_fini(&eval);
    ad_terrain_fini(&terrain);
    return status;
}

static enum adaps_status run_single(const struct ad_search_problem *problem,
                                    struct ad_search_result *result, struct adaps_error *err)
{
    return drive(problem, "single", ad_single_search, result, err);
}

static enum adaps_status run_edgeflow(const struct ad_search_problem *problem,
                                      struct ad_search_result *result, struct adaps_error *err)
{
    return drive(problem, "edgeflow", ad_edgeflow_search, result, err);
}

static enum adaps_status run_fused(const struct ad_search_problem *problem,
                                   struct ad_search_result *result, struct adaps_error *err)
{
    return drive(problem, "fused", ad_fused_search, result, err);
}

static enum adaps_status run_auto(const struct ad_search_problem *problem,
                                  struct ad_search_result *result, struct adaps_error *err)
{
    return drive(problem, "auto", ad_auto_search, result, err);
}

const struct ad_strategy ad_strategies[] = {
    {"auto", "the best plan found: all others, then local improvement", run_auto},
    {"single", "everything on the one device that answers soonest", run_single},
    {"edgeflow", "bands in proportion to speed, rows exchanged at every layer", run_edgeflow},
    {"fused", "bands with recomputed halos, exchanged at chosen layers only", run_fused},
    {NULL, NULL, NULL},
};

const struct ad_strategy *ad_strategy_find(const char *name)
{
    for (const struct ad_strategy *s = ad_strategies; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

enum adaps_status ad_search_run(const struct ad_strategy *strategy,
                                const struct ad_search_problem *problem,
                                struct ad_search_result *result, struct adaps_error *err)
{
    memset(result, 0, sizeof *result);
    int64_t start = ad_clock_ns();
    enum adaps_status status = strategy->run(problem, result, err);
    result->seconds = (double)(ad_clock_ns() - start) * 1e-9;
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
