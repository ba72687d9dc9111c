/* Plans that are a list of tasks on one device, to be timed: never searched, nor written to a file.
 */
#include "ir/operators.h"
#include "plan/internal.h"

#include <stdio.h>

static enum adaps_status check_task(const struct ad_graph *graph, const struct ad_task *task, int i,
                                    struct adaps_error *err)
{
    if (task->op < 0 || task->op >= graph->nops)
        return ad_error_set(err, ADAPS_EINPUT, "task %d is of op %d: there are %d", i, task->op,
                            graph->nops);
    const struct ad_op *op = &graph->ops[task->op];
    if (ad_region_empty(task->region) || !ad_region_allowed(graph, op, task->region))
        return ad_error_set(
            err, ADAPS_EINPUT,
            "task %d: rows %d:%d, columns %d:%d, channels %d:%d of op '%s' cannot be "
            "computed alone",
            i, task->region.h0, task->region.h1, task->region.w0, task->region.w1, task->region.c0,
            task->region.c1, op->name);
    return ADAPS_OK;
}

/* Whether task `add` adds to all that the task before it computes: they go together, as engines may
 * do both at once. */
static bool go_together(const struct ad_graph *graph, const struct ad_task *task,
                        const struct ad_task *add)
{
    const struct ad_op *op = &graph->ops[add->op];
    int value = graph->ops[task->op].output;
    return ad_operator_of(op->kind)->residual &&
           (op->inputs[0] == value) != (op->inputs[1] == value) &&
           ad_region_equal(task->region, add->region);
}

static enum adaps_status fill_program(const struct ad_graph *graph, struct ad_schedule *schedule,
                                      const struct ad_task *tasks, int ntasks,
                                      struct adaps_error *err)
{
    size_t n = (size_t)ntasks;
    schedule->ndevices = 1;
    schedule->programs = ad_arena_alloc(&schedule->arena, 1, sizeof *schedule->programs);
    struct ad_task *copy = ad_arena_alloc(&schedule->arena, n, sizeof *copy);
    struct ad_step *steps = ad_arena_alloc(&schedule->arena, n, sizeof *steps);
    if (!schedule->programs || !copy || !steps)
        return ad_error_memory(err, "tasks", n * sizeof *steps);
    int nsteps = 0;
    for (int i = 0; i < ntasks; i++) {
        copy[i] = tasks[i];
        if (i > 0 && steps[nsteps - 1].ntasks == 1 && go_together(graph, &tasks[i - 1], &tasks[i]))
            steps[nsteps - 1].ntasks = 2;
        else
            steps[nsteps++] =
                (struct ad_step){.kind = AD_STEP_COMPUTE, .first_task = i, .ntasks = 1};
    }
    schedule->programs[0] =
        (struct ad_program){.steps = steps, .nsteps = nsteps, .tasks = copy, .ntasks = ntasks};
    return ADAPS_OK;
}

enum adaps_status ad_plan_of_tasks(struct ad_graph *graph, const struct ad_task *tasks, int ntasks,
                                   int threads, struct adaps_plan **out, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    if (ntasks < 1 || ntasks > AD_PLAN_MAX_TASKS)
        return ad_error_set(err, ADAPS_EINPUT, "%d tasks: 1 to %d are possible", ntasks,
                            AD_PLAN_MAX_TASKS);
    if (threads < 1 || threads > 64)
        return ad_error_set(err, ADAPS_EINPUT, "%d threads: 1 to 64 are possible", threads);
    for (int i = 0; i < ntasks && status == ADAPS_OK; i++)
        status = check_task(graph, &tasks[i], i, err);
    if (status != ADAPS_OK)
        return status;
    struct adaps_plan *plan = ad_plan_alloc(1);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    status = ad_cluster_init(&plan->cluster, 1, err);
    if (status == ADAPS_OK) {
        snprintf(plan->cluster.devices[0].name, sizeof plan->cluster.devices[0].name, "this");
        plan->cluster.devices[0].threads = threads;
        status = fill_program(graph, &plan->schedule, tasks, ntasks, err);
    }
    if (status == ADAPS_OK)
        status = ad_slices_find(graph, &plan->schedule, &plan->stream, 0, &plan->slices[0], err);
    if (status != ADAPS_OK) {
        adaps_plan_free(plan);
        return status;
    }
    plan->graph = graph;
    *out = plan;
    return ADAPS_OK;
}
