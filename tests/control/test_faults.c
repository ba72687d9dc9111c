/* Faults: garbage on the ports, agents killed and stopped in the midst of an inference, controllers
 * that die. Nobody may wait beyond the deadline, and whoever is left must be usable. */
#include "support/agents_fixture.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "wire/endpoint.h"
#include "wire/frame.h"
#include "wire/wire.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct ad_testbed testbed;
static const struct ad_session_options usual = {.deadline_s = 60};

/* Agents at a fiftieth of their speed: inferences last seconds, and little of the processor. */
static void start_slow(void)
{
    struct ad_agent_options slow = {.speed = 0.02, .threads = 1};
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 3, &slow);
}

static void start_fast(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 2, NULL);
}

static void stop_bed(void)
{
    ad_testbed_fini(&testbed);
}

static struct adaps_plan *push(struct adaps_plan *plan)
{
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    return plan;
}

static struct adaps_plan *pushed_heavy_plan(int n)
{
    struct adaps_plan *plan = ad_testbed_heavy_plan(n, 24, 112, 64);
    ck_assert_int_gt(plan->schedule.messages, 0);
    return push(plan);
}

/* An agent whose session ended in the midst of an operator is busy until that is done: which takes
 * long where processors are slow. */
#define LONGEST_OPERATOR_NS (int64_t)10000000000

static struct ad_session *open_session(const struct adaps_plan *plan, double deadline_s)
{
    struct ad_session_options options = {.deadline_s = deadline_s};
    struct timespec little = {.tv_nsec = 20000000};
    struct ad_session *session = NULL;
    struct adaps_error err = {0};
    int64_t until = ad_clock_ns() + LONGEST_OPERATOR_NS;
    enum adaps_status status;
    while ((status = ad_session_open(plan, &options, &session, &err)) == ADAPS_EAGENT &&
           strstr(err.message, "busy") && ad_clock_ns() < until)
        nanosleep(&little, NULL);
    ck_assert_msg(status == ADAPS_OK, "open: %s", err.message);
    return session;
}

/* An inference in a thread of its own, which is well under way when begin() returns. */
struct inference {
    pthread_t thread;
    struct ad_session *session;
    struct ad_tensor *inputs, output;
    enum adaps_status status;
    struct adaps_error err;
    int64_t end_ns;
};

static void *infer(void *self)
{
    struct inference *x = self;
    x->status = ad_session_run(x->session, x->inputs, &x->output, NULL, &x->err);
    x->end_ns = ad_clock_ns();
    return NULL;
}

static void begin(struct inference *x, struct ad_session *session, const struct adaps_plan *plan,
                  int victim)
{
    int64_t before = ad_testbed_cpu_ns(&testbed, victim);
    *x = (struct inference){.session = session, .inputs = ad_testbed_inputs(plan, 1)};
    ck_assert_int_eq(pthread_create(&x->thread, NULL, infer, x), 0);
    ad_testbed_await_work(&testbed, victim, before, 6000000);
}

static void end(struct inference *x)
{
    pthread_join(x->thread, NULL);
    ad_testbed_tensors_free(x->inputs, 1);
    if (x->status == ADAPS_OK)
        ad_tensor_fini(&x->output);
}

static void says(const struct adaps_error *err, const char *word)
{
    ck_assert_msg(strstr(err->message, word), "'%s' does not say '%s'", err->message, word);
}

/* One of three dies with several inferences in flight: an error that names it, of all of them. In
 * bands, agents work on one at a time; in a chain and as replicas, on several. */
START_TEST(killed_within_a_stream)
{
    static const char *const strategies[] = {NULL, "pipeline", "replicas"};
    struct adaps_plan *plan = strategies[_i]
                                  ? push(ad_testbed_heavy_stream(3, 24, 112, 64, strategies[_i]))
                                  : pushed_heavy_plan(3);
    struct adaps_error err = {0};
    struct ad_tensor output;
    struct ad_session *session = open_session(plan, 30);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    int64_t before = ad_testbed_cpu_ns(&testbed, 1);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(ad_session_begin(session, inputs, &err), ADAPS_OK);
    ad_testbed_await_work(&testbed, 1, before, 6000000);
    ad_testbed_kill(&testbed, 1);
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < 4 && status == ADAPS_OK; i++) {
        status = ad_session_finish(session, &output, NULL, &err);
        if (status == ADAPS_OK)
            ad_tensor_fini(&output);
    }
    ck_assert_int_eq(status, ADAPS_EAGENT);
    says(&err, "agent 'dev1'");
    says(&err, "was lost in inference ");
    says(&err, "; dev0 ");
    says(&err, "; dev2 ");
    ck_assert_int_eq(ad_session_begin(session, inputs, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(ad_session_finish(session, &output, NULL, &err), ADAPS_EUSAGE);
    ad_session_close(session);
    ad_testbed_tensors_free(inputs, 1);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(killed_agent)
{
    struct inference x;
    struct adaps_plan *plan = pushed_heavy_plan(3);
    for (int victim = 2; victim >= 0; victim--) { /* others first, then the source */
        struct adaps_plan *part = victim == 2 ? plan : NULL;
        if (!part) { /* a plan for those that are left */
            part = ad_testbed_heavy_plan(victim + 1, 24, 112, 64);
            ad_testbed_address(&testbed, &part);
            ad_testbed_push(part);
        }
        char name[64];
        struct ad_session *session = open_session(part, 30);
        begin(&x, session, part, victim);
        ad_testbed_kill(&testbed, victim);
        end(&x);
        ck_assert_int_eq(x.status, ADAPS_EAGENT);
        snprintf(name, sizeof name, "agent 'dev%d' (%s) was lost in inference 1 at step ", victim,
                 testbed.address[victim]);
        says(&x.err, name);
        says(&x.err, "COMPUTE ");
        says(&x.err, " rows ");
        for (int other = 0; other < victim; other++) {
            snprintf(name, sizeof name, "; dev%d was ", other);
            says(&x.err, name);
        }
        /* nothing more can be asked of this session */
        struct ad_tensor output, *inputs = ad_testbed_inputs(part, 1);
        ck_assert_int_eq(ad_session_run(session, inputs, &output, NULL, &x.err), ADAPS_EUSAGE);
        ad_testbed_tensors_free(inputs, 1);
        ad_session_close(session);
        adaps_plan_free(part);
    }
}
END_TEST

START_TEST(stopped_agent)
{
    struct inference x;
    struct adaps_plan *plan = pushed_heavy_plan(2);
    struct ad_session *session = open_session(plan, 30);
    begin(&x, session, plan, 1);
    kill(testbed.pid[1], SIGSTOP);
    end(&x);
    ck_assert_int_eq(x.status, ADAPS_EAGENT);
    says(&x.err, "agent 'dev1'");
    says(&x.err, "was lost in inference 1 at step ");
    says(&x.err, "no sign of life");
    ad_session_close(session);
    kill(testbed.pid[1], SIGCONT);
    /* it finds its controller gone, and is free again; the other one has been all the time */
    struct adaps_plan *small = ad_fixture_banded(2);
    ad_testbed_address(&testbed, &small);
    ad_testbed_push(small);
    session = NULL;
    for (int64_t limit = ad_clock_ns() + 30000000000; !session && ad_clock_ns() < limit;)
        if (ad_session_open(small, &usual, &session, &x.err) != ADAPS_OK)
            says(&x.err, "busy");
    ck_assert_ptr_nonnull(session);
    ad_testbed_check_run(session, small, 1);
    ad_session_close(session);
    adaps_plan_free(small);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(deadline)
{
    struct inference x;
    struct adaps_plan *plan = pushed_heavy_plan(2);
    struct ad_session *session = open_session(plan, 1.0);
    int64_t start = ad_clock_ns();
    x = (struct inference){.session = session, .inputs = ad_testbed_inputs(plan, 1)};
    ck_assert_int_eq(pthread_create(&x.thread, NULL, infer, &x), 0);
    end(&x);
    ck_assert_int_eq(x.status, ADAPS_EAGENT);
    ck_assert_int_ge(x.end_ns - start, (int64_t)900000000);
    says(&x.err, "dev0");
    says(&x.err, "dev1");
    says(&x.err, "step ");
    ad_session_close(session);
    session = open_session(plan, 60); /* everybody is free */
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(killed_controller)
{
    struct adaps_plan *plan = pushed_heavy_plan(2);
    struct adaps_error err;
    int64_t before = ad_testbed_cpu_ns(&testbed, 1);
    pid_t self = getpid();
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct ad_session *session;
        struct ad_tensor output, *inputs = ad_testbed_inputs(plan, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(1);
        if (ad_session_open(plan, &usual, &session, &err) != ADAPS_OK)
            _exit(2);
        if (ad_session_run(session, inputs, &output, NULL, &err) != ADAPS_OK)
            _exit(3);
        _exit(0);
    }
    ad_testbed_await_work(&testbed, 1, before, 60000000);
    kill(child, SIGKILL);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status), "the controller ended by itself: %d", status);
    struct ad_session *session = NULL;
    for (int64_t limit = ad_clock_ns() + 30000000000; !session && ad_clock_ns() < limit;)
        if (ad_session_open(plan, &usual, &session, &err) != ADAPS_OK)
            says(&err, "busy");
    ck_assert_ptr_nonnull(session);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(agent_ends_while_working)
{
    struct inference x;
    struct adaps_plan *plan = pushed_heavy_plan(2);
    struct ad_session *session = open_session(plan, 30);
    begin(&x, session, plan, 1);
    int status;
    kill(testbed.pid[1], SIGTERM); /* in order: exit 0 */
    ck_assert_int_eq(waitpid(testbed.pid[1], &status, 0), testbed.pid[1]);
    testbed.pid[1] = 0;
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end(&x);
    ck_assert_int_eq(x.status, ADAPS_EAGENT);
    says(&x.err, "agent 'dev1'");
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* --- garbage --- */

static int tcp_connect(const char *address)
{
    struct ad_endpoint endpoint;
    struct sockaddr_in to = {.sin_family = AF_INET};
    ck_assert_int_eq(ad_endpoint_parse(address, &endpoint, NULL), ADAPS_OK);
    to.sin_port = htons((uint16_t)endpoint.port);
    ck_assert_int_eq(inet_pton(AF_INET, endpoint.host, &to.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Bytes that look like ZMTP for a while, and then do not. */
static void send_noise(struct ad_rng *rng, const char *address)
{
    static const uint8_t greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                         1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    uint8_t bytes[512];
    int fd = tcp_connect(address);
    size_t n = ad_rng_below(rng, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)ad_rng_next(rng);
    if (ad_rng_below(rng, 2))
        memcpy(bytes, greeting, sizeof greeting);
    if (send(fd, bytes, n, MSG_NOSIGNAL) < 0)
        ck_assert(errno == EPIPE || errno == ECONNRESET);
    close(fd);
}

/* ZeroMQ messages of random parts, among them valid heads with a random rest. */
static void send_messages(struct ad_rng *rng, void *socket)
{
    uint32_t parts = 1 + ad_rng_below(rng, 4);
    for (uint32_t p = 0; p < parts; p++) {
        uint8_t bytes[300];
        size_t n = ad_rng_below(rng, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)ad_rng_next(rng);
        if (p == 0 && ad_rng_below(rng, 2)) {
            struct ad_frame frame = {.type = (uint16_t)(1 + ad_rng_below(rng, AD_FRAME_TYPES)),
                                     .session = ad_rng_below(rng, 2),
                                     .tag = ad_rng_below(rng, 3)};
            ad_frame_encode(&frame, bytes);
            n = AD_FRAME_BYTES;
        }
        zmq_send(socket, bytes, n, p + 1 < parts ? ZMQ_SNDMORE : 0);
    }
}

/* Every type of control message with a right checksum and a wrong body. */
static void send_requests(struct ad_rng *rng, void *socket)
{
    for (int type = 1; type < AD_FRAME_TYPES; type++) {
        uint8_t bytes[40], head[AD_FRAME_BYTES];
        size_t n = ad_rng_below(rng, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)ad_rng_below(rng, 40);
        struct ad_frame frame = {.type = (uint16_t)type,
                                 .session = 1,
                                 .tag = 1,
                                 .length = n,
                                 .checksum = ad_frame_checksum(0, bytes, n)};
        ad_frame_encode(&frame, head);
        zmq_send(socket, head, sizeof head, ZMQ_SNDMORE);
        zmq_send(socket, bytes, n, 0);
    }
}

START_TEST(garbage_on_the_ports)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_agent_status status;
    struct adaps_error err;
    struct ad_rng rng = {5};
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan, 60);
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_DEALER);
    ck_assert_int_eq(zmq_connect(socket, testbed.address[0]), 0);
    ck_assert_int_eq(zmq_connect(socket, testbed.address[1]), 0);
    for (int i = 0; i < 60; i++) {
        send_noise(&rng, testbed.address[i % 2]);
        send_messages(&rng, socket);
        send_messages(&rng, socket);
        send_requests(&rng, socket);
        if (i % 20 == 0)
            ad_testbed_check_run(session, plan, (uint64_t)i);
    }
    /* What was sent has been read: the agents answer a request that came after it. */
    for (int d = 0; d < 2; d++)
        ck_assert_int_eq(ad_agent_query(&plan->cluster.devices[d], &usual, &status, &err),
                         ADAPS_OK);
    zmq_close(socket);
    zmq_ctx_term(context);
    ad_testbed_check_run(session, plan, 99);
    ad_session_close(session);
    session = open_session(plan, 60);
    ad_testbed_check_run(session, plan, 100);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* Whether a descriptor of the agent's is this socket. */
static bool has_socket(pid_t pid, unsigned long inode)
{
    char path[300], found[64], wanted[64];
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    for (int fd = 0; fd < 200; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        ssize_t n = readlink(path, found, sizeof found - 1);
        found[n > 0 ? n : 0] = '\0';
        if (strcmp(found, wanted) == 0)
            return true;
    }
    return false;
}

/* Where the first agent listens for the second. */
static void find_data_port(char *address, size_t size)
{
    char line[400];
    unsigned port, state;
    unsigned long inode;
    struct ad_endpoint endpoint;
    FILE *file = fopen("/proc/net/tcp", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ad_endpoint_parse(testbed.address[0], &endpoint, NULL), ADAPS_OK);
    *address = '\0';
    while (fgets(line, sizeof line, file))
        if (sscanf(line, " %*d: %*8s:%x %*8s:%*x %x %*s %*s %*s %*s %*s %lu", &port, &state,
                   &inode) == 3 &&
            state == 0x0a && (int)port != endpoint.port && has_socket(testbed.pid[0], inode))
            snprintf(address, size, "tcp://127.0.0.1:%u", port);
    fclose(file);
    ck_assert_msg(*address, "no data port");
}

/* Until the first agent has said so. */
static void await_log(const char *text)
{
    char line[400];
    bool found = false;
    FILE *file = fopen(ad_testbed_path(&testbed, "log0"), "r");
    ck_assert_ptr_nonnull(file);
    while (!found) {
        found = fgets(line, sizeof line, file) && strstr(line, text);
        clearerr(file);
    }
    fclose(file);
}

/* Nothing is asked in the session: the agent looks all the same. */
START_TEST(strangers_at_a_data_port)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    char address[64];
    int fd[40];
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_session *session = open_session(plan, 60);
    ad_testbed_check_run(session, plan, 1);
    find_data_port(address, sizeof address);
    for (int i = 0; i < 40; i++)
        fd[i] = tcp_connect(address);
    await_log("too many connections from there that have sent nothing");
    ad_testbed_check_run(session, plan, 2);
    for (int i = 0; i < 40; i++)
        close(fd[i]);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults");
    TCase *slow = tcase_create("slow agents"), *fast = tcase_create("fast agents");
    tcase_set_timeout(slow, 120);
    tcase_set_timeout(fast, 60);
    tcase_add_checked_fixture(slow, start_slow, stop_bed);
    tcase_add_checked_fixture(fast, start_fast, stop_bed);
    tcase_add_test(slow, killed_agent);
    tcase_add_loop_test(slow, killed_within_a_stream, 0, 3);
    tcase_add_test(slow, stopped_agent);
    tcase_add_test(slow, deadline);
    tcase_add_test(slow, killed_controller);
    tcase_add_test(slow, agent_ends_while_working);
    tcase_add_test(fast, garbage_on_the_ports);
    tcase_add_test(fast, strangers_at_a_data_port);
    suite_add_tcase(suite, slow);
    suite_add_tcase(suite, fast);
    return run_suite(suite);
}
