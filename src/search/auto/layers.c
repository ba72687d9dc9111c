#include "search/auto/layers.h"

static double weight_bytes(const struct ad_graph *graph, const struct ad_op *op)
{
    double floats = 0;
    if (op->weight >= 0)
        floats += (double)graph->weights[op->weight].rows *
                  (double)graph->weights[op->weight].row_elements;
    if (op->bias >= 0)
        floats += (double)graph->weights[op->bias].rows;
    return floats * sizeof(float);
}

/* What of a device's memory counts; most: of one that has no limit. */
static double memory_of(const struct ad_device *device, double most)
{
    return device->memory > 0 && (double)device->memory < most ? (double)device->memory : most;
}

/* All ops whole, on the first `count` devices in turn. */
static void lay(const struct ad_context *context, int count, struct ad_layout *layout)
{
    const struct ad_search_problem *p = context->problem;
    double all = 0, room = 0, done = 0, upto = 0;
    int k = 0;
    for (int i = 0; i < layout->nops; i++)
        all += weight_bytes(p->graph, &p->graph->ops[i]);
    for (int d = 0; d < count; d++)
        room += memory_of(&p->cluster->devices[context->order[d]], all);
    for (int i = 0; i < layout->nops; i++) {
        double bytes = weight_bytes(p->graph, &p->graph->ops[i]);
        /* the device in whose part of the weights the middle of these lies */
        while (k + 1 < count) {
            double part = memory_of(&p->cluster->devices[context->order[k]], all) / room;
            if (done + bytes / 2 <= (upto + part) * all)
                break;
            upto += part;
            k++;
        }
        done += bytes;
        layout->ops[i] =
            (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = context->order[k]};
    }
}

enum adaps_status ad_layers_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    int n = context->problem->cluster->ndevices;
    struct ad_layout layout;
    enum adaps_status status = ad_layout_init(&layout, context->problem->graph->nops, n, eval->err);
    layout.u8 = context->u8;
    layout.encoding = context->encoding;
    layout.order = AD_ORDER_READY;
    for (int count = 2; count <= n && context->memory_matters && status == ADAPS_OK; count++) {
        lay(context, count, &layout);
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    ad_layout_fini(&layout);
    return status;
}
