/* Push, sessions and inferences on real agents over loopback: the answers of one device, bit for
 * bit; weights sent once; bad input named; keys. */
#include "support/agents_fixture.h"
#include "base/file.h"
#include "base/mem.h"
#include "wire/keys.h"
#include "control/remote.h"
#include "control/session_internal.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "support/run_floats.h"
#include "support/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ad_session_options usual = {.deadline_s = 60};
static struct ad_testbed testbed;

static void start_four(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 4, NULL);
}

static void stop_bed(void)
{
    ad_testbed_fini(&testbed);
}

static struct ad_session *open_session(const struct adaps_plan *plan)
{
    struct ad_session *session = NULL;
    struct adaps_error err = {0};
    enum adaps_status status = ad_session_open(plan, &usual, &session, &err);
    ck_assert_msg(status == ADAPS_OK, "open: %s", err.message);
    return session;
}

/* Makes *plan one of the testbed's addresses. */
static void push_and_run(struct adaps_plan **plan, int runs)
{
    ad_testbed_address(&testbed, plan);
    ad_testbed_push(*plan);
    struct ad_session *session = open_session(*plan);
    for (int i = 0; i < runs; i++)
        ad_testbed_check_run(session, *plan, (uint64_t)i + 1);
    ad_session_close(session);
}

START_TEST(random_networks)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct adaps_plan *plan = ad_fixture_plan(seed);
        push_and_run(&plan, 2);
        adaps_plan_free(plan);
    }
}
END_TEST

START_TEST(bands_on_two_to_four)
{
    for (int n = 2; n <= 4; n++) {
        struct adaps_plan *plan = ad_fixture_banded(n);
        ck_assert_int_gt(plan->schedule.messages, 0);
        push_and_run(&plan, 12);
        adaps_plan_free(plan);
    }
}
END_TEST

/* LeNet-like: convolutions, pools, two dense layers. */
static struct adaps_plan *lenet_plan(int n)
{
    struct ad_builder b;
    struct ad_cluster cluster;
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ad_build_init(&b, 3);
    int x = ad_build_input(&b, 1, 28, 28, 1);
    x = ad_build_conv(&b, x, ad_window_square(5, 1, 1, 2, 2), 1, 6);
    x = ad_build_pool(&b, AD_OP_MAXPOOL, x, ad_window_square(2, 2, 1, 0, 0));
    x = ad_build_conv(&b, x, ad_window_square(5, 1, 1, 0, 0), 1, 16);
    x = ad_build_pool(&b, AD_OP_AVGPOOL, x, ad_window_square(2, 2, 1, 0, 0));
    x = ad_build_fc(&b, x, 84);
    x = ad_build_fc(&b, x, 10);
    ad_build_output(&b, ad_build_softmax(&b, x));
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_cluster(&cluster, n);
    return ad_fixture_make(graph, &cluster, "edgeflow");
}

START_TEST(statistics)
{
    struct adaps_plan *plan = lenet_plan(3);
    struct ad_device_stats devices[3];
    struct ad_run_stats stats = {.devices = devices};
    struct ad_tensor output;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    ad_testbed_check_run(session, plan, 1);
    ck_assert_int_eq(ad_session_run(session, inputs, &output, &stats, &err), ADAPS_OK);
    ck_assert_int_gt(stats.latency_ns, 0);
    ck_assert_int_ge(stats.wall_ns, stats.latency_ns);
    uint64_t bytes = 0, messages = 0;
    for (int d = 0; d < 3; d++) {
        bytes += devices[d].bytes_sent;
        messages += devices[d].messages_sent;
        ck_assert_int_ge(devices[d].total_ns, devices[d].compute_ns + devices[d].wait_ns);
        ck_assert(plan->schedule.programs[d].nsteps == 0 || devices[d].compute_ns > 0);
    }
    ck_assert_uint_eq(bytes, (uint64_t)plan->schedule.bytes);
    ck_assert_uint_eq(messages, (uint64_t)plan->schedule.messages);
    ad_tensor_fini(&output);
    ad_testbed_tensors_free(inputs, 1);
    ad_session_close(session);

    struct ad_agent_status status;
    ck_assert_int_eq(ad_agent_query(&plan->cluster.devices[0], &usual, &status, &err), ADAPS_OK);
    ck_assert_str_eq(status.name, "agent0");
    ck_assert_str_eq(status.version, adaps_version());
    ck_assert(!status.busy);
    ck_assert_uint_eq(status.inferences, 2);
    ck_assert_int_eq(status.cached_blobs, plan->slices[0].count);
    ck_assert_int_eq(status.cached_plans, 1);
    ck_assert_uint_gt(status.cache_bytes, 0);
    ck_assert_uint_gt(status.memory_total, status.memory_available);
    ck_assert_int_ge(status.cores, 1);
    ck_assert(status.speed == 1);
    ck_assert_int_gt(status.rtt_ns, 0);
    ck_assert_int_gt(status.uptime_ns, status.rtt_ns);
    adaps_plan_free(plan);
}
END_TEST

/* When messages were handed over and there, in order, with each answer of a session that asks for
 * that; and the agents' clocks, which are this machine's. */
START_TEST(times_of_messages)
{
    struct adaps_plan *plan = lenet_plan(3);
    struct ad_session_options options = {.deadline_s = 60, .message_times = true};
    struct ad_session *session;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ck_assert_int_eq(ad_session_open(plan, &options, &session, &err), ADAPS_OK);
    for (uint64_t run = 1; run <= 3; run++) {
        ad_testbed_check_run(session, plan, run);
        const struct ad_moves *moves = session->flights[run % AD_FLIGHTS_MOST].moves;
        for (int d = 0; d < 3; d++) {
            const struct ad_program *program = &plan->schedule.programs[d];
            int64_t last = 0;
            size_t at = 0;
            ck_assert_uint_gt(ad_moves_count(program), 0);
            ck_assert_uint_eq(moves[d].count, ad_moves_count(program));
            ck_assert_int_gt(moves[d].begin_ns, 0);
            for (int i = 0; i < program->nsteps; i++) {
                if (program->steps[i].kind == AD_STEP_COMPUTE)
                    continue;
                int64_t ns = moves[d].ns[at++];
                ck_assert(ns >= last || (ns == 0 && program->steps[i].kind == AD_STEP_RECV));
                last = ns > 0 ? ns : last;
            }
            ck_assert_int_gt(last, 0);
        }
    }
    for (int i = 0; i < session->nremotes; i++) {
        const struct ad_remote *remote = &session->remotes[i];
        int64_t offset, uncertainty;
        ck_assert_uint_gt(remote->nclocks, 0);
        ck_assert_uint_le(remote->nclocks, AD_CLOCK_KEPT);
        ad_clock_estimate(remote->clocks, (int)remote->nclocks, &offset, &uncertainty);
        ck_assert_int_le(llabs(offset), uncertainty);
    }
    ad_session_close(session);
    session = open_session(plan); /* one that does not ask */
    ad_testbed_check_run(session, plan, 1);
    ck_assert_ptr_null(session->flights[1].moves);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

static enum adaps_status begin(struct ad_session *session, const struct adaps_plan *plan,
                               uint64_t seed, struct adaps_error *err)
{
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    enum adaps_status status = ad_session_begin(session, inputs, err);
    ad_testbed_tensors_free(inputs, plan->graph->ninputs);
    return status;
}

static void finish(struct ad_session *session, const struct adaps_plan *plan, uint64_t seed)
{
    struct adaps_error err = {0};
    struct ad_device_stats devices[3];
    struct ad_run_stats stats = {.devices = devices};
    struct ad_tensor *outputs = ad_calloc((size_t)plan->graph->noutputs, sizeof *outputs);
    enum adaps_status status = ad_session_finish(session, outputs, &stats, &err);
    ck_assert_msg(status == ADAPS_OK, "finish: %s", err.message);
    ck_assert(stats.latency_ns > 0 && stats.wall_ns >= stats.latency_ns);
    ck_assert_uint_eq(devices[0].bytes_sent + devices[1].bytes_sent + devices[2].bytes_sent,
                      (uint64_t)plan->schedule.bytes);
    ad_testbed_check_outputs(plan, seed, outputs);
}

/* As many inferences in flight as there can be, of different inputs, many times over. */
START_TEST(several_in_flight)
{
    struct adaps_plan *plan = lenet_plan(3);
    struct adaps_error err = {0};
    struct ad_tensor output;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan);
    ck_assert_int_eq(ad_session_finish(session, &output, NULL, &err), ADAPS_EUSAGE);
    uint64_t begun = 0, done = 0;
    while (done < 40) {
        while (begun < 40 && begun - done < AD_FLIGHTS_MOST)
            ck_assert_msg(begin(session, plan, ++begun, &err) == ADAPS_OK, "%s", err.message);
        if (begun - done == AD_FLIGHTS_MOST) {
            ck_assert_int_eq(begin(session, plan, 1, &err), ADAPS_EUSAGE);
            struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
            ck_assert_int_eq(ad_session_run(session, inputs, &output, NULL, &err), ADAPS_EUSAGE);
            ad_testbed_tensors_free(inputs, plan->graph->ninputs);
        }
        for (int i = 0; i < 3 && done < begun; i++)
            finish(session, plan, ++done);
    }
    ad_testbed_check_run(session, plan, 41);
    ck_assert_int_eq(begin(session, plan, 42, &err), ADAPS_OK); /* closed over it */
    ck_assert_int_eq(begin(session, plan, 43, &err), ADAPS_OK);
    ad_session_close(session);
    session = open_session(plan);
    ad_testbed_check_run(session, plan, 44);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* Streams: every strategy's, with as many inferences in flight as the plan has and with more, and
 * with buffers for all of them or for some; each answer is its own input's, whatever the turn. */
START_TEST(streams)
{
    static const char *const strategies[] = {"replicas", "pipeline", "defer", "auto"};
    struct adaps_error err = {0};
    struct ad_cluster cluster;
    ad_fixture_cluster(&cluster, 4);
    struct adaps_plan *plan =
        ad_fixture_make_stream(ad_fixture_graph((uint64_t)_i + 70), &cluster, strategies[_i % 4]);
    if (_i / 4 % 3 > 0) {
        plan->stream.frames = 7;
        ad_fixture_buffer(plan, _i / 4 % 3);
    }
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan);
    for (int spare = 0; spare <= 5; spare += 5) {
        uint64_t begun = 0, done = 0, most = (uint64_t)(plan->stream.frames + spare);
        while (done < 60) {
            while (begun < 60 && begun - done < most)
                ck_assert_msg(begin(session, plan, ++begun, &err) == ADAPS_OK, "%s", err.message);
            struct ad_tensor *outputs = ad_calloc((size_t)plan->graph->noutputs, sizeof *outputs);
            enum adaps_status status = ad_session_finish(session, outputs, NULL, &err);
            ck_assert_msg(status == ADAPS_OK, "%s, %" PRIu64 ": %s", plan->strategy, done,
                          err.message);
            ad_testbed_check_outputs(plan, ++done, outputs);
        }
    }
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* --- what is sent --- */

/* The first file of a folder of the testbed, or an empty string. */
static const char *some_file(const char *folder)
{
    static char path[900];
    char base[512];
    snprintf(base, sizeof base, "%s", ad_testbed_path(&testbed, folder));
    DIR *dir = opendir(base);
    ck_assert_ptr_nonnull(dir);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
    closedir(dir);
    return path;
}

START_TEST(weights_travel_once)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct stat st;
    ad_testbed_address(&testbed, &plan);
    ck_assert_uint_gt(ad_testbed_push(plan), 0);
    ck_assert_uint_eq(ad_testbed_push(plan), 0);
    /* one blob gone: exactly this one is sent */
    const char *lost = some_file("cache1/blobs");
    ck_assert_int_eq(stat(lost, &st), 0);
    ck_assert_int_eq(unlink(lost), 0);
    ck_assert_uint_eq(ad_testbed_push(plan), (uint64_t)st.st_size);
    ck_assert_uint_eq(ad_testbed_push(plan), 0);
    ck_assert_str_eq(some_file("cache1/tmp"), "");
    adaps_plan_free(plan);
}
END_TEST

START_TEST(large_weights)
{
    /* several pieces per blob, the last one short */
    struct ad_builder b;
    struct ad_cluster cluster;
    struct ad_graph *graph;
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 1, 9, 9, 7);
    x = ad_build_fc(&b, x, 4001);
    ad_build_output(&b, x);
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    ad_fixture_cluster(&cluster, 2);
    struct adaps_plan *plan = ad_fixture_make(graph, &cluster, "edgeflow");
    push_and_run(&plan, 1);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(damaged_cache)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session *session;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    const char *path = some_file("cache1/blobs");
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    int byte = fgetc(file);
    rewind(file);
    fputc(byte ^ 1, file);
    fclose(file);
    ck_assert_int_eq(ad_session_open(plan, &usual, &session, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "agent 'dev1'") && strstr(err.message, "damaged"), "%s",
                  err.message);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_uint_gt(ad_testbed_push(plan), 0);
    push_and_run(&plan, 1);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(plan_not_pushed)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session *session;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ck_assert_int_eq(ad_session_open(plan, &usual, &session, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "agent 'dev") && strstr(err.message, "push it first"), "%s",
                  err.message); /* either: whichever is sooner */
    push_and_run(&plan, 1);     /* the agents are free */
    adaps_plan_free(plan);
}
END_TEST

START_TEST(cache_limit)
{
    struct ad_agent_options small = {.speed = 1, .threads = 1, .cache_limit = 60000};
    struct ad_push_report reports[2];
    struct adaps_error err;
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, &small);
    struct adaps_plan *big = ad_testbed_heavy_plan(2, 2, 16, 64);
    ad_testbed_address(&testbed, &big);
    const struct ad_weight_source weights = ad_weights_of_graph(big->graph);
    ck_assert_int_eq(ad_push(big, &usual, &weights, reports, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "--cache-limit"), "%s", err.message);
    adaps_plan_free(big);
    /* many that fit one by one: the older ones go */
    for (int i = 0; i < 6; i++) {
        struct adaps_plan *plan = ad_testbed_heavy_plan(2, 3, 16, 16 - i);
        struct ad_agent_status status;
        push_and_run(&plan, 1);
        ck_assert_int_eq(ad_agent_query(&plan->cluster.devices[1], &usual, &status, &err),
                         ADAPS_OK);
        ck_assert_uint_le(status.cache_bytes, 60000);
        adaps_plan_free(plan);
    }
    ad_testbed_fini(&testbed);
}
END_TEST

/* Pings agents in a session of that number; they answer. */
static void ping_agents(uint64_t session, int n)
{
    void *context = zmq_ctx_new();
    for (int i = 0; i < n; i++) {
        void *dealer = zmq_socket(context, ZMQ_DEALER);
        struct ad_frame frame = {.type = AD_FRAME_PING, .session = session};
        zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
        int at_once = 0;
        zmq_setsockopt(dealer, ZMQ_LINGER, &at_once, sizeof at_once);
        ck_assert_int_eq(zmq_connect(dealer, testbed.address[i]), 0);
        ck_assert_int_eq(ad_wire_message_send(dealer, NULL, &frame, NULL, NULL, 0, NULL), ADAPS_OK);
        ck_assert_int_eq(zmq_poll(&item, 1, -1), 1);
        zmq_close(dealer);
    }
    zmq_ctx_term(context);
}

/* A controller that opens a session and does nothing does not keep others out, though it is alive.
 */
START_TEST(idle_session)
{
    struct ad_agent_options short_of_patience = {.speed = 1, .threads = 1, .idle_timeout_s = 0.5};
    struct ad_session *first, *second = NULL;
    struct adaps_error err = {0};
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, &short_of_patience);
    struct adaps_plan *plan = ad_fixture_banded(2);
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    first = open_session(plan);
    ad_testbed_check_run(first, plan, 1);
    while (!second) { /* it is idle for less at first */
        ping_agents(first->id, 2);
        if (ad_session_open(plan, &usual, &second, &err) != ADAPS_OK)
            ck_assert_msg(strstr(err.message, "busy"), "%s", err.message);
    }
    ad_testbed_check_run(second, plan, 2);
    ad_session_close(first); /* that is another one than the agents' by now */
    ad_testbed_check_run(second, plan, 3);
    ad_session_close(second);
    adaps_plan_free(plan);
    ad_testbed_fini(&testbed);
}
END_TEST

/* Unless it is given longer. */
START_TEST(session_in_use)
{
    struct ad_session *second;
    struct adaps_error err;
    struct adaps_plan *plan = ad_fixture_banded(2);
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *first = open_session(plan);
    ck_assert_int_eq(ad_session_open(plan, &usual, &second, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(
        err.message, "busy: it has been in a session of the controller at 127.0.0.1 (without keys) "
                     "for "));
    ad_testbed_check_run(first, plan, 1);
    ad_session_close(first);
    adaps_plan_free(plan);
}
END_TEST

/* --- bad input --- */

START_TEST(wrong_shapes)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_tensor wrong, output;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan);
    int64_t dims[4] = {1, 8, 32, 23};
    ck_assert_int_eq(ad_tensor_init(&wrong, 4, dims, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_session_run(session, &wrong, &output, NULL, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "1x8x32x23") && strstr(err.message, "1x8x32x24"), "%s",
                  err.message);
    ad_tensor_fini(&wrong);
    ad_testbed_check_run(session, plan, 1); /* nothing has happened to the session */
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* Sends a plan by hand; the agent's answer. */
static enum adaps_status send_raw_plan(const struct ad_device *device, const void *data,
                                       size_t size, struct adaps_error *err)
{
    struct ad_remote remote;
    struct ad_deadline deadline;
    struct ad_keys none = {0};
    void *context = zmq_ctx_new();
    struct ad_digest digest = ad_plan_digest(data, size);
    Adaps__Wire__Plan body = ADAPS__WIRE__PLAN__INIT;
    body.digest.data = digest.bytes;
    body.digest.len = sizeof digest.bytes;
    struct ad_remote_options options = {.context = context, .keys = &none};
    ad_deadline_set(&deadline, INT64_MAX);
    ck_assert_int_eq(ad_remote_init(&remote, 0, device, &options, &deadline, err), ADAPS_OK);
    ck_assert_int_eq(ad_remote_send(&remote, AD_FRAME_PLAN, 0, &body.base, data, size, err),
                     ADAPS_OK);
    enum adaps_status status =
        ad_remote_await(&remote, AD_FRAME_PLANNED, &deadline, AD_WAIT_ANSWER, err);
    ad_remote_fini(&remote);
    zmq_ctx_term(context);
    return status;
}

START_TEST(garbage_plans)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct adaps_error err;
    struct ad_rng rng = {77};
    void *data;
    size_t size;
    ad_testbed_address(&testbed, &plan);
    ck_assert_int_eq(ad_plan_pack(plan, &data, &size, &err), ADAPS_OK);
    uint8_t *bytes = data;
    for (int i = 0; i < 20; i++) {
        size_t at = ad_rng_below(&rng, (uint32_t)size);
        uint8_t old = bytes[at];
        bytes[at] ^= (uint8_t)(1 + ad_rng_below(&rng, 255));
        ck_assert_int_eq(send_raw_plan(&plan->cluster.devices[0], data, size, &err), ADAPS_EINPUT);
        ck_assert_msg(strstr(err.message, "agent 'dev0'"), "%s", err.message);
        bytes[at] = old;
    }
    ck_assert_int_eq(send_raw_plan(&plan->cluster.devices[0], "garbage", 7, &err), ADAPS_EINPUT);
    ck_assert_int_eq(send_raw_plan(&plan->cluster.devices[0], data, size / 2, &err), ADAPS_EINPUT);
    ck_assert_int_eq(send_raw_plan(&plan->cluster.devices[0], data, size, &err), ADAPS_OK);
    ad_free(data);
    push_and_run(&plan, 1);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(one_session_at_a_time)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session *second;
    struct ad_agent_status status;
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *first = open_session(plan);
    ck_assert_int_eq(ad_session_open(plan, &usual, &second, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "busy"), "%s", err.message);
    ck_assert_int_eq(ad_agent_query(&plan->cluster.devices[1], &usual, &status, &err), ADAPS_OK);
    ck_assert(status.busy);
    ad_testbed_push(plan);                /* needs no session */
    ad_testbed_check_run(first, plan, 1); /* undisturbed */
    ad_session_close(first);
    for (int i = 0; i < 5; i++) {
        struct ad_session *again = open_session(plan);
        ad_testbed_check_run(again, plan, (uint64_t)i);
        ad_session_close(again);
    }
    adaps_plan_free(plan);
}
END_TEST

START_TEST(nobody_there)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session *session;
    struct ad_session_options quick = {.deadline_s = 3};
    struct adaps_error err;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ad_testbed_kill(&testbed, 1);
    ck_assert_int_eq(ad_session_open(plan, &quick, &session, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "agent 'dev1' (tcp://127.0.0.1:"), "%s", err.message);
    ck_assert_msg(strstr(err.message, "cannot connect"), "%s", err.message);
    snprintf(plan->cluster.devices[1].address, 128, "%s", "");
    ck_assert_int_eq(ad_session_open(plan, &quick, &session, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "no address"), "%s", err.message);
    adaps_plan_free(plan);
}
END_TEST

/* --- the public interface --- */

START_TEST(public_sessions)
{
    struct adaps_plan *plan = lenet_plan(3);
    struct adaps_session *agents, *local;
    struct adaps_error err;
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 4);
    float a[10], b[10];
    ad_testbed_address(&testbed, &plan);
    const struct adaps_session_options there = {.struct_size = sizeof there, .deadline = 60};
    const struct adaps_session_options here = {.struct_size = sizeof here, .local = true};
    const struct adaps_session_options late = {.struct_size = sizeof late, .deadline = -1};
    enum adaps_status status = adaps_session_open(plan, &there, &agents, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    status = adaps_session_open(plan, &here, &local, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < 3; i++) {
        inputs[0].data[i] += 0.5f;
        status = run_floats(agents, inputs[0].data, 784, a, 10, &err);
        ck_assert_msg(status == ADAPS_OK, "%s", err.message);
        status = run_floats(local, inputs[0].data, 784, b, 10, &err);
        ck_assert_msg(status == ADAPS_OK, "%s", err.message);
        ck_assert_mem_eq(a, b, sizeof a);
    }
    ck_assert_int_eq(run_floats(agents, inputs[0].data, 783, a, 10, &err), ADAPS_EINPUT);
    ck_assert_int_eq(run_floats(local, inputs[0].data, 784, a, 9, &err), ADAPS_EINPUT);
    ck_assert_int_eq(adaps_session_run(NULL, NULL, 0, NULL, 0, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_session_open(plan, &late, &local, &err), ADAPS_EUSAGE);
    adaps_session_close(agents);
    adaps_session_close(local);
    adaps_session_close(NULL);
    ad_testbed_tensors_free(inputs, 1);
    adaps_plan_free(plan);
}
END_TEST

/* --- who may listen and connect --- */

/* A plan for two agents that should have these keys. */
static struct adaps_plan *keyed_plan(const char *first, const char *second)
{
    const char *keys[] = {first, second};
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_cluster cluster;
    ad_testbed_address(&testbed, &plan);
    ck_assert_int_eq(ad_cluster_copy(&plan->cluster, &cluster, NULL), ADAPS_OK);
    for (int d = 0; d < 2; d++)
        snprintf(cluster.devices[d].key, sizeof cluster.devices[d].key, "%.*s", AD_KEY_BYTES - 1,
                 keys[d]);
    ck_assert_int_eq(ad_plan_readdress(plan, &cluster, &plan, NULL), ADAPS_OK);
    ad_cluster_fini(&cluster);
    return plan;
}

static void push_fails(const char *first, const char *second, const struct ad_session_options *with,
                       enum adaps_status status, const char *words)
{
    struct ad_push_report reports[2];
    struct adaps_error err;
    struct adaps_plan *plan = keyed_plan(first, second);
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    ck_assert_int_eq(ad_push(plan, with, &weights, reports, &err), status);
    ck_assert_msg(strstr(err.message, words), "%s", err.message);
    adaps_plan_free(plan);
}

START_TEST(agents_want_keys)
{
    static const char *const open_to_all[] = {"tcp://0.0.0.0:*", "tcp://*:*", "tcp://[::]:0"};
    struct ad_agent_options options = {.speed = 1, .ready_fd = -1};
    struct adaps_error err;
    for (size_t i = 0; i < 3; i++) {
        options.listen = open_to_all[i];
        ck_assert_int_eq(ad_agent_run(&options, &err), ADAPS_EUSAGE);
        ck_assert_msg(strstr(err.message, "adaps keygen"), "%s", err.message);
    }
    options.listen = "tcp://127.0.0.1:*";
    options.key_file = "key";
    ck_assert_int_eq(ad_agent_run(&options, &err), ADAPS_EUSAGE);
    options.key_file = NULL;
    options.speed = 0;
    ck_assert_int_eq(ad_agent_run(&options, &err), ADAPS_EUSAGE);
    options.speed = 1;
    options.listen = "ipc:///somewhere";
    ck_assert_int_eq(ad_agent_run(&options, &err), ADAPS_EUSAGE);
}
END_TEST

static void make_keys(const char *name, struct ad_keys *keys)
{
    struct adaps_error err;
    ck_assert_int_eq(ad_keys_create(ad_testbed_path(&testbed, name), false, keys, &err), ADAPS_OK);
}

START_TEST(keys)
{
    struct ad_keys agent, friend, stranger;
    struct adaps_error err;
    struct ad_session *session;
    struct ad_push_report reports[2];
    char agent_file[512], allow_file[512], friend_file[512], stranger_file[512];
    ad_testbed_init(&testbed);
    make_keys("agent", &agent);
    make_keys("friend", &friend);
    make_keys("stranger", &stranger);
    snprintf(agent_file, sizeof agent_file, "%s", ad_testbed_path(&testbed, "agent"));
    snprintf(allow_file, sizeof allow_file, "%s", ad_testbed_path(&testbed, "allow"));
    snprintf(friend_file, sizeof friend_file, "%s", ad_testbed_path(&testbed, "friend"));
    snprintf(stranger_file, sizeof stranger_file, "%s", ad_testbed_path(&testbed, "stranger"));
    ck_assert_int_eq(ad_file_replace(allow_file, friend.public, 40, &err), ADAPS_OK);
    struct ad_agent_options options = {
        .speed = 1, .threads = 1, .key_file = agent_file, .allow_file = allow_file};
    ad_testbed_start(&testbed, 2, &options);
    struct adaps_plan *plan = keyed_plan(agent.public, agent.public);
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);

    struct ad_session_options with = {.deadline_s = 60, .key_file = friend_file};
    enum adaps_status status = ad_push(plan, &with, &weights, reports, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    status = ad_session_open(plan, &with, &session, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    for (uint64_t i = 0; i < 5; i++)
        ad_testbed_check_run(session, plan, i);

    /* while the session is open: others are refused, and at once */
    with.key_file = stranger_file;
    ck_assert_int_eq(ad_push(plan, &with, &weights, reports, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "does not admit"), "%s", err.message);
    /* an agent that is not who it should be */
    with.key_file = friend_file;
    with.deadline_s = 3;
    push_fails(agent.public, stranger.public, &with, ADAPS_EAGENT, "agent 'dev1'");
    /* no keys at all */
    with.deadline_s = 60;
    push_fails("", stranger.public, &with, ADAPS_EAGENT, "it wants keys");
    /* none of our own */
    setenv("XDG_CONFIG_HOME", testbed.dir, 1);
    with.key_file = NULL;
    push_fails(agent.public, stranger.public, &with, ADAPS_EUSAGE, "adaps keygen");

    ad_testbed_check_run(session, plan, 9);
    ad_session_close(session);
    adaps_plan_free(plan);
    ad_testbed_fini(&testbed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *four = tcase_create("four agents"), *own = tcase_create("other agents");
    tcase_set_timeout(four, 120);
    tcase_set_timeout(own, 60);
    tcase_add_checked_fixture(four, start_four, stop_bed);
    tcase_add_test(four, random_networks);
    tcase_add_test(four, bands_on_two_to_four);
    tcase_add_test(four, statistics);
    tcase_add_test(four, times_of_messages);
    tcase_add_test(four, several_in_flight);
    tcase_add_loop_test(four, streams, 0, 12);
    tcase_add_test(four, weights_travel_once);
    tcase_add_test(four, large_weights);
    tcase_add_test(four, damaged_cache);
    tcase_add_test(four, plan_not_pushed);
    tcase_add_test(four, session_in_use);
    tcase_add_test(four, wrong_shapes);
    tcase_add_test(four, garbage_plans);
    tcase_add_test(four, one_session_at_a_time);
    tcase_add_test(four, nobody_there);
    tcase_add_test(four, public_sessions);
    tcase_add_test(own, cache_limit);
    tcase_add_test(own, idle_session);
    tcase_add_test(own, agents_want_keys);
    tcase_add_test(own, keys);
    suite_add_tcase(suite, four);
    suite_add_tcase(suite, own);
    return run_suite(suite);
}
