/* The scheduler, against a connection whose other end does not read: what else is sent waits for
 * it, in order, and not for ever. */
#include "exec/agent/send_scheduler.h"
#include "base/clock.h"
#include "support/run_suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LANES = 3 };

struct testbed {
    void *context, *out[LANES], *in[LANES];
    int full, reader; /* a TCP connection that has bytes to send, and its other end */
    struct ad_send_scheduler *scheduler;
};

/* A connection over loopback whose buffers are full. */
static void fill(struct testbed *testbed)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    static char block[65536];
    int unsent = 0, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    testbed->full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(connect(testbed->full, (struct sockaddr *)&address, sizeof address), 0);
    testbed->reader = accept(listener, NULL, NULL);
    ck_assert_int_ge(testbed->reader, 0);
    close(listener);
    int64_t end = ad_clock_ns() + 100000000; /* buffers grow for a while */
    do {
        while (send(testbed->full, block, sizeof block, MSG_DONTWAIT) > 0)
            end = ad_clock_ns() + 100000000;
        ck_assert_int_eq(errno, EAGAIN);
        poll(NULL, 0, 5);
    } while (ad_clock_ns() < end);
    ck_assert_int_eq(ioctl(testbed->full, SIOCOUTQNSD, &unsent), 0);
    ck_assert_int_gt(unsent, 100000);
}

/* Reads all that the full connection has. */
static void drain(struct testbed *testbed)
{
    static char block[65536];
    int unsent = 1;
    while (ioctl(testbed->full, SIOCOUTQNSD, &unsent) == 0 && unsent > 0)
        while (recv(testbed->reader, block, sizeof block, MSG_DONTWAIT) > 0)
            ;
}

/* Lane 0 is the full connection's. bandwidth: of all connections. */
static void init(struct testbed *testbed, double bandwidth)
{
    struct ad_connection connections[LANES];
    struct adaps_error err;
    char name[32];
    *testbed = (struct testbed){.context = zmq_ctx_new()};
    fill(testbed);
    for (int i = 0; i < LANES; i++) {
        testbed->out[i] = zmq_socket(testbed->context, ZMQ_PAIR);
        testbed->in[i] = zmq_socket(testbed->context, ZMQ_PAIR);
        snprintf(name, sizeof name, "inproc://connection%d", i);
        ck_assert_int_eq(zmq_bind(testbed->in[i], name), 0);
        ck_assert_int_eq(zmq_connect(testbed->out[i], name), 0);
        connections[i] =
            (struct ad_connection){testbed->out[i], i == 0 ? testbed->full : -1, bandwidth};
    }
    ck_assert_int_eq(ad_send_scheduler_new(connections, LANES, &testbed->scheduler, &err),
                     ADAPS_OK);
}

static void fini(struct testbed *testbed)
{
    ad_send_scheduler_free(testbed->scheduler);
    for (int i = 0; i < LANES; i++) {
        zmq_close(testbed->out[i]);
        zmq_close(testbed->in[i]);
    }
    zmq_ctx_term(testbed->context);
    close(testbed->full);
    close(testbed->reader);
}

/* Sends a message whose payload is `mark`, many times. */
static void send_mark(struct testbed *testbed, int connection, uint8_t mark)
{
    uint8_t head[AD_FRAME_BYTES] = {mark};
    struct ad_sent_notice to = {.unsent = ad_send_scheduler_unsent(testbed->scheduler),
                                .peer = connection};
    zmq_msg_t payload;
    ck_assert(ad_outgoing_new(&to, 1000, &payload));
    memset(zmq_msg_data(&payload), mark, 1000);
    ck_assert(ad_send_scheduler_send(testbed->scheduler, connection, head, &payload));
}

/* The mark of the next message that comes within ms; -1: none. */
static int next_mark(struct testbed *testbed, int connection, int ms)
{
    uint8_t head[AD_FRAME_BYTES], payload[1001];
    int64_t end = ad_clock_ns() + ms * INT64_C(1000000);
    for (;;) {
        ad_send_scheduler_lock(
            testbed->scheduler); /* inproc: both ends share what the lock protects */
        int n = zmq_recv(testbed->in[connection], head, sizeof head, ZMQ_DONTWAIT);
        if (n >= 0)
            ck_assert_int_eq(zmq_recv(testbed->in[connection], payload, sizeof payload, 0), 1000);
        ad_send_scheduler_unlock(testbed->scheduler);
        if (n >= 0) {
            ck_assert_int_eq(n, AD_FRAME_BYTES);
            ck_assert(payload[0] == head[0] && payload[999] == head[0]);
            return head[0];
        }
        if (ad_clock_ns() >= end)
            return -1;
        poll(NULL, 0, 1);
    }
}

START_TEST(one_after_the_other)
{
    struct testbed testbed;
    init(&testbed, 1e4); /* slow: the patience is of half a minute */
    send_mark(&testbed, 0, 1);
    ck_assert_int_eq(next_mark(&testbed, 0, 10000), 1); /* nobody is before it */
    send_mark(&testbed, 1, 2);
    send_mark(&testbed, 2, 3);
    send_mark(&testbed, 0,
              4); /* behind the others, though its own connection is what they wait for */
    send_mark(&testbed, 1, 5);
    for (int connection = 0; connection < LANES; connection++)
        ck_assert_int_eq(next_mark(&testbed, connection, 30), -1);
    drain(&testbed);
    ck_assert_int_eq(next_mark(&testbed, 1, 10000), 2);
    ck_assert_int_eq(next_mark(&testbed, 2, 10000), 3);
    ck_assert_int_eq(next_mark(&testbed, 0, 10000), 4);
    ck_assert_int_eq(next_mark(&testbed, 1, 10000), 5);
    struct pollfd look = {.fd = ad_send_scheduler_fd(testbed.scheduler), .events = POLLIN};
    ck_assert_int_eq(poll(&look, 1, 0), 1); /* its thread has used sockets */
    fini(&testbed);
}
END_TEST

/* Whoever does not take what it is sent does not hold up the others for ever. */
START_TEST(patience)
{
    struct testbed testbed;
    init(&testbed, 1e9);
    send_mark(&testbed, 0, 1);
    ck_assert_int_eq(next_mark(&testbed, 0, 10000), 1);
    send_mark(&testbed, 1, 2);
    ck_assert_int_eq(next_mark(&testbed, 1, 10000), 2);
    fini(&testbed);
}
END_TEST

/* What still waits when a session ends is forgotten (and freed: sanitizers tell). */
START_TEST(forgotten)
{
    struct testbed testbed;
    init(&testbed, 1e4);
    send_mark(&testbed, 0, 1);
    for (int i = 0; i < 5; i++)
        send_mark(&testbed, 1, 2);
    fini(&testbed);
}
END_TEST

/* Emulators of processors do not know the request on which the scheduler relies. */
static bool can_ask(void)
{
    int unsent, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = fd >= 0 && (ioctl(fd, SIOCOUTQNSD, &unsent) == 0 || errno == EINVAL);
    close(fd);
    return can;
}

int main(void)
{
    if (!can_ask()) {
        printf("skipped: this machine does not tell what a connection has not sent (SIOCOUTQNSD): "
               "%s\n",
               strerror(errno));
        return 77;
    }
    Suite *suite = suite_create("scheduler");
    TCase *tcase = tcase_create("scheduler");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, one_after_the_other);
    tcase_add_test(tcase, patience);
    tcase_add_test(tcase, forgotten);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
