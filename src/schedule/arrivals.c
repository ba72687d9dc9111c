#include "schedule/arrivals.h"

#include <string.h>

#define CORE_PART 3 /* cores are at least one part in so many of a band */

/* --- rows that are ready --- */

/* Up to which rows the inputs are there with each chunk, and how long they are on their way. */
static void find_input_rows(struct ad_pieces *p)
{
    const struct ad_lowering_context *c = p->c;
    double seconds = 0;
    for (int i = 0; i < c->graph->ninputs; i++)
        for (int d = 0; d < c->ndevices; d++)
            p->input_rows[ad_lowering_at(c, c->graph->inputs[i], d)].count = 0;
    for (size_t t = 0; t < p->routes->inputs->sends.count; t++) {
        const struct ad_transfer *m = &p->routes->inputs->sends.list[t];
        const struct ad_link *link = &c->cluster->links[ad_lowering_at(c, m->from, m->to)];
        struct ad_ready_rows *rows = &p->input_rows[ad_lowering_at(c, m->value, m->to)];
        seconds += (double)ad_region_bytes(c->graph, m->value, m->region) / (c->u8 ? 4 : 1) /
                   link->bandwidth;
        if (m->chunk + 1 < c->input_chunks && rows->count < AD_MAX_CHUNKS - 1)
            rows->row[rows->count++] = m->region.h1;
    }
    p->scatter_ns = ad_clocks_ns(seconds);
}

static struct ad_ready_rows ready_rows_of(const struct ad_pieces *p, int value, int device)
{
    int producer = p->c->graph->values[value].producer;
    if (producer >= 0)
        return p->ops[producer].cut->ready_rows[device];
    return p->input_rows[ad_lowering_at(p->c, value, device)];
}

void ad_arrivals_rows(struct ad_pieces *p, int op, int device, struct ad_ready_rows *out)
{
    const struct ad_op *what = &p->c->graph->ops[op];
    struct ad_region band = *ad_computed_at(p->routes, op, device), have[AD_MAX_FOLLOWED];
    struct ad_ready_rows in[AD_MAX_FOLLOWED];
    int count = 0;
    for (int k = 0; k < what->ninputs; k++) {
        in[k] = ready_rows_of(p, what->inputs[k], device);
        count = in[k].count > count ? in[k].count : count;
    }
    for (int c = 0; c < count; c++) {
        for (int k = 0; k < what->ninputs; k++) {
            have[k] = ad_region_whole(&p->c->graph->values[what->inputs[k]]);
            if (c < in[k].count)
                have[k].h1 = in[k].row[c];
        }
        int32_t row = ad_yield(p->c->graph, what, have).h1;
        int32_t before = out->count > 0 ? out->row[out->count - 1] : band.h0;
        if (row > before && row < band.h1)
            out->row[out->count++] = row;
    }
}

/* What the whole band of a device takes, in ns. */
static int64_t band_ns(struct ad_pieces *p, int op, int device, struct ad_cut *cut)
{
    const struct ad_lowering_context *c = p->c;
    if (cut->band_ns[device] >= 0)
        return cut->band_ns[device];
    const struct ad_op *what = &c->graph->ops[op];
    const struct ad_region *reads = p->routes->ops[op].now->reads;
    struct ad_task task = {op, *ad_computed_at(p->routes, op, device)};
    struct ad_region read[AD_MAX_FOLLOWED];
    for (int k = 0; k < what->ninputs; k++)
        read[k] = reads[ad_lowering_at(c, k, device)];
    cut->band_ns[device] =
        ad_clocks_reading_ns(c->graph, &c->cluster->devices[device], &task, read);
    return cut->band_ns[device];
}

/* --- cores --- */

/* What a device waits for at worst when it reads messages of a value: the longest way of one; 0
 * without any. */
static int64_t longest_way(const struct ad_pieces *p, int producer, int device)
{
    const struct ad_transfers *sends = &p->routes->ops[producer].now->sends;
    int64_t most = 0;
    for (size_t t = 0; t < sends->count; t++) {
        const struct ad_transfer *m = &sends->list[t];
        int64_t latency = p->c->clocks->latency[ad_lowering_at(p->c, m->from, m->to)];
        int64_t way = m->chunks * m->wire_ns + latency;
        if (m->to == device && way > most)
            most = way;
    }
    return most;
}

/* What is there of input k before the messages; *due: how long they are on their way. False when
 * that is all that is read. */
static bool core_input(struct ad_pieces *p, const struct ad_op *op, int k, int device,
                       struct ad_region *have, int64_t *due)
{
    const struct ad_lowering_context *c = p->c;
    int producer = c->graph->values[op->inputs[k]].producer;
    *have = ad_region_whole(&c->graph->values[op->inputs[k]]);
    if (producer < 0)
        return false;
    const struct ad_core *core = &p->ops[producer].cut->cores[device];
    int64_t way = c->early[producer] ? longest_way(p, producer, device) : 0;
    if (way > 0)
        *have = *ad_computed_at(p->routes, producer, device);
    if (core->due > 0) {
        have->h0 = core->h0 > have->h0 ? core->h0 : have->h0;
        have->h1 = core->h1 < have->h1 ? core->h1 : have->h1;
    }
    way = core->due > way ? core->due : way;
    *due = way > *due ? way : *due;
    return way > 0;
}

void ad_arrivals_core(struct ad_pieces *p, int op, int device, struct ad_cut *cut)
{
    const struct ad_op *what = &p->c->graph->ops[op];
    struct ad_region band = *ad_computed_at(p->routes, op, device), have[AD_MAX_FOLLOWED];
    struct ad_core *core = &cut->cores[device];
    bool waits = false;
    int64_t due = 0;
    if (ad_region_empty(band) || what->ninputs > AD_MAX_FOLLOWED)
        return;
    for (int k = 0; k < what->ninputs; k++)
        waits = core_input(p, what, k, device, &have[k], &due) || waits;
    if (!waits)
        return;
    struct ad_region there = ad_region_intersect(ad_yield(p->c->graph, what, have), band),
                     same = there;
    same.h0 = band.h0;
    same.h1 = band.h1;
    if (ad_region_empty(there) || ad_region_equal(there, band) || !ad_region_equal(same, band) ||
        CORE_PART * (there.h1 - there.h0) < band.h1 - band.h0)
        return;
    int64_t ns = band_ns(p, op, device, cut) * (there.h1 - there.h0) / (band.h1 - band.h0);
    *core = (struct ad_core){there.h0, there.h1, due > ns ? due - ns : 0};
    cut->has_due_cores = cut->has_due_cores || core->due > 0;
}

uint64_t ad_arrivals_rows_stamp(const struct ad_pieces *p, int value)
{
    int producer = p->c->graph->values[value].producer;
    if (producer >= 0)
        return p->ops[producer].cut->has_ready_rows ? p->ops[producer].cut_stamp : 0;
    return ad_value_constant(p->c->graph, value) ? 0 : p->routes->inputs->stamp;
}

/* --- how long the inputs come --- */

void ad_arrivals_begin(struct ad_pieces *p, struct ad_input_wait *out)
{
    *out = (struct ad_input_wait){.devices = 0};
    if (p->c->input_chunks > 1) {
        find_input_rows(p);
        out->devices = UINT64_MAX >> (AD_MAX_DEVICES - p->c->ndevices);
    }
}

void ad_arrivals_computed(struct ad_pieces *p, int op, struct ad_cut *cut,
                          struct ad_input_wait *wait)
{
    for (uint64_t left = wait->devices; left != 0; left &= left - 1) {
        int d = __builtin_ctzll(left);
        wait->spent[d] += band_ns(p, op, d, cut);
        if (wait->spent[d] > p->scatter_ns)
            wait->devices &= ~(UINT64_C(1) << d);
    }
}

void ad_arrivals_core_key(const struct ad_pieces *p, const struct ad_op *op, uint64_t *key)
{
    const struct ad_lowering_context *c = p->c;
    memset(key, 0, 2 * (size_t)op->ninputs * sizeof *key);
    for (int k = 0; k < op->ninputs; k++) {
        int producer = c->graph->values[op->inputs[k]].producer;
        if (producer < 0)
            continue;
        key[2 * k] = 2 * p->routes->ops[producer].now->stamp + c->early[producer] + 1;
        key[2 * k + 1] = p->ops[producer].cut->has_due_cores ? p->ops[producer].cut_stamp : 0;
    }
}
