/* Time and memory traffic of operators, against numbers worked out by hand. */
#include "cost/cost.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>

static struct ad_graph *graph;

/* One op of each class on a 1x8x8x4 input. */
static void build(void)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    int64_t features[2] = {1, 256};
    ad_build_init(&b, 7);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    int conv = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 4);
    int grouped = ad_build_conv(&b, conv, ad_window_square(3, 1, 1, 1, 1), 2, 4);
    int depthwise = ad_build_conv(&b, grouped, ad_window_square(3, 1, 1, 1, 1), 4, 4);
    int pool = ad_build_pool(&b, AD_OP_MAXPOOL, depthwise, ad_window_square(3, 1, 1, 1, 1));
    int sum = ad_build_binary(&b, AD_OP_ADD, pool, x);
    int flat = ad_build_reshape(&b, sum, 2, features, true);
    int fc = ad_build_fc(&b, flat, 10);
    ad_build_output(&b, ad_build_softmax(&b, fc));
    ad_build_output(&b, ad_build_gap(&b, sum));
    ad_build_output(&b, ad_build_lrn(&b, sum, 5));
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
}

static void destroy(void)
{
    ad_graph_free(graph);
}

static const struct ad_op *find(enum ad_op_kind kind, int nth)
{
    for (int i = 0; i < graph->nops; i++)
        if (graph->ops[i].kind == kind && nth-- == 0)
            return &graph->ops[i];
    ck_abort_msg("no op of kind %d", kind);
    return NULL;
}

START_TEST(classes)
{
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_CONV, 0)), AD_COST_CONV);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_CONV, 1)), AD_COST_GROUPED);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_CONV, 2)), AD_COST_DEPTHWISE);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_FC, 0)), AD_COST_FC);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_MAXPOOL, 0)), AD_COST_POOL);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_GAP, 0)), AD_COST_POOL);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_ADD, 0)), AD_COST_ELEMENTWISE);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_SOFTMAX, 0)), AD_COST_ELEMENTWISE);
    ck_assert_int_eq(ad_cost_class_of(graph, find(AD_OP_RESHAPE, 0)), AD_COST_COPY);
}
END_TEST

START_TEST(macs)
{
    ck_assert_int_eq(ad_cost_macs(graph, find(AD_OP_CONV, 0)), 256 * 36);
    ck_assert_int_eq(ad_cost_macs(graph, find(AD_OP_CONV, 1)), 256 * 18);
    ck_assert_int_eq(ad_cost_macs(graph, find(AD_OP_CONV, 2)), 256 * 9);
    ck_assert_int_eq(ad_cost_macs(graph, find(AD_OP_FC, 0)), 2560);
    ck_assert_int_eq(ad_cost_macs(graph, find(AD_OP_MAXPOOL, 0)), 0);
}
END_TEST

START_TEST(work)
{
    const struct ad_op *conv = find(AD_OP_CONV, 0), *fc = find(AD_OP_FC, 0);
    /* Four of eight rows: 128 outputs, five input rows, all four filters and biases. */
    struct ad_work w = ad_cost_work(graph, conv, 128, 160, 4);
    ck_assert_double_eq(w.units, 128 * 36);
    ck_assert_double_eq(w.bytes, 4.0 * (128 + 160 + 4 * 36 + (conv->bias >= 0 ? 4 : 0)));
    /* Three of ten features. */
    w = ad_cost_work(graph, fc, 3, 256, 3);
    ck_assert_double_eq(w.units, 3 * 256);
    ck_assert_double_eq(w.bytes, 4.0 * (3 + 256 + 3 * 256 + (fc->bias >= 0 ? 3 : 0)));
    w = ad_cost_work(graph, find(AD_OP_MAXPOOL, 0), 32, 96, 0);
    ck_assert_double_eq(w.units, 32 * 9);
    ck_assert_double_eq(w.bytes, 4.0 * (32 + 96));
    w = ad_cost_work(graph, find(AD_OP_GAP, 0), 4, 256, 0);
    ck_assert_double_eq(w.units, 256);
    w = ad_cost_work(graph, find(AD_OP_ADD, 0), 256, 512, 0);
    ck_assert_double_eq(w.units, 256);
    ck_assert_double_eq(w.bytes, 4.0 * 768);
    ck_assert_double_eq(w.after, 0);
    /* Fused functions are a pass after it; alone they are the work. */
    struct ad_op fused = *conv, alone = *conv;
    alone.kind = AD_OP_UNARY;
    alone.weight = alone.bias = -1;
    fused.function = AD_FN_HARD_SWISH;
    w = ad_cost_work(graph, &fused, 128, 160, 4);
    ck_assert_double_eq(w.units, 128 * 36);
    ck_assert_double_eq(w.after, 128);
    alone.function = AD_FN_SIGMOID;
    w = ad_cost_work(graph, &alone, 128, 128, 0);
    ck_assert_int_eq(w.class, AD_COST_ELEMENTWISE);
    ck_assert_double_gt(w.units, 128);
    ck_assert_double_eq(w.after, 0);
}
END_TEST

START_TEST(seconds)
{
    struct ad_device device = {.speed = 0.5, .table = {.constant_s = 1e-6, .memory_bw = 1e9}};
    device.table.rate[AD_COST_CONV] = 2e9;
    device.table.rate[AD_COST_ELEMENTWISE] = 1e8;
    struct ad_work computes = {.class = AD_COST_CONV, .units = 4e6, .bytes = 100};
    struct ad_work moves = {.class = AD_COST_CONV, .units = 10, .bytes = 3e6};
    struct ad_work activates = {.class = AD_COST_CONV, .units = 4e6, .bytes = 100, .after = 1e5};
    ck_assert_double_eq_tol(ad_cost_seconds(&device, &computes), 1e-6 + 4e-3, 1e-12);
    ck_assert_double_eq_tol(ad_cost_seconds(&device, &moves), 1e-6 + 6e-3, 1e-12);
    ck_assert_double_eq_tol(ad_cost_seconds(&device, &activates), 1e-6 + 6e-3, 1e-12);
    device.speed = 1;
    ck_assert_double_eq_tol(ad_cost_seconds(&device, &computes), 1e-6 + 2e-3, 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *c = tcase_create("cost");
    tcase_add_checked_fixture(c, build, destroy);
    tcase_add_test(c, classes);
    tcase_add_test(c, macs);
    tcase_add_test(c, work);
    tcase_add_test(c, seconds);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
