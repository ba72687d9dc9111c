#include "report/figures.h"

#include <stdio.h>
#include <string.h>

static int64_t weight_bytes(const struct ad_weight *weight, int64_t rows)
{
    return (int64_t)sizeof(float) * rows * weight->row_elements;
}

int64_t ad_figures_weight_bytes(const struct ad_graph *graph, const struct ad_op *op)
{
    int64_t bytes = 0;
    if (op->weight >= 0)
        bytes += weight_bytes(&graph->weights[op->weight], graph->weights[op->weight].rows);
    if (op->bias >= 0)
        bytes += weight_bytes(&graph->weights[op->bias], graph->weights[op->bias].rows);
    return bytes;
}

const char *ad_figures_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The share of an op's output that a region is. */
static double share(const struct ad_graph *graph, const struct ad_op *op, struct ad_region region)
{
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    return (double)ad_region_elements(region) / (double)ad_region_elements(whole);
}

static void device_figures(const struct adaps_plan *plan, int device, struct ad_device_figures *out,
                           double *elements)
{
    const struct ad_graph *graph = plan->graph;
    const struct ad_program *program = &plan->schedule.programs[device];
    double macs = 0;
    for (int i = 0; i < program->ntasks; i++) {
        const struct ad_op *op = &graph->ops[program->tasks[i].op];
        macs += (double)ad_cost_macs(graph, op) * share(graph, op, program->tasks[i].region);
        *elements += (double)ad_region_elements(program->tasks[i].region);
    }
    out->macs = (int64_t)(macs + 0.5);
    out->ntasks = program->ntasks;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_COMPUTE)
            continue;
        int64_t bytes = ad_step_bytes(graph, step);
        if (step->kind == AD_STEP_SEND) {
            out->sent++;
            out->sent_bytes += bytes;
        } else {
            out->received++;
            out->received_bytes += bytes;
            out->wait_ns += step->end_ns - step->start_ns;
        }
    }
    const struct ad_slices *slices = &plan->slices[device];
    for (int i = 0; i < slices->count; i++)
        out->weight_bytes += weight_bytes(&graph->weights[slices->items[i].weight],
                                          slices->items[i].row1 - slices->items[i].row0);
}

enum adaps_status ad_figures_init(struct ad_figures *out, const struct adaps_plan *plan,
                                  struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    double elements[AD_MAX_DEVICES] = {0}, all_elements = 0;
    *out = (struct ad_figures){.ndevices = plan->cluster.ndevices};
    out->devices = ad_calloc((size_t)out->ndevices, sizeof *out->devices);
    if (!out->devices)
        return ad_error_memory(err, "figures", (size_t)out->ndevices * sizeof *out->devices);
    for (int i = 0; i < graph->nops; i++) {
        out->macs += ad_cost_macs(graph, &graph->ops[i]);
        all_elements +=
            (double)ad_region_elements(ad_region_whole(&graph->values[graph->ops[i].output]));
    }
    for (int i = 0; i < graph->nweights; i++)
        out->weight_bytes += weight_bytes(&graph->weights[i], graph->weights[i].rows);
    for (int d = 0; d < out->ndevices; d++) {
        struct ad_device_figures *device = &out->devices[d];
        device_figures(plan, d, device, &elements[d]);
        device->share =
            out->macs > 0 ? (double)device->macs / (double)out->macs : elements[d] / all_elements;
        out->used += device->ntasks > 0;
    }
    return ADAPS_OK;
}

void ad_figures_fini(struct ad_figures *figures)
{
    ad_free(figures->devices);
    *figures = (struct ad_figures){0};
}

enum adaps_status ad_figures_links(const struct adaps_plan *plan, struct ad_link_figures **links,
                                   size_t *count, struct adaps_error *err)
{
    size_t n = (size_t)plan->cluster.ndevices, room = n * n * AD_ENCODINGS, kept = 0;
    struct ad_link_figures *all = ad_calloc(room, sizeof *all);
    if (!all)
        return ad_error_memory(err, "links", room * sizeof *all);
    for (int d = 0; d < (int)n; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind != AD_STEP_SEND)
                continue;
            size_t pair = (size_t)d * n + (size_t)step->peer;
            struct ad_link_figures *link = &all[pair * AD_ENCODINGS + step->encoding];
            link->from = d;
            link->to = step->peer;
            link->encoding = step->encoding;
            link->bytes += ad_step_bytes(plan->graph, step);
            link->messages++;
        }
    for (size_t i = 0; i < room; i++)
        if (all[i].messages > 0)
            all[kept++] = all[i];
    *links = all;
    *count = kept;
    return ADAPS_OK;
}

void ad_figures_convolutions(const struct ad_graph *graph, int *all, int *winograd)
{
    *all = *winograd = 0;
    for (int i = 0; i < graph->nops; i++) {
        *all += ad_op_is_conv(&graph->ops[i]);
        *winograd += graph->ops[i].winograd != 0;
    }
}
