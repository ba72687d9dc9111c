/* Every device's steps as tables, which are folded. */
#include "base/units.h"
#include "report/page/internal.h"
#include "report/report.h"
#include "report/text.h"

static void put_cell(FILE *out, const char *class, const char *text)
{
    fprintf(out, "<td%s>", class);
    ad_text_xml(out, text);
    fputs("</td>", out);
}

static void put_device(const struct adaps_plan *plan, int device, FILE *out)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    fputs("<details class=\"steps\"><summary>", out);
    ad_page_badge(out, device);
    fputs("<bdi>", out);
    ad_page_name(out, plan->cluster.devices[device].name);
    fprintf(out,
            "</bdi> %d step%s</summary>\n<div class=\"scroll\"><table><tbody><tr><th>step</th><th "
            "class=\"t\">what</th><th>from</th><th>to</th><th>bytes</th></tr>\n",
            program->nsteps, program->nsteps == 1 ? "" : "s");
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        char text[320], bytes[32] = "";
        fprintf(out, "<tr><td>%d</td>", i);
        put_cell(out, " class=\"t\"", ad_report_step(plan, device, i, text, sizeof text));
        put_cell(out, "", ad_format_ns((double)step->start_ns, text, sizeof text));
        put_cell(out, "", ad_format_ns((double)step->end_ns, text, sizeof text));
        if (step->kind != AD_STEP_COMPUTE)
            ad_format_bytes((double)ad_step_bytes(plan->graph, step), bytes, sizeof bytes);
        put_cell(out, "", bytes);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div></details>\n", out);
}

void ad_page_steps(const struct adaps_plan *view, FILE *out)
{
    for (int d = 0; d < view->cluster.ndevices; d++)
        put_device(view, d, out);
}
