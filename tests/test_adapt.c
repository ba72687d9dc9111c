/* Adaptation without agents: answers are made up of what the plan says. A drift becomes another
 * plan that is nearly as good as one that was made for what devices are now, if there is enough
 * left to gain; noise becomes none. */
#include "adapt.h"
#include "adapt_plan.h"
#include "base/rng.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <sched.h>
#include <string.h>

#define N 4 /* devices */

static struct adaps_plan *first;
static struct ad_model_weights weights;
static struct ad_adapt *adapt;
static const bool nobody[AD_MAX_DEVICES];
static int same[AD_MAX_DEVICES];
static int64_t open_ns; /* what opening a session took */

static void start(void)
{
    struct adaps_error err;
    first = ad_fixture_banded(N);
    open_ns = 1000000;
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        same[d] = d;
    ad_model_weights_init(&weights, first, NULL);
    ck_assert_int_eq(ad_model_weights_open(&weights, &err), ADAPS_OK);
    ck_assert_int_eq(ad_adapt_new(first, &weights, &adapt, &err), ADAPS_OK);
}

static void stop(void)
{
    ad_adapt_free(adapt);
    ad_model_weights_fini(&weights);
    adaps_plan_free(first);
}

/* An answer of a plan, of whose devices one takes `ratio` times as long, with noise of 10 %. */
static bool answer(const struct adaps_plan *plan, const int *device_of, struct ad_rng *rng,
                   int64_t number, int slow, double ratio, int64_t left)
{
    struct ad_device_stats devices[AD_MAX_DEVICES] = {{0}};
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        double noise = 1 + 0.17 * (double)ad_rng_float(rng); /* deviates by 10 % */
        double times = device_of[d] == slow ? ratio : 1;
        devices[d].compute_ns = llround((double)plan->schedule.busy_ns[d] * times * noise);
    }
    const struct ad_adapt_answer one = {.plan = plan,
                                        .device_of = device_of,
                                        .number = (uint32_t)number,
                                        .devices = devices,
                                        .out = nobody,
                                        .inference = number + 1,
                                        .left = left,
                                        .open_ns = open_ns};
    return ad_adapt_observe(adapt, &one);
}

/* Answers until what follows from a drift is known; how many of them after the 50th. */
static int64_t until_known(struct ad_rng *rng, int slow, double ratio, int64_t left)
{
    int known = 0;
    int64_t i = 0, found = -1;
    for (bool ready = false; !ready; i++) {
        ready = answer(first, same, rng, i, slow, i < 50 ? 1 : ratio, left);
        const struct ad_adaptation *list = ad_adapt_list(adapt, &known);
        if (known > 0 && found < 0)
            found = i;
        if (known > 0 && list[0].done)
            break;
        sched_yield(); /* to the thread that plans */
    }
    return found - 50;
}

START_TEST(steady)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct ad_rng rng = {seed};
        int count;
        for (int64_t i = 0; i < 10000; i++)
            ck_assert(!answer(first, same, &rng, i, -1, 1, INT32_MAX));
        ad_adapt_list(adapt, &count);
        ck_assert_int_eq(count, 0);
    }
}
END_TEST

/* Device 1 at half its speed: the new plan against one made for that from the beginning. */
START_TEST(half_as_fast)
{
    struct ad_rng rng = {5};
    struct adaps_plan *plan, *fresh;
    struct ad_cluster cluster;
    int device_of[AD_MAX_DEVICES], count;
    int64_t after = until_known(&rng, 1, 2, 1000000);
    ck_assert_int_ge(after, AD_DRIFT_LASTS);
    ck_assert_int_le(after, AD_DRIFT_LASTS + 12);
    ck_assert(ad_adapt_ready(adapt));
    struct ad_adaptation *one = ad_adapt_take(adapt, &plan, device_of);
    ck_assert_int_eq(one->device, 1);
    ck_assert_int_eq(one->to, -1);
    ck_assert_double_eq_tol(one->factor, 0.5, 0.06);
    ck_assert(one->taken && one->new_ns < one->old_ns && one->old_ns > first->schedule.makespan_ns);
    double now = ad_adapt_cluster(adapt)->devices[1].speed / first->cluster.devices[1].speed;
    ck_assert_double_eq_tol(now, 0.5, 0.06);
    ad_fixture_cluster(&cluster, N);
    cluster.devices[1].speed /= 2;
    struct ad_graph *graph;
    ck_assert_int_eq(ad_graph_copy(first->graph, &graph, NULL), ADAPS_OK);
    fresh = ad_fixture_make(graph, &cluster, "auto");
    double ratio = (double)one->new_ns / (double)fresh->schedule.makespan_ns;
    ck_assert_msg(fabs(ratio - 1) < 0.05, "%g of the time of a fresh plan", ratio);
    adaps_plan_free(fresh);

    /* It becomes as fast as it was, which is twice what the plan in use says. */
    ck_assert_double_eq_tol(plan->cluster.devices[1].speed / first->cluster.devices[1].speed, now,
                            1e-9);
    bool ready = false;
    for (int64_t i = 0; i < 200 || !ready; i++) {
        ready = answer(plan, device_of, &rng, i, 1, i < 50 ? 1 : 0.5, 1000000);
        sched_yield();
        if (ready)
            break;
    }
    const struct ad_adaptation *list = ad_adapt_list(adapt, &count);
    ck_assert_int_eq(count, 2);
    ck_assert(list[1].taken && list[1].device == 1);
    ck_assert_double_eq_tol(list[1].factor, 2, 0.25);
    adaps_plan_free(plan);
}
END_TEST

/* Too little is left: nothing is even looked for. */
START_TEST(hardly_anything_is_left)
{
    struct ad_rng rng = {6};
    int count;
    for (int64_t i = 0; i < 200; i++)
        ck_assert(!answer(first, same, &rng, i, 1, 2, 3));
    ad_adapt_list(adapt, &count);
    ck_assert_int_eq(count, 0);
}
END_TEST

/* Opening another session takes nearly as long as all that is left. */
START_TEST(costs_more_than_it_gains)
{
    struct ad_rng rng = {7};
    int count;
    int64_t left = 1000000;
    open_ns = left * first->schedule.makespan_ns * 9 / 10;
    until_known(&rng, 1, 1.5, left);
    const struct ad_adaptation *list = ad_adapt_list(adapt, &count);
    ck_assert_int_eq(count, 1);
    ck_assert(!list[0].taken && list[0].new_ns < list[0].old_ns);
    ck_assert_int_ge(list[0].cost_ns, open_ns);
    ck_assert(!ad_adapt_ready(adapt));
    for (int64_t i = 0; i < 500; i++) /* it is known now */
        ck_assert(!answer(first, same, &rng, i, 1, 1.5, left));
    ad_adapt_list(adapt, &count);
    ck_assert_int_eq(count, 1);
}
END_TEST

/* Whatever is in flight when the plan changes for another reason is forgotten. */
START_TEST(restarted)
{
    struct ad_rng rng = {8};
    int count;
    until_known(&rng, 2, 3, 1000000);
    ck_assert(ad_adapt_ready(adapt));
    ad_adapt_restart(adapt);
    ck_assert(!ad_adapt_ready(adapt));
    ad_adapt_list(adapt, &count);
    ck_assert_int_eq(count, 0);
    double now = ad_adapt_cluster(adapt)->devices[2].speed / first->cluster.devices[2].speed;
    ck_assert_double_eq_tol(now, 1.0 / 3, 0.04);
}
END_TEST

/* --- what is measured of links --- */

static double share(const struct ad_cluster *now, int from, int to)
{
    const struct ad_link *a = &now->links[from * N + to], *b = &first->cluster.links[from * N + to];
    ck_assert_double_eq_tol(a->bandwidth / b->bandwidth, b->latency / a->latency, 1e-6);
    return a->bandwidth / b->bandwidth;
}

/* Ratios of links, ten times each; 0: it is not used. */
static void measure(struct ad_cluster *now, double (*ratios)[N])
{
    struct ad_drift drift;
    struct ad_plan_in_use in_use = {first, same};
    ck_assert_int_eq(ad_cluster_copy(&first->cluster, now, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_drift_init(&drift, ad_adapt_subjects(N), NULL), ADAPS_OK);
    for (int i = 0; i < 10 * N * N; i++)
        ad_drift_observe(&drift, ad_adapt_link(N, i / N % N, i % N), ratios[i / N % N][i % N]);
    ad_adapt_measure(now, &first->cluster, &in_use, &drift);
    ad_drift_fini(&drift);
}

/* A star around device 0: the way to device 2 is slow, those to 1 and 3 are not. So what goes from
 * 1 to 2 would be slow, too, and what goes from 1 to 3 would not. */
START_TEST(a_slow_port)
{
    struct ad_cluster now;
    double ratios[N][N] = {{0, 1, 4, 1}, {1, 0, 0, 0}, {4, 0, 0, 0}, {1, 0, 0, 0}};
    measure(&now, ratios);
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            if (a != b)
                ck_assert_double_eq_tol(share(&now, a, b), a == 2 || b == 2 ? 0.25 : 1, 1e-6);
    ad_cluster_fini(&now);
}
END_TEST

/* What is not used stays as it was when nothing is known of its ports. */
START_TEST(unknown_ports)
{
    struct ad_cluster now;
    double ratios[N][N] = {{0, 2, 0, 0}, {0}};
    measure(&now, ratios);
    ck_assert_double_eq_tol(share(&now, 0, 1), 0.5, 1e-6);
    ck_assert_double_eq_tol(share(&now, 1, 0), 0.5, 1e-6);
    ck_assert_double_eq_tol(share(&now, 2, 3), 1, 1e-6);
    ad_cluster_fini(&now);
}
END_TEST

START_TEST(a_shared_medium)
{
    struct ad_cluster now;
    double ratios[N][N] = {{0, 2, 3, 0}, {2.5, 0, 0, 0}};
    first->cluster.shared_medium = true;
    measure(&now, ratios);
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            if (a != b)
                ck_assert_double_eq_tol(share(&now, a, b), 0.5, 1e-6);
    ad_cluster_fini(&now);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adapt");
    TCase *tcase = tcase_create("adapt");
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, steady);
    tcase_add_test(tcase, half_as_fast);
    tcase_add_test(tcase, hardly_anything_is_left);
    tcase_add_test(tcase, costs_more_than_it_gains);
    tcase_add_test(tcase, restarted);
    tcase_add_test(tcase, a_slow_port);
    tcase_add_test(tcase, unknown_ports);
    tcase_add_test(tcase, a_shared_medium);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
