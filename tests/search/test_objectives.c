/* Objectives, memory limits and caps; the lower bound; the comparison of all strategies; shared
 * media.
 */
#include "base/file.h"
#include "plan/plan.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/bound/bound.h"
#include "search/strategies/compare.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- shared medium --- */

/* Rows 1, 1 and 6 of a 1x1 convolution (1 us and 1 us per row). Device 1's result is ready at 3536
 * ns; on a switch it leaves then, on one medium after the rows for device 2, which end at 9088. */
START_TEST(shared_medium_by_hand)
{
    struct problem p;
    struct ad_assignment a;
    struct ad_schedule s;
    struct adaps_error err = {0};
    ad_fixture_chain(&p, 1, 1, 3, (int32_t[]){0, 1, 2, 8}, &a);
    for (int shared = 0; shared < 2; shared++) {
        p.cluster.shared_medium = shared;
        ck_assert_msg(ad_schedule_build(p.graph, &p.cluster, &a, &s, &err) == ADAPS_OK, "%s",
                      err.message);
        const struct ad_step *out = s.programs[0].steps, *one = s.programs[1].steps,
                             *two = s.programs[2].steps;
        ck_assert_int_eq(out[0].start_ns, 128); /* to device 1 */
        ck_assert_int_eq(out[0].end_ns, 1408);
        ck_assert_int_eq(out[1].start_ns, 1408); /* to device 2 */
        ck_assert_int_eq(out[1].end_ns, 9088);
        ck_assert_int_eq(one[1].end_ns, 3408); /* computed */
        ck_assert_int_eq(one[2].start_ns, shared ? 9088 : 3536);
        ck_assert_int_eq(one[2].end_ns, shared ? 10368 : 4816);
        ck_assert_int_eq(two[2].start_ns, 16856);
        ck_assert_int_eq(s.makespan_ns, 24536);
        ad_schedule_fini(&s);
    }
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
}
END_TEST

/* Two 3x3 on rows 0:5 and 5:8, 2.56 us per row: both devices have their boundary row ready at 14440
 * ns. A switch takes both at once, one medium the second after the first, and the first device
 * starts its second convolution that much later. */
START_TEST(shared_medium_delays_the_answer)
{
    struct problem p;
    struct ad_assignment a;
    struct ad_schedule s;
    struct adaps_error err = {0};
    ad_fixture_chain(&p, 2, 3, 2, (int32_t[]){0, 5, 8}, &a);
    for (int d = 0; d < 2; d++)
        p.cluster.devices[d].table.rate[AD_COST_CONV] = 4.5e8;
    for (int shared = 0; shared < 2; shared++) {
        p.cluster.shared_medium = shared;
        ck_assert_msg(ad_schedule_build(p.graph, &p.cluster, &a, &s, &err) == ADAPS_OK, "%s",
                      err.message);
        const struct ad_step *one = s.programs[1].steps;
        ck_assert_int_eq(s.programs[0].steps[2].start_ns, 14440);
        ck_assert_int_eq(one[2].start_ns, shared ? 15720 : 14440);
        ck_assert_int_eq(one[2].end_ns, shared ? 17000 : 15720);
        ck_assert_int_eq(s.makespan_ns, shared ? 30800 : 29520);
        ad_schedule_fini(&s);
    }
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
}
END_TEST

static enum adaps_status load_devices(const char *text, struct ad_cluster *c,
                                      struct adaps_error *err)
{
    char path[256];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/adaps-medium-%d.conf", base ? base : ".", (int)getpid());
    ck_assert_int_eq(ad_file_replace(path, text, strlen(text), err), ADAPS_OK);
    enum adaps_status status = ad_cluster_load(path, c, err);
    remove(path);
    return status;
}

START_TEST(medium_in_the_devices_file)
{
    struct ad_cluster c, copy;
    struct adaps_error err = {0};
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"[link]\nmedium = air\n[a]\n", "shared or switch is wanted"},
        {"[a]\n[b]\n[link a b]\nmedium = shared\n", "belongs to [link]"},
    };
    ck_assert_msg(load_devices("[link]\nmedium = shared\n[a]\n[b]\n", &c, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert(c.shared_medium);
    ck_assert_int_eq(ad_cluster_copy(&c, &copy, NULL), ADAPS_OK);
    ck_assert(copy.shared_medium);
    ad_cluster_fini(&copy);
    ad_cluster_fini(&c);
    ck_assert_int_eq(load_devices("[link]\nmedium = switch\n[a]\n", &c, &err), ADAPS_OK);
    ck_assert(!c.shared_medium);
    ad_cluster_fini(&c);
    ck_assert_int_eq(load_devices("[a]\n", &c, &err), ADAPS_OK);
    ck_assert(!c.shared_medium);
    ad_cluster_fini(&c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(load_devices(bad[i].text, &c, &err), ADAPS_EINPUT);
        ck_assert_msg(strstr(err.message, bad[i].why), "%s", err.message);
    }
}
END_TEST

/* The medium and the bound are in the plan file. */
START_TEST(plan_file_keeps_medium_and_bound)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_plan *plan = NULL, *again = NULL;
    struct adaps_error err = {0};
    void *data;
    size_t size;
    ad_fixture_small(&p, 2);
    p.cluster.shared_medium = true;
    ad_fixture_run(&p, "coedge", &r);
    int64_t bound = r.lower_bound_ns;
    ck_assert_int_gt(bound, 0);
    const struct ad_provenance provenance = {
        .model_path = "m", .strategy = "coedge", .u8 = r.u8, .lower_bound_ns = bound};
    ck_assert_int_eq(ad_plan_make(p.graph, &p.cluster, &r.schedule, &provenance, &plan, &err),
                     ADAPS_OK);
    ck_assert_int_eq(ad_plan_pack(plan, &data, &size, &err), ADAPS_OK);
    ck_assert_msg(ad_plan_unpack(data, size, "test", &again, &err) == ADAPS_OK, "%s", err.message);
    ck_assert(again->cluster.shared_medium);
    ck_assert_int_eq(again->lower_bound_ns, bound);
    ck_assert_int_eq(again->schedule.makespan_ns, plan->schedule.makespan_ns);
    ad_free(data);
    adaps_plan_free(again);
    adaps_plan_free(plan);
    ad_search_result_fini(&r);
    ad_blocks_fini(&p.blocks);
}
END_TEST

/* --- objectives --- */

static int64_t largest(const struct ad_schedule *s)
{
    int64_t most = 0;
    for (int d = 0; d < s->ndevices; d++)
        most = s->memory[d] > most ? s->memory[d] : most;
    return most;
}

static int64_t value_of(enum ad_objective objective, const struct ad_schedule *s)
{
    return objective == AD_OBJECTIVE_TRAFFIC  ? s->bytes
           : objective == AD_OBJECTIVE_MEMORY ? largest(s)
                                              : s->makespan_ns;
}

/* Whatever is to be small, auto's is no larger than any other's; the cap holds; nothing is below
 * the bound. */
START_TEST(auto_is_never_worse_in_any_objective)
{
    for (uint64_t seed = (uint64_t)_i * 4; seed < (uint64_t)_i * 4 + 4; seed++) {
        for (int o = 0; o < 3; o++) {
            struct problem p;
            struct ad_search_result best, other, single;
            struct adaps_error err = {0};
            ad_fixture_random(&p, seed + 300);
            ad_fixture_run(&p, "single", &single);
            p.problem.objective = (enum ad_objective)o;
            if (o == AD_OBJECTIVE_MEMORY && seed % 2)
                p.problem.latency_cap_ns = single.schedule.makespan_ns * 3;
            ad_fixture_run(&p, "auto", &best);
            int64_t got = value_of(p.problem.objective, &best.schedule);
            if (o == AD_OBJECTIVE_TRAFFIC)
                ck_assert_int_le(best.schedule.makespan_ns, single.schedule.makespan_ns);
            if (p.problem.latency_cap_ns)
                ck_assert_int_le(best.schedule.makespan_ns, p.problem.latency_cap_ns);
            for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
                enum adaps_status status = ad_search_run(s, &p.problem, &other, &err);
                if (status == ADAPS_NO) { /* over the cap */
                    ck_assert_msg(strstr(err.message, "answers within"), "%s", err.message);
                    continue;
                }
                ck_assert_int_eq(status, ADAPS_OK);
                ck_assert_msg(got <= value_of(p.problem.objective, &other.schedule),
                              "seed %ju, objective %d: %" PRId64 ", %s %" PRId64, (uintmax_t)seed,
                              o, got, s->name, value_of(p.problem.objective, &other.schedule));
                ad_search_result_fini(&other);
            }
            ad_search_result_fini(&best);
            ad_search_result_fini(&single);
            ad_fixture_fini(&p);
        }
    }
}
END_TEST

/* A cap between the best plan's latency and one device's: fewer bytes than the best plan moves, and
 * in time. A cap that nothing meets is told. */
START_TEST(traffic_under_a_cap)
{
    struct problem p;
    struct ad_search_result quick, single, small;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 4);
    ad_fixture_run(&p, "auto", &quick);
    ad_fixture_run(&p, "single", &single);
    ck_assert_int_lt(quick.schedule.makespan_ns, single.schedule.makespan_ns);
    p.problem.objective = AD_OBJECTIVE_TRAFFIC;
    p.problem.latency_cap_ns = (quick.schedule.makespan_ns + single.schedule.makespan_ns) / 2;
    ad_fixture_run(&p, "auto", &small);
    ck_assert_int_le(small.schedule.makespan_ns, p.problem.latency_cap_ns);
    ck_assert_int_lt(small.schedule.bytes, quick.schedule.bytes);
    ck_assert_int_gt(small.schedule.bytes, 0);
    ck_assert_msg(strstr(small.note, "traffic made small, within"), "%s", small.note);
    ad_search_result_fini(&small);
    p.problem.latency_cap_ns = 0; /* the best single device's: alone on the source, nothing moves */
    ad_fixture_run(&p, "auto", &small);
    ck_assert_int_eq(small.schedule.bytes, 0);
    ad_search_result_fini(&small);
    p.problem.latency_cap_ns = 1000;
    ck_assert_int_eq(ad_search_run(ad_strategy_find("auto"), &p.problem, &small, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "answers within 1.00 us"), "%s", err.message);
    ad_search_result_fini(&quick);
    ad_search_result_fini(&single);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(memory_is_spread)
{
    struct problem p;
    struct ad_search_result quick, small;
    ad_fixture_small(&p, 4);
    ad_fixture_run(&p, "auto", &quick);
    p.problem.objective = AD_OBJECTIVE_MEMORY;
    ad_fixture_run(&p, "auto", &small);
    ck_assert_int_lt(largest(&small.schedule), largest(&quick.schedule));
    ck_assert_msg(strstr(small.note, "memory made small"), "%s", small.note);
    ad_search_result_fini(&quick);
    ad_search_result_fini(&small);
    ad_fixture_fini(&p);
}
END_TEST

/* Four 3x3 convolutions of 128 channels on 8x8 pixels, 590 KB of weights each, and devices that
 * have the memory for half of these. */
static void fill_heavy(struct problem *p)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 8, 8, 128);
    for (int i = 0; i < 4; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 128);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, 2);
    for (int d = 0; d < 2; d++)
        p->cluster.devices[d].memory = 1400000;
    ad_cluster_override_links(&p->cluster, 1e9, 1e-5);
    ad_fixture_fill(p);
}

/* Ops on maps of which a device computes some channels of all pixels. */
static int ops_by_channels(const struct problem *p, const struct ad_search_result *r)
{
    int count = 0;
    for (int i = 0; i < p->graph->nops; i++) {
        struct ad_region part = r->assignment.region[2 * i],
                         all = ad_region_whole(&p->graph->values[p->graph->ops[i].output]);
        count += all.h1 > 1 && part.h1 - part.h0 == all.h1 && part.c1 - part.c0 > 0 &&
                 part.c1 - part.c0 < all.c1;
    }
    return count;
}

/* Where the weights fit on no device, maps are split by output channels, too: then both compute,
 * where by layers they would take turns. Where they fit, they are not. */
START_TEST(memory_is_saved_by_channels)
{
    struct problem p;
    struct ad_search_result layers, channels, roomy;
    fill_heavy(&p);
    p.problem.split_c = false;
    ad_fixture_run(&p, "auto", &layers);
    p.problem.split_c = true;
    ad_fixture_run(&p, "auto", &channels);
    ck_assert_int_gt(ops_by_channels(&p, &channels), 0);
    ck_assert_int_eq(ops_by_channels(&p, &layers), 0);
    ck_assert_int_le(largest(&channels.schedule), 1400000);
    ck_assert_int_lt(channels.schedule.makespan_ns, layers.schedule.makespan_ns);
    p.cluster.devices[0].memory = p.cluster.devices[1].memory = 0;
    ad_fixture_run(&p, "auto", &roomy);
    ck_assert_int_eq(ops_by_channels(&p, &roomy), 0);
    ad_search_result_fini(&layers);
    ad_search_result_fini(&channels);
    ad_search_result_fini(&roomy);
    ad_fixture_fini(&p);
}
END_TEST

/* What the error says would be enough is, and with a byte less the same is said again. */
START_TEST(memory_that_is_told_is_enough)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err;
    uint64_t told, again;
    fill_heavy(&p);
    p.cluster.devices[0].memory = p.cluster.devices[1].memory = 100000;
    ck_assert_int_eq(ad_search_run(ad_strategy_find("auto"), &p.problem, &r, &err), ADAPS_NO);
    const char *with = strstr(err.message, "; with ");
    ck_assert_msg(with && sscanf(with, "; with %" SCNu64 " bytes", &told) == 1, "%s", err.message);
    p.cluster.devices[0].memory = p.cluster.devices[1].memory = told;
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_le(largest(&r.schedule), (int64_t)told);
    ad_search_result_fini(&r);
    p.cluster.devices[0].memory = p.cluster.devices[1].memory = told - 1;
    ck_assert_int_eq(ad_search_run(ad_strategy_find("auto"), &p.problem, &r, &err), ADAPS_NO);
    with = strstr(err.message, "; with ");
    ck_assert_msg(with && sscanf(with, "; with %" SCNu64 " bytes", &again) == 1, "%s", err.message);
    ck_assert_uint_eq(again, told);
    ad_fixture_fini(&p);
}
END_TEST

/* --- bound, comparison --- */

START_TEST(bound_is_below_every_plan)
{
    for (uint64_t seed = (uint64_t)_i * 25; seed < (uint64_t)_i * 25 + 25; seed++) {
        struct problem p;
        struct ad_search_result r;
        int64_t bound;
        struct adaps_error err = {0};
        ad_fixture_random(&p, seed + 1000);
        if (seed % 2) /* slow links to quick ones */
            ad_cluster_override_links(&p.cluster, 1e4 * pow(10, (double)(seed % 11) / 2), -1);
        ck_assert_int_eq(ad_search_bound(&p.problem, &bound, &err), ADAPS_OK);
        ck_assert_int_ge(bound, 0);
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
            ad_fixture_run(&p, s->name, &r);
            ck_assert_int_eq(r.lower_bound_ns, bound);
            ck_assert_msg(bound <= r.schedule.makespan_ns,
                          "seed %ju: %s takes %" PRId64 " ns, bound %" PRId64, (uintmax_t)seed,
                          s->name, r.schedule.makespan_ns, bound);
            ad_search_result_fini(&r);
        }
        ad_fixture_fini(&p);
    }
}
END_TEST

/* One device: the bound is the plan, but for roundings and input bytes. Equal devices with quick
 * links: a part each, and the dense layer after the barrier as well. */
START_TEST(bound_is_close)
{
    struct problem p;
    struct ad_search_result r;
    int64_t one, four;
    ad_fixture_small(&p, 1);
    ad_fixture_run(&p, "single", &r);
    ck_assert_int_gt(r.lower_bound_ns, r.schedule.makespan_ns * 95 / 100);
    one = r.lower_bound_ns;
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
    ad_fixture_small(&p, 4);
    for (int d = 0; d < 4; d++) {
        p.cluster.devices[d].speed = 0.02;
        p.cluster.devices[d].table.constant_s = 0;
    }
    ad_cluster_override_links(&p.cluster, 1e12, 0);
    ck_assert_int_eq(ad_search_bound(&p.problem, &four, NULL), ADAPS_OK);
    ck_assert_int_gt(four, one * 20 / 100);
    ck_assert_int_lt(four, one * 30 / 100);
    /* ... and when the others are a second away, they are of no help */
    ad_cluster_override_links(&p.cluster, 1e12, 1);
    ck_assert_int_eq(ad_search_bound(&p.problem, &four, NULL), ADAPS_OK);
    ck_assert_int_gt(four, one * 90 / 100);
    ad_fixture_fini(&p);
}
END_TEST

/* The dense layer fits on no device, so whoever keeps it whole has no plan, and says so. */
START_TEST(comparison_tells_who_cannot)
{
    struct problem p;
    struct ad_comparison *items;
    int count, plans = 0;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 4);
    for (int d = 0; d < 4; d++)
        p.cluster.devices[d].memory = 2000000;
    ck_assert_msg(ad_search_compare(&p.problem, &items, &count, &err) == ADAPS_OK, "%s",
                  err.message);
    for (int i = 0; i < count; i++) {
        bool whole = strcmp(items[i].strategy, "single") == 0 ||
                     strcmp(items[i].strategy, "edgeflow") == 0 ||
                     strcmp(items[i].strategy, "coedge") == 0 ||
                     strcmp(items[i].strategy, "deepthings") == 0;
        ck_assert_str_eq(items[i].strategy, ad_strategies[i].name);
        if (whole)
            ck_assert_msg(strstr(items[i].error, "on every device one would fit"), "%s: %s",
                          items[i].strategy, items[i].error);
        if (items[i].error[0]) {
            ck_assert_ptr_null(items[i].memory);
            continue;
        }
        plans++;
        ck_assert_int_ge(items[i].visited, 1);
        ck_assert(items[i].lower_bound_ns > 0 && items[i].lower_bound_ns <= items[i].predicted_ns);
        for (int d = 0; d < 4; d++)
            ck_assert_int_le(items[i].memory[d], 2000000);
    }
    ck_assert_int_ge(plans, 3); /* auto, bbgrap, modnn */
    ad_comparison_free(items, count);
    for (long n = 1; n < 400; n += 7) {
        ad_mem_fail_after(n);
        enum adaps_status status = ad_search_compare(&p.problem, &items, &count, &err);
        ad_mem_fail_after(0);
        ck_assert_int_eq(status, ADAPS_EINTERNAL);
        ck_assert_ptr_null(items);
    }
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("objectives");
    TCase *c = tcase_create("objectives");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, shared_medium_by_hand);
    tcase_add_test(c, shared_medium_delays_the_answer);
    tcase_add_test(c, medium_in_the_devices_file);
    tcase_add_test(c, plan_file_keeps_medium_and_bound);
    tcase_add_loop_test(c, auto_is_never_worse_in_any_objective, 0, sampled(5));
    tcase_add_test(c, traffic_under_a_cap);
    tcase_add_test(c, memory_is_spread);
    tcase_add_test(c, memory_is_saved_by_channels);
    tcase_add_test(c, memory_that_is_told_is_enough);
    tcase_add_loop_test(c, bound_is_below_every_plan, 0, sampled(4));
    tcase_add_test(c, bound_is_close);
    tcase_add_test(c, comparison_tells_who_cannot);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
