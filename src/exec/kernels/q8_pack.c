/* Packed weights of convolutions of bytes: panels of output channels, for each group. */
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/q8_pack.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FLIP 0x80 /* between uint8 and int8 of 128 less */

struct ad_q8_panels ad_q8_panels(const struct ad_q8_conv_kernel *k, const struct ad_q8_shape *s)
{
    struct ad_q8_panels p = {.steps = (s->taps * s->depth + k->deep - 1) / k->deep,
                             .vectors = (s->outputs + k->lanes - 1) / k->lanes,
                             .lanes = k->lanes};
    p.panels = (p.vectors + k->vectors - 1) / k->vectors;
    p.vector = k->lanes * (4 * (int64_t)sizeof(float) + p.steps * k->deep * k->wide);
    return p;
}

bool ad_q8_conv_packed(const struct ad_q8_shape *s, size_t *bytes)
{
    const struct ad_q8_conv_kernel *k = ad_q8_conv_kernel();
    size_t depth, vectors;
    if (!ad_size_mul((size_t)s->taps, (size_t)s->depth, &depth) || depth > AD_Q8_DEPTH)
        return false;
    struct ad_q8_panels p = ad_q8_panels(k, s);
    return ad_size_mul((size_t)p.vectors, (size_t)s->groups, &vectors) &&
           ad_size_mul(vectors, (size_t)p.vector, bytes);
}

int64_t ad_q8_conv_slice(const struct ad_q8_shape *s, size_t bytes)
{
    const struct ad_q8_conv_kernel *k = ad_q8_conv_kernel();
    int64_t panel = k->lanes * k->vectors, each = ad_q8_panels(k, s).vector * k->vectors;
    return (int64_t)bytes > each ? (int64_t)bytes / each * panel : panel;
}

/* The number that a weight or its zero is. */
static int32_t weight_zero(const struct ad_q8_weights *w, int64_t i)
{
    return w->zeros ? ad_q8_number(w->is_signed, w->zeros[i * w->zero_step]) : 0;
}

int64_t ad_q8_conv_reach(const struct ad_q8_shape *s, const struct ad_q8_weights *w, int64_t i,
                         const struct ad_q8 *in)
{
    int64_t below = in->zero - ad_q8_least(in->is_signed);
    int64_t above = ad_q8_most(in->is_signed) - in->zero, most = below > above ? below : above;
    int64_t zero = weight_zero(w, i), sum = 0, bias = w->bias ? w->bias[i] : 0;
    const uint8_t *channel = w->data + i * w->channel;
    for (int64_t t = 0; t < s->taps; t++)
        for (int64_t d = 0; d < s->depth; d++)
            sum += llabs((int64_t)ad_q8_number(w->is_signed, channel[t * w->tap + d * w->input]) -
                         zero);
    return sum * most + (bias < 0 ? -bias : bias);
}

/* Where channel i of a panel lies, and how wide the panel is. */
struct place {
    char *panel;
    int64_t width, i;
};

static struct place find_place(const struct ad_q8_panels *all, void *packed, int64_t group,
                               int64_t channel)
{
    int64_t panel = channel / all->lanes * all->panels / all->vectors;
    struct ad_q8_panel p = ad_q8_panel(all, group, panel);
    if (p.first + (int64_t)p.vectors * all->lanes <= channel)
        p = ad_q8_panel(all, group, panel + 1);
    return (struct place){(char *)packed + p.at, (int64_t)p.vectors * all->lanes,
                          channel - p.first};
}

static void put_word(const struct place *p, int row, uint32_t word)
{
    memcpy(p->panel + (row * p->width + p->i) * 4, &word, sizeof word);
}

static void put_float(const struct place *p, int row, float x)
{
    memcpy(p->panel + (row * p->width + p->i) * 4, &x, sizeof x);
}

/* Where the next weight of a channel goes: `deep` of them lie together. */
struct row {
    char *at;
    int64_t skip; /* bytes from the end of these to the next ones */
    int deep, left, wide;
};

static struct row row_of(const struct ad_q8_conv_kernel *k, const struct place *p)
{
    char *weights = p->panel + 4 * p->width * (int64_t)sizeof(float);
    return (struct row){.at = weights + p->i * k->deep * k->wide,
                        .skip = (p->width - 1) * k->deep * k->wide,
                        .deep = k->deep,
                        .left = k->deep,
                        .wide = k->wide};
}

static inline void put_weight(struct row *row, int8_t weight)
{
    int16_t wide = weight;
    if (row->wide == 2)
        memcpy(row->at, &wide, sizeof wide);
    else
        memcpy(row->at, &weight, sizeof weight);
    row->at += row->wide;
    if (--row->left == 0) {
        row->at += row->skip;
        row->left = row->deep;
    }
}

/* The sum begins with bias - zx * sum(w) + depth * zx * zw, modulo 2^32. */
static void pack_channel(const struct ad_q8_conv_kernel *k, const struct ad_q8_shape *s,
                         const struct place *p, const struct ad_q8_weights *w, int64_t i,
                         int32_t in_zero)
{
    const uint8_t *from = w->data + i * w->channel;
    const uint8_t flip = w->is_signed ? 0 : FLIP;
    int32_t zero = weight_zero(w, i) - flip, sum = 0;
    int64_t rest = ad_q8_panels(k, s).steps * k->deep - s->taps * s->depth;
    struct row row = row_of(k, p);
    for (int64_t t = 0; t < s->taps; t++)
        for (int64_t d = 0; d < s->depth; d++) {
            int8_t weight = (int8_t)(from[t * w->tap + d * w->input] ^ flip);
            sum += weight;
            put_weight(&row, weight);
        }
    for (; rest > 0; rest--)
        put_weight(&row, 0);
    int64_t begin = (int64_t)in_zero * ((int64_t)zero * s->taps * s->depth - sum);
    put_word(p, 0, (uint32_t)(begin + (w->bias ? w->bias[i] : 0)));
    put_word(p, 1, (uint32_t)zero);
    put_float(p, 2, w->multiplier ? w->multiplier[i * w->multiplier_step] : 1);
    put_float(p, 3, w->float_bias ? w->float_bias[i] : 0);
}

static void clear_channel(const struct ad_q8_conv_kernel *k, const struct ad_q8_shape *s,
                          const struct place *p)
{
    int64_t n = ad_q8_panels(k, s).steps * k->deep;
    struct row row = row_of(k, p);
    for (int i = 0; i < 4; i++)
        put_word(p, i, 0);
    for (int64_t j = 0; j < n; j++)
        put_weight(&row, 0);
}

int32_t ad_q8_kernel_zero(const struct ad_q8_conv_kernel *k, bool is_signed, int32_t zero)
{
    return zero + (k->is_signed == is_signed ? 0 : is_signed ? FLIP : -FLIP);
}

void ad_q8_conv_pack(void *packed, const struct ad_q8_shape *s, int64_t group, int64_t first,
                     int64_t n, const struct ad_q8_weights *weights, const struct ad_q8 *in)
{
    const struct ad_q8_conv_kernel *k = ad_q8_conv_kernel();
    const struct ad_q8_panels all = ad_q8_panels(k, s);
    int32_t zero = ad_q8_kernel_zero(k, in->is_signed, in->zero);
    for (int64_t i = 0; i < n; i++) {
        struct place p = find_place(&all, packed, group, first + i);
        pack_channel(k, s, &p, weights, i, zero);
    }
    if (n > 0 && first + n == s->outputs)
        for (int64_t c = s->outputs; c < all.vectors * k->lanes; c++) {
            struct place p = find_place(&all, packed, group, c);
            clear_channel(k, s, &p);
        }
}
