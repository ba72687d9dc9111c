/* The table of faults (tests/faults/table): a controller and two agents, each reached through a
 * proxy that tells when a message passes; a row is what goes wrong, a column the moment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* umount2 */
#endif
#include "base/clock.h"
#include "base/mem.h"
#include "support/faults.h"
#include "support/plan_fixture.h"
#include "support/sanitized.h"
#include "wire/frame.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_S 4.0
#define BUSY_S 1.0 /* more than is promised: the machine may be busy */
#define SUSPENDED_NS ((int64_t)((DEADLINE_S + 2) * 1e9)) /* longer than the deadline */
#define FREE_NS ((int64_t)20000000000)                   /* until agents are free again */

/* What the controller tells this process. */
struct report {
    enum { AT_REST, ENDED } what;
    enum adaps_status status;
    char message[1024];
};

struct bed {
    struct ad_fault_bed at;
    struct adaps_plan *plan;
    int reports[2], go[2];
    int fault_fd; /* the moment has come */
    int done_fd;  /* the fault is there */
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

static void start_agents(struct bed *bed, enum ad_fault_need need)
{
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    for (int i = 0; i < 2; i++) {
        char listen[64];
        snprintf(listen, sizeof listen, "tcp://127.0.0.%d:*", 2 + i);
        struct ad_agent_options slow = {.speed = 0.1, .threads = 1, .listen = listen};
        ad_testbed_init(&bed->at.agents[i]);
        if (need == AD_NEEDS_MOUNTS)
            ad_fault_mount(&bed->at.agents[i]);
        ad_testbed_start(&bed->at.agents[i], 1, &slow);
    }
    bed->plan = ad_testbed_heavy_plan(2, 6, 112, 32);
    ck_assert_int_eq(ad_cluster_copy(&bed->plan->cluster, &cluster, NULL), ADAPS_OK);
    for (int i = 0; i < 2; i++) {
        bed->at.proxies[i] = slow_proxy_start(bed->at.agents[i].address[0], 0, 0);
        snprintf(cluster.devices[i].address, sizeof cluster.devices[i].address, "%s",
                 slow_proxy_address(bed->at.proxies[i]));
        slow_proxy_hold_messages(bed->at.proxies[i]);
    }
    ck_assert_int_eq(ad_plan_readdress(bed->plan, &cluster, &bed->plan, &err), ADAPS_OK);
    ad_cluster_fini(&cluster);
}

static void stop_agents(struct bed *bed, enum ad_fault_need need)
{
    for (int i = 0; i < 2; i++) {
        slow_proxy_stop(bed->at.proxies[i]);
        if (need == AD_NEEDS_MOUNTS)
            ck_assert_int_eq(umount2(ad_testbed_path(&bed->at.agents[i], "cache0"), MNT_DETACH), 0);
        ad_testbed_fini(&bed->at.agents[i]);
    }
    if (*bed->at.group)
        ck_assert_int_eq(rmdir(bed->at.group), 0);
    adaps_plan_free(bed->plan);
}

static void start_controller(struct bed *bed)
{
    pid_t self = getpid();
    ck_assert_int_eq(pipe(bed->reports), 0);
    ck_assert_int_eq(pipe(bed->go), 0);
    fflush(NULL);
    bed->at.controller = fork();
    ck_assert_int_ge(bed->at.controller, 0);
    if (bed->at.controller == 0)
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
        ad_testbed_await_work(&bed->at.agents[bed->at.victim], 0,
                              ad_testbed_cpu_ns(&bed->at.agents[bed->at.victim], 0), 2000000);
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
    ck_assert_int_eq(waitpid(bed->at.controller, &status, 0), bed->at.controller);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    return report;
}

/* Another controller uses the agents that are left. */
static void use_afterwards(struct bed *bed, const struct ad_fault *fault)
{
    struct timespec little = {.tv_nsec = 100000000};
    struct ad_session_options options = {.deadline_s = DEADLINE_S};
    struct ad_session *session = NULL;
    struct ad_agent_status status = {.busy = true};
    struct adaps_error err = {0};
    int survivor = 1 - bed->at.victim;
    bool free = false;
    for (int64_t until = ad_clock_ns() + FREE_NS; !free && ad_clock_ns() < until;) {
        if (fault->kills || bed->at.agents[bed->at.victim].pid[0] == 0)
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
    const struct ad_fault *fault;
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
    snprintf(name, sizeof name, "agent 'dev%d'", bed->at.victim);
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
    const struct ad_fault *fault = cell->fault;
    const struct column *column = cell->column;
    struct bed bed = {.at = {.victim = column->victim, .suspended_ns = SUSPENDED_NS},
                      .fault_fd = eventfd(0, EFD_CLOEXEC),
                      .done_fd = eventfd(0, EFD_CLOEXEC)};
    start_agents(&bed, fault->need);
    if (fault->need == AD_NEEDS_PIDS || fault->need == AD_NEEDS_MEMORY)
        ck_assert(ad_fault_group(fault->need, bed.at.group, sizeof bed.at.group));
    if (column->how == BY_FRAME || column->how == BY_WORK)
        slow_proxy_watch(bed.at.proxies[bed.at.victim], column->frame,
                         column->how == BY_WORK ? moment_passes : moment, &bed);
    if (column->how == FIRST && !fault->wait)
        fault->begin(&bed.at);
    int64_t start = ad_clock_ns();
    start_controller(&bed);
    if (column->how != FIRST) {
        await_moment(&bed, column);
        start = ad_clock_ns();
    }
    if (column->how != FIRST || fault->wait)
        fault->begin(&bed.at);
    tell(bed.done_fd);
    if (fault->wait)
        fault->wait(&bed.at);
    if (column->how == BY_REST) {
        start = ad_clock_ns();
        go_on(&bed);
    } else if (fault->wait) {
        start = ad_clock_ns();
    }
    struct report report = await_end(&bed);
    int64_t took = ad_clock_ns() - start;
    fault->end(&bed.at);
    printf("%s, %s: %.2f s: %s\n", fault->name, column->name, (double)took * 1e-9,
           report.status == ADAPS_OK ? "answer" : report.message);
    check(cell, &bed, &report, took);
    use_afterwards(&bed, fault);
    stop_agents(&bed, fault->need);
}
END_TEST

static const struct column *find_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    return NULL;
}

/* The row of a fault. */
static void read_row(const struct ad_fault *fault)
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
static struct count try_row(const struct ad_fault *fault)
{
    struct count count = {0};
    const char *lacks = ad_fault_lacks(fault);
    read_row(fault);
    if (ncells != sizeof columns / sizeof *columns) {
        printf("%s: %d of %zu moments are in tests/faults/table\n", fault->name, ncells,
               sizeof columns / sizeof *columns);
        count.failed = 1;
        return count;
    }
    if (lacks) {
        printf("%s: left out: %s\n", fault->name, lacks);
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

/* So many rows at the same time: more would be late because of each other. */
#define ROWS_AT_ONCE 6

/* Those of the environment's FAULTS (names), or all. */
static bool is_chosen(const char *name)
{
    const char *chosen = getenv("FAULTS");
    return !chosen || strstr(chosen, name);
}

int main(void)
{
    struct count sum = {0}, count;
    int ends[2], under_way = 0;
    if (SANITIZED) {
        puts("left out: the agents of a sanitizer are too slow for bounds of half a second");
        return 77;
    }
    if (pipe(ends) != 0)
        return 99;
    for (int i = 0; i < AD_FAULTS || under_way > 0;) {
        bool start = i < AD_FAULTS && under_way < ROWS_AT_ONCE;
        if (start && !is_chosen(ad_faults[i].name)) {
            i++;
            continue;
        }
        fflush(NULL);
        pid_t child = start ? fork() : 0;
        if (child < 0)
            return 99;
        if (start && child == 0) {
            count = try_row(&ad_faults[i]);
            if (count.failed > 0) { /* its bounds are of time, and the machine may have been busy */
                printf("%s: once more\n", ad_faults[i].name);
                ncells = 0;
                count = try_row(&ad_faults[i]);
            }
            exit(write(ends[1], &count, sizeof count) == (ssize_t)sizeof count ? 0 : 99);
        }
        under_way += start;
        i += start;
        if (start)
            continue;
        if (wait(&(int){0}) < 0)
            return 99;
        under_way--;
    }
    close(ends[1]);
    for (int i = 0; i < AD_FAULTS; i++) {
        if (!is_chosen(ad_faults[i].name))
            continue;
        if (read(ends[0], &count, sizeof count) != (ssize_t)sizeof count)
            count = (struct count){.failed = 1};
        sum.passed += count.passed;
        sum.failed += count.failed;
        sum.skipped += count.skipped;
    }
    printf("%d passed, %d failed, %d left out\n", sum.passed, sum.failed, sum.skipped);
    return sum.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
