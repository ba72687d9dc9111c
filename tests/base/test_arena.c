/* The arena planner: blocks that live together never share a byte, and reuse is what it should be.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "exec/engine/memory.h"
#include "support/run_suite.h"

#include <check.h>

#define SLACK 16

static size_t rounded(size_t bytes)
{
    return (bytes + SLACK + AD_MEMORY_ALIGN - 1) / AD_MEMORY_ALIGN * AD_MEMORY_ALIGN;
}

static size_t plan(struct ad_extent *blocks, size_t count)
{
    size_t total;
    struct adaps_error err = {0};
    ck_assert_msg(ad_memory_plan(blocks, count, SLACK, &total, &err) == ADAPS_OK, "%s",
                  err.message);
    return total;
}

/* Bytes alive at the fullest moment: no plan can need less. */
static size_t lower_bound(const struct ad_extent *blocks, size_t count, int ticks)
{
    size_t most = 0;
    for (int t = -1; t <= ticks; t++) {
        size_t sum = 0;
        for (size_t i = 0; i < count; i++)
            if (blocks[i].first <= t && t <= blocks[i].last)
                sum += rounded(blocks[i].bytes);
        most = sum > most ? sum : most;
    }
    return most;
}

static void check_plan(const struct ad_extent *blocks, size_t count, size_t total)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ad_extent *a = &blocks[i];
        sum += rounded(a->bytes);
        ck_assert_uint_eq(a->offset % AD_MEMORY_ALIGN, 0);
        ck_assert_uint_le(a->offset + a->bytes + SLACK, total);
        for (size_t k = 0; k < i; k++) {
            const struct ad_extent *b = &blocks[k];
            bool together = a->first <= b->last && b->first <= a->last;
            bool apart = a->offset + a->bytes + SLACK <= b->offset ||
                         b->offset + b->bytes + SLACK <= a->offset;
            ck_assert(!together || apart);
        }
    }
    ck_assert_uint_le(total, sum);
}

START_TEST(test_random_blocks)
{
    struct ad_extent blocks[60];
    struct ad_rng rng = {11};
    for (int round = 0; round < 500; round++) {
        size_t count = ad_rng_below(&rng, 60);
        uint32_t life = 1 + ad_rng_below(&rng, 30);
        for (size_t i = 0; i < count; i++) {
            int first = (int)ad_rng_below(&rng, 40) - 1;
            blocks[i] = (struct ad_extent){.bytes = ad_rng_below(&rng, 5000),
                                           .first = first,
                                           .last = first + (int)ad_rng_below(&rng, life)};
        }
        size_t total = plan(blocks, count);
        check_plan(blocks, count, total);
        ck_assert_uint_ge(total, lower_bound(blocks, count, 80));
    }
}
END_TEST

/* Each block lives with its neighbours only: two places are enough. */
START_TEST(test_chain)
{
    struct ad_extent blocks[20];
    for (int i = 0; i < 20; i++)
        blocks[i] = (struct ad_extent){.bytes = 1000, .first = i, .last = i + 1};
    ck_assert_uint_eq(plan(blocks, 20), 2 * rounded(1000));
    check_plan(blocks, 20, 2 * rounded(1000));
}
END_TEST

/* Of two gaps that are large enough the tighter one is taken. */
START_TEST(test_tightest_gap)
{
    struct ad_extent blocks[] = {
        {.bytes = 8000, .first = 0, .last = 1}, /* leaves a gap of 8000 at tick 2 */
        {.bytes = 7000, .first = 0, .last = 9},
        {.bytes = 3000, .first = 0, .last = 1}, /* and one of 3000 */
        {.bytes = 2000, .first = 0, .last = 9},
        {.bytes = 1500, .first = 2, .last = 9},
    };
    size_t total = plan(blocks, 5);
    check_plan(blocks, 5, total);
    ck_assert_uint_eq(blocks[4].offset, blocks[2].offset);
    ck_assert_uint_eq(total, rounded(8000) + rounded(7000) + rounded(3000) + rounded(2000));
}
END_TEST

START_TEST(test_too_large)
{
    struct ad_extent blocks[] = {{.bytes = SIZE_MAX / 2 + 1}, {.bytes = SIZE_MAX / 2 + 1}};
    struct adaps_error err = {0};
    size_t total;
    ck_assert_int_eq(ad_memory_plan(blocks, 2, SLACK, &total, &err), ADAPS_EINTERNAL);
    blocks[0].bytes = SIZE_MAX;
    ck_assert_int_eq(ad_memory_plan(blocks, 1, SLACK, &total, &err), ADAPS_EINTERNAL);
    ck_assert_int_eq(ad_memory_plan(blocks, 0, SLACK, &total, &err), ADAPS_OK);
    ck_assert_uint_eq(total, 0);
    for (long n = 1; n <= 2; n++) {
        blocks[0].bytes = 100;
        ad_mem_fail_after(n);
        ck_assert_int_eq(ad_memory_plan(blocks, 1, SLACK, &total, &err), ADAPS_EINTERNAL);
        ad_mem_fail_after(0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tc = tcase_create("planner");
    tcase_add_test(tc, test_random_blocks);
    tcase_add_test(tc, test_chain);
    tcase_add_test(tc, test_tightest_gap);
    tcase_add_test(tc, test_too_large);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
