/* Routing, the first pass of lowering, backwards over the ops: what each device needs of each value
 * is known once all consumers have been seen; what it does not compute itself becomes transfers
 * from holders, and what nobody wants of a computed region is pruned before the op's own inputs are
 * asked for.
 *
 * With a hub, the hub fetches all that any other device lacks and some device computes, and serves
 * the others. What it has received it passes on at once (a relay).
 *
 * A search lowers thousands of assignments that differ in a few ops. What is found for an op
 * depends on its assigned regions and on what the readers of its output compute; the last
 * few answers are kept (struct ad_routed). */
#include "schedule/lowering.h"
#include "fusion/fused.h"

#include <stdlib.h>
#include <string.h>

static void note_need(struct ad_step_lowering *l, int device, struct ad_region r, int op)
{
    if (ad_region_empty(r))
        return;
    l->needed[device] = ad_region_hull(l->needed[device], r);
    l->first_use[device] = op;
}

/* What is needed of a value, all of whose readers are routed. */
static void gather_needs(struct ad_step_lowering *l, int value)
{
    const struct ad_graph *graph = l->graph;
    size_t n = (size_t)l->ndevices;
    memset(l->needed, 0, n * sizeof *l->needed);
    memset(l->first_use, 0, n * sizeof *l->first_use);
    for (int i = 0; i < graph->noutputs; i++)
        if (graph->outputs[i] == value)
            note_need(l, l->cluster->source, ad_region_whole(&graph->values[value]), l->nops);
    for (int r = l->first_reader[value + 1]; r-- > l->first_reader[value];) {
        int op = l->readers[r].op;
        const struct ad_region *reads = l->memo[op].now->reads;
        for (int k = 0; k < graph->ops[op].ninputs; k++)
            for (int d = 0; d < l->ndevices && graph->ops[op].inputs[k] == value; d++)
                note_need(l, d, reads[k * l->ndevices + d], op);
    }
}

/* What `device` holds of a value because it computed it or was fed. */
static struct ad_region held(struct ad_step_lowering *l, int value, int device)
{
    const struct ad_value *v = &l->graph->values[value];
    if (v->producer >= 0)
        return *ad_computed_at(l, v->producer, device);
    return device == l->cluster->source ? ad_region_whole(v) : ad_region_none();
}

static bool add_transfer(struct ad_step_lowering *l, int value, int from, int to,
                         struct ad_region region)
{
    struct ad_transfers *into = l->into;
    if (!ad_grow(&into->list, into->count, &into->room, sizeof *into->list))
        return false;
    into->list[into->count++] = (struct ad_transfer){
        .value = value,
        .slot = 2 * l->graph->values[value].producer + 1,
        .from = from,
        .to = to,
        .before = l->first_use[to],
        .chunks = 1,
        .region = region,
    };
    return true;
}

static enum adaps_status nobody_computes(struct ad_step_lowering *l, int value, int to,
                                         struct ad_region box)
{
    char text[96];
    return ad_error_set(
        l->err, ADAPS_EINTERNAL, "assignment: %s needs %s of %s, which no device computes",
        l->cluster->devices[to].name,
        ad_region_format(box, ad_region_whole(&l->graph->values[value]), text, sizeof text),
        l->graph->values[value].name);
}

/* The hull of several needs may hold a gap that nobody reads and nobody computes; only a piece that
 * some task or the network's output really reads must be there. */
static bool really_read(struct ad_step_lowering *l, int value, int device, struct ad_region piece)
{
    const struct ad_graph *graph = l->graph;
    l->asked_readers = true;
    if (device == l->cluster->source)
        for (int i = 0; i < graph->noutputs; i++)
            if (graph->outputs[i] == value)
                return true;
    for (int i = 0; i < l->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        for (int k = 0; k < op->ninputs; k++)
            if (op->inputs[k] == value &&
                !ad_region_empty(ad_region_intersect(
                    piece, ad_need(graph, op, k, *ad_computed_at(l, i, device)))))
                return true;
    }
    return false;
}

/* Cuts what `to` lacks of a value among the holders, the largest part first; equal parts go to the
 * lower index. */
static enum adaps_status fetch(struct ad_step_lowering *l, int value, int to,
                               struct ad_region_set *missing)
{
    while (missing->count > 0) {
        struct ad_region box = missing->boxes[missing->count - 1], best = ad_region_none();
        int from = -1;
        for (int d = 0; d < l->ndevices; d++) {
            struct ad_region part = ad_region_intersect(box, held(l, value, d));
            if (d != to && ad_region_elements(part) > ad_region_elements(best)) {
                best = part;
                from = d;
            }
        }
        if (from < 0) {
            if (really_read(l, value, to, box))
                return nobody_computes(l, value, to, box);
            missing->count--;
            continue;
        }
        struct ad_region rest[6];
        int nrest = ad_region_subtract(box, best, rest);
        missing->count--;
        bool room = add_transfer(l, value, from, to, best);
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(missing, rest[i]);
        if (!room)
            return ad_error_memory(l->err, "transfers", l->into->count);
    }
    return ADAPS_OK;
}

/* The parts that `device` needs and does not have itself; how many (at most 6). */
static int lacks(struct ad_step_lowering *l, int value, int device, struct ad_region rest[6])
{
    struct ad_region want = l->needed[device];
    return ad_region_empty(want) ? 0 : ad_region_subtract(want, held(l, value, device), rest);
}

/* With a hub: it fetches all that anybody lacks and it has not, and serves the others from that.
 * What it passes on leaves in front of the value's first reader. */
static enum adaps_status fill_hub(struct ad_step_lowering *l, int value, int *first)
{
    struct ad_region_set missing = {0};
    struct ad_region rest[6];
    enum adaps_status status = ADAPS_OK;
    bool room = true;
    *first = l->nops;
    for (int d = 0; d < l->ndevices; d++) {
        int nrest = lacks(l, value, d, rest);
        int use = l->first_use[d];
        *first = nrest > 0 && use < *first ? use : *first;
        for (int i = 0; i < nrest && room; i++)
            room = ad_region_set_add(&missing, rest[i]);
    }
    size_t old = l->into->count;
    if (!room || !ad_region_set_remove(&missing, held(l, value, l->hub)))
        status = ad_error_memory(l->err, "transfers", missing.count);
    else
        status = fetch(l, value, l->hub, &missing);
    for (size_t t = old; t < l->into->count; t++)
        l->into->list[t].before = *first;
    ad_region_set_fini(&missing);
    return status;
}

/* One message from the hub; a relay unless it computed all of it. */
static bool add_served(struct ad_step_lowering *l, int value, int to, struct ad_region box,
                       int first)
{
    if (!add_transfer(l, value, l->hub, to, box))
        return false;
    if (!ad_region_contains(held(l, value, l->hub), box))
        l->into->list[l->into->count - 1].slot = 2 * first;
    return true;
}

/* Sends `to` what it lacks of a value, of which the hub has `there`. */
static enum adaps_status serve(struct ad_step_lowering *l, int value, int to,
                               const struct ad_region_set *there, int first)
{
    struct ad_region rest[6];
    struct ad_region_set left = {0};
    enum adaps_status status = ADAPS_OK;
    int nrest = lacks(l, value, to, rest);
    bool room = true;
    for (int i = 0; i < nrest && room; i++) {
        if (ad_region_set_covers(there, rest[i])) {
            room = add_served(l, value, to, rest[i], first);
            continue;
        }
        room = ad_region_set_add(&left, rest[i]);
        for (size_t k = 0; k < there->count && room; k++) {
            struct ad_region part = ad_region_intersect(rest[i], there->boxes[k]);
            room = ad_region_empty(part) ||
                   (ad_region_set_remove(&left, part) && add_served(l, value, to, part, first));
        }
    }
    if (!room)
        status = ad_error_memory(l->err, "transfers", l->into->count);
    for (size_t i = 0; i < left.count && status == ADAPS_OK; i++)
        if (really_read(l, value, to, left.boxes[i]))
            status = nobody_computes(l, value, to, left.boxes[i]);
    ad_region_set_fini(&left);
    return status;
}

static enum adaps_status route_hub(struct ad_step_lowering *l, int value)
{
    struct ad_region_set there = {0};
    size_t old = l->into->count;
    int first;
    enum adaps_status status = fill_hub(l, value, &first);
    bool room = status != ADAPS_OK || ad_region_set_add(&there, held(l, value, l->hub));
    for (size_t t = old; t < l->into->count && room; t++)
        room = ad_region_set_add(&there, l->into->list[t].region);
    if (!room)
        status = ad_error_memory(l->err, "transfers", there.count);
    for (int d = 0; d < l->ndevices && status == ADAPS_OK; d++)
        if (d != l->hub)
            status = serve(l, value, d, &there, first);
    ad_region_set_fini(&there);
    return status;
}

/* Transfers of one value, all of whose readers are known. */
static enum adaps_status route(struct ad_step_lowering *l, int value)
{
    struct ad_region_set *missing = &l->missing;
    enum adaps_status status = ADAPS_OK;
    if (l->hub >= 0)
        return route_hub(l, value);
    missing->count = 0;
    for (int d = 0; d < l->ndevices && status == ADAPS_OK; d++) {
        struct ad_region rest[6];
        int nrest = lacks(l, value, d, rest);
        for (int i = nrest - 1; i >= 0 && status == ADAPS_OK; i--)
            if (!ad_region_set_add(missing, rest[i]))
                status = ad_error_memory(l->err, "transfers", sizeof rest);
        if (status == ADAPS_OK)
            status = fetch(l, value, d, missing);
    }
    return status;
}

/* Shrinks what the devices compute of an op to what is read of it. */
static void prune(struct ad_step_lowering *l, int op)
{
    for (int d = 0; d < l->ndevices; d++) {
        struct ad_region *r = ad_computed_at(l, op, d);
        if (ad_region_empty(*r))
            continue;
        struct ad_region want = ad_region_intersect(*r, l->needed[d]);
        for (size_t t = 0; t < l->into->count; t++)
            if (l->into->list[t].from == d)
                want = ad_region_hull(want, ad_region_intersect(*r, l->into->list[t].region));
        want = ad_region_allow(l->graph, &l->graph->ops[op], want);
        if (ad_region_contains(*r, want))
            *r = want;
    }
}

static int compare_regions(struct ad_region a, struct ad_region b)
{
    int32_t x[6] = {a.h0, a.w0, a.c0, a.h1, a.w1, a.c1};
    int32_t y[6] = {b.h0, b.w0, b.c0, b.h1, b.w1, b.c1};
    for (int i = 0; i < 6; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* The order of the tags and of every device's SENDs: by slot, then by who waits first. */
static int compare_transfers(const void *pa, const void *pb)
{
    const struct ad_transfer *a = pa, *b = pb;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return compare_regions(a->region, b->region);
}

/* Whether the readers of a value compute what they did when `key` was noted. */
static bool readers_fit(const struct ad_step_lowering *l, int value, const uint64_t *key)
{
    for (int r = l->first_reader[value]; r < l->first_reader[value + 1]; r++)
        if (*key++ != l->memo[l->readers[r].op].now->computed_stamp)
            return false;
    return true;
}

/* Notes it; the end of the key. */
static uint64_t *note_readers(const struct ad_step_lowering *l, int value, uint64_t *key)
{
    for (int r = l->first_reader[value]; r < l->first_reader[value + 1]; r++)
        *key++ = l->memo[l->readers[r].op].now->computed_stamp;
    return key;
}

/* The kept answer for the op as it is assigned and read now; else the entry to put it into. */
static struct ad_routed *recall(struct ad_step_lowering *l, int op,
                                const struct ad_region *assigned)
{
    size_t n = (size_t)l->ndevices;
    int value = l->graph->ops[op].output, chunks = l->early[op] ? l->band_chunks : 1;
    struct ad_route_memo *memo = &l->memo[op];
    for (int i = 0; i < l->kept; i++) {
        struct ad_routed *r = &memo->kept[memo->recent.place[i]];
        if (r->valid && r->hub == l->hub && r->band_chunks == chunks &&
            r->encodings == l->encodings && readers_fit(l, value, r->readers) &&
            !memcmp(r->assigned, assigned, n * sizeof *assigned)) {
            ad_recent_use(&memo->recent, memo->recent.place[i]);
            return r;
        }
    }
    struct ad_routed *r = &memo->kept[ad_recent_oldest(&memo->recent, l->kept)];
    ad_recent_use(&memo->recent, (int)(r - memo->kept));
    r->valid = false;
    r->hub = l->hub;
    r->band_chunks = chunks;
    r->encodings = l->encodings;
    memcpy(r->assigned, assigned, n * sizeof *assigned);
    memcpy(r->computed, assigned, n * sizeof *assigned);
    note_readers(l, value, r->readers);
    return r;
}

/* Puts them into the order of the tags. */
static void sort_transfers(struct ad_transfers *t)
{
    bool sorted = true;
    for (size_t i = 1; i < t->count && sorted; i++)
        sorted = compare_transfers(&t->list[i - 1], &t->list[i]) <= 0;
    if (!sorted)
        qsort(t->list, t->count, sizeof *t->list, compare_transfers);
}

/* What the messages take. */
static void time_messages(struct ad_step_lowering *l, struct ad_transfers *messages)
{
    for (size_t t = 0; t < messages->count; t++) {
        struct ad_transfer *m = &messages->list[t];
        m->encoding = ad_lowering_encoding(l, m->value, m->from, m->to);
        struct ad_step step = {.value = m->value, .encoding = m->encoding, .region = m->region};
        int64_t floats = ad_region_bytes(l->graph, m->value, m->region);
        m->bytes = ad_step_bytes(l->graph, &step);
        m->copy_ns = ad_clocks_copy_ns(l->cluster, m->from, m->encoding, floats);
        m->decode_ns = ad_clocks_decode_ns(l->cluster, m->to, m->encoding, floats);
        m->wire_ns = ad_schedule_wire_ns(l->cluster, m->from, m->to, m->bytes);
        m->sending_ns = ad_clocks_overlapped_ns(l->cluster, m->from, m->bytes);
        m->receiving_ns = ad_clocks_overlapped_ns(l->cluster, m->to, m->bytes);
    }
}

static bool same_messages(const struct ad_transfers *a, const struct ad_transfers *b)
{
    if (a->count != b->count)
        return false;
    for (size_t t = 0; t < a->count; t++) {
        const struct ad_transfer *x = &a->list[t], *y = &b->list[t];
        if (x->from != y->from || x->to != y->to || x->value != y->value || x->chunk != y->chunk ||
            x->chunks != y->chunks || x->encoding != y->encoding ||
            !ad_region_equal(x->region, y->region))
            return false;
    }
    return true;
}

/* The stamps of a fresh answer: those of equal ones, or others. */
static void stamp_route(struct ad_step_lowering *l, const struct ad_route_memo *memo,
                        struct ad_routed *r)
{
    size_t size = (size_t)l->ndevices * sizeof *r->computed;
    r->stamp = r->computed_stamp = 0;
    for (int i = 0; i < l->kept; i++) {
        const struct ad_routed *old = &memo->kept[i];
        if (!old->valid || memcmp(old->computed, r->computed, size) != 0)
            continue;
        r->computed_stamp = old->computed_stamp;
        if (same_messages(&old->sends, &r->sends))
            r->stamp = old->stamp;
    }
    r->stamp = r->stamp ? r->stamp : ++l->stamps;
    r->computed_stamp = r->computed_stamp ? r->computed_stamp : ++l->stamps;
}

static uint64_t stamp_inputs(struct ad_step_lowering *l, const struct ad_fed *f)
{
    for (int i = 0; i < l->kept; i++)
        if (l->fed[i].valid && same_messages(&l->fed[i].sends, &f->sends))
            return l->fed[i].stamp;
    return ++l->stamps;
}

static enum adaps_status route_op(struct ad_step_lowering *l, int i,
                                  const struct ad_region *assigned)
{
    const struct ad_op *op = &l->graph->ops[i];
    struct ad_routed *r = recall(l, i, assigned);
    l->memo[i].now = r;
    if (r->valid)
        return ADAPS_OK;
    l->work += AD_WORK_ROUTE * op->ninputs;
    l->into = &r->sends;
    l->into->count = 0;
    l->asked_readers = false;
    gather_needs(l, op->output);
    enum adaps_status status = route(l, op->output);
    if (status != ADAPS_OK)
        return status;
    prune(l, i);
    if (!ad_chunks_send(l, i, r->band_chunks, &r->sends))
        return ad_error_memory(l->err, "transfers", r->sends.count);
    sort_transfers(&r->sends);
    time_messages(l, &r->sends);
    for (int k = 0; k < op->ninputs; k++)
        for (int d = 0; d < l->ndevices; d++)
            r->reads[k * l->ndevices + d] = ad_need(l->graph, op, k, r->computed[d]);
    memset(r->band_ns, -1, (size_t)l->ndevices * sizeof *r->band_ns);
    stamp_route(l, &l->memo[i], r);
    r->valid = !l->asked_readers; /* that depends on more */
    return ADAPS_OK;
}

static bool append(struct ad_transfers *to, const struct ad_transfers *from)
{
    while (to->room < to->count + from->count)
        if (!ad_grow(&to->list, to->room, &to->room, sizeof *to->list))
            return false;
    if (from->count > 0)
        memcpy(&to->list[to->count], from->list, from->count * sizeof *to->list);
    to->count += from->count;
    return true;
}

/* Cuts the messages of inputs into parts of about as many rows. False without memory. */
static bool cut_inputs(struct ad_step_lowering *l, struct ad_transfers *inputs)
{
    size_t count = inputs->count;
    for (size_t t = 0; t < count; t++) {
        struct ad_transfer whole = inputs->list[t];
        int32_t rows = whole.region.h1 - whole.region.h0, at = whole.region.h0;
        int parts = rows < l->input_chunks ? rows : l->input_chunks;
        for (int part = 0; part < parts; part++) {
            struct ad_transfer *m = &inputs->list[t];
            if (part > 0) {
                if (!ad_grow(&inputs->list, inputs->count, &inputs->room, sizeof *inputs->list))
                    return false;
                m = &inputs->list[inputs->count++];
            }
            *m = whole;
            m->chunk = part;
            m->chunks = parts;
            m->region.h0 = at;
            m->region.h1 = at = whole.region.h0 + rows * (part + 1) / parts;
        }
    }
    return true;
}

/* Whether f is the answer for what is read of the inputs now. */
static bool fits(const struct ad_step_lowering *l, const struct ad_fed *f)
{
    const uint64_t *key = f->readers;
    if (!f->valid || f->hub != l->hub || f->input_chunks != l->input_chunks || f->u8 != l->u8 ||
        f->encodings != l->encodings)
        return false;
    for (int i = 0; i < l->graph->ninputs; i++) {
        int v = l->graph->inputs[i];
        if (!readers_fit(l, v, key))
            return false;
        key += l->first_reader[v + 1] - l->first_reader[v];
    }
    return true;
}

/* The kept answer for the inputs; else the entry to put it into. */
static struct ad_fed *recall_inputs(struct ad_step_lowering *l)
{
    int place = ad_recent_oldest(&l->recent_fed, l->kept);
    for (int i = 0; i < l->kept; i++)
        if (fits(l, &l->fed[i]))
            place = i;
    ad_recent_use(&l->recent_fed, place);
    struct ad_fed *f = &l->fed[place];
    if (fits(l, f))
        return f;
    f->valid = false;
    f->hub = l->hub;
    f->input_chunks = l->input_chunks;
    f->u8 = l->u8;
    f->encodings = l->encodings;
    uint64_t *key = f->readers;
    for (int i = 0; i < l->graph->ninputs; i++)
        key = note_readers(l, l->graph->inputs[i], key);
    return f;
}

static enum adaps_status route_inputs(struct ad_step_lowering *l)
{
    struct ad_fed *f = l->inputs = recall_inputs(l);
    if (f->valid)
        return ADAPS_OK;
    l->into = &f->sends;
    l->into->count = 0;
    l->asked_readers = false;
    for (int i = 0; i < l->graph->ninputs; i++) {
        gather_needs(l, l->graph->inputs[i]);
        enum adaps_status status = route(l, l->graph->inputs[i]);
        if (status != ADAPS_OK)
            return status;
    }
    if (l->input_chunks > 1 && !cut_inputs(l, &f->sends))
        return ad_error_memory(l->err, "transfers", f->sends.count);
    sort_transfers(&f->sends);
    time_messages(l, &f->sends);
    f->stamp = stamp_inputs(l, f);
    f->valid = !l->asked_readers;
    return ADAPS_OK;
}

/* All groups in the order of the slots; only a hub's relays are out of order then. */
static enum adaps_status collect(struct ad_step_lowering *l)
{
    l->all.count = 0;
    bool room = append(&l->all, &l->inputs->sends);
    for (int i = 0; i < l->nops && room; i++) {
        l->first_message[i] = (int)l->all.count;
        room = append(&l->all, &l->memo[i].now->sends);
    }
    if (!room)
        return ad_error_memory(l->err, "transfers", l->all.count);
    if (l->hub >= 0)
        sort_transfers(&l->all);
    return ADAPS_OK;
}

enum adaps_status ad_lowering_route(struct ad_step_lowering *l,
                                    const struct ad_assignment *assignment)
{
    l->hub = assignment->hub;
    l->early = assignment->early;
    for (int i = l->nops - 1; i >= 0; i--) {
        const struct ad_region *assigned = &assignment->region[(size_t)i * (size_t)l->ndevices];
        enum adaps_status status = route_op(l, i, assigned);
        if (status != ADAPS_OK)
            return status;
    }
    enum adaps_status status = route_inputs(l);
    return status == ADAPS_OK ? collect(l) : status;
}
