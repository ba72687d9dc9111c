/* Medians and bootstrap intervals. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/stats.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>

START_TEST(medians)
{
    double one[] = {3}, odd[] = {5, -1, 4}, even[] = {4, 1, 3, 2}, equal[] = {7, 7, 7, 7};
    ck_assert(isnan(ad_stats_median(one, 0)));
    ck_assert(ad_stats_median(one, 1) == 3);
    ck_assert(ad_stats_median(odd, 3) == 4);
    ck_assert(ad_stats_median(even, 4) == 2.5);
    ck_assert(ad_stats_median(equal, 4) == 7);
}
END_TEST

START_TEST(intervals_contain_the_median)
{
    double scratch[11 + 500];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct ad_rng rng = {seed};
        double values[11], again[11];
        for (int i = 0; i < 11; i++)
            again[i] = values[i] = 1 + 0.1 * (double)ad_rng_float(&rng);
        struct ad_interval a = ad_stats_bootstrap(values, 11, 0.95, 500, seed, scratch);
        struct ad_interval b = ad_stats_bootstrap(again, 11, 0.95, 500, seed, scratch);
        ck_assert(a.lo <= a.median && a.median <= a.hi);
        ck_assert(a.lo >= values[0] && a.hi <= values[10]);
        ck_assert(a.lo == b.lo && a.hi == b.hi && a.median == b.median);
        b = ad_stats_bootstrap(again, 11, 0.5, 500, seed, scratch);
        ck_assert(b.hi - b.lo <= a.hi - a.lo); /* less sure is narrower */
    }
}
END_TEST

START_TEST(degenerate)
{
    double equal[] = {2, 2, 2}, scratch[3 + 100];
    struct ad_interval a = ad_stats_bootstrap(equal, 3, 0.95, 100, 1, scratch);
    ck_assert(a.median == 2 && a.lo == 2 && a.hi == 2);
    a = ad_stats_bootstrap(equal, 1, 0.95, 100, 1, scratch);
    ck_assert(a.median == 2 && a.lo == 2 && a.hi == 2);
    a = ad_stats_bootstrap(equal, 0, 0.95, 100, 1, scratch);
    ck_assert(isnan(a.median) && isnan(a.lo) && isnan(a.hi));
}
END_TEST

/* Of samples of a known median, about 95 in 100 intervals contain it. */
START_TEST(coverage)
{
    struct ad_rng rng = {9};
    double values[21], scratch[21 + 400];
    int inside = 0;
    for (int k = 0; k < 400; k++) {
        for (int i = 0; i < 21; i++)
            values[i] = (double)ad_rng_float(&rng);
        struct ad_interval a = ad_stats_bootstrap(values, 21, 0.95, 400, (uint64_t)k, scratch);
        inside += a.lo <= 0 && 0 <= a.hi;
    }
    ck_assert_msg(inside >= 365 && inside <= 398, "%d of 400", inside);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");
    TCase *c = tcase_create("stats");
    tcase_add_test(c, medians);
    tcase_add_test(c, intervals_contain_the_median);
    tcase_add_test(c, degenerate);
    tcase_add_test(c, coverage);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
