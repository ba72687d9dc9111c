/* Which convolutions are computed by Winograd's algorithm. */
#include "cost/algorithm.h"
#include "cost/shape.h"
#include "ir/winograd.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>

static struct ad_graph *graph;
static struct ad_cluster cluster;

enum { STEM, WIDE, POINT, STRIDE, DEPTHWISE, LINE, OPS };

static void build(void)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    struct ad_window line = {1, 3, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1};
    ad_build_init(&b, 7);
    int x = ad_build_input(&b, 1, 56, 56, 3);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 64);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 64);
    x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 64);
    x = ad_build_conv(&b, x, ad_window_square(3, 2, 1, 1, 1), 1, 128);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 128, 128);
    x = ad_build_conv(&b, x, line, 1, 128);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(graph->nops, OPS);
    ck_assert_int_eq(ad_cluster_init(&cluster, 2, &err), ADAPS_OK);
    for (int d = 0; d < 2; d++) {
        struct ad_device *device = &cluster.devices[d];
        device->speed = device->threads = 1;
        for (int k = 0; k < AD_COST_CLASSES; k++)
            device->table.rate[k] = 1e10;
        device->table.rate[AD_COST_WINOGRAD] = 0; /* that of direct ones */
        device->table.memory_bw = 1e11;
    }
}

static void destroy(void)
{
    ad_graph_free(graph);
    ad_cluster_fini(&cluster);
}

static void check_choice(int wide, int line)
{
    ad_algorithms_choose(graph, &cluster);
    for (int i = 0; i < OPS; i++)
        ck_assert_msg(graph->ops[i].winograd == (i == WIDE   ? wide
                                                 : i == LINE ? line
                                                             : 0),
                      "op %d: %d", i, graph->ops[i].winograd);
}

/* Large layers in large tiles; transforms of few channels take more than they save. */
START_TEST(by_rate)
{
    check_choice(4, 4);
    for (int d = 0; d < 2; d++)
        cluster.devices[d].table.rate[AD_COST_WINOGRAD] = 1e9;
    check_choice(0, 0);
    cluster.devices[0].table.rate[AD_COST_WINOGRAD] = 1e12; /* the mean of both counts */
    check_choice(0, 0);
    cluster.devices[1].table.rate[AD_COST_WINOGRAD] = 9e9;
    check_choice(4, 4);
}
END_TEST

/* Measured shapes say more than rates. */
START_TEST(by_shape)
{
    static const char *const slow[] = {"conv 3x3 w4 56x56x64 -> 56x56x64",
                                       "conv 3x3 w2 56x56x64 -> 56x56x64",
                                       "conv 3x3 56x56x64 -> 56x56x64"};
    static const double ms[][3] = {{9, 3, 5}, {9, 9, 5}, {2, 3, 5}};
    static const int want[] = {2, 0, 4};
    for (int k = 0; k < 3; k++) {
        struct ad_shapes *shapes = ad_shapes_new();
        for (int i = 0; i < 3; i++) {
            struct ad_shape_time time = {.npoints = 1};
            ck_assert(ad_shape_parse(slow[i], &time.shape));
            time.points[0] = (struct ad_shape_point){56, ms[k][i] * 1e-3};
            ck_assert_int_eq(ad_shapes_add(shapes, &time, NULL), ADAPS_OK);
        }
        ck_assert_int_eq(ad_shapes_finish(shapes, NULL), ADAPS_OK);
        for (int d = 0; d < 2; d++)
            cluster.devices[d].table.shapes = shapes;
        ad_algorithms_choose(graph, &cluster);
        ck_assert_int_eq(graph->ops[WIDE].winograd, want[k]);
        for (int d = 0; d < 2; d++)
            cluster.devices[d].table.shapes = NULL;
        ad_shapes_unref(shapes);
    }
}
END_TEST

/* Where a device lacks the memory for transformed weights, the layer is direct on all devices. */
START_TEST(memory)
{
    int counts[3], n = 0;
    for (uint64_t bytes = 64 << 20; bytes > 1 << 20; bytes -= bytes / 16) {
        int count = 0;
        cluster.devices[1].memory = bytes;
        ad_algorithms_choose(graph, &cluster);
        for (int i = 0; i < OPS; i++)
            count += graph->ops[i].winograd != 0;
        if (n == 0 || counts[n - 1] != count) {
            ck_assert_int_lt(n, 3);
            counts[n++] = count;
        }
    }
    ck_assert_int_eq(n, 3); /* one after the other */
    ck_assert(counts[0] == 2 && counts[1] == 1 && counts[2] == 0);
}
END_TEST

/* A device without the memory takes the algorithm from all, so there is a choice for the other one,
 * too; of two devices alike there is one. */
START_TEST(for_some)
{
    struct ad_algorithm_choices choices;
    ck_assert_int_eq(ad_algorithms_list(graph, &cluster, &choices, NULL), ADAPS_OK);
    ck_assert_int_eq(choices.count, 1);
    ad_algorithms_fini(&choices);
    cluster.devices[1].memory = 1 << 10;
    ck_assert_int_eq(ad_algorithms_list(graph, &cluster, &choices, NULL), ADAPS_OK);
    ck_assert_int_eq(choices.count, 2);
    for (int i = 0; i < OPS; i++) {
        ck_assert_int_eq(choices.winograd[0][i], 0);
        ck_assert_int_eq(graph->ops[i].winograd, 0);
    }
    ad_algorithms_take(&choices, 1, graph);
    ck_assert_int_eq(graph->ops[WIDE].winograd, 4);
    ad_algorithms_fini(&choices);
    cluster.source = 1; /* without which there is no plan */
    ck_assert_int_eq(ad_algorithms_list(graph, &cluster, &choices, NULL), ADAPS_OK);
    ck_assert_int_eq(choices.count, 1);
    ad_algorithms_fini(&choices);
}
END_TEST

/* Tiles of small bands are computed twice: the more devices, the less a large tile is worth. */
START_TEST(small_bands)
{
    struct ad_cluster many;
    struct adaps_error err;
    ck_assert_int_eq(ad_cluster_init(&many, 16, &err), ADAPS_OK);
    for (int d = 0; d < 16; d++)
        many.devices[d] = cluster.devices[0];
    ad_algorithms_choose(graph, &many);
    ck_assert_int_eq(graph->ops[LINE].winograd, 4); /* of rows of its own */
    ck_assert_int_eq(graph->ops[WIDE].winograd, 4);
    graph->values[graph->ops[WIDE].output].box.h = 8; /* 16 bands of at most a row */
    ad_algorithms_choose(graph, &many);
    ck_assert_int_ne(graph->ops[WIDE].winograd, 4);
    ad_cluster_fini(&many);
}
END_TEST

START_TEST(all)
{
    ck_assert_int_eq(ad_algorithms_all(graph), 3);
    ck_assert_int_ne(graph->ops[STEM].winograd, 0);
    ck_assert_int_eq(graph->ops[WIDE].winograd, 4);
    ck_assert_int_eq(graph->ops[LINE].winograd, 4);
    ck_assert(!ad_op_may_winograd(&graph->ops[POINT], 2, 56, 56));
    ck_assert(!ad_op_may_winograd(&graph->ops[STRIDE], 2, 56, 56));
    ck_assert(!ad_op_may_winograd(&graph->ops[DEPTHWISE], 2, 56, 56));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("algorithm");
    TCase *tc = tcase_create("algorithm");
    tcase_add_checked_fixture(tc, build, destroy);
    tcase_add_test(tc, by_rate);
    tcase_add_test(tc, by_shape);
    tcase_add_test(tc, memory);
    tcase_add_test(tc, for_some);
    tcase_add_test(tc, small_bands);
    tcase_add_test(tc, all);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
