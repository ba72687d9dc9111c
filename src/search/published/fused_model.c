/* The cost of a group is the longest computing of a device, after an exchange. Computing is taken
 * to be linear in what is computed of an op: groups are many, and cost tables slow to ask. An
 * exchange takes as long as the bytes through the busiest port (or through the one medium), a
 * latency, and what the cost table says of messages; through the source it takes two latencies. Who
 * sends what is not told apart: what a device lacks is taken to come from the others in proportion
 * to what they have, in two messages where these are neighbours in space, else in one from each. */
#include "search/published/fused_model.h"
#include "base/mem.h"
#include "fusion/region.h"

#include <math.h>
#include <string.h>

static struct ad_region *parts_of(const struct ad_fused_model *m, enum ad_scheme scheme, int op)
{
    return &m->part[((size_t)scheme * (size_t)m->graph->nops + (size_t)op) * (size_t)m->ndevices];
}

static struct ad_fused_time *times_of(const struct ad_fused_model *m, enum ad_scheme scheme, int op)
{
    return &m->time[((size_t)scheme * (size_t)m->graph->nops + (size_t)op) * (size_t)m->ndevices];
}

static double *shares_of(const struct ad_fused_model *m, enum ad_scheme scheme, int op)
{
    return &m->share[((size_t)scheme * (size_t)m->graph->nops + (size_t)op) * (size_t)m->ndevices];
}

/* The columns of a grid: the largest divisor of n up to its root. */
static int grid_columns(int n)
{
    int columns = 1;
    for (int k = 2; k * k <= n; k++)
        columns = n % k == 0 ? k : columns;
    return columns;
}

static void survey_cluster(struct ad_fused_model *m, const double *weight)
{
    const struct ad_cluster *cluster = m->context->problem->cluster;
    int n = m->ndevices;
    for (int d = 0; d < n; d++) {
        const struct ad_device *device = &cluster->devices[d];
        m->message_s[d] = device->table.message_s / device->speed;
        m->sharing += weight[d] > 0;
        for (int e = 0; e < n; e++)
            if (e != d)
                m->port[d] = fmax(m->port[d], cluster->links[d * n + e].bandwidth);
        if (weight[d] > 0 && d != m->source)
            m->latency = fmax(m->latency, cluster->links[m->source * n + d].latency);
    }
}

static void survey_values(struct ad_fused_model *m)
{
    const struct ad_graph *graph = m->graph;
    for (int v = 0; v < graph->nvalues; v++)
        m->last[v] = -1;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            m->last[graph->ops[i].inputs[k]] = i;
    for (int i = 0; i < graph->noutputs; i++)
        m->last[graph->outputs[i]] = graph->nops;
}

/* What the cost table says. */
static double exact_seconds(const struct ad_fused_model *m, int i, int d, struct ad_region region)
{
    const struct ad_graph *graph = m->graph;
    const struct ad_op *op = &graph->ops[i];
    int64_t images = graph->values[op->output].box.n, in = 0, r0, r1;
    for (int k = 0; k < op->ninputs; k++)
        in +=
            graph->values[op->inputs[k]].box.n * ad_region_elements(ad_need(graph, op, k, region));
    ad_weight_slice(graph, op, region, &r0, &r1);
    struct ad_work work = ad_cost_work(
        graph, op, images * ad_region_elements(ad_region_computed(graph, op, region)), in, r1 - r0);
    return ad_cost_seconds(&m->context->problem->cluster->devices[d], &work);
}

/* all: seconds of the whole op. */
static struct ad_fused_time time_of(const struct ad_fused_model *m, int i, int d,
                                    struct ad_region part, double all)
{
    const struct ad_op *op = &m->graph->ops[i];
    struct ad_region whole = ad_region_whole(&m->graph->values[op->output]);
    double elements = (double)ad_region_elements(whole);
    struct ad_fused_time time = {0, elements > 0 ? all / elements : 0};
    if (ad_region_empty(part))
        return time;
    double some = exact_seconds(m, i, d, part);
    double mine = (double)ad_region_elements(ad_region_computed(m->graph, op, part));
    if (mine < elements)
        time.element = fmax(0, (all - some) / (elements - mine));
    time.base = some - time.element * mine;
    return time;
}

/* The parts of all ops that may have the scheme. layout: with the cuts of all ops, scratch. whole:
 * [op * ndevices + device], seconds. */
static void survey_parts(struct ad_fused_model *m, enum ad_scheme scheme, struct ad_layout *layout,
                         const double *whole)
{
    for (int i = 0; i < m->graph->nops; i++) {
        struct ad_region *part = parts_of(m, scheme, i);
        double *share = shares_of(m, scheme, i), all = 0;
        if (!ad_fused_possible(m, i, scheme))
            continue;
        layout->ops[i] = ad_fused_op_layout(m, i, scheme, i);
        ad_layout_op_regions(m->graph, layout, i, false, part);
        for (int d = 0; d < m->ndevices; d++)
            all += (double)ad_region_elements(part[d]);
        for (int d = 0; d < m->ndevices; d++)
            times_of(m, scheme, i)[d] = time_of(m, i, d, part[d], whole[i * m->ndevices + d]);
        for (int d = 0; d < m->ndevices && all > 0; d++)
            share[d] = (double)ad_region_elements(part[d]) / all;
    }
}

static void survey_wholes(const struct ad_fused_model *m, const double *weight, double *whole)
{
    for (int i = 0; i < m->graph->nops; i++)
        for (int d = 0; d < m->ndevices; d++)
            if (weight[d] > 0 || d == m->source)
                whole[i * m->ndevices + d] = exact_seconds(
                    m, i, d, ad_region_whole(&m->graph->values[m->graph->ops[i].output]));
}

enum adaps_status ad_fused_model_init(struct ad_fused_model *out,
                                      const struct ad_fused_options *options,
                                      struct adaps_error *err)
{
    const struct ad_search_problem *p = options->context->problem;
    int n = p->cluster->ndevices;
    size_t all = (size_t)AD_SCHEMES * (size_t)p->graph->nops * (size_t)n;
    struct ad_layout layout;
    *out = (struct ad_fused_model){.context = options->context,
                                   .graph = p->graph,
                                   .ndevices = n,
                                   .source = p->cluster->source,
                                   .columns = grid_columns(n),
                                   .schemes = options->schemes | AD_SCHEME_BIT(AD_SCHEME_SOURCE),
                                   .through_source = options->through_source};
    out->last = ad_calloc((size_t)p->graph->nvalues, sizeof *out->last);
    out->part = ad_calloc(all, sizeof *out->part);
    out->share = ad_calloc(all, sizeof *out->share);
    out->time = ad_calloc(all, sizeof *out->time);
    out->cuts = ad_calloc((size_t)n + 1, sizeof *out->cuts);
    if (!out->last || !out->part || !out->share || !out->time || !out->cuts)
        return ad_error_memory(err, "fused groups", all * sizeof *out->part);
    enum adaps_status status = ad_layout_init(&layout, p->graph->nops, n, err);
    if (status != ADAPS_OK)
        return status;
    double *whole = ad_calloc((size_t)p->graph->nops * (size_t)n, sizeof *whole);
    if (!whole) {
        ad_layout_fini(&layout);
        return ad_error_memory(err, "fused groups", all * sizeof *whole);
    }
    survey_cluster(out, options->weight);
    survey_values(out);
    ad_cuts_proportional(options->weight, n, out->cuts);
    for (int i = 0; i < p->graph->nops; i++)
        memcpy(ad_layout_cuts(&layout, i), out->cuts, ((size_t)n + 1) * sizeof *out->cuts);
    survey_wholes(out, options->weight, whole);
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++)
        survey_parts(out, s, &layout, whole);
    ad_free(whole);
    ad_layout_fini(&layout);
    return ADAPS_OK;
}

void ad_fused_model_fini(struct ad_fused_model *model)
{
    ad_free(model->last);
    ad_free(model->part);
    ad_free(model->share);
    ad_free(model->time);
    ad_free(model->cuts);
    *model = (struct ad_fused_model){0};
}

bool ad_fused_possible(const struct ad_fused_model *m, int op, enum ad_scheme scheme)
{
    const struct ad_search_problem *p = m->context->problem;
    const bool *can = m->context->can[op];
    if (scheme != AD_SCHEME_SOURCE && (m->sharing < 2 || !(m->schemes & AD_SCHEME_BIT(scheme))))
        return false;
    switch (scheme) {
    case AD_SCHEME_ROWS:
        return can[AD_DIM_H];
    case AD_SCHEME_COLUMNS:
        return can[AD_DIM_W];
    case AD_SCHEME_GRID:
        return can[AD_DIM_H] && can[AD_DIM_W] && m->columns > 1;
    case AD_SCHEME_CHANNELS:
        return p->split_c && ad_dim_splits(m->graph, &m->graph->ops[op], AD_DIM_C);
    default:
        return true;
    }
}

struct ad_op_layout ad_fused_op_layout(const struct ad_fused_model *m, int op,
                                       enum ad_scheme scheme, int end)
{
    static const enum ad_dim dims[AD_SCHEMES] = {[AD_SCHEME_SOURCE] = AD_DIM_WHOLE,
                                                 [AD_SCHEME_ROWS] = AD_DIM_H,
                                                 [AD_SCHEME_COLUMNS] = AD_DIM_W,
                                                 [AD_SCHEME_GRID] = AD_DIM_H,
                                                 [AD_SCHEME_CHANNELS] = AD_DIM_C};
    return (struct ad_op_layout){.dim = dims[scheme],
                                 .pinned = m->last[m->graph->ops[op].output] >= end,
                                 .at = m->source,
                                 .across = scheme == AD_SCHEME_GRID ? m->columns : 1};
}

/* --- a group --- */

enum adaps_status ad_fused_walk_init(struct ad_fused_walk *out, const struct ad_fused_model *model,
                                     struct adaps_error *err)
{
    size_t values = (size_t)model->graph->nvalues, n = (size_t)model->ndevices;
    *out = (struct ad_fused_walk){.model = model};
    out->want = ad_calloc(values * n, sizeof *out->want);
    out->touched = ad_calloc(values, sizeof *out->touched);
    out->is_touched = ad_calloc(values, sizeof *out->is_touched);
    if (out->want && out->touched && out->is_touched)
        return ADAPS_OK;
    ad_fused_walk_fini(out);
    return ad_error_memory(err, "fused groups", values * n * sizeof *out->want);
}

void ad_fused_walk_fini(struct ad_fused_walk *walk)
{
    ad_free(walk->want);
    ad_free(walk->touched);
    ad_free(walk->is_touched);
    *walk = (struct ad_fused_walk){0};
}

static struct ad_region *wanted(const struct ad_fused_walk *w, int value)
{
    return &w->want[(size_t)value * (size_t)w->model->ndevices];
}

static void want(struct ad_fused_walk *w, int value, int device, struct ad_region region)
{
    struct ad_region *mine = &wanted(w, value)[device];
    if (w->model->graph->values[value].constant >= 0 || ad_region_empty(region))
        return;
    if (!w->is_touched[value])
        w->touched[w->ntouched++] = value;
    w->is_touched[value] = true;
    *mine = ad_region_hull(*mine, region);
}

void ad_fused_walk_begin(struct ad_fused_walk *w, enum ad_scheme scheme, int end)
{
    const struct ad_graph *graph = w->model->graph;
    for (int i = 0; i < w->ntouched; i++) {
        int value = w->touched[i];
        w->is_touched[value] = false;
        memset(wanted(w, value), 0, (size_t)w->model->ndevices * sizeof *w->want);
    }
    w->scheme = scheme;
    w->first = w->end = end;
    w->ntouched = 0;
    memset(w->seconds, 0, sizeof w->seconds);
    for (int i = 0; i < graph->noutputs && end > graph->nops; i++)
        want(w, graph->outputs[i], w->model->source,
             ad_region_whole(&graph->values[graph->outputs[i]]));
}

/* Seconds of one op on a region; adds what it reads. */
static double compute(struct ad_fused_walk *w, int i, int d, struct ad_region region)
{
    const struct ad_graph *graph = w->model->graph;
    const struct ad_op *op = &graph->ops[i];
    const struct ad_fused_time *time = &times_of(w->model, w->scheme, i)[d];
    for (int k = 0; k < op->ninputs; k++)
        want(w, op->inputs[k], d, ad_need(graph, op, k, region));
    int64_t elements = ad_region_elements(ad_region_computed(graph, op, region));
    return fmax(0, time->base + time->element * (double)elements);
}

void ad_fused_walk_step(struct ad_fused_walk *w)
{
    const struct ad_fused_model *m = w->model;
    int i = --w->first, value = m->graph->ops[i].output;
    bool pinned = m->last[value] >= w->end;
    const struct ad_region *part = parts_of(m, w->scheme, i), *inside = wanted(w, value);
    for (int d = 0; d < m->ndevices; d++) {
        struct ad_region region =
            pinned ? part[d] : ad_region_allow(m->graph, &m->graph->ops[i], inside[d]);
        if (!ad_region_empty(region))
            w->seconds[d] += compute(w, i, d, region);
    }
}

double ad_fused_walk_seconds(const struct ad_fused_walk *w)
{
    double most = 0;
    for (int d = 0; d < w->model->ndevices; d++)
        most = fmax(most, w->seconds[d]);
    return most;
}

/* --- exchanges --- */

/* What goes through the ports in one exchange. */
struct traffic {
    double up[AD_MAX_DEVICES], down[AD_MAX_DEVICES], messages[AD_MAX_DEVICES];
    double bytes; /* over all links */
    int hops;     /* 0: nothing */
};

/* Bytes of one value, and messages, by the device that lacks them. */
struct lacking {
    double by[AD_MAX_DEVICES], messages[AD_MAX_DEVICES], all;
};

/* Elements of a value that a device lacks. */
static int64_t lacks(const struct ad_fused_walk *w, int value, int d, const struct ad_region *part)
{
    struct ad_region reads = wanted(w, value)[d];
    if (ad_region_empty(reads) || (!part && d == w->model->source))
        return 0;
    return ad_region_elements(reads) -
           (part ? ad_region_elements(ad_region_intersect(reads, part[d])) : 0);
}

/* Adds what the devices lack of one value, of which they have parts (NULL: the source has it). */
static void add_lacking(const struct ad_fused_walk *w, int value, const struct ad_region *part,
                        int senders, struct lacking *out)
{
    const struct ad_fused_model *m = w->model;
    const struct ad_value *v = &m->graph->values[value];
    double bytes = (double)(v->box.n * ad_value_unit(v));
    out->all = 0;
    for (int d = 0; d < m->ndevices; d++) {
        out->by[d] = bytes * (double)lacks(w, value, d, part);
        out->messages[d] = out->by[d] > 0 ? senders : 0;
        out->all += out->by[d];
    }
}

/* From the source alone. */
static void send_whole(const struct ad_fused_model *m, const struct lacking *l, struct traffic *t)
{
    for (int d = 0; d < m->ndevices; d++) {
        t->down[d] += l->by[d];
        t->messages[d] += l->messages[d];
    }
    t->up[m->source] += l->all;
    t->bytes += l->all;
    t->hops = t->hops > 1 ? t->hops : 1;
}

/* What goes out of each device when what one lacks comes from the others by their shares. */
static void spread(const struct ad_fused_model *m, const struct lacking *l, const double *share,
                   double *out)
{
    double by_share[AD_MAX_DEVICES], all = 0;
    for (int d = 0; d < m->ndevices; d++) {
        by_share[d] = l->by[d] > 0 && share[d] < 1 ? l->by[d] / (1 - share[d]) : 0;
        all += by_share[d];
    }
    for (int e = 0; e < m->ndevices; e++)
        out[e] = share[e] * (all - by_share[e]);
}

/* From device to device. */
static void send_parts(const struct ad_fused_model *m, const struct lacking *l, const double *share,
                       struct traffic *t)
{
    double out[AD_MAX_DEVICES];
    spread(m, l, share, out);
    for (int d = 0; d < m->ndevices; d++) {
        t->down[d] += l->by[d];
        t->messages[d] += l->messages[d];
        t->up[d] += out[d];
    }
    t->bytes += l->all;
    t->hops = t->hops > 1 ? t->hops : 1;
}

/* Through the source: to it each part once, and from it to those who lack it. whole: bytes of all
 * parts. */
static void relay_parts(const struct ad_fused_model *m, const struct lacking *l,
                        const double *share, double whole, struct traffic *t)
{
    double out[AD_MAX_DEVICES];
    spread(m, l, share, out);
    for (int d = 0; d < m->ndevices; d++) {
        if (d == m->source)
            continue;
        double once = fmin(out[d], whole * share[d]);
        t->up[d] += once;
        t->down[d] += l->by[d];
        t->messages[d] += l->by[d] > 0;
        t->down[m->source] += once;
        t->up[m->source] += l->by[d];
        t->messages[m->source] += once > 0;
        t->bytes += once + l->by[d];
    }
    t->hops = 2;
}

static void add_value(const struct ad_fused_walk *w, int value, enum ad_scheme scheme, int producer,
                      struct traffic *t)
{
    const struct ad_fused_model *m = w->model;
    bool whole = scheme == AD_SCHEME_SOURCE;
    struct lacking l;
    add_lacking(w, value, whole ? NULL : parts_of(m, scheme, producer),
                whole                          ? 1
                : scheme == AD_SCHEME_CHANNELS ? m->sharing - 1
                                               : 2,
                &l);
    if (l.all <= 0)
        return;
    if (whole)
        send_whole(m, &l, t);
    else if (m->through_source)
        relay_parts(m, &l, shares_of(m, scheme, producer),
                    (double)ad_value_bytes(&m->graph->values[value]), t);
    else
        send_parts(m, &l, shares_of(m, scheme, producer), t);
}

static double traffic_seconds(const struct ad_fused_model *m, const struct traffic *t)
{
    double ports = 0, messages = 0;
    for (int d = 0; d < m->ndevices; d++) {
        if (t->up[d] > 0 || t->down[d] > 0)
            ports = fmax(ports, fmax(t->up[d], t->down[d]) / m->port[d]);
        messages = fmax(messages, t->messages[d] * m->message_s[d]);
    }
    if (m->context->problem->cluster->shared_medium && t->bytes > 0)
        ports = fmax(ports, t->bytes / m->port[m->source]);
    return ports + messages + t->hops * m->latency;
}

double ad_fused_walk_exchange(const struct ad_fused_walk *w, const uint8_t *scheme_of)
{
    const struct ad_fused_model *m = w->model;
    struct traffic t = {.hops = 0};
    for (int i = 0; i < w->ntouched; i++) {
        int value = w->touched[i], producer = m->graph->values[value].producer;
        bool inside = producer >= w->first && producer < w->end;
        if (inside && m->last[value] < w->end)
            continue; /* each device computes what it reads of it */
        enum ad_scheme scheme = producer < 0 ? AD_SCHEME_SOURCE
                                : inside     ? w->scheme
                                             : (enum ad_scheme)scheme_of[producer];
        add_value(w, value, scheme, producer, &t);
    }
    return traffic_seconds(m, &t);
}
