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

enum adaps_status ad_stream_room(const struct ad_search_problem *p, struct ad_schedule *schedule,
                                 int *most, struct adaps_error *err)
{
    int64_t memory[2][AD_MAX_DEVICES];
    enum adaps_status status = ADAPS_OK;
    *most = AD_STREAM_FRAMES;
    ad_schedule_buffer(schedule, 1);
    for (int frames = 2; frames <= 3 && status == ADAPS_OK; frames++) {
        struct ad_stream stream = AD_STREAM_ONE;
        stream.frames = frames;
        status = ad_stream_memory(p->graph, p->cluster, schedule, &stream, memory[frames - 2], NULL,
                                  err);
    }
    for (int d = 0; d < schedule->ndevices && status == ADAPS_OK; d++) {
        int64_t each = memory[1][d] - memory[0][d], all = (int64_t)p->cluster->devices[d].memory;
        int64_t fit = all == 0 || each == 0 ? AD_STREAM_FRAMES : 2 + (all - memory[0][d]) / each;
        if (all > 0 && all < memory[0][d])
            fit = 1;
        *most = fit < *most ? (int)fit : *most;
    }
    ad_schedule_buffer(schedule, 0);
    return status;
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

/* How many more in flight keep devices that wait for each other busy although their steps do not
 * always take as long as they should: one for each device of an inference. */
static int slack(const struct fit *f)
{
    int sharing = ad_stream_sharing(f->stream, f->first);
    return sharing > 1 ? sharing : 0;
}

/* Whether no more is asked of the interval than its cap. The shorter it is, the less energy goes
 * into idle devices. */
static bool cap_is_enough(const struct fit *f)
{
    int64_t cap = f->problem->interval_cap_ns;
    return f->problem->objective != AD_OBJECTIVE_THROUGHPUT &&
           f->problem->objective != AD_OBJECTIVE_ENERGY && cap > 0 && f->stream->interval_ns <= cap;
}

/* The fewest in flight with which the interval is next to the shortest, of at most `useful`, and
 * some more; where its cap is enough, the fewest that keep to that. *most: how many could be. */
static enum adaps_status choose_frames(struct fit *f, int useful, int *most)
{
    int lo = 1, hi;
    bool good, capped;
    enum adaps_status status = most_frames(f, useful, &hi);
    *most = hi;
    if (status == ADAPS_OK)
        status = look(f, hi, &good);
    if (status != ADAPS_OK)
        return status;
    int64_t enough = f->stream->interval_ns + (int64_t)(NEAR * (double)f->stream->interval_ns);
    capped = cap_is_enough(f);
    enough = capped ? f->problem->interval_cap_ns : enough;
    while (lo < hi && status == ADAPS_OK) {
        int middle = (lo + hi) / 2;
        status = look(f, middle, &good);
        if (f->stream->interval_ns <= enough)
            hi = middle;
        else
            lo = middle + 1;
    }
    if (!capped)
        hi = hi + slack(f) < *most ? hi + slack(f) : *most;
    return status == ADAPS_OK ? look(f, hi, &good) : status;
}

/* Each device has buffers for so many inferences of a turn at a time; 0: for all in flight. */
static void set_buffered(const struct fit *f, int n)
{
    ad_schedule_buffer(f->first, n);
    for (int t = 1; t < f->stream->nturns; t++)
        ad_schedule_buffer(&f->stream->others[t - 1], n);
}

/* Where memory keeps inferences out: more may be in flight when devices have buffers for some of
 * them only. */
static enum adaps_status choose_buffered(struct fit *f, int useful)
{
    static const int numbers[] = {4, 2, 1};
    int64_t least = f->stream->interval_ns;
    int frames = f->stream->frames, buffered = 0, most;
    bool good;
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == ADAPS_OK; i++) {
        set_buffered(f, numbers[i]);
        status = choose_frames(f, useful, &most);
        if (status != ADAPS_OK || (double)f->stream->interval_ns > (1 - NEAR) * (double)least)
            continue;
        least = f->stream->interval_ns;
        frames = f->stream->frames;
        buffered = numbers[i];
    }
    set_buffered(f, buffered);
    return status == ADAPS_OK ? look(f, frames, &good) : status;
}

enum adaps_status ad_stream_fit(const struct ad_search_problem *problem, struct ad_schedule *first,
                                struct ad_stream *stream, struct adaps_error *err)
{
    struct fit f = {problem, first, stream, err};
    int useful, most;
    enum adaps_status status = useful_frames(&f, &useful, err);
    set_buffered(&f, 0);
    if (status == ADAPS_OK)
        status = choose_frames(&f, useful, &most);
    if (status != ADAPS_OK || most == useful || !ad_stream_fits(problem, first) ||
        cap_is_enough(&f))
        return status;
    return choose_buffered(&f, useful);
}
