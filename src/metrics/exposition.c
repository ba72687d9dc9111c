#include "metrics/exposition.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NANOS 1e9

/* --- text --- */

static void add_bytes(struct ad_exposition *out, const char *bytes, size_t n)
{
    while (!out->failed && out->size + n > out->room) {
        size_t room = out->room ? 2 * out->room : 4096;
        char *text = ad_realloc(out->text, room, 1);
        out->failed = !text;
        out->text = text ? text : out->text;
        out->room = text ? room : out->room;
    }
    if (out->failed)
        return;
    memcpy(out->text + out->size, bytes, n);
    out->size += n;
}

static void add(struct ad_exposition *out, const char *text)
{
    add_bytes(out, text, strlen(text));
}

/* A text between quotation marks. */
static void add_quoted(struct ad_exposition *out, const char *text)
{
    add(out, "\"");
    while (*text) {
        char c[AD_UTF8_BYTES];
        size_t n = ad_utf8_next_clean(&text, c);
        if (n == 1 && (c[0] == '"' || c[0] == '\\'))
            add(out, "\\");
        add_bytes(out, c, n);
    }
    add(out, "\"");
}

static void add_number(struct ad_exposition *out, double number)
{
    char text[40];
    if (isnan(number))
        snprintf(text, sizeof text, "NaN");
    else if (isinf(number))
        snprintf(text, sizeof text, "%sInf", number > 0 ? "+" : "-");
    else
        snprintf(text, sizeof text, "%.15g", number);
    add(out, text);
}

/* --- families --- */

static const char *type_name(const struct ad_exposition *out)
{
    switch (out->type) {
    case AD_METRIC_COUNTER:
        return "counter";
    case AD_METRIC_HISTOGRAM:
        return "histogram";
    case AD_METRIC_INFO:
        return out->open_metrics ? "info" : "gauge";
    case AD_METRIC_GAUGE:
        break;
    }
    return "gauge";
}

/* What the name of a number has more than that of its family. */
static const char *suffix(const struct ad_exposition *out)
{
    return out->type == AD_METRIC_COUNTER ? "_total" : out->type == AD_METRIC_INFO ? "_info" : "";
}

/* OpenMetrics names the family, the older format the numbers. */
static void add_comment(struct ad_exposition *out, const char *what, const char *text)
{
    add(out, "# ");
    add(out, what);
    add(out, " ");
    add(out, out->family);
    add(out, out->open_metrics ? "" : suffix(out));
    add(out, " ");
    add(out, text);
    add(out, "\n");
}

void ad_exposition_family(struct ad_exposition *out, const char *name, enum ad_metric_type type,
                          const char *help)
{
    out->family = name;
    out->type = type;
    add_comment(out, "HELP", help);
    add_comment(out, "TYPE", type_name(out));
}

static void add_labels(struct ad_exposition *out, const char *const *labels)
{
    if (!labels || !labels[0])
        return;
    for (const char *separator = "{"; labels[0]; labels += 2, separator = ",") {
        add(out, separator);
        add(out, labels[0]);
        add(out, "=");
        add_quoted(out, labels[1]);
    }
    add(out, "}");
}

static void add_sample(struct ad_exposition *out, const char *end, const char *const *labels,
                       double number)
{
    add(out, out->family);
    add(out, end);
    add_labels(out, labels);
    add(out, " ");
    add_number(out, number);
    add(out, "\n");
}

void ad_exposition_number(struct ad_exposition *out, const char *const *labels, double number)
{
    add_sample(out, suffix(out), labels, number);
}

void ad_exposition_single(struct ad_exposition *out, const char *name, enum ad_metric_type type,
                          const char *help, double number)
{
    ad_exposition_family(out, name, type, help);
    ad_exposition_number(out, NULL, number);
}

void ad_exposition_durations(struct ad_exposition *out, const struct ad_durations_seen *durations)
{
    uint64_t count = 0;
    for (int i = 0; i < AD_DURATION_BUCKETS; i++) {
        char bound[40] = "+Inf";
        if (i < AD_DURATION_BOUNDS) { /* always with a point: OpenMetrics wants one form */
            int n = snprintf(bound, sizeof bound, "%.9g", (double)ad_duration_bound(i) / NANOS);
            if (!strchr(bound, '.'))
                snprintf(bound + n, sizeof bound - (size_t)n, ".0");
        }
        const char *const labels[] = {"le", bound, NULL};
        count += durations->buckets[i];
        add_sample(out, "_bucket", labels, (double)count);
    }
    add_sample(out, "_sum", NULL, (double)durations->sum_ns / NANOS);
    add_sample(out, "_count", NULL, (double)count);
}

bool ad_exposition_end(struct ad_exposition *out)
{
    if (out->open_metrics)
        add(out, "# EOF\n");
    return !out->failed;
}

/* --- which format --- */

const char *ad_exposition_type(bool open_metrics)
{
    return open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                        : "text/plain; version=0.0.4; charset=utf-8";
}

/* A parameter of a media range [at, end), or NULL. */
static const char *parameter(const char *at, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (; at < end; at++) {
        if (*at != ';')
            continue;
        const char *p = at + 1 + strspn(at + 1, " \t");
        if (p + n < end && strncasecmp(p, name, n) == 0 && p[n] == '=')
            return p + n + 1;
    }
    return NULL;
}

bool ad_exposition_wants_open_metrics(const char *accept)
{
    double open = 0, plain = 0;
    while (accept && *accept) {
        const char *type = accept + strspn(accept, " \t,"), *end = type + strcspn(type, ",");
        size_t length = strcspn(type, ";, \t");
        const char *q = parameter(type, end, "q"), *version = parameter(type, end, "version");
        double weight = q ? strtod(q, NULL) : 1;
        if (length == 28 && strncasecmp(type, "application/openmetrics-text", length) == 0 &&
            (!version || strncmp(version + (*version == '"'), "1.0.0", 5) == 0))
            open = fmax(open, weight);
        if ((length == 10 && strncasecmp(type, "text/plain", length) == 0) ||
            (length == 6 && strncasecmp(type, "text/*", length) == 0))
            plain = fmax(plain, weight);
        accept = end;
    }
    return open > 0 && open >= plain;
}
