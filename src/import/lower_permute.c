/* Permutations of dims as they lie in memory. One of a permutation is made one of what that reads.
 */
#include "import/lower_internal.h"

#include <string.h>

/* Out dim i is dim perm[i] of a view. */
struct permutation {
    int rank;
    int64_t view[AD_MAX_RANK];
    int32_t perm[AD_MAX_RANK];
};

/* The logical dims in the order in which they lie in memory. */
static void memory_order(int rank, enum ad_format format, int *axes)
{
    static const int nhwc[] = {0, 2, 3, 1}, nhwdc[] = {0, 3, 4, 2, 1};
    for (int i = 0; i < rank; i++)
        axes[i] = format != AD_NHWC ? i : rank == 5 ? nhwdc[i] : nhwc[i];
}

/* A transpose by `perm` (logical: out dim i is in dim perm[i]) of a value with these dims, between
 * these formats. */
static struct permutation in_memory(int rank, const int64_t *dims, const int32_t *perm,
                                    enum ad_format from, enum ad_format to)
{
    struct permutation p = {.rank = rank};
    int source[AD_MAX_RANK], result[AD_MAX_RANK], place[AD_MAX_RANK] = {0};
    memory_order(rank, from, source);
    memory_order(rank, to, result);
    for (int i = 0; i < rank; i++) {
        place[source[i]] = i;
        p.view[i] = dims[source[i]];
    }
    for (int i = 0; i < rank; i++)
        p.perm[i] = place[perm[result[i]]];
    return p;
}

/* Whether it leaves the elements in place. */
static bool stays(const struct permutation *p)
{
    int32_t last = -1;
    for (int i = 0; i < p->rank; i++) {
        if (p->view[p->perm[i]] == 1)
            continue;
        if (p->perm[i] < last)
            return false;
        last = p->perm[i];
    }
    return true;
}

bool ad_lower_stays(int rank, const int64_t *dims, const int32_t *perm, enum ad_format from,
                    enum ad_format to)
{
    struct permutation p = in_memory(rank, dims, perm, from, to);
    return stays(&p);
}

/* Parts of dims: each is of one dim of what the first permutation makes, and of one of the view of
 * the second. */
struct parts {
    int count;
    int64_t size[AD_MAX_RANK];
    int made[AD_MAX_RANK], seen[AD_MAX_RANK];
};

/* False where there are no such parts, or too many. */
static bool find_parts(const struct permutation *first, const struct permutation *second,
                       struct parts *parts)
{
    int64_t made = 1, seen = 1; /* what is left of dims i and k */
    parts->count = 0;
    for (int i = -1, k = -1;;) {
        while (made == 1 && i + 1 < first->rank)
            made = first->view[first->perm[++i]];
        while (seen == 1 && k + 1 < second->rank)
            seen = second->view[++k];
        if (made == 1 && seen == 1)
            return true;
        int64_t size = made < seen ? made : seen;
        if (size <= 1 || made % size != 0 || seen % size != 0 || parts->count == AD_MAX_RANK)
            return false;
        parts->size[parts->count] = size;
        parts->made[parts->count] = i;
        parts->seen[parts->count++] = k;
        made /= size;
        seen /= size;
    }
}

/* *second of what *first makes becomes one permutation of what the first reads. */
static bool compose(const struct permutation *first, struct permutation *second)
{
    struct parts parts;
    struct permutation both = {0};
    int place[AD_MAX_RANK];
    if (!find_parts(first, second, &parts) || parts.count == 0)
        return false;
    for (int d = 0; d < first->rank; d++)
        for (int i = 0; i < parts.count; i++)
            if (first->perm[parts.made[i]] == d) {
                place[i] = both.rank;
                both.view[both.rank++] = parts.size[i];
            }
    for (int k = 0, n = 0; k < second->rank; k++)
        for (int i = 0; i < parts.count; i++)
            if (parts.seen[i] == second->perm[k])
                both.perm[n++] = place[i];
    *second = both;
    return true;
}

/* The op that makes a value, if it is of this kind. */
static const struct ad_op *made_by(const struct ad_draft_lowering *l, int value,
                                   enum ad_op_kind kind)
{
    int producer = l->values[value].producer;
    return producer >= 0 && l->ops[producer].kind == kind ? &l->ops[producer] : NULL;
}

int ad_lower_permute(struct ad_draft_lowering *l, const char *type, int from, int rank,
                     const int64_t *dims, const int32_t *perm, int to)
{
    struct permutation p =
        in_memory(rank, dims, perm, l->values[from].format, l->values[to].format);
    const struct ad_op *reshape = made_by(l, from, AD_OP_RESHAPE);
    const struct ad_op *before = made_by(l, reshape ? reshape->inputs[0] : from, AD_OP_PERMUTE);
    if (before) {
        struct permutation first = {.rank = before->view_rank};
        memcpy(first.view, before->view_dims, sizeof first.view);
        memcpy(first.perm, before->perm, sizeof first.perm);
        if (compose(&first, &p))
            from = before->inputs[0];
    }
    if (stays(&p))
        return ad_lower_reshape(l, from, to);
    struct ad_op *op = ad_lower_op(l, NULL, AD_OP_PERMUTE, l->values[to].name, type, 1, &from, to);
    if (!op)
        return -1;
    op->view_rank = p.rank;
    memcpy(op->view_dims, p.view, sizeof p.view);
    memcpy(op->perm, p.perm, sizeof p.perm);
    return to;
}
