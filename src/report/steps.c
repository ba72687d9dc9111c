/* adaps show: every device's program, step by step. */
#include "base/units.h"
#include "plan/step_text.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

char *ad_report_step(const struct adaps_plan *plan, int device, int step, char *buf, size_t size)
{
    char text[512];
    return ad_text_clean(ad_step_text(plan, 0, device, step, text, sizeof text), buf, size);
}

static const struct ad_column step_columns[] = {
    {"step", true, false}, {"kind", false, false}, {"what", false, true}, {"region", false, true},
    {"peer", false, true}, {"bytes", true, false}, {"from", true, false}, {"to", true, false},
};

static void step_row(const struct adaps_plan *plan, int device, int index, struct ad_table *table)
{
    const struct ad_step *step = &plan->schedule.programs[device].steps[index];
    char text[384];
    ad_table_cell(table, "%d", index);
    ad_table_cell(table, "%s", ad_step_kind_name(step->kind));
    ad_table_cell(table, "%s", ad_step_subject(plan, 0, device, index, text, sizeof text));
    ad_table_cell(table, "%s", ad_step_region(plan, 0, device, index, text, sizeof text));
    if (step->kind == AD_STEP_COMPUTE) {
        ad_table_cell(table, "-");
        ad_table_cell(table, "-");
    } else {
        int64_t bytes = ad_step_bytes(plan->graph, step);
        ad_table_cell(table, "%s", plan->cluster.devices[step->peer].name);
        bool plain = step->encoding == AD_ENCODING_F32;
        ad_table_cell(table, "%s%s%s", ad_format_bytes((double)bytes, text, sizeof text),
                      plain ? "" : " ", plain ? "" : ad_encoding_name(step->encoding));
    }
    ad_table_cell(table, "%s", ad_format_ns((double)step->start_ns, text, sizeof text));
    ad_table_cell(table, "%s", ad_format_ns((double)step->end_ns, text, sizeof text));
}

/* Of one turn. */
static enum adaps_status print_steps(const struct adaps_plan *plan, FILE *out,
                                     struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < plan->cluster.ndevices && status == ADAPS_OK; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        char name[64];
        fprintf(out, "\n%s: %d step%s\n",
                ad_text_clean(plan->cluster.devices[d].name, name, sizeof name), program->nsteps,
                program->nsteps == 1 ? "" : "s");
        if (program->nsteps == 0)
            continue;
        struct ad_table table;
        ad_table_init(&table, step_columns, sizeof step_columns / sizeof *step_columns);
        for (int i = 0; i < program->nsteps; i++)
            step_row(plan, d, i, &table);
        status = ad_table_print(&table, out, err);
        ad_table_fini(&table);
    }
    return status;
}

enum adaps_status ad_report_steps(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    enum adaps_status status = ad_report_plan(plan, out, err);
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++) {
        const struct adaps_plan view = ad_plan_view(plan, t);
        if (plan->stream.nturns > 1)
            fprintf(out, "\nturn %d of %d\n", t + 1, plan->stream.nturns);
        status = print_steps(&view, out, err);
    }
    return status;
}
