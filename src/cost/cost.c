#include "cost/cost.h"
#include "cost/shape.h"
#include "ir/winograd.h"

#include <math.h>
#include <string.h>

enum ad_cost_class ad_cost_class_of(const struct ad_graph *graph, const struct ad_op *op)
{
    int groups =
        op->partial > 1 ? 1 : op->groups; /* blocks have many outputs each, as dense ones */
    return ad_cost_class_of_kind(op->kind, op->winograd, groups, ad_op_is_depthwise(graph, op),
                                 ad_value_is_quantised(&graph->values[op->inputs[0]]));
}

/* Weights that an element of the output is made of; 0 where there are none. */
static int64_t row_weights(const struct ad_graph *graph, const struct ad_op *op)
{
    struct ad_box in = graph->values[op->inputs[0]].box;
    if (!ad_kind_has(op->kind, AD_FIELD_WEIGHT))
        return 0;
    return ad_op_has_window(op) ? (int64_t)op->window.kh * op->window.kw * (in.c / op->groups)
                                : in.h * in.w * in.c;
}

int64_t ad_cost_macs(const struct ad_graph *graph, const struct ad_op *op)
{
    if (ad_operator_of(op->kind)->measure == AD_PER_PRODUCT)
        return ad_box_elements(graph->values[op->output].box) * op->inner;
    return ad_box_elements(graph->values[op->output].box) * row_weights(graph, op);
}

enum ad_cost_class ad_cost_main_class(const struct ad_graph *graph)
{
    static const enum ad_cost_class of_bytes[] = {AD_COST_INT8_CONV, AD_COST_INT8_DEPTHWISE,
                                                  AD_COST_INT8_FC};
    double macs[AD_COST_CLASSES] = {0}, floats = 0, bytes = 0;
    enum ad_cost_class most = AD_COST_INT8_CONV;
    for (int i = 0; i < graph->nops; i++)
        macs[ad_cost_class_of(graph, &graph->ops[i])] +=
            (double)ad_cost_macs(graph, &graph->ops[i]);
    for (int i = 0; i < AD_COST_CLASSES; i++)
        floats += macs[i];
    for (size_t i = 0; i < sizeof of_bytes / sizeof *of_bytes; i++) {
        bytes += macs[of_bytes[i]];
        most = macs[of_bytes[i]] > macs[most] ? of_bytes[i] : most;
    }
    floats -= bytes;
    return bytes > floats ? most : AD_COST_CONV;
}

/* Units of an element of the output. */
static double winograd_units(const struct ad_graph *graph, const struct ad_op *op)
{
    struct ad_shape shape = ad_shape_of(graph, op);
    return ad_shape_units(&shape) / (double)ad_box_elements(graph->values[op->output].box);
}

struct ad_work ad_cost_work(const struct ad_graph *graph, const struct ad_op *op,
                            int64_t out_elements, int64_t in_elements, int64_t weight_rows)
{
    struct ad_work work = {.class = ad_cost_class_of(graph, op),
                           .units = (double)out_elements,
                           .graph = graph,
                           .op = op};
    const struct ad_operator *row = ad_operator_of(op->kind);
    double weights = op->weight >= 0 ? (double)graph->weights[op->weight].row_elements : 0;
    work.part.channels =
        weight_rows > 0 ? (double)weight_rows : (double)graph->values[op->output].box.c;
    work.part.pixels = (double)out_elements / work.part.channels;
    switch (row->measure) {
    case AD_PER_OUTPUT:
        work.units *= row->units;
        break;
    case AD_PER_INPUT:
        work.units = (double)in_elements * row->units;
        break;
    case AD_PER_TAP:
        work.units *= row->units * (ad_op_has_window(op) ? (double)op->window.kh * op->window.kw
                                                         : ad_resampling_taps(op));
        break;
    case AD_PER_MAC:
        work.units *=
            op->winograd ? winograd_units(graph, op) : row->units * (double)row_weights(graph, op);
        break;
    case AD_PER_LRN:
        work.units *= row->units + op->lrn_size;
        break;
    case AD_PER_PRODUCT:
        work.units *= row->units * (double)op->inner;
        break;
    case AD_PER_FUNCTION:
        work.units *= row->units * ad_function_units(op->function);
        break;
    case AD_PER_WHOLE:
        work.units = row->units * ad_op_work(graph, op);
        break;
    }
    if (ad_function_follows(op->kind, op->function))
        work.after = (double)out_elements * ad_function_units(op->function);
    if (op->winograd) {
        struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
        weights *= ad_winograd_growth(&shape);
    }
    double words = (double)weight_rows * weights;
    if (op->bias >= 0)
        words += (double)(weight_rows * graph->weights[op->bias].row_elements);
    double bytes = words * sizeof(float) +
                   (double)(out_elements * ad_value_unit(&graph->values[op->output])) +
                   (double)(in_elements * ad_value_unit(&graph->values[op->inputs[0]]));
    if (op->aliased > 0) { /* the rest of a concatenation is there already */
        double copied = 1 - (double)op->aliased / (double)graph->values[op->output].box.c;
        work.units *= copied;
        bytes *= copied;
    }
    work.bytes = bytes;
    return work;
}

/* The time by measured shapes; < 0: they say nothing of the class. */
static double measured_seconds(const struct ad_device *device, const struct ad_work *work)
{
    const struct ad_cost_table *table = &device->table;
    struct ad_shape shape = ad_shape_of(work->graph, work->op);
    bool exact;
    double seconds = ad_shapes_seconds(table->shapes, &shape, work->part, table->constant_s,
                                       table->tile, &exact);
    if (seconds < 0 && shape.winograd > 0) { /* as quick as the same layer is directly */
        double units = ad_shape_units(&shape);
        shape.winograd = 0;
        units /= ad_shape_units(&shape);
        seconds = ad_shapes_seconds(table->shapes, &shape, work->part, table->constant_s,
                                    table->tile, &exact);
        if (seconds >= 0)
            seconds = table->constant_s + fmax(seconds - table->constant_s, 0) * units;
    }
    if (seconds < 0)
        return seconds;
    seconds = table->constant_s + fmax(seconds - table->constant_s, 0) / device->speed;
    if (!exact && work->after > 0)
        seconds += work->after / (table->rate[AD_COST_ELEMENTWISE] * device->speed);
    return seconds;
}

static double rate_of(const struct ad_cost_table *table, enum ad_cost_class class)
{
    return table->rate[table->rate[class] > 0 ? class : ad_cost_stand_in(class)];
}

double ad_cost_speed(const struct ad_device *device, enum ad_cost_class class)
{
    return rate_of(&device->table, class) * device->speed;
}

void ad_cost_order(const struct ad_cluster *cluster, enum ad_cost_class class, int *order)
{
    double speed[AD_MAX_DEVICES];
    for (int d = 0; d < cluster->ndevices; d++) {
        speed[d] = d == cluster->source ? INFINITY : ad_cost_speed(&cluster->devices[d], class);
        int at = d;
        for (; at > 0 && speed[order[at - 1]] < speed[d]; at--) /* by insertion: stable */
            order[at] = order[at - 1];
        order[at] = d;
    }
}

double ad_cost_seconds(const struct ad_device *device, const struct ad_work *work)
{
    const struct ad_cost_table *table = &device->table;
    if (work->op && work->bytes == 0)
        return 0;
    if (table->shapes && work->op) {
        double measured = measured_seconds(device, work);
        if (measured >= 0)
            return measured;
    }
    double compute = work->units / (rate_of(table, work->class) * device->speed);
    double memory = work->bytes / (table->memory_bw * device->speed);
    double seconds = table->constant_s + fmax(compute, memory);
    if (work->after > 0)
        seconds += work->after / (table->rate[AD_COST_ELEMENTWISE] * device->speed);
    return seconds;
}

bool ad_cost_same(const struct ad_device *a, const struct ad_device *b)
{
    const struct ad_cost_table *x = &a->table, *y = &b->table;
    return a->speed == b->speed && x->constant_s == y->constant_s && x->memory_bw == y->memory_bw &&
           x->tile == y->tile && ad_shapes_same(x->shapes, y->shapes) &&
           memcmp(x->rate, y->rate, sizeof x->rate) == 0;
}

static double ends_seconds(const struct ad_graph *graph, const int *values, int n, double rate,
                           double speed)
{
    return rate > 0 ? (double)ad_values_elements(graph, values, n) / (rate * speed) : 0;
}

double ad_cost_feed_seconds(const struct ad_graph *graph, const struct ad_device *source)
{
    return ends_seconds(graph, graph->inputs, graph->ninputs, source->table.feed_rate,
                        source->speed);
}

double ad_cost_fetch_seconds(const struct ad_graph *graph, const struct ad_device *source)
{
    return ends_seconds(graph, graph->outputs, graph->noutputs, source->table.fetch_rate,
                        source->speed);
}

double ad_cost_encode_seconds(const struct ad_device *device, enum ad_encoding encoding,
                              bool decode, int64_t bytes)
{
    const struct ad_cost_table *table = &device->table;
    double rate = ad_encoding_rate(&table->encoding, encoding, decode, table->memory_bw);
    return (double)bytes / (rate * device->speed);
}
