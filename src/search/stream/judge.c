#include "search/stream/judge.h"

#define WARY 1.02 /* so much quicker must a stream be for devices to share inferences */

enum adaps_status ad_stream_judge(const struct ad_search_problem *problem,
                                  const struct ad_search_result *result,
                                  struct ad_stream_verdict *out, struct adaps_error *err)
{
    int64_t figure[AD_OBJECTIVES], cap = problem->interval_cap_ns;
    const struct ad_stream *stream = &result->stream;
    if (ad_search_by_latency(problem)) {
        *out = (struct ad_stream_verdict){0, (double)result->schedule.makespan_ns};
        return ADAPS_OK;
    }
    bool shared = ad_stream_sharing(stream, &result->schedule) > 1;
    *out = (struct ad_stream_verdict){
        .slow_ns = cap > 0 && stream->interval_ns > cap ? stream->interval_ns - cap : 0,
        .cost = (double)stream->interval_ns * (shared ? WARY : 1),
    };
    if (problem->objective == AD_OBJECTIVE_LATENCY)
        out->cost = (double)stream->latency_ns;
    if (problem->objective == AD_OBJECTIVE_LATENCY || problem->objective == AD_OBJECTIVE_THROUGHPUT)
        return ADAPS_OK;
    enum adaps_status status = ad_search_figures(problem, result, figure, err);
    if (status == ADAPS_OK)
        out->cost = (double)figure[problem->objective];
    return status;
}
