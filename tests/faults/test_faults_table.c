/* The table of faults (tests/faults/table): a controller and two agents, each reached through a
 * proxy that tells when a message passes; a row is what goes wrong, a column the moment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare */
#endif
#include "base/clock.h"
#include "base/mem.h"
#include "support/agents_fixture.h"
#include "support/plan_fixture.h"
#include "support/sanitized.h"
#include "support/slow_proxy.h"
#include "wire/endpoint.h"
#include "wire/frame.h"

#include <check.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if SANITIZED /* several times as slow */
#define DEADLINE_S 10.0
#define BUSY_S 5.0
#else
#define DEADLINE_S 4.0
#define BUSY_S 1.0 /* more than is promised: the machine may be busy */
#endif
#define SUSPENDED_NS ((int64_t)((DEADLINE_S + 2) * 1e9)) /* longer than the deadline */
#define FREE_NS ((int64_t)20000000000)                   /* until agents are free again */

/* What the controller tells this process. */
struct report {
    enum { AT_REST, ENDED } what;
    enum adaps_status status;
    char message[1024];
};

struct bed {
    struct ad_testbed agents[2]; /* one each */
    struct slow_proxy *proxies[2];
    struct adaps_plan *plan;
    int victim;
    pid_t controller;
    int reports[2], go[2];
    int fault_fd; /* the moment has come */
    int done_fd;  /* the fault is there */
};

/* --- rows --- */

struct fault {
    const char *name;
    bool nft, kills;
    void (*begin)(struct bed *bed);
    void (*wait)(struct bed *bed); /* while it lasts, before the controller ends */
    void (*end)(struct bed *bed);
};

static void nothing(struct bed *bed)
{
    (void)bed;
}

static void kill_agent(struct bed *bed)
{
    ad_testbed_kill(&bed->agents[bed->victim], 0);
}

static void freeze(struct bed *bed)
{
    kill(bed->agents[bed->victim].pid[0], SIGSTOP);
}

static void thaw(struct bed *bed)
{
    kill(bed->agents[bed->victim].pid[0], SIGCONT);
}

static int port_of(const char *address)
{
    struct ad_endpoint endpoint;
    ck_assert_int_eq(ad_endpoint_parse(address, &endpoint, NULL), ADAPS_OK);
    return endpoint.port;
}

static void nft(const char *rule)
{
    char command[600];
    snprintf(command, sizeof command, "PATH=$PATH:/usr/sbin nft %s", rule);
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* Everything from and to the victim, but not between controller and proxy: its own port, and the
 * ports of data, which are all that is neither agents' nor proxies'. */
static void filter(struct bed *bed, const char *verdict)
{
    static const char *const ends[] = {"daddr", "dport", "saddr", "sport"};
    int other = 1 - bed->victim;
    char rule[500];
    nft("add table ip faults");
    nft("add chain ip faults in '{ type filter hook input priority 0; }'");
    nft("add rule ip faults in 'tcp flags & rst == rst accept'");
    for (int e = 0; e < 4; e += 2) {
        snprintf(rule, sizeof rule, "add rule ip faults in ip %s 127.0.0.%d tcp %s != %d %s",
                 ends[e], 2 + bed->victim, ends[e + 1],
                 port_of(slow_proxy_address(bed->proxies[bed->victim])), verdict);
        nft(rule);
        snprintf(rule, sizeof rule,
                 "add rule ip faults in ip %s 127.0.0.%d tcp %s != '{ %d, %d }' %s", ends[e],
                 2 + other, ends[e + 1], port_of(slow_proxy_address(bed->proxies[other])),
                 port_of(bed->agents[other].address[0]), verdict);
        nft(rule);
    }
}

static void cut(struct bed *bed)
{
    filter(bed, "reject with tcp reset");
}

static void hole(struct bed *bed)
{
    filter(bed, "drop");
}

static void heal(struct bed *bed)
{
    (void)bed;
    nft("delete table ip faults");
}

static void suspend(struct bed *bed)
{
    kill(bed->controller, SIGSTOP);
}

static void resume(struct bed *bed)
{
    struct timespec little = {.tv_nsec = 10000000};
    for (int64_t until = ad_clock_ns() + SUSPENDED_NS; ad_clock_ns() < until;)
        nanosleep(&little, NULL);
    kill(bed->controller, SIGCONT);
}

static const struct fault faults[] = {
    {"kill", false, true, kill_agent, nothing, nothing},
    {"freeze", false, false, freeze, nothing, thaw},
    {"cut", true, false, cut, nothing, heal},
    {"hole", true, false, hole, nothing, heal},
    {"suspend", false, false, suspend, resume, nothing},
};

/* --- columns --- */

static void tell(int fd)
{
    eventfd_write(fd, 1);
}

static void await(int fd)
{
    eventfd_t count;
    eventfd_read(fd, &count);
}

/* In the proxy's thread: the message waits until the fault is there. */
static void moment(void *self)
{
    struct bed *bed = self;
    tell(bed->fault_fd);
    await(bed->done_fd);
}

/* As `moment`, but the message goes on: of a fault that takes its time. */
static void moment_passes(void *self)
{
    struct bed *bed = self;
    tell(bed->fault_fd);
}

enum how { FIRST, BY_FRAME, BY_WORK, BY_REST };
struct column {
    const char *name;
    enum how how;
    int frame, victim;
};
static const struct column columns[] = {
    {"connect", FIRST, 0, 1},
    {"hello", BY_FRAME, AD_FRAME_HELLO, 1},
    {"plan", BY_FRAME, AD_FRAME_PLAN, 1},
    {"weights", BY_FRAME, AD_FRAME_BLOB, 1},
    {"scatter", BY_FRAME, AD_FRAME_RUN, 1},
    {"halo", BY_WORK, AD_FRAME_RUN, 1},
    {"gather", BY_FRAME, AD_FRAME_DONE, 1}, /* the source's neighbour has sent its part */
    {"result", BY_FRAME, AD_FRAME_DONE, 0}, /* the source's answer */
    {"stop", BY_FRAME, AD_FRAME_CLOSE, 1},
    {"idle", BY_REST, 0, 1},
};

/* --- a cell --- */

static void send_report(int fd, int what, enum adaps_status status, const struct adaps_error *err)
{
    struct report report = {.what = what, .status = status};
    if (status != ADAPS_OK)
        snprintf(report.message, sizeof report.message, "%s", err->message);
    if (write(fd, &report, sizeof report) != (ssize_t)sizeof report)
        _exit(1);
}

static enum adaps_status infer(struct ad_session *session, const struct adaps_plan *plan,
                               struct adaps_error *err)
{
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1), output;
    enum adaps_status status = ad_session_run(session, inputs, &output, NULL, err);
    ad_testbed_tensors_free(inputs, 1);
    if (status == ADAPS_OK) {
        struct ad_tensor *outputs = ad_calloc(1, sizeof *outputs);
        outputs[0] = output;
        ad_testbed_check_outputs(plan, 1, outputs);
    }
    return status;
}

static enum adaps_status push_and_open(const struct adaps_plan *plan, struct ad_session **session,
                                       struct adaps_error *err)
{
    struct ad_session_options options = {.deadline_s = DEADLINE_S};
    struct ad_push_report reports[2];
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    enum adaps_status status = ad_push(plan, &options, &weights, reports, err);
    return status == ADAPS_OK ? ad_session_open(plan, &options, session, err) : status;
}

/* Pushes, opens a session, infers, rests until it is told to go on, infers, closes. */
static _Noreturn void be_controller(struct bed *bed, pid_t parent)
{
    struct adaps_error err = {0};
    struct ad_session *session = NULL;
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    enum adaps_status status = push_and_open(bed->plan, &session, &err);
    if (status == ADAPS_OK)
        status = infer(session, bed->plan, &err);
    if (status == ADAPS_OK) {
        send_report(bed->reports[1], AT_REST, status, &err);
        if (read(bed->go[0], &byte, 1) != 1)
            _exit(1);
        status = infer(session, bed->plan, &err);
    }
    ad_session_close(session);
    send_report(bed->reports[1], ENDED, status, &err);
    _exit(0);
}

static void start_agents(struct bed *bed)
{
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    for (int i = 0; i < 2; i++) {
        char listen[64];
        snprintf(listen, sizeof listen, "tcp://127.0.0.%d:*", 2 + i);
        struct ad_agent_options slow = {.speed = 0.1, .threads = 1, .listen = listen};
        ad_testbed_init(&bed->agents[i]);
        ad_testbed_start(&bed->agents[i], 1, &slow);
    }
    bed->plan = ad_testbed_heavy_plan(2, 6, 112, 32);
    ck_assert_int_eq(ad_cluster_copy(&bed->plan->cluster, &cluster, NULL), ADAPS_OK);
    for (int i = 0; i < 2; i++) {
        bed->proxies[i] = slow_proxy_start(bed->agents[i].address[0], 0, 0);
        snprintf(cluster.devices[i].address, sizeof cluster.devices[i].address, "%s",
                 slow_proxy_address(bed->proxies[i]));
    }
    ck_assert_int_eq(ad_plan_readdress(bed->plan, &cluster, &bed->plan, &err), ADAPS_OK);
    ad_cluster_fini(&cluster);
}

static void start_controller(struct bed *bed)
{
    pid_t self = getpid();
    ck_assert_int_eq(pipe(bed->reports), 0);
    ck_assert_int_eq(pipe(bed->go), 0);
    fflush(NULL);
    bed->controller = fork();
    ck_assert_int_ge(bed->controller, 0);
    if (bed->controller == 0)
        be_controller(bed, self);
}

static struct report read_report(struct bed *bed)
{
    struct report report;
    ck_assert_msg(read(bed->reports[0], &report, sizeof report) == (ssize_t)sizeof report,
                  "the controller ended without a report");
    return report;
}

static void go_on(struct bed *bed)
{
    ck_assert_int_eq(write(bed->go[1], "", 1), 1);
}

/* Until the moment: with the first inference done, or before. */
static void await_moment(struct bed *bed, const struct column *column)
{
    struct pollfd items[2] = {{.fd = bed->fault_fd, .events = POLLIN},
                              {.fd = bed->reports[0], .events = POLLIN}};
    bool rested = false;
    while (column->how == BY_FRAME || column->how == BY_WORK || !rested) {
        ck_assert_int_gt(poll(items, 2, -1), 0);
        if (items[0].revents)
            break;
        struct report report = read_report(bed);
        ck_assert_msg(report.what == AT_REST, "it ended before the moment: %s", report.message);
        rested = true;
        if (column->how != BY_REST)
            go_on(bed);
    }
    if (column->how == BY_WORK)
        ad_testbed_await_work(&bed->agents[bed->victim], 0,
                              ad_testbed_cpu_ns(&bed->agents[bed->victim], 0), 2000000);
}

/* The controller's end. */
static struct report await_end(struct bed *bed)
{
    struct report report = read_report(bed);
    if (report.what == AT_REST) {
        go_on(bed);
        report = read_report(bed);
    }
    int status;
    ck_assert_int_eq(waitpid(bed->controller, &status, 0), bed->controller);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    return report;
}

/* Another controller uses the agents that are left. */
static void use_afterwards(struct bed *bed, const struct fault *fault)
{
    struct timespec little = {.tv_nsec = 100000000};
    struct ad_session_options options = {.deadline_s = DEADLINE_S};
    struct ad_session *session = NULL;
    struct ad_agent_status status = {.busy = true};
    struct adaps_error err = {0};
    int survivor = 1 - bed->victim;
    bool free = false;
    for (int64_t until = ad_clock_ns() + FREE_NS; !free && ad_clock_ns() < until;) {
        if (fault->kills)
            free = ad_agent_query(&bed->plan->cluster.devices[survivor], &options, &status, &err) ==
                       ADAPS_OK &&
                   !status.busy;
        else
            free = push_and_open(bed->plan, &session, &err) == ADAPS_OK;
        if (!free)
            nanosleep(&little, NULL);
    }
    ck_assert_msg(free, "not usable afterwards: %s", err.message);
    if (session) {
        ck_assert_msg(infer(session, bed->plan, &err) == ADAPS_OK, "afterwards: %s", err.message);
        ad_session_close(session);
    }
}

/* --- the table --- */

struct cell {
    const struct fault *fault;
    const struct column *column;
    char what[16];
    double within_s;
};

static struct cell cells[200];
static int ncells;

static void check(const struct cell *cell, const struct bed *bed, const struct report *report,
                  int64_t took_ns)
{
    char name[32];
    bool error = report->status != ADAPS_OK;
    snprintf(name, sizeof name, "agent 'dev%d'", bed->victim);
    ck_assert_msg(strcmp(cell->what, "either") == 0 || error == (strcmp(cell->what, "error") == 0),
                  "%s, %s: status %d: %s", cell->fault->name, cell->column->name, report->status,
                  report->message);
    ck_assert_msg(!error || (report->status == ADAPS_EAGENT && strstr(report->message, name)),
                  "%s, %s: it does not name %s: %s", cell->fault->name, cell->column->name, name,
                  report->message);
    ck_assert_msg((double)took_ns * 1e-9 <= cell->within_s + BUSY_S, "%s, %s: took %.2f s: %s",
                  cell->fault->name, cell->column->name, (double)took_ns * 1e-9, report->message);
}

START_TEST(cell)
{
    const struct cell *cell = &cells[_i];
    const struct fault *fault = cell->fault;
    const struct column *column = cell->column;
    struct bed bed = {.victim = column->victim,
                      .fault_fd = eventfd(0, EFD_CLOEXEC),
                      .done_fd = eventfd(0, EFD_CLOEXEC)};
    start_agents(&bed);
    if (column->how == BY_FRAME || column->how == BY_WORK)
        slow_proxy_watch(bed.proxies[bed.victim], column->frame,
                         column->how == BY_WORK ? moment_passes : moment, &bed);
    if (column->how == FIRST && fault->begin != suspend)
        fault->begin(&bed);
    int64_t start = ad_clock_ns();
    start_controller(&bed);
    if (column->how != FIRST) {
        await_moment(&bed, column);
        start = ad_clock_ns();
    }
    if (column->how != FIRST || fault->begin == suspend)
        fault->begin(&bed);
    tell(bed.done_fd);
    fault->wait(&bed);
    if (column->how == BY_REST) {
        start = ad_clock_ns();
        go_on(&bed);
    } else if (fault->wait != nothing) {
        start = ad_clock_ns();
    }
    struct report report = await_end(&bed);
    int64_t took = ad_clock_ns() - start;
    fault->end(&bed);
    check(cell, &bed, &report, took);
    use_afterwards(&bed, fault);
    for (int i = 0; i < 2; i++) {
        slow_proxy_stop(bed.proxies[i]);
        ad_testbed_fini(&bed.agents[i]);
    }
    adaps_plan_free(bed.plan);
}
END_TEST

/* A network of its own, where rules harm nobody. */
static bool have_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    close(fd);
    return up && system("PATH=$PATH:/usr/sbin nft list ruleset >/dev/null 2>&1") == 0;
}

static const struct column *find_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    return NULL;
}

/* The row of a fault. */
static void read_row(const struct fault *fault)
{
    char path[500], line[200], name[20], column[20], within[20];
    const char *src = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/faults/table", src ? src : ".");
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        struct cell *cell = &cells[ncells];
        if (line[0] == '#' ||
            sscanf(line, "%19s %19s %15s %19s", name, column, cell->what, within) != 4 ||
            strcmp(name, fault->name) != 0)
            continue;
        cell->fault = fault;
        cell->column = find_column(column);
        cell->within_s = strcmp(within, "D") == 0 ? DEADLINE_S + 0.5 : strtod(within, NULL);
        ncells += cell->column != NULL;
    }
    fclose(file);
}

struct count {
    int passed, failed, skipped;
};

/* A row, in a process and a network of its own: rows wait more than they work, so all go on at the
 * same time. */
static struct count try_row(const struct fault *fault)
{
    struct count count = {0};
    bool network = have_network();
    read_row(fault);
    if (ncells != sizeof columns / sizeof *columns) {
        printf("%s: %d of %zu moments are in tests/faults/table\n", fault->name, ncells,
               sizeof columns / sizeof *columns);
        count.failed = 1;
        return count;
    }
    if (fault->nft && !network) {
        count.skipped = ncells;
        return count;
    }
    Suite *suite = suite_create(fault->name);
    TCase *tcase = tcase_create(fault->name);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, cell, 0, ncells);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    count.failed = srunner_ntests_failed(runner);
    count.passed = srunner_ntests_run(runner) - count.failed;
    srunner_free(runner);
    return count;
}

int main(void)
{
    enum { ROWS = sizeof faults / sizeof *faults };
    int ends[ROWS][2];
    struct count sum = {0}, count;
    for (int i = 0; i < ROWS; i++) {
        if (pipe(ends[i]) != 0)
            return 99;
        fflush(NULL);
        pid_t child = fork();
        if (child < 0)
            return 99;
        if (child > 0)
            continue;
        count = try_row(&faults[i]);
        exit(write(ends[i][1], &count, sizeof count) == (ssize_t)sizeof count ? 0 : 99);
    }
    for (int i = 0; i < ROWS; i++) {
        close(ends[i][1]);
        if (read(ends[i][0], &count, sizeof count) != (ssize_t)sizeof count)
            count = (struct count){.failed = 1};
        sum.passed += count.passed;
        sum.failed += count.failed;
        sum.skipped += count.skipped;
    }
    if (sum.skipped > 0)
        printf("%d skipped: no network of its own, or no nft\n", sum.skipped);
    printf("%d passed, %d failed\n", sum.passed, sum.failed);
    return sum.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
