/* Debian's libonnx-testdata, of any release: each test of operators that the importer knows either
 * gives the expected numbers or is refused for the reason that stands here; no other model does
 * harm. */
#include "exec/engine/engine.h"
#include "ir/weight.h"
#include "support/onnxdata.h"
#include "support/plan_fixture.h"
#include "support/reference.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKIPPED 77

#define MAX_OPSET 64 /* for counting */

/* What is refused, sorted by name, and a part of the message that says why. Each release has most
 * of them. */
static const struct refusal {
    const char *name, *reason;
} refusals[] = {
    {"node/test_batchnorm_epsilon_training_mode", "training_mode is not supported"},
    {"node/test_batchnorm_example_training_mode", "training_mode is not supported"},
    {"node/test_center_crop_pad_crop_and_pad_expanded", "is computed at run time"},
    {"node/test_center_crop_pad_crop_axes_chw_expanded", "is computed at run time"},
    {"node/test_center_crop_pad_crop_axes_hwc_expanded", "is computed at run time"},
    {"node/test_center_crop_pad_crop_expanded", "is computed at run time"},
    {"node/test_center_crop_pad_crop_negative_axes_hwc_expanded", "is computed at run time"},
    {"node/test_center_crop_pad_pad_expanded", "is computed at run time"},
    {"node/test_constant", "is a constant, and the network has no input"},
    {"node/test_constantofshape_float_ones", "is a constant, and the network has no input"},
    {"node/test_constantofshape_int_shape_zero", "is a constant, and the network has no input"},
    {"node/test_constantofshape_int_zeros", "is a constant, and the network has no input"},
    {"node/test_dropout_default_mask", "is output 1 of node"},
    {"node/test_dropout_default_mask_ratio", "is output 1 of node"},
    {"node/test_if", "must be a constant"},
    {"node/test_maxpool_2d_uint8", "only floats are supported here"},
    {"node/test_maxpool_with_argmax_2d_precomputed_pads", "is output 1 of node"},
    {"node/test_maxpool_with_argmax_2d_precomputed_strides", "storage_order"},
    {"node/test_nllloss_NCd1_ii_expanded", "is a constant: only folding"},
    {"node/test_nllloss_NCd1_mean_weight_negative_ii_expanded", "is a constant: only folding"},
    {"node/test_nllloss_NCd1_weight_expanded", "is a constant: only folding"},
    {"node/test_nllloss_NCd1_weight_ii_expanded", "is a constant: only folding"},
    {"node/test_nllloss_NCd1d2_no_weight_reduction_mean_ii_expanded",
     "is a constant: only folding"},
    {"node/test_nllloss_NCd1d2_with_weight_reduction_mean_expanded", "is a constant: only folding"},
    {"node/test_nllloss_NCd1d2d3d4d5_mean_weight_expanded", "is a constant: only folding"},
    {"node/test_range_float_type_positive_delta", "is computed at run time"},
    {"node/test_range_int32_type_negative_delta", "is a constant, and the network has no input"},
    {"node/test_reduce_l1_empty_set", "input 'data' has"},
    {"node/test_reduce_l1_empty_set_expanded", "input 'data' has"},
    {"node/test_reduce_l2_empty_set", "input 'data' has"},
    {"node/test_reduce_log_sum_empty_set", "input 'data' has"},
    {"node/test_reduce_log_sum_empty_set_expanded", "input 'data' has"},
    {"node/test_reduce_log_sum_exp_empty_set", "input 'data' has"},
    {"node/test_reduce_max_empty_set", "input 'data' has"},
    {"node/test_reduce_min_empty_set", "input 'data' has"},
    {"node/test_reduce_prod_empty_set", "input 'data' has"},
    {"node/test_reduce_sum_empty_set", "input 'data' has"},
    {"node/test_reduce_sum_empty_set_non_reduced_axis_zero", "input 'data' has"},
    {"node/test_reduce_sum_square_empty_set", "input 'data' has"},
    {"node/test_reduce_sum_square_empty_set_expanded", "input 'data' has"},
    {"node/test_reshape_allowzero_reordered", "do not fit the shape"},
    {"node/test_resize_downsample_scales_cubic_antialias", "antialias 1 is not supported"},
    {"node/test_resize_downsample_scales_linear_antialias", "antialias 1 is not supported"},
    {"node/test_resize_downsample_sizes_cubic_antialias", "antialias 1 is not supported"},
    {"node/test_resize_downsample_sizes_linear_antialias", "antialias 1 is not supported"},
    {"node/test_resize_tf_crop_and_resize", "'tf_crop_and_resize' is not supported"},
    {"node/test_resize_tf_crop_and_resize_axes_2_3", "'tf_crop_and_resize' is not supported"},
    {"node/test_resize_tf_crop_and_resize_axes_3_2", "'tf_crop_and_resize' is not supported"},
    {"node/test_resize_tf_crop_and_resize_extrapolation_value",
     "'tf_crop_and_resize' is not supported"},
    {"node/test_slice_start_out_of_bounds", "has dimension 1 = 0"},
    {"node/test_split_zero_size_splits", "part 0 of 0 elements"},
    {"node/test_split_zero_size_splits_opset13", "part 0 of 0 elements"},
    {"node/test_split_zero_size_splits_opset18", "part 0 of 0 elements"},
    {"node/test_training_dropout", "training_mode is not supported"},
    {"node/test_training_dropout_default", "training_mode is not supported"},
    {"node/test_training_dropout_default_mask", "training_mode is not supported"},
    {"node/test_training_dropout_mask", "training_mode is not supported"},
    {"node/test_training_dropout_zero_ratio_mask", "is output 1 of node"},
    {"node/test_tril_zero", "input 'x' has"},
    {"node/test_triu_zero", "input 'x' has"},
};

/* Whose expected numbers are wrong: the average counts what ceil_mode adds to the padding (later
 * versions of ONNX do not); with aligned corners the last element is the input's last; -236 becomes
 * 20, which is modulo 256, where the specification says that it saturates. */
static const char *const wrong_numbers[] = {
    "node/test_qlinearmatmul_2D_int8_float32",
    "node/test_qlinearmatmul_3D_int8_float32",
    "node/test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
    "node/test_resize_downsample_scales_cubic_align_corners",
    "node/test_resize_downsample_scales_linear_align_corners",
};

static bool has_wrong_numbers(const char *name)
{
    for (size_t i = 0; i < sizeof wrong_numbers / sizeof *wrong_numbers; i++)
        if (strcmp(name, wrong_numbers[i]) == 0)
            return true;
    return false;
}

static int compare_names(const void *key, const void *row)
{
    return strcmp(key, ((const struct refusal *)row)->name);
}

static bool is_there(const char *root, const char *name)
{
    char *path = ad_asprintf("%s/%s", root, name);
    ck_assert_ptr_nonnull(path);
    bool there = access(path, F_OK) == 0;
    ad_free(path);
    return there;
}

/* A copy with its weight data. */
static struct ad_graph *copy_graph(const struct ad_graph *graph)
{
    struct ad_graph *copy = NULL;
    ck_assert_int_eq(ad_graph_copy(graph, &copy, NULL), ADAPS_OK);
    for (int i = 0; i < graph->nweights; i++) {
        const struct ad_weight *w = &graph->weights[i];
        size_t bytes = (size_t)(w->rows * w->row_elements) * sizeof(float);
        copy->weights[i].data = ad_alloc_aligned(bytes);
        ck_assert_ptr_nonnull(copy->weights[i].data);
        ck_assert_int_eq(ad_weight_read(w, 0, w->rows, copy->weights[i].data, NULL), ADAPS_OK);
    }
    return copy;
}

static enum adaps_status run_planned(const struct ad_graph *graph, int ndevices,
                                     const char *strategy, const struct ad_tensor *inputs,
                                     struct ad_tensor *outputs, struct adaps_error *err)
{
    struct ad_cluster cluster;
    ad_fixture_cluster(&cluster, ndevices);
    struct adaps_plan *plan = ad_fixture_make(copy_graph(graph), &cluster, strategy);
    enum adaps_status status = ad_fixture_infer(plan, plan->graph, 1, inputs, outputs, err);
    adaps_plan_free(plan);
    return status;
}

/* The tile engine whole on one device, and then in bands on two and three: the same bits. */
static enum adaps_status engine_run(const struct ad_graph *graph, const struct ad_tensor *inputs,
                                    struct ad_tensor *outputs, struct adaps_error *err)
{
    enum adaps_status status = run_planned(graph, 1, "single", inputs, outputs, err);
    struct ad_tensor *split = ad_calloc((size_t)graph->noutputs, sizeof *split);
    ck_assert_ptr_nonnull(split);
    for (int n = 2; n <= 3 && status == ADAPS_OK; n++) {
        status = run_planned(graph, n, "edgeflow", inputs, split, err);
        for (int i = 0; i < graph->noutputs && status == ADAPS_OK; i++) {
            struct ad_difference d = ad_tensor_difference(&outputs[i], &split[i]);
            if (d.differ > 0)
                status = ad_error_set(err, ADAPS_EINTERNAL,
                                      "%d devices: %zu of %zu elements differ, by up to %g", n,
                                      d.differ, d.elements, d.max_abs_diff);
        }
        for (int i = 0; i < graph->noutputs; i++)
            ad_tensor_fini(&split[i]);
    }
    ad_free(split);
    return status;
}

/* Whether the test `name` did what it should; prints when not. */
static bool as_expected(const char *root, const char *name, ad_onnxdata_evaluate_fn *evaluate)
{
    struct adaps_error err = {.status = ADAPS_OK};
    const struct refusal *refusal = bsearch(name, refusals, sizeof refusals / sizeof *refusals,
                                            sizeof *refusals, compare_names);
    enum ad_onnxdata_result result = ad_onnxdata_run(root, name, evaluate, &err);
    switch (result) {
    case AD_ONNXDATA_PASSED:
        if (!refusal)
            return true;
        fprintf(stderr, "%s: passes, but is listed as refused\n", name);
        return false;
    case AD_ONNXDATA_REFUSED:
        if (refusal && strstr(err.message, refusal->reason))
            return true;
        fprintf(stderr, "%s: refused: %s\n", name, err.message);
        return false;
    case AD_ONNXDATA_FAILED:
        if (has_wrong_numbers(name) && strstr(err.message, "expected"))
            return true;
        break;
    }
    fprintf(stderr, "%s: failed: %s\n", name, err.message);
    return false;
}

/* Loop: 0 is the naive interpreter (the importer alone is on trial), 1 the tile engine. */
START_TEST(every_known_operator)
{
    ad_onnxdata_evaluate_fn *evaluate = _i == 0 ? ad_reference_run : engine_run;
    struct adaps_error err;
    struct ad_onnxdata_list list;
    const char *root = ad_onnxdata_root();
    ck_assert_msg(ad_onnxdata_find(root, false, &list, &err) == ADAPS_OK, "%s", err.message);
    size_t wrong = 0, refused = 0, listed = 0, odd = 0;
    for (size_t i = 0; i < list.count; i++) {
        wrong += !as_expected(root, list.names[i], evaluate);
        refused += bsearch(list.names[i], refusals, sizeof refusals / sizeof *refusals,
                           sizeof *refusals, compare_names) != NULL;
    }
    /* every line of the table that is in this release was met, and much more was run */
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        listed += is_there(root, refusals[i].name);
    for (size_t i = 0; i < sizeof wrong_numbers / sizeof *wrong_numbers; i++)
        odd += is_there(root, wrong_numbers[i]);
    ck_assert_uint_gt(listed, 10);
    ck_assert_uint_eq(refused, listed);
    ck_assert_uint_gt(list.count, refused + 100);
    ck_assert_uint_eq(wrong, 0);
    printf("%zu tests of known operators: %zu pass, %zu are refused, %zu expect wrong numbers\n",
           list.count, list.count - refused - odd, refused, odd);
    ad_onnxdata_fini(&list);
}
END_TEST

/* What became of the models of one opset; 0: those that cannot be loaded. */
struct outcome {
    size_t imported, unknown, other;
};

static void count_outcome(struct outcome *to, enum adaps_status status, const char *message)
{
    if (status == ADAPS_OK)
        to->imported++;
    else if (strstr(message, "this operator is not supported") || strstr(message, "of the domain"))
        to->unknown++;
    else
        to->other++;
}

/* Also those of unknown operators and of other types: a model is imported or refused. */
START_TEST(every_model)
{
    struct adaps_error err;
    struct ad_onnxdata_list list;
    struct outcome by_opset[MAX_OPSET] = {{0}};
    const char *root = ad_onnxdata_root();
    ck_assert_msg(ad_onnxdata_find(root, true, &list, &err) == ADAPS_OK, "%s", err.message);
    for (size_t i = 0; i < list.count; i++) {
        int64_t opset;
        struct adaps_error why = {.status = ADAPS_OK};
        enum adaps_status status = ad_onnxdata_import(root, list.names[i], &opset, &why);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINPUT, "%s: %s", list.names[i],
                      why.message);
        ck_assert_msg(status == ADAPS_OK || strstr(why.message, list.names[i]), "%s: %s",
                      list.names[i], why.message);
        ck_assert_int_lt(opset, MAX_OPSET);
        count_outcome(&by_opset[opset], status, why.message);
    }
    printf("opset: imported, unknown operators, refused for another reason\n");
    size_t imported = 0;
    for (int k = 0; k < MAX_OPSET; k++) {
        const struct outcome *o = &by_opset[k];
        imported += o->imported;
        if (o->imported + o->unknown + o->other > 0)
            printf("%5d: %4zu %4zu %4zu\n", k, o->imported, o->unknown, o->other);
    }
    ck_assert_uint_gt(imported, 500);
    ad_onnxdata_fini(&list);
}
END_TEST

int main(void)
{
    if (!ad_onnxdata_root()) {
        fprintf(stderr, "libonnx-testdata is not installed: skipped\n");
        return SKIPPED;
    }
    Suite *suite = suite_create("onnxdata");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, every_known_operator, 0, 2);
    tcase_add_test(tc, every_model);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
