/* Softmax beside the C library's long double; the same bits at every width, in every tile. */
#include "base/digest.h"
#include "base/rng.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/softmax.h"
#include "support/run_suite.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 5000

static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,  15,  16,  17,   21,  31,
                                32, 33, 47, 48, 63, 64, 65, 97, 400, 511, 1000, MOST};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

/* Denormals count as zero on threads of a pool alone. */
struct job {
    ad_softmax_kernel *run;
    const float *in;
    float *out;
    int64_t n;
};

static void run_job(void *data, size_t index)
{
    struct job *job = data;
    (void)index;
    job->run(job->in, job->out, job->n);
}

static void run(ad_softmax_kernel *kernel, const float *in, float *out, int64_t n)
{
    struct job job = {kernel, in, out, n};
    ad_pool_run(NULL, run_job, &job, 1);
}

/* Of that range, and with a far one now and then. */
static void fill(float *x, int64_t n, float range, uint64_t seed)
{
    struct ad_rng rng = {seed};
    for (int64_t i = 0; i < n; i++) {
        x[i] = ((float)ad_rng_below(&rng, 1 << 24) / (1 << 23) - 1) * range;
        if (ad_rng_below(&rng, 16) == 0)
            x[i] *= 0x1p-12f;
    }
}

static double ulps(float got, long double want)
{
    int exponent = ilogbl(want);
    return (double)(fabsl((long double)got - want) /
                    ldexpl(1, (exponent < -126 ? -126 : exponent) - 23));
}

/* Each addition of a sum of positive numbers may lose half an ulp. */
static void check_row(const float *x, const float *y, int64_t n)
{
    long double most = -INFINITY, sum = 0;
    double allowed = 5 + (double)n / 256;
    for (int64_t i = 0; i < n; i++)
        most = fmaxl(most, (long double)x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += expl((long double)x[i] - most);
    for (int64_t i = 0; i < n; i++) {
        long double power = expl((long double)x[i] - most), want = power / sum;
        if (power < FLT_MIN * (1 + 4 * FLT_EPSILON) || want < FLT_MIN * (1 + 16 * FLT_EPSILON))
            ck_assert_msg(y[i] <= 2 * FLT_MIN, "%g of %g, %d", (double)y[i], (double)x[i], (int)n);
        else
            ck_assert_msg(ulps(y[i], want) <= allowed, "%.9g of %.9g in %d: off by %.2f ulp",
                          (double)y[i], (double)x[i], (int)n, ulps(y[i], want));
    }
}

START_TEST(within_few_ulps)
{
    static const float ranges[] = {1e-3f, 1, 10, 50, 100, 1e6f, FLT_MAX};
    static float x[MOST], y[MOST];
    for (int k = 0; k < SIZES; k++)
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            fill(x, sizes[k], ranges[r], (uint64_t)(k + 1) * 100 + r);
            for (const struct ad_softmax_width *w = ad_softmax_widths; w->run; w++) {
                if (w->lanes > ad_choose_wide_lanes(ad_processor()))
                    break;
                run(w->run, x, y, sizes[k]);
                check_row(x, y, sizes[k]);
            }
        }
}
END_TEST

/* At every width, in a row that lies anywhere, and with neighbours that must not change. */
START_TEST(same_bits_everywhere)
{
    static float x[MOST], want[MOST], got[MOST + 2], moved[MOST + 1];
    for (int k = 0; k < SIZES; k++) {
        int64_t n = sizes[k];
        fill(x, n, 20, (uint64_t)k + 1);
        run(ad_softmax_any, x, want, n);
        memcpy(moved + 1, x, (size_t)n * sizeof *x);
        for (const struct ad_softmax_width *w = ad_softmax_widths; w->run; w++) {
            if (w->lanes > ad_choose_wide_lanes(ad_processor()))
                break;
            got[0] = got[n + 1] = 7;
            run(w->run, moved + 1, got + 1, n);
            ck_assert_msg(memcmp(got + 1, want, (size_t)n * sizeof *want) == 0, "%d of %d lanes",
                          (int)n, w->lanes);
            ck_assert(got[0] == 7 && got[n + 1] == 7);
        }
    }
}
END_TEST

/* Parts of a map, on several threads, have the bits of rows by themselves. */
START_TEST(parts_of_maps)
{
    static const int64_t channels[] = {1, 3, 16, 21, 70};
    enum { N = 2, H = 7, W = 11, ROOM = 80 };
    static float x[N * H * W * ROOM], y[N * H * W * ROOM], want[ROOM];
    fill(x, N * H * W * ROOM, 10, 3);
    struct pthreadpool *pool;
    ck_assert_int_eq(ad_pool_new(1 + _i, &pool, NULL), ADAPS_OK);
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        struct ad_softmax s = {
            .in = {x + 5 + W * ROOM, N, H - 2, W - 3, channels[k], H * W * ROOM, W * ROOM, ROOM}};
        s.out = s.in;
        s.out.data = y + 5 + W * ROOM;
        ad_softmax_run(&s, pool);
        for (int64_t n = 0; n < s.in.n; n++)
            for (int64_t h = 0; h < s.in.h; h++)
                for (int64_t w = 0; w < s.in.w; w++) {
                    int64_t at = n * s.in.sn + h * s.in.sh + w * s.in.sw;
                    run(ad_softmax_any, s.in.data + at, want, channels[k]);
                    ck_assert_mem_eq(s.out.data + at, want, (size_t)channels[k] * sizeof *want);
                }
    }
    ad_pool_free(pool);
}
END_TEST

/* As in ONNX' reference; and of NaN one kind. */
START_TEST(infinities_and_nans)
{
    static float x[MOST], y[MOST];
    const float nan = NAN;
    for (int k = 0; k < SIZES; k++)
        for (int64_t at = 0; at < sizes[k]; at += sizes[k] / 7 + 1)
            for (const struct ad_softmax_width *w = ad_softmax_widths; w->run; w++) {
                int64_t n = sizes[k];
                if (w->lanes > ad_choose_wide_lanes(ad_processor()))
                    break;
                for (int special = 0; special < 4; special++) {
                    fill(x, n, 5, (uint64_t)at);
                    for (int64_t i = 0; special == 3 && i < n; i++)
                        x[i] = -INFINITY;
                    x[at] = special == 0 ? -NAN : special == 1 ? INFINITY : -INFINITY;
                    run(w->run, x, y, n);
                    bool number = special == 2 && n > 1;
                    for (int64_t i = 0; i < n; i++)
                        ck_assert(number ? y[i] >= 0 && y[i] <= 1
                                         : memcmp(&y[i], &nan, sizeof nan) == 0);
                    ck_assert(!number || y[at] == 0);
                }
            }
}
END_TEST

/* The bits that were there when this was written, on whatever processor. */
START_TEST(pinned_bits)
{
    static float x[MOST], y[SIZES * 2 * MOST];
    size_t count = 0;
    for (int k = 0; k < SIZES; k++)
        for (int far = 0; far < 2; far++) {
            fill(x, sizes[k], far ? 60 : 3, (uint64_t)k + 77);
            run(ad_softmax_any, x, y + count, sizes[k]);
            count += (size_t)sizes[k];
        }
    struct ad_digest digest = ad_digest_of(y, count * sizeof *y);
    char text[17];
    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", digest.bytes[i]);
    ck_assert_str_eq(text, "ffedcb656228e017");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softmax");
    TCase *tc = tcase_create("softmax");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, within_few_ulps);
    tcase_add_test(tc, same_bits_everywhere);
    tcase_add_loop_test(tc, parts_of_maps, 0, 3);
    tcase_add_test(tc, infinities_and_nans);
    tcase_add_test(tc, pinned_bits);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
