/* Convolutions of bytes against their definition: the same bits with every instruction set,
 * whatever the tile, the slice and the parts in which weights were packed. */
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/q8_product.h"
#include "support/q8_limits.h"
#include "support/q8_reference.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/views.h"

#include "base/mem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0x5a

/* A convolution with all that it needs. */
struct fixture {
    struct ad_q8_conv conv;
    struct ad_q8_weights weights;
    struct ad_q8 in;
    uint8_t *x, *w, *zeros;
    int32_t *bias;
    float *multiplier, *float_bias;
    char *out, *want;
    size_t out_bytes;
};

static int32_t up_to(struct ad_rng *rng, int32_t least, int32_t most)
{
    return ad_up_to(rng, least, most);
}

/* One in three at an end. */
static int32_t choose_zero(struct ad_rng *rng, bool is_signed)
{
    int32_t least = ad_q8_least(is_signed);
    switch (up_to(rng, 0, 5)) {
    case 0:
        return least;
    case 1:
        return least + 255;
    default:
        return least + up_to(rng, 0, 255);
    }
}

static void make_weights(struct fixture *f, struct ad_rng *rng)
{
    const struct ad_q8_shape *s = &f->conv.shape;
    size_t n = (size_t)(s->groups * s->outputs), row = (size_t)(s->taps * s->depth);
    struct ad_q8_weights *w = &f->weights;
    *w = (struct ad_q8_weights){.channel = (int64_t)row, .tap = s->depth, .input = 1};
    if (up_to(rng, 0, 3) == 0 && s->groups == 1) /* inputs x outputs */
        *w =
            (struct ad_q8_weights){.channel = 1, .tap = s->depth * (int64_t)n, .input = (int64_t)n};
    w->is_signed = up_to(rng, 0, 2) > 0;
    f->w = ad_q8_random(rng, n * row, w->is_signed, up_to(rng, 0, 1) ? up_to(rng, 0, 3) : 0);
    f->zeros = ad_q8_random(rng, n, w->is_signed, up_to(rng, 0, 1) ? 0 : AD_Q8_EXTREMES);
    w->data = f->w;
    w->zero_step = up_to(rng, 0, 1);
    if (!w->is_signed && up_to(rng, 0, 1))
        memset(f->zeros, 128, n);
    else if (!w->is_signed || up_to(rng, 0, 3) == 0)
        f->conv.asymmetric = true;
    if (!w->is_signed || f->conv.asymmetric)
        w->zeros = f->zeros;
    f->bias = calloc(n, sizeof *f->bias);
    f->multiplier = ad_random_floats(rng, n);
    f->float_bias = ad_random_floats(rng, n);
    for (size_t i = 0; i < n; i++) {
        f->bias[i] = up_to(rng, -(1 << 20), 1 << 20);
        f->multiplier[i] = ldexpf(f->multiplier[i] + 0.6f, -up_to(rng, 4, 20));
    }
    if (up_to(rng, 0, 3) > 0)
        w->bias = f->bias;
    w->multiplier = f->multiplier;
    w->multiplier_step = up_to(rng, 0, 1);
    if (up_to(rng, 0, 1))
        w->float_bias = f->float_bias;
}

static void make_out(struct fixture *f, struct ad_rng *rng, int64_t n, int64_t h, int64_t w)
{
    int64_t c = f->conv.shape.groups * f->conv.shape.outputs, gap = up_to(rng, 0, 3);
    struct ad_q8_view view = ad_q8_gapped(NULL, n, h, w, c, gap);
    bool is_signed = up_to(rng, 0, 1);
    struct ad_q8 q = {is_signed, choose_zero(rng, is_signed), 1};
    struct ad_q8_out *out = &f->conv.out;
    *out = ad_q8_out_bytes(&view, &q);
    if (up_to(rng, 0, 2) == 0) { /* Relu */
        out->lo = q.zero;
        out->hi = q.zero + 50 < out->hi ? q.zero + 50 : out->hi;
    }
    out->clamp_min = up_to(rng, 0, 1) ? -INFINITY : 0;
    out->clamp_max = up_to(rng, 0, 1) ? INFINITY : 3;
    out->result = (enum ad_q8_result)up_to(rng, 0, 2);
    f->out_bytes = (size_t)(n * view.sn) * ad_q8_bytes(out->result);
    f->out = malloc(f->out_bytes);
    f->want = malloc(f->out_bytes);
    memset(f->want, GUARD, f->out_bytes);
    out->data = f->out;
}

static void choose_shape(struct ad_q8_shape *s, struct ad_rng *rng)
{
    *s = (struct ad_q8_shape){1, up_to(rng, 1, 67), s->taps, up_to(rng, 1, 67)};
    if (up_to(rng, 0, 3) == 0)
        s->outputs = up_to(rng, 60, 200);
    if (up_to(rng, 0, 3) == 0) {
        s->groups = up_to(rng, 2, 6);
        s->outputs = up_to(rng, 1, 20);
        s->depth = up_to(rng, 1, 20);
    }
}

static void make(struct fixture *f, struct ad_rng *rng)
{
    int32_t most = up_to(rng, 0, 2) ? 4 : 1;
    struct ad_window w = {.kh = up_to(rng, 1, most),
                          .kw = up_to(rng, 1, most),
                          .sh = up_to(rng, 1, 3),
                          .sw = up_to(rng, 1, 3),
                          .dh = up_to(rng, 1, 2),
                          .dw = up_to(rng, 1, 2)};
    int32_t pads = up_to(rng, 0, 1) * 3, top = up_to(rng, 0, pads), left = up_to(rng, 0, pads);
    int32_t n = up_to(rng, 1, 2), oh = up_to(rng, 1, 6), ow = up_to(rng, 1, 15);
    int32_t ih = (oh - 1) * w.sh + (w.kh - 1) * w.dh + 1 - top - up_to(rng, 0, pads);
    int32_t iw = (ow - 1) * w.sw + (w.kw - 1) * w.dw + 1 - left - up_to(rng, 0, pads);
    bool nothing = ih <= 0 || iw <= 0;
    *f = (struct fixture){.conv = {.window = w, .top = top, .left = left}};
    f->conv.shape.taps = (int64_t)w.kh * w.kw;
    choose_shape(&f->conv.shape, rng);
    f->conv.in_signed = f->in.is_signed = up_to(rng, 0, 1);
    f->conv.in_zero = f->in.zero = choose_zero(rng, f->in.is_signed);
    f->conv.in = ad_q8_gapped(NULL, n, nothing ? 0 : ih, nothing ? 0 : iw,
                              f->conv.shape.groups * f->conv.shape.depth, up_to(rng, 0, 3));
    f->x = nothing ? NULL
                   : ad_q8_random(rng, (size_t)(n * f->conv.in.sn), f->in.is_signed,
                                  up_to(rng, 0, 1) ? up_to(rng, 0, 3) : 0);
    f->conv.in.data = f->x;
    make_weights(f, rng);
    make_out(f, rng, n, oh, ow);
}

static void unmake(struct fixture *f)
{
    free(f->x);
    free(f->w);
    free(f->zeros);
    free(f->bias);
    free(f->multiplier);
    free(f->float_bias);
    free(f->out);
    free(f->want);
}

static void compute_reference(struct fixture *f)
{
    const struct ad_q8_out *out = &f->conv.out;
    struct ad_q8_reference r = {&f->conv, &f->weights};
    for (int64_t n = 0; n < out->n; n++)
        for (int64_t y = 0; y < out->h; y++)
            for (int64_t x = 0; x < out->w; x++)
                for (int64_t c = 0; c < out->c; c++)
                    ad_q8_reference_finish(
                        &r, ad_q8_reference_sum(&r, n, y, x, c), c,
                        f->want + (size_t)(n * out->sn + y * out->sh + x * out->sw + c) *
                                      ad_q8_bytes(out->result));
}

/* In parts, as weights come. */
static void pack(struct fixture *f, struct ad_rng *rng)
{
    const struct ad_q8_shape *s = &f->conv.shape;
    size_t bytes;
    ck_assert(ad_q8_conv_packed(s, &bytes));
    char *packed = ad_alloc_aligned(bytes);
    memset(packed, GUARD, bytes);
    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t first = 0, n; first < s->outputs; first += n) {
            n = up_to(rng, 1, 40);
            n = n < s->outputs - first ? n : s->outputs - first;
            struct ad_q8_weights w = f->weights;
            int64_t c = g * s->outputs + first;
            w.data += c * w.channel;
            w.zeros = w.zeros ? w.zeros + c * w.zero_step : NULL;
            w.bias = w.bias ? w.bias + c : NULL;
            w.multiplier += c * w.multiplier_step;
            w.float_bias = w.float_bias ? w.float_bias + c : NULL;
            ad_q8_conv_pack(packed, s, g, first, n, &w, &f->in);
        }
    f->conv.packed = packed;
    f->conv.slice = ad_q8_conv_slice(s, (size_t)up_to(rng, 0, 1) * 100000);
}

static void check_bits(const struct fixture *f, uint64_t seed, int limit)
{
    if (memcmp(f->out, f->want, f->out_bytes) == 0)
        return;
    size_t i = 0;
    while (f->out[i] == f->want[i])
        i++;
    ck_abort_msg("seed %llu limit %d result %d: byte %zu is %d, not %d", (unsigned long long)seed,
                 limit, (int)f->conv.out.result, i, f->out[i], f->want[i]);
}

START_TEST(definition)
{
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(160); seed++) {
        struct ad_rng rng = {seed};
        struct fixture f;
        struct pthreadpool *pool;
        ck_assert_int_eq(ad_pool_new(seed % 8 ? 1 : 3, &pool, NULL), ADAPS_OK);
        make(&f, &rng);
        compute_reference(&f);
        for (int i = 0; i < AD_Q8_LIMITS; i++) {
            ad_processor_forbid(ad_q8_limits[i]);
            pack(&f, &rng);
            memset(f.out, GUARD, f.out_bytes);
            ad_q8_conv_run(&f.conv, pool);
            check_bits(&f, seed, i);
            ad_free((void *)f.conv.packed);
        }
        ad_processor_forbid(0);
        unmake(&f);
        ad_pool_free(pool);
    }
}
END_TEST

/* Long sums of the extremes, which instructions that saturate on the way would get wrong. */
START_TEST(long_sums)
{
    static const int64_t depths[] = {1000, 9216, 33025, AD_Q8_DEPTH};
    for (int kind = AD_Q8_LEAST; kind < AD_Q8_KINDS; kind++)
        for (int in_signed = 0; in_signed < 2; in_signed++) {
            struct ad_rng rng = {(uint64_t)kind};
            struct fixture f = {
                .conv = {.window = {.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1},
                         .shape = {1, 3, 1, depths[_i]},
                         .in_signed = in_signed,
                         .in_zero = in_signed ? 0 : 128}};
            f.in = (struct ad_q8){in_signed, f.conv.in_zero, 1};
            f.conv.in = ad_q8_gapped(NULL, 1, 1, 7, depths[_i], 0);
            f.x = ad_q8_random(&rng, (size_t)(7 * depths[_i]), in_signed, (enum ad_q8_kind)kind);
            f.w = ad_q8_random(&rng, (size_t)(3 * depths[_i]), true, (enum ad_q8_kind)kind);
            f.conv.in.data = f.x;
            f.weights = (struct ad_q8_weights){
                .data = f.w, .channel = depths[_i], .input = 1, .is_signed = true};
            float one = 1;
            f.weights.multiplier = &one;
            make_out(&f, &rng, 1, 1, 7);
            f.conv.out.result = AD_Q8_SUMS;
            free(f.out);
            free(f.want);
            f.out_bytes = (size_t)f.conv.out.sn * 4;
            f.conv.out.data = f.out = malloc(f.out_bytes);
            f.want = malloc(f.out_bytes);
            memset(f.want, GUARD, f.out_bytes);
            compute_reference(&f);
            for (int i = 0; i < AD_Q8_LIMITS; i++) {
                ad_processor_forbid(ad_q8_limits[i]);
                pack(&f, &rng);
                memset(f.out, GUARD, f.out_bytes);
                ad_q8_conv_run(&f.conv, NULL);
                check_bits(&f, (uint64_t)kind, i);
                ad_free((void *)f.conv.packed);
            }
            ad_processor_forbid(0);
            unmake(&f);
        }
}
END_TEST

/* Any part of a map, with the pads that it has there, is that part of the whole. */
START_TEST(parts)
{
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(100); seed++) {
        struct ad_rng rng = {seed + 10000};
        struct fixture f;
        make(&f, &rng);
        compute_reference(&f);
        pack(&f, &rng);
        struct ad_q8_conv *conv = &f.conv;
        struct ad_q8_out whole = conv->out;
        size_t size = ad_q8_bytes(whole.result);
        int64_t y0 = up_to(&rng, 0, (int32_t)whole.h - 1),
                x0 = up_to(&rng, 0, (int32_t)whole.w - 1);
        int64_t y1 = up_to(&rng, (int32_t)y0 + 1, (int32_t)whole.h);
        int64_t x1 = up_to(&rng, (int32_t)x0 + 1, (int32_t)whole.w);
        memcpy(f.out, f.want, f.out_bytes);
        for (int64_t n = 0; n < whole.n; n++)
            for (int64_t y = y0; y < y1; y++)
                for (int64_t x = x0; x < x1; x++)
                    memset(f.out + (size_t)(n * whole.sn + y * whole.sh + x * whole.sw) * size, 0,
                           (size_t)whole.c * size);
        conv->out.h = y1 - y0;
        conv->out.w = x1 - x0;
        conv->out.data = f.out + (size_t)(y0 * whole.sh + x0 * whole.sw) * size;
        conv->top -= (int32_t)y0 * conv->window.sh;
        conv->left -= (int32_t)x0 * conv->window.sw;
        ad_q8_conv_run(conv, NULL);
        check_bits(&f, seed, 0);
        ad_free((void *)conv->packed);
        unmake(&f);
    }
}
END_TEST

/* What a sum may become is found exactly: inputs that reach it exist. */
START_TEST(reach)
{
    static const uint8_t w[] = {0x80, 0x7f, 3, 0xff}, zero = 1; /* -128, 127, 3, -1 */
    static const int32_t bias = -1000;
    struct ad_q8_shape s = {1, 1, 1, 4};
    struct ad_q8 in = {false, 0, 1};
    struct ad_q8_weights weights = {
        .data = w, .channel = 4, .input = 1, .is_signed = true, .bias = &bias};
    ck_assert_int_eq(ad_q8_conv_reach(&s, &weights, 0, &in), (128 + 127 + 3 + 1) * 255 + 1000);
    in = (struct ad_q8){true, 27, 1};
    ck_assert_int_eq(ad_q8_conv_reach(&s, &weights, 0, &in), (128 + 127 + 3 + 1) * 155 + 1000);
    weights.zeros = &zero;
    ck_assert_int_eq(ad_q8_conv_reach(&s, &weights, 0, &in), (129 + 126 + 2 + 2) * 155 + 1000);
}
END_TEST

/* --- products of two computed matrices --- */

static void check_product(const struct ad_q8_product *p, const uint8_t *want, uint64_t seed,
                          int limit)
{
    size_t bytes = (size_t)(p->count * p->rows * p->columns) * ad_q8_bytes(p->out.result);
    const uint8_t *out = p->out.data;
    for (size_t i = 0; i < bytes; i++)
        ck_assert_msg(out[i] == want[i], "seed %llu limit %d: byte %zu is %d, not %d",
                      (unsigned long long)seed, limit, i, out[i], want[i]);
}

static void multiply(const struct ad_q8_product *p, void *to)
{
    const struct ad_q8_conv conv = {.out = p->out};
    const struct ad_q8_weights w = {.multiplier = &p->multiplier};
    const struct ad_q8_reference r = {&conv, &w};
    for (int64_t i = 0; i < p->count * p->rows * p->columns; i++) {
        int64_t c = i % p->columns, row = i / p->columns % p->rows, sum = 0;
        int64_t matrix = i / p->columns / p->rows;
        const uint8_t *a = p->a + ((p->one_a ? 0 : matrix) * p->rows + row) * p->depth;
        const uint8_t *b = p->b + (p->one_b ? 0 : matrix) * p->depth * p->columns + c;
        for (int64_t k = 0; k < p->depth; k++)
            sum += (int64_t)(ad_q8_number(p->a_is.is_signed, a[k]) - p->a_is.zero) *
                   (ad_q8_number(p->b_is.is_signed, b[k * p->columns]) - p->b_is.zero);
        ad_q8_reference_finish(&r, sum, 0, (char *)to + (size_t)i * ad_q8_bytes(p->out.result));
    }
}

static struct ad_q8 choose_meaning(struct ad_rng *rng)
{
    bool is_signed = up_to(rng, 0, 1);
    return (struct ad_q8){is_signed, choose_zero(rng, is_signed), 1};
}

START_TEST(products)
{
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(120); seed++) {
        struct ad_rng rng = {seed + 20000};
        struct ad_q8_product p = {.a_is = choose_meaning(&rng),
                                  .b_is = choose_meaning(&rng),
                                  .count = up_to(&rng, 1, seed % 4 ? 5 : 16),
                                  .rows = up_to(&rng, 1, 40),
                                  .depth = up_to(&rng, 1, 70),
                                  .columns = up_to(&rng, 1, seed % 4 ? 60 : 200),
                                  .one_a = up_to(&rng, 0, 3) == 0,
                                  .one_b = up_to(&rng, 0, 3) == 0,
                                  .multiplier = ldexpf(0.7f, -up_to(&rng, 4, 14)),
                                  .slice_bytes = (size_t)up_to(&rng, 0, 1) * 100000};
        const struct ad_q8 made = choose_meaning(&rng);
        const struct ad_q8_view none = {.n = 0};
        size_t n = (size_t)(p.count * p.rows * p.columns), bytes;
        uint8_t *a = ad_q8_random(&rng, (size_t)(p.count * p.rows * p.depth), p.a_is.is_signed,
                                  (enum ad_q8_kind)up_to(&rng, 0, 3));
        uint8_t *b = ad_q8_random(&rng, (size_t)(p.count * p.depth * p.columns), p.b_is.is_signed,
                                  (enum ad_q8_kind)up_to(&rng, 0, 3));
        struct pthreadpool *pool;
        p.a = a;
        p.b = b;
        p.out = ad_q8_out_bytes(&none, &made);
        p.out.result = (enum ad_q8_result)up_to(&rng, 0, 2);
        p.out.clamp_min = -INFINITY;
        p.out.clamp_max = INFINITY;
        void *out = p.out.data = malloc(n * 4), *want = malloc(n * 4);
        multiply(&p, want);
        ck_assert_int_eq(ad_pool_new(1 + (int)(seed % 3), &pool, NULL), ADAPS_OK);
        for (int i = 0; i < AD_Q8_LIMITS; i++) {
            ad_processor_forbid(ad_q8_limits[i]);
            ck_assert(ad_q8_product_scratch(&p, &bytes));
            p.scratch = ad_alloc_aligned(bytes);
            memset(p.scratch, GUARD, bytes);
            memset(out, GUARD, n * 4);
            ad_q8_product_run(&p, pool);
            check_product(&p, want, seed, i);
            ad_free(p.scratch);
        }
        ad_processor_forbid(0);
        ad_pool_free(pool);
        free(a);
        free(b);
        free(out);
        free(want);
    }
}
END_TEST

START_TEST(too_deep)
{
    struct ad_q8_shape s = {1, 1, 2, AD_Q8_DEPTH / 2};
    size_t bytes;
    ck_assert(ad_q8_conv_packed(&s, &bytes));
    s.depth++;
    ck_assert(!ad_q8_conv_packed(&s, &bytes));
    s = (struct ad_q8_shape){INT64_MAX / 2, INT64_MAX / 64, 1, 1};
    ck_assert(!ad_q8_conv_packed(&s, &bytes));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("q8_conv");
    TCase *c = tcase_create("q8_conv");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, definition);
    tcase_add_loop_test(c, long_sums, 0, 4);
    tcase_add_test(c, parts);
    tcase_add_test(c, reach);
    tcase_add_test(c, products);
    tcase_add_test(c, too_deep);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
