/* What strangers can do to an agent whose port they reach, by plain TCP: the agent keeps little of
 * theirs, and whoever may use it still can. */
#include "base/mem.h"
#include "control/session.h"
#include "support/agents_fixture.h"
#include "support/run_suite.h"
#include "wire/endpoint.h"
#include "wire/keys.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ad_testbed testbed;
static struct ad_keys agent_keys;
static char key_file[300], my_key_file[300], allow_file[300];
static struct ad_session_options options;

/* An agent with keys, which admits those of this test. */
static void start_with_keys(void)
{
    struct ad_keys mine;
    struct adaps_error err;
    ad_testbed_init(&testbed);
    snprintf(key_file, sizeof key_file, "%s", ad_testbed_path(&testbed, "key"));
    snprintf(my_key_file, sizeof my_key_file, "%s", ad_testbed_path(&testbed, "mine"));
    snprintf(allow_file, sizeof allow_file, "%s", ad_testbed_path(&testbed, "allow"));
    ck_assert_int_eq(ad_keys_create(key_file, false, &agent_keys, &err), ADAPS_OK);
    ck_assert_int_eq(ad_keys_create(my_key_file, false, &mine, &err), ADAPS_OK);
    FILE *file = fopen(allow_file, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", mine.public);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(allow_file, 0600), 0);
    struct ad_agent_options agent = {
        .speed = 1, .threads = 1, .key_file = key_file, .allow_file = allow_file};
    ad_testbed_start(&testbed, 1, &agent);
    options = (struct ad_session_options){.deadline_s = 20, .key_file = my_key_file};
}

static void stop(void)
{
    ad_testbed_fini(&testbed);
}

/* Its controller is answered. */
static void check_alive(const char *key)
{
    struct ad_device device = {.name = "dev0"};
    struct ad_agent_status status;
    struct adaps_error err = {0};
    snprintf(device.address, sizeof device.address, "%s", testbed.address[0]);
    snprintf(device.key, sizeof device.key, "%s", key);
    ck_assert_msg(ad_agent_query(&device, &options, &status, &err) == ADAPS_OK, "%s", err.message);
}

static int knock(void)
{
    struct ad_endpoint endpoint;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(ad_endpoint_parse(testbed.address[0], &endpoint, NULL), ADAPS_OK);
    inet_pton(AF_INET, endpoint.host, &address.sin_addr);
    address.sin_port = htons((uint16_t)endpoint.port);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* The agent may have so many descriptors more than it has now. */
static void limit_descriptors(int more)
{
    char path[60];
    struct rlimit limit = {.rlim_cur = (rlim_t)more};
    snprintf(path, sizeof path, "/proc/%d/fd", (int)testbed.pid[0]);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        limit.rlim_cur += entry->d_name[0] != '.';
    closedir(dir);
    limit.rlim_max = limit.rlim_cur;
    ck_assert_int_eq(prlimit(testbed.pid[0], RLIMIT_NOFILE, &limit, NULL), 0);
}

START_TEST(more_connections_than_descriptors)
{
    int fd[60];
    check_alive(agent_keys.public);
    limit_descriptors(6);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 60; i++)
            fd[i] = knock();
        check_alive(agent_keys.public);
        for (int i = 0; i < 60; i++)
            close(fd[i]);
    }
    check_alive(agent_keys.public);
}
END_TEST

/* ZMTP 3: who speaks, and by which mechanism. */
static void greet(int fd, const char *mechanism)
{
    uint8_t greeting[64] = {0xff, [9] = 0x7f, [10] = 3};
    memcpy(greeting + 12, mechanism, strlen(mechanism));
    ck_assert_int_eq(send(fd, greeting, sizeof greeting, MSG_NOSIGNAL), sizeof greeting);
}

/* A message of 500 MB begins. */
static void announce(int fd)
{
    static const uint8_t head[9] = {2, 0, 0, 0, 0, 0x1d, 0xcd, 0x65, 0};
    send(fd, head, sizeof head, MSG_NOSIGNAL);
}

/* Reads until the agent ends the connection. */
static void await_end(int fd)
{
    char bytes[1000];
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        continue;
    close(fd);
}

/* Address space that the agent has had at most, in kB. */
static long peak_kb(void)
{
    char path[60], line[200];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)testbed.pid[0]);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmPeak: %ld kB", &kb);
    fclose(file);
    ck_assert_int_ge(kb, 0);
    return kb;
}

START_TEST(half_messages_before_the_key)
{
    int fd[8];
    check_alive(agent_keys.public);
    long before = peak_kb();
    for (int i = 0; i < 8; i++) {
        fd[i] = knock();
        greet(fd[i], "CURVE");
        announce(fd[i]);
    }
    for (int i = 0; i < 8; i++)
        await_end(fd[i]);
    check_alive(agent_keys.public);
    ck_assert_int_lt(peak_kb() - before, 500 * 1024);
}
END_TEST

START_TEST(half_messages_without_keys)
{
    static const uint8_t ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                   "DEALER";
    int fd[8];
    options = (struct ad_session_options){.deadline_s = 20};
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, NULL);
    check_alive("");
    long before = peak_kb();
    for (int i = 0; i < 8; i++) {
        fd[i] = knock();
        greet(fd[i], "NULL");
        send(fd[i], ready, sizeof ready - 1, MSG_NOSIGNAL);
        announce(fd[i]);
    }
    for (int i = 0; i < 8; i++)
        await_end(fd[i]);
    check_alive("");
    ck_assert_int_lt(peak_kb() - before, 500 * 1024);
    ad_testbed_fini(&testbed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strangers");
    TCase *keys = tcase_create("with keys"), *none = tcase_create("without keys");
    tcase_add_checked_fixture(keys, start_with_keys, stop);
    tcase_add_test(keys, more_connections_than_descriptors);
    tcase_add_test(keys, half_messages_before_the_key);
    tcase_add_test(none, half_messages_without_keys);
    tcase_set_timeout(keys, 60);
    tcase_set_timeout(none, 60);
    suite_add_tcase(suite, keys);
    suite_add_tcase(suite, none);
    return run_suite(suite);
}
