/* Our own kernels against plain loops; parts against the whole, bit for bit; spans of messages; and
 * the emulation of slow processors. */
#include "base/clock.h"
#include "base/rng.h"
#include "exec/engine/internal.h"
#include "exec/kernels/picture.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define H 9
#define W 7
#define C 21
#define N 2

static float *random_data(size_t n, uint64_t seed)
{
    struct ad_rng rng = {seed};
    float *data = ad_alloc_aligned(n * sizeof *data + AD_XNN_SLACK);
    for (size_t i = 0; i < n; i++)
        data[i] = ad_rng_float(&rng);
    return data;
}

static int64_t at(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * H + h) * W + w) * C + c;
}

static struct ad_buffer whole_buffer(float *data)
{
    return (struct ad_buffer){.lies = {0, H, 0, W, 0, C}, .unit = 4, .n = N, .data = data};
}

static struct ad_region random_region(struct ad_rng *rng)
{
    int32_t size[3] = {H, W, C}, lo[3], hi[3];
    for (int i = 0; i < 3; i++) {
        lo[i] = (int32_t)ad_rng_below(rng, (uint32_t)size[i]);
        hi[i] = lo[i] + 1 + (int32_t)ad_rng_below(rng, (uint32_t)(size[i] - lo[i]));
    }
    return (struct ad_region){lo[0], hi[0], lo[1], hi[1], lo[2], hi[2]};
}

static struct ad_view view_of(float *data, struct ad_region region)
{
    struct ad_buffer buffer = whole_buffer(data);
    return ad_buffer_view(&buffer, region);
}

/* --- elementwise --- */

/* One element by itself: what it must be wherever it stands. */
static float alone(const struct ad_elementwise *like, float x, float y)
{
    struct ad_elementwise e = *like;
    float out;
    e.rank = 1;
    e.count[0] = 1;
    e.out = &out;
    e.a = &x;
    e.b = ad_elementwise_is_binary(e.kind) ? &y : NULL;
    ad_elementwise_run(&e, NULL);
    return out;
}

/* The same in double precision. */
static double exact(const struct ad_elementwise *e, double x, double y)
{
    double ramp = fmin(fmax((double)e->alpha * x + (double)e->beta, 0), 1);
    switch (e->kind) {
    case AD_ELEMENTWISE_ADD:
        x += y;
        break;
    case AD_ELEMENTWISE_SUB:
        x -= y;
        break;
    case AD_ELEMENTWISE_MUL:
        x *= y;
        break;
    case AD_ELEMENTWISE_DIV:
        x /= y;
        break;
    case AD_ELEMENTWISE_MIN:
        x = fmin(x, y);
        break;
    case AD_ELEMENTWISE_MAX:
        x = fmax(x, y);
        break;
    case AD_ELEMENTWISE_POW:
        x = pow(x, y);
        break;
    case AD_ELEMENTWISE_PRELU:
        x = x < 0 ? x * y : x;
        break;
    case AD_ELEMENTWISE_LEAKY_RELU:
        x = x < 0 ? (double)e->alpha * x : x;
        break;
    case AD_ELEMENTWISE_SIGMOID:
        x = 1 / (1 + exp(-x));
        break;
    case AD_ELEMENTWISE_SILU:
        x = x / (1 + exp(-x));
        break;
    case AD_ELEMENTWISE_HARD_SIGMOID:
        x = ramp;
        break;
    case AD_ELEMENTWISE_HARD_SWISH:
        x *= ramp;
        break;
    case AD_ELEMENTWISE_FUNCTION: /* see test_functions.c */
        x = tanh(x);
        break;
    case AD_ELEMENTWISE_COPY:
    case AD_ELEMENTWISE_CLAMP:
    case AD_ELEMENTWISE_COUNT:
        break;
    }
    return isnan(x) ? x : fmin(fmax(x, (double)e->clamp_min), (double)e->clamp_max);
}

/* Every part of a buffer, with operands repeated along random dimensions; nothing else changes. */
START_TEST(test_elementwise)
{
    struct ad_rng rng = {5};
    size_t count = (size_t)N * H * W * C;
    float *a = random_data(count, 1), *b = random_data(count, 2), *out = random_data(count, 3);
    float *want = random_data(count, 3);
    for (int round = 0; round < 100 * AD_ELEMENTWISE_COUNT; round++) {
        enum ad_elementwise_kind kind = (enum ad_elementwise_kind)(round % AD_ELEMENTWISE_COUNT);
        struct ad_region r = random_region(&rng), rb = r;
        bool repeat_h = ad_rng_below(&rng, 2), repeat_w = ad_rng_below(&rng, 2);
        bool repeat_c = ad_rng_below(&rng, 3) == 0;
        rb.h1 = repeat_h ? rb.h0 + 1 : rb.h1;
        rb.w1 = repeat_w ? rb.w0 + 1 : rb.w1;
        rb.c1 = repeat_c ? rb.c0 + 1 : rb.c1;
        struct ad_view vo = view_of(out, r), va = view_of(a, r), vb = view_of(b, rb);
        bool binary = ad_elementwise_is_binary(kind);
        struct ad_elementwise e = ad_elementwise_views(kind, &vo, &va, binary ? &vb : NULL);
        float lo = kind == AD_ELEMENTWISE_COPY ? -INFINITY : -0.25f;
        e.clamp_min = lo;
        e.function = AD_FN_TANH;
        e.alpha = 0.7f;
        e.beta = 0.3f;
        ad_elementwise_run(&e, NULL);
        for (int64_t n = 0; n < N; n++)
            for (int64_t h = r.h0; h < r.h1; h++)
                for (int64_t w = r.w0; w < r.w1; w++)
                    for (int64_t c = r.c0; c < r.c1; c++) {
                        float x = a[at(n, h, w, c)];
                        float y =
                            b[at(n, repeat_h ? r.h0 : h, repeat_w ? r.w0 : w, repeat_c ? r.c0 : c)];
                        float got = alone(&e, x, y);
                        double number = exact(&e, (double)x, (double)y);
                        ck_assert_msg((isnan(got) && isnan(number)) ||
                                          fabs((double)got - number) <=
                                              1e-6 * fmax(1, fabs(number)),
                                      "kind %d of %g, %g: %g, not %g", (int)kind, (double)x,
                                      (double)y, (double)got, number);
                        want[at(n, h, w, c)] = got;
                    }
        ck_assert_uint_eq(ad_tensor_compare(out, want, count).differ, 0);
    }
    ad_free(a);
    ad_free(b);
    ad_free(out);
    ad_free(want);
}
END_TEST

/* The corner cases of C's pow(). */
START_TEST(test_powers)
{
    static const float numbers[] = {-3,   -2.5f, -2,   -1, -0.5f, 0, 0.3f,
                                    0.5f, 1,     1.7f, 2,  3,     7, 1e9f};
    const int n = sizeof numbers / sizeof *numbers;
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_POW,
                               .stride = {{1}, {1}, {1}},
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    for (int i = 0; i < n * n; i++) {
        float x = numbers[i / n], y = numbers[i % n];
        float got = alone(&e, x, y), want = (float)pow((double)x, (double)y);
        ck_assert_msg((isnan(got) && isnan(want)) || got == want ||
                          fabsf(got - want) <= 3e-7f * fabsf(want),
                      "%g ^ %g is %.9g, not %.9g", (double)x, (double)y, (double)got, (double)want);
    }
}
END_TEST

/* More than one unit of work, with and without a pool. */
START_TEST(test_large)
{
    size_t count = 100003;
    float *a = random_data(count, 1), *b = random_data(count, 2), *out = random_data(count, 3);
    struct pthreadpool *pool;
    ck_assert_int_eq(ad_pool_new(2, &pool, NULL), ADAPS_OK);
    for (int threads = 1; threads <= 2; threads++) {
        struct ad_elementwise e = {.kind = AD_ELEMENTWISE_ADD,
                                   .rank = 1,
                                   .count = {(int64_t)count},
                                   .stride = {{1}, {1}, {1}},
                                   .out = out,
                                   .a = a,
                                   .b = b,
                                   .clamp_min = -INFINITY,
                                   .clamp_max = INFINITY};
        memset(out, 0, count * sizeof *out);
        ad_elementwise_run(&e, threads == 1 ? NULL : pool);
        for (size_t i = 0; i < count; i++)
            ck_assert(out[i] == a[i] + b[i]);
    }
    ad_pool_free(pool);
    ad_free(a);
    ad_free(b);
    ad_free(out);
}
END_TEST

static void pass_time(void *self, size_t i)
{
    (void)self, (void)i;
    for (int64_t begin = ad_clock_ns(); ad_clock_ns() - begin < 10000;)
        ;
}

/* Only what several threads can share is counted, and only while somebody watches. */
START_TEST(test_watch)
{
    struct pthreadpool *pool;
    int64_t shared = 0;
    ck_assert_int_eq(ad_pool_new(2, &pool, NULL), ADAPS_OK);
    ad_pool_watch(&shared);
    ad_pool_run(pool, pass_time, NULL, 1);
    ck_assert_int_eq(shared, 0);
    ad_pool_run(pool, pass_time, NULL, 2);
    ck_assert_int_ge(shared, 10000);
    ad_pool_watch(NULL);
    int64_t before = shared;
    ad_pool_run(pool, pass_time, NULL, 2);
    ck_assert_int_eq(shared, before);
    ad_pool_free(pool);
}
END_TEST

START_TEST(test_special_values)
{
    float in[5] = {-0.0f, NAN, INFINITY, -INFINITY, 1e-40f}, out[5];
    struct ad_view a = {.data = in, .n = 1, .h = 1, .w = 1, .c = 5, .sn = 5, .sh = 5, .sw = 5},
                   o = a;
    o.data = out;
    struct ad_elementwise e = ad_elementwise_views(AD_ELEMENTWISE_CLAMP, &o, &a, NULL);
    e.clamp_min = 0;
    e.clamp_max = 6;
    ad_elementwise_run(&e, NULL);
    ck_assert(signbit(out[0]) && out[0] == 0);
    ck_assert(isnan(out[1]));
    ck_assert(out[2] == 6 && out[3] == 0);
    e = ad_elementwise_views(AD_ELEMENTWISE_ADD, &o, &a, &a);
    ad_elementwise_run(&e, NULL);
    ck_assert(out[4] == 0); /* denormals count as zero */
}
END_TEST

/* Over all magnitudes; what is beyond the exponential's range is 0 or 1 but for 2e-38. */
START_TEST(test_sigmoid)
{
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_SIGMOID,
                               .stride = {{1}, {1}},
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    double worst = 0, worst_silu = 0;
    for (int i = -120000; i <= 120000; i++) {
        double x = (double)(float)((double)i * 1e-3), want = 1 / (1 + exp(-x));
        e.kind = AD_ELEMENTWISE_SIGMOID;
        worst = fmax(worst, fabs((double)alone(&e, (float)x, 0) - want) / (want + 1e-31));
        e.kind = AD_ELEMENTWISE_SILU;
        worst_silu = fmax(worst_silu, fabs((double)alone(&e, (float)x, 0) - x * want) /
                                          (fabs(x * want) + 1e-29));
    }
    ck_assert_msg(worst < 1e-6, "relative error %g", worst);
    ck_assert_msg(worst_silu < 1e-6, "relative error %g", worst_silu);
    e.kind = AD_ELEMENTWISE_SIGMOID;
    ck_assert(alone(&e, 0, 0) == 0.5f && alone(&e, -0.0f, 0) == 0.5f);
    ck_assert(alone(&e, INFINITY, 0) == 1 && alone(&e, 1e30f, 0) == 1);
    ck_assert(alone(&e, -INFINITY, 0) < 1e-37f && alone(&e, -INFINITY, 0) >= 0);
    for (int kind = AD_ELEMENTWISE_CLAMP; kind < AD_ELEMENTWISE_COUNT; kind++) {
        e.kind = (enum ad_elementwise_kind)kind;
        e.function = AD_FN_TANH;
        ck_assert_msg(isnan(alone(&e, NAN, 1)), "kind %d loses NaN", kind);
    }
}
END_TEST

START_TEST(test_nchw)
{
    size_t count = (size_t)N * H * W * C;
    float *nchw = random_data(count, 1), *nhwc = random_data(count, 2),
          *back = random_data(count, 3);
    struct ad_view v = view_of(nhwc, (struct ad_region){0, H, 0, W, 0, C});
    struct ad_elementwise in = ad_elementwise_from_nchw(&v, nchw);
    struct ad_elementwise out = ad_elementwise_to_nchw(back, &v);
    ad_elementwise_run(&in, NULL);
    ad_elementwise_run(&out, NULL);
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++)
            for (int64_t h = 0; h < H; h++)
                for (int64_t w = 0; w < W; w++)
                    ck_assert(nhwc[at(n, h, w, c)] == nchw[((n * C + c) * H + h) * W + w]);
    ck_assert_uint_eq(ad_tensor_compare(nchw, back, count).differ, 0);
    ad_free(nchw);
    ad_free(nhwc);
    ad_free(back);
}
END_TEST

START_TEST(test_permute)
{
    struct ad_rng rng = {3};
    struct pthreadpool *pool;
    ck_assert_int_eq(ad_pool_new(3, &pool, NULL), ADAPS_OK);
    for (int round = 0; round < 200; round++) {
        bool few = round % 2; /* dimensions, but long ones */
        int rank = 1 + (int)ad_rng_below(&rng, few ? 3 : 6);
        int64_t dims[6], count = 1;
        int32_t perm[6];
        for (int i = 0; i < rank; i++) {
            dims[i] = 1 + ad_rng_below(&rng, few ? 50 : 4);
            count *= dims[i];
            perm[i] = i;
        }
        for (int i = rank - 1; i > 0; i--) {
            int k = (int)ad_rng_below(&rng, (uint32_t)i + 1);
            int32_t swap = perm[i];
            perm[i] = perm[k];
            perm[k] = swap;
        }
        float *in = random_data((size_t)count, 7), *out = random_data((size_t)count, 8);
        struct ad_elementwise e = ad_elementwise_permute(out, in, rank, dims, perm, true);
        ad_elementwise_run(&e, round % 3 ? NULL : pool);
        for (int64_t k = 0; k < count; k++) {
            int64_t index[6], rest = k, from = 0;
            for (int i = rank - 1; i >= 0; i--) {
                index[perm[i]] = rest % dims[perm[i]];
                rest /= dims[perm[i]];
            }
            for (int i = 0; i < rank; i++)
                from = from * dims[i] + index[i];
            ck_assert(out[k] == in[from]);
        }
        ad_free(in);
        ad_free(out);
    }
    ad_pool_free(pool);
}
END_TEST

/* --- pooling and LRN --- */

static double naive_pool(const struct ad_pooling *p, const float *in, int64_t n, int64_t oh,
                         int64_t ow, int64_t c)
{
    double sum = 0, most = -INFINITY;
    int64_t inside = 0, declared = 0;
    const struct ad_window *w = &p->window;
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t k = 0; k < w->kw; k++) {
            int64_t y = oh * w->sh - w->pt + i * w->dh, x = ow * w->sw - w->pl + k * w->dw;
            declared += y < H + w->real_pb && x < W + w->real_pr;
            if (y < 0 || y >= H || x < 0 || x >= W)
                continue;
            inside++;
            sum += (double)in[at(n, y, x, c)];
            most = fmax(most, (double)in[at(n, y, x, c)]);
        }
    return p->average ? sum / (double)(p->count_include_pad ? declared : inside) : most;
}

START_TEST(test_pooling)
{
    static const struct ad_window windows[] = {
        {3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},
        {1, 1, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0}, {3, 2, 1, 3, 2, 3, 2, 1, 2, 2, 2, 2},
        {9, 7, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, {3, 3, 2, 2, 1, 1, 1, 0, 2, 1, 1, 0},
    };
    size_t count = (size_t)N * H * W * C;
    float *in = random_data(count, 1), *whole = random_data(count, 2),
          *part = random_data(count, 3);
    struct ad_rng rng = {9};
    for (int round = 0; round < 240; round++) {
        struct ad_window w = windows[round % 6];
        bool average = round / 6 % 2 && w.dh == 1;
        int64_t oh = (H + w.pt + w.pb - w.dh * (w.kh - 1) - 1) / w.sh + 1;
        int64_t ow = (W + w.pl + w.pr - w.dw * (w.kw - 1) - 1) / w.sw + 1;
        struct ad_pooling p = {.average = average,
                               .count_include_pad = round / 12 % 2,
                               .window = w,
                               .in = view_of(in, (struct ad_region){0, H, 0, W, 0, C}),
                               .out = {whole, N, oh, ow, C, oh * ow * C, ow * C, C},
                               .size_h = H,
                               .size_w = W,
                               .clamp_min = -0.5f,
                               .clamp_max = 0.5f};
        ad_pooling_run(&p, NULL);
        struct ad_region r = random_region(&rng); /* a part of the output, as far as it exists */
        r = ad_region_intersect(r, (struct ad_region){0, (int32_t)oh, 0, (int32_t)ow, 0, C});
        struct ad_pooling q = p;
        q.out.data = part;
        q.h0 = r.h0, q.w0 = r.w0;
        q.out.h = r.h1 > r.h0 ? r.h1 - r.h0 : 0;
        q.out.w = r.w1 > r.w0 ? r.w1 - r.w0 : 0;
        q.out.c = q.in.c = r.c1 - r.c0;
        q.in.data += r.c0;
        ad_pooling_run(&q, NULL);
        for (int64_t i = 0; i < N * oh * ow * C; i++) {
            int64_t c = i % C, x = i / C % ow, y = i / C / ow % oh, n = i / C / ow / oh;
            double want = fmin(fmax(naive_pool(&p, in, n, y, x, c), -0.5), 0.5);
            ck_assert(fabs((double)whole[i] - want) < 1e-6);
            if (y < r.h0 || y >= r.h1 || x < r.w0 || x >= r.w1 || c < r.c0 || c >= r.c1)
                continue;
            float other =
                part[n * q.out.sn + (y - r.h0) * q.out.sh + (x - r.w0) * q.out.sw + c - r.c0];
            ck_assert(memcmp(&other, &whole[i], sizeof other) == 0);
        }
    }
    ad_free(in);
    ad_free(whole);
    ad_free(part);
}
END_TEST

START_TEST(test_lrn)
{
    size_t count = (size_t)N * H * W * C;
    float *in = random_data(count, 1), *whole = random_data(count, 2),
          *part = random_data(count, 3);
    static const float betas[] = {0.75f, 0.5f, 0.6f};
    for (int32_t size = 1; size < 8; size++) {
        struct ad_region all = {0, H, 0, W, 0, C}, some = {1, 5, 2, 6, 4, 17};
        struct ad_lrn l = {.in = view_of(in, all),
                           .out = view_of(whole, all),
                           .channels = C,
                           .size = size,
                           .alpha = 0.3f,
                           .beta = betas[size % 3],
                           .bias = 1.5f};
        ad_lrn_run(&l, NULL);
        struct ad_lrn m = l;
        int32_t c0 = some.c0 - (size - 1) / 2;
        m.in = view_of(in, (struct ad_region){1, 5, 2, 6, c0, some.c1 + size / 2});
        m.out = view_of(part, some);
        m.in_c0 = c0;
        m.c0 = some.c0;
        ad_lrn_run(&m, NULL);
        for (int64_t i = 0; i < (int64_t)count; i++) {
            int64_t c = i % C, x = i / C % W, y = i / C / W % H, first = i - c;
            double sum = 0;
            for (int64_t k = 0; k < C; k++)
                if (k >= c - (size - 1) / 2 && k <= c + size / 2)
                    sum += (double)in[first + k] * (double)in[first + k];
            double want = (double)in[i] / pow(1.5 + (double)0.3f / size * sum, (double)l.beta);
            ck_assert(fabs((double)whole[i] - want) < 1e-6);
            if (y >= some.h0 && y < some.h1 && x >= some.w0 && x < some.w1 && c >= some.c0 &&
                c < some.c1)
                ck_assert(memcmp(&part[i], &whole[i], sizeof *part) == 0);
        }
    }
    ad_free(in);
    ad_free(whole);
    ad_free(part);
}
END_TEST

/* --- spans --- */

/* The bytes of a region come out in the order n, h, w, c, in as few pieces as there can be. */
/* Rows and columns are there, channels are not: nothing is taken, and there is no input to point
 * at. */
START_TEST(test_resampling_of_nothing)
{
    float out[2 * 3 * 4];
    struct ad_resample r = {
        .how = {.edge = AD_EDGE_FILL,
                .fill = 0.5f,
                .axis = {{.step = 1, .unit = 1},
                         {.step = 1, .unit = 1},
                         {.step = 1, .start = 9, .unit = 1}}},
        .out = {.data = out, .n = 1, .h = 2, .w = 3, .c = 3, .sn = 24, .sh = 12, .sw = 4},
        .size = {2, 3, 3}};
    for (int i = 0; i < 24; i++)
        out[i] = 7;
    ck_assert_int_eq(ad_resample_init(&r, NULL), ADAPS_OK);
    ad_resample_run(&r, NULL);
    ad_resample_fini(&r);
    for (int i = 0; i < 24; i++)
        ck_assert(out[i] == (i % 4 < 3 ? 0.5f : 7)); /* the gaps between pixels stay */
}
END_TEST

START_TEST(test_spans)
{
    float *data = random_data((size_t)N * H * W * C, 1);
    struct ad_buffer buffer = whole_buffer(data);
    struct ad_rng rng = {4};
    for (int round = 0; round < 300; round++) {
        struct ad_region r = random_region(&rng);
        struct ad_span_list list;
        ck_assert_int_eq(ad_buffer_spans(&buffer, r, &list, NULL), ADAPS_OK);
        int span = 0;
        size_t run = 0, offset = 0;
        for (int64_t n = 0; n < N; n++)
            for (int64_t h = r.h0; h < r.h1; h++)
                for (int64_t w = r.w0; w < r.w1; w++)
                    for (int64_t c = r.c0; c < r.c1; c++) {
                        const struct ad_span *s = &list.spans[span];
                        ck_assert_int_lt(span, list.count);
                        ck_assert_ptr_eq((char *)s->base + run * s->run_stride + offset,
                                         (char *)&data[at(n, h, w, c)]);
                        offset += sizeof(float);
                        if (offset == s->run_bytes) {
                            offset = 0;
                            run++;
                        }
                        if (run == s->runs) {
                            run = 0;
                            span++;
                        }
                    }
        ck_assert_int_eq(span, list.count);
        ad_free(list.spans);
    }
    struct ad_region rows = {2, 5, 0, W, 0, C}, all = {0, H, 0, W, 0, C};
    struct ad_span_list list;
    ck_assert_int_eq(ad_buffer_spans(&buffer, rows, &list, NULL), ADAPS_OK);
    ck_assert(list.count == 1 && list.spans[0].runs == N); /* whole rows: one run per image */
    ck_assert_uint_eq(list.spans[0].run_bytes, 3 * W * C * sizeof(float));
    ad_free(list.spans);
    ck_assert_int_eq(ad_buffer_spans(&buffer, all, &list, NULL), ADAPS_OK);
    ck_assert(list.count == 1 && list.spans[0].runs == 1);
    ad_free(list.spans);
    ad_free(data);
}
END_TEST

/* --- emulated speed --- */

static int64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work_for(int64_t ns)
{
    int64_t end = thread_ns() + ns;
    while (thread_ns() < end)
        continue;
}

/* However busy the machine is, a quarter of the speed takes at least four times the work. */
START_TEST(test_throttle)
{
    struct ad_throttle t = {.fraction = 0.25};
    int64_t start = ad_clock_ns(), cpu = thread_ns();
    for (int step = 0; step < 4; step++) {
        ad_throttle_begin(&t);
        for (int task = 0; task < 8; task++) {
            work_for(1000000);
            ad_throttle_pause(&t);
        }
        ad_throttle_end(&t);
    }
    cpu = thread_ns() - cpu;
    int64_t wall = ad_clock_ns() - start;
    for (int tries = 0; tries < 100; tries++) { /* the machine may keep it waiting now and then */
        t.late_ns = 2000000;
        ad_throttle_begin(&t); /* it has not waited since: it still is late, or later */
        if (t.late_ns >= 2000000)
            break;
    }
    ck_assert_int_ge(t.late_ns, 2000000);
    work_for(1000000);
    ad_throttle_end(&t);
    ad_throttle_fini(&t);
    ck_assert_int_eq(t.stat, 0);
    ck_assert_int_ge(cpu, 32000000);
    ck_assert_int_ge(wall, 4 * (int64_t)32000000 - 5000000);
}
END_TEST

/* Off: no sleep is due; cancelled: none is made (else this would take hours). */
START_TEST(test_throttle_off)
{
    atomic_int cancel = 1;
    struct ad_throttle off = {.fraction = 1}, slow = {.fraction = 1e-9, .cancel = &cancel};
    ad_throttle_begin(&off);
    work_for(6000000);
    ad_throttle_pause(&off);
    ad_throttle_end(&off);
    ck_assert_int_eq(off.start_ns, 0);
    ad_throttle_begin(&slow);
    work_for(6000000);
    ad_throttle_pause(&slow);
    ad_throttle_end(&slow);
    ck_assert_int_ne(slow.start_ns, 0);
    ad_throttle_fini(&slow);
}
END_TEST

/* Levels come back with the same bits from every part of a buffer; anything else is noticed. */
START_TEST(test_pixels)
{
    enum { SIDE = 9 };
    const char *metadata[] = {"adaps.mean", "0.485, 0.456,0.406", "adaps.std", "0.229", NULL};
    struct ad_graph graph = {.metadata = metadata};
    struct ad_rng rng = {3};
    struct ad_picture levels;
    float data[SIDE * SIDE * 3], back[SIDE * SIDE * 3];
    uint8_t bytes[SIDE * SIDE * 3];
    ck_assert_int_eq(ad_picture_init(&levels, &graph, 3, NULL), ADAPS_OK);
    ck_assert(levels.level[1][51] == (51 / 255.0f - 0.456f) / 0.229f);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < SIDE * SIDE * 3; i++)
            data[i] = levels.level[i % 3][ad_rng_below(&rng, 256)];
        memset(back, 0, sizeof back);
        int32_t c0 = (int32_t)ad_rng_below(&rng, 3), h = (int32_t)ad_rng_below(&rng, SIDE);
        struct ad_region r = {h, SIDE, 2, SIDE, c0, 3};
        struct ad_buffer from = {.lies = {0, SIDE, 0, SIDE, 0, 3}, .n = 1, .unit = 4, .data = data},
                         to = from;
        to.data = back;
        struct ad_view in = ad_buffer_view(&from, r), out = ad_buffer_view(&to, r);
        ck_assert(ad_pixels_encode(&levels, &in, c0, bytes));
        ad_pixels_decode(&levels, bytes, &out, c0);
        for (int i = 0; i < SIDE * SIDE * 3; i++) {
            bool inside = i / 3 / SIDE >= h && i / 3 % SIDE >= 2 && i % 3 >= c0;
            ck_assert(memcmp(&back[i], inside ? &data[i] : &(float){0}, sizeof *back) == 0);
        }
        static const float strange[] = {NAN, INFINITY, -0.0f, 1e9f, -1e9f, 0.1234567f};
        float *spoilt = &in.data[(int64_t)ad_rng_below(&rng, (uint32_t)in.h) * in.sh];
        *spoilt = strange[round % 6];
        ck_assert(!ad_pixels_encode(&levels, &in, c0, bytes));
        *spoilt = nextafterf(levels.level[c0][round], 10);
        ck_assert(!ad_pixels_encode(&levels, &in, c0, bytes));
    }
}
END_TEST

/* Whole inputs as bytes, in a tensor's order, and from there to a buffer. */
START_TEST(test_pictures)
{
    enum { ROWS = 7, COLUMNS = 9, PLANE = ROWS * COLUMNS, COUNT = 2 * 3 * PLANE };
    struct ad_graph graph = {.nops = 0};
    struct ad_rng rng = {5};
    struct ad_picture levels;
    float tensor[COUNT], buffer[COUNT];
    uint8_t bytes[COUNT];
    ck_assert_int_eq(ad_picture_init(&levels, &graph, 3, NULL), ADAPS_OK);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < COUNT; i++)
            tensor[i] = levels.level[i / PLANE % 3][ad_rng_below(&rng, 256)];
        ck_assert(ad_picture_encode(&levels, tensor, COUNT, PLANE, bytes));
        struct ad_buffer to = {
            .lies = {0, ROWS, 0, COLUMNS, 0, 3}, .n = 2, .unit = 4, .data = buffer};
        struct ad_view view = ad_buffer_view(&to, to.lies);
        ad_pixels_spread(&levels, bytes, &view);
        for (int i = 0; i < COUNT; i++) {
            int n = i / PLANE / 3, c = i / PLANE % 3, pixel = i % PLANE;
            ck_assert(memcmp(&buffer[(n * PLANE + pixel) * 3 + c], &tensor[i], 4) == 0);
        }
        static const float strange[] = {NAN,   -INFINITY,  -0.0f,       1e9f,
                                        -1e9f, 0.1234567f, 256 / 255.0f};
        tensor[ad_rng_below(&rng, COUNT)] = strange[round % 7];
        ck_assert(!ad_picture_encode(&levels, tensor, COUNT, PLANE, bytes));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *tc = tcase_create("kernels");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_elementwise);
    tcase_add_test(tc, test_powers);
    tcase_add_test(tc, test_large);
    tcase_add_test(tc, test_watch);
    tcase_add_test(tc, test_special_values);
    tcase_add_test(tc, test_sigmoid);
    tcase_add_test(tc, test_nchw);
    tcase_add_test(tc, test_permute);
    tcase_add_test(tc, test_pooling);
    tcase_add_test(tc, test_lrn);
    tcase_add_test(tc, test_resampling_of_nothing);
    tcase_add_test(tc, test_spans);
    tcase_add_test(tc, test_pixels);
    tcase_add_test(tc, test_pictures);
    tcase_add_test(tc, test_throttle);
    tcase_add_test(tc, test_throttle_off);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
