/* Strategies for streams, whose clocks decide. */
#ifndef AD_SEARCH_STREAM_STREAM_H
#define AD_SEARCH_STREAM_STREAM_H

#include "search/result.h"

/* As ad_strategy.plan (search/strategies/search.h). */
AD_MUST_CHECK enum adaps_status ad_replicas_plan(const struct ad_search_problem *problem,
                                                 struct ad_search_result *result,
                                                 struct adaps_error *err);

/* What strategy pipeline does for a stream. */
AD_MUST_CHECK enum adaps_status ad_pipeline_plan(const struct ad_search_problem *problem,
                                                 struct ad_search_result *result,
                                                 struct adaps_error *err);

/* What strategy auto does for a stream. */
AD_MUST_CHECK enum adaps_status ad_throughput_plan(const struct ad_search_problem *problem,
                                                   struct ad_search_result *result,
                                                   struct adaps_error *err);

#endif
