/* A stream in its steady state: how much of the time between two answers each device and port is
 * busy, and what they do for which inference. */
#include "base/units.h"
#include "report/page/internal.h"
#include "report/text.h"

static void put_load(FILE *out, int device, const char *title, const char *name, int64_t ns,
                     int64_t interval_ns)
{
    double part = (double)ns / (double)interval_ns;
    char key[64], text[32];
    snprintf(key, sizeof key, "stream_loads.%d.%s", device, name);
    snprintf(text, sizeof text, "%.0f %%", 100 * part);
    fprintf(out,
            "<td data-th=\"%s\"><svg class=\"load\" width=\"100%%\" height=\"16\"><rect "
            "class=\"bed\" width=\"100%%\" height=\"16\"/><rect class=\"c%d\" width=\"%.1f%%\" "
            "height=\"16\"/></svg>",
            title, device % AD_PAGE_COLOURS, part < 1 ? 100 * part : 100);
    ad_page_number(out, key, part, text);
    fputs("</td>", out);
}

/* How much of a stream is shown. */
#define INTERVALS 4
#define INTERVALS_OF_TURNS 12

#define LANE 24
#define PORT 9
#define GAP 12
#define LABEL .018 /* of the width: a bar with room for a number */

static int lane_top(int device)
{
    return 4 + device * (LANE + 2 * PORT + GAP);
}

struct window {
    const struct adaps_plan *plan;
    struct ad_stream_events events;
    int first; /* inference, which is called 1 */
    FILE *out;
};

/* Of inferences that follow each other, every other one is paler. */
static void put_bar(const struct window *w, const struct ad_stream_event *e, int colour, int y,
                    int height)
{
    double all = (double)(w->events.end_ns - w->events.start_ns);
    int64_t start = e->start_ns > w->events.start_ns ? e->start_ns : w->events.start_ns;
    int64_t end = e->end_ns < w->events.end_ns ? e->end_ns : w->events.end_ns;
    double x = (double)(start - w->events.start_ns) / all, width = (double)(end - start) / all;
    fprintf(w->out,
            "<rect class=\"bar c%d%s\" data-t=\"%d\" data-s=\"%d\" data-f=\"%d\" data-d=\"%d\" "
            "x=\"%.3f%%\" "
            "y=\"%d\" width=\"%.3f%%\" height=\"%d\"/>",
            colour % AD_PAGE_COLOURS, e->frame % 2 ? " odd" : "", e->turn, e->step,
            e->frame - w->first + 1, e->device, 100 * x, y, 100 * width, height);
    if (height == LANE && width > LABEL)
        fprintf(w->out, "<text x=\"%.3f%%\" y=\"%d\">%d</text>", 100 * (x + width / 2),
                y + LANE / 2 + 4, e->frame - w->first + 1);
}

static void put_lane(const struct window *w, int device)
{
    int y = lane_top(device);
    fprintf(w->out,
            "<g class=\"lane\" data-d=\"%d\"><rect class=\"bed\" x=\"0\" y=\"%d\" "
            "width=\"100%%\" height=\"%d\"/>\n",
            device, y, LANE + 2 * PORT);
    for (size_t i = 0; i < w->events.count; i++) {
        const struct ad_stream_event *e = &w->events.items[i];
        const struct ad_step *step =
            &ad_plan_turn(w->plan, e->turn)->programs[e->device].steps[e->step];
        if (e->device == device && step->kind == AD_STEP_COMPUTE)
            put_bar(w, e, device, y, LANE);
        else if (e->device == device && step->kind == AD_STEP_SEND)
            put_bar(w, e, step->peer, y + LANE + 1, PORT - 2);
        else if (step->kind == AD_STEP_SEND && step->peer == device)
            put_bar(w, e, e->device, y + LANE + PORT + 1, PORT - 2);
    }
    fputs("</g>\n", w->out);
}

static void put_window(const struct window *w, int intervals)
{
    const struct adaps_plan *plan = w->plan;
    int bottom = lane_top(plan->cluster.ndevices);
    fprintf(w->out, "<p>%d of these intervals; bars have the number of their inference:</p>\n",
            intervals);
    ad_page_lane_names(plan, w->out);
    fprintf(w->out,
            "<div class=\"scroll\"><svg class=\"steady\" width=\"100%%\" height=\"%d\">\n<g "
            "class=\"axis\">",
            bottom + 22);
    for (int k = 0; k < intervals; k++) {
        double x = 100. * k / intervals;
        char text[32] = "0";
        if (k > 0)
            ad_format_ns((double)k * (double)plan->stream.interval_ns, text, sizeof text);
        fprintf(w->out,
                "<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/><text x=\"%.3f%%\" "
                "y=\"%d\" dx=\"3\">%s</text>",
                x, x, bottom + 4, x, bottom + 14, k % 3 == 0 || intervals < 6 ? text : "");
    }
    fputs("</g>\n", w->out);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        put_lane(w, d);
    fputs("</svg></div></div>\n", w->out);
}

static enum adaps_status put_steady(const struct adaps_plan *plan, FILE *out,
                                    struct adaps_error *err)
{
    int intervals = plan->stream.nturns == 1                  ? INTERVALS
                    : plan->stream.ndeal < INTERVALS_OF_TURNS ? plan->stream.ndeal
                                                              : INTERVALS_OF_TURNS;
    struct window w = {.plan = plan, .out = out};
    enum adaps_status status = ad_stream_record(plan->graph, &plan->cluster, &plan->schedule,
                                                &plan->stream, intervals, &w.events, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t i = 0; i < w.events.count; i++)
        if (i == 0 || w.events.items[i].frame < w.first)
            w.first = w.events.items[i].frame;
    put_window(&w, intervals);
    ad_free(w.events.items);
    return ADAPS_OK;
}

enum adaps_status ad_page_stream(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_loads loads;
    int64_t interval = plan->stream.interval_ns;
    if (interval <= 0 || (plan->stream.frames < 2 && plan->stream.nturns < 2))
        return ADAPS_OK;
    enum adaps_status status =
        ad_stream_loads(plan->graph, &plan->cluster, &plan->schedule, &plan->stream, &loads, err);
    if (status != ADAPS_OK)
        return status;
    fputs(
        "<section>\n<h2>Steady state of the stream</h2>\n<p>Of the time between two answers, with "
        "all inferences in flight:</p>\n<table class=\"loads\"><thead><tr><th>device</th>"
        "<th>computes</th><th>sends</th><th>receives</th></tr></thead><tbody>\n",
        out);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        fputs("<tr><th scope=\"row\">", out);
        ad_page_badge(out, d);
        fputs("<bdi>", out);
        ad_page_name(out, plan->cluster.devices[d].name);
        fputs("</bdi></th>", out);
        put_load(out, d, "computes", "compute", loads.device[d], interval);
        put_load(out, d, "sends", "sends", loads.up[d], interval);
        put_load(out, d, "receives", "receives", loads.down[d], interval);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
    if (plan->cluster.shared_medium)
        fprintf(out, "<p>The shared medium is busy for %.0f %% of the time.</p>\n",
                100 * (double)loads.medium / (double)interval);
    status = put_steady(plan, out, err);
    fputs("</section>\n", out);
    return status;
}
