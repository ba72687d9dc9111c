/* Our own convolutions against one multiply-add after the other: the same bits, whatever the tile,
 * the slice, the parts in which weights were packed, and the instruction set; likewise pools. */
#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/wide.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/views.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 1234.5f

static const int limits[] = {16, 8, 4, 1}; /* of ad_processor_limit_lanes() */
#define LIMITS ((int)(sizeof limits / sizeof *limits))

/* A convolution with all that it needs, and what must come out. */
struct fixture {
    struct ad_conv conv;
    int64_t groups, taps, gap_in, gap_out; /* gaps: floats between pixels that are nobody's */
    float *in, *out, *add, *kernel, *bias, *packed, *want;
    size_t out_floats;
};

/* The output of one element, in the order of taps and channels. */
static float element(const struct fixture *f, int64_t n, int64_t y, int64_t x, int64_t c)
{
    const struct ad_conv *conv = &f->conv;
    const struct ad_window *w = &conv->window;
    int64_t depth = conv->blocks.depth, first = c / (conv->out.c / f->groups) * depth;
    float sum = f->bias ? f->bias[c] : 0;
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < w->kw; j++) {
            int64_t iy = y * w->sh - conv->top + i * w->dh, ix = x * w->sw - conv->left + j * w->dw;
            if (iy < 0 || iy >= conv->in.h || ix < 0 || ix >= conv->in.w)
                continue;
            const float *from =
                conv->in.data + n * conv->in.sn + iy * conv->in.sh + ix * conv->in.sw + first;
            const float *k = f->kernel + (c * f->taps + i * w->kw + j) * depth;
            for (int64_t d = 0; d < depth; d++)
                sum = fmaf(from[d], k[d], sum);
        }
    if (conv->padded)
        sum += 0.0f;
    if (conv->add.data)
        sum += conv->add.data[n * conv->add.sn + y * conv->add.sh + x * conv->add.sw + c];
    sum = sum < conv->clamp_min ? conv->clamp_min : sum;
    return sum > conv->clamp_max ? conv->clamp_max : sum;
}

static void pack(struct fixture *f, struct ad_rng *rng)
{
    const struct ad_conv_blocks *b = &f->conv.blocks;
    int64_t row = f->taps * b->depth, panel = ad_conv_panel(), n;
    size_t floats;
    ck_assert(ad_conv_packed(b, &floats));
    f->packed = ad_alloc_aligned(floats * sizeof *f->packed);
    for (int64_t block = 0; block < b->blocks; block++)
        for (int64_t first = 0; first < b->channels; first += n) {
            int64_t at = block * b->channels + first;
            n = panel * ad_up_to(rng, 1, 3);
            n = n < b->channels - first ? n : b->channels - first;
            ad_conv_pack(f->packed, b, block, first, n, f->kernel + at * row,
                         f->bias ? f->bias + at : NULL);
        }
    f->conv.packed = f->packed;
}

static bool is_ours(int64_t groups, int64_t inputs, int64_t outputs)
{
    struct ad_conv_shape shape = {
        .groups = groups, .inputs = inputs, .outputs = outputs, .taps = 9};
    return ad_choose(ad_processor(), AD_WORK_CONV, &shape).kernels == AD_KERNELS_CONV;
}

/* Channels of each of some groups: one group, narrow ones, or any that are worth it. */
static void choose_groups(struct ad_rng *rng, int32_t *groups, int32_t *inputs, int32_t *outputs)
{
    int32_t lanes = (int32_t)ad_conv_panel() / 2;
    *groups = 1;
    *inputs = ad_up_to(rng, 1, 40);
    *outputs = ad_up_to(rng, 1, 150);
    switch (ad_up_to(rng, 0, 3)) {
    case 0:
        *groups = ad_up_to(rng, 2, 25);
        *inputs = *outputs = 1 << ad_up_to(rng, 1, lanes == 16 ? 3 : lanes == 8 ? 2 : 1);
        break;
    case 1:
        *groups = ad_up_to(rng, 2, 5);
        *inputs = ad_up_to(rng, 2, 20);
        *outputs = ad_up_to(rng, 17, 5 * lanes);
        break;
    }
    if (lanes > 4) /* of vectors of 4 every shape is tried, whichever are better than XNNPACK's */
        ck_assert(is_ours(*groups, *inputs, *outputs));
}

static void make(struct fixture *f, struct ad_rng *rng)
{
    struct ad_window w = {.kh = ad_up_to(rng, 1, 4),
                          .kw = ad_up_to(rng, 1, 4),
                          .sh = ad_up_to(rng, 1, 3),
                          .sw = ad_up_to(rng, 1, 3),
                          .dh = ad_up_to(rng, 1, 2),
                          .dw = ad_up_to(rng, 1, 2)};
    int32_t top = ad_up_to(rng, 0, 3), left = ad_up_to(rng, 0, 3), n = ad_up_to(rng, 1, 2);
    int32_t oh = ad_up_to(rng, 1, 9), ow = ad_up_to(rng, 1, 19), groups, inputs, outputs;
    choose_groups(rng, &groups, &inputs, &outputs);
    int64_t channels = groups * outputs, taps = (int64_t)w.kh * w.kw;
    int32_t ih = (oh - 1) * w.sh + (w.kh - 1) * w.dh + 1 - top - ad_up_to(rng, 0, 2);
    int32_t iw = (ow - 1) * w.sw + (w.kw - 1) * w.dw + 1 - left - ad_up_to(rng, 0, 2);
    bool nothing = ih <= 0 || iw <= 0;
    *f = (struct fixture){.groups = groups,
                          .taps = taps,
                          .gap_in = ad_up_to(rng, 0, 3),
                          .gap_out = ad_up_to(rng, 0, 20)};
    struct ad_view in =
        ad_gapped_view(NULL, n, nothing ? 0 : ih, nothing ? 0 : iw, groups * inputs, f->gap_in);
    struct ad_view out = ad_gapped_view(NULL, n, oh, ow, channels, f->gap_out);
    f->in = nothing ? NULL : ad_random_floats(rng, (size_t)(n * in.sn));
    f->out_floats = (size_t)(n * out.sn);
    f->out = ad_random_floats(rng, f->out_floats);
    f->want = ad_random_floats(rng, f->out_floats);
    f->kernel = ad_random_floats(rng, (size_t)(channels * taps * inputs));
    f->bias = ad_up_to(rng, 0, 3) ? ad_random_floats(rng, (size_t)channels) : NULL;
    f->add = ad_up_to(rng, 0, 1) ? ad_random_floats(rng, f->out_floats) : NULL;
    in.data = f->in;
    out.data = f->out;
    f->conv = (struct ad_conv){.in = in,
                               .out = out,
                               .window = w,
                               .top = top,
                               .left = left,
                               .padded = top + left > 0 || ad_up_to(rng, 0, 1),
                               .blocks = ad_conv_blocks(groups, inputs, outputs, taps),
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    if (f->add) {
        f->conv.add = out;
        f->conv.add.data = f->add;
    }
    if (ad_up_to(rng, 0, 1)) {
        f->conv.clamp_min = 0;
        f->conv.clamp_max = ad_up_to(rng, 0, 1) ? 0.5f : INFINITY;
    }
}

static void fini(struct fixture *f)
{
    free(f->in);
    free(f->out);
    free(f->want);
    free(f->kernel);
    free(f->bias);
    free(f->add);
    ad_free(f->packed);
}

static void fill(float *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = GUARD;
}

static void check_all(const struct fixture *f, int round)
{
    const struct ad_view *out = &f->conv.out;
    fill(f->want, f->out_floats);
    for (int64_t n = 0; n < out->n; n++)
        for (int64_t y = 0; y < out->h; y++)
            for (int64_t x = 0; x < out->w; x++)
                for (int64_t c = 0; c < out->c; c++)
                    f->want[n * out->sn + y * out->sh + x * out->sw + c] = element(f, n, y, x, c);
    for (size_t i = 0; i < f->out_floats; i++)
        ck_assert_msg(memcmp(&f->out[i], &f->want[i], sizeof(float)) == 0,
                      "round %d, element %zu: %a instead of %a", round, i, f->out[i], f->want[i]);
}

/* limit: of ad_processor_limit_lanes(); lanes: of the kernels that it leaves. */
static void check_lanes(int limit, int lanes)
{
    struct ad_rng rng = {(uint64_t)limit};
    ad_processor_limit_lanes(limit);
    if (ad_conv_panel() != 2 * lanes) {
        ck_assert_int_gt(lanes, 4);
        ad_processor_limit_lanes(16);
        return; /* not on this processor: it has no AVX2, or no AVX-512 */
    }
    for (int round = 0; round < sampled(150); round++) {
        struct fixture f;
        struct pthreadpool *pool;
        make(&f, &rng);
        pack(&f, &rng);
        ck_assert_int_eq(ad_pool_new(round % 3 ? 1 : 2 + round % 2 * 2, &pool, NULL), ADAPS_OK);
        for (int slices = 1; slices <= 3; slices++) {
            f.conv.slice = slices * ad_conv_panel();
            if (slices == 2) /* what is fetched for later changes nothing */
                ad_conv_look_ahead(&f.conv, &f.conv);
            fill(f.out, f.out_floats);
            ad_conv_run(&f.conv, pool);
            check_all(&f, round);
        }
        ad_pool_free(pool);
        fini(&f);
    }
    ad_processor_limit_lanes(16);
}

START_TEST(the_same_bits)
{
    check_lanes(limits[_i], limits[_i] < 4 ? 4 : limits[_i]);
}
END_TEST

START_TEST(slices)
{
    int64_t panel = ad_conv_panel();
    struct ad_conv_blocks b = ad_conv_blocks(1, 100, 50, 9);
    ck_assert_int_eq(ad_conv_slice(&b, 0), panel);
    if (!ad_conv_able())
        return;
    size_t each = (size_t)panel * (100 * 9 + 1) * sizeof(float), floats;
    ck_assert_int_eq(ad_conv_slice(&b, 3 * each), 3 * panel);
    ck_assert_int_eq(ad_conv_slice(&b, 3 * each - 1), 2 * panel);
    b.channels = panel / 2 + 1;
    ck_assert(ad_conv_packed(&b, &floats));
    ck_assert_uint_eq(floats, (size_t)panel * 901 + 900);
    b = ad_conv_blocks(7, 2, 2, 9); /* 14 channels, of 9 x 2 weights each, in vectors */
    ck_assert(b.narrow);
    ck_assert(ad_conv_packed(&b, &floats));
    ck_assert_uint_eq(
        floats, (size_t)(14 + panel / 2 - 1) / (size_t)(panel / 2) * (size_t)(panel / 2) * 19 + 18);
    b = ad_conv_blocks(1, INT64_MAX / 64, INT64_MAX / 64, 64);
    ck_assert(!ad_conv_packed(&b, &floats));
    ck_assert(!is_ours(8, 8, 2));
    ck_assert(is_ours(8, 8, 8));
    ck_assert(panel < 32 || !is_ours(8, 16, 16)); /* XNNPACK is as good */
    ck_assert(!is_ours(8, 1, 64));                /* depthwise */
}
END_TEST

/* Infinities and NaNs go where they would. */
START_TEST(special_values)
{
    static const float kernel[] = {1, 2}, bias[] = {0.25f, -1};
    float in[] = {NAN, 1, -INFINITY, 0.5f}, out[8], packed[128];
    ad_processor_limit_lanes(limits[_i]);
    ck_assert_int_le(ad_conv_panel() * 2 + 1, 128);
    struct ad_conv conv = {.in = ad_gapped_view(in, 1, 1, 4, 1, 0),
                           .out = ad_gapped_view(out, 1, 1, 4, 2, 0),
                           .window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0},
                           .blocks = ad_conv_blocks(1, 1, 2, 1),
                           .packed = packed,
                           .slice = ad_conv_panel(),
                           .clamp_min = 0,
                           .clamp_max = 2};
    ad_conv_pack(packed, &conv.blocks, 0, 0, 2, kernel, bias);
    ad_conv_run(&conv, NULL);
    ck_assert(isnan(out[0]) && isnan(out[1]));
    ck_assert(out[2] == 1.25f && out[3] == 1 && out[4] == 0 && out[5] == 0);
    ck_assert(out[6] == 0.75f && out[7] == 0);
    ad_processor_limit_lanes(16);
}
END_TEST

/* Whether a tap is left out, as padding of all of a tile's pixels, does not show in the sign of a
 * zero. */
START_TEST(padding)
{
    enum { SIZE = 15, PIXELS = SIZE * SIZE, CHANNELS = 3 };
    static float in[PIXELS * CHANNELS], out[PIXELS * CHANNELS], packed[8192];
    static float kernel[CHANNELS * 9 * CHANNELS], bias[CHANNELS];
    size_t floats;
    ad_processor_limit_lanes(limits[_i]);
    for (int i = 0; i < CHANNELS * 9 * CHANNELS; i++)
        kernel[i] = i % 2 ? 1 : -1;
    for (int i = 0; i < CHANNELS; i++)
        bias[i] = -0.0f;
    for (int d = 1; d < SIZE + 3; d++) {
        struct ad_conv conv = {.in = ad_gapped_view(in, 1, SIZE, SIZE, CHANNELS, 0),
                               .out = ad_gapped_view(out, 1, SIZE, SIZE, CHANNELS, 0),
                               .window = {3, 3, 1, 1, d, d, d, d, d, d, d, d},
                               .top = d,
                               .left = d,
                               .padded = true,
                               .blocks = ad_conv_blocks(1, CHANNELS, CHANNELS, 9),
                               .packed = packed,
                               .slice = ad_conv_panel(),
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
        ck_assert(ad_conv_packed(&conv.blocks, &floats) && floats <= 8192);
        ad_conv_pack(packed, &conv.blocks, 0, 0, CHANNELS, kernel, bias);
        for (int value = 0; value < 2; value++) {
            for (int i = 0; i < PIXELS * CHANNELS; i++)
                in[i] = value ? 1 : -0.0f;
            ad_conv_run(&conv, NULL);
            for (int i = 0; i < PIXELS * CHANNELS; i++) {
                int y = i / CHANNELS / SIZE, x = i / CHANNELS % SIZE, c = i % CHANNELS, want = 0;
                for (int t = 0; t < 9 && value; t++) {
                    int iy = y + (t / 3 - 1) * d, ix = x + (t % 3 - 1) * d;
                    for (int k = 0; k < CHANNELS && iy >= 0 && iy < SIZE && ix >= 0 && ix < SIZE;
                         k++)
                        want += (int)kernel[(c * 9 + t) * CHANNELS + k];
                }
                ck_assert_msg(out[i] == (float)want && !signbit(out[i]) == (want >= 0),
                              "dilation %d, element %d: %g instead of %d", d, i, out[i], want);
            }
        }
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* One multiply-add each. Half of the sums are so close to the middle of two floats that only the
 * exact sum, not the next double, tells to which of them it is to be rounded. */
START_TEST(one_rounding)
{
    enum { N = 512 };
    static float kernel[N], bias[N], out[N], packed[3 * N];
    struct ad_rng rng = {7};
    ad_processor_limit_lanes(limits[_i]);
    for (int round = 0; round < 200; round++) {
        float x =
            round % 2 ? 1 + 0x1p-23f * (float)ad_up_to(&rng, 0, 4) : ad_rng_float(&rng) - 0.5f;
        for (int i = 0; i < N; i++) {
            bias[i] = ldexpf(1 + 0x1p-23f * (float)ad_up_to(&rng, 0, (1 << 23) - 1),
                             ad_up_to(&rng, -30, 30));
            kernel[i] =
                ldexpf(1 + 0x1p-24f * (float)ad_up_to(&rng, -8, 8), ad_up_to(&rng, -60, 60));
            if (i % 2) /* times x: half of the last bit of the bias, and 2^-46 of it more or less */
                kernel[i] =
                    ldexpf(1 + 0x1p-24f * (float)ad_up_to(&rng, -8, 8), ilogbf(bias[i]) - 24);
            if (ad_up_to(&rng, 0, 1))
                bias[i] = -bias[i];
            if (ad_up_to(&rng, 0, 1))
                kernel[i] = -kernel[i];
        }
        struct ad_conv conv = {.in = ad_gapped_view(&x, 1, 1, 1, 1, 0),
                               .out = ad_gapped_view(out, 1, 1, 1, N, 0),
                               .window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0},
                               .blocks = ad_conv_blocks(1, 1, N, 1),
                               .packed = packed,
                               .slice = N,
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
        ad_conv_pack(packed, &conv.blocks, 0, 0, N, kernel, bias);
        ad_conv_run(&conv, NULL);
        for (int i = 0; i < N; i++) {
            float want = fmaf(x, kernel[i], bias[i]);
            ck_assert_msg(memcmp(&want, &out[i], sizeof want) == 0, "%a * %a + %a is %a, not %a", x,
                          kernel[i], bias[i], want, out[i]);
        }
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* --- depthwise --- */

static float depthwise_element(const struct ad_depthwise *d, const float *kernel, const float *bias,
                               int64_t n, int64_t y, int64_t x, int64_t c)
{
    const struct ad_window *w = &d->window;
    float sum = bias ? bias[c] : 0;
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < w->kw; j++) {
            int64_t iy = y * w->sh - d->top + i * w->dh, ix = x * w->sw - d->left + j * w->dw;
            if (iy < 0 || iy >= d->in.h || ix < 0 || ix >= d->in.w)
                continue;
            float from =
                d->in.data[n * d->in.sn + iy * d->in.sh + ix * d->in.sw + c / d->multiplier];
            float weight = kernel[(c * w->kh + i) * w->kw + j], product = from * weight;
            sum = d->tiled ? fmaf(from, weight, sum) : sum + product;
        }
    sum = sum < d->clamp_min ? d->clamp_min : sum;
    sum = sum > d->clamp_max ? d->clamp_max : sum;
    if (d->then.kind == AD_ELEMENTWISE_LEAKY_RELU)
        sum = sum < 0 ? sum * d->then.alpha : sum;
    return sum;
}

/* Of some windows, strides and channels, which tiles are for or not. */
static struct ad_depthwise random_depthwise(struct ad_rng *rng, bool tiled)
{
    struct ad_depthwise d = {
        .window = {.kh = ad_up_to(rng, 1, 7),
                   .kw = tiled ? 3 + 2 * ad_up_to(rng, 0, 2) : ad_up_to(rng, 1, 7),
                   .sh = ad_up_to(rng, 1, 2),
                   .sw = ad_up_to(rng, 1, 2),
                   .dh = ad_up_to(rng, 1, 2),
                   .dw = tiled ? 1 : ad_up_to(rng, 1, 2)},
        .top = ad_up_to(rng, 0, 3),
        .left = ad_up_to(rng, 0, 3),
        .multiplier = tiled ? 1 : ad_up_to(rng, 1, 3),
        .tiled = tiled,
        .clamp_min = ad_up_to(rng, 0, 1) ? 0 : -INFINITY,
        .clamp_max = ad_up_to(rng, 0, 4) ? INFINITY : 0.5f};
    if (ad_up_to(rng, 0, 2) == 0)
        d.then = (struct ad_activation){.kind = AD_ELEMENTWISE_LEAKY_RELU,
                                        .alpha = 0.5f,
                                        .clamp_min = -INFINITY,
                                        .clamp_max = INFINITY};
    return d;
}

static void check_depthwise(struct ad_rng *rng, bool tiled, int round)
{
    struct ad_depthwise d = random_depthwise(rng, tiled);
    int32_t c = ad_up_to(rng, 1, round % 4 ? 90 : 20), n = ad_up_to(rng, 1, 2),
            k = c * d.multiplier;
    int32_t taps = d.window.kh * d.window.kw, oh = ad_up_to(rng, 1, 7), ow = ad_up_to(rng, 1, 19);
    bool nothing = ad_up_to(rng, 0, 20) == 0;
    d.in = ad_gapped_view(NULL, n, nothing ? 0 : ad_up_to(rng, 1, 9),
                          nothing ? 0 : ad_up_to(rng, 1, 21), c, ad_up_to(rng, 0, 3));
    d.out = ad_gapped_view(NULL, n, oh, ow, k, ad_up_to(rng, 0, 3));
    size_t in_floats = (size_t)(n * d.in.sn), out_floats = (size_t)(n * d.out.sn), floats;
    float *kernel = ad_random_floats(rng, (size_t)(k * taps));
    float *bias = round % 3 ? ad_random_floats(rng, (size_t)k) : NULL;
    d.in.data = nothing ? NULL : ad_random_floats(rng, in_floats);
    d.out.data = ad_random_floats(rng, out_floats);
    ck_assert(ad_depthwise_packed(&d, c, &floats));
    float *packed = ad_random_floats(rng, floats), *want = ad_random_floats(rng, out_floats);
    struct pthreadpool *pool;
    ck_assert_int_eq(ad_pool_new(round % 3 ? 1 : 3, &pool, NULL), ADAPS_OK);
    d.packed = packed;
    ad_depthwise_pack(&d, c, packed, kernel, bias);
    fill(d.out.data, out_floats);
    fill(want, out_floats);
    ad_depthwise_run(&d, pool);
    for (int64_t i = 0; i < (int64_t)n * oh * ow * k; i++) {
        int64_t p = i / k, x = p % ow, y = p / ow % oh, image = p / ow / oh;
        want[image * d.out.sn + y * d.out.sh + x * d.out.sw + i % k] =
            depthwise_element(&d, kernel, bias, image, y, x, i % k);
    }
    ck_assert_msg(memcmp(want, d.out.data, out_floats * sizeof *want) == 0, "round %d", round);
    ad_pool_free(pool);
    free(kernel);
    free(bias);
    free(d.in.data);
    free(d.out.data);
    free(packed);
    free(want);
}

START_TEST(depthwise)
{
    struct ad_rng rng = {3};
    for (int round = 0; round < 200; round++)
        check_depthwise(&rng, false, round);
}
END_TEST

/* In vectors of 16 floats and of 8. */
START_TEST(depthwise_tiles)
{
    struct ad_rng rng = {4};
    ad_processor_limit_lanes(_i ? 8 : 16);
    for (int round = 0; round < sampled(400) && ad_choose_conv_lanes(ad_processor()) >= 8;
         round++) /* on ARM there are none */
        check_depthwise(&rng, true, round);
    ad_processor_limit_lanes(16);
}
END_TEST

/* One window, one kernel. */
static void run_wide(const struct ad_wide_kernels *kernels, const float *data, int64_t channels,
                     int kind, float *out)
{
    struct ad_wide_tap taps[6];
    struct ad_wide_pool pool = {.first = data,
                                .rows = 3,
                                .columns = 2,
                                .row_step = 2 * channels,
                                .column_step = channels,
                                .channels = channels,
                                .scale = kind ? 0.3f : 0,
                                .lo = -INFINITY,
                                .hi = 0.8f,
                                .out = out};
    struct ad_wide_depthwise depthwise = {.taps = taps,
                                          .ntaps = 6,
                                          .channels = channels,
                                          .bias = data,
                                          .lo = 0,
                                          .hi = INFINITY,
                                          .out = out,
                                          .out_step = kind < 2 ? 1 : kind - 1};
    for (int i = 0; i < 6; i++)
        taps[i] = (struct ad_wide_tap){data + i * channels, data + (5 - i) * channels};
    struct ad_wide_mix mix = {.rows = kind == 5 ? 2 : 3,
                              .columns = 2,
                              .row_weight = {0.3f, 0.7f, 0.1f},
                              .column_weight = {0.6f, 0.4f},
                              .channels = channels,
                              .out = out};
    for (int i = 0; i < 6; i++)
        mix.at[i / 2][i % 2] = data + i * channels;
    fill(out, (size_t)(3 * channels));
    if (kind < 2)
        kernels->pool(&pool);
    else if (kind < 5)
        kernels->depthwise(&depthwise);
    else
        kernels->mix(&mix);
}

/* The same bits in registers of any width. */
START_TEST(widths)
{
    const struct ad_wide_kernels *all[] = {ad_wide(), &ad_wide_any, &ad_wide_any};
    struct ad_rng rng = {9};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        all[2] = &ad_wide_avx2;
#endif
    for (int64_t channels = 1; channels < 150; channels++) {
        float *data = ad_random_floats(&rng, (size_t)(6 * channels));
        float *out[2] = {ad_random_floats(&rng, (size_t)(3 * channels)),
                         ad_random_floats(&rng, (size_t)(3 * channels))};
        data[ad_rng_below(&rng, (uint32_t)(6 * channels))] = NAN;
        for (int kind = 0; kind < 7; kind++)
            for (int k = 1; k < 3; k++) {
                run_wide(all[0], data, channels, kind, out[0]);
                run_wide(all[k], data, channels, kind, out[1]);
                ck_assert_mem_eq(out[0], out[1], (size_t)(3 * channels) * sizeof(float));
            }
        free(data);
        free(out[0]);
        free(out[1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conv");
    TCase *tc = tcase_create("conv");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_same_bits, 0, LIMITS);
    tcase_add_test(tc, slices);
    tcase_add_loop_test(tc, padding, 0, LIMITS);
    tcase_add_loop_test(tc, special_values, 0, LIMITS);
    tcase_add_loop_test(tc, one_rounding, 0, LIMITS);
    tcase_add_test(tc, depthwise);
    tcase_add_loop_test(tc, depthwise_tiles, 0, 2);
    tcase_add_test(tc, widths);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
