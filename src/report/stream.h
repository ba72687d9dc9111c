/* The steady state of a plan's stream, in text and JSON. */
#ifndef AD_REPORT_STREAM_H
#define AD_REPORT_STREAM_H

#include "plan/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Adds interval_ms, throughput_per_s, frames_in_flight, frames_buffered and stream_latency_ms to an
 * object, which it returns; NULL when that failed, or the object is NULL. */
json_t *ad_report_stream_add(json_t *object, const struct adaps_plan *plan);

#define AD_STREAM_TEXT 192

/* "12.3 answers a second, 81.2 ms apart; 4 in flight, 190 ms each" into text, which it returns. The
 * interval must be known. */
const char *ad_report_stream_text(const struct adaps_plan *plan, char text[AD_STREAM_TEXT]);

/* For each device which part of the interval it computes, and which its port sends and receives.
 * NULL without memory. */
json_t *ad_report_stream_loads(const struct adaps_plan *plan);

/* The same for people. Nothing when the interval is not known. */
AD_MUST_CHECK enum adaps_status ad_report_stream(const struct adaps_plan *plan, FILE *out,
                                                 struct adaps_error *err);

#endif
