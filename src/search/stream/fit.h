/* How many inferences of a stream are in flight, and for how many of them there are buffers. */
#ifndef AD_SEARCH_STREAM_FIT_H
#define AD_SEARCH_STREAM_FIT_H

#include "schedule/stream.h"
#include "search/problem.h"

/* Chooses stream->frames: the fewest with which the interval is next to the shortest that can be
 * had within the devices' memory and the problem's cap of latency, and one more for each device of
 * an inference where there are several; at least one. Under other objectives than the throughput,
 * the fewest that keep to the problem's cap of the interval, if any do. Where memory lets fewer in
 * than would be useful, devices may have buffers for some of them only (ad_program.buffered). Fills
 * in what is predicted, and first->memory. Turns and deal are given. */
AD_MUST_CHECK enum adaps_status ad_stream_fit(const struct ad_search_problem *problem,
                                              struct ad_schedule *first, struct ad_stream *stream,
                                              struct adaps_error *err);

/* How many inferences of a schedule can be in flight within the devices' memory, if each device has
 * buffers for one of them: 1 to AD_STREAM_FRAMES. The schedule is as before. */
AD_MUST_CHECK enum adaps_status ad_stream_room(const struct ad_search_problem *problem,
                                               struct ad_schedule *schedule, int *most,
                                               struct adaps_error *err);

/* Whether it keeps to the devices' memory: of a stream that was fitted. */
bool ad_stream_fits(const struct ad_search_problem *problem, const struct ad_schedule *first);

#endif
