/* What pairing reads: the command line's boards, cluster.conf, and what boards answer, which are
 * strangers' words: ssh is a script here that says what the test wants. */
#include "base/mem.h"
#include "pair/board.h"
#include "pair/conf.h"
#include "support/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "=kwUQ2&[V%UX}q2?*#:[<Cb9:f8$9u]D&C]xAd6H"

static char folder[200], path[300];
static struct adaps_error err;

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-pair-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/conf/cluster.conf", folder);
}

static void remove_folder(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    char file[400];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(file, mode), 0);
}

/* --- boards of the command line --- */

START_TEST(targets)
{
    static const struct {
        const char *text, *user, *host;
        int port;
    } good[] = {
        {"board-a.local", "", "board-a.local", 0},
        {"pi@board-a", "pi", "board-a", 0},
        {"a.b-c_d@10.0.0.7:2222", "a.b-c_d", "10.0.0.7", 2222},
        {"fe80::1%eth0", "", "fe80::1%eth0", 0},
        {"pi@[fe80::1]:22", "pi", "fe80::1", 22},
        {"[::1]", "", "::1", 0},
    };
    static const char *const bad[] = {
        "",      "-oProxyCommand=x", "pi@",     "@host",    "pi@-host",  "-pi@host",
        "host:", "host:0",           "h:65536", "a b",      "pi@host;x", "$(x)",
        "[::1",  "[::1]x",           "[]",      "pi@ho'st", "h:1:2x/",
    };
    struct ad_target target;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(ad_target_parse(good[i].text, &target, &err), ADAPS_OK);
        ck_assert_str_eq(target.user, good[i].user);
        ck_assert_str_eq(target.host, good[i].host);
        ck_assert_int_eq(target.port, good[i].port);
        ck_assert_str_eq(target.text, good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(ad_target_parse(bad[i], &target, &err) == ADAPS_EUSAGE, "%s", bad[i]);
}
END_TEST

START_TEST(names)
{
    static const char *const cases[][3] = {
        {"board-a.local", "x", "board-a"}, {"10.0.0.7", "raspberrypi", "raspberrypi"},
        {"fe80::1", "pi.example", "pi"},   {"10.0.0.7", "b\xc3\xb6se", "b--se"},
        {"10.0.0.7", "...", "board"},      {"10.0.0.7", "--x", "x"},
    };
    char name[20];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ad_target_device_name(cases[i][0], cases[i][1], name, sizeof name);
        ck_assert_str_eq(name, cases[i][2]);
    }
}
END_TEST

/* --- cluster.conf --- */

static const char mine[] = "; mine\n"
                           "[link]\n"
                           "latency = 1ms\n"
                           "\n"
                           "[a]\n"
                           "address = tcp://a:5570\n"
                           "threads = 3 ; as told by the agent\n"
                           "conv = 30 ; measured, 2 shapes\n"
                           "grouped = 7 ; by hand\n"
                           "message = 3us ; measured\n"
                           "speed = 0.5\n"
                           "[link b a]\n"
                           "bandwidth = 100mbit ; by hand\n"
                           "[b]\n"
                           "address = tcp://b:5570\n"
                           "[shapes a]\n"
                           "conv 1x1 8x8x8 -> 8x8x8 = 8:1ms\n";

static const char measured[] = "[link a b]\n"
                               "bandwidth      = 900mbit ; measured\n"
                               "[a]\n"
                               "; measured 2026-11-26\n"
                               "address = tcp://a:5570\n"
                               "threads = 2\n"
                               "conv    = 31 ; measured, 24 shapes\n"
                               "grouped = 9 ; measured, 3 shapes\n"
                               "; depthwise = 0 ; not measured\n"
                               "[b]\n"
                               "; measured 2026-11-26\n"
                               "conv    = 5 ; measured\n"
                               "[shapes a]\n"
                               "conv 3x3 8x8x8 -> 8x8x8 = 8:2ms\n";

static void open_mine(struct ad_conf *conf)
{
    char name[300];
    snprintf(name, sizeof name, "%s/conf", folder);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    write_file("conf/cluster.conf", mine, 0600);
    ck_assert_int_eq(ad_conf_open(conf, path, &err), ADAPS_OK);
}

static void check_text(const struct ad_conf *conf, const char *wanted)
{
    char *text = NULL;
    ck_assert_int_eq(ad_ini_edit_text(&conf->edit, &text, &err), ADAPS_OK);
    ck_assert_str_eq(text, wanted);
    ad_free(text);
}

START_TEST(what_was_measured)
{
    struct ad_conf conf;
    open_mine(&conf);
    ck_assert(!ad_conf_is_measured(&conf, &conf.cluster));
    ad_conf_take_measured(&conf, measured);
    check_text(&conf, "; mine\n"
                      "[link]\n"
                      "latency = 1ms\n"
                      "\n"
                      "[a]\n"
                      "; measured 2026-11-26\n"
                      "address = tcp://a:5570\n"
                      "threads = 2 ; as told by the agent\n"
                      "conv    = 31 ; measured, 24 shapes\n"
                      "grouped = 7 ; by hand\n"
                      "[link b a]\n"
                      "bandwidth = 100mbit ; by hand\n"
                      "[b]\n"
                      "; measured 2026-11-26\n"
                      "address = tcp://b:5570\n"
                      "conv    = 5 ; measured\n"
                      "[shapes a]\n"
                      "conv 3x3 8x8x8 -> 8x8x8 = 8:2ms\n");
    ck_assert(ad_conf_is_measured(&conf, &conf.cluster));
    ad_conf_fini(&conf);
}
END_TEST

START_TEST(devices_that_go)
{
    struct ad_conf conf;
    bool changed = false;
    open_mine(&conf);
    ad_conf_drop(&conf, "b");
    ck_assert(!ad_ini_edit_has(&conf.edit, "link b a") && !ad_ini_edit_has(&conf.edit, "b"));
    ck_assert(ad_ini_edit_has(&conf.edit, "shapes a"));
    ck_assert_int_eq(ad_conf_save(&conf, &changed, &err), ADAPS_OK);
    ck_assert(changed);
    ck_assert_int_eq(ad_conf_save(&conf, &changed, &err), ADAPS_OK);
    ck_assert(!changed);
    ad_conf_drop(&conf, "a"); /* the last one: no file is better than one without devices */
    ck_assert_int_eq(ad_conf_save(&conf, &changed, &err), ADAPS_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ad_conf_fini(&conf);
}
END_TEST

START_TEST(one_at_a_time)
{
    struct ad_conf conf, other;
    ck_assert_int_eq(ad_conf_open(&conf, path, &err), ADAPS_OK); /* none yet */
    ck_assert_int_eq(ad_conf_open(&other, path, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "another adaps pair is at work"));
    ad_conf_fini(&other);
    ad_ini_edit_set(&conf.edit, "a", "address", "tcp://a:5570", NULL);
    ck_assert_int_eq(ad_conf_save(&conf, NULL, &err), ADAPS_OK);
    ad_conf_fini(&conf);
    ck_assert_int_eq(ad_conf_open(&other, path, &err), ADAPS_OK);
    ck_assert_int_eq(other.cluster.ndevices, 1);
    ad_conf_fini(&other);
}
END_TEST

/* --- what boards answer --- */

static struct ad_ssh ssh;

/* The script that stands for ssh: connects, and then says what is in the file "answer". */
static void connect_board(const char *answer)
{
    static char search[400];
    char script[900];
    struct ad_target target;
    snprintf(script, sizeof script,
             "#!/bin/sh\nfor w; do case $w in -oControlMaster=yes) echo hello; echo "
             "adaps-pair-ready; exec cat ;; esac; done\ncat >'%s/input'\ncat '%s/answer'\n"
             "echo why >&2\nexit $(cat '%s/code')\n",
             folder, folder, folder);
    write_file("ssh", script, 0700);
    write_file("answer", answer, 0600);
    write_file("code", "0", 0600);
    snprintf(search, sizeof search, "%s:/usr/bin:/bin", folder);
    setenv("PATH", search, 1);
    ck_assert_int_eq(ad_ssh_init(&err), ADAPS_OK);
    ck_assert_int_eq(ad_target_parse("pi@board", &target, &err), ADAPS_OK);
    ck_assert_int_eq(ad_ssh_open(&ssh, &target, &err), ADAPS_OK);
}

static void disconnect(void)
{
    ad_ssh_close(&ssh);
    ad_ssh_fini();
}

START_TEST(facts)
{
    struct ad_board_facts found;
    connect_board("Welcome!\nadaps-pair: name shelf\nadaps-pair: version adaps-agent 0.1.0\r\n"
                  "adaps-pair: package yes\nadaps-pair: root asks\nadaps-pair: done yes\n");
    ck_assert_int_eq(ad_board_look(&ssh, &found, &err), ADAPS_OK);
    ck_assert_str_eq(found.name, "shelf");
    ck_assert_str_eq(found.version, "0.1.0");
    ck_assert(found.package && !found.systemd && !found.admin);
    ck_assert_int_eq(found.root, AD_ROOT_ASKS);
    disconnect();
}
END_TEST

START_TEST(strange_answers)
{
    static char large[20000];
    static const struct {
        const char *answer, *said;
    } cases[] = {
        {"", "looking what it has failed there (exit status 0): why"},
        {"adaps-pair: name shelf\n", "failed there"},
        {"adaps-pair: name she\033[2Jlf\n", "which is not understood"},
        {"adaps-pair: name \n", "which is not understood"},
        {"adaps-pair: colour red\n", "board answers 'colour red', which is not understood"},
        {"adaps-pair: root everywhere\n", "which is not understood"},
        {"adaps-pair: package no\n", "which is not understood"},
        {large, "says more than"},
    };
    memset(large, 'x', sizeof large - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ad_board_facts found;
        connect_board(cases[i].answer);
        ck_assert_int_eq(ad_board_look(&ssh, &found, &err), ADAPS_EAGENT);
        ck_assert_msg(strstr(err.message, cases[i].said) != NULL, "%s", err.message);
        disconnect();
    }
}
END_TEST

START_TEST(work)
{
    static const char *const lines[] = {KEY " for " KEY " shelf"};
    const struct ad_board_work wanted = {.edit = {.admit = lines, .nadmit = 1}};
    const struct ad_board_facts board = {.version = "1"};
    struct ad_board_answer answer;
    char text[8000] = "", input[300];
    connect_board("adaps-pair: key " KEY "\nadaps-pair: port 5570\nadaps-pair: changed yes\n"
                  "adaps-pair: start adaps-agent --config x\nadaps-pair: done yes\n");
    ck_assert_int_eq(ad_board_work(&ssh, &board, &wanted, &answer, &err), ADAPS_OK);
    ck_assert_str_eq(answer.key, KEY);
    ck_assert_int_eq(answer.port, 5570);
    ck_assert(answer.changed && !answer.restarted);
    snprintf(input, sizeof input, "%s/input", folder);
    FILE *file = fopen(input, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "set -- --admit '" KEY " for " KEY " shelf'\n"));
    write_file("code", "1", 0600);
    ck_assert_int_eq(ad_board_work(&ssh, &board, &wanted, &answer, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "(exit status 1): why"));
    disconnect();
    connect_board("adaps-pair: key short\n");
    ck_assert_int_eq(ad_board_work(&ssh, &board, &wanted, &answer, &err), ADAPS_EAGENT);
    disconnect();
}
END_TEST

START_TEST(no_quote_reaches_a_script)
{
    static const char *const lines[] = {KEY " it's"};
    const struct ad_board_work wanted = {.edit = {.expel = lines, .nexpel = 1}};
    const struct ad_board_facts board = {.version = "1"};
    struct ad_board_answer answer;
    connect_board("");
    ck_assert_int_eq(ad_board_work(&ssh, &board, &wanted, &answer, &err), ADAPS_EINTERNAL);
    disconnect();
}
END_TEST

START_TEST(connections_that_fail)
{
    static const struct {
        const char *script, *said;
    } cases[] = {
        {"#!/bin/sh\necho 'ssh: no route' >&2\nexit 255\n", "by ssh: ssh: no route"},
        {"#!/bin/sh\necho '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @' >&2\n"
         "echo Host key verification failed. >&2\nexit 255\n",
         "its host key is not the one that it had before"},
        {"#!/bin/sh\necho Host key verification failed. >&2\nexit 255\n", "does not know the host"},
        {"#!/bin/sh\nexit 127\n", "there is no program ssh here"},
        {"#!/bin/sh\nexec yes\n", "cannot be reached by ssh"}, /* a greeting without end */
    };
    struct ad_target target;
    connect_board("");
    disconnect();
    ck_assert_int_eq(ad_target_parse("pi@board", &target, &err), ADAPS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("ssh", cases[i].script, 0700);
        ck_assert_int_eq(ad_ssh_init(&err), ADAPS_OK);
        ck_assert_int_eq(ad_ssh_open(&ssh, &target, &err), ADAPS_EAGENT);
        ck_assert_msg(strstr(err.message, cases[i].said) != NULL, "%s", err.message);
        disconnect();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pair");
    TCase *t = tcase_create("pair");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, targets);
    tcase_add_test(t, names);
    tcase_add_test(t, what_was_measured);
    tcase_add_test(t, devices_that_go);
    tcase_add_test(t, one_at_a_time);
    tcase_add_test(t, facts);
    tcase_add_test(t, strange_answers);
    tcase_add_test(t, work);
    tcase_add_test(t, no_quote_reaches_a_script);
    tcase_add_test(t, connections_that_fail);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
