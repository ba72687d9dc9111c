/* Who waits for what among the pieces and messages, and the memory of answers per op. */
#include "schedule/lowering.h"

#include <string.h>

/* --- memos --- */

void ad_recent_init(struct ad_recent *out)
{
    for (int i = 0; i < AD_KEPT; i++)
        out->place[i] = (uint8_t)i;
}

void ad_recent_use(struct ad_recent *r, int place)
{
    uint8_t carry = (uint8_t)place;
    for (int i = 0; i < AD_KEPT; i++) {
        uint8_t old = r->place[i];
        r->place[i] = carry;
        if (old == place)
            return;
        carry = old;
    }
}

bool ad_memo_init(struct ad_memo *out, struct ad_arena *arena, int nwords)
{
    *out = (struct ad_memo){.nwords = nwords};
    ad_recent_init(&out->recent);
    out->keys = ad_arena_alloc(arena, AD_KEPT * (size_t)nwords, sizeof *out->keys);
    return out->keys != NULL;
}

int ad_memo_place(struct ad_memo *memo, int kept)
{
    int place = ad_recent_oldest(&memo->recent, kept);
    ad_recent_use(&memo->recent, place);
    memo->stamp[place] = 0;
    return place;
}

void ad_memo_keep(struct ad_memo *memo, int place, const uint64_t *key, uint64_t stamp)
{
    size_t nwords = (size_t)memo->nwords;
    memcpy(&memo->keys[(size_t)place * nwords], key, nwords * sizeof *key);
    memo->stamp[place] = stamp;
}

void ad_ints_fini(struct ad_ints *ints)
{
    ad_free(ints->list);
    *ints = (struct ad_ints){0};
}

/* --- links --- */

/* Pieces of an op, and what brings parts of its inputs. */
struct join {
    const struct ad_op *op;
    const struct ad_cut *cut;
    struct ad_dependency_lists *parts;
};

/* One more item of op's input k: notes who reads it. A value that the op reads twice counts twice,
 * at its first input. */
static bool add_item(struct join *j, int k, struct ad_region region, int device)
{
    const struct ad_op *op = j->op;
    if (!ad_ints_add(&j->parts->first_target, (int)j->parts->targets.count))
        return false;
    for (int q = j->cut->first[device]; q < j->cut->first[device + 1]; q++)
        for (int i = k; i < op->ninputs; i++) {
            const struct ad_region *read = &j->cut->reads[q * op->ninputs + i];
            if (op->inputs[i] != op->inputs[k] || !ad_regions_meet(region, *read))
                continue;
            j->parts->waits.list[q]++;
            if (!ad_ints_add(&j->parts->targets, q))
                return false;
        }
    return true;
}

/* All items of all inputs. */
static bool add_items(struct ad_step_lowering *l, struct join *j)
{
    for (int k = 0; k < j->op->ninputs; k++) {
        int v = j->op->inputs[k], p = l->graph->values[v].producer;
        const struct ad_transfers *messages = ad_messages_of(l, v);
        if (!ad_ints_add(&j->parts->item, (int)j->parts->first_target.count))
            return false;
        if (!messages || !ad_input_first(j->op, k))
            continue;
        const struct ad_cut *made = p >= 0 ? l->orders.ops[p].cut : NULL;
        for (size_t q = 0; made && q < made->count; q++)
            if (!add_item(j, k, made->list[q].region, made->list[q].device))
                return false;
        for (size_t t = 0; t < messages->count; t++) {
            const struct ad_transfer *m = &messages->list[t];
            struct ad_region region = m->value == v ? m->region : ad_region_none();
            if (!add_item(j, k, region, m->to))
                return false;
        }
    }
    return ad_ints_add(&j->parts->first_target, (int)j->parts->targets.count);
}

/* The messages that piece q reads, by input. */
static bool add_coming(struct ad_step_lowering *l, struct join *j, int q)
{
    const struct ad_op *op = j->op;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_transfers *messages = ad_messages_of(l, op->inputs[k]);
        const struct ad_region *read = &j->cut->reads[q * op->ninputs + k];
        for (size_t t = 0; messages && t < messages->count; t++) {
            const struct ad_transfer *m = &messages->list[t];
            if (m->to != j->cut->list[q].device || m->value != op->inputs[k] ||
                !ad_regions_meet(*read, m->region))
                continue;
            if (!ad_ints_add(&j->parts->coming, k) || !ad_ints_add(&j->parts->coming, (int)t))
                return false;
        }
    }
    return true;
}

/* With AD_ORDER_EDGES the rest of a band waits for its edges. */
static void wait_for_edges(struct join *j, int device)
{
    int edges = 0, first = j->cut->first[device], end = j->cut->first[device + 1];
    for (int q = first; q < end; q++)
        edges += j->cut->list[q].edge;
    for (int q = first; q < end; q++)
        j->parts->waits.list[q] += j->cut->list[q].edge ? 0 : edges;
}

/* Copies numbers, each plus `add`, to the block's end. */
static void pack_ints(int *block, int *end, const struct ad_ints *from, int add)
{
    for (size_t i = 0; i < from->count; i++)
        block[(*end)++] = from->list[i] + add;
}

static bool pack(const struct ad_dependency_lists *p, struct ad_dependencies *out)
{
    int bounds = (int)p->item.count + 1, coming_bounds = bounds + (int)p->first_target.count;
    int targets = coming_bounds + (int)p->first_coming.count;
    int coming = targets + (int)p->targets.count, waits = coming + (int)p->coming.count, end = 0;
    size_t count = (size_t)waits + p->waits.count;
    while (out->room < count)
        if (!ad_grow(&out->block, out->room, &out->room, sizeof *out->block))
            return false;
    pack_ints(out->block, &end, &p->item, bounds);
    out->block[end++] = coming_bounds;
    pack_ints(out->block, &end, &p->first_target, targets);
    pack_ints(out->block, &end, &p->first_coming, coming);
    pack_ints(out->block, &end, &p->targets, 0);
    pack_ints(out->block, &end, &p->coming, 0);
    pack_ints(out->block, &end, &p->waits, 0);
    out->waits = &out->block[waits];
    return true;
}

static bool link_pieces(struct ad_step_lowering *l, int op, struct ad_dependencies *links)
{
    struct ad_dependency_lists *p = &l->orders.link_parts;
    struct join j = {&l->graph->ops[op], l->orders.ops[op].cut, p};
    p->waits.count = p->item.count = p->first_target.count = p->targets.count = 0;
    p->first_coming.count = p->coming.count = 0;
    for (size_t q = 0; q < j.cut->count; q++)
        if (!ad_ints_add(&p->waits, 0))
            return false;
    if (!add_items(l, &j))
        return false;
    for (size_t q = 0; q < j.cut->count; q++)
        if (!ad_ints_add(&p->first_coming, (int)p->coming.count) || !add_coming(l, &j, (int)q))
            return false;
    for (int d = 0; d < l->ndevices && l->order == AD_ORDER_EDGES; d++)
        wait_for_edges(&j, d);
    return ad_ints_add(&p->first_coming, (int)p->coming.count) && pack(p, links);
}

/* How many numbers there are about what the pieces wait for. */
static int64_t links_of(const struct ad_dependency_lists *p)
{
    return (int64_t)(p->waits.count + p->first_target.count + p->targets.count + p->coming.count);
}

bool ad_links_find(struct ad_step_lowering *l, int op)
{
    struct ad_op_pieces *mine = &l->orders.ops[op];
    const struct ad_op *what = &l->graph->ops[op];
    uint64_t *key = l->orders.key;
    key[0] = mine->cut_stamp;
    key[1] = l->order == AD_ORDER_EDGES;
    for (int k = 0; k < what->ninputs; k++) {
        int v = what->inputs[k], p = l->graph->values[v].producer;
        bool fed = p < 0 && !ad_value_constant(l->graph, v);
        key[2 + 2 * k] = p >= 0 ? l->orders.ops[p].cut_stamp : 0;
        key[3 + 2 * k] = p >= 0 ? l->memo[p].now->stamp : fed ? l->inputs->stamp : 0;
    }
    int place = ad_memo_find(&mine->links_memo, key);
    if (place < 0) {
        place = ad_memo_place(&mine->links_memo, l->kept);
        if (!link_pieces(l, op, &mine->links_kept[place]))
            return false;
        ad_memo_keep(&mine->links_memo, place, key, ++l->stamps);
        l->work += AD_WORK_LINK * links_of(&l->orders.link_parts);
    }
    mine->links = &mine->links_kept[place];
    return true;
}

void ad_dependency_lists_fini(struct ad_dependency_lists *parts)
{
    ad_ints_fini(&parts->waits);
    ad_ints_fini(&parts->item);
    ad_ints_fini(&parts->first_target);
    ad_ints_fini(&parts->targets);
    ad_ints_fini(&parts->first_coming);
    ad_ints_fini(&parts->coming);
}
