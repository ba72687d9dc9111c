#include "search/published/ranges.h"
#include "base/mem.h"

#include <string.h>

static void survey_readers(struct ad_ranges *r)
{
    const struct ad_graph *graph = r->context->problem->graph;
    for (int at = 0; at < graph->nops; at++) {
        const struct ad_op *op = &graph->ops[r->order[at]];
        for (int k = 0; k < op->ninputs; k++) {
            int producer = graph->values[op->inputs[k]].producer;
            if (producer >= 0)
                r->last[producer] = at + 1;
        }
    }
    for (int i = 0; i < graph->noutputs; i++) {
        int producer = graph->values[graph->outputs[i]].producer;
        if (producer >= 0)
            r->last[producer] = graph->nops + 1;
    }
}

static enum adaps_status find_bands(struct ad_ranges *r, const double *weight,
                                    struct adaps_error *err)
{
    const struct ad_graph *graph = r->context->problem->graph;
    struct ad_layout line;
    enum adaps_status status = ad_layout_init(&line, graph->nops, r->nplaces, err);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        line.ops[i] = (struct ad_op_layout){
            .dim = ad_context_bands(r->context, i), .pinned = true, .at = r->whole_at};
        ad_cuts_proportional(weight, r->nplaces, ad_layout_cuts(&line, i));
        ad_layout_op_regions(graph, &line, i, false, &r->bands[(size_t)i * (size_t)r->nplaces]);
    }
    ad_layout_fini(&line);
    return status;
}

enum adaps_status ad_ranges_init(struct ad_ranges *out, const struct ad_context *context,
                                 const int *order, const double *weight, int nplaces, int whole_at,
                                 struct adaps_error *err)
{
    const struct ad_graph *graph = context->problem->graph;
    size_t nops = (size_t)graph->nops, width = (size_t)nplaces;
    *out = (struct ad_ranges){.context = context,
                              .order = order,
                              .nplaces = nplaces,
                              .whole_at = whole_at,
                              .feed_at = -1};
    out->last = ad_calloc(nops, sizeof *out->last);
    out->seconds = ad_calloc(nops * width, sizeof *out->seconds);
    out->bands = ad_calloc(nops * width, sizeof *out->bands);
    out->wants = ad_calloc((size_t)graph->nvalues * width, sizeof *out->wants);
    out->pinned = ad_calloc(nops, sizeof *out->pinned);
    if (!out->last || !out->seconds || !out->bands || !out->wants || !out->pinned)
        return ad_error_memory(err, "ranges", nops * width * sizeof *out->bands);
    survey_readers(out);
    return find_bands(out, weight, err);
}

void ad_ranges_fini(struct ad_ranges *ranges)
{
    ad_free(ranges->last);
    ad_free(ranges->seconds);
    ad_free(ranges->bands);
    ad_free(ranges->wants);
    ad_free(ranges->pinned);
    *ranges = (struct ad_ranges){0};
}

void ad_ranges_begin(struct ad_ranges *r, int end)
{
    const struct ad_graph *graph = r->context->problem->graph;
    r->begin = r->end = end;
    memset(r->wants, 0, (size_t)graph->nvalues * (size_t)r->nplaces * sizeof *r->wants);
    memset(r->pinned, 0, (size_t)graph->nops * sizeof *r->pinned);
    memset(r->compute_s, 0, sizeof r->compute_s);
    memset(r->in, 0, sizeof r->in);
    memset(r->lacks, 0, sizeof r->lacks);
    memset(r->exchanged, 0, sizeof r->exchanged);
    memset(r->out, 0, sizeof r->out);
}

static double bytes(const struct ad_value *value, struct ad_region region)
{
    return (double)(value->box.n * ad_region_elements(region) * ad_value_unit(value));
}

/* Bytes of a region of a value that are not in the place's band. */
static double lack(const struct ad_ranges *r, int value, int place, struct ad_region region)
{
    const struct ad_value *v = &r->context->problem->graph->values[value];
    if (v->producer < 0)
        return place == r->feed_at ? 0 : bytes(v, region);
    struct ad_region band = r->bands[(size_t)v->producer * (size_t)r->nplaces + (size_t)place];
    return bytes(v, region) - bytes(v, ad_region_intersect(region, band));
}

/* The range reads this, too. */
static void want(struct ad_ranges *r, int value, int place, struct ad_region region)
{
    const struct ad_value *v = &r->context->problem->graph->values[value];
    struct ad_region *all = &r->wants[(size_t)value * (size_t)r->nplaces + (size_t)place];
    if (v->constant >= 0 || ad_region_contains(*all, region))
        return;
    struct ad_region more = ad_region_hull(*all, region);
    r->in[place] += bytes(v, more) - bytes(v, *all);
    r->lacks[place] += lack(r, value, place, more) - lack(r, value, place, *all);
    *all = more;
}

void ad_ranges_extend(struct ad_ranges *r)
{
    const struct ad_graph *graph = r->context->problem->graph;
    int i = r->order[--r->begin];
    const struct ad_op *op = &graph->ops[i];
    const struct ad_value *out = &graph->values[op->output];
    size_t at = (size_t)i * (size_t)r->nplaces;
    bool whole = ad_context_bands(r->context, i) == AD_DIM_WHOLE, after = r->last[i] > r->end;
    bool pinned = after || whole || r->pinned[i];
    double all = bytes(out, ad_region_whole(out));
    for (int place = 0; place < r->nplaces; place++) {
        struct ad_region wanted = r->wants[(size_t)op->output * (size_t)r->nplaces + (size_t)place];
        struct ad_region mine = r->bands[at + (size_t)place];
        double fetched = lack(r, op->output, place, wanted);
        r->in[place] -= bytes(out, wanted);
        r->lacks[place] -= fetched;
        if (pinned)
            r->exchanged[place] += fetched;
        else
            mine = ad_region_empty(wanted) ? wanted : ad_region_allow(graph, op, wanted);
        if (after)
            r->out[place] += bytes(out, mine);
        if (ad_region_empty(mine))
            continue;
        r->compute_s[place] += r->seconds[at + (size_t)place] * bytes(out, mine) / all;
        for (int k = 0; k < op->ninputs; k++)
            want(r, op->inputs[k], place, ad_need(graph, op, k, mine));
    }
    for (int k = 0; k < op->ninputs && whole; k++)
        if (graph->values[op->inputs[k]].producer >= 0)
            r->pinned[graph->values[op->inputs[k]].producer] = true;
}

double ad_whole_op_seconds(const struct ad_graph *graph, const struct ad_device *device, int i)
{
    const struct ad_op *op = &graph->ops[i];
    int64_t in = 0;
    for (int k = 0; k < op->ninputs; k++)
        in += ad_box_elements(graph->values[op->inputs[k]].box);
    struct ad_work work = ad_cost_work(graph, op, ad_box_elements(graph->values[op->output].box),
                                       in, op->weight >= 0 ? graph->weights[op->weight].rows : 0);
    return ad_cost_seconds(device, &work);
}
