#include "exec/engine/memory.h"

#include "base/mem.h"

#include <stdlib.h>

struct entry {
    size_t size; /* with slack, rounded */
    size_t index;
};

static int by_size(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

static bool meet(const struct ad_extent *a, const struct ad_extent *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The start of the tightest gap of at least `size` bytes between the placed entries (sorted by
 * offset) that live together with `block`, else the end of the last of them. */
static size_t find_gap(const struct ad_extent *blocks, const struct entry *placed, size_t nplaced,
                       const struct ad_extent *block, size_t size)
{
    size_t end = 0, best = 0, best_gap = SIZE_MAX;
    for (size_t i = 0; i < nplaced; i++) {
        const struct ad_extent *other = &blocks[placed[i].index];
        if (!meet(other, block))
            continue;
        if (other->offset > end) {
            size_t gap = other->offset - end;
            if (gap >= size && gap < best_gap) {
                best = end;
                best_gap = gap;
            }
        }
        if (other->offset + placed[i].size > end)
            end = other->offset + placed[i].size;
    }
    return best_gap == SIZE_MAX ? end : best;
}

static void insert(const struct ad_extent *blocks, struct entry *placed, size_t nplaced,
                   struct entry e)
{
    size_t at = nplaced;
    for (; at > 0 && blocks[placed[at - 1].index].offset > blocks[e.index].offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = e;
}

enum adaps_status ad_memory_plan(struct ad_extent *blocks, size_t count, size_t slack,
                                 size_t *total, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    struct entry *order = ad_calloc(count, sizeof *order);
    struct entry *placed = ad_calloc(count, sizeof *placed);
    size_t sum = 0;
    *total = 0;
    if (!order || !placed) {
        status = ad_error_memory(err, "arena plan", count * sizeof *order);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        size_t size;
        if (!ad_size_add(blocks[i].bytes, slack, &size) ||
            !ad_size_add(size, AD_MEMORY_ALIGN - 1, &size) ||
            !ad_size_add(sum, size & ~(size_t)(AD_MEMORY_ALIGN - 1), &sum)) {
            status = ad_error_set(err, ADAPS_EINTERNAL, "the buffers exceed the address space");
            goto out;
        }
        order[i] = (struct entry){size & ~(size_t)(AD_MEMORY_ALIGN - 1), i};
    }
    qsort(order, count, sizeof *order, by_size);
    for (size_t i = 0; i < count; i++) {
        struct ad_extent *block = &blocks[order[i].index];
        block->offset = find_gap(blocks, placed, i, block, order[i].size);
        insert(blocks, placed, i, order[i]);
        if (block->offset + order[i].size > *total)
            *total = block->offset + order[i].size;
    }
out:
    ad_free(order);
    ad_free(placed);
    return status;
}
