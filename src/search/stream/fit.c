#include "search/stream/fit.h"

#include <string.h>

#define NEAR 0.005 /* of an interval: not worth another inference in flight */

struct fit {
    const struct ad_search_problem *problem;
    struct ad_schedule *first;
    struct ad_stream *stream;
    struct adaps_error *err;
};

bool ad_stream_fits(const struct ad_search_problem *p, const struct ad_schedule *first)
{
    for (int d = 0; d < p->cluster->ndevices; d++)
        if (p->cluster->devices[d].memory > 0 &&
            (uint64_t)first->memory[d] > p->cluster->devices[d].memory)
            return false;
    return true;
}

/* With so many in flight: *good says that memory and cap are kept. */
static enum adaps_status look(struct fit *f, int frames, bool *good)
{
    const struct ad_search_problem *p = f->problem;
    f->stream->frames = frames;
    enum adaps_status status =
        ad_stream_memory(p->graph, p->cluster, f->first, f->stream, f->first->memory, NULL, f->err);
    *good = status == ADAPS_OK && ad_stream_fits(p, f->first);
    if (status != ADAPS_OK || (!*good && frames > 1))
        return status;
    status = ad_stream_simulate(p->graph, p->cluster, f->first, f->stream, f->err);
    *good = *good && (p->latency_cap_ns <= 0 || f->stream->latency_ns <= p->latency_cap_ns);
    return status;
}

/* The largest number that keeps to memory and cap, between lo, which does or is 1, and hi. */
static enum adaps_status most_frames(struct fit *f, int hi, int *out)
{
    int lo = 1;
    enum adaps_status status = ADAPS_OK;
    while (lo < hi && status == ADAPS_OK) {
        int middle = (lo + hi + 1) / 2;
        bool good;
        status = look(f, middle, &good);
        if (good)
            lo = middle;
        else
            hi = middle - 1;
    }
    *out = lo;
    return status;
}

/* More in flight than these gain nothing, whatever the turns are. */
static enum adaps_status useful_frames(struct fit *f, int *out, struct adaps_error *err)
{
    const struct ad_search_problem *p = f->problem;
    int64_t longest = 0, shortest = INT64_MAX;
    for (int t = 0; t < f->stream->nturns; t++) {
        const struct ad_schedule *turn = ad_stream_turn(f->stream, f->first, t);
        struct ad_loads loads;
        enum adaps_status status = ad_schedule_loads(p->graph, p->cluster, turn, &loads, err);
        if (status != ADAPS_OK)
            return status;
        int64_t most = ad_loads_most(&loads) / f->stream->nturns;
        longest = turn->makespan_ns > longest ? turn->makespan_ns : longest;
        shortest = most < shortest ? most : shortest;
    }
    *out = ad_stream_frames(2 * longest, shortest);
    return ADAPS_OK;
}

enum adaps_status ad_stream_fit(const struct ad_search_problem *problem, struct ad_schedule *first,
                                struct ad_stream *stream, struct adaps_error *err)
{
    struct fit f = {problem, first, stream, err};
    int lo = 1, hi = 1;
    bool good;
    enum adaps_status status = useful_frames(&f, &hi, err);
    if (status == ADAPS_OK)
        status = most_frames(&f, hi, &hi);
    if (status == ADAPS_OK)
        status = look(&f, hi, &good);
    if (status != ADAPS_OK)
        return status;
    int64_t enough = stream->interval_ns + (int64_t)(NEAR * (double)stream->interval_ns);
    while (lo < hi && status == ADAPS_OK) {
        int middle = (lo + hi) / 2;
        status = look(&f, middle, &good);
        if (stream->interval_ns <= enough)
            hi = middle;
        else
            lo = middle + 1;
    }
    return status == ADAPS_OK ? look(&f, hi, &good) : status;
}
