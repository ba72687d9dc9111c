/* Scoring: lowering and clocks for one assignment after another, in the same memory and with what
 * is remembered of earlier ones. */
#include "schedule/clocks.h"
#include "schedule/energy.h"
#include "schedule/lowering.h"
#include "schedule/stream.h"

#include <xxhash.h>

#define SCORED 16384 /* remembered forecasts: one assignment in six comes up again in a search */

/* The forecast for the assignment with this hash (128 bits: taken to be unique). */
struct scored {
    bool valid;
    int64_t limit; /* of the forecast; of a guess, the estimate */
    XXH128_hash_t hash;
    struct ad_forecast forecast;
};

struct ad_scorer {
    struct scored *scored; /* [SCORED], by hash; the last of each place */
    struct ad_step_lowering lowering;
    struct ad_clocks clocks;
    struct ad_schedule schedule;
    int64_t *busy; /* by device */
    bool stream;
    struct ad_loads loads; /* of schedule */
};

enum adaps_status ad_scorer_new(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                struct ad_scorer **out, struct adaps_error *err)
{
    struct ad_scorer *s = ad_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return ad_error_memory(err, "scorer", sizeof *s);
    enum adaps_status status =
        ad_lowering_init(&s->lowering, graph, cluster, &s->clocks, true, err);
    if (status == ADAPS_OK && !ad_clocks_init(&s->clocks, graph, cluster, true))
        status = ad_error_memory(err, "scorer", (size_t)graph->nops);
    s->busy = ad_calloc((size_t)cluster->ndevices, sizeof *s->busy);
    if (status == ADAPS_OK && !s->busy)
        status = ad_error_memory(err, "scorer", (size_t)cluster->ndevices);
    s->scored = ad_calloc(SCORED, sizeof *s->scored);
    if (status == ADAPS_OK && !s->scored)
        status = ad_error_memory(err, "scorer", SCORED * sizeof *s->scored);
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
    ad_free(s->scored);
    ad_free(s);
}

enum adaps_status ad_scorer_run(struct ad_scorer *s, const struct ad_assignment *assignment,
                                bool with_memory, const struct ad_schedule **out)
{
    struct ad_step_lowering *l = &s->lowering;
    const struct ad_lowering_context *c = &l->context;
    enum adaps_status status = ad_lowering_run(l, assignment, &s->schedule);
    *out = &s->schedule;
    if (status == ADAPS_OK)
        status = ad_clocks_run(&s->clocks, c->cluster, l->emitter.timed, l->routes.all.count,
                               s->schedule.programs, INT64_MAX, s->schedule.busy_ns,
                               &s->schedule.makespan_ns, c->err);
    if (status != ADAPS_OK)
        return status;
    struct ad_stream stream = AD_STREAM_ONE;
    ad_clocks_loads(&s->clocks, c->cluster, l->emitter.timed, &s->loads);
    if (s->stream)
        stream.frames = ad_stream_frames(s->schedule.makespan_ns, ad_loads_most(&s->loads));
    ad_schedule_buffer(&s->schedule, s->stream ? AD_STREAM_BUFFERED : 0);
    return with_memory ? ad_stream_memory(c->graph, c->cluster, &s->schedule, &stream,
                                          s->schedule.memory, NULL, c->err)
                       : ADAPS_OK;
}

static XXH128_hash_t hash_of(const struct ad_assignment *a)
{
    size_t nops = (size_t)a->nops, count = nops * (size_t)a->ndevices;
    const int32_t head[] = {a->hub, a->u8, a->input_chunks, a->band_chunks, (int32_t)a->order};
    size_t links = (size_t)a->ndevices * (size_t)a->ndevices;
    XXH64_hash_t seed =
        XXH3_64bits_withSeed(a->early, nops * sizeof *a->early, XXH3_64bits(head, sizeof head));
    for (size_t i = 0; i < links; i++)
        if (a->encoding[i] != AD_ENCODING_F32)
            return XXH3_128bits_withSeed(
                a->region, count * sizeof *a->region,
                XXH3_64bits_withSeed(a->encoding, links * sizeof *a->encoding, seed));
    return XXH3_128bits_withSeed(a->region, count * sizeof *a->region, seed);
}

void ad_scorer_stream(struct ad_scorer *s)
{
    s->stream = true;
}

const struct ad_loads *ad_scorer_loads(const struct ad_scorer *s)
{
    return &s->loads;
}

int64_t ad_scorer_work(const struct ad_scorer *s)
{
    return s->lowering.context.work;
}

int64_t ad_scorer_estimate(struct ad_scorer *s)
{
    const struct ad_lowering_context *c = &s->lowering.context;
    return c->hub >= 0 || c->order == AD_ORDER_GRAPH ? -1 : ad_estimate_run(&s->lowering.estimate);
}

static enum adaps_status clock_anew(struct ad_scorer *s, const struct ad_assignment *assignment,
                                    struct ad_limits limits, struct scored *out)
{
    struct ad_step_lowering *l = &s->lowering;
    const struct ad_lowering_context *c = &l->context;
    enum adaps_status status = ad_lowering_start(l, assignment);
    struct ad_forecast *f = &out->forecast;
    *out = (struct scored){.valid = true, .limit = limits.ns};
    if (status != ADAPS_OK)
        return status;
    if (limits.estimate_ns < INT64_MAX) {
        int64_t estimate = ad_scorer_estimate(s);
        if (estimate > limits.estimate_ns) {
            f->over = f->guessed = true;
            out->limit = estimate;
            return ADAPS_OK;
        }
    }
    status = ad_lowering_finish(l, limits.ns, NULL);
    f->bytes = l->emitter.bytes;
    f->messages = (int64_t)l->routes.all.count;
    if (status == ADAPS_OK && !l->over)
        status = ad_clocks_run(&s->clocks, c->cluster, l->emitter.timed, l->routes.all.count, NULL,
                               limits.ns, s->busy, &f->makespan_ns, c->err);
    f->over = l->over || f->makespan_ns == INT64_MAX;
    if (status == ADAPS_OK && !f->over) {
        struct ad_loads loads;
        ad_clocks_loads(&s->clocks, c->cluster, l->emitter.timed, &loads);
        f->interval_ns = ad_loads_most(&loads);
        f->energy = ad_energy_of(c->cluster, &loads);
    }
    for (int d = 0; d < c->ndevices; d++)
        f->computing |= (uint64_t)(l->emitter.ntasks[d] > 0) << d;
    return status;
}

/* Whether what is remembered answers the question. */
static bool answers(const struct scored *place, XXH128_hash_t hash, struct ad_limits limits)
{
    if (!place->valid || !XXH128_isEqual(place->hash, hash))
        return false;
    if (place->forecast.guessed)
        return place->limit > limits.estimate_ns;
    return !place->forecast.over || place->limit >= limits.ns;
}

enum adaps_status ad_scorer_clock(struct ad_scorer *s, const struct ad_assignment *assignment,
                                  struct ad_limits limits, struct ad_forecast *out)
{
    XXH128_hash_t hash = hash_of(assignment);
    struct scored *place = &s->scored[hash.low64 % SCORED];
    if (!answers(place, hash, limits)) {
        struct scored fresh;
        enum adaps_status status = clock_anew(s, assignment, limits, &fresh);
        if (status != ADAPS_OK)
            return status;
        fresh.hash = hash;
        *place = fresh;
    }
    *out = place->forecast;
    return ADAPS_OK;
}
