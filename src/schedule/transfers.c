#include "schedule/transfers.h"

#include <stdlib.h>
#include <string.h>

struct ad_transfer *ad_transfers_add(struct ad_transfers *t)
{
    if (!ad_grow(&t->list, t->count, &t->room, sizeof *t->list))
        return NULL;
    return &t->list[t->count++];
}

bool ad_transfers_append(struct ad_transfers *to, const struct ad_transfers *from)
{
    while (to->room < to->count + from->count)
        if (!ad_grow(&to->list, to->room, &to->room, sizeof *to->list))
            return false;
    if (from->count > 0)
        memcpy(&to->list[to->count], from->list, from->count * sizeof *to->list);
    to->count += from->count;
    return true;
}

void ad_transfers_fini(struct ad_transfers *t)
{
    ad_free(t->list);
    *t = (struct ad_transfers){0};
}

/* --- their order --- */

static int compare_regions(struct ad_region a, struct ad_region b)
{
    int32_t x[6] = {a.h0, a.w0, a.c0, a.h1, a.w1, a.c1};
    int32_t y[6] = {b.h0, b.w0, b.c0, b.h1, b.w1, b.c1};
    for (int i = 0; i < 6; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

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

void ad_transfers_sort(struct ad_transfers *t)
{
    bool sorted = true;
    for (size_t i = 1; i < t->count && sorted; i++)
        sorted = compare_transfers(&t->list[i - 1], &t->list[i]) <= 0;
    if (!sorted)
        qsort(t->list, t->count, sizeof *t->list, compare_transfers);
}

/* --- how they travel --- */

/* Whether a value is likely to have many zeros: the result of a ReLU, or what is picked out of
 * such. */
static bool many_zeros(const struct ad_graph *graph, int value)
{
    int p = graph->values[value].producer;
    const struct ad_op *op = p >= 0 ? &graph->ops[p] : NULL;
    if (!op || op->function != AD_FN_NONE || op->clamp_min > 0)
        return false;
    if (op->clamp_min == 0)
        return true;
    bool picks = ad_operator_of(op->kind)->keeps_zeros;
    for (int k = 0; k < op->ninputs && picks; k++)
        picks = many_zeros(graph, op->inputs[k]);
    return picks;
}

static enum ad_encoding encoding_of(const struct ad_lowering_context *c,
                                    const struct ad_transfer *m)
{
    if (c->u8 && ad_picture_fit(c->graph, m->value))
        return AD_ENCODING_U8;
    enum ad_encoding link = (enum ad_encoding)c->encoding[ad_lowering_at(c, m->from, m->to)];
    if (ad_value_is_quantised(&c->graph->values[m->value]))
        return AD_ENCODING_F32;
    if (ad_encoding_lossy(link) && !ad_value_is_float(&c->graph->values[m->value]))
        return AD_ENCODING_F32;
    return link == AD_ENCODING_LZ4 && !many_zeros(c->graph, m->value) ? AD_ENCODING_F32 : link;
}

void ad_transfers_time(const struct ad_lowering_context *c, struct ad_transfers *transfers)
{
    for (size_t t = 0; t < transfers->count; t++) {
        struct ad_transfer *m = &transfers->list[t];
        m->encoding = encoding_of(c, m);
        struct ad_step step = {.value = m->value, .encoding = m->encoding, .region = m->region};
        int64_t floats = ad_region_bytes(c->graph, m->value, m->region);
        m->bytes = ad_step_bytes(c->graph, &step);
        m->copy_ns = ad_clocks_copy_ns(c->cluster, m->from, m->encoding, floats);
        m->decode_ns = ad_clocks_decode_ns(c->cluster, m->to, m->encoding, floats);
        m->wire_ns = ad_schedule_wire_ns(c->cluster, m->from, m->to, m->bytes);
        m->sending_ns = ad_clocks_overlapped_ns(c->cluster, m->from, m->bytes);
        m->receiving_ns = ad_clocks_overlapped_ns(c->cluster, m->to, m->bytes);
    }
}

bool ad_transfers_same(const struct ad_transfers *a, const struct ad_transfers *b)
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
