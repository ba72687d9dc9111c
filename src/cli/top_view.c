#include "cli/top_view.h"
#include "base/mem.h"
#include "base/units.h"
#include "report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDE 110 /* columns from which on there are bars, and more room between */

const char *ad_top_sort_name(enum ad_top_sort sort)
{
    static const char *const names[AD_TOP_SORTS] = {"file", "name", "busy", "rate"};
    return names[sort];
}

size_t ad_top_prefix(const char *text, int n)
{
    size_t i = 0;
    for (; text[i]; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    return i;
}

/* --- lines --- */

struct page {
    const struct ad_top_view *view;
    struct ad_top_line *lines;
    size_t count, room;
    bool failed;
    bool wide;
};

static struct ad_top_line scrap; /* where lines go for which there is no memory */

static struct ad_top_line *add_line(struct page *page, enum ad_top_style style)
{
    page->failed =
        page->failed || !ad_grow(&page->lines, page->count, &page->room, sizeof *page->lines);
    struct ad_top_line *line = page->failed ? &scrap : &page->lines[page->count++];
    memset(line, 0, sizeof *line);
    line->style = style;
    return line;
}

/* Text at the end of the line, cleaned; not beyond the width. */
static void AD_PRINTF(3, 4)
    add_text(const struct page *page, struct ad_top_line *line, const char *fmt, ...)
{
    char raw[512], clean[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof raw, fmt, args);
    va_end(args);
    ad_text_clean(raw, clean, sizeof clean);
    size_t used = strlen(line->text);
    int left = page->view->width - (int)ad_text_length(line->text);
    size_t n = ad_top_prefix(clean, left > 0 ? left : 0);
    if (used + n < sizeof line->text)
        memcpy(line->text + used, clean, n); /* the rest is zero */
}

/* A cell of a table: so many characters, and the gap after it. A longer text loses its end to "~",
 * where it is no number. */
static void add_cell(const struct page *page, struct ad_top_line *line, int width, bool right,
                     const char *text, enum ad_top_style style)
{
    char clean[512];
    ad_text_clean(text, clean, sizeof clean);
    int length = (int)ad_text_length(clean), at = (int)ad_text_length(line->text);
    if (length > width) {
        strcpy(clean + ad_top_prefix(clean, width - 1), "~");
        length = width;
    }
    int pad = width - length;
    add_text(page, line, "%*s%s%*s", right ? pad : 0, "", clean,
             (right ? 0 : pad) + (page->wide ? 2 : 1), "");
    if (style != AD_TOP_PLAIN && line->nspans < 3) {
        int from = at + (right ? pad : 0);
        line->spans[line->nspans++] = (struct ad_top_span){from, from + length, style};
    }
}

/* "[||||    ]" */
static char *bar(double share, int width, char *buf, size_t size)
{
    int full = (int)(share * (double)(width - 2) + 0.5);
    full = full < 0 ? 0 : full > width - 2 ? width - 2 : full;
    snprintf(buf, size, "[%.*s%*s]", full, "||||||||||||||||||||||||||||||||", width - 2 - full,
             "");
    return buf;
}

/* --- numbers --- */

static char *rate_text(double rate, char *buf, size_t size)
{
    if (isnan(rate))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, rate < 10 ? "%.2f" : rate < 1000 ? "%.1f" : "%.0f", rate);
    return buf;
}

/* In at most seven characters. */
static char *time_text(int64_t ns, bool known, char *buf, size_t size)
{
    double ms = (double)ns / 1e6;
    if (!known)
        snprintf(buf, size, "-");
    else if (ms < 1000)
        snprintf(buf, size, ms < 10 ? "%.2fms" : ms < 100 ? "%.1fms" : "%.0fms", ms);
    else
        snprintf(buf, size, ms < 100000 ? "%.2fs" : "%.0fs", ms / 1000);
    return buf;
}

/* --- the head --- */

static const struct ad_top_device *find_source(const struct ad_top_view *view)
{
    const struct ad_top_device *best = NULL;
    for (int i = 0; i < view->cluster->ndevices; i++) {
        const struct ad_top_device *d = &view->devices[i];
        bool timed = d->state == AD_TOP_ANSWERS && d->agent.tells && d->agent.live.plan[0];
        if (timed && (!best || d->agent.live.durations.recent > best->agent.live.durations.recent))
            best = d;
    }
    return best;
}

static void add_head(struct page *page)
{
    const struct ad_top_view *view = page->view;
    int n = view->cluster->ndevices, answer = 0, sessions = 0;
    for (int i = 0; i < n; i++) {
        answer += view->devices[i].state == AD_TOP_ANSWERS;
        sessions += view->devices[i].state == AD_TOP_ANSWERS && view->devices[i].agent.busy;
    }
    struct ad_top_line *line = add_line(page, AD_TOP_TITLE);
    add_text(page, line, "adaps top - %d device%s, %d answer%s, %d in a session", n,
             n == 1 ? "" : "s", answer, answer == 1 ? "s" : "", sessions);
    const struct ad_top_device *source = find_source(view);
    line = add_line(page, AD_TOP_PLAIN);
    if (!source) {
        add_text(page, line, "no plan is loaded");
        return;
    }
    const struct ad_live_seen *live = &source->agent.live;
    char digest[AD_DIGEST_HEX], text[40], rate[40];
    ad_digest_hex(&live->digest, digest);
    add_text(page, line, "plan %s (%.8s): predicted %s", live->plan, digest,
             time_text(live->latency_ns, live->latency_ns > 0, text, sizeof text));
    if (live->interval_ns > 0)
        add_text(page, line, ", %s/s",
                 rate_text(1e9 / (double)live->interval_ns, rate, sizeof rate));
    add_text(page, line, "; measured %s",
             time_text(live->durations.p50_ns, live->durations.recent > 0, text, sizeof text));
    if (!isnan(source->rate))
        add_text(page, line, ", %s/s", rate_text(source->rate, rate, sizeof rate));
}

/* --- devices --- */

struct widths {
    int name, state, bar, layer;
};

static struct widths find_widths(const struct page *page)
{
    const struct ad_top_view *view = page->view;
    struct widths w = {.name = 6, .state = 9, .bar = page->wide ? 12 : 0};
    for (int i = 0; i < view->cluster->ndevices; i++) {
        char clean[200];
        int length =
            (int)ad_text_length(ad_text_clean(view->devices[i].device->name, clean, sizeof clean));
        w.name = length > w.name ? length : w.name;
    }
    int most = page->wide ? 20 : 10, gap = page->wide ? 2 : 1;
    w.name = w.name > most ? most : w.name;
    /* name state [bar] busy load temp rate p50 p95 predicted layer */
    w.layer = view->width - (w.name + w.state + w.bar + 4 + 5 + 4 + 6 + 7 + 7 + 7) -
              gap * (page->wide ? 10 : 9);
    return w;
}

static const char *state_of(const struct ad_top_device *d, enum ad_top_style *style)
{
    *style = AD_TOP_PLAIN;
    if (d->state != AD_TOP_ANSWERS) {
        *style = d->state == AD_TOP_ASKED ? AD_TOP_DIM : AD_TOP_BAD;
        return d->state == AD_TOP_ASKED ? "asked" : "no answer";
    }
    if (!d->agent.tells || d->agent.live.doing == AD_LIVE_IDLE) {
        *style = d->agent.busy ? AD_TOP_PLAIN : AD_TOP_DIM;
        return d->agent.busy ? "ready" : "idle";
    }
    *style = d->agent.live.doing == AD_LIVE_COMPUTING ? AD_TOP_GOOD : AD_TOP_PLAIN;
    return ad_live_doing_name(d->agent.live.doing);
}

static void add_numbers(const struct page *page, struct ad_top_line *line, const struct widths *w,
                        const struct ad_top_device *d)
{
    const struct ad_live_seen *live = &d->agent.live;
    bool tells = d->agent.tells, timed = tells && live->durations.recent > 0;
    char text[64];
    if (w->bar > 0)
        add_cell(page, line, w->bar, false, bar(tells ? live->busy : 0, w->bar, text, sizeof text),
                 AD_TOP_GOOD);
    snprintf(text, sizeof text, tells ? "%.0f%%" : "-", 100 * live->busy);
    add_cell(page, line, 4, true, text, AD_TOP_PLAIN);
    snprintf(text, sizeof text, "%.2f", d->agent.load1);
    add_cell(page, line, 5, true, text, AD_TOP_PLAIN);
    snprintf(text, sizeof text, isnan(d->agent.temperature_c) ? "-" : "%.0fC",
             d->agent.temperature_c);
    add_cell(page, line, 4, true, text, d->agent.temperature_c >= 80 ? AD_TOP_BAD : AD_TOP_PLAIN);
    add_cell(page, line, 6, true, rate_text(d->rate, text, sizeof text), AD_TOP_PLAIN);
    add_cell(page, line, 7, true, time_text(live->durations.p50_ns, timed, text, sizeof text),
             AD_TOP_PLAIN);
    add_cell(page, line, 7, true, time_text(live->durations.p95_ns, timed, text, sizeof text),
             AD_TOP_PLAIN);
    add_cell(page, line, 7, true,
             time_text(live->latency_ns, timed && live->latency_ns > 0, text, sizeof text),
             AD_TOP_PLAIN);
}

static void add_device(struct page *page, const struct widths *w, const struct ad_top_device *d)
{
    enum ad_top_style style;
    const char *state = state_of(d, &style);
    struct ad_top_line *line = add_line(page, AD_TOP_PLAIN);
    add_cell(page, line, w->name, false, d->device->name, AD_TOP_PLAIN);
    add_cell(page, line, w->state, false, state, style);
    if (d->state != AD_TOP_ANSWERS) {
        add_text(page, line, "%s", d->state == AD_TOP_ASKED ? d->device->address : d->err.message);
        return;
    }
    add_numbers(page, line, w, d);
    const struct ad_live_seen *live = &d->agent.live;
    if (d->agent.tells && w->layer > 3)
        add_cell(page, line, w->layer, false, live->layer[0] ? live->layer : "-", AD_TOP_PLAIN);
}

/* --- order --- */

struct entry {
    const struct ad_top_device *device;
    enum ad_top_sort sort;
};

static double key(const struct entry *e)
{
    const struct ad_top_device *d = e->device;
    double value = e->sort == AD_TOP_BY_BUSY ? d->agent.live.busy : d->rate;
    return d->state == AD_TOP_ANSWERS && !isnan(value) ? value : -1;
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = 0;
    if (x->sort == AD_TOP_BY_NAME)
        order = strcmp(x->device->device->name, y->device->device->name);
    else if (x->sort != AD_TOP_BY_FILE)
        order = (key(x) < key(y)) - (key(x) > key(y));
    return order ? order : (x->device > y->device) - (x->device < y->device);
}

static void add_devices(struct page *page)
{
    const struct ad_top_view *view = page->view;
    struct entry entries[AD_MAX_DEVICES];
    struct widths w = find_widths(page);
    struct ad_top_line *line = add_line(page, AD_TOP_HEAD);
    add_cell(page, line, w.name, false, "DEVICE", AD_TOP_PLAIN);
    add_cell(page, line, w.state, false, "STATE", AD_TOP_PLAIN);
    if (w.bar > 0)
        add_cell(page, line, w.bar, false, "COMPUTING", AD_TOP_PLAIN);
    add_cell(page, line, 4, true, "BUSY", AD_TOP_PLAIN);
    add_cell(page, line, 5, true, "LOAD", AD_TOP_PLAIN);
    add_cell(page, line, 4, true, "TEMP", AD_TOP_PLAIN);
    add_cell(page, line, 6, true, "INF/S", AD_TOP_PLAIN);
    add_cell(page, line, 7, true, "P50", AD_TOP_PLAIN);
    add_cell(page, line, 7, true, "P95", AD_TOP_PLAIN);
    add_cell(page, line, 7, true, "PLANNED", AD_TOP_PLAIN);
    if (w.layer > 3)
        add_cell(page, line, w.layer, false, "LAYER", AD_TOP_PLAIN);
    int n = view->cluster->ndevices;
    for (int i = 0; i < n; i++)
        entries[i] = (struct entry){&view->devices[i], view->sort};
    qsort(entries, (size_t)n, sizeof *entries, compare);
    for (int i = 0; i < n; i++)
        add_device(page, &w, entries[i].device);
}

/* --- links --- */

static int find_device(const struct ad_cluster *cluster, const char *name)
{
    for (int i = 0; i < cluster->ndevices; i++)
        if (strcmp(cluster->devices[i].name, name) == 0)
            return i;
    return -1;
}

/* One direction. What it may carry by the file is known of devices of the file. */
static void add_link(struct page *page, const char *from, const char *to, double bytes,
                     double messages)
{
    const struct ad_cluster *cluster = page->view->cluster;
    int a = find_device(cluster, from), b = find_device(cluster, to), name = page->wide ? 20 : 14;
    double most = a >= 0 && b >= 0 ? cluster->links[a * cluster->ndevices + b].bandwidth : 0;
    double share = most > 0 && !isnan(bytes) ? bytes / most : NAN;
    char text[64], number[48];
    struct ad_top_line *line = add_line(page, AD_TOP_PLAIN);
    add_cell(page, line, name, false, from, AD_TOP_PLAIN);
    add_cell(page, line, name, false, to, AD_TOP_PLAIN);
    snprintf(text, sizeof text, isnan(bytes) ? "-" : "%s/s",
             ad_format_bytes(isnan(bytes) ? 0 : bytes, number, sizeof number));
    add_cell(page, line, 11, true, text, AD_TOP_PLAIN);
    add_cell(page, line, 8, true, rate_text(messages, text, sizeof text), AD_TOP_PLAIN);
    snprintf(text, sizeof text,
             isnan(share)  ? "-"
             : share < 0.1 ? "%.1f%%"
                           : "%.0f%%",
             100 * share);
    add_cell(page, line, 7, true, text, AD_TOP_PLAIN);
    add_cell(page, line, page->wide ? 32 : 20, false,
             bar(isnan(share) ? 0 : share, page->wide ? 32 : 20, text, sizeof text), AD_TOP_GOOD);
}

/* What each device sends, by its own account; of one that does not answer by the receiver's. */
static void add_links(struct page *page)
{
    const struct ad_top_view *view = page->view;
    int name = page->wide ? 20 : 14, before = 0;
    add_line(page, AD_TOP_PLAIN);
    struct ad_top_line *line = add_line(page, AD_TOP_HEAD);
    add_cell(page, line, name, false, "FROM", AD_TOP_PLAIN);
    add_cell(page, line, name, false, "TO", AD_TOP_PLAIN);
    add_cell(page, line, 11, true, "BYTES", AD_TOP_PLAIN);
    add_cell(page, line, 8, true, "MSGS/S", AD_TOP_PLAIN);
    add_cell(page, line, 7, true, "OF LINK", AD_TOP_PLAIN);
    add_cell(page, line, page->wide ? 32 : 20, false, "", AD_TOP_PLAIN);
    before = (int)page->count;
    for (int i = 0; i < view->cluster->ndevices; i++) {
        const struct ad_top_device *d = &view->devices[i];
        for (int k = 0; d->state == AD_TOP_ANSWERS && k < d->nlinks; k++) {
            const struct ad_top_link *link = &d->links[k];
            add_link(page, d->device->name, link->peer, link->sent, link->messages);
            int peer = find_device(view->cluster, link->peer);
            if (peer >= 0 && view->devices[peer].state == AD_TOP_NO_ANSWER)
                add_link(page, link->peer, d->device->name, link->received, NAN);
        }
    }
    if ((int)page->count == before)
        add_text(page, add_line(page, AD_TOP_DIM), "no messages between devices yet");
}

enum adaps_status ad_top_view_make(const struct ad_top_view *view, struct ad_top_line **lines,
                                   int *count, struct adaps_error *err)
{
    struct page page = {.view = view, .wide = view->width >= WIDE};
    add_head(&page);
    add_line(&page, AD_TOP_PLAIN);
    add_devices(&page);
    add_links(&page);
    if (page.failed) {
        ad_free(page.lines);
        return ad_error_memory(err, "lines", page.count * sizeof *page.lines);
    }
    *lines = page.lines;
    *count = (int)page.count;
    return ADAPS_OK;
}
