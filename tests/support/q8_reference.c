#include "support/q8_reference.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t ad_q8_reference_round(double x, int32_t zero, int32_t lo, int32_t hi)
{
    double y = nearbyint(x) + zero;
    return y < lo ? lo : y > hi ? hi : (int32_t)y;
}

static int64_t number(bool is_signed, uint8_t byte)
{
    return is_signed && byte >= 128 ? (int64_t)byte - 256 : byte;
}

int64_t ad_q8_reference_sum(const struct ad_q8_reference *r, int64_t n, int64_t y, int64_t x,
                            int64_t c)
{
    const struct ad_q8_conv *conv = r->conv;
    const struct ad_q8_weights *weights = r->weights;
    const struct ad_window *w = &conv->window;
    const struct ad_q8_view *in = &conv->in;
    int64_t sum = weights->bias ? weights->bias[c] : 0, depth = conv->shape.depth;
    int64_t first = c / conv->shape.outputs * depth, zero = 0;
    if (weights->zeros)
        zero = number(weights->is_signed, weights->zeros[c * weights->zero_step]);
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < w->kw; j++) {
            int64_t iy = y * w->sh - conv->top + i * w->dh;
            int64_t ix = x * w->sw - conv->left + j * w->dw;
            if (iy < 0 || iy >= in->h || ix < 0 || ix >= in->w)
                continue;
            const uint8_t *from = in->data + n * in->sn + iy * in->sh + ix * in->sw + first;
            const uint8_t *k =
                weights->data + c * weights->channel + (i * w->kw + j) * weights->tap;
            for (int64_t d = 0; d < depth; d++)
                sum += (number(conv->in_signed, from[d]) - conv->in_zero) *
                       (number(weights->is_signed, k[d * weights->input]) - zero);
        }
    return sum;
}

void ad_q8_reference_finish(const struct ad_q8_reference *r, int64_t sum, int64_t c, void *to)
{
    const struct ad_q8_out *out = &r->conv->out;
    const struct ad_q8_weights *w = r->weights;
    ck_assert(sum >= INT32_MIN && sum <= INT32_MAX);
    int32_t exact = (int32_t)sum;
    if (out->result == AD_Q8_SUMS) {
        memcpy(to, &exact, sizeof exact);
        return;
    }
    volatile float x = (float)exact; /* each operation is rounded */
    x *= w->multiplier ? w->multiplier[c * w->multiplier_step] : 1;
    if (out->result == AD_Q8_BYTES) {
        *(uint8_t *)to = (uint8_t)ad_q8_reference_round(x, out->zero, out->lo, out->hi);
        return;
    }
    x += w->float_bias ? w->float_bias[c] : 0;
    float y = x;
    y = y < out->clamp_min ? out->clamp_min : y;
    y = y > out->clamp_max ? out->clamp_max : y;
    memcpy(to, &y, sizeof y);
}

uint8_t *ad_q8_random(struct ad_rng *rng, size_t n, bool is_signed, enum ad_q8_kind kind)
{
    uint8_t *data = malloc(n ? n : 1), least = is_signed ? 0x80 : 0, most = is_signed ? 0x7f : 0xff;
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < n; i++) {
        uint8_t any = (uint8_t)ad_rng_below(rng, 256);
        data[i] = kind == AD_Q8_ANY     ? any
                  : kind == AD_Q8_LEAST ? least
                  : kind == AD_Q8_MOST  ? most
                  : any & 1             ? least
                                        : most;
    }
    return data;
}

struct ad_q8_view ad_q8_gapped(uint8_t *data, int64_t n, int64_t h, int64_t w, int64_t c,
                               int64_t gap)
{
    struct ad_q8_view v = {data, n, h, w, c, 0, 0, c + gap};
    v.sh = w * v.sw + gap;
    v.sn = h * v.sh + gap;
    return v;
}
