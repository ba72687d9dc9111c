/* One self-contained page: summary, devices, the timeline, every step. Loads nothing. */
#include "base/units.h"
#include "report/figures.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

static void head(const struct adaps_plan *plan, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>", out);
    ad_text_xml(out, ad_figures_base_name(plan->model_path));
    fputs("</title>\n<style>\nbody{font-family:sans-serif;margin:2em;color:#222}\n"
          "table{border-collapse:collapse;margin:1em 0}\n"
          "td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right}\n"
          "td.t,th.t{text-align:left}\nsvg{max-width:100%;height:auto}\n"
          "summary{cursor:pointer;font-weight:bold;margin:.6em 0}\n</style>\n</head>\n<body>\n<h1>",
          out);
    ad_text_xml(out, ad_figures_base_name(plan->model_path));
    fputs("</h1>\n", out);
}

/* One row of the summary. The text may be anything: it is cleaned. */
static void fact(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<tr><th class=\"t\">%s</th><td class=\"t\">", name);
    ad_text_xml(out, text);
    fputs("</td></tr>\n", out);
}

static void summary(const struct adaps_plan *plan, FILE *out)
{
    char text[384], a[32];
    fputs("<table>\n", out);
    fact(out, "strategy", plan->strategy);
    fact(out, "predicted latency",
         ad_format_ns((double)plan->schedule.makespan_ns, text, sizeof text));
    if (plan->single_device >= 0) {
        snprintf(text, sizeof text, "%s on %s", ad_format_ns((double)plan->single_ns, a, sizeof a),
                 plan->cluster.devices[plan->single_device].name);
        fact(out, "best single device", text);
    } else {
        fact(out, "best single device", "none has the memory");
    }
    snprintf(text, sizeof text, "%s in %" PRId64 " messages",
             ad_format_bytes((double)plan->schedule.bytes, a, sizeof a), plan->schedule.messages);
    fact(out, "moved per inference", text);
    snprintf(text, sizeof text, "10^%.1f layouts, %" PRId64 " visited", plan->space_log10,
             plan->visited);
    fact(out, "search", text);
    if (plan->note[0])
        fact(out, "why", plan->note);
    fputs("</table>\n", out);
}

static void cell(FILE *out, const char *text, bool left)
{
    fputs(left ? "<td class=\"t\">" : "<td>", out);
    ad_text_xml(out, text);
    fputs("</td>", out);
}

static void devices(const struct adaps_plan *plan, const struct ad_figures *figures, FILE *out)
{
    fputs("<table>\n<tr><th class=\"t\">device</th><th class=\"t\">board</th><th>MACs</th>"
          "<th>busy</th><th>memory</th><th>weights</th><th>sends</th><th>receives</th></tr>\n",
          out);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        const struct ad_device_figures *own = &figures->devices[d];
        char text[32];
        fputs("<tr>", out);
        cell(out, plan->cluster.devices[d].name, true);
        cell(out, plan->cluster.devices[d].board, true);
        fprintf(out, "<td>%.1f %%</td>", own->share * 100);
        cell(out, ad_format_ns((double)plan->schedule.busy_ns[d], text, sizeof text), false);
        cell(out, ad_format_bytes((double)plan->schedule.memory[d], text, sizeof text), false);
        cell(out, ad_format_bytes((double)own->weight_bytes, text, sizeof text), false);
        cell(out, ad_format_bytes((double)own->sent_bytes, text, sizeof text), false);
        cell(out, ad_format_bytes((double)own->received_bytes, text, sizeof text), false);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void steps(const struct adaps_plan *plan, int device, FILE *out)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    fputs("<details><summary>", out);
    ad_text_xml(out, plan->cluster.devices[device].name);
    fprintf(out,
            ": %d steps</summary>\n<table>\n<tr><th>step</th><th class=\"t\">what</th>"
            "<th>from</th><th>to</th><th>bytes</th></tr>\n",
            program->nsteps);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        char text[512], bytes[32] = "";
        fprintf(out, "<tr><td>%d</td>", i);
        cell(out, ad_report_step(plan, device, i, text, sizeof text), true);
        cell(out, ad_format_ns((double)step->start_ns, text, sizeof text), false);
        cell(out, ad_format_ns((double)step->end_ns, text, sizeof text), false);
        if (step->kind != AD_STEP_COMPUTE)
            ad_format_bytes((double)ad_step_bytes(plan->graph, step), bytes, sizeof bytes);
        cell(out, bytes, false);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n</details>\n", out);
}

enum adaps_status ad_report_html(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_figures figures;
    enum adaps_status status = ad_figures_init(&figures, plan, err);
    if (status != ADAPS_OK)
        return status;
    head(plan, out);
    summary(plan, out);
    devices(plan, &figures, out);
    ad_figures_fini(&figures);
    fputs("<h2>Predicted timeline</h2>\n", out);
    status = ad_report_svg(plan, out, err);
    if (status != ADAPS_OK)
        return status;
    fputs("<h2>Steps</h2>\n", out);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        steps(plan, d, out);
    fputs("</body>\n</html>\n", out);
    return ad_text_finish(out, err);
}
