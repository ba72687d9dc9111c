/* Energy of an inference: the formula of schedule/energy.h by hand, and which devices it counts. */
#include "schedule/energy.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <string.h>

#define LATENCY 12448 /* ns, of the inference below */

/* Device 0, the source, computes rows 0:5 of a 1x1 convolution, device 1 rows 5:8; device 2 has no
 * work. A row is 128 bytes: 128 ns to copy, 1280 on the wire, 1 us to compute; a task takes 1 us
 * more. So the devices compute for 6 us and 4 us. The rows leave device 0 at 384 ns and are there
 * at 4224; device 1 has computed at 8224, and its rows arrive at 12448. */
static void fill(struct problem *p, const int32_t cuts[4], struct ad_schedule *schedule)
{
    static const struct ad_power power[] = {{2000, 1000, 500}, {3000, 4000, 250}};
    struct ad_assignment a;
    struct adaps_error err = {0};
    ad_fixture_chain(p, 1, 1, 3, cuts, &a);
    for (int d = 0; d < 2; d++)
        p->cluster.devices[d].table.power = power[d];
    p->cluster.devices[0].threads = 2;
    ck_assert_msg(ad_schedule_build(p->graph, &p->cluster, &a, schedule, &err) == ADAPS_OK, "%s",
                  err.message);
    ad_assignment_fini(&a);
}

static void fill_both(struct problem *p, struct ad_schedule *schedule)
{
    fill(p, (int32_t[]){0, 5, 8, 8}, schedule);
    ck_assert_int_eq(schedule->makespan_ns, LATENCY);
    ck_assert_int_eq(schedule->busy_ns[0], 6000);
    ck_assert_int_eq(schedule->busy_ns[1], 4000);
}

static struct ad_energy_figures figures_of(const struct problem *p,
                                           const struct ad_schedule *schedule,
                                           const struct ad_stream *stream)
{
    struct ad_energy_figures out;
    struct adaps_error err = {0};
    ck_assert_msg(ad_energy_figures(p->graph, &p->cluster, schedule, stream, &out, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    return out;
}

/* Each port is occupied by 3 rows there and 3 rows back: 7680 ns. */
START_TEST(one_inference_by_hand)
{
    struct problem p;
    struct ad_schedule s;
    struct ad_stream one = AD_STREAM_ONE;
    int64_t alone;
    fill_both(&p, &s);
    for (int shared = 0; shared < 2; shared++) {
        p.cluster.shared_medium = shared; /* no message waits for another one */
        struct ad_energy_figures e = figures_of(&p, &s, &one);
        ck_assert_int_eq(e.device_pj[0], 2000 * LATENCY + 1000 * 2 * 6000 + 500 * 7680);
        ck_assert_int_eq(e.device_pj[1], 3000 * LATENCY + 4000 * 4000 + 250 * 7680);
        ck_assert_int_eq(e.device_pj[2], 0);
        ck_assert_int_eq(e.all_pj, 96000000);
        ck_assert_int_eq(ad_energy_alone(p.graph, &p.cluster, &s, &alone, NULL), ADAPS_OK);
        ck_assert_int_eq(alone, 96000000);
    }
    ad_schedule_fini(&s);
    ad_fixture_fini(&p);
}
END_TEST

/* Idle power counts from answer to answer; the rest is the same. */
START_TEST(a_stream_by_hand)
{
    struct problem p;
    struct ad_schedule s;
    struct ad_stream stream = AD_STREAM_ONE;
    fill_both(&p, &s);
    stream.frames = 2;
    stream.interval_ns = 8000;
    struct ad_energy_figures e = figures_of(&p, &s, &stream);
    ck_assert_int_eq(e.device_pj[0], 2000 * 8000 + 1000 * 2 * 6000 + 500 * 7680);
    ck_assert_int_eq(e.device_pj[1], 3000 * 8000 + 4000 * 4000 + 250 * 7680);
    ck_assert_int_eq(e.all_pj, e.device_pj[0] + e.device_pj[1]);
    ad_schedule_fini(&s);
    ad_fixture_fini(&p);
}
END_TEST

/* Of two inferences one is computed by both devices, and one by the source alone in 9 us. */
START_TEST(turns_by_hand)
{
    struct problem p, q;
    struct ad_schedule both, source;
    int deal[] = {0, 1};
    fill_both(&p, &both);
    fill(&q, (int32_t[]){0, 8, 8, 8}, &source);
    struct ad_stream stream = {
        .frames = 2, .nturns = 2, .others = &source, .deal = deal, .ndeal = 2, .interval_ns = 7500};
    struct ad_energy_figures e = figures_of(&p, &both, &stream);
    ck_assert_int_eq(e.device_pj[0], 2000 * 7500 + 1000 * 2 * (6000 + 9000) / 2 + 500 * 7680 / 2);
    ck_assert_int_eq(e.device_pj[1], 3000 * 7500 + 4000 * 4000 / 2 + 250 * 7680 / 2);
    ck_assert_int_eq(e.device_pj[2], 0);
    ad_schedule_fini(&both);
    ad_schedule_fini(&source);
    ad_fixture_fini(&p);
    ad_fixture_fini(&q);
}
END_TEST

/* Each of the three figures of a device in use is needed; the source is always in use. */
START_TEST(not_known)
{
    struct problem p;
    struct ad_schedule s;
    struct ad_stream one = AD_STREAM_ONE;
    struct adaps_error err = {0};
    static const struct {
        struct ad_power power;
        const char *missing;
    } cases[] = {
        {{0, 1, 1}, "idle_watts"}, {{1, 0, 1}, "core_watts"}, {{1, 1, 0}, "network_watts"}};
    fill_both(&p, &s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p.cluster.devices[1].table.power = cases[i].power;
        struct ad_energy_figures e = figures_of(&p, &s, &one);
        ck_assert_int_eq(e.all_pj, -1);
        ck_assert_int_eq(e.device_pj[1], -1);
        ck_assert_int_gt(e.device_pj[0], 0);
        ck_assert_int_eq(ad_cluster_check_power(&p.cluster, &err), ADAPS_EINPUT);
        ck_assert_msg(strstr(err.message, "'dev1'") && strstr(err.message, cases[i].missing), "%s",
                      err.message);
    }
    p.cluster.devices[1].table.power = (struct ad_power){1, 1, 1};
    ck_assert_int_eq(ad_cluster_check_power(&p.cluster, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "'dev2'"), "%s", err.message);
    p.cluster.devices[2].table.power = (struct ad_power){1, 1, 1};
    ck_assert_int_eq(ad_cluster_check_power(&p.cluster, &err), ADAPS_OK);
    ad_schedule_fini(&s);
    ad_fixture_fini(&p);
}
END_TEST

/* The source without work waits for the device that has it all, and passes on its answer. */
START_TEST(source_without_work)
{
    struct problem p;
    struct ad_schedule s;
    struct ad_stream one = AD_STREAM_ONE;
    fill(&p, (int32_t[]){0, 0, 8, 8}, &s);
    struct ad_energy_figures e = figures_of(&p, &s, &one);
    ck_assert_int_eq(s.busy_ns[0], 0);
    ck_assert_int_eq(e.device_pj[0], 2000 * s.makespan_ns + 500 * 2 * 8 * 1280);
    ck_assert_int_eq(e.device_pj[1], 3000 * s.makespan_ns + 4000 * 9000 + 250 * 2 * 8 * 1280);
    ad_schedule_fini(&s);
    ad_fixture_fini(&p);
}
END_TEST

/* What is more than there are numbers for. */
START_TEST(no_overflow)
{
    struct problem p;
    struct ad_schedule s;
    struct ad_stream one = AD_STREAM_ONE;
    fill_both(&p, &s);
    s.makespan_ns = INT64_MAX / 2;
    struct ad_energy_figures e = figures_of(&p, &s, &one);
    ck_assert(e.device_pj[0] == INT64_MAX && e.device_pj[1] == INT64_MAX && e.all_pj == INT64_MAX);
    ad_schedule_fini(&s);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("energy");
    TCase *c = tcase_create("energy");
    tcase_add_test(c, one_inference_by_hand);
    tcase_add_test(c, a_stream_by_hand);
    tcase_add_test(c, turns_by_hand);
    tcase_add_test(c, not_known);
    tcase_add_test(c, source_without_work);
    tcase_add_test(c, no_overflow);
    suite_add_tcase(s, c);
    return run_suite(s);
}
