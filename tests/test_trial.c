/* The network of the trial: a model like any other, also when there is no memory for it. */
#include "trial.h"
#include "base/mem.h"
#include "import/import.h"
#include "support/run_suite.h"

#include <check.h>

START_TEST(imported)
{
    struct adaps_error err;
    struct ad_onnx_model *model;
    struct ad_graph *graph;
    void *data;
    size_t size;
    ck_assert_int_eq(ad_trial_network(&data, &size, &err), ADAPS_OK);
    ck_assert_msg(ad_onnx_parse(data, size, "trial", &model, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_ir_import(model, NULL, &graph, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_graph_verify(graph, true, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(graph->nops, 4);
    for (int i = 0; i < graph->nops; i++)
        ck_assert_int_eq(graph->ops[i].kind, AD_OP_CONV);
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    const struct ad_value *out = &graph->values[graph->outputs[0]];
    ck_assert_int_eq(in->box.c, 3);
    ck_assert(in->box.h == out->box.h && in->box.w == out->box.w);
    ad_graph_free(graph);
    ad_onnx_free(model);
    ad_free(data);
}
END_TEST

START_TEST(no_memory)
{
    struct adaps_error err;
    void *data;
    size_t size;
    for (int n = 1; n <= 2; n++) {
        ad_mem_fail_after(n);
        ck_assert_int_eq(ad_trial_network(&data, &size, &err), ADAPS_EINTERNAL);
        ad_mem_fail_after(0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trial");
    TCase *t = tcase_create("trial");
    tcase_add_test(t, imported);
    tcase_add_test(t, no_memory);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
