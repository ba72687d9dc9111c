/* What the agent tells a service manager, received at a socket as systemd's would be. */
#include "support/agents_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_SECONDS 60 /* for a message that must come */

/* A manager's socket, at a path of the test bed or (abstract) at a name of this process. */
static int listen_as_manager(const struct ad_testbed *testbed, bool abstract, char *name,
                             size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval wait = {.tv_sec = WAIT_SECONDS};
    if (abstract)
        snprintf(name, size, "@adaps-test-%ld", (long)getpid());
    else
        snprintf(name, size, "%s", ad_testbed_path(testbed, "manager"));
    ck_assert_uint_lt(strlen(name), sizeof address.sun_path);
    memcpy(address.sun_path, name, strlen(name));
    if (abstract)
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    return fd;
}

static const char *hear(int fd)
{
    static char text[2048];
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    ck_assert_msg(n > 0, "the agent says nothing for %d s", WAIT_SECONDS);
    text[n] = '\0';
    return text;
}

static void agent_tells_its_life(bool abstract)
{
    struct ad_testbed testbed;
    struct ad_agent_options options = {.speed = 1, .threads = 1, .note = "for a test"};
    char name[300], wanted[600];
    ad_testbed_init(&testbed);
    int manager = listen_as_manager(&testbed, abstract, name, sizeof name);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "200000", 1);
    unsetenv("WATCHDOG_PID");
    ad_testbed_start(&testbed, 1, &options);
    snprintf(wanted, sizeof wanted, "READY=1\nSTATUS=listening on %s without keys: for a test",
             testbed.address[0]);
    ck_assert_str_eq(hear(manager), wanted);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(hear(manager), "WATCHDOG=1");
    ad_testbed_fini(&testbed); /* SIGTERM; the agent must have ended with 0 */
    const char *last;
    do
        last = hear(manager);
    while (strcmp(last, "WATCHDOG=1") == 0);
    ck_assert_str_eq(last, "STOPPING=1");
    close(manager);
}

START_TEST(test_socket_with_a_path)
{
    agent_tells_its_life(false);
}
END_TEST

START_TEST(test_abstract_socket)
{
    agent_tells_its_life(true);
}
END_TEST

/* A watchdog that watches another process gets no signs of life from this one. */
START_TEST(test_watchdog_of_another)
{
    struct ad_testbed testbed;
    char name[300];
    ad_testbed_init(&testbed);
    int manager = listen_as_manager(&testbed, false, name, sizeof name);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "1", 1);
    setenv("WATCHDOG_PID", "1", 1);
    ad_testbed_start(&testbed, 1, NULL);
    ck_assert_ptr_nonnull(strstr(hear(manager), "READY=1\n"));
    ad_testbed_fini(&testbed);
    ck_assert_str_eq(hear(manager), "STOPPING=1");
    close(manager);
}
END_TEST

/* An agent without its manager says so, and works. */
START_TEST(test_unreachable)
{
    static const char *const sockets[] = {"/nowhere/at/all", "no-socket", "@"};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
        struct ad_testbed testbed;
        char wanted[100], line[300] = "";
        setenv("NOTIFY_SOCKET", sockets[i], 1);
        ad_testbed_init(&testbed);
        ad_testbed_start(&testbed, 1, NULL);
        FILE *log = fopen(ad_testbed_path(&testbed, "log0"), "r");
        ck_assert_ptr_nonnull(log);
        ck_assert_ptr_nonnull(fgets(line, sizeof line, log));
        fclose(log);
        snprintf(wanted, sizeof wanted, "agent0: warning: NOTIFY_SOCKET=%s: ", sockets[i]);
        ck_assert_ptr_nonnull(strstr(line, wanted));
        ad_testbed_fini(&testbed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notify");
    TCase *tc = tcase_create("agent");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, test_socket_with_a_path);
    tcase_add_test(tc, test_abstract_socket);
    tcase_add_test(tc, test_watchdog_of_another);
    tcase_add_test(tc, test_unreachable);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
