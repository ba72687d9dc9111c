#include "search/layout_memo.h"
#include "fusion/region.h"
#include "ir/readers.h"
#include "search/layout_regions.h"

#include <string.h>

#define KEPT 4 /* per op */

/* The regions of an op, and the part of a layout that they follow from. */
struct kept {
    bool valid, derived;
    struct ad_op_layout form;
    int *cuts;                /* of an op that is not derived */
    struct ad_region *wanted; /* of a derived op: what later ops read, by device */
    struct ad_region *regions;
    struct ad_region *reads; /* [input * ndevices + device]: what the regions read */
};

struct ad_layout_memo {
    const struct ad_graph *graph;
    int source, ndevices;
    struct ad_readers readers;
    struct ad_arena arena;
    struct kept *kept;        /* [op * KEPT], the one used last first */
    struct ad_region *wanted; /* scratch, by device */

    /* Of the last layout. */
    bool known; /* there was one */
    struct ad_op_layout *forms;
    int *cuts;
    struct ad_region *regions;
    bool *stale; /* by op: what its readers want may not be what it was */
};

static bool init_kept(struct ad_layout_memo *memo, int op)
{
    size_t n = (size_t)memo->ndevices, nreads = n * (size_t)memo->graph->ops[op].ninputs;
    bool room = true;
    for (int i = 0; i < KEPT && room; i++) {
        struct kept *k = &memo->kept[op * KEPT + i];
        k->cuts = ad_arena_alloc(&memo->arena, n + 1, sizeof *k->cuts);
        k->wanted = ad_arena_alloc(&memo->arena, n, sizeof *k->wanted);
        k->regions = ad_arena_alloc(&memo->arena, n, sizeof *k->regions);
        k->reads = ad_arena_alloc(&memo->arena, nreads, sizeof *k->reads);
        room = k->cuts && k->wanted && k->regions && k->reads;
    }
    return room;
}

static bool init(struct ad_layout_memo *memo)
{
    size_t nops = (size_t)memo->graph->nops, n = (size_t)memo->ndevices;
    memo->kept = ad_arena_alloc(&memo->arena, nops * KEPT, sizeof *memo->kept);
    memo->wanted = ad_arena_alloc(&memo->arena, n, sizeof *memo->wanted);
    memo->forms = ad_arena_alloc(&memo->arena, nops, sizeof *memo->forms);
    memo->cuts = ad_arena_alloc(&memo->arena, nops * (n + 1), sizeof *memo->cuts);
    memo->regions = ad_arena_alloc(&memo->arena, nops * n, sizeof *memo->regions);
    memo->stale = ad_arena_alloc(&memo->arena, nops, sizeof *memo->stale);
    bool room = memo->kept && memo->wanted && memo->forms && memo->cuts && memo->regions &&
                memo->stale && ad_readers_init(&memo->readers, memo->graph);
    for (int i = 0; i < memo->graph->nops && room; i++)
        room = init_kept(memo, i);
    return room;
}

struct ad_layout_memo *ad_layout_memo_new(const struct ad_graph *graph, int source, int ndevices)
{
    struct ad_layout_memo *memo = ad_calloc(1, sizeof *memo);
    if (!memo)
        return NULL;
    memo->graph = graph;
    memo->source = source;
    memo->ndevices = ndevices;
    if (init(memo))
        return memo;
    ad_layout_memo_free(memo);
    return NULL;
}

void ad_layout_memo_free(struct ad_layout_memo *memo)
{
    if (!memo)
        return;
    ad_readers_fini(&memo->readers);
    ad_arena_fini(&memo->arena);
    ad_free(memo);
}

/* Whether an op's output is wanted pinned. */
static bool exchanged(const struct ad_layout_memo *memo, const struct ad_layout *layout, int value)
{
    bool any = ad_value_is_output(memo->graph, value);
    for (int r = memo->readers.first[value]; r < memo->readers.first[value + 1] && !any; r++)
        any = ad_layout_exchanges(&layout->ops[memo->readers.list[r].op]);
    return any;
}

/* What later ops read of a value, by device, into memo->wanted. */
static void gather(struct ad_layout_memo *memo, int value)
{
    const struct ad_graph *graph = memo->graph;
    int n = memo->ndevices;
    memset(memo->wanted, 0, (size_t)n * sizeof *memo->wanted);
    if (ad_value_is_output(graph, value))
        memo->wanted[memo->source] = ad_region_whole(&graph->values[value]);
    for (int r = memo->readers.first[value]; r < memo->readers.first[value + 1]; r++) {
        const struct ad_op *op = &graph->ops[memo->readers.list[r].op];
        const struct ad_region *reads = memo->kept[memo->readers.list[r].op * KEPT].reads;
        for (int k = memo->readers.list[r].input; k < op->ninputs; k++)
            for (int d = 0; d < n && op->inputs[k] == value; d++)
                memo->wanted[d] = ad_region_hull(memo->wanted[d], reads[k * n + d]);
    }
}

static bool fits(const struct ad_layout_memo *memo, const struct kept *k,
                 const struct ad_layout *layout, int i, bool derived)
{
    const struct ad_op_layout *form = &layout->ops[i];
    size_t n = (size_t)memo->ndevices;
    if (!k->valid || k->derived != derived)
        return false;
    if (derived)
        return memcmp(k->wanted, memo->wanted, n * sizeof *k->wanted) == 0;
    if (k->form.dim != form->dim || k->form.at != form->at || k->form.across != form->across)
        return false;
    return memcmp(k->cuts, ad_layout_cuts(layout, i), (n + 1) * sizeof *k->cuts) == 0;
}

static void fill(const struct ad_layout_memo *memo, const struct ad_layout *layout, int i,
                 bool derived, struct kept *out)
{
    const struct ad_op *op = &memo->graph->ops[i];
    size_t n = (size_t)memo->ndevices;
    out->valid = true;
    out->derived = derived;
    out->form = layout->ops[i];
    memcpy(out->cuts, ad_layout_cuts(layout, i), (n + 1) * sizeof *out->cuts);
    memcpy(out->wanted, memo->wanted, n * sizeof *out->wanted);
    memcpy(out->regions, memo->wanted, n * sizeof *out->regions);
    ad_layout_op_regions(memo->graph, layout, i, derived, out->regions);
    for (int k = 0; k < op->ninputs; k++)
        for (int d = 0; d < memo->ndevices; d++)
            out->reads[(size_t)k * n + (size_t)d] =
                ad_region_empty(out->regions[d]) ? out->regions[d]
                                                 : ad_need(memo->graph, op, k, out->regions[d]);
}

/* Brings what a layout makes of an op to the front of what is kept. */
static const struct kept *find(struct ad_layout_memo *memo, const struct ad_layout *layout, int i,
                               bool derived)
{
    struct kept *first = &memo->kept[i * KEPT];
    int place = 0;
    while (place < KEPT - 1 && !fits(memo, &first[place], layout, i, derived))
        place++;
    if (place == 0)
        return first;
    struct kept found = first[place];
    memmove(first + 1, first, (size_t)place * sizeof *first);
    if (!fits(memo, &found, layout, i, derived))
        fill(memo, layout, i, derived, &found);
    *first = found;
    return first;
}

/* Whether the op has the form and the cuts that it had in the last layout; notes them. */
static bool same_form(struct ad_layout_memo *memo, const struct ad_layout *layout, int i)
{
    size_t width = (size_t)memo->ndevices + 1;
    int *cuts = &memo->cuts[(size_t)i * width];
    const struct ad_op_layout *form = &layout->ops[i];
    struct ad_op_layout *old = &memo->forms[i];
    if (memo->known && old->dim == form->dim && old->pinned == form->pinned &&
        old->at == form->at && old->across == form->across &&
        memcmp(cuts, ad_layout_cuts(layout, i), width * sizeof *cuts) == 0)
        return true;
    *old = *form;
    memcpy(cuts, ad_layout_cuts(layout, i), width * sizeof *cuts);
    return false;
}

/* The ops that make what an op reads. */
static void mark_producers(struct ad_layout_memo *memo, const struct ad_op *op)
{
    for (int k = 0; k < op->ninputs; k++) {
        int p = memo->graph->values[op->inputs[k]].producer;
        if (p >= 0)
            memo->stale[p] = true;
    }
}

/* The regions of op i, where they may not be what they were. The ops after it are done. */
static void update(struct ad_layout_memo *memo, const struct ad_layout *layout, int i)
{
    const struct ad_op *op = &memo->graph->ops[i];
    size_t n = (size_t)memo->ndevices;
    struct ad_region *regions = &memo->regions[(size_t)i * n];
    bool exchanges = memo->known && ad_layout_exchanges(&memo->forms[i]);
    bool same = same_form(memo, layout, i);
    if (same && !memo->stale[i])
        return;
    memo->stale[i] = false;
    bool derived = ad_layout_derived(&layout->ops[i], exchanged(memo, layout, op->output));
    if (derived)
        gather(memo, op->output);
    const struct kept *now = find(memo, layout, i, derived);
    if (memo->known && exchanges == ad_layout_exchanges(&layout->ops[i]) &&
        memcmp(regions, now->regions, n * sizeof *regions) == 0)
        return;
    memcpy(regions, now->regions, n * sizeof *regions);
    mark_producers(memo, op);
}

void ad_layout_memo_regions(struct ad_layout_memo *memo, const struct ad_layout *layout,
                            struct ad_assignment *out)
{
    size_t count = (size_t)layout->nops * (size_t)memo->ndevices;
    ad_layout_head(layout, out);
    for (int i = layout->nops - 1; i >= 0; i--)
        update(memo, layout, i);
    memo->known = true;
    memcpy(out->region, memo->regions, count * sizeof *out->region);
}
