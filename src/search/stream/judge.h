/* Which of two results is the better one for a problem. */
#ifndef AD_SEARCH_STREAM_JUDGE_H
#define AD_SEARCH_STREAM_JUDGE_H

#include "search/result.h"

/* Less is better, the first before the second. */
struct ad_stream_verdict {
    int64_t slow_ns; /* by which the interval is longer than the problem's cap of it */
    double cost;     /* by the objective: under the throughput the interval, under the latency that
                        of the stream */
};

/* Of a result that keeps to memory and latency, its stream settled: where the problem is not for a
 * stream and the soonest answer is the best, its latency alone. Under the throughput, the interval
 * counts a little more where devices exchange what they compute: such streams are slower than the
 * clocks say, and replicas are not. */
AD_MUST_CHECK enum adaps_status ad_stream_judge(const struct ad_search_problem *problem,
                                                const struct ad_search_result *result,
                                                struct ad_stream_verdict *out,
                                                struct adaps_error *err);

static inline bool ad_stream_verdict_better(struct ad_stream_verdict a, struct ad_stream_verdict b)
{
    return a.slow_ns != b.slow_ns ? a.slow_ns < b.slow_ns : a.cost < b.cost;
}

#endif
