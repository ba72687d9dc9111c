/* The invariants of ir/graph.h, checked one by one. Nothing here trusts an index before testing it:
 * the graph may have come from a stranger's plan. */
#include "ir/check.h"
#include "ir/operators.h"
#include "ir/quantised.h"
#include "ir/weight.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_COUNT (1 << 24) /* ops, values, weights */
#define MAX_ENDS 1024       /* inputs, outputs */

enum adaps_status ad_check_fail(const struct ad_check *c, const char *fmt, ...)
{
    char rule[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rule, sizeof rule, fmt, ap);
    va_end(ap);
    if (c->op)
        return ad_error_set(c->err, ADAPS_EINPUT, "graph: op '%s' (%s): %s", c->op->name,
                            ad_op_kind_name(c->op->kind), rule);
    return ad_error_set(c->err, ADAPS_EINPUT, "graph: %s", rule);
}

int64_t ad_check_product(int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > AD_CHECK_MAX_ELEMENTS / n)
            return -1;
        n *= dims[i];
    }
    return n;
}

static enum adaps_status check_value(const struct ad_check *c, int index)
{
    const struct ad_graph *g = c->graph;
    const struct ad_value *v = &g->values[index];
    if (!v->name)
        return ad_check_fail(c, "value %d has no name", index);
    if (v->rank < 0 || v->rank > AD_MAX_RANK)
        return ad_check_fail(c, "value '%s' has rank %d", v->name, v->rank);
    int64_t count = ad_check_product(v->rank, v->dims);
    if (count < 0) {
        char dims[128];
        return ad_check_fail(c, "value '%s': dims %s are not 1..2^31-1 elements", v->name,
                             ad_dims_format(v->rank, v->dims, dims, sizeof dims));
    }
    if (ad_type_bytes(v->type) == 0)
        return ad_check_fail(c, "value '%s': type %d", v->name, (int)v->type);
    if (v->scale != 0 && !ad_quantised_valid(v) && !ad_sums_valid(v))
        return ad_check_fail(c, "value '%s': scale %g, zero point %d, type %s%s", v->name,
                             (double)v->scale, (int)v->zero, ad_type_name(v->type),
                             v->open ? ", open" : "");
    bool map = v->format == AD_NHWC && v->rank == 4 && ad_value_is_dense(v);
    if (!map && v->format != AD_PLAIN)
        return ad_check_fail(c, "value '%s': format %d with rank %d and type %s%s", v->name,
                             (int)v->format, v->rank, ad_type_name(v->type),
                             v->open ? ", open" : "");
    if (count > AD_CHECK_MAX_ELEMENTS / (int64_t)ad_type_bytes(v->type))
        return ad_check_fail(c, "value '%s': %" PRId64 " elements of type %s", v->name, count,
                             ad_type_name(v->type));
    if (v->open && v->producer < 0)
        return ad_check_fail(c, "value '%s' is open, but no op computes it", v->name);
    struct ad_box box = ad_box_of(v);
    if (memcmp(&box, &v->box, sizeof box) != 0)
        return ad_check_fail(c, "value '%s': its box does not follow from its dims", v->name);
    if (v->producer < -1 || v->producer >= g->nops || v->constant < -1 ||
        v->constant >= g->nweights || (v->producer >= 0 && v->constant >= 0))
        return ad_check_fail(c, "value '%s': producer %d, constant %d", v->name, v->producer,
                             v->constant);
    if (v->producer >= 0 && g->ops[v->producer].output != index)
        return ad_check_fail(c, "value '%s' is not the output of its producer", v->name);
    if (v->constant >= 0) {
        const struct ad_weight *w = &g->weights[v->constant];
        int64_t words = (ad_box_elements(v->box) * ad_value_unit(v) + 3) / 4;
        if (w->rows != 1 || w->row_elements != words)
            return ad_check_fail(
                c, "value '%s': constant of %" PRId64 "x%" PRId64 " elements, not 1x%" PRId64,
                v->name, w->rows, w->row_elements, words);
    }
    return ADAPS_OK;
}

static enum adaps_status check_weight(const struct ad_check *c, int index, bool with_data)
{
    const struct ad_weight *w = &c->graph->weights[index];
    if (!w->name)
        return ad_check_fail(c, "weight %d has no name", index);
    if (w->rows < 1 || w->row_elements < 1 || w->rows > AD_CHECK_MAX_ELEMENTS / w->row_elements)
        return ad_check_fail(c, "weight '%s': %" PRId64 "x%" PRId64 " elements are not 1..2^31-1",
                             w->name, w->rows, w->row_elements);
    if (with_data && !ad_weight_attached(w))
        return ad_check_fail(c, "weight '%s' has no data", w->name);
    return ADAPS_OK;
}

/* Network inputs are exactly the values that are neither computed nor constant; outputs exist. */
static enum adaps_status check_ends(const struct ad_check *c)
{
    const struct ad_graph *g = c->graph;
    if (g->ninputs < 0 || g->ninputs > MAX_ENDS || (g->ninputs > 0 && !g->inputs))
        return ad_check_fail(c, "%d inputs", g->ninputs);
    if (g->noutputs < 1 || g->noutputs > MAX_ENDS || !g->outputs)
        return ad_check_fail(c, "%d outputs", g->noutputs);
    int fed = 0;
    for (int v = 0; v < g->nvalues; v++)
        fed += g->values[v].producer < 0 && g->values[v].constant < 0;
    if (fed != g->ninputs)
        return ad_check_fail(c, "%d values have neither producer nor data, but there are %d inputs",
                             fed, g->ninputs);
    for (int i = 0; i < g->ninputs; i++) {
        int v = g->inputs[i];
        if (v < 0 || v >= g->nvalues || g->values[v].producer >= 0 || g->values[v].constant >= 0)
            return ad_check_fail(c, "input %d is value %d, which is not fed", i, v);
        if (ad_value_is_quantised(&g->values[v]))
            return ad_check_fail(c, "input %d, '%s', is quantised", i, g->values[v].name);
        for (int k = 0; k < i; k++)
            if (g->inputs[k] == v)
                return ad_check_fail(c, "value '%s' is an input twice", g->values[v].name);
    }
    for (int i = 0; i < g->noutputs; i++) {
        int v = g->outputs[i];
        if (v < 0 || v >= g->nvalues || g->values[v].producer < 0)
            return ad_check_fail(c, "output %d is value %d, which no op computes", i, v);
        if (ad_value_is_quantised(&g->values[v]))
            return ad_check_fail(c, "output %d, '%s', is quantised", i, g->values[v].name);
    }
    return ADAPS_OK;
}

static enum adaps_status check_activation(const struct ad_check *c)
{
    const struct ad_op *op = c->op;
    if (isnan(op->clamp_min) || isnan(op->clamp_max) || op->clamp_min > op->clamp_max)
        return ad_check_fail(c, "clamp to %g..%g", (double)op->clamp_min, (double)op->clamp_max);
    if ((unsigned)op->function >= AD_FN_COUNT || !isfinite(op->alpha) || !isfinite(op->beta))
        return ad_check_fail(c, "function %d, alpha %g, beta %g", (int)op->function,
                             (double)op->alpha, (double)op->beta);
    return ADAPS_OK;
}

static enum adaps_status check_op(struct ad_check *c, int index)
{
    const struct ad_graph *g = c->graph;
    const struct ad_op *op = &g->ops[index];
    if (!op->name || !op->type || (unsigned)op->kind >= AD_OP_COUNT)
        return ad_check_fail(c, "op %d has no name, no type or the unknown kind %d", index,
                             (int)op->kind);
    c->op = op;
    const struct ad_operator *row = ad_operator_of(op->kind);
    if (op->ninputs < 1 || !op->inputs ||
        (row->inputs != AD_VARIADIC && op->ninputs != row->inputs))
        return ad_check_fail(c, "%d inputs", op->ninputs);
    int computed = 0;
    for (int i = 0; i < op->ninputs; i++) {
        int v = op->inputs[i];
        if (v < 0 || v >= g->nvalues)
            return ad_check_fail(c, "input %d is value %d of %d", i, v, g->nvalues);
        if (g->values[v].producer >= index)
            return ad_check_fail(c, "reads '%s' before it is computed", g->values[v].name);
        if (g->values[v].constant >= 0 && row->inputs == 1)
            return ad_check_fail(c, "reads the constant '%s'", g->values[v].name);
        computed += g->values[v].constant < 0;
        if (!(row->fields & AD_FIELD_WHOLE) && !ad_value_is_dense(&g->values[v]))
            return ad_check_fail(c,
                                 "reads '%s', which is neither float32 of known dims nor quantised",
                                 g->values[v].name);
    }
    if (computed == 0)
        return ad_check_fail(c, "reads only constants");
    if (op->output < 0 || op->output >= g->nvalues || g->values[op->output].producer != index)
        return ad_check_fail(c, "its output, value %d, has another producer", op->output);
    if (!(row->fields & AD_FIELD_WHOLE) && !ad_value_is_dense(&g->values[op->output]))
        return ad_check_fail(c, "its output is neither float32 of known dims nor quantised");
    bool weighted = row->fields & (AD_FIELD_WEIGHT | AD_FIELD_ROW_SCALES);
    bool biased = row->fields & AD_FIELD_WEIGHT;
    if (op->weight < -1 || op->weight >= g->nweights || op->bias < -1 || op->bias >= g->nweights ||
        (!weighted && op->weight != -1) || (!biased && op->bias != -1))
        return ad_check_fail(c, "weight %d, bias %d", op->weight, op->bias);
    enum adaps_status status = check_activation(c);
    if (status == ADAPS_OK)
        status = ad_check_quantised(c);
    if (status == ADAPS_OK)
        status = row->check(c);
    c->op = NULL;
    return status;
}

enum adaps_status ad_graph_verify(const struct ad_graph *graph, bool with_data,
                                  struct adaps_error *err)
{
    struct ad_check c = {.graph = graph, .err = err};
    enum adaps_status status = ADAPS_OK;
    if (graph->nops < 1 || graph->nops > MAX_COUNT || !graph->ops || graph->nvalues < 1 ||
        graph->nvalues > MAX_COUNT || !graph->values || graph->nweights < 0 ||
        graph->nweights > MAX_COUNT || (graph->nweights > 0 && !graph->weights))
        return ad_check_fail(&c, "%d ops, %d values, %d weights", graph->nops, graph->nvalues,
                             graph->nweights);
    for (int i = 0; i < graph->nweights && status == ADAPS_OK; i++)
        status = check_weight(&c, i, with_data);
    for (int i = 0; i < graph->nvalues && status == ADAPS_OK; i++)
        status = check_value(&c, i);
    if (status == ADAPS_OK)
        status = check_ends(&c);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++)
        status = check_op(&c, i);
    return status;
}
