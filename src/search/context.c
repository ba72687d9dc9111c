#include "search/context.h"
#include "ir/winograd.h"
#include "fusion/region.h"
#include "schedule/stream.h"

#include <math.h>

/* Floats that Winograd's algorithm takes beside weights and values, at most. */
static int64_t winograd_floats(const struct ad_graph *graph, const struct ad_cluster *cluster)
{
    int64_t all = 0;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *out = &graph->values[op->output].box;
        size_t scratch;
        if (op->winograd == 0)
            continue;
        struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
        for (int d = 0; d < cluster->ndevices; d++)
            if (ad_winograd_scratch(&shape, out->n, out->h, out->w, cluster->devices[d].threads,
                                    &scratch))
                all += (int64_t)scratch;
        all += shape.inputs * shape.outputs * ad_winograd_products(&shape);
    }
    return all;
}

/* Whether some plan with so many inferences in flight could need more memory than some device has:
 * whatever a plan is, no device holds more than all weights, and all values of each. */
static bool may_lack_memory(const struct ad_search_problem *p, int frames)
{
    const struct ad_graph *graph = p->graph;
    int64_t all = winograd_floats(graph, p->cluster);
    for (int w = 0; w < graph->nweights; w++)
        all += graph->weights[w].rows * graph->weights[w].row_elements;
    all *= (int64_t)sizeof(float);
    for (int v = 0; v < graph->nvalues; v++)
        all += frames * ad_value_bytes(&graph->values[v]);
    for (int d = 0; d < p->cluster->ndevices; d++)
        if (p->cluster->devices[d].memory > 0 && (uint64_t)all > p->cluster->devices[d].memory)
            return true;
    return p->objective == AD_OBJECTIVE_MEMORY ||
           (p->objective == AD_OBJECTIVE_BALANCE && p->balance->weight[AD_OBJECTIVE_MEMORY] > 0);
}

static void survey_ops(struct ad_context *context)
{
    const struct ad_search_problem *p = context->problem;
    const struct ad_graph *graph = p->graph;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *box = &graph->values[op->output].box;
        bool dense = box->h == 1 && box->w == 1;
        context->can[i][AD_DIM_WHOLE] = true;
        context->can[i][AD_DIM_H] = p->split_h && ad_dim_splits(graph, op, AD_DIM_H);
        context->can[i][AD_DIM_W] = p->split_w && ad_dim_splits(graph, op, AD_DIM_W);
        context->can[i][AD_DIM_C] =
            p->split_c && (dense || context->memory_matters) && ad_dim_splits(graph, op, AD_DIM_C);
        context->can[i][AD_DIM_EACH] = dense && (p->split_h || p->split_w || p->split_c);
        context->dense[i] = dense && context->can[i][AD_DIM_C];
    }
    ad_blocks_cuts(graph, context->cut);
    for (int i = 0; i < graph->nops; i++) {
        context->segment[i] = context->nsegments;
        context->nsegments += context->cut[i] || i + 1 == graph->nops;
    }
}

static bool alike(const struct ad_graph *graph, const struct ad_op *a, const struct ad_op *b)
{
    const struct ad_value *values = graph->values;
    bool same = a->kind == b->kind && a->ninputs == b->ninputs &&
                ad_same_box(&values[a->output], &values[b->output]);
    for (int k = 0; k < a->ninputs && same; k++)
        same = ad_same_box(&values[a->inputs[k]], &values[b->inputs[k]]);
    return same;
}

static void survey_alike(struct ad_context *context)
{
    const struct ad_graph *graph = context->problem->graph;
    for (int i = 0; i < graph->nops; i++) {
        int k = 0;
        while (k < i && (context->alike[k] != k || !alike(graph, &graph->ops[k], &graph->ops[i])))
            k++;
        context->alike[i] = k;
    }
}

static void survey_devices(struct ad_context *context)
{
    const struct ad_cluster *cluster = context->problem->cluster;
    enum ad_cost_class class = ad_cost_main_class(context->problem->graph);
    context->fastest = cluster->source;
    for (int d = 0; d < cluster->ndevices; d++)
        context->speed[d] = ad_cost_speed(&cluster->devices[d], class);
    for (int d = 0; d < cluster->ndevices; d++)
        if (context->speed[d] > context->speed[context->fastest])
            context->fastest = d;
    ad_cost_order(cluster, class, context->order);
}

enum adaps_status ad_context_init(struct ad_context *out, const struct ad_search_problem *problem,
                                  struct adaps_error *err)
{
    size_t n = (size_t)problem->graph->nops;
    *out = (struct ad_context){.problem = problem};
    out->can = ad_calloc(n, sizeof *out->can);
    out->dense = ad_calloc(n, sizeof *out->dense);
    out->cut = ad_calloc(n, sizeof *out->cut);
    out->segment = ad_calloc(n, sizeof *out->segment);
    out->alike = ad_calloc(n, sizeof *out->alike);
    if (!out->can || !out->dense || !out->cut || !out->segment || !out->alike) {
        ad_context_fini(out);
        return ad_error_memory(err, "search", n);
    }
    out->memory_matters = may_lack_memory(problem, 1);
    out->streams_matter = ad_search_streams(problem) && may_lack_memory(problem, AD_STREAM_FRAMES);
    out->u8 = ad_search_u8(problem);
    out->encoding = ad_search_quickest(problem);
    survey_ops(out);
    survey_alike(out);
    survey_devices(out);
    return ADAPS_OK;
}

void ad_context_fini(struct ad_context *context)
{
    ad_free(context->can);
    ad_free(context->dense);
    ad_free(context->cut);
    ad_free(context->segment);
    ad_free(context->alike);
    *context = (struct ad_context){0};
}

void ad_context_weights(const struct ad_context *context, const bool *use, double *weight)
{
    for (int d = 0; d < context->problem->cluster->ndevices; d++)
        weight[d] = use[d] ? context->speed[d] : 0;
}

enum ad_dim ad_context_bands(const struct ad_context *context, int op)
{
    if (context->can[op][AD_DIM_H])
        return AD_DIM_H;
    return context->can[op][AD_DIM_W] ? AD_DIM_W : AD_DIM_WHOLE;
}

bool ad_context_gathers(const struct ad_context *context, int op)
{
    const struct ad_graph *graph = context->problem->graph;
    const struct ad_operator *row = ad_operator_of(graph->ops[op].kind);
    bool keeps_rows = row->c == AD_REACH_OTHER || ad_op_shuffles_channels(graph, &graph->ops[op]);
    return row->type == 3 && (context->problem->gather_type3 || !keeps_rows);
}

/* log10 of the ways to place `cuts` cuts, in order, among rows 0..size. */
static double log10_cuts(int64_t size, int cuts)
{
    double n = (double)size + cuts, k = cuts;
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(10);
}

double ad_context_space(const struct ad_context *context)
{
    const struct ad_graph *graph = context->problem->graph;
    int n = context->problem->cluster->ndevices;
    double total = 0;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_value *value = &graph->values[graph->ops[i].output];
        double ways = log10(n + context->can[i][AD_DIM_EACH]); /* log10(10^a + 10^b) as it grows */
        for (enum ad_dim dim = AD_DIM_H; dim <= AD_DIM_C; dim++)
            if (context->can[i][dim]) {
                double more = log10_cuts(ad_dim_extent(value, dim), n - 1) + log10(2);
                double large = fmax(ways, more), small = fmin(ways, more);
                ways = large + log10(1 + pow(10, small - large));
            }
        total += ways;
    }
    return total;
}
