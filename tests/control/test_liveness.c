/* Who is alive: neither what is large, nor what is far, nor a pause of this process makes an agent
 * lost; and what an agent answers is bounded. */
#include "base/clock.h"
#include "base/mem.h"
#include "control/remote.h"
#include "support/agents_fixture.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/slow_proxy.h"
#include "wire/endpoint.h"
#include "wire/socket.h"
#include "wire/wire.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct ad_testbed testbed;
static struct adaps_error err;

static void says(const char *word)
{
    ck_assert_msg(strstr(err.message, word), "'%s' does not say '%s'", err.message, word);
}

static void pass_time(int64_t ns)
{
    struct timespec little = {.tv_nsec = 10000000};
    for (int64_t until = ad_clock_ns() + ns; ad_clock_ns() < until;)
        nanosleep(&little, NULL);
}

/* --- agents that lie --- */

/* A socket that answers as an agent would, but for what `lie` does. */
struct liar {
    pthread_t thread;
    void *context, *router;
    char endpoint[AD_ENDPOINT_BYTES];
    /* Answers; false: as an agent would. */
    bool (*lie)(struct liar *liar, struct ad_wire_message *message);
    atomic_bool quit;
    atomic_int blobs;   /* pieces that came */
    atomic_int unheard; /* answers that nobody took */
};

static void answer(struct liar *liar, struct ad_wire_message *message, int type,
                   const ProtobufCMessage *body, const void *raw, size_t size)
{
    struct ad_frame frame = message->frame;
    frame.type = (uint16_t)type;
    if (ad_wire_message_send(liar->router, &message->route, &frame, body, raw, size, NULL) !=
        ADAPS_OK)
        liar->unheard++;
}

static void welcome(struct liar *liar, struct ad_wire_message *message, size_t extra)
{
    Adaps__Wire__Welcome body = ADAPS__WIRE__WELCOME__INIT;
    void *raw = extra ? ad_calloc(extra, 1) : NULL;
    body.name = body.version = body.machine = body.cpu = ad_protobuf_borrow("liar");
    answer(liar, message, AD_FRAME_WELCOME, &body.base, raw, extra);
    ad_free(raw);
}

static void be_honest(struct liar *liar, struct ad_wire_message *message)
{
    Adaps__Wire__Where where = ADAPS__WIRE__WHERE__INIT;
    switch (message->frame.type) {
    case AD_FRAME_HELLO:
        welcome(liar, message, 0);
        break;
    case AD_FRAME_PING:
        answer(liar, message, AD_FRAME_PONG, &where.base, NULL, 0);
        break;
    case AD_FRAME_BLOB:
        liar->blobs++;
        answer(liar, message, AD_FRAME_STORED, NULL, NULL, 0);
        break;
    default:
        answer(liar, message, AD_FRAME_PLANNED, NULL, NULL, 0);
        break;
    }
}

static void *lie_all_the_time(void *self)
{
    struct liar *liar = self;
    struct ad_wire_message message;
    ad_wire_message_init(&message);
    while (!liar->quit) {
        zmq_pollitem_t item = {.socket = liar->router, .events = ZMQ_POLLIN};
        zmq_poll(&item, 1, 20);
        while (ad_wire_message_recv(liar->router, true, &message, NULL) == ADAPS_OK)
            if (!liar->lie(liar, &message))
                be_honest(liar, &message);
    }
    ad_wire_message_fini(&message);
    return NULL;
}

static void start_liar(struct liar *liar,
                       bool (*lie)(struct liar *liar, struct ad_wire_message *message))
{
    memset(liar, 0, sizeof *liar);
    liar->lie = lie;
    liar->context = zmq_ctx_new();
    ck_assert_int_eq(
        ad_socket_new(liar->context, ZMQ_ROUTER, AD_CONTROL_MAX_BYTES, &liar->router, &err),
        ADAPS_OK);
    ck_assert_int_eq(ad_socket_bind(liar->router, "tcp://127.0.0.1:*", liar->endpoint, &err),
                     ADAPS_OK);
    ck_assert_int_eq(pthread_create(&liar->thread, NULL, lie_all_the_time, liar), 0);
}

static void stop_liar(struct liar *liar)
{
    liar->quit = true;
    pthread_join(liar->thread, NULL);
    ad_socket_close(liar->router, 0);
    zmq_ctx_term(liar->context);
}

/* A push to the liar, which is all devices of the plan. */
static enum adaps_status push_to(const struct liar *liar, double deadline_s)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_cluster cluster;
    struct ad_push_report reports[2];
    struct ad_session_options options = {.deadline_s = deadline_s};
    ck_assert_int_eq(ad_cluster_copy(&plan->cluster, &cluster, NULL), ADAPS_OK);
    for (int d = 0; d < 2; d++)
        snprintf(cluster.devices[d].address, sizeof cluster.devices[d].address, "%.100s",
                 liar->endpoint);
    ck_assert_int_eq(ad_plan_readdress(plan, &cluster, &plan, &err), ADAPS_OK);
    ad_cluster_fini(&cluster);
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    enum adaps_status status = ad_push(plan, &options, &weights, reports, &err);
    adaps_plan_free(plan);
    return status;
}

static bool lack_again_and_again(struct liar *liar, struct ad_wire_message *message)
{
    static uint32_t indices[1000]; /* all 0 */
    Adaps__Wire__Missing missing = ADAPS__WIRE__MISSING__INIT;
    if (message->frame.type != AD_FRAME_HAVE)
        return false;
    missing.indices = indices;
    missing.n_indices = 1000;
    answer(liar, message, AD_FRAME_MISSING, &missing.base, NULL, 0);
    return true;
}

START_TEST(missing_again_and_again)
{
    struct liar liar;
    start_liar(&liar, lack_again_and_again);
    ck_assert_int_eq(push_to(&liar, 30), ADAPS_EAGENT);
    says("it lacks blob 0 twice");
    ck_assert_int_eq(liar.blobs, 0);
    stop_liar(&liar);
}
END_TEST

/* Answers nothing that was asked, and never ends. */
static bool flood(struct liar *liar, struct ad_wire_message *message)
{
    Adaps__Wire__Missing missing = ADAPS__WIRE__MISSING__INIT;
    if (message->frame.type != AD_FRAME_HAVE)
        return false;
    message->frame.tag += 1000;
    ck_assert_int_eq(ad_socket_answers(liar->router, &err), ADAPS_OK);
    struct ad_frame frame = message->frame;
    frame.type = AD_FRAME_MISSING;
    while (!liar->quit && ad_wire_message_send(liar->router, &message->route, &frame, &missing.base,
                                               NULL, 0, NULL) == ADAPS_OK)
        continue;
    return true;
}

START_TEST(flood_of_answers)
{
    struct liar liar;
    start_liar(&liar, flood);
    ck_assert_int_eq(push_to(&liar, 1), ADAPS_EAGENT);
    says("agent 'dev0'");
    stop_liar(&liar);
}
END_TEST

static size_t welcome_bytes;

static bool welcome_too_much(struct liar *liar, struct ad_wire_message *message)
{
    if (message->frame.type != AD_FRAME_HELLO)
        return false;
    welcome(liar, message, welcome_bytes);
    return true;
}

START_TEST(large_welcome)
{
    static const size_t sizes[] = {100, 200 << 20};
    struct liar liar;
    struct ad_device device = {.name = "liar"};
    struct ad_agent_status status;
    struct ad_session_options options = {.deadline_s = 5};
    welcome_bytes = sizes[_i];
    start_liar(&liar, welcome_too_much);
    snprintf(device.address, sizeof device.address, "%.100s", liar.endpoint);
    ck_assert_int_eq(ad_agent_query(&device, &options, &status, &err), ADAPS_EAGENT);
    says("agent 'liar'");
    if (_i == 0)
        says("it answered WELCOME with ");
    stop_liar(&liar);
}
END_TEST

/* --- ways that are long or narrow --- */

static struct slow_proxy *proxies[2];

/* Plans' agents are reached through proxies; they reach each other directly. */
static void go_by_proxies(struct adaps_plan **plan, int64_t delay_ns, double rate)
{
    struct ad_cluster cluster;
    ad_testbed_address(&testbed, plan);
    ad_testbed_push(*plan); /* the weights need not go that way */
    ck_assert_int_eq(ad_cluster_copy(&(*plan)->cluster, &cluster, NULL), ADAPS_OK);
    for (int d = 0; d < cluster.ndevices; d++) {
        proxies[d] = slow_proxy_start(testbed.address[d], delay_ns, rate);
        snprintf(cluster.devices[d].address, sizeof cluster.devices[d].address, "%s",
                 slow_proxy_address(proxies[d]));
    }
    ck_assert_int_eq(ad_plan_readdress(*plan, &cluster, plan, &err), ADAPS_OK);
    ad_cluster_fini(&cluster);
    ad_testbed_push(*plan);
}

static struct ad_session *open_session(const struct adaps_plan *plan, double deadline_s)
{
    struct ad_session_options options = {.deadline_s = deadline_s};
    struct ad_session *session = NULL;
    enum adaps_status status = ad_session_open(plan, &options, &session, &err);
    ck_assert_msg(status == ADAPS_OK, "open: %s", err.message);
    return session;
}

static void finish(struct ad_session *session, const struct adaps_plan *plan,
                   struct slow_proxy **used)
{
    ad_session_close(session);
    for (int d = 0; d < plan->cluster.ndevices && used; d++)
        slow_proxy_stop(used[d]);
    ad_testbed_fini(&testbed);
}

/* 600 ms there and 600 back. */
START_TEST(far_agents)
{
    struct ad_agent_options slow = {.speed = 0.02, .threads = 1};
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, &slow);
    struct adaps_plan *plan = ad_testbed_heavy_plan(2, 1, 112, 64);
    go_by_proxies(&plan, 600000000, 0);
    struct ad_session *session = open_session(plan, 60);
    ad_testbed_check_run(session, plan, 1);
    finish(session, plan, proxies);
    adaps_plan_free(plan);
}
END_TEST

/* Answers that take four seconds to arrive, which no link of the plan tells. */
START_TEST(large_answers)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, NULL);
    struct adaps_plan *plan = ad_testbed_heavy_plan(2, 1, 128, 64);
    size_t bytes = 128 * 128 * 64 * sizeof(float);
    go_by_proxies(&plan, 0, (double)bytes / 4);
    struct ad_session *session = open_session(plan, 60);
    ad_testbed_check_run(session, plan, 1);
    finish(session, plan, proxies);
    adaps_plan_free(plan);
}
END_TEST

/* A stopped agent is lost soon, also where the plan's links are slow. */
START_TEST(stopped_on_slow_links)
{
    struct ad_agent_options slow = {.speed = 0.02, .threads = 1};
    struct ad_session_options options = {.deadline_s = 8};
    struct ad_session *session;
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, &slow);
    struct adaps_plan *plan = ad_testbed_heavy_plan(2, 24, 112, 64);
    ad_cluster_override_links(&plan->cluster, 125000, 1e-3); /* 1 mbit */
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ck_assert_int_eq(ad_session_open(plan, &options, &session, &err), ADAPS_OK);
    struct ad_tensor output, *inputs = ad_testbed_inputs(plan, 1);
    int64_t before = ad_testbed_cpu_ns(&testbed, 1);
    ck_assert_int_eq(ad_session_begin(session, inputs, &err), ADAPS_OK);
    ad_testbed_await_work(&testbed, 1, before, 6000000);
    kill(testbed.pid[1], SIGSTOP);
    int64_t stopped = ad_clock_ns();
    ck_assert_int_eq(ad_session_finish(session, &output, NULL, &err), ADAPS_EAGENT);
    kill(testbed.pid[1], SIGCONT);
    ck_assert_int_lt(ad_clock_ns() - stopped, (int64_t)8000000000); /* two would do */
    says("agent 'dev1'");
    says("no sign of life");
    ad_testbed_tensors_free(inputs, 1);
    finish(session, plan, NULL);
    adaps_plan_free(plan);
}
END_TEST

/* --- a controller that is stopped --- */

static _Noreturn void be_controller(const struct adaps_plan *plan, int n, int began_fd,
                                    pid_t parent)
{
    struct ad_session_options options = {.deadline_s = SANITIZED ? 30 : 5};
    struct ad_session *session;
    struct ad_tensor output;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || ad_session_open(plan, &options, &session, &err) != ADAPS_OK)
        _exit(2);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    for (int i = 0; i < n; i++) {
        if (ad_session_begin(session, inputs, &err) != ADAPS_OK)
            _exit(3);
        if (i == 0 && write(began_fd, "", 1) != 1)
            _exit(4);
        if (ad_session_finish(session, &output, NULL, &err) != ADAPS_OK) {
            fprintf(stderr, "%s\n", err.message);
            _exit(5);
        }
        ad_tensor_fini(&output);
    }
    ad_testbed_tensors_free(inputs, 1);
    ad_session_close(session);
    _exit(0);
}

/* For longer than any patience and than the deadline: agents go on, and so does it. The second
 * network answers more than sockets hold. */
START_TEST(stopped_controller)
{
    struct ad_agent_options slow = {.speed = 0.02, .threads = 1};
    int began[2], status;
    char byte;
    pid_t self = getpid();
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, _i == 0 ? &slow : NULL);
    struct adaps_plan *plan =
        _i == 0 ? ad_testbed_heavy_plan(2, 4, 112, 64) : ad_testbed_heavy_plan(2, 1, 512, 32);
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ck_assert_int_eq(pipe(began), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_controller(plan, 3, began[1], self);
    ck_assert_int_eq(read(began[0], &byte, 1), 1);
    kill(child, SIGSTOP);
    pass_time(8000000000);
    kill(child, SIGCONT);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    close(began[0]);
    close(began[1]);
    finish(NULL, plan, NULL);
    adaps_plan_free(plan);
}
END_TEST

/* One inference after the other, each so short that no ping is due: their answers are signs of
 * life. */
START_TEST(short_inferences)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session_options options = {.deadline_s = 60};
    struct ad_session *session;
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, NULL);
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1), output;
    ck_assert_msg(ad_session_open(plan, &options, &session, &err) == ADAPS_OK, "%s", err.message);
    for (int64_t until = ad_clock_ns() + AD_PATIENCE_NS * 3 / 2; ad_clock_ns() < until;) {
        ck_assert_msg(ad_session_run(session, inputs, &output, NULL, &err) == ADAPS_OK, "%s",
                      err.message);
        ad_tensor_fini(&output);
    }
    ad_session_close(session);
    ad_testbed_tensors_free(inputs, 1);
    adaps_plan_free(plan);
    ad_testbed_fini(&testbed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *tcase = tcase_create("liveness");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, missing_again_and_again);
    tcase_add_test(tcase, flood_of_answers);
    tcase_add_loop_test(tcase, large_welcome, 0, 2);
    tcase_add_test(tcase, far_agents);
    tcase_add_test(tcase, large_answers);
    tcase_add_test(tcase, short_inferences);
    tcase_add_test(tcase, stopped_on_slow_links);
    tcase_add_loop_test(tcase, stopped_controller, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
