#include "search/layout_memo.h"
#include "fusion/region.h"

#include <string.h>

#define KEPT 4 /* per op */

/* The regions of an op, and the part of a layout that they follow from. */
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

/* reads[input * ndevices + device]: what an op's regions read. */
static void find_reads(const struct ad_graph *graph, const struct ad_op *op, int ndevices,
                       const struct ad_region *regions, struct ad_region *reads)
{
    for (int k = 0; k < op->ninputs; k++)
        for (int d = 0; d < ndevices; d++)
            reads[k * ndevices + d] =
                ad_region_empty(regions[d]) ? regions[d] : ad_need(graph, op, k, regions[d]);
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

struct ad_op_regions ad_layout_memo_get(struct ad_layout_memo *memo, const struct ad_graph *graph,
                                        const struct ad_layout *layout, int op, bool derived,
                                        const struct ad_region *wanted)
{
    struct kept *first = &memo->kept[op * KEPT];
    size_t n = (size_t)layout->ndevices;
    int place = 0;
    while (place < KEPT - 1 && !fits(&first[place], layout, op, derived, wanted))
        place++;
    struct kept found = first[place];
    memmove(first + 1, first, (size_t)place * sizeof *first);
    if (!fits(&found, layout, op, derived, wanted)) {
        found.valid = true;
        found.derived = derived;
        found.form = layout->ops[op];
        memcpy(found.cuts, ad_layout_cuts(layout, op), (n + 1) * sizeof *found.cuts);
        memcpy(found.wanted, wanted, n * sizeof *wanted);
        memcpy(found.regions, wanted, n * sizeof *wanted);
        ad_layout_op_regions(graph, layout, op, derived, found.regions);
        find_reads(graph, &graph->ops[op], layout->ndevices, found.regions, found.reads);
    }
    *first = found;
    return (struct ad_op_regions){found.regions, found.reads};
}
