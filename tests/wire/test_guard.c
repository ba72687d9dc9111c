/* Who may connect: the allow list that changes, the log of refusals, the number of strangers,
 * addresses. */
#include "base/mem.h"
#include "support/run_suite.h"
#include "wire/endpoint.h"
#include "wire/socket.h"
#include "wire/visitors.h"
#include "wire/wire.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256], list[300], said[300];
static struct adaps_error err;

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-guard-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(list, sizeof list, "%s/allow", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    ck_assert_ptr_nonnull(freopen(said, "w", stderr));
    setvbuf(stderr, NULL, _IONBF, 0);
}

static void remove_folder(void)
{
    unlink(list);
    unlink(said);
    rmdir(folder);
}

static void write_list(const char *text)
{
    FILE *file = fopen(list, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(list, 0644), 0);
}

/* Lines of the log that have a text. */
static int lines(const char *text)
{
    char line[1000];
    int n = 0;
    FILE *file = fopen(said, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        n += strstr(line, text) != NULL;
    fclose(file);
    return n;
}

START_TEST(list_that_changes)
{
    struct ad_guard *guard;
    char a[AD_KEY_BYTES], b[AD_KEY_BYTES], secret[AD_KEY_BYTES], both[100];
    ck_assert_int_eq(zmq_curve_keypair(a, secret), 0);
    ck_assert_int_eq(zmq_curve_keypair(b, secret), 0);
    snprintf(both, sizeof both, "%s\n%s\n", a, b);
    write_list(a);
    ck_assert_int_eq(ad_guard_new("lamp", list, &guard, &err), ADAPS_OK);
    ck_assert(ad_guard_admits(guard, a) && !ad_guard_admits(guard, b));
    write_list(both);
    ck_assert(ad_guard_admits(guard, a) && ad_guard_admits(guard, b));
    ck_assert_uint_eq(ad_guard_count(guard), 2);
    write_list(b);
    ck_assert(!ad_guard_admits(guard, a) && ad_guard_admits(guard, b));
    write_list("nonsense");
    ck_assert(!ad_guard_admits(guard, a) && !ad_guard_admits(guard, b));
    ck_assert(!ad_guard_admits(guard, b));
    ck_assert_int_eq(lines("line 1: not a public key"), 1);
    ck_assert_int_eq(unlink(list), 0);
    ck_assert(!ad_guard_admits(guard, b));
    write_list(b);
    ck_assert(ad_guard_admits(guard, b));
    ck_assert_int_eq(chmod(list, 0666), 0);
    ck_assert(!ad_guard_admits(guard, b));
    ck_assert_int_eq(chmod(list, 0600), 0);
    ck_assert(ad_guard_admits(guard, b));
    ad_guard_free(guard);
    ck_assert_int_eq(ad_guard_new("lamp", "none", &guard, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_guard_new("lamp", NULL, &guard, &err), ADAPS_OK);
    ck_assert(ad_guard_admits(guard, ""));
    ad_guard_free(guard);
}
END_TEST

START_TEST(log_is_limited)
{
    struct ad_guard *guard;
    ck_assert_int_eq(ad_guard_new("lamp", NULL, &guard, &err), ADAPS_OK);
    char address[20];
    for (int i = 0; i < 1000; i++)
        ad_guard_refused(guard, "10.0.0.1", i % 2 ? "KEY" : NULL, "it is a test");
    ck_assert_int_eq(lines("lamp: refused 10.0.0.1, no key: it is a test"), 1);
    ck_assert_int_eq(lines("lamp: refused 10.0.0.1, key KEY: it is a test"), 1);
    for (int i = 0; i < 1000; i++) {
        snprintf(address, sizeof address, "10.0.1.%d", i);
        ad_guard_refused(guard, address, NULL, "it is a test");
    }
    ck_assert_int_eq(lines("refused"), AD_GUARD_LINES);
    ad_guard_free(guard);
}
END_TEST

/* Connections from an address of this machine; [0] is the client's end, [1] the listener's. */
static void connect_from(int listener, const char *from, int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, from, &address.sin_addr);
    ck_assert_int_eq(bind(ends[0], (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&address, size), 0);
    ends[1] = accept(listener, NULL, NULL);
    ck_assert_int_ge(ends[1], 0);
}

static int new_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 10), 0);
    return listener;
}

static bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

START_TEST(few_strangers)
{
    static int ends[300][2];
    struct ad_visitors visitors;
    struct ad_guard *guard;
    int listener = new_listener(), n = 0;
    ck_assert_int_eq(ad_guard_new("lamp", NULL, &guard, &err), ADAPS_OK);
    ad_visitors_init(&visitors, guard);
    /* one that has sent a message, then many that have not */
    for (; n < 4 + AD_STRANGERS_OF_ONE_ADDRESS; n++) {
        connect_from(listener, "127.0.0.2", ends[n]);
        ad_visitors_event(&visitors, ZMQ_EVENT_ACCEPTED, (uint32_t)ends[n][1]);
        if (n == 0)
            ad_visitors_know(&visitors, ends[n][1]);
    }
    ck_assert(!has_ended(ends[0][0]));
    for (int i = 1; i < n; i++)
        ck_assert_int_eq(has_ended(ends[i][0]), i < 4);
    ck_assert_int_eq(lines("refused 127.0.0.2, no key: too many connections from there"), 1);
    ck_assert_str_eq(ad_visitors_address(&visitors, ends[0][1]), "127.0.0.2");
    /* from another address one comes in; from many addresses, not many */
    for (int host = 3; n < 150; n++, host++) {
        char from[20];
        snprintf(from, sizeof from, "127.0.0.%d", host);
        connect_from(listener, from, ends[n]);
        ad_visitors_event(&visitors, ZMQ_EVENT_ACCEPTED, (uint32_t)ends[n][1]);
        ck_assert(!has_ended(ends[n][0]));
    }
    for (int i = 1; i < n; i++)
        ck_assert_int_eq(has_ended(ends[i][0]), i < 150 - AD_STRANGERS_MOST);
    ck_assert(!has_ended(ends[0][0]));
    /* their ends make room */
    for (int i = 1; i < n; i++)
        ad_visitors_event(&visitors, ZMQ_EVENT_DISCONNECTED, (uint32_t)ends[i][1]);
    ck_assert_int_eq(visitors.count, 1);
    ad_visitors_drop_stranger(&visitors, "there is none");
    ck_assert(!has_ended(ends[0][0]));
    ad_visitors_drop_all(&visitors);
    ck_assert(has_ended(ends[0][0]));
    for (int i = 0; i < n; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    close(listener);
    ad_guard_free(guard);
}
END_TEST

START_TEST(refused_handshakes_are_logged)
{
    struct ad_visitors visitors;
    struct ad_guard *guard;
    int listener = new_listener(), ends[2];
    static const uint16_t events[] = {0, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                                      ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL,
                                      ZMQ_EVENT_HANDSHAKE_FAILED_AUTH};
    static const int logged[] = {0, 1, 1, 0}; /* the last is by zap.h */
    ck_assert_int_eq(ad_guard_new("lamp", NULL, &guard, &err), ADAPS_OK);
    ad_visitors_init(&visitors, guard);
    for (int i = 0; i < 4; i++) {
        char from[20], text[60];
        snprintf(from, sizeof from, "127.0.0.%d", 9 + i);
        snprintf(text, sizeof text, "refused %s, no key", from);
        connect_from(listener, from, ends);
        ad_visitors_event(&visitors, ZMQ_EVENT_ACCEPTED, (uint32_t)ends[1]);
        if (events[i])
            ad_visitors_event(&visitors, events[i], 0);
        ad_visitors_event(&visitors, ZMQ_EVENT_DISCONNECTED, (uint32_t)ends[1]);
        ck_assert_int_eq(lines(text), logged[i]);
        close(ends[0]);
        close(ends[1]);
    }
    close(listener);
    ad_guard_free(guard);
}
END_TEST

/* Addresses of other transports than TCP would reach into this machine. */
START_TEST(only_tcp)
{
    static const char *const others[] = {"ipc:///tmp/x",    "inproc://zeromq.zap.01",
                                         "ipc://@x",        "udp://127.0.0.1:5570",
                                         "tcp://127.0.0.1", ""};
    char bound[AD_ENDPOINT_BYTES];
    void *context = zmq_ctx_new(), *socket;
    ck_assert_int_eq(ad_socket_new(context, ZMQ_PAIR, 1000, &socket, &err), ADAPS_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(ad_socket_connect(socket, others[i], &err), ADAPS_EUSAGE);
        ck_assert_ptr_nonnull(strstr(err.message, "it must be tcp://HOST:PORT"));
        ck_assert_int_eq(ad_socket_bind(socket, others[i], bound, &err), ADAPS_EUSAGE);
    }
    ad_socket_close(socket, 0);
    zmq_ctx_term(context);
}
END_TEST

/* Somebody who asks and does not read the answers. */
START_TEST(unread_answers)
{
    char bound[AD_ENDPOINT_BYTES];
    struct ad_wire_message message;
    struct ad_frame frame = {.type = AD_FRAME_HELLO};
    static uint8_t bytes[10000];
    void *context = zmq_ctx_new(), *router, *dealer;
    int one = 1, sent = 0;
    ck_assert_int_eq(ad_socket_new(context, ZMQ_ROUTER, 20000, &router, &err), ADAPS_OK);
    ck_assert_int_eq(ad_socket_answers(router, &err), ADAPS_OK);
    ck_assert_int_eq(ad_socket_bind(router, "tcp://127.0.0.1:*", bound, &err), ADAPS_OK);
    ck_assert_int_eq(ad_socket_new(context, ZMQ_DEALER, 20000, &dealer, &err), ADAPS_OK);
    ck_assert_int_eq(zmq_setsockopt(dealer, ZMQ_RCVHWM, &one, sizeof one), 0);
    ck_assert_int_eq(ad_socket_connect(dealer, bound, &err), ADAPS_OK);
    ck_assert_int_eq(ad_wire_message_send(dealer, NULL, &frame, NULL, NULL, 0, &err), ADAPS_OK);
    zmq_pollitem_t item = {.socket = router, .events = ZMQ_POLLIN};
    ck_assert_int_eq(zmq_poll(&item, 1, 10000), 1);
    ad_wire_message_init(&message);
    ck_assert_int_eq(ad_wire_message_recv(router, true, &message, &err), ADAPS_OK);
    while (sent < 20000 && ad_wire_message_send(router, &message.route, &frame, NULL, bytes,
                                                sizeof bytes, &err) == ADAPS_OK)
        sent++;
    ck_assert_int_lt(sent, 20000);
    ck_assert_ptr_nonnull(strstr(err.message, "does not read"));
    ck_assert_int_eq(err.status, ADAPS_EAGENT);
    ad_wire_message_fini(&message);
    ad_socket_close(router, 0);
    ad_socket_close(dealer, 0);
    zmq_ctx_term(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard");
    TCase *t = tcase_create("guard");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, list_that_changes);
    tcase_add_test(t, log_is_limited);
    tcase_add_test(t, few_strangers);
    tcase_add_test(t, refused_handshakes_are_logged);
    tcase_add_test(t, only_tcp);
    tcase_add_test(t, unread_answers);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
