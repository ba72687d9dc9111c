#include "schedule/dependencies.h"

/* The pieces of an op, for which its dependencies are found. */
struct join {
    const struct ad_op *op;
    const struct ad_cut *cut;
    struct ad_dependency_lists *lists;
};

/* One more item of op's input k: notes who reads it. A value that the op reads twice counts twice,
 * at its first input. */
static bool add_item(struct join *j, int k, struct ad_region region, int device)
{
    const struct ad_op *op = j->op;
    if (!ad_ints_add(&j->lists->first_target, (int)j->lists->targets.count))
        return false;
    for (int q = j->cut->first[device]; q < j->cut->first[device + 1]; q++)
        for (int i = k; i < op->ninputs; i++) {
            const struct ad_region *read = &j->cut->reads[q * op->ninputs + i];
            if (op->inputs[i] != op->inputs[k] || !ad_regions_meet(region, *read))
                continue;
            j->lists->waits.list[q]++;
            if (!ad_ints_add(&j->lists->targets, q))
                return false;
        }
    return true;
}

/* All items of all inputs. */
static bool add_items(struct ad_pieces *p, struct join *j)
{
    for (int k = 0; k < j->op->ninputs; k++) {
        int v = j->op->inputs[k], producer = p->c->graph->values[v].producer;
        const struct ad_transfers *messages = ad_messages_of(p->routes, v);
        if (!ad_ints_add(&j->lists->item, (int)j->lists->first_target.count))
            return false;
        if (!messages || !ad_input_first(j->op, k))
            continue;
        const struct ad_cut *made = producer >= 0 ? p->ops[producer].cut : NULL;
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
    return ad_ints_add(&j->lists->first_target, (int)j->lists->targets.count);
}

/* The messages that piece q reads, by input. */
static bool add_coming(struct ad_pieces *p, struct join *j, int q)
{
    const struct ad_op *op = j->op;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_transfers *messages = ad_messages_of(p->routes, op->inputs[k]);
        const struct ad_region *read = &j->cut->reads[q * op->ninputs + k];
        for (size_t t = 0; messages && t < messages->count; t++) {
            const struct ad_transfer *m = &messages->list[t];
            if (m->to != j->cut->list[q].device || m->value != op->inputs[k] ||
                !ad_regions_meet(*read, m->region))
                continue;
            if (!ad_ints_add(&j->lists->coming, k) || !ad_ints_add(&j->lists->coming, (int)t))
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
        j->lists->waits.list[q] += j->cut->list[q].edge ? 0 : edges;
}

/* Copies numbers, each plus `add`, to the block's end. */
static void pack_ints(int *block, int *end, const struct ad_ints *from, int add)
{
    for (size_t i = 0; i < from->count; i++)
        block[(*end)++] = from->list[i] + add;
}

static bool pack(const struct ad_dependency_lists *lists, struct ad_dependencies *out)
{
    int bounds = (int)lists->item.count + 1,
        coming_bounds = bounds + (int)lists->first_target.count;
    int targets = coming_bounds + (int)lists->first_coming.count;
    int coming = targets + (int)lists->targets.count, waits = coming + (int)lists->coming.count,
        end = 0;
    size_t count = (size_t)waits + lists->waits.count;
    while (out->room < count)
        if (!ad_grow(&out->block, out->room, &out->room, sizeof *out->block))
            return false;
    pack_ints(out->block, &end, &lists->item, bounds);
    out->block[end++] = coming_bounds;
    pack_ints(out->block, &end, &lists->first_target, targets);
    pack_ints(out->block, &end, &lists->first_coming, coming);
    pack_ints(out->block, &end, &lists->targets, 0);
    pack_ints(out->block, &end, &lists->coming, 0);
    pack_ints(out->block, &end, &lists->waits, 0);
    out->waits = &out->block[waits];
    return true;
}

static bool find_waits(struct ad_pieces *p, int op, struct ad_dependencies *out)
{
    const struct ad_lowering_context *c = p->c;
    struct ad_dependency_lists *lists = &p->lists;
    struct join j = {&c->graph->ops[op], p->ops[op].cut, lists};
    lists->waits.count = lists->item.count = lists->first_target.count = lists->targets.count = 0;
    lists->first_coming.count = lists->coming.count = 0;
    for (size_t q = 0; q < j.cut->count; q++)
        if (!ad_ints_add(&lists->waits, 0))
            return false;
    if (!add_items(p, &j))
        return false;
    for (size_t q = 0; q < j.cut->count; q++)
        if (!ad_ints_add(&lists->first_coming, (int)lists->coming.count) ||
            !add_coming(p, &j, (int)q))
            return false;
    for (int d = 0; d < c->ndevices && c->order == AD_ORDER_EDGES; d++)
        wait_for_edges(&j, d);
    return ad_ints_add(&lists->first_coming, (int)lists->coming.count) && pack(lists, out);
}

/* How many numbers there are about what the pieces wait for. */
static int64_t count_of(const struct ad_dependency_lists *lists)
{
    return (int64_t)(lists->waits.count + lists->first_target.count + lists->targets.count +
                     lists->coming.count);
}

bool ad_dependencies_find(struct ad_pieces *p, int op)
{
    struct ad_lowering_context *c = p->c;
    struct ad_op_pieces *mine = &p->ops[op];
    const struct ad_op *what = &c->graph->ops[op];
    uint64_t *key = p->key;
    key[0] = mine->cut_stamp;
    key[1] = c->order == AD_ORDER_EDGES;
    for (int k = 0; k < what->ninputs; k++) {
        int v = what->inputs[k], producer = c->graph->values[v].producer;
        bool fed = producer < 0 && !ad_value_constant(c->graph, v);
        key[2 + 2 * k] = producer >= 0 ? p->ops[producer].cut_stamp : 0;
        key[3 + 2 * k] = producer >= 0 ? p->routes->ops[producer].now->stamp
                         : fed         ? p->routes->inputs->stamp
                                       : 0;
    }
    int place = ad_memo_find(&mine->dependencies_memo, key);
    if (place < 0) {
        place = ad_memo_place(&mine->dependencies_memo, c->kept);
        if (!find_waits(p, op, &mine->dependencies_kept[place]))
            return false;
        ad_memo_keep(&mine->dependencies_memo, place, key, ++c->stamps);
        c->work += AD_WORK_DEPENDENCY * count_of(&p->lists);
    }
    mine->dependencies = &mine->dependencies_kept[place];
    return true;
}
