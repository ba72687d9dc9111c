#include "search/layout.h"
#include "fusion/fused.h"

#include <math.h>
#include <string.h>

int32_t ad_dim_extent(const struct ad_value *value, enum ad_dim dim)
{
    struct ad_region whole = ad_region_whole(value);
    switch (dim) {
    case AD_DIM_H:
        return whole.h1;
    case AD_DIM_W:
        return whole.w1;
    case AD_DIM_C:
        return whole.c1;
    default:
        return 1;
    }
}

static struct ad_region slab(const struct ad_value *value, enum ad_dim dim, int32_t lo, int32_t hi)
{
    struct ad_region r = ad_region_whole(value);
    if (dim == AD_DIM_H)
        r.h0 = lo, r.h1 = hi;
    else if (dim == AD_DIM_W)
        r.w0 = lo, r.w1 = hi;
    else if (dim == AD_DIM_C)
        r.c0 = lo, r.c1 = hi;
    return ad_region_empty(r) ? ad_region_none() : r;
}

static bool splits(const struct ad_graph *graph, const struct ad_op *op, enum ad_dim dim)
{
    const struct ad_value *value = &graph->values[op->output];
    int32_t n = ad_dim_extent(value, dim);
    if (n < 2)
        return false;
    struct ad_region half = ad_region_allow(graph, op, slab(value, dim, 0, n / 2));
    return ad_region_elements(half) < ad_region_elements(ad_region_whole(value));
}

static void survey_ops(struct ad_context *t)
{
    const struct ad_search_problem *p = t->problem;
    const struct ad_graph *graph = p->graph;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *box = &graph->values[op->output].box;
        bool dense = box->h == 1 && box->w == 1;
        t->can[i][AD_DIM_WHOLE] = true;
        t->can[i][AD_DIM_H] = p->split_h && splits(graph, op, AD_DIM_H);
        t->can[i][AD_DIM_W] = p->split_w && splits(graph, op, AD_DIM_W);
        t->can[i][AD_DIM_C] = p->split_c && dense && splits(graph, op, AD_DIM_C);
        t->can[i][AD_DIM_EACH] = dense && (p->split_h || p->split_w || p->split_c);
        t->dense[i] = t->can[i][AD_DIM_C];
    }
    ad_blocks_cuts(graph, t->cut);
    for (int i = 0; i < graph->nops; i++) {
        t->segment[i] = t->nsegments;
        t->nsegments += t->cut[i] || i + 1 == graph->nops;
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

static void survey_alike(struct ad_context *t)
{
    const struct ad_graph *graph = t->problem->graph;
    for (int i = 0; i < graph->nops; i++) {
        int k = 0;
        while (k < i && (t->alike[k] != k || !alike(graph, &graph->ops[k], &graph->ops[i])))
            k++;
        t->alike[i] = k;
    }
}

static void survey_devices(struct ad_context *t)
{
    const struct ad_cluster *cluster = t->problem->cluster;
    t->fastest = cluster->source;
    for (int d = 0; d < cluster->ndevices; d++) {
        t->speed[d] = cluster->devices[d].table.rate[AD_COST_CONV] * cluster->devices[d].speed;
        t->order[d] = d;
    }
    for (int d = 0; d < cluster->ndevices; d++)
        if (t->speed[d] > t->speed[t->fastest])
            t->fastest = d;
    for (int i = 1; i < cluster->ndevices; i++) /* by insertion: stable */
        for (int k = i; k > 0; k--) {
            int a = t->order[k - 1], b = t->order[k];
            if (a == cluster->source || (b != cluster->source && t->speed[a] >= t->speed[b]))
                break;
            t->order[k - 1] = b;
            t->order[k] = a;
        }
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

enum adaps_status ad_layout_init(struct ad_layout *out, int nops, int ndevices,
                                 struct adaps_error *err)
{
    *out = (struct ad_layout){.nops = nops, .ndevices = ndevices, .hub = -1};
    size_t n = (size_t)nops, width = (size_t)ndevices + 1;
    out->ops = ad_calloc(n, sizeof *out->ops);
    out->cuts = ad_calloc(n * width, sizeof *out->cuts);
    if (!out->ops || !out->cuts) {
        ad_layout_fini(out);
        return ad_error_memory(err, "layout", n * width * sizeof *out->cuts);
    }
    for (int i = 0; i < nops; i++)
        for (int d = 1; d <= ndevices; d++)
            ad_layout_cuts(out, i)[d] = AD_CUT_UNITS;
    return ADAPS_OK;
}

void ad_layout_fini(struct ad_layout *layout)
{
    ad_free(layout->ops);
    ad_free(layout->cuts);
    *layout = (struct ad_layout){0};
}

void ad_layout_copy_head(const struct ad_layout *from, struct ad_layout *to)
{
    to->hub = from->hub;
    to->u8 = from->u8;
    to->order = from->order;
    to->input_chunks = from->input_chunks;
    to->band_chunks = from->band_chunks;
    to->encoding = from->encoding;
}

void ad_layout_copy(const struct ad_layout *from, struct ad_layout *to)
{
    size_t n = (size_t)from->nops;
    ad_layout_copy_head(from, to);
    memcpy(to->ops, from->ops, n * sizeof *to->ops);
    memcpy(to->cuts, from->cuts, n * (size_t)(from->ndevices + 1) * sizeof *to->cuts);
}

void ad_cuts_proportional(const double *weight, int ndevices, int *cuts)
{
    double sum = 0, upto = 0;
    for (int d = 0; d < ndevices; d++)
        sum += weight[d];
    cuts[0] = 0;
    for (int d = 0; d < ndevices; d++) {
        upto += weight[d];
        cuts[d + 1] = sum > 0 ? (int)lround(upto / sum * AD_CUT_UNITS) : AD_CUT_UNITS;
    }
    cuts[ndevices] = AD_CUT_UNITS;
}

void ad_context_weights(const struct ad_context *context, const bool *use, double *weight)
{
    for (int d = 0; d < context->problem->cluster->ndevices; d++)
        weight[d] = use[d] ? context->speed[d] : 0;
}

int32_t ad_cut_row(int cut, int32_t size)
{
    return (int32_t)(((int64_t)cut * size + AD_CUT_UNITS / 2) / AD_CUT_UNITS);
}

int ad_row_cut(int32_t row, int32_t size)
{
    return (int)(((int64_t)row * AD_CUT_UNITS + size / 2) / size);
}

enum ad_dim ad_context_bands(const struct ad_context *context, int op)
{
    if (context->can[op][AD_DIM_H])
        return AD_DIM_H;
    return context->can[op][AD_DIM_W] ? AD_DIM_W : AD_DIM_WHOLE;
}

/* The tile of device d of a grid. */
static struct ad_region tile(const struct ad_value *value, const int *cuts, int across, int d,
                             int ndevices)
{
    int first = d - d % across;
    int32_t width = first + across < ndevices ? across : ndevices - first;
    struct ad_region whole = ad_region_whole(value), r = whole;
    r.h0 = ad_cut_row(cuts[first], whole.h1);
    r.h1 = ad_cut_row(cuts[first + width], whole.h1);
    r.w0 = (int32_t)((int64_t)whole.w1 * (d - first) / width);
    r.w1 = (int32_t)((int64_t)whole.w1 * (d - first + 1) / width);
    return ad_region_empty(r) ? ad_region_none() : r;
}

static void pin_regions(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                        struct ad_region *out)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_value *value = &graph->values[op->output];
    const int *cuts = ad_layout_cuts(layout, i);
    enum ad_dim dim = layout->ops[i].dim;
    int32_t size = ad_dim_extent(value, dim);
    int across = layout->ops[i].across;
    for (int d = 0; d < layout->ndevices; d++) {
        struct ad_region band =
            dim == AD_DIM_H && across > 1
                ? tile(value, cuts, across, d, layout->ndevices)
                : slab(value, dim, ad_cut_row(cuts[d], size), ad_cut_row(cuts[d + 1], size));
        out[d] = ad_region_empty(band) ? band : ad_region_allow(graph, op, band);
    }
}

/* The regions of op i, in place; before, those of a derived op are what later ops read. */
static void find_regions(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                         bool derived, struct ad_region *regions)
{
    const struct ad_op *op = &graph->ops[i];
    for (int d = 0; d < layout->ndevices && layout->ops[i].dim == AD_DIM_WHOLE; d++)
        regions[d] =
            d == layout->ops[i].at ? ad_region_whole(&graph->values[op->output]) : ad_region_none();
    for (int d = 0; d < layout->ndevices && derived; d++)
        if (!ad_region_empty(regions[d]))
            regions[d] = ad_region_allow(graph, op, regions[d]);
    if (layout->ops[i].dim != AD_DIM_WHOLE && !derived)
        pin_regions(graph, layout, i, regions);
}

/* reads[input * ndevices + device]: what an op's regions read. */
static void find_reads(const struct ad_graph *graph, const struct ad_op *op, int ndevices,
                       const struct ad_region *regions, struct ad_region *reads)
{
    for (int k = 0; k < op->ninputs; k++)
        for (int d = 0; d < ndevices; d++)
            reads[k * ndevices + d] =
                ad_region_empty(regions[d]) ? regions[d] : ad_need(graph, op, k, regions[d]);
}

/* --- what is remembered --- */

#define KEPT 4

/* What became of an op, and for what. */
struct kept {
    bool valid, derived;
    struct ad_op_layout form;
    int *cuts;                /* of an op that is not derived */
    struct ad_region *wanted; /* of a derived op */
    struct ad_region *regions, *reads;
};

struct ad_layout_memo {
    struct ad_arena arena;
    int nops;
    struct kept *kept; /* [op * KEPT], the one used last first */
};

struct ad_layout_memo *ad_layout_memo_new(const struct ad_graph *graph, int ndevices)
{
    struct ad_layout_memo *memo = ad_calloc(1, sizeof *memo);
    size_t n = (size_t)ndevices;
    if (!memo)
        return NULL;
    memo->kept = ad_arena_alloc(&memo->arena, (size_t)graph->nops * KEPT, sizeof *memo->kept);
    bool room = memo->kept != NULL;
    for (int i = 0; i < graph->nops * KEPT && room; i++) {
        struct kept *k = &memo->kept[i];
        size_t nreads = n * (size_t)graph->ops[i / KEPT].ninputs;
        k->cuts = ad_arena_alloc(&memo->arena, n + 1, sizeof *k->cuts);
        k->wanted = ad_arena_alloc(&memo->arena, n, sizeof *k->wanted);
        k->regions = ad_arena_alloc(&memo->arena, n, sizeof *k->regions);
        k->reads = ad_arena_alloc(&memo->arena, nreads, sizeof *k->reads);
        room = k->cuts && k->wanted && k->regions && k->reads;
    }
    if (room)
        return memo;
    ad_layout_memo_free(memo);
    return NULL;
}

void ad_layout_memo_free(struct ad_layout_memo *memo)
{
    if (memo)
        ad_arena_fini(&memo->arena);
    ad_free(memo);
}

static bool fits(const struct kept *k, const struct ad_layout *layout, int i, bool derived,
                 const struct ad_region *wanted)
{
    const struct ad_op_layout *form = &layout->ops[i];
    size_t n = (size_t)layout->ndevices;
    if (!k->valid || k->derived != derived)
        return false;
    if (derived)
        return memcmp(k->wanted, wanted, n * sizeof *wanted) == 0;
    if (k->form.dim != form->dim || k->form.at != form->at || k->form.across != form->across)
        return false;
    return memcmp(k->cuts, ad_layout_cuts(layout, i), (n + 1) * sizeof *k->cuts) == 0;
}

/* What becomes of op i, whose later ops want `wanted`. */
static const struct kept *recall(struct ad_layout_memo *memo, const struct ad_graph *graph,
                                 const struct ad_layout *layout, int i, bool derived,
                                 const struct ad_region *wanted)
{
    struct kept *first = &memo->kept[i * KEPT];
    size_t n = (size_t)layout->ndevices;
    int place = 0;
    while (place < KEPT - 1 && !fits(&first[place], layout, i, derived, wanted))
        place++;
    struct kept found = first[place];
    memmove(first + 1, first, (size_t)place * sizeof *first);
    if (!fits(&found, layout, i, derived, wanted)) {
        found.valid = true;
        found.derived = derived;
        found.form = layout->ops[i];
        memcpy(found.cuts, ad_layout_cuts(layout, i), (n + 1) * sizeof *found.cuts);
        memcpy(found.wanted, wanted, n * sizeof *wanted);
        memcpy(found.regions, wanted, n * sizeof *wanted);
        find_regions(graph, layout, i, derived, found.regions);
        find_reads(graph, &graph->ops[i], layout->ndevices, found.regions, found.reads);
    }
    *first = found;
    return first;
}

/* --- all ops --- */

/* `wanted` of an op's regions holds the hull of what later ops read; only `exchange` (set while its
 * readers are visited) forces a pin. memo: nullable. */
static void visit(struct ad_layout_memo *memo, const struct ad_graph *graph,
                  const struct ad_layout *layout, int i, bool *exchange, struct ad_assignment *out)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_op_layout *mine = &layout->ops[i];
    struct ad_region *regions = ad_assigned(out, i, 0);
    const struct kept *kept = NULL;
    int n = layout->ndevices;
    bool derived =
        mine->dim == AD_DIM_EACH || (mine->dim != AD_DIM_WHOLE && !mine->pinned && !exchange[i]);
    if (memo) {
        kept = recall(memo, graph, layout, i, derived, regions);
        memcpy(regions, kept->regions, (size_t)n * sizeof *regions);
    } else {
        find_regions(graph, layout, i, derived, regions);
    }
    for (int k = 0; k < op->ninputs; k++) {
        int p = graph->values[op->inputs[k]].producer;
        if (p < 0)
            continue;
        const struct ad_op_layout *theirs = &layout->ops[p];
        if (mine->dim != AD_DIM_H && mine->dim != AD_DIM_W)
            exchange[p] = true;
        if (theirs->dim != AD_DIM_EACH &&
            (theirs->dim == AD_DIM_WHOLE || theirs->pinned || exchange[p]))
            continue;
        struct ad_region *wanted = ad_assigned(out, p, 0);
        for (int d = 0; d < n; d++)
            if (!ad_region_empty(regions[d]))
                wanted[d] = ad_region_hull(wanted[d], kept ? kept->reads[k * n + d]
                                                           : ad_need(graph, op, k, regions[d]));
    }
}

void ad_layout_regions_again(struct ad_layout_memo *memo, const struct ad_graph *graph, int source,
                             const struct ad_layout *layout, bool *exchange,
                             struct ad_assignment *out)
{
    out->hub = layout->hub;
    out->u8 = layout->u8;
    out->order = layout->order;
    out->input_chunks = layout->input_chunks;
    out->band_chunks = layout->band_chunks;
    ad_assignment_encode(out, layout->encoding);
    for (int i = 0; i < layout->nops; i++)
        out->early[i] = layout->ops[i].early;
    memset(exchange, 0, (size_t)layout->nops * sizeof *exchange);
    memset(out->region, 0, (size_t)layout->nops * (size_t)layout->ndevices * sizeof *out->region);
    for (int i = 0; i < graph->noutputs; i++) {
        int p = graph->values[graph->outputs[i]].producer;
        if (p < 0)
            continue;
        exchange[p] = true;
        if (layout->ops[p].dim == AD_DIM_EACH)
            *ad_assigned(out, p, source) = ad_region_whole(&graph->values[graph->outputs[i]]);
    }
    for (int i = layout->nops - 1; i >= 0; i--)
        visit(memo, graph, layout, i, exchange, out);
}

void ad_layout_regions(const struct ad_graph *graph, int source, const struct ad_layout *layout,
                       bool *exchange, struct ad_assignment *out)
{
    ad_layout_regions_again(NULL, graph, source, layout, exchange, out);
}

/* log10 of the ways to place `cuts` cuts, in order, among rows 0..size. */
static double log10_cuts(int64_t size, int cuts)
{
    double n = (double)size + cuts, k = cuts;
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(10);
}

double ad_layout_space(const struct ad_context *context)
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
