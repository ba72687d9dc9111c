#include "plan/step_text.h"

#include <stdio.h>

static const char *name_of(const char *name)
{
    return *name ? name : "(unnamed)";
}

static const struct ad_step *step_at(const struct adaps_plan *plan, int turn, int device, int step)
{
    return &ad_plan_turn(plan, turn)->programs[device].steps[step];
}

char *ad_step_subject(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                      size_t size)
{
    const struct ad_step *s = step_at(plan, turn, device, step);
    const struct ad_graph *graph = plan->graph;
    if (s->kind != AD_STEP_COMPUTE) {
        snprintf(buf, size, "%s", name_of(graph->values[s->value].name));
        return buf;
    }
    const struct ad_task *tasks = &ad_plan_turn(plan, turn)->programs[device].tasks[s->first_task];
    const char *first = name_of(graph->ops[tasks[0].op].name);
    const char *last = name_of(graph->ops[tasks[s->ntasks - 1].op].name);
    if (s->ntasks == 1)
        snprintf(buf, size, "%.160s", first);
    else
        snprintf(buf, size, "%.160s .. %.160s (%d ops)", first, last, s->ntasks);
    return buf;
}

/* The region that a step sends, receives, or computes last; *whole: of that value. */
static struct ad_region region_of(const struct adaps_plan *plan, int turn, int device, int step,
                                  struct ad_region *whole)
{
    const struct ad_step *s = step_at(plan, turn, device, step);
    int value = s->value;
    struct ad_region region = s->region;
    if (s->kind == AD_STEP_COMPUTE) {
        const struct ad_program *program = &ad_plan_turn(plan, turn)->programs[device];
        const struct ad_task *task = &program->tasks[s->first_task + s->ntasks - 1];
        value = plan->graph->ops[task->op].output;
        region = task->region;
    }
    *whole = ad_region_whole(&plan->graph->values[value]);
    return region;
}

char *ad_step_region(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                     size_t size)
{
    struct ad_region whole, region = region_of(plan, turn, device, step, &whole);
    const struct {
        const char *name;
        int32_t lo, hi, whole_lo, whole_hi;
    } axes[] = {
        {"rows", region.h0, region.h1, whole.h0, whole.h1},
        {"columns", region.w0, region.w1, whole.w0, whole.w1},
        {"channels", region.c0, region.c1, whole.c0, whole.c1},
    };
    size_t n = 0;
    snprintf(buf, size, ad_region_empty(region) ? "none" : "all");
    for (int i = 0; i < 3 && !ad_region_empty(region) && n < size; i++)
        if (axes[i].lo != axes[i].whole_lo || axes[i].hi != axes[i].whole_hi)
            n += (size_t)snprintf(buf + n, size - n, "%s%s %d:%d", n ? ", " : "", axes[i].name,
                                  axes[i].lo, axes[i].hi);
    return buf;
}

/* Kind, subject, region in these words, and peer. */
static void put_together(const struct adaps_plan *plan, int turn, int device, int step,
                         const char *region, char *buf, size_t size)
{
    const struct ad_step *s = step_at(plan, turn, device, step);
    char subject[384];
    ad_step_subject(plan, turn, device, step, subject, sizeof subject);
    if (s->kind == AD_STEP_COMPUTE)
        snprintf(buf, size, "%s %s %s", ad_step_kind_name(s->kind), subject, region);
    else
        snprintf(buf, size, "%s %s %s %s %s", ad_step_kind_name(s->kind), subject, region,
                 s->kind == AD_STEP_SEND ? "to" : "from", plan->cluster.devices[s->peer].name);
}

char *ad_step_text(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                   size_t size)
{
    char region[96];
    put_together(plan, turn, device, step,
                 ad_step_region(plan, turn, device, step, region, sizeof region), buf, size);
    return buf;
}

char *ad_step_where(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                    size_t size)
{
    char what[320], extents[80], rows[96];
    int n = ad_plan_turn(plan, turn)->programs[device].nsteps;
    if (n == 0) {
        snprintf(buf, size, "no step");
        return buf;
    }
    int shown = step < 0 ? 0 : step < n ? step : n - 1;
    struct ad_region whole, region = region_of(plan, turn, device, shown, &whole);
    snprintf(rows, sizeof rows, "rows %s",
             ad_region_format(region, whole, extents, sizeof extents));
    put_together(plan, turn, device, shown, rows, what, sizeof what);
    snprintf(buf, size, "step %d of %d (%s)", shown + 1, n, what);
    return buf;
}
