/* The passes together on a real model, through the public interface; and finding the model again.
 */
#include "base/file.h"
#include "support/model_builder.h"
#include "model_weights.h"
#include "pipeline.h"
#include "support/run_floats.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char model[4096], devices[4096], folder[4096], start[2048];

static void prepare(void)
{
    char here[2048];
    const char *srcdir = getenv("srcdir"), *tmp = getenv("TMPDIR");
    ck_assert_ptr_nonnull(getcwd(start, sizeof start));
    ck_assert_ptr_nonnull(realpath(srcdir ? srcdir : ".", here));
    snprintf(model, sizeof model, "%s/models/digits.onnx", here);
    snprintf(devices, sizeof devices, "%s/devices/pi5-pi4.conf", here);
    snprintf(folder, sizeof folder, "%s/adaps-pipeline.XXXXXX", tmp ? tmp : start);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void clean_up(void)
{
    static const char *const files[] = {"net.plan", "digits.onnx", "symbolic.onnx", "sub/net.plan",
                                        "sub/digits.onnx"};
    ck_assert_int_eq(chdir(folder), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    rmdir("sub");
    ck_assert_int_eq(chdir(start), 0);
    rmdir(folder);
}

static struct adaps_plan *compile(void)
{
    struct adaps_plan_options options = {
        .struct_size = sizeof options, .model = model, .devices = devices};
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_plan_compile(&options, &plan, &err) == ADAPS_OK, "%s", err.message);
    return plan;
}

static void copy_model(const char *to)
{
    void *data;
    size_t size;
    ck_assert_int_eq(ad_file_read(model, (size_t)1 << 24, &data, &size, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_file_replace(to, data, size, NULL), ADAPS_OK);
    ad_free(data);
}

START_TEST(compiles)
{
    struct adaps_plan *plan = compile(), *loaded;
    ck_assert_uint_gt(input_elements(plan), 0);
    ck_assert_uint_eq(output_elements(plan), 10);
    ck_assert_int_gt(adaps_plan_predicted_ns(plan), 0);
    ck_assert_int_le(adaps_plan_predicted_ns(plan), plan->single_ns);
    ck_assert_str_eq(plan->strategy, ad_strategies[0].name);
    ck_assert_str_eq(plan->model_path, model);
    ck_assert_double_eq(plan->threshold, 0.15);
    ck_assert_int_eq(ad_graph_verify(plan->graph, true, NULL), ADAPS_OK);
    ck_assert_int_eq(adaps_plan_save(plan, "net.plan", NULL), ADAPS_OK);
    ck_assert_int_eq(adaps_plan_load("net.plan", &loaded, NULL), ADAPS_OK);
    ck_assert(ad_digest_equal(&plan->digest, &loaded->digest));
    ck_assert_int_eq(adaps_plan_predicted_ns(loaded), adaps_plan_predicted_ns(plan));
    ck_assert_uint_eq(input_elements(loaded), input_elements(plan));
    ck_assert_str_eq(loaded->plan_path, "net.plan");
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(links_are_overridden)
{
    struct adaps_plan_options options = {.struct_size = sizeof options,
                                         .model = model,
                                         .devices = devices,
                                         .strategy = "edgeflow",
                                         .bandwidth = 5e6,
                                         .latency = 0,
                                         .has_latency = true,
                                         .threshold = 0.3};
    struct adaps_plan *plan;
    ck_assert_int_eq(adaps_plan_compile(&options, &plan, NULL), ADAPS_OK);
    ck_assert_double_eq(plan->cluster.links[1].bandwidth, 5e6);
    ck_assert_double_eq(plan->cluster.links[1].latency, 0);
    ck_assert_double_eq(plan->threshold, 0.3);
    ck_assert_str_eq(plan->strategy, "edgeflow");
    ck_assert(!plan->gather_type3);
    adaps_plan_free(plan);
    options.gather_type3 = true;
    ck_assert_int_eq(adaps_plan_compile(&options, &plan, NULL), ADAPS_OK);
    ck_assert(plan->gather_type3);
    adaps_plan_free(plan);
}
END_TEST

/* The file has them, and is the same plan without. */
START_TEST(spares)
{
    struct adaps_plan_options options = {
        .struct_size = sizeof options, .model = model, .devices = devices, .strategy = "edgeflow"};
    struct adaps_plan *plan, *loaded, *without;
    int others = 0;
    ck_assert_int_eq(adaps_plan_compile(&options, &without, NULL), ADAPS_OK);
    options.spares = true;
    ck_assert_int_eq(adaps_plan_compile(&options, &plan, NULL), ADAPS_OK);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        others += d != plan->cluster.source && ad_plan_works(plan, d);
    ck_assert_int_gt(others, 0);
    ck_assert_int_eq(plan->nspares, others);
    ck_assert_int_eq(without->nspares, 0);
    ck_assert(ad_digest_equal(&plan->digest, &without->digest));
    ck_assert_int_eq(adaps_plan_save(plan, "net.plan", NULL), ADAPS_OK);
    ck_assert_int_eq(adaps_plan_load("net.plan", &loaded, NULL), ADAPS_OK);
    ck_assert_int_eq(loaded->nspares, others);
    adaps_plan_free(loaded);
    adaps_plan_free(without);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(a_threshold_of_zero_is_a_value)
{
    struct adaps_plan_options options = {
        .struct_size = sizeof options, .model = model, .devices = devices, .has_threshold = true};
    struct adaps_plan *plan;
    ck_assert_int_eq(adaps_plan_compile(&options, &plan, NULL), ADAPS_OK);
    ck_assert_double_eq(plan->threshold, 0);
    adaps_plan_free(plan);
}
END_TEST

/* From memory: the same plan, but for where its model is; and it can be run at once. */
START_TEST(from_memory)
{
    struct adaps_plan *plan = compile(), *same = NULL;
    struct adaps_plan_options options = {.struct_size = sizeof options, .devices = devices};
    const struct adaps_session_options here = {.struct_size = sizeof here, .local = true};
    struct adaps_session *session;
    struct adaps_error err = {0};
    void *data;
    ck_assert_int_eq(ad_file_read(model, (size_t)1 << 24, &data, &options.model_size, NULL),
                     ADAPS_OK);
    options.model_data = data;
    ck_assert_msg(adaps_plan_compile(&options, &same, &err) == ADAPS_OK, "%s", err.message);
    memset(data, 0, options.model_size); /* it was copied */
    ck_assert(ad_digest_equal(&plan->digest, &same->digest));
    ck_assert_str_eq(same->model_path, "model");
    ck_assert_msg(adaps_session_open(same, &here, &session, &err) == ADAPS_OK, "%s", err.message);
    adaps_session_close(session);
    adaps_plan_free(same);
    adaps_plan_free(plan);
    options.model = "bytes.onnx";
    ck_assert_int_eq(adaps_plan_compile(&options, &same, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "bytes.onnx") != NULL, "%s", err.message);
    ad_free(data);
}
END_TEST

START_TEST(wrong_calls)
{
    struct adaps_plan *plan = NULL;
    struct adaps_error err;
    static const struct adaps_plan_options no_size = {.model = "none.onnx"};
    const struct {
        struct adaps_plan_options options;
        enum adaps_status status;
        const char *word;
    } cases[] = {
        {{.devices = devices}, ADAPS_EUSAGE, "required"},
        {{.model = model, .devices = devices, .bandwidth = -1}, ADAPS_EUSAGE, "bandwidth"},
        {{.model = model, .devices = devices, .bandwidth = NAN}, ADAPS_EUSAGE, "bandwidth"},
        {{.model = model, .devices = devices, .has_latency = true, .latency = -1},
         ADAPS_EUSAGE,
         "latency"},
        {{.model = model, .devices = devices, .threshold = 2}, ADAPS_EUSAGE, "threshold"},
        {{.model = model, .devices = devices, .has_threshold = true, .threshold = -1},
         ADAPS_EUSAGE,
         "threshold"},
        {{.model = model, .devices = devices, .strategy = "best"}, ADAPS_EUSAGE, "'best'"},
        {{.model = "none.onnx", .devices = devices}, ADAPS_EINPUT, "none.onnx"},
        {{.model = model, .devices = "none.conf"}, ADAPS_EINPUT, "none.conf"},
        {{.model = devices, .devices = devices}, ADAPS_EINPUT, "pi5-pi4.conf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adaps_plan_options options = cases[i].options;
        options.struct_size = sizeof options;
        memset(&err, 0, sizeof err);
        ck_assert_int_eq(adaps_plan_compile(&options, &plan, &err), cases[i].status);
        ck_assert_msg(strstr(err.message, cases[i].word) != NULL, "%zu: %s", i, err.message);
        ck_assert_ptr_null(plan);
    }
    ck_assert_int_eq(adaps_plan_compile(NULL, &plan, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_plan_compile(&no_size, &plan, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "struct_size") != NULL, "%s", err.message);
    ck_assert_int_eq(adaps_plan_load("none.plan", &plan, &err), ADAPS_EINPUT);
    ck_assert_int_eq(adaps_plan_load(NULL, &plan, NULL), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_plan_load(model, &plan, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "not an adaps plan"));
}
END_TEST

/* A loaded plan whose model is said to be at `path`. */
static struct adaps_plan *load_elsewhere(const char *plan_path, const char *path)
{
    struct adaps_plan *plan;
    ck_assert_int_eq(adaps_plan_load(plan_path, &plan, NULL), ADAPS_OK);
    ad_free(plan->model_path);
    plan->model_path = ad_strdup(path);
    return plan;
}

/* Opens the model of a plan and reads a row of it. */
static enum adaps_status read_weights(const struct adaps_plan *plan, const char *given,
                                      struct adaps_error *err)
{
    struct ad_model_weights weights;
    ad_model_weights_init(&weights, plan, given);
    const struct ad_weight_source source = ad_model_weights_source(&weights);
    const struct ad_slice *slice = &plan->slices[plan->cluster.source].items[0];
    size_t row = (size_t)plan->graph->weights[slice->weight].row_elements;
    float *numbers = ad_calloc(row, sizeof *numbers);
    enum adaps_status status =
        source.read(&source, slice, slice->row0, slice->row0 + 1, numbers, err);
    if (status == ADAPS_OK && weights.graph)
        ck_assert_int_eq(ad_graph_verify(weights.graph, true, NULL), ADAPS_OK);
    ad_free(numbers);
    ad_model_weights_fini(&weights);
    return status;
}

static void check_weights(struct adaps_plan *plan, const char *given, enum adaps_status expected)
{
    struct adaps_error err = {0};
    enum adaps_status status = read_weights(plan, given, &err);
    ck_assert_msg(status == expected, "status %d: %s", status, err.message);
    adaps_plan_free(plan);
}

START_TEST(finds_the_model)
{
    struct adaps_plan *plan = compile();
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_file_mkdirs("sub", NULL), ADAPS_OK);
    ck_assert_int_eq(adaps_plan_save(plan, "sub/net.plan", NULL), ADAPS_OK);
    ck_assert_int_eq(read_weights(plan, "/gone/digits.onnx", &err), ADAPS_OK); /* it has them */
    adaps_plan_free(plan);
    check_weights(load_elsewhere("sub/net.plan", model), NULL, ADAPS_OK);
    check_weights(load_elsewhere("sub/net.plan", "/gone/digits.onnx"), model, ADAPS_OK);

    /* nowhere: every place is named */
    plan = load_elsewhere("sub/net.plan", "/gone/digits.onnx");
    ck_assert_int_eq(read_weights(plan, NULL, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "/gone/digits.onnx: No such file") &&
                      strstr(err.message, "; sub/digits.onnx: No such file") &&
                      strstr(err.message, "; digits.onnx: No such file"),
                  "%s", err.message);
    adaps_plan_free(plan);

    copy_model("digits.onnx"); /* in the current folder */
    check_weights(load_elsewhere("sub/net.plan", "/gone/digits.onnx"), NULL, ADAPS_OK);
    unlink("digits.onnx");
    copy_model("sub/digits.onnx"); /* beside the plan */
    check_weights(load_elsewhere("sub/net.plan", "/gone/digits.onnx"), NULL, ADAPS_OK);
    check_weights(load_elsewhere("sub/net.plan", "digits.onnx"), NULL, ADAPS_OK); /* relative */
}
END_TEST

/* A plan of sizes that were given keeps them when its model is read again; which became 1 is told.
 */
START_TEST(symbolic_dimensions)
{
    struct mb mb;
    size_t size;
    struct adaps_plan *plan;
    struct adaps_error err = {0};
    mb_init(&mb, 13);
    Onnx__TensorShapeProto *shape =
        mb_input(&mb, "x", MB_DIMS(1, 2, 1, 8))->type->tensor_type->shape;
    shape->dim[2]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[2]->dim_param = "height";
    mb_weights(&mb, "w", MB_DIMS(3, 2, 1, 1), NULL);
    mb_node(&mb, "Conv", "x,w", "y");
    mb_output(&mb, "y");
    uint8_t *bytes = mb_pack(&mb, &size);
    ck_assert_int_eq(ad_file_replace("symbolic.onnx", bytes, size, &err), ADAPS_OK);
    ad_free(bytes);
    mb_fini(&mb);

    struct ad_pipeline_options options = {.model = "symbolic.onnx",
                                          .devices = devices,
                                          .bandwidth = -1,
                                          .latency = -1,
                                          .split_h = true,
                                          .dims = {{{"height", 6, 12}}, 1}};
    ck_assert_msg(ad_pipeline_compile(&options, &plan, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_uint_eq(input_elements(plan), 2 * 12 * 8);
    ck_assert_int_eq(adaps_plan_save(plan, "net.plan", NULL), ADAPS_OK);
    adaps_plan_free(plan);
    ck_assert_int_eq(adaps_plan_load("net.plan", &plan, NULL), ADAPS_OK);
    check_weights(plan, NULL, ADAPS_OK);
    options.dims.items[0].name = "weight";
    ck_assert_int_eq(ad_pipeline_compile(&options, &plan, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "'weight': there are 'height'"), "%s", err.message);

    char assumed[AD_ASSUMED];
    struct ad_pipeline_comparison comparison;
    options.dims.count = 0;
    options.assumed = assumed;
    ck_assert_int_eq(ad_pipeline_compile(&options, &plan, &err), ADAPS_OK);
    ck_assert_str_eq(assumed, "'height'");
    adaps_plan_free(plan);
    assumed[0] = '\0';
    ck_assert_int_eq(ad_pipeline_compare(&options, &comparison, &err), ADAPS_OK);
    ck_assert_str_eq(assumed, "'height'");
    ad_pipeline_comparison_fini(&comparison);
}
END_TEST

START_TEST(refuses_another_model)
{
    struct adaps_plan *plan = compile();
    struct adaps_error err = {0};
    char other[4200];
    snprintf(other, sizeof other, "%.*s/denoise.onnx", (int)(strrchr(model, '/') - model), model);
    ck_assert_int_eq(adaps_plan_save(plan, "net.plan", NULL), ADAPS_OK);
    adaps_plan_free(plan);
    ck_assert_int_eq(adaps_plan_load("net.plan", &plan, NULL), ADAPS_OK);
    ck_assert_int_eq(read_weights(plan, other, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "denoise.onnx: ") &&
                      strstr(err.message, "not the model that was planned"),
                  "%s", err.message);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *c = tcase_create("pipeline");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, prepare, clean_up);
    tcase_add_test(c, compiles);
    tcase_add_test(c, spares);
    tcase_add_test(c, links_are_overridden);
    tcase_add_test(c, a_threshold_of_zero_is_a_value);
    tcase_add_test(c, from_memory);
    tcase_add_test(c, wrong_calls);
    tcase_add_test(c, finds_the_model);
    tcase_add_test(c, symbolic_dimensions);
    tcase_add_test(c, refuses_another_model);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
