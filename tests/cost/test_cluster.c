/* Devices and board files: what is read, and how what is wrong is refused. */
#include "cost/board.h"
#include "cost/cluster.h"
#include "base/file.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "0123456789abcdefghij0123456789ABCDE#[]{;"
#define GOOD_KEY "0123456789abcdefghij0123456789ABCDE#[]{}"

static char folder[128];

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.90s/adaps-cluster-XXXXXX", base ? base : ".");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, size_t size)
{
    struct adaps_error err;
    ck_assert_int_eq(ad_file_replace(path_of(name), text, size, &err), ADAPS_OK);
}

static void remove_folder(void)
{
    static const char *const names[] = {"d.conf", "boards/own.conf", "boards/bad.conf", "boards",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(path_of(names[i]));
}

static enum adaps_status load(const char *text, struct ad_cluster *cluster, struct adaps_error *err)
{
    write_file("d.conf", text, strlen(text));
    return ad_cluster_load(path_of("d.conf"), cluster, err);
}

START_TEST(everything_given)
{
    struct ad_cluster c;
    struct adaps_error err = {0};
    ck_assert_int_eq(load("\xef\xbb\xbf; comment\r\n"
                          "[link]\n"
                          "  bandwidth = 10mbit ; inline\n"
                          "\tlatency = 0.5ms\n"
                          "[a]\n"
                          "speed = 0.5\nthreads=2\nmemory = 512MB\n"
                          "address = tcp://127.0.0.1:5570\nconv = 10\nconstant = 7us\n"
                          "memory_bandwidth = 2GB/s\n"
                          "message = 20us\nmessage_bandwidth = 500MB/s\n"
                          "feed = 1500\nfetch = 2e3\n"
                          "idle_watts = 2.7\ncore_watts = 0.93\nnetwork_watts = 1e4\n"
                          "f16_encode = 3GB/s\nf16_decode = 4GB/s\n"
                          "[b-2.x]\n"
                          "source = yes\nssh = pi@[fe80::1%eth0]:22\nkey = " GOOD_KEY
                          "\naddress: ipc:///tmp/s\n"
                          "[c]\n" /* nothing said about it */
                          "[link  b-2.x \t a]\n"
                          "bandwidth = 1gbit\n",
                          &c, &err),
                     ADAPS_OK);
    ck_assert_int_eq(c.ndevices, 3);
    ck_assert_int_eq(c.source, 1);
    ck_assert(!c.devices[0].source && c.devices[1].source && !c.devices[2].source);
    ck_assert_str_eq(c.devices[0].name, "a");
    ck_assert_str_eq(c.devices[0].address, "tcp://127.0.0.1:5570");
    ck_assert_double_eq(c.devices[0].speed, 0.5);
    ck_assert_int_eq(c.devices[0].threads, 2);
    ck_assert_uint_eq(c.devices[0].memory, 512000000);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_CONV], 5e9);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_FC], ad_board_x86().rate[AD_COST_FC]);
    ck_assert_double_eq_tol(c.devices[0].table.constant_s, 7e-6, 1e-15);
    ck_assert_double_eq(c.devices[0].table.memory_bw, 2e9);
    ck_assert_double_eq_tol(c.devices[0].table.message_s, 2e-5, 1e-15);
    ck_assert_double_eq(c.devices[0].table.message_bw, 5e8);
    ck_assert(c.devices[2].table.message_s == 0 && c.devices[2].table.message_bw == 0);
    ck_assert_double_eq(c.devices[0].table.feed_rate, 1.5e9);
    ck_assert_double_eq(c.devices[0].table.fetch_rate, 2e9);
    ck_assert(c.devices[2].table.feed_rate == 0 && c.devices[2].table.fetch_rate == 0);
    ck_assert_int_eq(c.devices[0].table.power.idle_mw, 2700);
    ck_assert_int_eq(c.devices[0].table.power.core_mw, 930);
    ck_assert_int_eq(c.devices[0].table.power.network_mw, 10000000);
    ck_assert(ad_power_known(&c.devices[0].table.power));
    ck_assert(!ad_power_known(&c.devices[2].table.power)); /* board x86 */
    ck_assert_double_eq(c.devices[0].table.encoding.encode[AD_ENCODING_F16], 3e9);
    ck_assert_double_eq(c.devices[0].table.encoding.decode[AD_ENCODING_F16], 4e9);
    ck_assert(c.devices[2].table.encoding.encode[AD_ENCODING_F16] == 0);
    ck_assert_str_eq(c.devices[1].key, GOOD_KEY);
    ck_assert_str_eq(c.devices[1].ssh, "pi@[fe80::1%eth0]:22");
    ck_assert_str_eq(c.devices[0].ssh, "");
    ck_assert_str_eq(c.devices[2].name, "c");
    ck_assert_str_eq(c.devices[2].board, "x86");
    ck_assert_double_eq(c.devices[2].speed, 1);
    ck_assert_uint_eq(c.devices[2].memory, 0);
    ck_assert_double_eq(c.links[0 * 3 + 1].bandwidth, 1.25e8);
    ck_assert_double_eq(c.links[1 * 3 + 0].bandwidth, 1.25e8);
    ck_assert_double_eq_tol(c.links[1 * 3 + 0].latency, 0.5e-3, 1e-15);
    ck_assert_double_eq(c.links[0 * 3 + 2].bandwidth, 1.25e6);
    ck_assert_int_eq(ad_cluster_find(&c, "c"), 2);
    ck_assert_int_eq(ad_cluster_find(&c, "link"), -1);
    ad_cluster_fini(&c);
}
END_TEST

START_TEST(first_device_is_the_source)
{
    struct ad_cluster c, copy;
    ck_assert_int_eq(load("[x]\n[y]\nsource = no\n", &c, NULL), ADAPS_OK);
    ck_assert(c.source == 0 && c.devices[0].source && !c.devices[1].source);
    ck_assert_double_eq(c.links[1].bandwidth, 12.5e6);
    ad_cluster_override_links(&c, 5, -1);
    ck_assert_double_eq(c.links[2].bandwidth, 5);
    ck_assert_double_eq_tol(c.links[2].latency, 0.3e-3, 1e-15);
    ad_cluster_override_links(&c, -1, 0);
    ck_assert_double_eq(c.links[1].bandwidth, 5);
    ck_assert_double_eq(c.links[1].latency, 0);
    ck_assert_int_eq(ad_cluster_copy(&c, &copy, NULL), ADAPS_OK);
    ck_assert_str_eq(copy.devices[1].name, "y");
    ck_assert_double_eq(copy.links[2].bandwidth, 5);
    ad_cluster_fini(&copy);
    ad_cluster_fini(&c);
}
END_TEST

#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static const struct {
    const char *text, *says;
} wrong[] = {
    {"", "no device"},
    {"[link]\nbandwidth = 1mbit\n", "no device"},
    {"speed = 1\n[a]\n", ":1: speed = 1: before any [section]"},
    {"[a]\nspeeed = 1\n", ":2: [a] speeed = 1: unknown key"},
    {"[a]\n[a]\n", ":2: [a]: already given in line 1"},
    {"[a]\nspeed = 1\n[b]\n[a]\n", ":4: [a]: already given in line 1"},
    {"[a]\nspeed = 1\nspeed = 2\n", ":3: [a] speed = 2: already given in line 2"},
    {"[a]\nspeed = 0\n", ":2: [a] speed = 0: a number in"},
    {"[a]\nspeed = fast\n", "[a] speed = fast: a number in"},
    {"[a]\nspeed = 1001\n", "[a] speed = 1001: a number in"},
    {"[a]\nthreads = 65\n", "[a] threads = 65: an integer from 1 to 64"},
    {"[a]\nthreads = 0\n", "[a] threads = 0"},
    {"[a]\nmemory = 4 apples\n", "[a] memory = 4 apples: a size"},
    {"[a]\nsource = maybe\n", "[a] source = maybe: yes or no"},
    {"[a]\nsource = yes\n[b]\nsource = yes\n", ":4: [b] source = yes: a is the source already"},
    {"[a]\naddress = 192.168.1.1\n", "[a] address = 192.168.1.1: tcp://HOST:PORT"},
    {"[a]\naddress = tcp://:5570\n", "tcp://HOST:PORT"},
    {"[a]\naddress = tcp://h:0\n", "tcp://HOST:PORT"},
    {"[a]\naddress = tcp://h:99999\n", "tcp://HOST:PORT"},
    {"[a]\naddress = tcp://h:1\n[b]\naddress = tcp://h:1\n", ":4: [b] address = tcp://h:1: also"},
    {"[a]\naddress = ipc://" SIXTY SIXTY TEN "\n", "longer than 127 bytes"},
    {"[a]\nssh = -oProxyCommand=x\n", "[a] ssh = -oProxyCommand=x: [USER@]HOST[:PORT]"},
    {"[a]\nssh = pi@a b\n", "[USER@]HOST[:PORT] is wanted"},
    {"[a]\nssh =\n", "[USER@]HOST[:PORT] is wanted"},
    {"[a]\nkey = short\n", "[a] key = short: a CURVE public key"},
    {"[a]\nkey = " KEY "\n", "a CURVE public key"},
    {"[a]\nboard = ../x\n", "[a] board = ../x: a name is wanted"},
    {"[a]\nboard = nonesuch\n", ":2: [a] board = nonesuch"},
    {"[a]\nconv = -1\n", "[a] conv = -1: a number of GFLOP/s"},
    {"[a]\npool = 0\n", "[a] pool = 0: a number of Melements/s"},
    {"[a]\nconstant = 5\n", "[a] constant = 5: a time"},
    {"[a]\nmemory_bandwidth = 5\n", "[a] memory_bandwidth = 5: a rate"},
    {"[a]\nmessage = 2s\n", "[a] message = 2s: a time up to 1s"},
    {"[a]\nmessage_bandwidth = 5\n", "[a] message_bandwidth = 5: a rate"},
    {"[a]\nfeed = 0\n", "[a] feed = 0: a number of Melements/s"},
    {"[a]\nfetch = 5us\n", "[a] fetch = 5us: a number of Melements/s"},
    {"[a]\nidle_watts = 0\n", "[a] idle_watts = 0: a number of watts in [0.001, 10000] is wanted"},
    {"[a]\ncore_watts = 3W\n", "[a] core_watts = 3W: a number of watts"},
    {"[a]\nnetwork_watts = 10001\n", "[a] network_watts = 10001: a number of watts"},
    {"[a b]\n", ":1: [a b]: neither [link]"},
    {"[]\n", ":1: []: neither"},
    {"[" SIXTY "1234]\n", "neither [link]"},
    {"[link]\nbandwidth = 100\n[a]\n", ":2: [link] bandwidth = 100: a rate"},
    {"[link]\nlatency = 2h\n[a]\n", "[link] latency = 2h: a time"},
    {"[link]\njitter = 1ms\n[a]\n", "[link] jitter = 1ms: unknown key"},
    {"[a]\n[b]\n[link a c]\nlatency = 0\n", ":3: [link a c]: there is no device c"},
    {"[a]\n[b]\n[link a a]\n", "[link a a]: a link joins two different devices"},
    {"[a]\n[b]\n[link a]\n", "[link a]: [link] or [link A B] is wanted"},
    {"[a]\n[b]\n[link a b c]\n", "[link] or [link A B] is wanted"},
    {"[a]\n[b]\n[link a b]\n[link b a]\n", ":4: [link b a]: this pair was given already"},
    {"[a]\nnonsense\n", ":2: neither [section] nor key = value"},
    {"[a\nspeed = 1\n", ":1: a section without ']'"},
    {"[a]\n; " SIXTY SIXTY SIXTY SIXTY "\n", ":2: the line is longer than 198 bytes"},
};

START_TEST(refusals)
{
    struct ad_cluster c;
    struct adaps_error err = {0};
    ck_assert_msg(load(wrong[_i].text, &c, &err) == ADAPS_EINPUT, "accepted: %s", wrong[_i].text);
    ck_assert_msg(strstr(err.message, wrong[_i].says), "\"%s\" does not say \"%s\"", err.message,
                  wrong[_i].says);
    ck_assert_msg(strstr(err.message, path_of("d.conf")), "no file name: %s", err.message);
    ck_assert_ptr_null(c.devices);
}
END_TEST

START_TEST(other_refusals)
{
    struct ad_cluster c;
    struct adaps_error err = {0};
    char many[2048] = "";
    write_file("d.conf", "[a]\n\0[b]\n", 10);
    ck_assert_int_eq(ad_cluster_load(path_of("d.conf"), &c, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "NUL byte"));
    ck_assert_int_eq(ad_cluster_load(path_of("absent.conf"), &c, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "absent.conf"));
    for (int i = 0; i <= AD_MAX_DEVICES; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "[d%d]\n", i);
    ck_assert_int_eq(load(many, &c, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "more than 64 devices"));
    *strstr(many, "[d64]") = '\0';
    ck_assert_int_eq(load(many, &c, &err), ADAPS_OK);
    ck_assert_int_eq(c.ndevices, 64);
    ad_cluster_fini(&c);
}
END_TEST

#define BOARD "[cost]\nconv=2\ngrouped=2\ndepthwise=2\nfc=2\npool=3\nelementwise=3\ncopy=3\n"

START_TEST(board_files)
{
    struct ad_cluster c;
    struct adaps_error err = {0};
    const char *own = BOARD "memory_bandwidth=1GB/s\nidle_watts=3\nsource=a test\n";
    static const struct {
        const char *text, *says;
    } bad[] = {
        {BOARD, "the key memory_bandwidth is missing"},
        {"[cost]\nconv = 1\n", "the key grouped is missing"},
        {BOARD "threads = 0\n", ":9: [cost] threads = 0: an integer from 1 to 64 is wanted"},
        {BOARD "colour = red\n", ":9: [cost] colour = red: unknown key"},
        {BOARD "[more]\n", ":9: [more]: unknown section"},
        {BOARD "source = " SIXTY SIXTY TEN "\n", "longer than 127 bytes"},
    };
    ck_assert_int_eq(mkdir(path_of("boards"), 0700), 0);
    write_file("boards/own.conf", own, strlen(own));
    /* Inline keys win over the board wherever they stand. */
    ck_assert_int_eq(load("[a]\nfc = 8\nboard = own\ncore_watts=2\nconv = 6\n", &c, &err),
                     ADAPS_OK);
    ck_assert_str_eq(c.devices[0].board, "own");
    ck_assert_str_eq(c.devices[0].table.source, "a test");
    ck_assert_int_eq(c.devices[0].table.power.idle_mw, 3000);
    ck_assert_int_eq(c.devices[0].table.power.core_mw, 2000);
    ck_assert_int_eq(c.devices[0].table.power.network_mw, 0);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_CONV], 3e9);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_FC], 4e9);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_GROUPED], 1e9);
    ck_assert_double_eq(c.devices[0].table.rate[AD_COST_POOL], 3e6);
    ck_assert_double_eq(c.devices[0].table.constant_s, 0);
    ad_cluster_fini(&c);
    const char *four = BOARD "memory_bandwidth=1GB/s\nthreads = 4\n";
    write_file("boards/own.conf", four, strlen(four));
    ck_assert_int_eq(load("[all]\nthreads = 4\nboard = own\n"
                          "[default]\nboard = own\n"
                          "[one]\nboard = own\nthreads = 1\nfc = 8\n"
                          "[more]\nboard = own\nthreads = 8\n",
                          &c, &err),
                     ADAPS_OK);
    static const int threads[] = {4, 4, 1, 8};
    static const double part[] = {1, 1, 0.25, 1};
    for (int d = 0; d < 4; d++) {
        const struct ad_cost_table *table = &c.devices[d].table;
        ck_assert_int_eq(c.devices[d].threads, threads[d]);
        ck_assert_double_eq(table->rate[AD_COST_GROUPED], part[d] * 1e9);
        ck_assert_double_eq(table->rate[AD_COST_POOL], part[d] * 3e6);
        ck_assert_double_eq(table->memory_bw, 1e9);
    }
    ck_assert_double_eq(c.devices[2].table.rate[AD_COST_FC], 4e9);
    ad_cluster_fini(&c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("boards/bad.conf", bad[i].text, strlen(bad[i].text));
        ck_assert_int_eq(load("[a]\nboard = bad\n", &c, &err), ADAPS_EINPUT);
        ck_assert_msg(strstr(err.message, bad[i].says), "%s", err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "boards/bad.conf"));
    }
}
END_TEST

START_TEST(shipped_files)
{
    static const struct {
        const char *name;
        int devices;
    } files[] = {{"pi5-pi4", 2}, {"pi5x2-pi4x2", 4}, {"pi4x4", 4},
                 {"local2", 2},  {"local3", 3},      {"local4", 4}};
    static const char *const boards[] = {"n100", "pi-cm5", "pi-zero-2", "pi3", "pi4", "pi5", "x86"};
    const char *srcdir = getenv("srcdir");
    char path[512];
    struct adaps_error err = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct ad_cluster c;
        snprintf(path, sizeof path, "%s/devices/%s.conf", srcdir ? srcdir : ".", files[i].name);
        ck_assert_msg(ad_cluster_load(path, &c, &err) == ADAPS_OK, "%s", err.message);
        ck_assert_int_eq(c.ndevices, files[i].devices);
        for (int d = 0; d < c.ndevices; d++)
            ck_assert_msg(c.devices[d].address[0] && c.devices[d].table.source[0], "%s", path);
        ad_cluster_fini(&c);
    }
    snprintf(path, sizeof path, "%s/devices/x.conf", srcdir ? srcdir : ".");
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++) {
        struct ad_cost_table table, built_in = ad_board_x86();
        ck_assert_msg(ad_board_load(path, boards[i], &table, &err) == ADAPS_OK, "%s", err.message);
        ck_assert(table.constant_s > 0 && table.source[0]);
        if (strcmp(boards[i], "x86") != 0)
            continue;
        for (int class = 0; class < AD_COST_CLASSES; class ++)
            ck_assert_double_eq(table.rate[class], built_in.rate[class]);
        ck_assert_double_eq(table.constant_s, built_in.constant_s);
        ck_assert_double_eq(table.memory_bw, built_in.memory_bw);
    }
}
END_TEST

START_TEST(no_memory)
{
    struct ad_cluster c;
    struct adaps_error err = {0};
    enum adaps_status status = ADAPS_EINTERNAL;
    const char *text = "[a]\nspeed = 1\n[b]\nboard = x86\n[link a b]\nlatency = 0\n";
    write_file("d.conf", text, strlen(text));
    int n = 0;
    while (status != ADAPS_OK && ++n < 1000) {
        ad_mem_fail_after(n);
        status = ad_cluster_load(path_of("d.conf"), &c, &err);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
    }
    ck_assert_int_gt(n, 5);
    ck_assert_int_eq(status, ADAPS_OK);
    ad_cluster_fini(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *c = tcase_create("devices files");
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, everything_given);
    tcase_add_test(c, first_device_is_the_source);
    tcase_add_loop_test(c, refusals, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, other_refusals);
    tcase_add_test(c, board_files);
    tcase_add_test(c, shipped_files);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
