/* The published strategies of fused groups: the dynamic programme against enumeration under its own
 * costs, these costs by hand, and what is typical of each strategy. */
#include "search/published/fused_groups.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ALL_SCHEMES (AD_SCHEME_BIT(AD_SCHEMES) - 1)
#define MOST_OPS 40

/* How many ops more than one device computes a part of. */
static int overlapping(const struct problem *p, const struct ad_search_result *r)
{
    int all = 0;
    for (int i = 0; i < p->graph->nops; i++)
        all += ad_fixture_overlaps(&r->schedule, i);
    return all;
}

static void check_star(const struct ad_schedule *s, int hub)
{
    for (int d = 0; d < s->ndevices; d++)
        for (int i = 0; i < s->programs[d].nsteps; i++) {
            const struct ad_step *step = &s->programs[d].steps[i];
            ck_assert(step->kind == AD_STEP_COMPUTE || d == hub || step->peer == hub);
        }
}

/* --- the programme --- */

struct model {
    struct problem p;
    struct ad_context context;
    struct ad_fused_model model;
};

/* Devices by speed, in all schemes or in bands, directly or through the source. */
static void make_model(struct model *m, unsigned schemes, bool through_source)
{
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_context_init(&m->context, &m->p.problem, &err), ADAPS_OK);
    const struct ad_fused_options options = {.context = &m->context,
                                             .weight = m->context.speed,
                                             .schemes = schemes,
                                             .through_source = through_source};
    ck_assert_int_eq(ad_fused_model_init(&m->model, &options, &err), ADAPS_OK);
}

static void free_model(struct model *m)
{
    ad_fused_model_fini(&m->model);
    ad_context_fini(&m->context);
    ad_fixture_fini(&m->p);
}

static void random_model(struct model *m, uint64_t seed, int ops, bool chain)
{
    struct ad_random_graph_options options = {
        .ops = ops, .max_hw = 24, .max_c = 16, .chain = chain, .outputs = !chain && seed % 4 == 0};
    struct adaps_error err = {0};
    struct ad_rng rng = {seed ^ 0xf05e};
    ck_assert_int_eq(ad_random_graph(seed, &options, &m->p.graph, &err), ADAPS_OK);
    int n = 2 + (int)ad_rng_below(&rng, 3);
    ad_fixture_devices(&m->p.cluster, n);
    for (int d = 0; d < n; d++) {
        m->p.cluster.devices[d].speed = 1e-3 * (1 + ad_rng_below(&rng, 3));
        m->p.cluster.devices[d].table.message_s = seed % 3 ? 0 : 1e-7 * d;
    }
    ad_cluster_override_links(&m->p.cluster, 1e6 * pow(10, ad_rng_below(&rng, 4)),
                              1e-6 * ad_rng_below(&rng, 200));
    m->p.cluster.shared_medium = seed % 5 == 0;
    ad_fixture_fill(&m->p);
    make_model(m, seed % 2 ? ALL_SCHEMES : AD_SCHEME_BIT(AD_SCHEME_ROWS), seed % 7 == 0);
}

/* The least of all plans whose groups begin as these do. */
static double enumerate(const struct ad_fused_model *m, struct ad_fused_group *groups, int count)
{
    int first = count ? groups[count - 1].end : 0, nops = m->graph->nops;
    double best = INFINITY, seconds;
    if (first == nops) {
        ck_assert_int_eq(ad_fused_seconds(m, groups, count, &seconds, NULL), ADAPS_OK);
        return seconds;
    }
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++) {
        bool alone = s == AD_SCHEME_SOURCE || s == AD_SCHEME_CHANNELS;
        for (int end = first; end < nops && ad_fused_possible(m, end, s); end++) {
            groups[count] = (struct ad_fused_group){end + 1, s};
            best = fmin(best, enumerate(m, groups, count + 1));
            if (alone)
                break;
        }
    }
    return best;
}

static void check_best(const struct ad_fused_model *m, struct ad_fused_group *groups, int *count,
                       double *seconds, uint64_t seed)
{
    double again;
    ck_assert_int_le(m->graph->nops, MOST_OPS);
    ck_assert_int_eq(ad_fused_best(m, groups, count, seconds, NULL), ADAPS_OK);
    ck_assert_int_eq(groups[*count - 1].end, m->graph->nops);
    ck_assert_int_eq(ad_fused_seconds(m, groups, *count, &again, NULL), ADAPS_OK);
    ck_assert_msg(fabs(again - *seconds) <= 1e-9 * again, "seed %" PRIu64 ": %g s, but %g s", seed,
                  *seconds, again);
}

/* Chains: no other groups and schemes take less. The plans are of all kinds. */
START_TEST(best_of_all_plans)
{
    int with[AD_SCHEMES] = {0}, fused = 0, split = 0;
    for (uint64_t seed = 0; seed < 80; seed++) {
        struct model m;
        struct ad_fused_group groups[MOST_OPS], other[MOST_OPS];
        double seconds;
        int count;
        random_model(&m, seed, 3 + (int)(seed % 3), true);
        if (m.p.graph->nops <= 7) {
            check_best(&m.model, groups, &count, &seconds, seed);
            double least = enumerate(&m.model, other, 0);
            ck_assert_msg(fabs(seconds - least) <= 1e-9 * least,
                          "seed %" PRIu64 ": %g s, enumerated %g s", seed, seconds, least);
            for (int g = 0; g < count; g++) {
                with[groups[g].scheme]++;
                fused += groups[g].end - (g ? groups[g - 1].end : 0) > 1;
                split += g > 0 && groups[g].scheme == groups[g - 1].scheme &&
                         groups[g].scheme == AD_SCHEME_ROWS;
            }
        }
        free_model(&m);
    }
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++)
        ck_assert_msg(with[s] > 0, "scheme %d: never", (int)s);
    ck_assert_int_gt(fused, 10);
    ck_assert_int_gt(split, 5);
}
END_TEST

/* With branches: what the programme says is what its groups take, and no worse than all on the
 * source or each op alone in bands. */
START_TEST(groups_add_up)
{
    for (uint64_t seed = (uint64_t)_i * 50; seed < (uint64_t)_i * 50 + 50; seed++) {
        struct model m;
        struct ad_fused_group groups[MOST_OPS], source[MOST_OPS];
        double seconds, alone;
        int count;
        random_model(&m, seed, 4 + (int)(seed % 12), false);
        check_best(&m.model, groups, &count, &seconds, seed);
        for (int i = 0; i < m.p.graph->nops; i++)
            source[i] = (struct ad_fused_group){i + 1, AD_SCHEME_SOURCE};
        ck_assert_int_eq(ad_fused_seconds(&m.model, source, m.p.graph->nops, &alone, NULL),
                         ADAPS_OK);
        ck_assert_msg(seconds <= alone * (1 + 1e-9), "seed %" PRIu64 ": %g s, source %g s", seed,
                      seconds, alone);
        free_model(&m);
    }
}
END_TEST

/* Two 3x3 convolutions on two devices, 8x8x4 floats, 128 bytes a row; a row takes 9 us to compute
 * and a task 1 us more; 1e8 bytes/s. */
START_TEST(costs_by_hand)
{
    static const int32_t cut[] = {0, 4, 8};
    struct model m;
    struct ad_assignment a;
    double seconds;
    ad_fixture_chain(&m.p, 2, 3, 2, cut, &a);
    ad_assignment_fini(&a);
    ad_cluster_override_links(&m.p.cluster, 1e8, 1e-3);
    for (int hub = 0; hub < 2; hub++) {
        make_model(&m, AD_SCHEME_BIT(AD_SCHEME_ROWS), hub);
        const struct ad_fused_group layers[] = {{1, AD_SCHEME_ROWS}, {2, AD_SCHEME_ROWS}},
                                    fused[] = {{2, AD_SCHEME_ROWS}},
                                    source[] = {{1, AD_SCHEME_SOURCE}, {2, AD_SCHEME_SOURCE}};
        /* 5 rows of input; a row each way; 4 rows of output */
        ck_assert_int_eq(ad_fused_seconds(&m.model, layers, 2, &seconds, NULL), ADAPS_OK);
        ck_assert_double_eq_tol(seconds, 3e-3 + hub * 2e-3 + (5 + 1 + 4) * 1.28e-6 + 2 * 37e-6,
                                1e-9);
        /* 6 rows of input, 4 of output; 5 and 4 rows to compute */
        ck_assert_int_eq(ad_fused_seconds(&m.model, fused, 1, &seconds, NULL), ADAPS_OK);
        ck_assert_double_eq_tol(seconds, 2e-3 + hub * 1e-3 + (6 + 4) * 1.28e-6 + 46e-6 + 37e-6,
                                1e-9);
        ck_assert_int_eq(ad_fused_seconds(&m.model, source, 2, &seconds, NULL), ADAPS_OK);
        ck_assert_double_eq_tol(seconds, 2 * 73e-6, 1e-9);
        ad_fused_model_fini(&m.model);
        ad_context_fini(&m.context);
    }
    ad_fixture_fini(&m.p);
}
END_TEST

/* However deep the network, a group has so many ops at most, and the ops are all there. */
START_TEST(deep_networks)
{
    struct model m;
    struct ad_builder b;
    static struct ad_fused_group groups[300];
    double seconds;
    int count;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 64, 64, 2);
    for (int i = 0; i < 300; i++)
        x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 2);
    ad_build_output(&b, x);
    ck_assert_int_eq(ad_build_finish(&b, &m.p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&m.p.cluster, 8);
    for (int d = 0; d < 8; d++)
        m.p.cluster.devices[d].speed = 1e-4;
    ad_fixture_fill(&m.p);
    make_model(&m, ALL_SCHEMES, false);
    ck_assert_int_eq(ad_fused_longest(&m.model), 64);
    ck_assert_int_eq(ad_fused_best(&m.model, groups, &count, &seconds, NULL), ADAPS_OK);
    ck_assert_int_eq(groups[count - 1].end, 300);
    ck_assert_int_ge(count, 300 / 64);
    for (int g = 0; g < count; g++) {
        int ops = groups[g].end - (g ? groups[g - 1].end : 0);
        ck_assert(ops >= 1 && ops <= 64 && groups[g].scheme != AD_SCHEME_SOURCE);
    }
    free_model(&m);
}
END_TEST

/* --- strategies --- */

/* With free links nothing is computed twice, with late ones much is. */
START_TEST(links_decide_what_is_fused)
{
    static const char *const names[] = {"aofl", "dpfp", "flexpie"};
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 4);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        ad_cluster_override_links(&p.cluster, 1e12, 0);
        ad_fixture_run(&p, names[k], &r);
        for (int d = 0; d < 4; d++)
            ck_assert_msg(r.schedule.programs[d].ntasks > 0, "%s: device %d", names[k], d);
        ck_assert_msg(overlapping(&p, &r) == 0, "%s: %d ops", names[k], overlapping(&p, &r));
        ad_search_result_fini(&r);
        ad_cluster_override_links(&p.cluster, 1e9, 2e-4);
        ad_fixture_run(&p, names[k], &r);
        ck_assert_msg(overlapping(&p, &r) >= 2, "%s: %d ops", names[k], overlapping(&p, &r));
        ad_search_result_fini(&r);
    }
    ad_fixture_fini(&p);
}
END_TEST

/* Through the source, in parts by speed; a device of no account does not take part. */
START_TEST(aofl_chooses_how_many)
{
    static const int32_t cut[] = {0, 32, 48, 64, 64};
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 4);
    ad_cluster_override_links(&p.cluster, 1e9, 1e-4);
    p.cluster.devices[3].speed = 1e-4;
    ad_fixture_run(&p, "aofl", &r);
    ck_assert_int_eq(r.visited, 4);
    ck_assert_int_eq(r.assignment.hub, 0);
    check_star(&r.schedule, 0);
    ck_assert_int_eq(r.schedule.programs[3].ntasks, 0);
    for (int d = 0; d < 3; d++) { /* with its overlap */
        struct ad_region first = ad_fixture_task_region(&r.schedule, 0, d);
        ck_assert(first.h0 <= cut[d] && first.h1 >= cut[d + 1]);
        ck_assert_int_le(first.h1 - first.h0, cut[d + 1] - cut[d] + 8);
    }
    for (int i = 5; i < p.graph->nops; i++) /* reshape, dense, softmax */
        for (int d = 1; d < 4; d++)
            ck_assert(ad_region_empty(ad_fixture_task_region(&r.schedule, i, d)));
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* All devices, in parts by speed, and neighbours exchange directly. */
START_TEST(dpfp_exchanges_directly)
{
    static const int32_t cut[] = {0, 16, 24, 32};
    struct problem p;
    struct ad_search_result r;
    int direct = 0;
    ad_fixture_small(&p, 3);
    ad_cluster_override_links(&p.cluster, 1e9, 1e-5);
    ad_fixture_run(&p, "dpfp", &r);
    ck_assert_int_eq(r.visited, 1);
    ck_assert_int_eq(r.assignment.hub, -1);
    for (int d = 0; d < 3; d++) { /* the last map, which the dense layer reads */
        struct ad_region last = ad_fixture_task_region(&r.schedule, 4, d);
        ck_assert_int_eq(last.h0, cut[d]);
        ck_assert_int_eq(last.h1, cut[d + 1]);
    }
    for (int i = 0; i < r.schedule.programs[1].nsteps; i++) {
        const struct ad_step *step = &r.schedule.programs[1].steps[i];
        direct += step->kind == AD_STEP_SEND && step->peer == 2;
    }
    ck_assert_int_gt(direct, 0);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Two 3x3 convolutions, or a dense layer where h = 1, on four equal devices. */
static void even_layers(struct problem *p, int64_t h, int64_t w)
{
    struct ad_builder b;
    ad_build_init(&b, 2);
    int x = ad_build_input(&b, 1, h, w, h > 1 ? 8 : 256);
    for (int i = 0; i < 2; i++)
        x = h > 1 ? ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16)
                  : ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 256);
    ad_build_output(&b, x);
    ck_assert_int_eq(ad_build_finish(&b, &p->graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p->cluster, 4);
    for (int d = 0; d < 4; d++)
        p->cluster.devices[d].speed = 1e-3;
    ad_cluster_override_links(&p->cluster, 1e8, 1e-6);
    ad_fixture_fill(p);
}

/* Each of the four ways has layers that want it: the last device's part of the last layer. */
START_TEST(flexpie_divides_in_four_ways)
{
    static const struct {
        int64_t h, w;
        struct ad_region last;
    } ways[] = {{64, 4, {48, 64, 0, 4, 0, 16}},
                {4, 64, {0, 4, 48, 64, 0, 16}},
                {64, 64, {32, 64, 32, 64, 0, 16}},
                {1, 1, {0, 1, 0, 1, 192, 256}}};
    struct problem p;
    struct ad_search_result r;
    even_layers(&p, ways[_i].h, ways[_i].w);
    ad_fixture_run(&p, "flexpie", &r);
    struct ad_region last = ad_fixture_task_region(&r.schedule, 1, 3);
    ck_assert_msg(ad_region_equal(last, ways[_i].last), "rows %d:%d, columns %d:%d, channels %d:%d",
                  last.h0, last.h1, last.w0, last.w1, last.c0, last.c1);
    ck_assert_int_eq(r.assignment.hub, -1);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused groups");
    TCase *c = tcase_create("fused groups");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, best_of_all_plans);
    tcase_add_loop_test(c, groups_add_up, 0, 4);
    tcase_add_test(c, costs_by_hand);
    tcase_add_test(c, deep_networks);
    tcase_add_test(c, links_decide_what_is_fused);
    tcase_add_test(c, aofl_chooses_how_many);
    tcase_add_test(c, dpfp_exchanges_directly);
    tcase_add_loop_test(c, flexpie_divides_in_four_ways, 0, 4);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
