/* Scoring: lowering and clocks for one assignment after another, with what the last ones left. */
#include "schedule/clocks.h"
#include "schedule/lowering.h"

#include <string.h>
#include <xxhash.h>

#define SCORED 8 /* assignments whose forecast is remembered */

/* An assignment, and what came out. */
struct scored {
    bool valid;
    int64_t limit; /* of the forecast */
    uint64_t hash;
    struct ad_assignment assignment; /* a copy */
    struct ad_forecast forecast;
};

struct ad_scorer {
    struct scored scored[SCORED]; /* the one used last first */
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
    for (int i = 0; i < SCORED && status == ADAPS_OK; i++)
        status = ad_assignment_init(&s->scored[i].assignment, graph->nops, cluster->ndevices, err);
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
    for (int i = 0; i < SCORED; i++)
        ad_assignment_fini(&s->scored[i].assignment);
    ad_free(s);
}

enum adaps_status ad_scorer_run(struct ad_scorer *s, const struct ad_assignment *assignment,
                                bool with_memory, const struct ad_schedule **out)
{
    struct ad_lowering *l = &s->lowering;
    l->limit = INT64_MAX;
    enum adaps_status status = ad_lowering_run(l, assignment, &s->schedule);
    *out = &s->schedule;
    if (status == ADAPS_OK && with_memory)
        status = ad_schedule_memory(l->graph, l->cluster->source, &s->schedule, l->err);
    if (status == ADAPS_OK)
        status = ad_clocks_run(&s->clocks, l->cluster, l->beats, l->all.count, s->schedule.programs,
                               INT64_MAX, s->schedule.busy_ns, &s->schedule.makespan_ns, l->err);
    return status;
}

/* The remembered assignment, or a place for it, goes to the front. */
static struct scored *recall(struct ad_scorer *s, const struct ad_assignment *assignment)
{
    size_t count = (size_t)assignment->nops * (size_t)assignment->ndevices;
    uint64_t hash = XXH3_64bits(assignment->region, count * sizeof *assignment->region);
    int place = 0;
    while (place < SCORED - 1 && !(s->scored[place].valid && s->scored[place].hash == hash &&
                                   ad_assignment_same(assignment, &s->scored[place].assignment)))
        place++;
    struct scored found = s->scored[place];
    memmove(&s->scored[1], &s->scored[0], (size_t)place * sizeof found);
    found.valid =
        found.valid && found.hash == hash && ad_assignment_same(assignment, &found.assignment);
    found.hash = hash;
    s->scored[0] = found;
    return &s->scored[0];
}

static enum adaps_status clock_anew(struct ad_scorer *s, const struct ad_assignment *assignment,
                                    int64_t limit_ns, struct ad_forecast *out)
{
    struct ad_lowering *l = &s->lowering;
    l->limit = limit_ns;
    enum adaps_status status = ad_lowering_run(l, assignment, NULL);
    *out = (struct ad_forecast){.bytes = l->bytes, .messages = (int64_t)l->all.count};
    if (status == ADAPS_OK && !l->over)
        status = ad_clocks_run(&s->clocks, l->cluster, l->beats, l->all.count, NULL, limit_ns,
                               s->busy, &out->makespan_ns, l->err);
    out->over = l->over || out->makespan_ns == INT64_MAX;
    for (int d = 0; d < l->ndevices; d++)
        out->computing |= (uint64_t)(l->ntasks[d] > 0) << d;
    return status;
}

enum adaps_status ad_scorer_clock(struct ad_scorer *s, const struct ad_assignment *assignment,
                                  int64_t limit_ns, struct ad_forecast *out)
{
    struct scored *scored = recall(s, assignment);
    if (!scored->valid || (scored->forecast.over && scored->limit < limit_ns)) {
        scored->valid = false;
        enum adaps_status status = clock_anew(s, assignment, limit_ns, &scored->forecast);
        if (status != ADAPS_OK)
            return status;
        ad_assignment_copy(assignment, &scored->assignment);
        scored->limit = limit_ns;
        scored->valid = true;
    }
    *out = scored->forecast;
    return ADAPS_OK;
}
