#include "control/describe.h"

#include <stdio.h>

static const char *name_of(const char *name)
{
    return *name ? name : "(unnamed)";
}

char *ad_step_describe(const struct adaps_plan *plan, int device, int step, char *buf, size_t size)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    const struct ad_graph *graph = plan->graph;
    char rows[80];
    if (step < 0 || step >= program->nsteps) {
        snprintf(buf, size, "the end");
        return buf;
    }
    const struct ad_step *s = &program->steps[step];
    if (s->kind != AD_STEP_COMPUTE) {
        const struct ad_value *value = &graph->values[s->value];
        ad_region_format(s->region, ad_region_whole(value), rows, sizeof rows);
        snprintf(buf, size, "%s %.80s rows %s %s %s", s->kind == AD_STEP_SEND ? "SEND" : "RECV",
                 name_of(value->name), rows, s->kind == AD_STEP_SEND ? "to" : "from",
                 plan->cluster.devices[s->peer].name);
        return buf;
    }
    if (s->ntasks == 0) {
        snprintf(buf, size, "COMPUTE nothing");
        return buf;
    }
    const struct ad_task *first = &program->tasks[s->first_task], *last = first + s->ntasks - 1;
    const struct ad_op *op = &graph->ops[last->op];
    ad_region_format(last->region, ad_region_whole(&graph->values[op->output]), rows, sizeof rows);
    if (s->ntasks == 1)
        snprintf(buf, size, "COMPUTE %.80s rows %s", name_of(op->name), rows);
    else
        snprintf(buf, size, "COMPUTE %.80s .. %.80s rows %s", name_of(graph->ops[first->op].name),
                 name_of(op->name), rows);
    return buf;
}

char *ad_step_where(const struct adaps_plan *plan, int device, int step, char *buf, size_t size)
{
    char what[320];
    int n = plan->schedule.programs[device].nsteps;
    int shown = step < 0 ? 0 : step < n ? step : n - 1;
    snprintf(buf, size, "step %d of %d (%s)", shown + 1, n,
             ad_step_describe(plan, device, shown, what, sizeof what));
    return buf;
}
