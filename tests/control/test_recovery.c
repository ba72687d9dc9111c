/* The predicted time of a recovery: what it is made of, and what makes it longer. */
#include "base/mem.h"
#include "control/recovery.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>

static const uint64_t nothing[AD_MAX_DEVICES];

static struct ad_recovery_time predict(const struct adaps_plan *plan, int n)
{
    return ad_recovery_predict(plan, &(struct ad_recovery_work){.bytes = nothing, .inferences = n});
}

/* Loading takes as long as it takes the slowest device, in proportion to its weights. */
START_TEST(opening)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    uint64_t bytes[3] = {0};
    int64_t before = ad_recovery_open_ns(plan);
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < plan->slices[d].count; i++)
            bytes[d] += ad_slice_bytes(plan, &plan->slices[d].items[i]);
    ck_assert_uint_gt(bytes[2], 0);
    ck_assert_int_gt(before, 0);
    plan->cluster.devices[2].speed /= 1000; /* the others do not matter now */
    int64_t slow = ad_recovery_open_ns(plan);
    plan->cluster.devices[2].speed /= 2;
    int64_t slower = ad_recovery_open_ns(plan);
    int64_t ways = 2 * slow - slower;
    ck_assert_int_gt(slow, 10 * before);
    ck_assert_int_ge(ways, 0);
    ck_assert_int_lt(ways, slow / 10);
    plan->cluster.devices[2].table.memory_bw *= 2000;
    ck_assert_int_le(ad_recovery_open_ns(plan), before);
    for (int i = 0; i < 9; i++)
        plan->cluster.links[i].latency = 1;
    ck_assert_int_gt(ad_recovery_open_ns(plan), (int64_t)4e9);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(sums)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    int64_t makespan = plan->schedule.makespan_ns, open = ad_recovery_open_ns(plan);
    struct ad_recovery_time none = predict(plan, 0), three = predict(plan, 3);
    ck_assert_int_eq(none.push_ns, 0);
    ck_assert_int_eq(none.open_ns, open);
    ck_assert_int_eq(none.repeat_ns, 0);
    ck_assert_int_eq(three.repeat_ns, 3 * makespan);
    ck_assert_int_eq(three.least_ns - none.least_ns, 3 * makespan);
    ck_assert_int_gt(none.most_ns, none.least_ns + (int64_t)1e9);

    struct ad_recovery_work work = {.bytes = nothing, .inferences = 3, .plan_ns = 777};
    ck_assert_int_eq(ad_recovery_predict(plan, &work).least_ns, three.least_ns + 777);
    ck_assert_int_eq(ad_recovery_predict(plan, &work).most_ns, three.most_ns + 777);
    work = (struct ad_recovery_work){.bytes = nothing, .inferences = 3, .open_factor = 3};
    ck_assert_int_eq(ad_recovery_predict(plan, &work).least_ns, three.least_ns);
    ck_assert_int_eq(ad_recovery_predict(plan, &work).most_ns, three.most_ns + 2 * open);
    work = (struct ad_recovery_work){.bytes = nothing, .inferences = 3, .run_factor = 2};
    ck_assert_int_eq(ad_recovery_predict(plan, &work).most_ns, three.most_ns + 3 * makespan);
    work = (struct ad_recovery_work){.bytes = nothing, .inferences = 3, .run_factor = 0.5};
    ck_assert_int_eq(ad_recovery_predict(plan, &work).most_ns, three.most_ns);

    uint64_t bytes[AD_MAX_DEVICES] = {1 << 30, 50000000, 0}; /* those of the source stay there */
    work = (struct ad_recovery_work){.bytes = bytes};
    int64_t push = ad_recovery_predict(plan, &work).push_ns; /* at 100 MB/s */
    ck_assert_int_ge(push, 500000000);
    ck_assert_int_lt(push, 501000000);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recovery");
    TCase *tests = tcase_create("recovery");
    tcase_add_test(tests, opening);
    tcase_add_test(tests, sums);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
