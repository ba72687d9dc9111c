/* The data connections of two devices, in one process: a message that is there is not slept
 * through, whoever has looked at the socket before. */
#include "exec/agent/peer_links.h"
#include "base/clock.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"
#include "wire/endpoint.h"

#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define LONG_NS ((int64_t)3600 * 1000000000) /* longer than the test may take */

struct end {
    struct ad_peer_links links;
    struct ad_peer peer;
    atomic_int cancel;
    float data[8];
    struct ad_span span;
    struct ad_span_list spans;
    struct ad_step step;
};

static struct end ends[2];
static struct adaps_plan *plan;
static void *context;
static struct ad_guard *guard;
static const struct ad_keys no_keys;

static void *join(void *self)
{
    struct end *end = self;
    struct adaps_error err = {0};
    enum adaps_status status = ad_peer_links_join(&end->links, &no_keys, &end->peer, 1, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    return NULL;
}

static void connect_both(void)
{
    pthread_t thread;
    struct adaps_error err = {0};
    plan = ad_fixture_banded(2);
    context = zmq_ctx_new();
    ck_assert_int_eq(ad_guard_new("dev0", NULL, &guard, &err), ADAPS_OK);
    for (int d = 0; d < 2; d++) {
        struct end *end = &ends[d];
        *end = (struct end){.peer = {.device = 1 - d}, .step = {.peer = 1 - d, .tag = 7}};
        snprintf(end->peer.name, sizeof end->peer.name, "dev%d", 1 - d);
        end->span = (struct ad_span){.base = (uint8_t *)end->data,
                                     .run_bytes = sizeof end->data,
                                     .run_stride = sizeof end->data,
                                     .runs = 1};
        end->spans = (struct ad_span_list){.spans = &end->span, .count = 1};
        end->links = (struct ad_peer_links){.context = context,
                                            .guard = guard,
                                            .plan = plan,
                                            .device = d,
                                            .session = 5,
                                            .oldest = 1,
                                            .deadline_ns = ad_clock_ns() + LONG_NS,
                                            .cancel = &end->cancel,
                                            .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        ck_assert_msg(ad_peer_links_open(&end->links, "127.0.0.1", &no_keys, &end->peer, 1, &err) ==
                          ADAPS_OK,
                      "%s", err.message);
    }
    ad_endpoint_format("127.0.0.1", ends[0].links.items[0].port, ends[1].peer.endpoint);
    ck_assert_int_eq(pthread_create(&thread, NULL, join, &ends[1]), 0);
    join(&ends[0]);
    pthread_join(thread, NULL);
}

static void disconnect(void)
{
    for (int d = 0; d < 2; d++) {
        ad_peer_links_close(&ends[d].links);
        close(ends[d].links.wake_fd);
    }
    zmq_ctx_term(context);
    ad_guard_free(guard);
    adaps_plan_free(plan);
}

/* Device 1 sends a message of an inference to device 0. */
static void send_message(uint32_t inference)
{
    struct ad_transport transport = ad_peer_links_transport(&ends[1].links);
    struct adaps_error err = {0};
    ends[1].links.inference = inference;
    ends[1].data[3] = (float)inference;
    ck_assert_msg(transport.send(transport.self, &ends[1].step, &ends[1].spans, &err) == ADAPS_OK,
                  "%s", err.message);
}

static enum adaps_status look_for(uint32_t inference)
{
    struct ad_transport transport = ad_peer_links_transport(&ends[0].links);
    struct adaps_error err = {0};
    int form = -1;
    ends[0].links.inference = inference;
    enum adaps_status status =
        transport.recv(transport.self, &ends[0].step, &ends[0].spans, 1, &form, &err);
    ck_assert_msg(status == ADAPS_OK || status == ADAPS_NO, "%s", err.message);
    return status;
}

static void wait_for_peer(void)
{
    static const bool wanted[AD_MAX_DEVICES] = {[1] = true};
    ad_peer_links_wait(&ends[0].links, wanted);
}

START_TEST(wakes_when_a_message_comes)
{
    ck_assert_int_eq(look_for(1), ADAPS_NO);
    send_message(1);
    while (look_for(1) == ADAPS_NO)
        wait_for_peer();
    ck_assert(ends[0].data[3] == 1);
}
END_TEST

START_TEST(two_inferences_look)
{
    ck_assert_int_eq(look_for(1), ADAPS_NO);
    send_message(1);
    while (ends[0].links.items[0].nearly == 0)
        ck_assert_int_eq(look_for(2), ADAPS_NO); /* puts aside what the first waits for */
    wait_for_peer();
    ck_assert_int_eq(look_for(1), ADAPS_OK);
    ck_assert(ends[0].data[3] == 1);
}
END_TEST

START_TEST(the_socket_was_used)
{
    const struct ad_peer_link *link = &ends[0].links.items[0];
    struct pollfd readable = {.fd = link->zmq_fd, .events = POLLIN};
    int events = 0;
    size_t size = sizeof events;
    ck_assert_int_eq(look_for(1), ADAPS_NO);
    send_message(1);
    while (!(events & ZMQ_POLLIN)) { /* as sending does */
        ck_assert_int_eq(poll(&readable, 1, -1), 1);
        ck_assert_int_eq(zmq_getsockopt(link->socket, ZMQ_EVENTS, &events, &size), 0);
    }
    ck_assert_int_eq(poll(&readable, 1, 0), 0);
    wait_for_peer();
    ck_assert_int_eq(look_for(1), ADAPS_OK);
}
END_TEST

START_TEST(strangers)
{
    struct ad_peer_link *link = &ends[0].links.items[0];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)link->port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd[2 * AD_STRANGERS_OF_ONE_ADDRESS], n = sizeof fd / sizeof *fd, here = 0;
    int64_t came = link->visitors->came + n;
    for (int i = 0; i < n; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fd[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    while (link->visitors->came < came)
        ad_peer_links_look(&ends[0].links);
    for (int i = 0; i < link->visitors->count; i++)
        here += !link->visitors->items[i].known && !link->visitors->items[i].dropped;
    ck_assert_int_le(here, AD_STRANGERS_OF_ONE_ADDRESS);
    send_message(1); /* the peer has stayed */
    while (look_for(1) == ADAPS_NO)
        wait_for_peer();
    for (int i = 0; i < n; i++)
        close(fd[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer links");
    TCase *tcase = tcase_create("two devices");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, connect_both, disconnect);
    tcase_add_test(tcase, wakes_when_a_message_comes);
    tcase_add_test(tcase, two_inferences_look);
    tcase_add_test(tcase, the_socket_was_used);
    tcase_add_test(tcase, strangers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
