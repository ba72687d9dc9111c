/* Strategy halp: the host's zone lies between its helpers', which exchange with it alone; what
 * others wait for is computed and sent first. */
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>

/* The device that computes this row of an op's output alone; -1: none, or several. */
static int owner(const struct ad_search_result *r, int op, int32_t row)
{
    int found = -1, count = 0;
    for (int d = 0; d < r->assignment.ndevices; d++) {
        struct ad_region mine =
            r->assignment.region[(size_t)op * (size_t)r->assignment.ndevices + (size_t)d];
        if (!ad_region_empty(mine) && mine.h0 <= row && row < mine.h1) {
            found = d;
            count++;
        }
    }
    return count == 1 ? found : -1;
}

static int64_t rows_of(const struct ad_search_result *r, int op, int device)
{
    struct ad_region mine =
        r->assignment.region[(size_t)op * (size_t)r->assignment.ndevices + (size_t)device];
    return ad_region_empty(mine) ? 0 : mine.h1 - mine.h0;
}

/* Messages between two devices of which none is the source. */
static int between_helpers(const struct ad_schedule *s, int source)
{
    int count = 0;
    for (int d = 0; d < s->ndevices; d++)
        for (int i = 0; i < s->programs[d].nsteps; i++) {
            const struct ad_step *step = &s->programs[d].steps[i];
            count += step->kind == AD_STEP_SEND && d != source && step->peer != source;
        }
    return count;
}

static int computing(const struct ad_schedule *s)
{
    int count = 0;
    for (int d = 0; d < s->ndevices; d++)
        count += s->programs[d].ntasks > 0;
    return count;
}

/* 48 x 48 through six 3x3 convolutions; device 1 twice as fast as 2; any of the three is the
 * source.
 */
static void three_devices(struct problem *p, int source, double bandwidth)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 48, 48, 4);
    for (int i = 0; i < 6; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, 3);
    p->cluster.devices[0].source = false;
    p->cluster.source = source;
    p->cluster.devices[source].source = true;
    for (int d = 0; d < 3; d++)
        p->cluster.devices[d].speed = d == 1 ? 0.02 : 0.01;
    ad_fixture_fill(p);
    ad_cluster_override_links(&p->cluster, bandwidth, 1e-5);
}

/* Wherever the source stands in the devices file, from the top come one helper, the source and the
 * other helper. No row is computed twice. */
START_TEST(host_lies_between)
{
    struct problem p;
    struct ad_search_result r;
    three_devices(&p, _i, 1e8);
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_eq(r.assignment.hub, -1);
    ck_assert_int_eq(between_helpers(&r.schedule, _i), 0);
    ck_assert_int_eq(computing(&r.schedule), 3);
    for (int i = 0; i < p.graph->nops; i++) {
        int top = owner(&r, i, 0), bottom = owner(&r, i, 47), changes = 0;
        ck_assert(top >= 0 && bottom >= 0 && top != bottom && top != _i && bottom != _i);
        for (int32_t row = 1; row < 48; row++) {
            int before = owner(&r, i, row - 1), here = owner(&r, i, row);
            ck_assert_int_ge(here, 0);
            changes += before != here;
            ck_assert(before == here || before == _i || here == _i);
        }
        ck_assert_int_eq(changes, 2);
        ck_assert(r.assignment.early[i]);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* The helpers' zones are in proportion to their speeds, but for what the host's covers of them; a
 * faster host has a larger zone. */
START_TEST(zones_by_speed)
{
    struct problem p;
    struct ad_search_result r;
    int64_t host[2];
    for (int fast = 0; fast < 2; fast++) {
        three_devices(&p, 0, 1e8);
        p.cluster.devices[0].speed = fast ? 0.04 : 0.002;
        ad_fixture_run(&p, "halp", &r);
        int64_t one = rows_of(&r, 5, 1), two = rows_of(&r, 5, 2);
        ck_assert_msg(one >= 2 * two - 3 && one <= 2 * two + 3, "%" PRId64 " and %" PRId64, one,
                      two);
        host[fast] = rows_of(&r, 5, 0);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(host[1], host[0] + 8);
}
END_TEST

/* A helper sends the rows that the host waits for before it has computed the rest of the layer. */
START_TEST(boundaries_go_first)
{
    struct problem p;
    struct ad_search_result r;
    int ahead = 0;
    three_devices(&p, 0, 1e8);
    ad_fixture_run(&p, "halp", &r);
    for (int d = 1; d < 3; d++) {
        const struct ad_program *program = &r.schedule.programs[d];
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            int op = step->kind == AD_STEP_SEND ? p.graph->values[step->value].producer : -1;
            for (int k = i + 1; k < program->nsteps && op >= 0; k++)
                for (int t = 0; t < program->steps[k].ntasks; t++)
                    ahead += program->steps[k].kind == AD_STEP_COMPUTE &&
                             program->tasks[program->steps[k].first_task + t].op == op;
        }
    }
    ck_assert_int_ge(ahead, 2 * 5 - 2);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A map of 8 rows and windows of 7: the host's zone grows until helpers need nothing of each other.
 */
START_TEST(zone_covers_wide_windows)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_builder b;
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(7, 1, 1, 3, 3), 1, 8);
    ad_build_output(&b, x);
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 3);
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].speed = 1e-4;
    ad_fixture_fill(&p);
    ad_cluster_override_links(&p.cluster, 1e9, 1e-6);
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_eq(between_helpers(&r.schedule, 0), 0);
    ck_assert_int_eq(r.assignment.hub, -1);
    ck_assert_int_eq(computing(&r.schedule), 3);
    ck_assert_int_ge(rows_of(&r, 1, 0), 4); /* what both helpers read for the last layer */
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Slow devices and quick links: four helpers are better than two, and exchange through the host. */
START_TEST(more_helpers)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 5);
    ad_cluster_override_links(&p.cluster, 1e10, 1e-7);
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_eq(computing(&r.schedule), 5);
    ck_assert_int_eq(r.assignment.hub, p.cluster.source);
    ck_assert_int_eq(between_helpers(&r.schedule, p.cluster.source), 0);
    ad_search_result_fini(&r);
    ad_cluster_override_links(&p.cluster, 2e6, 1e-3);
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_le(computing(&r.schedule), 3); /* the host has a part in each exchange */
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A limit that is over at once leaves the first zones; without one all are tried: nine with two
 * helpers and nine with one, in two orders. */
START_TEST(limit_of_time)
{
    struct problem p;
    struct ad_search_result r;
    three_devices(&p, 0, 1e8);
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_eq(r.visited, 2 * 9 * 2);
    ad_search_result_fini(&r);
    p.problem.time_limit_ns = 1;
    ad_fixture_run(&p, "halp", &r);
    ck_assert_int_eq(r.visited, 2);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(helpers_talk_to_the_host_alone)
{
    for (uint64_t seed = (uint64_t)_i * 25; seed < (uint64_t)_i * 25 + 25; seed++) {
        struct problem p;
        struct ad_search_result r;
        ad_fixture_random(&p, seed + 500);
        ad_fixture_run(&p, "halp", &r);
        ck_assert_msg(between_helpers(&r.schedule, p.cluster.source) == 0, "seed %" PRIu64, seed);
        ck_assert(r.assignment.hub == -1 || r.assignment.hub == p.cluster.source);
        ck_assert_int_ge(r.visited, 1);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* Whatever allocation fails, there is an error and nothing is lost. */
START_TEST(without_memory)
{
    struct problem p;
    three_devices(&p, 0, 1e8);
    ad_fixture_without_memory(&p, "halp");
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("halp");
    TCase *c = tcase_create("halp");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, host_lies_between, 0, 3);
    tcase_add_test(c, zones_by_speed);
    tcase_add_test(c, boundaries_go_first);
    tcase_add_test(c, zone_covers_wide_windows);
    tcase_add_test(c, more_helpers);
    tcase_add_test(c, limit_of_time);
    tcase_add_loop_test(c, helpers_talk_to_the_host_alone, 0, 4);
    tcase_add_test(c, without_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
