#include "search/strategies/link_encodings.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TRIALS 1000   /* of an encoding on a link, per stage */
#define COMPRESSING 0.005 /* LZ4 on all links may delay the answer by this part */

/* A link that carries more than pictures. */
struct link {
    int index; /* from * ndevices + to */
    int64_t bytes;
};

struct encoder {
    const struct ad_search_problem *problem;
    struct ad_assignment *a; /* the result's */
    struct ad_scorer *scorer;
    struct ad_forecast now; /* of *a */
    struct link *links;
    int nlinks;
};

static int compare_links(const void *pa, const void *pb)
{
    const struct link *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->index - b->index;
}

static void find_links(struct encoder *e, const struct ad_schedule *schedule)
{
    const struct ad_graph *graph = e->problem->graph;
    int n = e->a->ndevices, kept = 0;
    for (int i = 0; i < n * n; i++)
        e->links[i] = (struct link){.index = i};
    for (int d = 0; d < n; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            if (step->kind == AD_STEP_SEND && step->encoding != AD_ENCODING_U8)
                e->links[d * n + step->peer].bytes +=
                    graph->values[step->value].box.n * ad_region_elements(step->region);
        }
    for (int i = 0; i < n * n; i++)
        if (e->links[i].bytes > 0)
            e->links[kept++] = e->links[i];
    e->nlinks = kept;
    qsort(e->links, (size_t)kept, sizeof *e->links, compare_links);
}

static enum adaps_status look(struct encoder *e, struct ad_forecast *out)
{
    return ad_scorer_clock(e->scorer, e->a, AD_NO_LIMITS, out);
}

/* What encodings are to make shorter: the latency, or the interval of a stream. */
static int64_t time_of(const struct encoder *e, const struct ad_forecast *forecast)
{
    return e->problem->objective == AD_OBJECTIVE_THROUGHPUT ? forecast->interval_ns
                                                            : forecast->makespan_ns;
}

/* Whether the forecast of an encoding of all links is better than that of another one. */
static bool better(const struct encoder *e, const struct ad_forecast *a,
                   const struct ad_forecast *b)
{
    int64_t cap = e->problem->latency_cap_ns;
    if (cap > 0 && (a->makespan_ns > cap) != (b->makespan_ns > cap))
        return b->makespan_ns > cap;
    if (e->problem->objective == AD_OBJECTIVE_TRAFFIC && a->bytes != b->bytes)
        return a->bytes < b->bytes;
    return time_of(e, a) < time_of(e, b);
}

/* Gives all links the one encoding that is best. */
static enum adaps_status choose_one(struct encoder *e)
{
    enum ad_encoding best = AD_ENCODING_F32;
    ad_assignment_encode(e->a, best);
    enum adaps_status status = look(e, &e->now);
    for (unsigned k = 0; k < AD_ENCODINGS && status == ADAPS_OK; k++) {
        struct ad_forecast forecast;
        if (!(e->problem->encodings & AD_ENCODING_BIT(k)) || k == AD_ENCODING_LZ4)
            continue;
        ad_assignment_encode(e->a, (enum ad_encoding)k);
        status = look(e, &forecast);
        if (status == ADAPS_OK && better(e, &forecast, &e->now)) {
            best = (enum ad_encoding)k;
            e->now = forecast;
        }
    }
    ad_assignment_encode(e->a, AD_ENCODING_F32);
    for (int i = 0; i < e->nlinks; i++)
        e->a->encoding[e->links[i].index] = best;
    return status;
}

/* Gives a link this encoding if the time is then at most `most` ns; *kept says so. */
static enum adaps_status try_link(struct encoder *e, int index, enum ad_encoding encoding,
                                  int64_t most, bool *kept)
{
    uint8_t *link = &e->a->encoding[index], was = *link;
    struct ad_forecast forecast;
    *link = (uint8_t)encoding;
    enum adaps_status status = look(e, &forecast);
    *kept = status == ADAPS_OK && time_of(e, &forecast) <= most;
    if (*kept)
        e->now = forecast;
    else
        *link = was;
    return status;
}

/* Gives links an encoding of fewer bytes where that makes the answer sooner, those that carry most
 * first. */
static enum adaps_status shorten(struct encoder *e)
{
    enum adaps_status status = ADAPS_OK;
    int trials = 0;
    for (int i = e->nlinks - 1; i >= 0; i--)
        for (unsigned k = 0; k < AD_ENCODINGS && status == ADAPS_OK && trials < MAX_TRIALS; k++) {
            int index = e->links[i].index;
            bool kept;
            if (!(e->problem->encodings & AD_ENCODING_BIT(k)) ||
                ad_encoding_density((enum ad_encoding)k) >=
                    ad_encoding_density((enum ad_encoding)e->a->encoding[index]))
                continue;
            status = try_link(e, index, (enum ad_encoding)k, time_of(e, &e->now) - 1, &kept);
            trials++;
        }
    return status;
}

/* Gives a link float32 again, or binary16 instead of zfp, if the answer is no later; *kept says so.
 */
static enum adaps_status relax_link(struct encoder *e, int index, bool *kept)
{
    bool zfp = e->a->encoding[index] == AD_ENCODING_ZFP;
    enum adaps_status status = try_link(e, index, AD_ENCODING_F32, time_of(e, &e->now), kept);
    if (status == ADAPS_OK && !*kept && zfp &&
        (e->problem->encodings & AD_ENCODING_BIT(AD_ENCODING_F16)))
        status = try_link(e, index, AD_ENCODING_F16, time_of(e, &e->now), kept);
    return status;
}

/* Relaxes links until none is left for which that is as good. */
static enum adaps_status relax(struct encoder *e)
{
    enum adaps_status status = ADAPS_OK;
    bool some = true;
    for (int trials = 0; some && status == ADAPS_OK;) {
        some = false;
        for (int i = 0; i < e->nlinks && status == ADAPS_OK && trials < MAX_TRIALS; i++) {
            bool kept = false;
            if (e->a->encoding[e->links[i].index] == AD_ENCODING_F32)
                continue;
            status = relax_link(e, e->links[i].index, &kept);
            some = some || kept;
            trials++;
        }
    }
    return status;
}

/* Gives links of float32 LZ4 where trying to compress costs next to nothing. */
static enum adaps_status compress(struct encoder *e)
{
    enum adaps_status status = ADAPS_OK;
    int64_t now = time_of(e, &e->now), most = now + (int64_t)(COMPRESSING * (double)now);
    int trials = e->nlinks < MAX_TRIALS ? e->nlinks : MAX_TRIALS;
    if (e->problem->latency_cap_ns > 0 && most > e->problem->latency_cap_ns)
        return status;
    for (int i = 0; i < trials && status == ADAPS_OK; i++) {
        int index = e->links[i].index;
        bool kept;
        if (e->a->encoding[index] == AD_ENCODING_F32)
            status = try_link(e, index, AD_ENCODING_LZ4, most, &kept);
    }
    return status;
}

enum adaps_status ad_search_encode(const struct ad_search_problem *problem,
                                   struct ad_search_result *result, struct adaps_error *err)
{
    size_t n = (size_t)problem->cluster->ndevices;
    struct encoder e = {.problem = problem, .a = &result->assignment};
    if (problem->encodings == 0 || n < 2)
        return ADAPS_OK;
    e.links = ad_calloc(n * n, sizeof *e.links);
    if (!e.links)
        return ad_error_memory(err, "encodings", n * n * sizeof *e.links);
    find_links(&e, &result->schedule);
    enum adaps_status status = ad_scorer_new(problem->graph, problem->cluster, &e.scorer, err);
    if (status == ADAPS_OK)
        status = choose_one(&e);
    if (status == ADAPS_OK && problem->objective != AD_OBJECTIVE_TRAFFIC)
        status = shorten(&e);
    if (status == ADAPS_OK && problem->objective != AD_OBJECTIVE_TRAFFIC)
        status = relax(&e);
    if (status == ADAPS_OK && (problem->encodings & AD_ENCODING_BIT(AD_ENCODING_LZ4)))
        status = compress(&e);
    ad_scorer_free(e.scorer);
    ad_free(e.links);
    if (status != ADAPS_OK)
        return status;
    ad_schedule_fini(&result->schedule);
    return ad_schedule_build(problem->graph, problem->cluster, e.a, &result->schedule, err);
}
