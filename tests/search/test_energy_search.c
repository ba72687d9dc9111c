/* The objective energy: auto is no worse than any other strategy, and on small instances the best
 * there is. */
#include "schedule/energy.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

/* Devices that take more or less for idling, computing and sending. */
static void random_power(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0xe4e};
    for (int d = 0; d < p->cluster.ndevices; d++)
        p->cluster.devices[d].table.power = (struct ad_power){
            .idle_mw = 1 + (int32_t)ad_rng_below(&rng, ad_rng_below(&rng, 2) ? 20 : 4000),
            .core_mw = 1 + (int32_t)ad_rng_below(&rng, 3000),
            .network_mw = 1 + (int32_t)ad_rng_below(&rng, 1000)};
    p->problem.objective = AD_OBJECTIVE_ENERGY;
}

static int64_t energy_of(const struct problem *p, const struct ad_search_result *r)
{
    int64_t pj;
    ck_assert_int_eq(ad_energy_alone(ad_search_result_graph(&p->problem, r), &p->cluster,
                                     &r->schedule, &pj, NULL),
                     ADAPS_OK);
    ck_assert_int_gt(pj, 0);
    return pj;
}

START_TEST(auto_is_never_worse)
{
    for (uint64_t seed = (uint64_t)_i * 4; seed < (uint64_t)_i * 4 + 4; seed++) {
        struct problem p;
        struct ad_search_result best, other;
        struct adaps_error err = {0};
        ad_fixture_random(&p, seed + 7000);
        random_power(&p, seed);
        p.problem.evaluations = 400;
        ad_fixture_run(&p, "auto", &best);
        int64_t mine = energy_of(&p, &best);
        ck_assert_msg(strstr(best.note, "energy made small"), "%s", best.note);
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
            if (s->stream)
                continue;
            ck_assert_msg(ad_search_run(s, &p.problem, &other, &err) == ADAPS_OK, "%s",
                          err.message);
            ck_assert_msg(mine <= energy_of(&p, &other), "seed %ju: %" PRId64 ", %s %" PRId64,
                          (uintmax_t)seed, mine, s->name, energy_of(&p, &other));
            ad_search_result_fini(&other);
        }
        ad_search_result_fini(&best);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* Any graph of two or three ops on two devices. */
static void random_small(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0x5a11};
    struct ad_random_graph_options options = {
        .ops = 2 + (int)(seed % 2), .max_hw = 6, .max_c = 12, .spatial = seed % 3 != 0};
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, 2);
    for (int d = 0; d < 2; d++)
        p->cluster.devices[d].speed = 1e-4 * (1 + ad_rng_below(&rng, 12));
    ad_cluster_override_links(&p->cluster, 1e6 * (1 + ad_rng_below(&rng, 100)), 1e-6);
    ad_fixture_fill(p);
    random_power(p, seed);
}

/* What is below exhaustive's is no layout: an overlap of strategy adaps, or sums in blocks. */
START_TEST(auto_is_exhaustive)
{
    int compared = 0, tries = SANITIZED ? 6 : 40;
    for (uint64_t seed = 0; seed < (uint64_t)tries; seed++) {
        struct problem p;
        struct ad_search_result all, best, other;
        struct adaps_error err = {0};
        random_small(&p, seed);
        enum adaps_status status =
            ad_search_run(ad_strategy_find("exhaustive"), &p.problem, &all, &err);
        if (status == ADAPS_OK) {
            ad_fixture_run(&p, "auto", &best);
            int64_t mine = energy_of(&p, &best), want = energy_of(&p, &all);
            ad_fixture_run(&p, "adaps", &other);
            int64_t paper = energy_of(&p, &other);
            want = paper < want ? paper : want;
            ck_assert_msg(mine == want || (mine < want && best.graph),
                          "seed %ju: auto %" PRId64 " pJ, the best %" PRId64, (uintmax_t)seed, mine,
                          want);
            ad_search_result_fini(&other);
            ad_search_result_fini(&best);
            ad_search_result_fini(&all);
            compared++;
        } else {
            ck_assert_msg(strstr(err.message, "is for small networks"), "%s", err.message);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, tries / 4);
}
END_TEST

/* Two devices are sooner than one, but take more: the second has a high idle power. */
START_TEST(less_energy_is_not_sooner)
{
    struct problem p;
    struct ad_search_result quick, thrifty, capped;
    ad_fixture_small(&p, 2);
    p.cluster.devices[0].table.power = (struct ad_power){1000, 1000, 100};
    p.cluster.devices[1].table.power = (struct ad_power){20000, 1000, 100};
    ad_fixture_run(&p, "auto", &quick);
    p.problem.objective = AD_OBJECTIVE_ENERGY;
    ad_fixture_run(&p, "auto", &thrifty);
    ck_assert_int_gt(quick.schedule.programs[1].ntasks, 0);
    ck_assert_int_eq(thrifty.schedule.programs[1].ntasks, 0);
    ck_assert_int_lt(energy_of(&p, &thrifty), energy_of(&p, &quick));
    p.problem.latency_cap_ns = (quick.schedule.makespan_ns + thrifty.schedule.makespan_ns) / 2;
    ad_fixture_run(&p, "auto", &capped);
    ck_assert_int_le(capped.schedule.makespan_ns, p.problem.latency_cap_ns);
    ck_assert_int_ge(energy_of(&p, &capped), energy_of(&p, &thrifty));
    ad_search_result_fini(&quick);
    ad_search_result_fini(&thrifty);
    ad_search_result_fini(&capped);
    ad_fixture_fini(&p);
}
END_TEST

/* With a rate to keep to, idle power counts from answer to answer; no other strategy's stream that
 * keeps to it takes less. */
START_TEST(a_stream_of_little_energy)
{
    struct problem p;
    struct ad_search_result r, other;
    int64_t mine[AD_OBJECTIVES], theirs[AD_OBJECTIVES];
    ad_fixture_small(&p, 2);
    for (int d = 0; d < 2; d++)
        p.cluster.devices[d].table.power = (struct ad_power){1000, 1000, 100};
    ad_fixture_run(&p, "single", &r);
    int64_t alone = r.schedule.makespan_ns;
    ad_search_result_fini(&r);
    p.problem.objective = AD_OBJECTIVE_ENERGY;
    p.problem.interval_cap_ns = alone * 9 / 10;
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_le(r.stream.interval_ns, p.problem.interval_cap_ns);
    ck_assert_int_eq(ad_search_figures(&p.problem, &r, mine, NULL), ADAPS_OK);
    ck_assert_int_gt(r.stream.frames, 1);
    int compared = 0;
    for (const struct ad_strategy *s = ad_strategies + 1; s->name && !s->small; s++) {
        enum adaps_status status = ad_search_run(s, &p.problem, &other, NULL);
        ck_assert(status == ADAPS_OK || status == ADAPS_NO);
        if (status == ADAPS_NO)
            continue;
        ck_assert_int_eq(ad_search_figures(&p.problem, &other, theirs, NULL), ADAPS_OK);
        ck_assert_int_le(mine[AD_OBJECTIVE_ENERGY], theirs[AD_OBJECTIVE_ENERGY]);
        ad_search_result_fini(&other);
        compared++;
    }
    ck_assert_int_gt(compared, 3);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("energy");
    TCase *c = tcase_create("energy");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, auto_is_never_worse, 0, SANITIZED ? 1 : 4);
    tcase_add_test(c, auto_is_exhaustive);
    tcase_add_test(c, less_energy_is_not_sooner);
    tcase_add_test(c, a_stream_of_little_energy);
    suite_add_tcase(s, c);
    return run_suite(s);
}
