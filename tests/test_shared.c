/* The shared library, as a program of somebody else uses it: adaps.h and nothing else of adaps. */
#include "support/run_floats.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *in_source(const char *name)
{
    static char paths[2][512];
    static int next;
    const char *source = getenv("srcdir");
    next = !next;
    snprintf(paths[next], sizeof paths[next], "%s/%s", source ? source : ".", name);
    return paths[next];
}

START_TEST(test_version)
{
    ck_assert_str_eq(adaps_version(), ADAPS_VERSION);
}
END_TEST

/* Compiled, saved, loaded and run: the answers of both plans are the same. */
START_TEST(test_plan_and_run)
{
    const struct adaps_session_options here = {.struct_size = sizeof here, .local = true};
    struct adaps_plan_options options = {.struct_size = sizeof options, .strategy = "edgeflow"};
    struct adaps_error err = {0};
    struct adaps_plan *plans[2];
    float *input, *output[2];
    char file[] = "/tmp/adaps-shared.XXXXXX";
    options.model = in_source("models/digits.onnx");
    options.devices = in_source("devices/local2.conf");
    ck_assert_msg(adaps_plan_compile(&options, &plans[0], &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_gt(adaps_plan_predicted_ns(plans[0]), 0);
    int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_msg(adaps_plan_save(plans[0], file, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(adaps_plan_load(file, &plans[1], &err) == ADAPS_OK, "%s", err.message);
    unlink(file);
    size_t n = input_elements(plans[0]), m = output_elements(plans[0]);
    ck_assert_uint_eq(input_elements(plans[1]), n);
    ck_assert_uint_eq(m, 10);
    input = calloc(n, sizeof *input);
    for (size_t i = 0; i < n; i++)
        input[i] = (float)(i % 7) / 7;
    for (int i = 0; i < 2; i++) {
        struct adaps_session *session;
        output[i] = calloc(m, sizeof **output);
        ck_assert_msg(adaps_session_open(plans[i], &here, &session, &err) == ADAPS_OK, "%s",
                      err.message);
        ck_assert_msg(run_floats(session, input, n, output[i], m, &err) == ADAPS_OK, "%s",
                      err.message);
        ck_assert_int_eq(run_floats(session, input, n - 1, output[i], m, &err), ADAPS_EINPUT);
        adaps_session_close(session);
        adaps_plan_free(plans[i]);
    }
    ck_assert_int_eq(memcmp(output[0], output[1], m * sizeof **output), 0);
    ck_assert(output[0][0] != output[0][1]);
    free(input);
    free(output[0]);
    free(output[1]);
}
END_TEST

/* A stream, from a model's file. */
START_TEST(test_stream)
{
    struct adaps_session *session;
    struct adaps_stream *stream;
    struct adaps_result *result;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_session_open_file(in_source("models/digits.onnx"), NULL, &session, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    size_t n = input_elements(adaps_session_plan(session));
    float *data = calloc(n, sizeof *data);
    struct adaps_tensor input = input_floats(adaps_session_plan(session), data, n);
    ck_assert_int_eq(adaps_stream_open(session, NULL, &stream, &err), ADAPS_OK);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_int_eq(adaps_stream_submit(stream, &input, 1, i, &err), ADAPS_OK);
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_OK);
        ck_assert_uint_eq(adaps_result_tag(result), i);
        ck_assert_int_eq(adaps_result_status(result, &err), ADAPS_OK);
        adaps_result_free(result);
    }
    adaps_stream_close(stream);
    adaps_session_close(session);
    free(data);
}
END_TEST

START_TEST(test_error)
{
    struct adaps_plan *plan;
    struct adaps_error err = {0};
    ck_assert_int_eq(adaps_plan_load("/nowhere.plan", &plan, &err), ADAPS_EINPUT);
    ck_assert_int_eq(err.status, ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "/nowhere.plan"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared");
    TCase *tc = tcase_create("library");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_version);
    tcase_add_test(tc, test_plan_and_run);
    tcase_add_test(tc, test_stream);
    tcase_add_test(tc, test_error);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
