/* Winograd convolutions against the same arithmetic written out element by element: the same bits,
 * whatever part of the output is computed, by however many threads and in vectors of any width. And
 * how far they are from the exact result. */
#include "base/mem.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/winograd.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/views.h"

#include <math.h>
#include <string.h>

#define GUARD 1234.5f
#define INSIDE 6 /* numbers of a transformed axis, at most */

static const int limits[] = {16, 8, 4, 1}; /* of ad_processor_limit_lanes() */
#define LIMITS ((int)(sizeof limits / sizeof *limits))

/* A whole layer: what Winograd's algorithm makes of it, and the exact result. */
struct layer {
    struct ad_winograd_shape shape;
    int64_t n, ih, iw, oh, ow;
    int32_t top, left;
    float *in, *kernel, *bias, *add, *packed, *want;
    double *exact, low, high; /* exact, and its range */
};

/* --- the reference --- */

/* Three weights become m + 2, one stays. */
static void weights_of(int m, int taps, const double *w, double *to)
{
    const double p = 0.75, q = 1.5, fp = 2 * p * p * (p * p - q * q),
                 fq = 2 * q * q * (q * q - p * p);
    to[0] = w[0];
    if (taps == 1)
        return;
    if (m == 2) {
        to[1] = (w[0] + w[1] + w[2]) / 2;
        to[2] = (w[0] - w[1] + w[2]) / 2;
        to[3] = w[2];
        return;
    }
    to[0] = w[0] / (p * p * q * q);
    to[1] = (w[0] + p * w[1] + p * p * w[2]) / fp;
    to[2] = (w[0] - p * w[1] + p * p * w[2]) / fp;
    to[3] = (w[0] + q * w[1] + q * q * w[2]) / fq;
    to[4] = (w[0] - q * w[1] + q * q * w[2]) / fq;
    to[5] = w[2];
}

/* m + 2 inputs become as many factors, one stays. */
static void factors_of(int m, int taps, const float *d, float *to)
{
    to[0] = d[0];
    if (taps == 1)
        return;
    if (m == 2) {
        to[0] = d[0] - d[2];
        to[1] = d[1] + d[2];
        to[2] = d[2] - d[1];
        to[3] = d[1] - d[3];
        return;
    }
    const float a = 0.5625f, b = 2.25f; /* the squares of the points */
    float p = fmaf(-b, d[2], d[4]), pp = fmaf(-b, d[1], d[3]);
    float q = fmaf(-a, d[2], d[4]), qq = fmaf(-a, d[1], d[3]);
    to[0] = fmaf(a * b, d[0], fmaf(-(a + b), d[2], d[4]));
    to[1] = fmaf(0.75f, pp, p);
    to[2] = fmaf(-0.75f, pp, p);
    to[3] = fmaf(1.5f, qq, q);
    to[4] = fmaf(-1.5f, qq, q);
    to[5] = fmaf(a * b, d[1], fmaf(-(a + b), d[3], d[5]));
}

/* m + 2 sums become m outputs, one stays. */
static void outputs_of(int m, int taps, const float *s, float *to)
{
    to[0] = s[0];
    if (taps == 1)
        return;
    if (m == 2) {
        to[0] = s[0] + s[1] + s[2];
        to[1] = s[1] - s[2] - s[3];
        return;
    }
    float even = s[1] + s[2], odd = s[1] - s[2], far = s[3] + s[4], far_odd = s[3] - s[4];
    to[0] = s[0] + even + far;
    to[1] = fmaf(0.75f, odd, far_odd * 1.5f);
    to[2] = fmaf(0.5625f, even, far * 2.25f);
    to[3] = fmaf(0.421875f, odd, fmaf(3.375f, far_odd, s[5]));
}

static int spread_size(const struct layer *l, int taps)
{
    return taps == 3 ? l->shape.m + 2 : 1;
}

static float input_at(const struct layer *l, int64_t n, int64_t y, int64_t x, int64_t c)
{
    if (y < 0 || y >= l->ih || x < 0 || x >= l->iw)
        return 0;
    return l->in[((n * l->ih + y) * l->iw + x) * l->shape.inputs + c];
}

/* The factors of a tile for one input channel. */
static void tile_factors(const struct layer *l, int64_t n, int64_t y, int64_t x, int64_t c,
                         float to[INSIDE][INSIDE])
{
    int m = l->shape.m, rows = spread_size(l, l->shape.kh), columns = spread_size(l, l->shape.kw);
    float half[INSIDE][INSIDE];
    for (int j = 0; j < columns; j++) {
        float line[INSIDE] = {0}, made[INSIDE];
        for (int i = 0; i < rows; i++)
            line[i] =
                input_at(l, n, y + i * l->shape.dh - l->top, x + j * l->shape.dw - l->left, c);
        factors_of(m, l->shape.kh, line, made);
        for (int i = 0; i < rows; i++)
            half[i][j] = made[i];
    }
    for (int i = 0; i < rows; i++)
        factors_of(m, l->shape.kw, half[i], to[i]);
}

static void pair_weights(const struct layer *l, int64_t o, int64_t c, float to[INSIDE][INSIDE])
{
    const struct ad_winograd_shape *s = &l->shape;
    int rows = spread_size(l, s->kh), columns = spread_size(l, s->kw);
    double half[INSIDE][3], whole[INSIDE];
    for (int j = 0; j < s->kw; j++) {
        double line[3] = {0}, made[INSIDE];
        for (int i = 0; i < s->kh; i++)
            line[i] = l->kernel[((o * s->kh + i) * s->kw + j) * s->inputs + c];
        weights_of(s->m, s->kh, line, made);
        for (int i = 0; i < rows; i++)
            half[i][j] = made[i];
    }
    for (int i = 0; i < rows; i++) {
        weights_of(s->m, s->kw, half[i], whole);
        for (int j = 0; j < columns; j++)
            to[i][j] = (float)whole[j];
    }
}

/* All outputs of a tile and one output channel, to l->want. */
static void want_tile(const struct layer *l, int64_t n, int64_t y, int64_t x, int64_t o)
{
    const struct ad_winograd_shape *s = &l->shape;
    int rows = spread_size(l, s->kh), columns = spread_size(l, s->kw);
    int high = ad_winograd_tile(s->m, s->kh), wide = ad_winograd_tile(s->m, s->kw);
    float sums[INSIDE][INSIDE] = {{0}}, half[INSIDE][INSIDE], out[INSIDE][INSIDE];
    for (int64_t c = 0; c < s->inputs; c++) {
        float factors[INSIDE][INSIDE], weights[INSIDE][INSIDE];
        tile_factors(l, n, y, x, c, factors);
        pair_weights(l, o, c, weights);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                sums[i][j] = fmaf(factors[i][j], weights[i][j], sums[i][j]);
    }
    for (int j = 0; j < columns; j++) {
        float line[INSIDE], made[INSIDE];
        for (int i = 0; i < rows; i++)
            line[i] = sums[i][j];
        outputs_of(s->m, s->kh, line, made);
        for (int i = 0; i < high; i++)
            half[i][j] = made[i];
    }
    for (int i = 0; i < high; i++) {
        outputs_of(s->m, s->kw, half[i], out[i]);
        for (int j = 0; j < wide; j++) {
            int64_t oy = y + i * s->dh, ox = x + j * s->dw;
            int64_t at = ((n * l->oh + oy) * l->ow + ox) * s->outputs + o;
            if (oy >= l->oh || ox >= l->ow)
                continue;
            l->want[at] = out[i][j] + (l->bias ? l->bias[o] : 0);
            if (l->add)
                l->want[at] += l->add[at];
        }
    }
}

static double exact_at(const struct layer *l, int64_t n, int64_t y, int64_t x, int64_t o)
{
    const struct ad_winograd_shape *s = &l->shape;
    double sum = l->bias ? l->bias[o] : 0;
    for (int i = 0; i < s->kh; i++)
        for (int j = 0; j < s->kw; j++)
            for (int64_t c = 0; c < s->inputs; c++)
                sum += (double)input_at(l, n, y + i * s->dh - l->top, x + j * s->dw - l->left, c) *
                       l->kernel[((o * s->kh + i) * s->kw + j) * s->inputs + c];
    return sum;
}

static void compute_want(struct layer *l)
{
    const struct ad_winograd_shape *s = &l->shape;
    int64_t high = ad_winograd_tile(s->m, s->kh), wide = ad_winograd_tile(s->m, s->kw);
    for (int64_t n = 0; n < l->n; n++)
        for (int64_t y = 0; y < l->oh; y++)
            for (int64_t x = 0; x < l->ow; x++)
                for (int64_t o = 0;
                     o < s->outputs && y / s->dh % high == 0 && x / s->dw % wide == 0; o++)
                    want_tile(l, n, y, x, o);
}

static void compute_exact(struct layer *l)
{
    const struct ad_winograd_shape *s = &l->shape;
    l->low = INFINITY, l->high = -INFINITY;
    for (int64_t i = 0; i < l->n * l->oh * l->ow * s->outputs; i++) {
        int64_t o = i % s->outputs, p = i / s->outputs;
        double x = exact_at(l, p / l->ow / l->oh, p / l->ow % l->oh, p % l->ow, o);
        l->exact[i] = x;
        l->low = fmin(l->low, x);
        l->high = fmax(l->high, x);
    }
}

/* --- layers --- */

static void make_layer(struct layer *l, struct ad_rng *rng)
{
    const struct ad_winograd_shape *s = &l->shape;
    size_t outs = (size_t)(l->n * l->oh * l->ow * s->outputs), floats;
    int64_t taps = s->kh * s->kw, row = taps * s->inputs, panel = ad_conv_panel(), n;
    l->in = ad_random_floats(rng, (size_t)(l->n * l->ih * l->iw * s->inputs));
    l->kernel = ad_random_floats(rng, (size_t)(s->outputs * row));
    l->bias = ad_up_to(rng, 0, 3) ? ad_random_floats(rng, (size_t)s->outputs) : NULL;
    l->add = ad_up_to(rng, 0, 1) ? ad_random_floats(rng, outs) : NULL;
    l->want = ad_random_floats(rng, outs);
    l->exact = calloc(outs, sizeof *l->exact);
    ck_assert_ptr_nonnull(l->exact);
    ck_assert(ad_winograd_packed(s, &floats));
    l->packed = ad_alloc_aligned(floats * sizeof *l->packed);
    for (int64_t first = 0; first < s->outputs; first += n) {
        n = panel * ad_up_to(rng, 1, 3);
        n = n < s->outputs - first ? n : s->outputs - first;
        ad_winograd_pack(l->packed, s, first, n, l->kernel + first * row,
                         l->bias ? l->bias + first : NULL);
    }
}

static void fini_layer(struct layer *l)
{
    free(l->in);
    free(l->kernel);
    free(l->bias);
    free(l->add);
    free(l->want);
    free(l->exact);
    ad_free(l->packed);
}

static void random_layer(struct layer *l, struct ad_rng *rng)
{
    int window = ad_up_to(rng, 0, 2);
    int kh = window == 2 ? 1 : 3, kw = window == 1 ? 1 : 3;
    *l = (struct layer){.shape = {.m = 2 * ad_up_to(rng, 1, 2),
                                  .kh = kh,
                                  .kw = kw,
                                  .dh = kh == 3 ? ad_up_to(rng, 1, 2) : 1,
                                  .dw = kw == 3 ? ad_up_to(rng, 1, 3) : 1,
                                  .inputs = ad_up_to(rng, 1, 40),
                                  .outputs = ad_up_to(rng, 1, 70)},
                        .n = ad_up_to(rng, 1, 2),
                        .oh = ad_up_to(rng, 1, 14),
                        .ow = ad_up_to(rng, 1, 14)};
    int high = (kh - 1) * l->shape.dh, wide = (kw - 1) * l->shape.dw;
    l->top = ad_up_to(rng, 0, high);
    l->left = ad_up_to(rng, 0, wide);
    l->ih = l->oh + high - l->top - ad_up_to(rng, 0, high);
    l->iw = l->ow + wide - l->left - ad_up_to(rng, 0, wide);
    l->ih = l->ih > 0 ? l->ih : 1;
    l->iw = l->iw > 0 ? l->iw : 1;
    make_layer(l, rng);
}

/* Runs outputs [y0, y1) x [x0, x1), from what of the input its tiles read, and compares. */
static void check_part(const struct layer *l, struct ad_rng *rng, struct pthreadpool *pool,
                       int threads, const int64_t y[2], const int64_t x[2])
{
    const struct ad_winograd_shape *s = &l->shape;
    int64_t high = ad_winograd_grid(s->m, s->kh, s->dh),
            wide = ad_winograd_grid(s->m, s->kw, s->dw);
    int64_t rows = y[1] - y[0], columns = x[1] - x[0];
    int64_t y0 = y[0] / high * high - l->top, x0 = x[0] / wide * wide - l->left;
    int64_t h0 = y0 > 0 ? y0 : 0, w0 = x0 > 0 ? x0 : 0;
    size_t floats;
    struct ad_view in = ad_gapped_view(l->in, l->n, l->ih, l->iw, s->inputs, 0);
    struct ad_view out = ad_gapped_view(NULL, l->n, rows, columns, s->outputs, ad_up_to(rng, 0, 5));
    in.data += h0 * in.sh + w0 * in.sw;
    in.h -= h0;
    in.w -= w0;
    float *made = out.data = ad_random_floats(rng, (size_t)(l->n * out.sn));
    for (int64_t i = 0; i < l->n * out.sn; i++)
        made[i] = GUARD;
    ck_assert(ad_winograd_scratch(s, l->n, rows, columns, threads, &floats));
    float *scratch = ad_random_floats(rng, floats);
    struct ad_winograd w = {.shape = *s,
                            .in = in,
                            .out = out,
                            .top = (int32_t)(h0 - y0),
                            .left = (int32_t)(w0 - x0),
                            .above = (int32_t)(y[0] % high),
                            .before = (int32_t)(x[0] % wide),
                            .packed = l->packed,
                            .scratch = scratch,
                            .threads = threads,
                            .clamp_min = -INFINITY,
                            .clamp_max = INFINITY};
    if (l->add) {
        w.add = ad_gapped_view(l->add, l->n, l->oh, l->ow, s->outputs, 0);
        w.add.data += y[0] * w.add.sh + x[0] * w.add.sw;
    }
    ad_winograd_run(&w, pool);
    for (int64_t i = 0; i < l->n * out.sn; i++) {
        int64_t n = i / out.sn, oy = i % out.sn / out.sh, ox = i % out.sn % out.sh / out.sw;
        int64_t c = i % out.sn % out.sh % out.sw;
        bool mine = oy < rows && ox < columns && c < s->outputs;
        float want = GUARD;
        if (mine)
            want = l->want[((n * l->oh + y[0] + oy) * l->ow + x[0] + ox) * s->outputs + c];
        ck_assert_msg(memcmp(&want, &made[i], sizeof want) == 0,
                      "F(%d) %dx%d, %d -> %d, output %d,%d,%d: %a instead of %a", s->m, s->kh,
                      s->kw, (int)s->inputs, (int)s->outputs, (int)(y[0] + oy), (int)(x[0] + ox),
                      (int)c, made[i], want);
    }
    free(made);
    free(scratch);
}

static void take_interval(struct ad_rng *rng, int64_t size, int64_t to[2])
{
    to[0] = ad_up_to(rng, 0, (int32_t)size - 1);
    to[1] = ad_up_to(rng, (int32_t)to[0] + 1, (int32_t)size);
}

START_TEST(the_same_bits)
{
    struct ad_rng rng = {(uint64_t)limits[_i]};
    int lanes = limits[_i] < 4 ? 4 : limits[_i];
    ad_processor_limit_lanes(limits[_i]);
    if (ad_conv_panel() != 2 * lanes) {
        ck_assert_int_gt(lanes, 4);
        ad_processor_limit_lanes(16);
        return; /* not on this processor */
    }
    for (int round = 0; round < sampled(60); round++) {
        int threads = round % 3 ? 1 : 2 + round % 2;
        struct layer l;
        struct pthreadpool *pool;
        random_layer(&l, &rng);
        compute_want(&l);
        ck_assert_int_eq(ad_pool_new(threads, &pool, NULL), ADAPS_OK);
        check_part(&l, &rng, pool, threads, (int64_t[]){0, l.oh}, (int64_t[]){0, l.ow});
        for (int part = 0; part < 4; part++) {
            int64_t y[2], x[2];
            take_interval(&rng, l.oh, y);
            take_interval(&rng, l.ow, x);
            check_part(&l, &rng, pool, threads, y, x);
        }
        ad_pool_free(pool);
        fini_layer(&l);
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* More tiles than a block has, so that threads take whole blocks, or share them. */
START_TEST(blocks)
{
    struct ad_rng rng = {5};
    struct layer l = {
        .shape = {2, 3, 3, 1, 1, 3, 5}, .n = 1, .ih = 100, .iw = 90, .oh = 100, .ow = 90};
    l.top = l.left = 1;
    make_layer(&l, &rng);
    compute_want(&l);
    for (int threads = 1; threads <= 3; threads++) {
        struct pthreadpool *pool;
        ck_assert_int_eq(ad_pool_new(threads, &pool, NULL), ADAPS_OK);
        check_part(&l, &rng, pool, threads, (int64_t[]){0, 100}, (int64_t[]){0, 90});
        check_part(&l, &rng, pool, threads, (int64_t[]){7, 98}, (int64_t[]){1, 89});
        ad_pool_free(pool);
    }
    fini_layer(&l);
}
END_TEST

static double largest_error(const struct layer *l, int n)
{
    double largest = 0;
    for (int k = 0; k < n; k++) {
        double error = fabs((double)l->want[k] - l->exact[k]);
        if (!(error <= largest)) /* NaN counts as large */
            largest = error;
    }
    return largest;
}

/* Errors relative to the range of the layer's output: docs/numerics.md promises 1e-5.
 */
START_TEST(accuracy)
{
    static const int64_t channels[] = {1, 3, 16, 64, 300, 1024, 4096};
    struct ad_rng rng = {11};
    for (int m = 2; m <= 4; m += 2)
        for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
            for (int window = 0; window < 3; window++) {
                struct layer l = {
                    .shape = {m, window == 2 ? 1 : 3, window == 1 ? 1 : 3, 1, 1, channels[i], 20},
                    .n = 1,
                    .ih = 9,
                    .iw = 9,
                    .oh = 9,
                    .ow = 9};
                double worst;
                l.top = l.shape.kh / 2;
                l.left = l.shape.kw / 2;
                make_layer(&l, &rng);
                free(l.add);
                l.add = NULL;
                for (int64_t k = 0; k < 81 * channels[i] && i % 2; k++) /* as after a ReLU */
                    l.in[k] = fmaxf(l.in[k], 0);
                compute_want(&l);
                compute_exact(&l);
                worst = largest_error(&l, 81 * 20) / (l.high - l.low);
                ck_assert_msg(worst <= 1e-5, "F(%d) %dx%d of %d channels: %g", m, l.shape.kh,
                              l.shape.kw, (int)channels[i], worst);
                fini_layer(&l);
            }
}
END_TEST

/* The function is applied to whole tiles, and limits before it. */
START_TEST(function)
{
    struct ad_rng rng = {3};
    struct layer l = {.shape = {4, 3, 3, 1, 1, 7, 21}, .n = 1, .ih = 9, .iw = 7, .oh = 9, .ow = 7};
    l.top = l.left = 1;
    make_layer(&l, &rng);
    size_t floats, outs = 9 * 7 * 21;
    float *plain = ad_random_floats(&rng, outs), *silu = ad_random_floats(&rng, outs);
    ck_assert(ad_winograd_scratch(&l.shape, 1, 9, 7, 1, &floats));
    float *scratch = ad_random_floats(&rng, floats);
    struct ad_winograd w = {.shape = l.shape,
                            .in = ad_gapped_view(l.in, 1, 9, 7, 7, 0),
                            .out = ad_gapped_view(plain, 1, 9, 7, 21, 0),
                            .top = 1,
                            .left = 1,
                            .packed = l.packed,
                            .scratch = scratch,
                            .threads = 1,
                            .clamp_min = -0.1f,
                            .clamp_max = 0.2f};
    ad_winograd_run(&w, NULL);
    w.out.data = silu;
    w.then = (struct ad_activation){.kind = AD_ELEMENTWISE_SILU,
                                    .function = AD_FN_SILU,
                                    .clamp_min = -INFINITY,
                                    .clamp_max = INFINITY};
    ad_winograd_run(&w, NULL);
    struct ad_view from = ad_gapped_view(plain, 1, 9, 7, 21, 0);
    struct ad_elementwise e = ad_elementwise_views(AD_ELEMENTWISE_SILU, &from, &from, NULL);
    e.clamp_min = -INFINITY;
    e.clamp_max = INFINITY;
    for (size_t i = 0; i < outs; i++)
        ck_assert(plain[i] >= -0.1f && plain[i] <= 0.2f);
    ad_elementwise_run(&e, NULL);
    ck_assert_mem_eq(plain, silu, outs * sizeof *plain);
    free(plain);
    free(silu);
    free(scratch);
    fini_layer(&l);
}
END_TEST

START_TEST(sizes)
{
    struct ad_winograd_shape s = {4, 3, 3, 1, 1, INT64_MAX / 64, INT64_MAX / 64};
    size_t floats;
    ck_assert(!ad_winograd_packed(&s, &floats));
    s = (struct ad_winograd_shape){4, 3, 1, 1, 1, 10, 20};
    ck_assert_int_eq(ad_winograd_products(&s), 6);
    ck_assert(ad_winograd_scratch(&s, 1, 8, 3, 1, &floats)); /* 3 x 3 tiles, some of them begun */
    ck_assert_uint_eq(floats, 9 * 6 * 30);
    ck_assert(!ad_winograd_scratch(&s, INT64_MAX, INT32_MAX, 3, 1, &floats));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("winograd");
    TCase *tc = tcase_create("winograd");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, the_same_bits, 0, LIMITS);
    tcase_add_test(tc, blocks);
    tcase_add_test(tc, accuracy);
    tcase_add_test(tc, function);
    tcase_add_test(tc, sizes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
