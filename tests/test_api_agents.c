/* The public interface on agents: streams, and cancelling from another thread. */
#include "base/mem.h"
#include "support/agents_fixture.h"
#include "support/run_floats.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ad_testbed testbed;
static struct adaps_plan *plan;

static void start_three(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 3, NULL);
    plan = ad_testbed_heavy_plan(3, 6, SANITIZED ? 24 : 48, 16);
    ad_testbed_address(&testbed, &plan);
}

static void stop_three(void)
{
    adaps_plan_free(plan);
    ad_testbed_fini(&testbed);
}

struct pushed {
    uint64_t done, total;
};

static void note_push(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct pushed *pushed = user;
    ck_assert_str_eq(what, "push");
    ck_assert_uint_ge(done, pushed->done);
    *pushed = (struct pushed){done, total};
}

static struct adaps_session *open_session(bool failover)
{
    struct pushed pushed = {0};
    const struct adaps_session_options options = {.struct_size = sizeof options,
                                                  .failover = failover,
                                                  .deadline = 60,
                                                  .progress = note_push,
                                                  .progress_user = &pushed};
    struct adaps_session *session = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_session_open(plan, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert(pushed.total > 0 && pushed.done == pushed.total);
    return session;
}

/* A session that ends as soon as somebody waits for its agents. */
struct holder {
    struct adaps_session *session;
    char told[1100];
};

static void make_way(void *user, enum adaps_log_level level, const char *message)
{
    struct holder *holder = user;
    if (level != ADAPS_LOG_INFO || strncmp(message, "waiting: ", 9) != 0 || !holder->session)
        return;
    snprintf(holder->told, sizeof holder->told, "%s", message);
    adaps_session_close(holder->session);
    holder->session = NULL;
}

static struct adaps_stream *open_stream(struct adaps_session *session)
{
    struct adaps_stream *stream = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_stream_open(session, NULL, &stream, &err) == ADAPS_OK, "%s", err.message);
    return stream;
}

static void submit(struct adaps_stream *stream, uint64_t seed)
{
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct adaps_tensor input = input_floats(plan, inputs[0].data, inputs[0].count);
    struct adaps_error err = {0};
    ck_assert_msg(adaps_stream_submit(stream, &input, 1, seed, &err) == ADAPS_OK, "%s",
                  err.message);
    ad_testbed_tensors_free(inputs, 1);
}

static struct adaps_result *next_result(struct adaps_stream *stream, uint64_t tag)
{
    struct adaps_result *result = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_stream_wait(stream, -1, &result, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_uint_eq(adaps_result_tag(result), tag);
    return result;
}

/* The bits of a single device's answer. */
static void check_answer(struct adaps_result *result, uint64_t seed)
{
    struct adaps_tensor output = {.struct_size = sizeof output};
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct ad_tensor *expected = ad_testbed_reference(plan, inputs);
    struct adaps_error err;
    ck_assert_msg(adaps_result_status(result, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(adaps_result_output(result, 0, &output, NULL), ADAPS_OK);
    ck_assert_uint_eq(output.bytes, expected[0].count * sizeof(float));
    ck_assert_mem_eq(output.data, expected[0].data, output.bytes);
    ad_testbed_tensors_free(expected, 1);
    ad_testbed_tensors_free(inputs, 1);
    adaps_result_free(result);
}

START_TEST(waits_for_its_turn)
{
    struct holder holder = {.session = open_session(false)};
    struct adaps_session_options options = {
        .struct_size = sizeof options, .deadline = 60, .log = make_way, .log_user = &holder};
    struct adaps_session *second = NULL;
    struct adaps_error err = {0};
    ck_assert_int_eq(adaps_session_open(plan, &options, &second, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "busy: it has been in a session of the controller at "), "%s",
                  err.message);
    ck_assert_str_eq(holder.told, "");
    options.wait = -1;
    ck_assert_int_eq(adaps_session_open(plan, &options, &second, &err), ADAPS_EUSAGE);
    options.wait = 60;
    ck_assert_msg(adaps_session_open(plan, &options, &second, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(strstr(holder.told, "busy: it has been in a session of the controller at "), "%s",
                  holder.told);
    struct adaps_stream *stream = open_stream(second);
    submit(stream, 5);
    check_answer(next_result(stream, 5), 5);
    adaps_stream_close(stream);
    adaps_session_close(second);
}
END_TEST

START_TEST(stream)
{
    struct adaps_session *session = open_session(false);
    struct adaps_stream *stream = open_stream(session);
    for (uint64_t i = 0; i < 3; i++)
        submit(stream, i);
    for (uint64_t i = 3; i < 12; i++) {
        check_answer(next_result(stream, i - 3), i - 3);
        submit(stream, i);
    }
    for (uint64_t i = 9; i < 12; i++)
        check_answer(next_result(stream, i), i);
    adaps_stream_close(stream);
    adaps_session_close(session);
}
END_TEST

/* Without failover the loss of an agent is told for each that was in flight, and for later ones. */
START_TEST(loss_is_told)
{
    struct adaps_session *session = open_session(false);
    struct adaps_stream *stream = open_stream(session);
    struct adaps_error err;
    submit(stream, 0);
    check_answer(next_result(stream, 0), 0);
    ad_testbed_kill(&testbed, 1);
    submit(stream, 1);
    submit(stream, 2);
    for (uint64_t i = 1; i < 3; i++) {
        struct adaps_result *result = next_result(stream, i);
        enum adaps_status status = adaps_result_status(result, &err);
        /* The second may have come after the first was told. */
        ck_assert_msg(status == ADAPS_EAGENT || (i == 2 && status == ADAPS_EUSAGE), "%s",
                      err.message);
        ck_assert_msg(i == 2 || strstr(err.message, "'dev1'"), "%s", err.message);
        ck_assert_int_eq(adaps_result_outputs(result), 0);
        adaps_result_free(result);
    }
    adaps_stream_close(stream);
    adaps_session_close(session);
}
END_TEST

START_TEST(stream_goes_on)
{
    struct adaps_session *session = open_session(true);
    struct adaps_stream *stream = open_stream(session);
    submit(stream, 0);
    check_answer(next_result(stream, 0), 0);
    ad_testbed_kill(&testbed, 2);
    for (uint64_t i = 1; i < 4; i++)
        submit(stream, i);
    for (uint64_t i = 1; i < 4; i++)
        check_answer(next_result(stream, i), i);
    ck_assert_int_eq(adaps_session_recoveries(session), 1);
    adaps_stream_close(stream);
    adaps_session_close(session);
}
END_TEST

/* --- cancelling --- */

struct runner {
    struct adaps_session *session;
    enum adaps_status status;
};

/* Inferences until one is not done. */
static void *run_on(void *self)
{
    struct runner *runner = self;
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    struct adaps_tensor input = input_floats(plan, inputs[0].data, inputs[0].count);
    do {
        struct adaps_result *result = NULL;
        runner->status = adaps_session_infer(runner->session, &input, 1, &result, NULL);
        adaps_result_free(result);
    } while (runner->status == ADAPS_OK);
    ad_testbed_tensors_free(inputs, 1);
    return NULL;
}

static void check_usable(struct adaps_session *session, uint64_t seed)
{
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct adaps_tensor input = input_floats(plan, inputs[0].data, inputs[0].count);
    struct adaps_result *result = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_session_infer(session, &input, 1, &result, &err) == ADAPS_OK, "%s",
                  err.message);
    ad_testbed_tensors_free(inputs, 1);
    check_answer(result, seed);
}

/* Cancelled while the agents work; then the session is used again, which opens it anew. */
static void cancel_run(bool failover)
{
    struct runner runner = {.session = open_session(failover)};
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, run_on, &runner), 0);
        int64_t before = ad_testbed_cpu_ns(&testbed, 1);
        ad_testbed_await_work(&testbed, 1, before, 3000000);
        while (pthread_tryjoin_np(thread, NULL) != 0)
            adaps_session_cancel(runner.session);
        ck_assert_int_eq(runner.status, ADAPS_ECANCELLED);
        check_usable(runner.session, (uint64_t)i);
    }
    ck_assert_int_eq(adaps_session_recoveries(runner.session), 0);
    adaps_session_close(runner.session);
}

START_TEST(cancel_a_run)
{
    cancel_run(false);
}
END_TEST

START_TEST(cancel_with_failover)
{
    cancel_run(true);
}
END_TEST

START_TEST(cancel_a_stream)
{
    struct adaps_session *session = open_session(false);
    struct adaps_stream *stream = open_stream(session);
    enum adaps_status status = ADAPS_OK;
    while (status != ADAPS_ECANCELLED) { /* on a busy machine they may be done before that */
        for (uint64_t i = 0; i < 3; i++)
            submit(stream, i);
        adaps_session_cancel(session);
        status = ADAPS_OK;
        for (uint64_t i = 0; i < 3; i++) {
            struct adaps_result *result = next_result(stream, i);
            enum adaps_status before = status;
            status = adaps_result_status(result, NULL);
            ck_assert(status == ADAPS_ECANCELLED || (status == ADAPS_OK && before == ADAPS_OK));
            adaps_result_free(result);
        }
    }
    for (uint64_t i = 3; i < 6; i++)
        submit(stream, i);
    for (uint64_t i = 3; i < 6; i++)
        check_answer(next_result(stream, i), i);
    submit(stream, 6); /* closing ends it */
    adaps_stream_close(stream);
    check_usable(session, 7);
    adaps_session_close(session);
}
END_TEST

/* --- adaptation --- */

struct adapted {
    struct adaps_adaptation latest;
    char device[64];
    atomic_int told, taken;
};

static void note_adaptation(void *user, const struct adaps_adaptation *one)
{
    struct adapted *adapted = user;
    adapted->latest = *one;
    snprintf(adapted->device, sizeof adapted->device, "%s", one->device);
    adapted->taken += one->taken;
    adapted->told++;
}

static void start_one_slow(void)
{
    ad_testbed_init(&testbed);
    testbed.speed_after[1] = "10:0.05";
    ad_testbed_start(&testbed, 3, NULL);
    plan = ad_testbed_heavy_plan(3, 6, SANITIZED ? 24 : 48, 16);
    ad_testbed_address(&testbed, &plan);
}

/* An agent becomes slow in a stream, which goes on with another plan, and says so with figures.
 * Agents with sanitizers are too slow to emulate anything: whether there is another plan depends on
 * the machine. */
START_TEST(stream_adapts)
{
    struct adapted adapted = {.told = 0};
    const struct adaps_session_options options = {.struct_size = sizeof options,
                                                  .deadline = 60,
                                                  .adapt = true,
                                                  .horizon = 1000000,
                                                  .adaptation = note_adaptation,
                                                  .adaptation_user = &adapted};
    struct adaps_session *session = NULL;
    struct adaps_error err = {0};
    uint64_t n = 0;
    ck_assert_msg(adaps_session_open(plan, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    struct adaps_stream *stream = open_stream(session);
    while (SANITIZED ? n < 60 : adapted.taken == 0) {
        submit(stream, n);
        if (n % 16 == 0)
            check_answer(next_result(stream, n), n);
        else
            adaps_result_free(next_result(stream, n));
        n++;
    }
    for (uint64_t i = n; i < n + 5; i++)
        submit(stream, i);
    for (uint64_t i = n; i < n + 5; i++)
        check_answer(next_result(stream, i), i);
    adaps_stream_close(stream);
    const struct adaps_adaptation *one = &adapted.latest;
    if (adapted.taken > 0) {
        ck_assert_uint_eq(one->struct_size, sizeof *one);
        ck_assert_int_eq(one->left, 1000000);
        ck_assert(strncmp(adapted.device, "dev", 3) == 0 && one->inference > 0);
        ck_assert(one->factor > 0 && one->before > 0 && one->plan_ns > 0 && one->cost_ns > 0);
        ck_assert(!one->taken ||
                  (one->new_ns < one->old_ns && one->push_ns > 0 && one->open_ns > 0));
    }
    adaps_session_close(session);
}
END_TEST

/* A caller that was built before there was adaptation has a smaller struct; a horizon is for
 * sessions that adapt. */
START_TEST(adaptation_options)
{
    struct adaps_session_options options = {.struct_size =
                                                offsetof(struct adaps_session_options, adapt),
                                            .deadline = 60,
                                            .horizon = -7};
    struct adaps_session *session = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_session_open(plan, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    check_usable(session, 1);
    adaps_session_close(session);
    options.struct_size = sizeof options;
    ck_assert_int_eq(adaps_session_open(plan, &options, &session, &err), ADAPS_EUSAGE);
    ck_assert_str_eq(err.message, "horizon -7: inferences, of a session that adapts");
    options.horizon = 7;
    ck_assert_int_eq(adaps_session_open(plan, &options, &session, &err), ADAPS_EUSAGE);
    options.adapt = true;
    ck_assert_msg(adaps_session_open(plan, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    check_usable(session, 2);
    adaps_session_close(session);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_agents");
    TCase *tc = tcase_create("agents");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, start_three, stop_three);
    tcase_add_test(tc, waits_for_its_turn);
    tcase_add_test(tc, stream);
    tcase_add_test(tc, loss_is_told);
    tcase_add_test(tc, stream_goes_on);
    tcase_add_test(tc, cancel_a_run);
    tcase_add_test(tc, cancel_with_failover);
    tcase_add_test(tc, cancel_a_stream);
    tcase_add_test(tc, adaptation_options);
    suite_add_tcase(suite, tc);
    TCase *slow = tcase_create("one that becomes slow");
    tcase_set_timeout(slow, 300);
    tcase_add_checked_fixture(slow, start_one_slow, stop_three);
    tcase_add_test(slow, stream_adapts);
    suite_add_tcase(suite, slow);
    return run_suite(suite);
}
