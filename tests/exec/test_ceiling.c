/* The most memory that a session takes, against what its engines take, and what is refused. */
#include "exec/agent/ceiling.h"
#include "base/mem.h"
#include "exec/engine/engine.h"
#include "support/agents_fixture.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define FIXED ((uint64_t)15 << 20) /* of every session, for other things than engines */

static void add_engines(struct ad_engine **engines, int *n, int count,
                        const struct adaps_plan *plan, struct ad_engine_options options)
{
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    struct adaps_error err = {0};
    for (int i = 0; i < count; i++) {
        ck_assert_int_lt(*n, 96);
        options.beside = engines[0];
        enum adaps_status status = ad_engine_new(plan, &options, &weights, &engines[*n], &err);
        ck_assert_msg(status == ADAPS_OK, "%s", err.message);
        ++*n;
    }
}

/* Bytes of the engines that an agent makes: the first has the weights. */
static uint64_t taken(const struct adaps_plan *plan, int device, int threads)
{
    struct ad_engine *engines[96] = {NULL};
    bool source = device == plan->cluster.source;
    uint64_t bytes = 0;
    int n = 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        const struct ad_program *program = &ad_plan_turn(plan, t)->programs[device];
        int most = ad_stream_most(&plan->stream, t);
        int buffered = ad_stream_buffered(&plan->stream, &plan->schedule, t, device);
        bool split = ad_stream_tail(plan->graph, &plan->stream, &plan->schedule, t, device,
                                    source) < program->nsteps;
        struct ad_engine_options options = {.device = device, .turn = t, .threads = threads};
        if (program->nsteps == 0)
            continue;
        options.part = split ? AD_ENGINE_HEAD : AD_ENGINE_WHOLE;
        add_engines(engines, &n, buffered, plan, options);
        options.part = AD_ENGINE_TAIL;
        add_engines(engines, &n, split ? most : 0, plan, options);
    }
    while (n > 0) {
        bytes += ad_engine_arena_bytes(engines[n - 1]) + ad_engine_weight_bytes(engines[n - 1]);
        ad_engine_free(engines[--n]);
    }
    return bytes;
}

static void check_plan(const struct adaps_plan *plan, int threads)
{
    struct ad_ceiling ceiling;
    struct adaps_error err = {0};
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        ck_assert_int_eq(ad_ceiling_find(plan, d, threads, &ceiling, &err), ADAPS_OK);
        uint64_t bytes = taken(plan, d, threads);
        ck_assert_msg(bytes + FIXED <= ceiling.bytes, "%s, device %d: %ju bytes taken, ceiling %ju",
                      plan->strategy, d, (uintmax_t)bytes, (uintmax_t)ceiling.bytes);
        ck_assert_uint_le(ceiling.planned, ceiling.bytes);
        ck_assert_int_eq(ad_ceiling_check(plan, d, threads, ceiling.bytes, &err), ADAPS_OK);
        ck_assert_int_eq(ad_ceiling_check(plan, d, threads, ceiling.bytes - 1, &err), ADAPS_EAGENT);
        ck_assert_ptr_nonnull(strstr(err.message, "are left for it"));
    }
}

START_TEST(random_networks)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    check_plan(plan, 1 + _i % 3);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(large_networks)
{
    struct adaps_plan *plan = ad_testbed_heavy_plan(1 + _i % 3, 6, 80, 96);
    check_plan(plan, 1 + _i % 2);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(streams)
{
    static const char *const strategies[] = {"replicas", "pipeline", "defer", "auto"};
    struct adaps_plan *plan = ad_testbed_heavy_stream(3, 6, 48, 48, strategies[_i]);
    check_plan(plan, 1);
    plan->stream.frames = 12;
    ad_fixture_buffer(plan, 1);
    check_plan(plan, 1);
    uint64_t fewer = taken(plan, 0, 1);
    ad_fixture_buffer(plan, 0);
    ck_assert_uint_lt(fewer, taken(plan, 0, 1));
    adaps_plan_free(plan);
}
END_TEST

/* The ceiling is no multiple of what is taken, or much would be refused that fits. */
START_TEST(near)
{
    struct ad_ceiling ceiling;
    struct adaps_error err = {0};
    struct adaps_plan *plan = ad_testbed_heavy_plan(1, 6, 80, 96);
    ck_assert_int_eq(ad_ceiling_find(plan, 0, 1, &ceiling, &err), ADAPS_OK);
    ck_assert_uint_le(ceiling.bytes - FIXED, 4 * taken(plan, 0, 1));
    adaps_plan_free(plan);
}
END_TEST

START_TEST(more_than_the_plan_gives)
{
    struct ad_ceiling ceiling;
    struct adaps_error err = {0};
    struct adaps_plan *plan = ad_fixture_banded(2);
    ck_assert_int_eq(ad_ceiling_find(plan, 1, 1, &ceiling, &err), ADAPS_OK);
    plan->cluster.devices[1].memory = ceiling.planned;
    ck_assert_int_eq(ad_ceiling_check(plan, 1, 1, UINT64_MAX, &err), ADAPS_OK);
    plan->cluster.devices[1].memory--;
    ck_assert_int_eq(ad_ceiling_check(plan, 1, 1, UINT64_MAX, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "of its devices file"));
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ceiling");
    TCase *t = tcase_create("ceiling");
    tcase_add_loop_test(t, random_networks, 0, 30);
    tcase_add_loop_test(t, large_networks, 0, 6);
    tcase_add_loop_test(t, streams, 0, 4);
    tcase_add_test(t, near);
    tcase_add_test(t, more_than_the_plan_gives);
    tcase_set_timeout(t, 60);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
