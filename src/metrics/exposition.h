/* Metrics as text, for Prometheus: its text format 0.0.4 or OpenMetrics 1.0. Families are written
 * one after the other, each with all its numbers. Memory that is lacking is reported at the end. */
#ifndef AD_METRICS_EXPOSITION_H
#define AD_METRICS_EXPOSITION_H

#include "base/durations.h"

#include <stdbool.h>
#include <stddef.h>

enum ad_metric_type {
    AD_METRIC_GAUGE,
    AD_METRIC_COUNTER, /* its numbers' name ends with _total */
    AD_METRIC_HISTOGRAM,
    AD_METRIC_INFO /* its number is 1, its name ends with _info; what counts are the labels */
};

struct ad_exposition {
    bool open_metrics; /* set before use; the rest is zero */
    char *text;        /* the owner's, ad_free() */
    size_t size, room;
    bool failed;
    const char *family;
    enum ad_metric_type type;
};

/* Writes all metrics of somebody; in any thread. */
typedef void ad_metrics_write_fn(void *self, struct ad_exposition *out);

/* Begins a family. name: without _total or _info; it and help are borrowed until the next one. */
void ad_exposition_family(struct ad_exposition *out, const char *name, enum ad_metric_type type,
                          const char *help);

/* A number of the family. labels: nullable; pairs of name and value, ended by NULL. Values may have
 * anything in them: what is not UTF-8 and control characters become '?'. */
void ad_exposition_number(struct ad_exposition *out, const char *const *labels, double number);

/* A family with one number without labels. */
void ad_exposition_single(struct ad_exposition *out, const char *name, enum ad_metric_type type,
                          const char *help, double number);

/* All numbers of a family of type HISTOGRAM, in seconds. */
void ad_exposition_durations(struct ad_exposition *out, const struct ad_durations_seen *durations);

/* After the last family. False without memory. */
bool ad_exposition_end(struct ad_exposition *out);

/* The media type of the text. */
const char *ad_exposition_type(bool open_metrics);

/* Whether a header "Accept" (nullable) asks for OpenMetrics rather than plain text. */
bool ad_exposition_wants_open_metrics(const char *accept);

#endif
