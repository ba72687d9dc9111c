#include "from_plan.h"

#include <string.h>

static enum adaps_status check_model(const char *path, const struct adaps_plan *plan,
                                     const struct ad_graph *graph, const struct ad_digest *model,
                                     struct adaps_error *err)
{
    if (!ad_digest_equal(&plan->model_digest, model))
        return ad_error_set(err, ADAPS_EINPUT, "%s is the plan of another model", path);
    bool same = plan->graph->nops == graph->nops;
    for (int i = 0; same && i < graph->nops; i++)
        same = ad_same_box(&plan->graph->values[plan->graph->ops[i].output],
                           &graph->values[graph->ops[i].output]);
    return same ? ADAPS_OK
                : ad_error_set(err, ADAPS_EINPUT,
                               "%s has other operators than this search: sums in blocks, other "
                               "sizes, or those of a layout or mapping",
                               path);
}

static enum adaps_status check_devices(const char *path, const struct ad_cluster *plan,
                                       const struct ad_cluster *cluster, struct adaps_error *err)
{
    if (plan->ndevices != cluster->ndevices)
        return ad_error_set(err, ADAPS_EINPUT, "%s is for %d devices, the devices file has %d",
                            path, plan->ndevices, cluster->ndevices);
    for (int d = 0; d < cluster->ndevices; d++)
        if (strcmp(plan->devices[d].name, cluster->devices[d].name) != 0)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: its device %d is '%s', that of the devices file '%s'", path,
                                d + 1, plan->devices[d].name, cluster->devices[d].name);
    return ADAPS_OK;
}

static void take_tasks(const struct adaps_plan *plan, struct ad_assignment *out)
{
    for (int d = 0; d < plan->schedule.ndevices; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        for (int t = 0; t < program->ntasks; t++) {
            struct ad_region *all = ad_assigned(out, program->tasks[t].op, d);
            *all = ad_region_hull(*all, program->tasks[t].region);
        }
    }
}

enum adaps_status ad_from_plan(const char *path, const struct ad_graph *graph,
                               const struct ad_digest *model, const struct ad_cluster *cluster,
                               struct ad_assignment *out, struct adaps_error *err)
{
    struct adaps_plan *plan = NULL;
    enum adaps_status status = adaps_plan_load(path, &plan, err);
    if (status == ADAPS_OK)
        status = check_model(path, plan, graph, model, err);
    if (status == ADAPS_OK)
        status = check_devices(path, &plan->cluster, cluster, err);
    if (status == ADAPS_OK)
        status = ad_assignment_init(out, graph->nops, cluster->ndevices, err);
    if (status == ADAPS_OK)
        take_tasks(plan, out);
    adaps_plan_free(plan);
    return status;
}
