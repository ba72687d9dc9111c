/* adaps show: every device's program, step by step. */
#include "base/units.h"
#include "report/figures.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

static const char *const kind_names[] = {"COMPUTE", "SEND", "RECV"};

/* What a step works on: "conv1", "conv1 .. relu3 (5 ops)", or a value's name. */
static void step_subject(const struct adaps_plan *plan, const struct ad_program *program,
                         const struct ad_step *step, char *buf, size_t size)
{
    char first[160], last[160];
    const struct ad_graph *graph = plan->graph;
    if (step->kind != AD_STEP_COMPUTE) {
        ad_text_clean(graph->values[step->value].name, buf, size);
        return;
    }
    const struct ad_task *tasks = &program->tasks[step->first_task];
    ad_text_clean(graph->ops[tasks[0].op].name, first, sizeof first);
    ad_text_clean(graph->ops[tasks[step->ntasks - 1].op].name, last, sizeof last);
    if (step->ntasks == 1)
        snprintf(buf, size, "%s", first);
    else
        snprintf(buf, size, "%s .. %s (%d ops)", first, last, step->ntasks);
}

/* The region that it sends, receives, or computes last. */
static void step_region(const struct adaps_plan *plan, const struct ad_program *program,
                        const struct ad_step *step, char *buf, size_t size)
{
    int value = step->value;
    struct ad_region region = step->region;
    if (step->kind == AD_STEP_COMPUTE) {
        const struct ad_task *task = &program->tasks[step->first_task + step->ntasks - 1];
        value = plan->graph->ops[task->op].output;
        region = task->region;
    }
    ad_figures_region(&plan->graph->values[value], region, buf, size);
}

char *ad_report_step(const struct adaps_plan *plan, int device, int step, char *buf, size_t size)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    const struct ad_step *s = &program->steps[step];
    char subject[384], region[96], peer[64] = "";
    step_subject(plan, program, s, subject, sizeof subject);
    step_region(plan, program, s, region, sizeof region);
    if (s->kind != AD_STEP_COMPUTE)
        ad_text_clean(plan->cluster.devices[s->peer].name, peer, sizeof peer);
    snprintf(buf, size, "%s %s %s%s%s", kind_names[s->kind], subject, region,
             s->kind == AD_STEP_SEND   ? " to "
             : s->kind == AD_STEP_RECV ? " from "
                                       : "",
             peer);
    return buf;
}

static const struct ad_column step_columns[] = {
    {"step", true, false}, {"kind", false, false}, {"what", false, true}, {"region", false, true},
    {"peer", false, true}, {"bytes", true, false}, {"from", true, false}, {"to", true, false},
};

static void step_row(const struct adaps_plan *plan, int device, int index, struct ad_table *table)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    const struct ad_step *step = &program->steps[index];
    char text[384];
    ad_table_cell(table, "%d", index);
    ad_table_cell(table, "%s", kind_names[step->kind]);
    step_subject(plan, program, step, text, sizeof text);
    ad_table_cell(table, "%s", text);
    step_region(plan, program, step, text, sizeof text);
    ad_table_cell(table, "%s", text);
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

enum adaps_status ad_report_steps(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    enum adaps_status status = ad_report_plan(plan, out, err);
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
