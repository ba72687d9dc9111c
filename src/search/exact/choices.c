/* The choices of each op for strategy exhaustive: all cuts, but each set of regions only once. */
#include "search/exact/choices.h"
#include "base/round.h"
#include "search/layout_regions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CRUDE_LOG10 2   /* by how much the crude bound may be above the limit */
#define MAX_CHOICES 1e5 /* of one op */

/* While the choices of one op are collected. */
struct maker {
    const struct ad_context *context;
    struct ad_choices *out;
    size_t op_room, cut_room, region_room;
    struct ad_layout layout; /* all whole but the op */
    struct ad_assignment rows;
    bool *exchange;
    int op, ndevices;
};

/* Ways to place `cuts` cuts, in order, among rows 0..size. */
static double count_cuts(int64_t size, int cuts)
{
    double ways = 1;
    for (int k = 1; k <= cuts; k++)
        ways = ways * ((double)size + k) / k;
    return ways;
}

static bool grids(const struct ad_context *context, int op)
{
    return context->can[op][AD_DIM_H] && context->problem->split_h && context->problem->split_w;
}

static bool spatial(const struct ad_context *context, int op)
{
    return context->can[op][AD_DIM_H] || context->can[op][AD_DIM_W];
}

static bool divisible(const struct ad_context *context, int op)
{
    return spatial(context, op) || context->can[op][AD_DIM_C];
}

/* How many candidates collect() will see. */
static double count_candidates(const struct ad_context *context, int op)
{
    const struct ad_value *value =
        &context->problem->graph->values[context->problem->graph->ops[op].output];
    int n = context->problem->cluster->ndevices;
    double sum = spatial(context, op) && n > 1 ? 0 : n;
    for (enum ad_dim dim = AD_DIM_H; dim <= AD_DIM_C && n > 1; dim++)
        if (context->can[op][dim])
            sum += count_cuts(ad_dim_extent(value, dim), n - 1);
    for (int across = 2; across <= n && grids(context, op); across++)
        sum += count_cuts(ad_dim_extent(value, AD_DIM_H), (n - 1) / across);
    return sum;
}

/* Adds the layout's op, pinned, as a choice. */
static bool add(struct maker *m)
{
    struct ad_choices *out = m->out;
    size_t n = (size_t)m->ndevices, k = out->count;
    if (!ad_grow(&out->ops, k, &m->op_room, sizeof *out->ops))
        return false;
    for (size_t d = 0; d <= n; d++) {
        if (!ad_grow(&out->cuts, k * (n + 1) + d, &m->cut_room, sizeof *out->cuts))
            return false;
        out->cuts[k * (n + 1) + d] = ad_layout_cuts(&m->layout, m->op)[d];
    }
    ad_layout_regions(m->context->problem->graph, m->context->problem->cluster->source, &m->layout,
                      m->exchange, &m->rows);
    for (size_t d = 0; d < n; d++) {
        if (!ad_grow(&out->regions, k * n + d, &m->region_room, sizeof *out->regions))
            return false;
        out->regions[k * n + d] = *ad_assigned(&m->rows, m->op, (int)d);
    }
    out->ops[k] = m->layout.ops[m->op];
    out->count++;
    return true;
}

/* All ascending rows of `bands` bands of `across` devices each (1: bands alone). */
static bool add_cuts(struct maker *m, enum ad_dim dim, int across)
{
    const struct ad_graph *graph = m->context->problem->graph;
    int32_t size = ad_dim_extent(&graph->values[graph->ops[m->op].output], dim);
    int bands = (m->ndevices + across - 1) / across;
    int32_t row[AD_MAX_DEVICES + 1] = {0}; /* row[b] is where band b begins */
    int *cuts = ad_layout_cuts(&m->layout, m->op);
    row[bands] = size;
    m->layout.ops[m->op] =
        (struct ad_op_layout){.dim = dim, .pinned = true, .across = across > 1 ? across : 0};
    for (;;) {
        for (int d = 0; d <= m->ndevices; d++)
            cuts[d] = ad_row_cut(row[d < m->ndevices ? d / across : bands], size);
        if (!add(m))
            return false;
        int b = bands - 1;
        while (b > 0 && row[b] == size)
            b--;
        if (b <= 0)
            return true;
        int32_t next = row[b] + 1;
        for (; b < bands; b++)
            row[b] = next;
    }
}

static bool collect(struct maker *m)
{
    const struct ad_context *context = m->context;
    bool room = true;
    for (int d = 0; d < m->ndevices && room && (m->ndevices == 1 || !spatial(context, m->op));
         d++) {
        m->layout.ops[m->op] = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = d};
        room = add(m);
    }
    for (enum ad_dim dim = AD_DIM_H; dim <= AD_DIM_C && m->ndevices > 1; dim++)
        if (context->can[m->op][dim])
            room = room && add_cuts(m, dim, 1);
    for (int across = 2; across <= m->ndevices && grids(context, m->op); across++)
        room = room && add_cuts(m, AD_DIM_H, across);
    m->layout.ops[m->op] = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true};
    return room;
}

/* The regions of one choice, to be sorted. */
struct entry {
    const struct ad_region *regions;
    size_t index, size;
};

static int compare_regions(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    return memcmp(a->regions, b->regions, a->size);
}

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    int order = compare_regions(pa, pb);
    return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

/* Drops choices with the same regions as an earlier one; keeps the order. */
static bool unite(struct ad_choices *c, size_t n)
{
    struct entry *entries = ad_calloc(c->count, sizeof *entries);
    bool *drop = ad_calloc(c->count, sizeof *drop);
    size_t kept = 0;
    bool room = entries && drop;
    for (size_t k = 0; room && k < c->count; k++)
        entries[k] = (struct entry){&c->regions[k * n], k, n * sizeof *c->regions};
    if (room)
        qsort(entries, c->count, sizeof *entries, compare_entries);
    for (size_t k = 1; room && k < c->count; k++)
        drop[entries[k].index] = compare_regions(&entries[k - 1], &entries[k]) == 0;
    for (size_t k = 0; room && k < c->count; k++) {
        if (drop[k])
            continue;
        c->ops[kept] = c->ops[k];
        memmove(&c->cuts[kept * (n + 1)], &c->cuts[k * (n + 1)], (n + 1) * sizeof *c->cuts);
        memmove(&c->regions[kept * n], &c->regions[k * n], n * sizeof *c->regions);
        kept++;
    }
    if (room)
        c->count = kept;
    ad_free(entries);
    ad_free(drop);
    return room;
}

/* *derivable: an op's regions may follow from those of its readers, because it and all of them can
 * be split along rows or columns and nothing else wants the whole, or because it is one pixel.
 * *divided: a reader can be split at all. */
static void survey_readers(const struct ad_context *context, int op, bool *derivable, bool *divided)
{
    const struct ad_graph *graph = context->problem->graph;
    *derivable = spatial(context, op);
    *divided = false;
    for (int i = 0; i < graph->noutputs; i++)
        if (graph->values[graph->outputs[i]].producer == op)
            *derivable = false;
    for (int i = op + 1; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (graph->ops[i].inputs[k] == graph->ops[op].output) {
                *derivable = *derivable && spatial(context, i);
                *divided = *divided || divisible(context, i);
            }
    *derivable =
        (*derivable || context->can[op][AD_DIM_EACH]) && context->problem->cluster->ndevices > 1;
}

static enum adaps_status make_all(const struct ad_context *context, struct ad_choices *out,
                                  struct adaps_error *err)
{
    int nops = context->problem->graph->nops, n = context->problem->cluster->ndevices;
    struct maker m = {.context = context, .ndevices = n};
    m.exchange = ad_calloc((size_t)nops, sizeof *m.exchange);
    enum adaps_status status =
        m.exchange ? ad_layout_init(&m.layout, nops, n, err) : ad_error_memory(err, "search", 1);
    if (status == ADAPS_OK)
        status = ad_assignment_init(&m.rows, nops, n, err);
    for (m.op = 0; m.op < nops && status == ADAPS_OK; m.op++) {
        m.out = &out[m.op];
        m.op_room = m.cut_room = m.region_room = 0;
        if (!collect(&m) || !unite(m.out, (size_t)n))
            status = ad_error_memory(err, "search", m.out->count);
    }
    ad_assignment_fini(&m.rows);
    ad_layout_fini(&m.layout);
    ad_free(m.exchange);
    return status;
}

/* log10 of the layouts: of the choices when they are there, else of the candidates; *large when an
 * op has too many. */
static double space(const struct ad_context *context, const struct ad_choices *choices, bool *large)
{
    int n = context->problem->cluster->ndevices;
    double sum = log10(1 + (ad_choices_hubs(context) ? n : 0) +
                       (n > 1 ? 3 * AD_MAX_CHUNKS * AD_MAX_CHUNKS
                              : 1)); /* orders, chunks of inputs and bands, hubs */
    if (context->u8 && n > 1)
        sum += log10(2);
    if (n > 1)
        sum += log10(1 + __builtin_popcount(context->problem->encodings & AD_ENCODINGS_LOSSY));
    for (int i = 0; i < context->problem->graph->nops; i++) {
        bool derivable, divided;
        double count = choices ? (double)choices[i].count : count_candidates(context, i);
        survey_readers(context, i, &derivable, &divided);
        *large = *large || count > MAX_CHOICES;
        sum += log10(count + derivable);
        if (n > 1 && (divided || divisible(context, i)))
            sum += log10(2);
    }
    return sum;
}

enum adaps_status ad_choices_make(const struct ad_context *context, int64_t limit,
                                  struct ad_choices **out, double *space_log10,
                                  struct adaps_error *err)
{
    int nops = context->problem->graph->nops;
    bool large = false;
    *out = NULL;
    *space_log10 = space(context, NULL, &large);
    if (large ||
        ad_round_coarse(*space_log10) > ad_round_coarse(log10((double)limit) + CRUDE_LOG10))
        return ADAPS_OK;
    struct ad_choices *choices = ad_calloc((size_t)nops, sizeof *choices);
    enum adaps_status status =
        choices ? make_all(context, choices, err) : ad_error_memory(err, "search", (size_t)nops);
    if (status != ADAPS_OK) {
        ad_choices_free(choices, nops);
        return status;
    }
    for (int i = 0; i < nops; i++) {
        bool divided;
        survey_readers(context, i, &choices[i].derivable, &divided);
    }
    *space_log10 = space(context, choices, &large);
    *out = choices;
    return ADAPS_OK;
}

void ad_choices_free(struct ad_choices *choices, int nops)
{
    for (int i = 0; choices && i < nops; i++) {
        ad_free(choices[i].ops);
        ad_free(choices[i].cuts);
        ad_free(choices[i].regions);
    }
    ad_free(choices);
}
