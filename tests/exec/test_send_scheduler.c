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

struct bed {
    void *context, *out[LANES], *in[LANES];
    int full, reader; /* a TCP connection that has bytes to send, and its other end */
    struct ad_send_scheduler *scheduler;
};

/* A connection over loopback whose buffers are full. */
static void fill(struct bed *bed)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    static char block[65536];
    int unsent = 0, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bed->full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(connect(bed->full, (struct sockaddr *)&address, sizeof address), 0);
    bed->reader = accept(listener, NULL, NULL);
    ck_assert_int_ge(bed->reader, 0);
    close(listener);
    int64_t end = ad_clock_ns() + 100000000; /* buffers grow for a while */
    do {
        while (send(bed->full, block, sizeof block, MSG_DONTWAIT) > 0)
            end = ad_clock_ns() + 100000000;
        ck_assert_int_eq(errno, EAGAIN);
        poll(NULL, 0, 5);
    } while (ad_clock_ns() < end);
    ck_assert_int_eq(ioctl(bed->full, SIOCOUTQNSD, &unsent), 0);
    ck_assert_int_gt(unsent, 100000);
}

/* Reads all that the full connection has. */
static void drain(struct bed *bed)
{
    static char block[65536];
    int unsent = 1;
    while (ioctl(bed->full, SIOCOUTQNSD, &unsent) == 0 && unsent > 0)
        while (recv(bed->reader, block, sizeof block, MSG_DONTWAIT) > 0)
            ;
}

/* Lane 0 is the full connection's. bandwidth: of all lanes. */
static void init(struct bed *bed, double bandwidth)
{
    struct ad_lane lanes[LANES];
    struct adaps_error err;
    char name[32];
    *bed = (struct bed){.context = zmq_ctx_new()};
    fill(bed);
    for (int i = 0; i < LANES; i++) {
        bed->out[i] = zmq_socket(bed->context, ZMQ_PAIR);
        bed->in[i] = zmq_socket(bed->context, ZMQ_PAIR);
        snprintf(name, sizeof name, "inproc://lane%d", i);
        ck_assert_int_eq(zmq_bind(bed->in[i], name), 0);
        ck_assert_int_eq(zmq_connect(bed->out[i], name), 0);
        lanes[i] = (struct ad_lane){bed->out[i], i == 0 ? bed->full : -1, bandwidth};
    }
    ck_assert_int_eq(ad_send_scheduler_new(lanes, LANES, &bed->scheduler, &err), ADAPS_OK);
}

static void fini(struct bed *bed)
{
    ad_send_scheduler_free(bed->scheduler);
    for (int i = 0; i < LANES; i++) {
        zmq_close(bed->out[i]);
        zmq_close(bed->in[i]);
    }
    zmq_ctx_term(bed->context);
    close(bed->full);
    close(bed->reader);
}

/* Sends a message whose payload is `mark`, many times. */
static void send_mark(struct bed *bed, int lane, uint8_t mark)
{
    uint8_t head[AD_FRAME_BYTES] = {mark};
    struct ad_sent_notice to = {.unsent = ad_send_scheduler_unsent(bed->scheduler), .peer = lane};
    zmq_msg_t payload;
    ck_assert(ad_outgoing_new(&to, 1000, &payload));
    memset(zmq_msg_data(&payload), mark, 1000);
    ck_assert(ad_send_scheduler_send(bed->scheduler, lane, head, &payload));
}

/* The mark of the next message that comes within ms; -1: none. */
static int next_mark(struct bed *bed, int lane, int ms)
{
    uint8_t head[AD_FRAME_BYTES], payload[1001];
    int64_t end = ad_clock_ns() + ms * INT64_C(1000000);
    for (;;) {
        ad_send_scheduler_lock(bed->scheduler); /* inproc: both ends share what the lock protects */
        int n = zmq_recv(bed->in[lane], head, sizeof head, ZMQ_DONTWAIT);
        if (n >= 0)
            ck_assert_int_eq(zmq_recv(bed->in[lane], payload, sizeof payload, 0), 1000);
        ad_send_scheduler_unlock(bed->scheduler);
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
    struct bed bed;
    init(&bed, 1e4); /* slow: the patience is of half a minute */
    send_mark(&bed, 0, 1);
    ck_assert_int_eq(next_mark(&bed, 0, 10000), 1); /* nobody is before it */
    send_mark(&bed, 1, 2);
    send_mark(&bed, 2, 3);
    send_mark(&bed, 0, 4); /* behind the others, though its own lane is what they wait for */
    send_mark(&bed, 1, 5);
    for (int lane = 0; lane < LANES; lane++)
        ck_assert_int_eq(next_mark(&bed, lane, 30), -1);
    drain(&bed);
    ck_assert_int_eq(next_mark(&bed, 1, 10000), 2);
    ck_assert_int_eq(next_mark(&bed, 2, 10000), 3);
    ck_assert_int_eq(next_mark(&bed, 0, 10000), 4);
    ck_assert_int_eq(next_mark(&bed, 1, 10000), 5);
    struct pollfd look = {.fd = ad_send_scheduler_fd(bed.scheduler), .events = POLLIN};
    ck_assert_int_eq(poll(&look, 1, 0), 1); /* its thread has used sockets */
    fini(&bed);
}
END_TEST

/* Whoever does not take what it is sent does not hold up the others for ever. */
START_TEST(patience)
{
    struct bed bed;
    init(&bed, 1e9);
    send_mark(&bed, 0, 1);
    ck_assert_int_eq(next_mark(&bed, 0, 10000), 1);
    send_mark(&bed, 1, 2);
    ck_assert_int_eq(next_mark(&bed, 1, 10000), 2);
    fini(&bed);
}
END_TEST

/* What still waits when a session ends is forgotten (and freed: sanitizers tell). */
START_TEST(forgotten)
{
    struct bed bed;
    init(&bed, 1e4);
    send_mark(&bed, 0, 1);
    for (int i = 0; i < 5; i++)
        send_mark(&bed, 1, 2);
    fini(&bed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler");
    TCase *tcase = tcase_create("scheduler");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, one_after_the_other);
    tcase_add_test(tcase, patience);
    tcase_add_test(tcase, forgotten);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
