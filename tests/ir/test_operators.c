/* ir/operators: every kind has a full row, region rules, a kernel, a case in the reference
 * interpreter, and cases in the property tests. */
#include "cost/shape.h"
#include "exec/engine/internal.h"
#include "fusion/rules.h"
#include "support/random_graph.h"
#include "support/random_operator.h"
#include "support/reference.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

#define GRAPHS 600
#define OPERATORS 200

/* Loop tests: one per kind. */
START_TEST(test_row)
{
    const struct ad_operator *row = ad_operator_of((enum ad_op_kind)_i);
    ck_assert_msg(row->name && row->short_name, "kind %d has no name", _i);
    ck_assert_str_eq(ad_op_kind_name((enum ad_op_kind)_i), row->name);
    for (int k = 0; k < _i; k++) {
        ck_assert_str_ne(ad_operators[k].name, row->name);
        ck_assert_str_ne(ad_operators[k].short_name, row->short_name);
    }
    ck_assert_msg(row->type >= 1 && row->type <= 3, "%s has type %d", row->name, row->type);
    ck_assert_msg(row->units > 0, "%s costs nothing", row->name);
    ck_assert_msg(row->check != NULL, "%s is not verified", row->name);
    ck_assert(!row->elementwise || row->inputs == 2);
}
END_TEST

START_TEST(test_code)
{
    enum ad_op_kind kind = (enum ad_op_kind)_i;
    const char *name = ad_op_kind_name(kind);
    const struct ad_region_rule *rule = ad_region_rule(kind);
    const struct ad_kernel *kernel = ad_kernel_of(kind);
    ck_assert_msg(rule->need && rule->yield, "%s has no region rules", name);
    enum ad_work_kind work = kernel->work;
    bool by_shape = work == AD_WORK_CONV || work == AD_WORK_DENSE; /* ours or XNNPACK's */
    ck_assert_msg(work != AD_WORK_NONE && (kernel->build != NULL) != by_shape,
                  "%s has no kernel, or two", name);
    if (!by_shape)
        ck_assert_int_ne(ad_choose(ad_processor(), work, NULL).kernels, AD_KERNELS_XNNPACK);
    ck_assert_msg(ad_reference_has(kind), "the reference interpreter does not know %s", name);
}
END_TEST

/* Bits of the kinds of a graph's ops. */
static uint64_t kinds_of(const struct ad_graph *graph)
{
    uint64_t kinds = 0;
    for (int k = 0; k < graph->nops; k++)
        kinds |= (uint64_t)1 << graph->ops[k].kind;
    return kinds;
}

static void assert_all(uint64_t kinds, const char *who)
{
    _Static_assert(AD_OP_COUNT <= 64, "a bit per kind");
    for (int kind = 0; kind < AD_OP_COUNT; kind++)
        ck_assert_msg(kinds >> kind & 1, "%s never make a %s", who,
                      ad_op_kind_name((enum ad_op_kind)kind));
}

/* What the property tests of regions, and those of fusion, engine and plans, are made from. */
START_TEST(test_property_tests)
{
    uint64_t single = 0, graphs = 0;
    AD_EACH_OPERATOR(graph, op, i, OPERATORS)
    single |= (uint64_t)1 << op->kind;
    for (int i = 0; i < GRAPHS; i++) {
        struct ad_random_graph_options options = {
            .ops = 10, .max_hw = 8, .max_c = 5, .wild = i % 2 == 0};
        struct ad_graph *graph = NULL;
        ck_assert_int_eq(ad_random_graph((uint64_t)i, &options, &graph, NULL), ADAPS_OK);
        graphs |= kinds_of(graph);
        ad_graph_free(graph);
    }
    assert_all(single, "random operators");
    assert_all(graphs, "random graphs");
}
END_TEST

/* A shape of each kind is what its text says. */
START_TEST(test_shapes)
{
    AD_EACH_OPERATOR(graph, op, i, OPERATORS)
    {
        struct ad_shape shape = ad_shape_of(graph, op), parsed;
        char text[AD_SHAPE_TEXT];
        ck_assert_msg(ad_shape_parse(ad_shape_format(&shape, text, sizeof text), &parsed),
                      "'%s' is no shape", text);
        ck_assert_msg(memcmp(&shape, &parsed, sizeof shape) == 0, "'%s' is another shape", text);
        ck_assert(ad_shape_units(&shape) > 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operators");
    TCase *tcase = tcase_create("operators");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_row, 0, AD_OP_COUNT);
    tcase_add_loop_test(tcase, test_code, 0, AD_OP_COUNT);
    tcase_add_test(tcase, test_property_tests);
    tcase_add_test(tcase, test_shapes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
