/* Scoring: lowering and clocks for one assignment after another, with what the last ones left. */
#include "schedule/clocks.h"
#include "schedule/lowering.h"

#include <string.h>

struct ad_scorer {
    struct ad_lowering lowering;
    struct ad_clocks clocks;
    struct ad_schedule schedule;
    int64_t *busy; /* by device */
};

enum adaps_status ad_scorer_new(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                struct ad_scorer **out, struct adaps_error *err)
{
    struct ad_scorer *s = ad_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return ad_error_memory(err, "scorer", sizeof *s);
    enum adaps_status status = ad_lowering_init(&s->lowering, graph, cluster, true, err);
    if (status == ADAPS_OK && !ad_clocks_init(&s->clocks, graph, cluster, true))
        status = ad_error_memory(err, "scorer", (size_t)graph->nops);
    s->busy = ad_calloc((size_t)cluster->ndevices, sizeof *s->busy);
    if (status == ADAPS_OK && !s->busy)
        status = ad_error_memory(err, "scorer", (size_t)cluster->ndevices);
    s->lowering.clocks = &s->clocks;
    if (status == ADAPS_OK)
        *out = s;
    else
        ad_scorer_free(s);
    return status;
}

void ad_scorer_free(struct ad_scorer *s)
{
    if (!s)
        return;
    ad_lowering_fini(&s->lowering);
    ad_clocks_fini(&s->clocks);
    ad_schedule_fini(&s->schedule);
    ad_free(s->busy);
    ad_free(s);
}

enum adaps_status ad_scorer_run(struct ad_scorer *s, const struct ad_assignment *assignment,
                                bool with_memory, const struct ad_schedule **out)
{
    struct ad_lowering *l = &s->lowering;
    enum adaps_status status = ad_lowering_run(l, assignment, &s->schedule);
    *out = &s->schedule;
    if (status == ADAPS_OK && with_memory)
        status = ad_schedule_memory(l->graph, l->cluster->source, &s->schedule, l->err);
    if (status == ADAPS_OK)
        status = ad_clocks_run(&s->clocks, l->cluster, l->beats, l->all.count, s->schedule.programs,
                               s->schedule.busy_ns, &s->schedule.makespan_ns, l->err);
    return status;
}

enum adaps_status ad_scorer_clock(struct ad_scorer *s, const struct ad_assignment *assignment,
                                  struct ad_forecast *out)
{
    struct ad_lowering *l = &s->lowering;
    enum adaps_status status = ad_lowering_run(l, assignment, NULL);
    *out = (struct ad_forecast){.bytes = l->bytes, .messages = (int64_t)l->all.count};
    if (status == ADAPS_OK)
        status = ad_clocks_run(&s->clocks, l->cluster, l->beats, l->all.count, NULL, s->busy,
                               &out->makespan_ns, l->err);
    for (int d = 0; d < l->ndevices; d++)
        out->computing |= (uint64_t)(l->ntasks[d] > 0) << d;
    return status;
}
