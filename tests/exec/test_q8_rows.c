/* Operators on bytes but for convolutions against their definitions: the same bits in vectors of
 * any width, of any part of a map. */
#include "exec/kernels/choice.h"
#include "exec/kernels/q8_resample.h"
#include "exec/kernels/q8_rows.h"
#include "exec/kernels/rows.h"
#include "exec/kernels/softmax.h"
#include "support/q8_reference.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/views.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0x5a

static const int limits[] = {16, 8, 4}; /* of ad_processor_limit_lanes() */
#define LIMITS ((int)(sizeof limits / sizeof *limits))

static int64_t number(const struct ad_q8 *q, uint8_t byte)
{
    return q->is_signed && byte >= 128 ? (int64_t)byte - 256 : byte;
}

static int32_t least(const struct ad_q8 *q)
{
    return q->is_signed ? -128 : 0;
}

static struct ad_q8 random_kind(struct ad_rng *rng)
{
    struct ad_q8 q = {.is_signed = ad_up_to(rng, 0, 1)};
    q.zero = least(&q) + (ad_up_to(rng, 0, 2) ? ad_up_to(rng, 0, 255) : ad_up_to(rng, 0, 1) * 255);
    q.scale = ldexpf(1 + ad_rng_float(rng), -ad_up_to(rng, 2, 9));
    return q;
}

/* A view of random bytes with gaps; free() its data. */
static struct ad_q8_view random_view(struct ad_rng *rng, int64_t n, int64_t h, int64_t w, int64_t c)
{
    struct ad_q8_view v = ad_q8_gapped(NULL, n, h, w, c, ad_up_to(rng, 0, 1) * ad_up_to(rng, 0, 5));
    v.data =
        ad_q8_random(rng, (size_t)(n * v.sn), false, (enum ad_q8_kind)(ad_up_to(rng, 0, 5) % 4));
    return v;
}

static uint8_t *at(const struct ad_q8_view *v, int64_t n, int64_t y, int64_t x, int64_t c)
{
    return v->data + (v->n > 1 ? n : 0) * v->sn + (v->h > 1 ? y : 0) * v->sh +
           (v->w > 1 ? x : 0) * v->sw + (v->c > 1 ? c : 0);
}

#define EACH(view, i0, i1, i2, i3)                                                                 \
    for (int64_t i0 = 0; i0 < (view).n; i0++)                                                      \
        for (int64_t i1 = 0; i1 < (view).h; i1++)                                                  \
            for (int64_t i2 = 0; i2 < (view).w; i2++)                                              \
                for (int64_t i3 = 0; i3 < (view).c; i3++)

static void check_bytes(const struct ad_q8_view *got, const struct ad_q8_view *want, uint64_t seed,
                        int limit)
{
    for (int64_t i = 0; i < got->n * got->sn; i++)
        ck_assert_msg(got->data[i] == want->data[i], "seed %llu, %d lanes: byte %lld is %d, not %d",
                      (unsigned long long)seed, limit, (long long)i, got->data[i], want->data[i]);
}

/* Two views of one shape, both full of guards. */
static void make_outs(struct ad_rng *rng, const int64_t s[4], struct ad_q8_view *got,
                      struct ad_q8_view *want)
{
    *got = ad_q8_gapped(NULL, s[0], s[1], s[2], s[3], ad_up_to(rng, 0, 1) * ad_up_to(rng, 0, 5));
    *want = *got;
    got->data = malloc((size_t)(s[0] * got->sn));
    want->data = malloc((size_t)(s[0] * got->sn));
    memset(want->data, GUARD, (size_t)(s[0] * got->sn));
}

static void guard(struct ad_q8_view *got)
{
    memset(got->data, GUARD, (size_t)(got->n * got->sn));
}

static void random_shape(struct ad_rng *rng, int64_t s[4])
{
    s[0] = ad_up_to(rng, 1, 2);
    s[1] = ad_up_to(rng, 1, 4);
    s[2] = ad_up_to(rng, 1, 6);
    s[3] = ad_up_to(rng, 1, 67);
}

/* --- arithmetic --- */

/* Each operation is rounded to a float. */
static uint8_t binary_byte(const struct ad_q8_binary *b, int64_t x, int64_t y)
{
    const struct ad_q8 *p = &b->a_is, *q = &b->b_is, *out = &b->out_is;
    volatile float first, second, fixed, sum;
    if (b->multiply) {
        first = p->scale * q->scale;
        first /= out->scale;
        sum = (float)((x - p->zero) * (y - q->zero));
        sum *= first;
        sum += (float)out->zero;
    } else {
        first = p->scale / out->scale;
        second = q->scale / out->scale;
        fixed = first * (float)p->zero;
        sum = second * (float)q->zero;
        fixed = fixed + sum;
        sum = (float)out->zero - fixed;
        first = (float)x * first;
        second = (float)y * second;
        sum = sum + first;
        sum = sum + second;
    }
    return (uint8_t)ad_q8_reference_round(sum, 0, b->lo, b->hi);
}

static void check_binary(struct ad_rng *rng, uint64_t seed)
{
    int64_t s[4], p[4], q[4];
    random_shape(rng, s);
    for (int i = 0; i < 4; i++) {
        p[i] = ad_up_to(rng, 0, 7) ? s[i] : 1;
        q[i] = ad_up_to(rng, 0, 3) ? s[i] : 1;
    }
    struct ad_q8_binary b = {.multiply = ad_up_to(rng, 0, 1),
                             .a = random_view(rng, p[0], p[1], p[2], p[3]),
                             .b = random_view(rng, q[0], q[1], q[2], q[3]),
                             .a_is = random_kind(rng),
                             .b_is = random_kind(rng),
                             .out_is = random_kind(rng)};
    b.lo = ad_up_to(rng, 0, 1) ? least(&b.out_is) : b.out_is.zero;
    b.hi = ad_up_to(rng, 0, 1) ? least(&b.out_is) + 255 : b.lo + 1;
    b.hi = b.hi > least(&b.out_is) + 255 ? least(&b.out_is) + 255 : b.hi;
    struct ad_q8_view want;
    make_outs(rng, s, &b.out, &want);
    EACH(want, n, y, x, c)
    *at(&want, n, y, x, c) = binary_byte(&b, number(&b.a_is, *at(&b.a, n, y, x, c)),
                                         number(&b.b_is, *at(&b.b, n, y, x, c)));
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        guard(&b.out);
        ad_q8_binary_run(&b, NULL);
        check_bytes(&b.out, &want, seed, limits[i]);
    }
    free(b.a.data);
    free(b.b.data);
    free(b.out.data);
    free(want.data);
}

/* --- pools --- */

/* *floats: the sum of what the elements stand for, row by row, each addition rounded. */
static int64_t pool_element(const struct ad_q8_pooling *p, const int64_t i[4], int64_t *count,
                            volatile float *floats)
{
    const struct ad_window *w = &p->window;
    int64_t best = INT64_MIN, sum = 0, declared = 0;
    volatile float one;
    *count = 0;
    *floats = 0;
    for (int64_t ky = 0; ky < w->kh; ky++)
        for (int64_t kx = 0; kx < w->kw; kx++) {
            int64_t y = (p->h0 + i[1]) * w->sh - w->pt + ky * w->dh;
            int64_t x = (p->w0 + i[2]) * w->sw - w->pl + kx * w->dw;
            declared += y < p->size_h + w->real_pb && x < p->size_w + w->real_pr;
            if (y < 0 || y >= p->size_h || x < 0 || x >= p->size_w)
                continue;
            int64_t v = number(&p->in_is, p->in.data[i[0] * p->in.sn + (y - p->in_h0) * p->in.sh +
                                                     (x - p->in_w0) * p->in.sw + i[3]]);
            best = v > best ? v : best;
            sum += v - p->in_is.zero;
            one = (float)(v - p->in_is.zero);
            one = one * p->in_is.scale;
            *floats = *floats + one;
            ++*count;
        }
    if (p->count_include_pad)
        *count = declared;
    return p->average ? sum : best;
}

/* A mean as ONNX Runtime has it: of floats, as a byte of type uint8, the zero added before it is
 * rounded; of the whole map: of exact sums. */
static void pool_store(const struct ad_q8_pooling *p, int64_t sum, float floats, int64_t count,
                       void *to)
{
    const struct ad_q8_out *out = &p->out;
    const struct ad_window *w = &p->window;
    bool global = w->kh == p->size_h && w->kw == p->size_w && w->pt + w->pl == 0 &&
                  w->real_pb + w->real_pr == 0;
    int32_t up = p->out_is.is_signed ? 128 : 0;
    volatile float m = p->out_is.scale * (float)count;
    if (!p->average) {
        *(uint8_t *)to = (uint8_t)(sum < out->lo ? out->lo : sum > out->hi ? out->hi : sum);
        return;
    }
    if (out->result == AD_Q8_SUMS) {
        *(int32_t *)to = (int32_t)sum;
        return;
    }
    if (!global) {
        m = floats / (float)count;
        m = m / p->out_is.scale;
        m = m + (float)(out->zero + up);
        *(uint8_t *)to = (uint8_t)(ad_q8_reference_round(m, 0, out->lo + up, out->hi + up) - up);
        return;
    }
    m = p->in_is.scale / m;
    m = (float)sum * m;
    *(uint8_t *)to = (uint8_t)ad_q8_reference_round(m, out->zero, out->lo, out->hi);
}

/* A band of a pool: rows [h0, ...) and columns [w0, ...) of the result. */
static void check_pool(struct ad_rng *rng, uint64_t seed)
{
    struct ad_q8_pooling p = {.average = ad_up_to(rng, 0, 1),
                              .count_include_pad = ad_up_to(rng, 0, 1),
                              .in_is = random_kind(rng)};
    struct ad_window *w = &p.window;
    *w = (struct ad_window){.kh = ad_up_to(rng, 1, 4),
                            .kw = ad_up_to(rng, 1, 4),
                            .sh = ad_up_to(rng, 1, 3),
                            .sw = ad_up_to(rng, 1, 3),
                            .dh = 1,
                            .dw = 1};
    w->pt = ad_up_to(rng, 0, w->kh - 1);
    w->pl = ad_up_to(rng, 0, w->kw - 1);
    w->real_pb = ad_up_to(rng, 0, w->kh - 1);
    w->real_pr = ad_up_to(rng, 0, w->kw - 1);
    p.size_h = w->kh + ad_up_to(rng, 0, 6);
    p.size_w = w->kw + ad_up_to(rng, 0, 6);
    if (ad_up_to(rng, 0, 7) == 0) { /* the whole map */
        w->pt = w->pl = w->real_pb = w->real_pr = 0;
        p.size_h = w->kh;
        p.size_w = w->kw;
    }
    int64_t h = (p.size_h + w->pt + w->real_pb - w->kh) / w->sh + 1;
    int64_t wide = (p.size_w + w->pl + w->real_pr - w->kw) / w->sw + 1;
    p.h0 = ad_up_to(rng, 0, (int32_t)h - 1);
    p.w0 = ad_up_to(rng, 0, (int32_t)wide - 1);
    int64_t s[4] = {ad_up_to(rng, 1, 2), h - p.h0, wide - p.w0, ad_up_to(rng, 1, 140)};
    p.out_is = p.average && ad_up_to(rng, 0, 1) ? random_kind(rng) : p.in_is;
    p.in = random_view(rng, s[0], p.size_h, p.size_w, s[3]);
    struct ad_q8_view got = ad_q8_gapped(NULL, s[0], s[1], s[2], s[3], ad_up_to(rng, 0, 5));
    p.out = ad_q8_out_bytes(&got, &p.out_is);
    if (ad_up_to(rng, 0, 2) == 0)
        p.out.lo = p.out.zero;
    p.out.result = p.average && ad_up_to(rng, 0, 1) ? AD_Q8_SUMS : AD_Q8_BYTES;
    size_t size = ad_q8_bytes(p.out.result), all = (size_t)(s[0] * got.sn) * size;
    char *out = malloc(all), *want = malloc(all);
    p.out.data = out;
    memset(want, GUARD, all);
    EACH(got, n, y, x, c)
    {
        volatile float floats;
        int64_t count, sum = pool_element(&p, (const int64_t[]){n, y, x, c}, &count, &floats);
        pool_store(&p, sum, floats, count,
                   want + (size_t)(n * got.sn + y * got.sh + x * got.sw + c) * size);
    }
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        memset(out, GUARD, all);
        ad_q8_pooling_run(&p, NULL);
        ck_assert_msg(memcmp(out, want, all) == 0, "seed %llu, %d lanes", (unsigned long long)seed,
                      limits[i]);
    }
    free(p.in.data);
    free(out);
    free(want);
}

/* --- sums of blocks --- */

static void check_sum(struct ad_rng *rng, uint64_t seed)
{
    int64_t s[4];
    random_shape(rng, s);
    int32_t *parts[2];
    struct ad_q8_out views[2];
    struct ad_q8 is = random_kind(rng);
    struct ad_q8_view dense = ad_q8_gapped(NULL, s[0], s[1], s[2], s[3], ad_up_to(rng, 0, 3));
    size_t n = (size_t)(s[0] * dense.sn);
    for (int k = 0; k < 2; k++) {
        views[k] = ad_q8_out_bytes(&dense, &is);
        views[k].result = AD_Q8_SUMS;
        views[k].data = parts[k] = malloc(n * sizeof **parts);
        for (size_t i = 0; i < n; i++)
            parts[k][i] = (int32_t)ad_rng_below(rng, 1u << 30) - (1 << 29);
    }
    float *multiplier = ad_random_floats(rng, (size_t)s[3]);
    for (int64_t c = 0; c < s[3]; c++)
        multiplier[c] = ldexpf(multiplier[c] + 0.6f, -24);
    struct ad_q8_sum sum = {.a = views[0],
                            .b = views[1],
                            .out = ad_q8_out_bytes(&dense, &is),
                            .multiplier = multiplier};
    sum.out.result = (enum ad_q8_result)ad_up_to(rng, 0, 2);
    sum.out.clamp_min = -3;
    sum.out.clamp_max = 5;
    if (sum.out.result == AD_Q8_SUMS && ad_up_to(rng, 0, 1))
        sum.multiplier = NULL;
    struct ad_q8_conv conv = {.out = sum.out};
    struct ad_q8_weights weights = {.multiplier = multiplier, .multiplier_step = 1};
    struct ad_q8_reference r = {&conv, &weights};
    size_t size = ad_q8_bytes(sum.out.result);
    char *out = malloc(n * size), *want = malloc(n * size);
    memset(want, GUARD, n * size);
    EACH(dense, i, y, x, c)
    {
        size_t k = (size_t)(i * dense.sn + y * dense.sh + x * dense.sw + c);
        int64_t all = (int64_t)parts[0][k] + parts[1][k];
        ad_q8_reference_finish(&r, all, c, want + k * size);
    }
    sum.out.data = out;
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        memset(out, GUARD, n * size);
        ad_q8_sum_run(&sum, NULL);
        ck_assert_msg(memcmp(out, want, n * size) == 0, "seed %llu, %d lanes",
                      (unsigned long long)seed, limits[i]);
    }
    for (int k = 0; k < 2; k++)
        free(parts[k]);
    free(multiplier);
    free(out);
    free(want);
}

/* --- tables, floats --- */

static uint8_t quantised(float x, const struct ad_q8 *q)
{
    volatile float y = x / q->scale;
    return isnan(y) ? (uint8_t)least(q)
                    : (uint8_t)ad_q8_reference_round(y, q->zero, least(q), least(q) + 255);
}

static void check_map(struct ad_rng *rng, uint64_t seed)
{
    int64_t s[4];
    uint8_t table[256];
    random_shape(rng, s);
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)ad_rng_below(rng, 256);
    struct ad_q8_map m = {.in = random_view(rng, s[0], s[1], s[2], s[3]),
                          .table = ad_up_to(rng, 0, 2) ? table : NULL};
    struct ad_q8_view want;
    make_outs(rng, s, &m.out, &want);
    guard(&m.out);
    EACH(want, n, y, x, c)
    *at(&want, n, y, x, c) = m.table ? table[*at(&m.in, n, y, x, c)] : *at(&m.in, n, y, x, c);
    ad_q8_map_run(&m, NULL);
    check_bytes(&m.out, &want, seed, 0);
    free(m.in.data);
    free(m.out.data);
    free(want.data);
}

/* Scales of all, of each channel; NaN and infinities are saturated. */
static void check_floats(struct ad_rng *rng, uint64_t seed)
{
    int64_t s[4];
    random_shape(rng, s);
    s[3] *= ad_up_to(rng, 0, 4) ? 1 : 10;
    struct ad_q8_floats q = {.is = random_kind(rng)};
    struct ad_q8_view want;
    make_outs(rng, s, &q.bytes, &want);
    q.floats = ad_gapped_view(NULL, s[0], s[1], s[2], s[3], ad_up_to(rng, 0, 3));
    size_t n = (size_t)(s[0] * q.floats.sn);
    float *x = ad_random_floats(rng, n), *scales = ad_random_floats(rng, (size_t)s[3]);
    uint8_t *zeros = ad_q8_random(rng, (size_t)s[3], false, AD_Q8_ANY);
    static const float special[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0, -0.0f};
    for (size_t i = 0; i < n; i++)
        x[i] = ad_up_to(rng, 0, 9) ? ldexpf(x[i], 6) : special[ad_up_to(rng, 0, 6)];
    for (int64_t c = 0; c < s[3]; c++)
        scales[c] = scales[c] + 0.6f;
    q.floats.data = x;
    q.scales = ad_up_to(rng, 0, 1) ? scales : NULL;
    q.zeros = ad_up_to(rng, 0, 1) ? zeros : NULL;
    EACH(want, i, y, k, c)
    {
        struct ad_q8 is = q.is;
        if (q.scales) {
            is.scale = scales[c];
            is.zero = q.zeros ? (int32_t)number(&is, zeros[c]) : 0;
        }
        *at(&want, i, y, k, c) =
            quantised(x[i * q.floats.sn + y * q.floats.sh + k * q.floats.sw + c], &is);
    }
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        guard(&q.bytes);
        ad_q8_quantise_run(&q, NULL);
        check_bytes(&q.bytes, &want, seed, limits[i]);
    }
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        memset(x, 0, n * sizeof *x);
        ad_q8_dequantise_run(&q, NULL);
        EACH(want, k, y, z, c)
        {
            volatile float f =
                (float)(number(&q.is, *at(&want, k, y, z, c)) -
                        (q.scales ? q.zeros ? number(&q.is, zeros[c]) : 0 : q.is.zero));
            f *= q.scales ? scales[c] : q.is.scale;
            ck_assert(x[k * q.floats.sn + y * q.floats.sh + z * q.floats.sw + c] == f);
        }
    }
    free(x);
    free(scales);
    free(zeros);
    free(q.bytes.data);
    free(want.data);
}

/* As dequantising, softmax of floats and quantising are. */
static void check_softmax(struct ad_rng *rng, uint64_t seed)
{
    int64_t s[4];
    random_shape(rng, s);
    s[3] += ad_up_to(rng, 0, 1) * 1000;
    struct ad_q8_softmax m = {.in = random_view(rng, s[0], s[1], s[2], s[3]),
                              .in_is = random_kind(rng),
                              .out_is = {false, 0, 1.0f / 256}};
    struct ad_q8_view want;
    make_outs(rng, s, &m.out, &want);
    float *x = malloc((size_t)s[3] * sizeof *x);
    for (int64_t n = 0; n < s[0]; n++)
        for (int64_t y = 0; y < s[1]; y++)
            for (int64_t k = 0; k < s[2]; k++) {
                for (int64_t c = 0; c < s[3]; c++)
                    x[c] = (float)(number(&m.in_is, *at(&m.in, n, y, k, c)) - m.in_is.zero) *
                           m.in_is.scale;
                ad_softmax_any(x, x, s[3]);
                for (int64_t c = 0; c < s[3]; c++)
                    *at(&want, n, y, k, c) = quantised(x[c], &m.out_is);
            }
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        guard(&m.out);
        ad_q8_softmax_run(&m, NULL);
        check_bytes(&m.out, &want, seed, limits[i]);
    }
    free(x);
    free(m.in.data);
    free(m.out.data);
    free(want.data);
}

static void sweep(void (*check)(struct ad_rng *rng, uint64_t seed), int n)
{
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(n); seed++) {
        struct ad_rng rng = {seed};
        check(&rng, seed);
    }
    ad_processor_limit_lanes(16);
}

START_TEST(binary)
{
    sweep(check_binary, 400);
}
END_TEST

START_TEST(pools)
{
    sweep(check_pool, 400);
}
END_TEST

START_TEST(sums_of_blocks)
{
    sweep(check_sum, 200);
}
END_TEST

START_TEST(maps)
{
    sweep(check_map, 200);
}
END_TEST

START_TEST(floats)
{
    sweep(check_floats, 200);
}
END_TEST

START_TEST(softmax)
{
    sweep(check_softmax, 60);
}
END_TEST

/* A table is what the bytes' floats become by the kernels for floats. */
START_TEST(tables)
{
    static const enum ad_function functions[] = {AD_FN_NONE,      AD_FN_SIGMOID, AD_FN_SILU,
                                                 AD_FN_TANH,      AD_FN_GELU,    AD_FN_LEAKY_RELU,
                                                 AD_FN_HARD_SWISH};
    struct ad_rng rng = {7};
    for (int round = 0; round < 40; round++) {
        enum ad_function function = functions[round % 7];
        struct ad_q8 in = random_kind(&rng), out = random_kind(&rng);
        struct ad_activation f = {
            ad_elementwise_kind_of(function), function, 0.125f, 0.5f, -INFINITY, INFINITY};
        if (function == AD_FN_NONE)
            f.kind = AD_ELEMENTWISE_COPY;
        uint8_t table[256], again[256];
        ad_q8_table_make(table, &in, &out, &f);
        ad_processor_limit_lanes(4);
        ad_q8_table_make(again, &in, &out, &f);
        ad_processor_limit_lanes(16);
        ck_assert_mem_eq(table, again, 256);
        for (int i = 0; i < 256; i++) {
            float x = (float)(number(&in, (uint8_t)i) - in.zero) * in.scale;
            struct ad_row row = ad_row_of(&f);
            row.a = row.out = &x;
            if (f.kind != AD_ELEMENTWISE_COPY)
                ad_rows_any(f.kind, &row, 1);
            ck_assert_int_eq(table[i], quantised(x, &out));
        }
    }
}
END_TEST

/* --- resizing --- */

/* A scale of p / q, by what the file says of positions. */
struct scaling {
    enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, OTHER, KINDS } kind;
    int64_t p, q, in, out;
};

static struct scaling random_scaling(struct ad_rng *rng, int64_t in)
{
    struct scaling s = {.kind = ad_up_to(rng, 0, KINDS - 1),
                        .p = ad_up_to(rng, 1, 7),
                        .q = ad_up_to(rng, 1, 5),
                        .in = in};
    s.out = s.kind == ASYMMETRIC ? ad_up_to(rng, 1, 12) : in * s.p / s.q + 1;
    if (s.kind == ALIGN_CORNERS)
        s.out += s.out == 1;
    if (s.kind == ASYMMETRIC) {
        s.p = s.out;
        s.q = in;
    }
    return s;
}

static struct ad_positions positions_of(const struct scaling *s)
{
    switch (s->kind) {
    case HALF_PIXEL:
        return (struct ad_positions){2 * s->q, s->q - s->p, 2 * s->p};
    case ASYMMETRIC:
        return (struct ad_positions){s->q, 0, s->p};
    case ALIGN_CORNERS:
        return (struct ad_positions){s->in - 1, 0, s->out - 1};
    default:
        return (struct ad_positions){4 * s->q, 1 - s->p, 4 * s->p};
    }
}

/* Where output i stands, in float32. */
static float position_of(const struct scaling *s, int64_t i)
{
    volatile float x = (float)i, scale = (float)s->p / (float)s->q;
    struct ad_positions at = positions_of(s);
    switch (s->kind) {
    case HALF_PIXEL:
        x = x + 0.5f;
        x = x / scale;
        return x - 0.5f;
    case ASYMMETRIC:
        return x / scale;
    case ALIGN_CORNERS:
        x = x * (float)(s->in - 1);
        return x / (float)(s->out - 1);
    default:
        return (float)((double)(at.step * i + at.start) / (double)at.unit);
    }
}

static float cubic_weight(float a, float distance)
{
    float t = distance;
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

/* What output i takes: elements by whole numbers, weights by floats. */
static struct ad_taps taps_by_definition(const struct ad_q8_resample *r, int axis,
                                         const struct scaling *s, int64_t i)
{
    struct ad_positions at = positions_of(s);
    bool same = at.step == at.unit && at.start == 0;
    int64_t last = s->in - 1, exact = at.step * i + at.start, before = 0;
    float x = same ? (float)i : position_of(s, i);
    struct ad_taps t = {.count = 1, .weight = {1}};
    if (r->how.method < AD_METHOD_LINEAR)
        return ad_resample_taps(&r->how, axis, s->in, i);
    while (before * at.unit > exact)
        before--;
    while ((before + 1) * at.unit <= exact)
        before++;
    float after = x - (float)before;
    if (r->how.method == AD_METHOD_CUBIC && !same && (after < 0 || after >= 1))
        return ad_resample_taps(&r->how, axis, s->in, i);
    if (r->how.method == AD_METHOD_CUBIC && !same) {
        for (int64_t k = 0; k < 4; k++) {
            int64_t from = before - 1 + k;
            t.at[k] = (int32_t)(from < 0 ? 0 : from > last ? last : from);
            float away[4] = {after + 1, after, 1 - after, 2 - after};
            t.weight[k] = cubic_weight(r->how.cubic, away[k]);
        }
        t.count = 4;
        return t;
    }
    t.at[0] = (int32_t)(before < 0 ? 0 : before > last ? last : before);
    if (r->how.method == AD_METHOD_CUBIC)
        return t;
    if (t.at[0] == last || x >= (float)last)
        return (struct ad_taps){2, {(int32_t)last, (int32_t)last}, {0.5f, 0.5f}};
    if (before < 0 || before * at.unit == exact)
        return t;
    after = after < 0 ? 0 : after > 1 ? 1 : after;
    return (struct ad_taps){2, {(int32_t)before, (int32_t)before + 1}, {1 - after, after}};
}

static float meant_by(const struct ad_q8_resample *r, int64_t n, int64_t y, int64_t x, int64_t c)
{
    const uint8_t *from = r->in.data + n * r->in.sn + y * r->in.sh + x * r->in.sw + c;
    return (float)(number(&r->in_is, *from) - r->in_is.zero) * r->in_is.scale;
}

/* A part of a map, from the part of the input that it takes. */
static void check_resample(struct ad_rng *rng, uint64_t seed)
{
    static const enum ad_method methods[] = {AD_METHOD_ROUND_DOWN, AD_METHOD_LINEAR,
                                             AD_METHOD_LINEAR, AD_METHOD_CUBIC};
    struct ad_q8_resample r = {.in_is = random_kind(rng), .out_is = random_kind(rng)};
    r.how.method = methods[ad_up_to(rng, 0, 3)];
    bool weighs = r.how.method >= AD_METHOD_LINEAR, linear = r.how.method == AD_METHOD_LINEAR;
    r.how.edge = weighs ? AD_EDGE_REPEAT : AD_EDGE_FILL;
    r.how.fill = 0.25f;
    r.how.cubic = ad_up_to(rng, 0, 1) ? -0.75f : -0.5f;
    struct scaling by[2];
    for (int k = 0; k < 2; k++) {
        by[k] = random_scaling(rng, ad_up_to(rng, 1, 9));
        r.how.axis[k] = positions_of(&by[k]);
        r.size[k] = by[k].in;
        r.outputs[k] = by[k].out;
    }
    r.size[AD_ALONG_C] = ad_up_to(rng, 1, 40);
    r.how.axis[AD_ALONG_C] = (struct ad_positions){1, weighs ? 0 : ad_up_to(rng, -2, 2), 1};
    if (ad_up_to(rng, 0, 1))
        r.out_is = r.in_is;
    r.h0 = ad_up_to(rng, 0, (int32_t)by[0].out - 1);
    r.w0 = ad_up_to(rng, 0, (int32_t)by[1].out - 1);
    int64_t s[4] = {2, by[0].out - r.h0, by[1].out - r.w0, r.size[AD_ALONG_C]};
    r.in = random_view(rng, 2, r.size[0], r.size[1], r.size[2]);
    struct ad_q8_view want;
    make_outs(rng, s, &r.out, &want);
    EACH(want, n, y, x, c)
    {
        struct ad_taps ty = taps_by_definition(&r, AD_ALONG_H, &by[0], r.h0 + y);
        struct ad_taps tx = taps_by_definition(&r, AD_ALONG_W, &by[1], r.w0 + x);
        struct ad_taps tc = ad_resample_taps(&r.how, AD_ALONG_C, r.size[2], c);
        volatile float sum = 0, line, weight, term;
        if (ty.count == 0 || tx.count == 0 || tc.count == 0) {
            *at(&want, n, y, x, c) = quantised(r.how.fill, &r.out_is);
            continue;
        }
        for (int i = 0; i < ty.count; i++) {
            line = 0;
            for (int k = 0; k < tx.count; k++) {
                term = meant_by(&r, n, ty.at[i], tx.at[k], tc.at[0]);
                weight = linear ? tx.weight[k] * ty.weight[i] : tx.weight[k];
                term = term * weight;
                if (linear)
                    sum = sum + term;
                else
                    line = line + term;
            }
            line = line * ty.weight[i];
            sum = sum + line;
        }
        sum /= r.out_is.scale;
        *at(&want, n, y, x, c) = (uint8_t)ad_q8_reference_round(
            sum, r.out_is.zero, least(&r.out_is), least(&r.out_is) + 255);
    }
    ck_assert_int_eq(ad_q8_resample_init(&r, NULL), ADAPS_OK);
    for (int i = 0; i < LIMITS; i++) {
        ad_processor_limit_lanes(limits[i]);
        guard(&r.out);
        ad_q8_resample_run(&r, NULL);
        check_bytes(&r.out, &want, seed, limits[i]);
    }
    ad_q8_resample_fini(&r);
    free(r.in.data);
    free(r.out.data);
    free(want.data);
}

START_TEST(resampling)
{
    sweep(check_resample, 500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("q8_rows");
    TCase *c = tcase_create("q8_rows");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, binary);
    tcase_add_test(c, pools);
    tcase_add_test(c, sums_of_blocks);
    tcase_add_test(c, maps);
    tcase_add_test(c, floats);
    tcase_add_test(c, softmax);
    tcase_add_test(c, tables);
    tcase_add_test(c, resampling);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
