/* Depthwise convolutions of bytes against their definition: the same bits with every instruction
 * set, whatever the window, the pads and the number of channels. */
#include "exec/kernels/q8_depthwise.h"
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

struct fixture {
    struct ad_q8_depthwise d;
    struct ad_q8_weights weights;
    uint8_t *x, *w, *zeros;
    int32_t *bias;
    float *multiplier, *float_bias;
    char *out, *want;
    size_t out_bytes;
};

static void make_weights(struct fixture *f, struct ad_rng *rng, int64_t channels)
{
    size_t n = (size_t)channels, taps = (size_t)(f->d.window.kh * f->d.window.kw);
    struct ad_q8_weights *w = &f->weights;
    *w = (struct ad_q8_weights){.channel = (int64_t)taps, .tap = 1, .input = 1};
    w->is_signed = ad_up_to(rng, 0, 1);
    f->d.asymmetric = ad_up_to(rng, 0, 3) == 0;
    f->w = ad_q8_random(rng, n * taps, w->is_signed, (enum ad_q8_kind)ad_up_to(rng, 0, 3));
    f->zeros = ad_q8_random(rng, n, w->is_signed, ad_up_to(rng, 0, 1) ? 0 : AD_Q8_EXTREMES);
    if (!f->d.asymmetric && !w->is_signed)
        memset(f->zeros, 128, n);
    if (f->d.asymmetric || !w->is_signed)
        w->zeros = f->zeros;
    f->bias = calloc(n, sizeof *f->bias);
    f->multiplier = ad_random_floats(rng, n);
    f->float_bias = ad_random_floats(rng, n);
    for (size_t i = 0; i < n; i++) {
        f->bias[i] = ad_up_to(rng, -(1 << 16), 1 << 16);
        f->multiplier[i] = ldexpf(f->multiplier[i] + 0.6f, -ad_up_to(rng, 4, 16));
    }
    w->data = f->w;
    w->zero_step = ad_up_to(rng, 0, 1);
    w->bias = ad_up_to(rng, 0, 1) ? f->bias : NULL;
    w->multiplier = f->multiplier;
    w->multiplier_step = ad_up_to(rng, 0, 1);
    w->float_bias = ad_up_to(rng, 0, 1) ? f->float_bias : NULL;
}

static void make_out(struct fixture *f, struct ad_rng *rng, const int64_t size[4])
{
    struct ad_q8_view view =
        ad_q8_gapped(NULL, size[0], size[1], size[2], size[3], ad_up_to(rng, 0, 3));
    bool is_signed = ad_up_to(rng, 0, 1);
    struct ad_q8 q = {is_signed, ad_q8_least(is_signed) + ad_up_to(rng, 0, 255), 1};
    struct ad_q8_out *out = &f->d.out;
    *out = ad_q8_out_bytes(&view, &q);
    if (ad_up_to(rng, 0, 2) == 0)
        out->lo = q.zero;
    out->clamp_min = ad_up_to(rng, 0, 1) ? -INFINITY : 0;
    out->clamp_max = ad_up_to(rng, 0, 1) ? INFINITY : 3;
    out->result = (enum ad_q8_result)(ad_up_to(rng, 0, 4) % 3); /* bytes more often */
    f->out_bytes = (size_t)(size[0] * view.sn) * ad_q8_bytes(out->result);
    f->out = malloc(f->out_bytes);
    f->want = malloc(f->out_bytes);
    memset(f->want, GUARD, f->out_bytes);
    out->data = f->out;
}

static void make(struct fixture *f, struct ad_rng *rng)
{
    struct ad_window w = {.kh = ad_up_to(rng, 1, 7),
                          .kw = ad_up_to(rng, 1, 7),
                          .sh = ad_up_to(rng, 1, 3),
                          .sw = ad_up_to(rng, 1, 3),
                          .dh = ad_up_to(rng, 1, 2),
                          .dw = 1 + (ad_up_to(rng, 0, 3) == 0)};
    if (ad_up_to(rng, 0, 1))
        w.kw = w.kh = 3;
    int32_t top = ad_up_to(rng, 0, 3), left = ad_up_to(rng, 0, 3), n = ad_up_to(rng, 1, 2);
    int32_t oh = ad_up_to(rng, 1, 6), ow = ad_up_to(rng, 1, 11);
    int32_t c = ad_up_to(rng, 0, 2) ? ad_up_to(rng, 1, 67) : ad_up_to(rng, 64, 200);
    int32_t ih = (oh - 1) * w.sh + (w.kh - 1) * w.dh + 1 - top - ad_up_to(rng, 0, 3);
    int32_t iw = (ow - 1) * w.sw + (w.kw - 1) * w.dw + 1 - left - ad_up_to(rng, 0, 3);
    bool nothing = ih <= 0 || iw <= 0;
    *f = (struct fixture){.d = {.window = w, .top = top, .left = left}};
    f->d.in_signed = ad_up_to(rng, 0, 1);
    f->d.in_zero = ad_q8_least(f->d.in_signed) + ad_up_to(rng, 0, 5) * 51;
    f->d.in = ad_q8_gapped(NULL, n, nothing ? 0 : ih, nothing ? 0 : iw, c, ad_up_to(rng, 0, 3));
    f->x = nothing ? NULL
                   : ad_q8_random(rng, (size_t)(n * f->d.in.sn), f->d.in_signed,
                                  (enum ad_q8_kind)ad_up_to(rng, 0, 3));
    f->d.in.data = f->x;
    make_weights(f, rng, c);
    make_out(f, rng, (const int64_t[]){n, oh, ow, c});
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
    const struct ad_q8_out *out = &f->d.out;
    const struct ad_window *w = &f->d.window;
    struct ad_q8_conv conv = {.in = f->d.in,
                              .in_signed = f->d.in_signed,
                              .in_zero = f->d.in_zero,
                              .out = *out,
                              .window = *w,
                              .top = f->d.top,
                              .left = f->d.left,
                              .shape = {out->c, 1, (int64_t)w->kh * w->kw, 1}};
    struct ad_q8_reference r = {&conv, &f->weights};
    for (int64_t n = 0; n < out->n; n++)
        for (int64_t y = 0; y < out->h; y++)
            for (int64_t x = 0; x < out->w; x++)
                for (int64_t c = 0; c < out->c; c++)
                    ad_q8_reference_finish(
                        &r, ad_q8_reference_sum(&r, n, y, x, c), c,
                        f->want + (size_t)(n * out->sn + y * out->sh + x * out->sw + c) *
                                      ad_q8_bytes(out->result));
}

START_TEST(definition)
{
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(120); seed++) {
        struct ad_rng rng = {seed};
        struct fixture f;
        struct pthreadpool *pool;
        ck_assert_int_eq(ad_pool_new(seed % 8 ? 1 : 3, &pool, NULL), ADAPS_OK);
        make(&f, &rng);
        compute_reference(&f);
        for (int i = 0; i < AD_Q8_LIMITS; i++) {
            size_t bytes;
            ad_processor_forbid(ad_q8_limits[i]);
            ck_assert(ad_q8_depthwise_packed(&f.d, &bytes));
            void *packed = ad_alloc_aligned(bytes);
            ad_q8_depthwise_pack(packed, &f.d, &f.weights);
            f.d.packed = packed;
            memset(f.out, GUARD, f.out_bytes);
            ad_q8_depthwise_run(&f.d, pool);
            for (size_t k = 0; k < f.out_bytes; k++)
                ck_assert_msg(f.out[k] == f.want[k], "seed %llu limit %d: byte %zu is %d, not %d",
                              (unsigned long long)seed, i, k, f.out[k], f.want[k]);
            ad_free(packed);
        }
        ad_processor_forbid(0);
        unmake(&f);
        ad_pool_free(pool);
    }
}
END_TEST

START_TEST(too_large)
{
    ck_assert(ad_q8_depthwise_able(&(struct ad_window){.kh = 32, .kw = 32}));
    ck_assert(!ad_q8_depthwise_able(&(struct ad_window){.kh = 32, .kw = 33}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("q8_depthwise");
    TCase *c = tcase_create("q8_depthwise");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, definition);
    tcase_add_test(c, too_large);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
