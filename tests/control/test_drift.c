/* Drifts: noise is none, what lasts is found in time, what comes and goes is not followed. */
#include "base/rng.h"
#include "control/drift.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>

#define SUBJECTS 6
#define FEW 12 /* what medians take longer than a drift must last */

/* Normally distributed: two of Box and Muller's, of which one is used. */
static double normal(struct ad_rng *rng)
{
    double u = ((double)ad_rng_below(rng, 1 << 30) + 1) / (1 << 30);
    double v = (double)ad_rng_below(rng, 1 << 30) / (1 << 30);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static struct ad_drift start(void)
{
    struct ad_drift drift;
    ck_assert_int_eq(ad_drift_init(&drift, SUBJECTS, NULL), ADAPS_OK);
    return drift;
}

/* An inference in which all ratios are 1 but one, with noise of 10 %. */
static int infer(struct ad_drift *drift, struct ad_rng *rng, int subject, double ratio)
{
    for (int i = 0; i < SUBJECTS; i++)
        ad_drift_observe(drift, i, (i == subject ? ratio : 1) * (1 + 0.1 * normal(rng)));
    return ad_drift_next(drift);
}

/* After how many inferences with this ratio it is found; `most`: it is not. */
static int found_after(struct ad_drift *drift, struct ad_rng *rng, int subject, double ratio,
                       int most)
{
    for (int i = 1; i < most; i++) {
        int found = infer(drift, rng, subject, ratio);
        if (found >= 0) {
            ck_assert_int_eq(found, subject);
            return i;
        }
    }
    return most;
}

START_TEST(steady_is_never_found)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ad_drift drift = start();
        struct ad_rng rng = {seed};
        for (int i = 0; i < 10000; i++)
            ck_assert_msg(infer(&drift, &rng, -1, 1) < 0, "seed %d, inference %d", (int)seed, i);
        ad_drift_fini(&drift);
    }
}
END_TEST

/* Every tenth ratio is off by much, as when a machine does something else for a moment. */
START_TEST(outliers_are_never_found)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ad_drift drift = start();
        struct ad_rng rng = {seed};
        for (int i = 0; i < 10000; i++) {
            double ratio = ad_rng_below(&rng, 10) == 0 ? 3 + 20 * fabs(normal(&rng)) : 1;
            ck_assert_msg(infer(&drift, &rng, 2, ratio) < 0, "seed %d, inference %d", (int)seed, i);
        }
        ad_drift_fini(&drift);
    }
}
END_TEST

/* To half, to 0.7, and to more than was planned; and back. */
START_TEST(what_lasts_is_found)
{
    static const double ratios[] = {2, 1.5, 0.6, 10};
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (int k = 0; k < 4; k++) {
            struct ad_drift drift = start();
            struct ad_rng rng = {seed};
            ck_assert_int_eq(found_after(&drift, &rng, -1, 1, 50), 50);
            int after = found_after(&drift, &rng, 3, ratios[k], 200);
            ck_assert_int_ge(after, AD_DRIFT_LASTS);
            ck_assert_msg(after <= AD_DRIFT_LASTS + FEW, "seed %d: %g after %d", (int)seed,
                          ratios[k], after);
            ck_assert(fabs(ad_drift_ratio(&drift, 3) / ratios[k] - 1) < 0.12);
            ck_assert(fabs(ad_drift_ratio(&drift, 0) - 1) < 0.12);
            ad_drift_accept(&drift); /* it is known now */
            ck_assert_int_eq(found_after(&drift, &rng, 3, ratios[k], 1000), 1000);
            after = found_after(&drift, &rng, 3, 1, 200);
            ck_assert_msg(after <= AD_DRIFT_LASTS + FEW, "seed %d: back after %d", (int)seed,
                          after);
            ad_drift_fini(&drift);
        }
}
END_TEST

/* Slower for as many inferences as a drift must last less some, then again as planned. */
START_TEST(what_comes_and_goes_is_not_found)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (int half = 3; half < AD_DRIFT_LASTS; half += 4) {
            struct ad_drift drift = start();
            struct ad_rng rng = {seed};
            for (int i = 0; i < 2000; i++)
                ck_assert_msg(infer(&drift, &rng, 1, i / half % 2 ? 2 : 1) < 0,
                              "seed %d: %d inferences, at %d", (int)seed, half, i);
            ad_drift_fini(&drift);
        }
}
END_TEST

/* A drift that comes and goes more slowly than that is followed, but ever less often. */
START_TEST(slow_changes_are_followed_less_and_less)
{
    struct ad_drift drift = start();
    struct ad_rng rng = {7};
    int found = 0;
    for (int i = 0; i < 10000; i++)
        if (infer(&drift, &rng, 1, i / 35 % 2 ? 2 : 1) >= 0) {
            found++;
            ad_drift_accept(&drift);
        }
    ck_assert_int_ge(found, 1);
    ck_assert_int_le(found, 2);
    ck_assert_int_eq(drift.lasts, AD_DRIFT_LASTS << found);
    for (int i = 0; i < 400; i++) /* calm */
        (void)infer(&drift, &rng, 1, ad_drift_ratio(&drift, 1));
    ck_assert_int_eq(drift.lasts, AD_DRIFT_LASTS);
    ad_drift_fini(&drift);
}
END_TEST

START_TEST(the_furthest_counts)
{
    struct ad_drift drift = start();
    int found = -1;
    for (int i = 0; i < AD_DRIFT_LASTS + FEW; i++) {
        ad_drift_observe(&drift, 1, 1.6);
        ad_drift_observe(&drift, 4, 0.4);
        found = ad_drift_next(&drift);
    }
    ck_assert_int_eq(found, 4);
    ad_drift_restart(&drift);
    ck_assert_int_eq(ad_drift_next(&drift), -1);
    ck_assert_double_eq(ad_drift_ratio(&drift, 4), 1);
    ad_drift_fini(&drift);
}
END_TEST

/* Another subject that began a little later is named, when it is further away. */
START_TEST(the_cause_is_named)
{
    struct ad_drift drift = start();
    int found = -1, i;
    for (i = 0; i < 100 && found < 0; i++) {
        ad_drift_observe(&drift, 1, 1.4);
        ad_drift_observe(&drift, 2, i < 8 ? 1 : 5);
        found = ad_drift_next(&drift);
    }
    ck_assert_int_eq(found, 2);
    ck_assert_int_le(i, AD_DRIFT_LASTS + FEW);
    ad_drift_fini(&drift);
}
END_TEST

START_TEST(no_measurements)
{
    struct ad_drift drift = start();
    for (int i = 0; i < 100; i++) {
        ad_drift_observe(&drift, 0, 0);
        ad_drift_observe(&drift, 0, NAN);
        ad_drift_observe(&drift, 0, INFINITY);
        ad_drift_observe(&drift, 0, -2);
        ck_assert_int_eq(ad_drift_next(&drift), -1);
    }
    ck_assert_int_eq(drift.subjects[0].count, 0);
    ck_assert_double_eq(ad_drift_ratio(&drift, 0), 1);
    ad_drift_fini(&drift);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drift");
    TCase *tcase = tcase_create("drift");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, steady_is_never_found);
    tcase_add_test(tcase, outliers_are_never_found);
    tcase_add_test(tcase, what_lasts_is_found);
    tcase_add_test(tcase, what_comes_and_goes_is_not_found);
    tcase_add_test(tcase, slow_changes_are_followed_less_and_less);
    tcase_add_test(tcase, the_furthest_counts);
    tcase_add_test(tcase, the_cause_is_named);
    tcase_add_test(tcase, no_measurements);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
