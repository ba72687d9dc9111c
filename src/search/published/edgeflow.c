/* Strategy `edgeflow`, after C. Hu and B. Li, "Distributed Inference with Deep Learning Models
 * across Heterogeneous Edge Devices" (EdgeFlow, INFOCOM 2022).
 *
 * Modelled: the layers are partitioned one after the other, along their rows, by a linear programme
 * that minimises the time at which the last device has fetched what it lacks of the layer's inputs
 * and computed its rows, given the layout of the layers before (edgeflow_lp.c). Outputs do not
 * overlap, and devices exchange directly with each other. Every device takes part wherever the
 * programme gives it rows; nothing is searched beyond the layer at hand.
 *
 * Interpreted:
 * - All devices begin a layer together. (With the times at which each is really free, rows move to
 *   the device that would wait, layer after layer, and no later layer gets back what that costs.)
 * - The devices' bands lie in the order of the devices file, and rows come from direct neighbours;
 *   what is whole on one device is fetched from there, without its halo, which would be a price for
 *   having any rows at all.
 * - The first layer has no layer before it: its programme ignores that the network's input has to
 *   reach the devices.
 * - The cuts are rounded to whole rows.
 * - Layers that aggregate or reorder (fully connected, softmax, global average, reshape) run whole
 *   on the fastest device. Concatenation along channels is split (rows stay rows), to
 *   the method's advantage, unless the problem wants operators of type 3 gathered.
 * - With columns as the only allowed dimension, columns take the place of rows. */
#include "base/clock.h"
#include "fusion/rules.h"
#include "search/published/edgeflow.h"
#include "search/published/published.h"

#include <math.h>

#define PARTS 4 /* of the time that is left; one is for the programmes */

struct flow {
    const struct ad_context *context;
    struct ad_layout layout;
    struct ad_edgeflow_input *inputs; /* of one op; each has ndevices + 1 entries of `owned` */
    double *owned;
    double row_s[AD_MAX_DEVICES];
    double cuts[AD_MAX_DEVICES + 1];
    double *bandwidth;
    struct adaps_error *err;
};

/* How the rows of input k follow from those of the output, along dim. False when they do not or
 * play no part: a constant, an operand of one row that is used for all, the network's input. */
static bool relate(const struct ad_graph *graph, const struct ad_op *op, int k, enum ad_dim dim,
                   struct ad_edgeflow_input *in)
{
    const struct ad_value *value = &graph->values[op->inputs[k]];
    int32_t size = ad_dim_extent(value, dim);
    *in = (struct ad_edgeflow_input){.stride = 1};
    in->row_bytes =
        4.0 * (double)(value->box.n * ad_region_elements(ad_region_whole(value))) / size;
    if (value->constant >= 0 || value->producer < 0)
        return false;
    if (ad_op_has_window(op)) {
        struct ad_axis axis = ad_op_axis(graph, op, dim == AD_DIM_H ? AD_ALONG_H : AD_ALONG_W);
        in->stride = (double)axis.stride;
        in->lead = (double)axis.pad;
        in->tail = (double)((axis.taps - 1) * axis.dilation + 1 - axis.stride - axis.pad);
        return true;
    }
    return size == ad_dim_extent(&graph->values[op->output], dim);
}

/* Where input k lies: the producer's bands, or the device that has all of it. */
static void locate(struct flow *f, int value, enum ad_dim dim, double *owned,
                   struct ad_edgeflow_input *in)
{
    const struct ad_search_problem *p = f->context->problem;
    const struct ad_value *v = &p->graph->values[value];
    int n = f->layout.ndevices;
    in->owned = NULL;
    const struct ad_op_layout *op = &f->layout.ops[v->producer];
    in->at = op->dim == AD_DIM_WHOLE ? op->at : f->context->fastest;
    if (op->dim != dim)
        return;
    for (int d = 0; d <= n; d++)
        owned[d] = ad_cut_row(ad_layout_cuts(&f->layout, v->producer)[d], ad_dim_extent(v, dim));
    in->owned = owned;
}

/* Seconds that a device takes for the whole op, without the constant. */
static double op_seconds(const struct flow *f, const struct ad_op *op, int d)
{
    const struct ad_graph *graph = f->context->problem->graph;
    const struct ad_device *device = &f->context->problem->cluster->devices[d];
    const struct ad_value *out = &graph->values[op->output];
    int64_t in = 0, rows = op->weight >= 0 ? graph->weights[op->weight].rows : 0;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *v = &graph->values[op->inputs[k]];
        in += v->box.n * ad_region_elements(ad_region_whole(v));
    }
    struct ad_work work =
        ad_cost_work(graph, op, out->box.n * ad_region_elements(ad_region_whole(out)), in, rows);
    return fmax(ad_cost_seconds(device, &work) - device->table.constant_s, 0);
}

/* When the last device is done, and what all of them fetch. */
static void weigh(const struct ad_edgeflow_layer *layer, const double *cuts, double *seconds,
                  double *bytes)
{
    *seconds = *bytes = 0;
    for (int d = 0; d < layer->ndevices; d++) {
        *seconds = fmax(*seconds, ad_edgeflow_seconds(layer, d, cuts[d], cuts[d + 1]));
        *bytes += ad_edgeflow_bytes(layer, d, cuts[d], cuts[d + 1]);
    }
}

/* Of programmes with several optima a solver finds any. Cuts in whole rows go down as long as that
 * costs neither time nor traffic: so they are the same everywhere. */
static void settle(const struct ad_edgeflow_layer *layer, double *cuts)
{
    double seconds, bytes, s, b;
    bool moved = true;
    weigh(layer, cuts, &seconds, &bytes);
    while (moved) {
        moved = false;
        for (int d = 1; d < layer->ndevices; d++) {
            if (cuts[d] - 1 < cuts[d - 1])
                continue;
            cuts[d]--;
            weigh(layer, cuts, &s, &b);
            if (s <= seconds * (1 + 1e-9) && b <= bytes) {
                seconds = fmin(s, seconds);
                bytes = b;
                moved = true;
            } else {
                cuts[d]++;
            }
        }
    }
}

static enum adaps_status split_op(struct flow *f, int i, enum ad_dim dim)
{
    const struct ad_graph *graph = f->context->problem->graph;
    const struct ad_op *op = &graph->ops[i];
    int n = f->layout.ndevices;
    int32_t size = ad_dim_extent(&graph->values[op->output], dim);
    struct ad_edgeflow_layer layer = {.ndevices = n,
                                      .rows = size,
                                      .inputs = f->inputs,
                                      .row_s = f->row_s,
                                      .bandwidth = f->bandwidth};
    for (int k = 0; k < op->ninputs; k++) {
        struct ad_edgeflow_input *in = &f->inputs[layer.ninputs];
        if (!relate(graph, op, k, dim, in))
            continue;
        locate(f, op->inputs[k], dim, &f->owned[layer.ninputs * (n + 1)], in);
        layer.ninputs++;
    }
    for (int d = 0; d < n; d++)
        f->row_s[d] = fmax(op_seconds(f, op, d) / size, 1e-15);
    double seconds;
    enum adaps_status status = ad_edgeflow_layer_solve(&layer, f->cuts, &seconds, f->err);
    if (status != ADAPS_OK)
        return status;
    f->layout.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true};
    for (int d = 0; d <= n; d++)
        f->cuts[d] = d == 0 ? 0 : fmax(f->cuts[d - 1], fmin(round(f->cuts[d]), size));
    settle(&layer, f->cuts);
    for (int d = 0; d <= n; d++)
        ad_layout_cuts(&f->layout, i)[d] = ad_row_cut((int32_t)f->cuts[d], size);
    return ADAPS_OK;
}

/* By speed, where the programmes have had their part of a time limit. */
static void share_op(struct flow *f, int i, enum ad_dim dim)
{
    f->layout.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true};
    ad_cuts_proportional(f->context->speed, f->layout.ndevices, ad_layout_cuts(&f->layout, i));
}

static enum adaps_status prepare(struct flow *f)
{
    const struct ad_search_problem *p = f->context->problem;
    size_t most = 1, n = (size_t)p->cluster->ndevices;
    for (int i = 0; i < p->graph->nops; i++)
        most = (size_t)p->graph->ops[i].ninputs > most ? (size_t)p->graph->ops[i].ninputs : most;
    f->inputs = ad_calloc(most, sizeof *f->inputs);
    f->owned = ad_calloc(most * (n + 1), sizeof *f->owned);
    f->bandwidth = ad_calloc(n * n, sizeof *f->bandwidth);
    if (!f->inputs || !f->owned || !f->bandwidth)
        return ad_error_memory(f->err, "edgeflow", most * (n + 1));
    for (size_t i = 0; i < n * n; i++)
        f->bandwidth[i] = p->cluster->links[i].bandwidth;
    return ad_layout_init(&f->layout, p->graph->nops, (int)n, f->err);
}

enum adaps_status ad_edgeflow_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_context *context = eval->context;
    const struct ad_graph *graph = context->problem->graph;
    struct flow f = {.context = context, .err = eval->err};
    int64_t until_ns = ad_search_part(context->problem, PARTS).deadline_ns;
    enum adaps_status status = prepare(&f);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        enum ad_dim dim =
            ad_context_gathers(context, i) ? AD_DIM_WHOLE : ad_context_bands(context, i);
        f.layout.ops[i] =
            (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = context->fastest};
        if (dim == AD_DIM_WHOLE)
            continue;
        if (until_ns > 0 && ad_clock_ns() >= until_ns)
            share_op(&f, i, dim);
        else
            status = split_op(&f, i, dim);
    }
    if (status == ADAPS_OK)
        status = ad_eval_try(eval, &f.layout, best, NULL);
    eval->space_log10 = 0;
    ad_layout_fini(&f.layout);
    ad_free(f.inputs);
    ad_free(f.owned);
    ad_free(f.bandwidth);
    return status;
}
