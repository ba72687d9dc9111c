/* A stream in its steady state: how much of the time between two answers each device and port is
 * busy. */
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
    fputs("</section>\n", out);
    return ADAPS_OK;
}
