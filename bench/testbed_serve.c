/* What lives in a testbed: services (agents, the relay) and the command. Whatever happens, nothing
 * of it outlives the testbed: services die with this process, the orphans of all of them become its
 * children, and it ends them when the command ends, when a signal comes, or when the other end of
 * the life line (a pipe) is closed, as the kernel does for a script that was killed. */
#include "bench/testbed_helper.h"
#include "base/clock.h"
#include "base/signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVICES 65
#define START_NS 10000000000 /* a service is ready within this */
#define GRACE_NS 2000000000  /* between SIGTERM and SIGKILL */

struct service {
    const char *name;
    pid_t pid;
    bool asked; /* its end was asked for */
};

struct testbed {
    int life, control;
    struct ad_signals signals; /* its `stop` ends it all */
    const char *starter;
    struct service services[SERVICES];
    int nservices;
    pid_t command;
    int command_status;
};

/* --- children --- */

static void tell_end(const struct service *s, int status)
{
    if (WIFSIGNALED(status))
        fprintf(stderr, "testbed: %s ended: signal %d (%s)\n", s->name, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "testbed: %s ended: exit status %d\n", s->name, WEXITSTATUS(status));
}

static void note_end(struct testbed *testbed, pid_t pid, int status)
{
    if (pid == testbed->command) {
        testbed->command = 0;
        testbed->command_status = status;
    }
    for (int i = 0; i < testbed->nservices; i++) {
        struct service *s = &testbed->services[i];
        if (s->pid != pid)
            continue;
        s->pid = 0;
        if (!s->asked && !testbed->signals.stop)
            tell_end(s, status);
    }
}

/* False: no child is left. */
static bool reap(struct testbed *testbed)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        note_end(testbed, pid, status);
    return pid == 0;
}

static pid_t start_child(struct testbed *testbed, bool service, char *const *argv, int ready)
{
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    static const int defaults[] = {SIGINT, SIGQUIT, SIGPIPE, SIGHUP, SIGTERM};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL); /* shells let background commands ignore some */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close(testbed->life);
    if (service) {
        setpgid(0, 0); /* Ctrl-C is for the command, and for us */
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing >= 0)
            dup2(nothing, 0);
        if (ready == TESTBED_READY_FD)
            fcntl(ready, F_SETFD, 0);
        else
            dup2(ready, TESTBED_READY_FD);
    }
    ad_signals_restore(&testbed->signals);
    execvp(argv[0], argv);
    testbed_fail(ADAPS_EAGENT, "%s", argv[0]);
    _exit(errno == ENOENT ? 127 : 126);
}

/* --- waiting --- */

/* Sleeps until a signal, the end of a child, an event at `fd` or the time; true: an event at fd. */
static bool sleep_until(struct testbed *testbed, int fd, int64_t until)
{
    struct pollfd items[3] = {
        [1] = {.fd = fd, .events = POLLIN},
        [2] = {.fd = testbed->signals.stop ? -1 : testbed->life, .events = 0}};
    ad_signals_wait(&testbed->signals, items, 3, until);
    if (items[2].revents && !testbed->signals.stop)
        testbed->signals.stop = SIGTERM;
    reap(testbed);
    return items[1].revents != 0;
}

/* --- services --- */

static const char *start_service(struct testbed *testbed, struct service *s)
{
    int ends[2];
    if (s->pid)
        return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return "no pipe";
    char *argv[] = {"sh", (char *)testbed->starter, "_service", (char *)s->name, NULL};
    s->asked = false;
    s->pid = start_child(testbed, true, argv, ends[1]);
    close(ends[1]);
    if (s->pid < 0) {
        s->pid = 0;
        close(ends[0]);
        return "cannot be started";
    }
    int64_t until = ad_clock_ns() + START_NS;
    char byte;
    bool ready = false;
    while (!ready && s->pid && !testbed->signals.stop && ad_clock_ns() < until)
        if (sleep_until(testbed, ends[0], until)) {
            ready = read(ends[0], &byte, 1) == 1;
            if (!ready)
                break; /* the service closed it: it is about to end */
        }
    close(ends[0]);
    return ready ? NULL : "did not start";
}

static void end_service(struct testbed *testbed, struct service *s)
{
    s->asked = true;
    if (s->pid)
        kill(s->pid, SIGKILL);
    while (s->pid && !testbed->signals.stop)
        sleep_until(testbed, -1, INT64_MAX);
}

static struct service *find_service(struct testbed *testbed, const char *name)
{
    for (int i = 0; i < testbed->nservices; i++)
        if (strcmp(testbed->services[i].name, name) == 0)
            return &testbed->services[i];
    return NULL;
}

/* start, kill, freeze, thaw NAME. */
static void take_request(struct testbed *testbed)
{
    char buffer[1024], *words[TESTBED_WORDS];
    int count = 0, fd = accept4(testbed->control, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    const char *wrong = "no such request";
    bool heard = testbed_take_request(fd, buffer, sizeof buffer, words, &count);
    struct service *s = heard && count == 2 ? find_service(testbed, words[1]) : NULL;
    if (heard && count == 2 && !s) {
        wrong = "no such service";
    } else if (s && strcmp(words[0], "start") == 0) {
        wrong = start_service(testbed, s);
    } else if (s && strcmp(words[0], "kill") == 0) {
        end_service(testbed, s);
        wrong = NULL;
    } else if (s && (strcmp(words[0], "freeze") == 0 || strcmp(words[0], "thaw") == 0)) {
        int which = words[0][0] == 'f' ? SIGSTOP : SIGCONT;
        wrong = s->pid && kill(s->pid, which) == 0 ? NULL : "does not run";
    }
    if (wrong)
        testbed_answer_request(fd, "%s: %s", count > 1 ? words[1] : "request", wrong);
    else
        testbed_answer_request(fd, "ok\n");
    close(fd);
}

/* --- the end --- */

static void signal_services(struct testbed *testbed, int signal)
{
    for (int i = 0; i < testbed->nservices; i++)
        if (testbed->services[i].pid > 0)
            kill(testbed->services[i].pid, signal);
}

static bool services_left(const struct testbed *testbed)
{
    for (int i = 0; i < testbed->nservices; i++)
        if (testbed->services[i].pid > 0)
            return true;
    return false;
}

/* SIGKILL to every child, adopted ones too. */
static void kill_children(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        char path[300], text[512];
        long pid = strtol(entry->d_name, NULL, 10), parent = 0;
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/stat", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = '\0';
        const char *after = strrchr(text, ')'); /* of the name, which may hold anything */
        if (after && sscanf(after, ") %*c %ld", &parent) == 1 && parent == (long)getpid())
            kill((pid_t)pid, SIGKILL);
    }
    if (dir)
        closedir(dir);
}

/* Waits for the command for so long, at most. */
static void await_command(struct testbed *testbed)
{
    int64_t until = ad_clock_ns() + GRACE_NS;
    while (testbed->command > 0 && ad_clock_ns() < until)
        sleep_until(testbed, -1, until);
    if (testbed->command > 0)
        kill(testbed->command, SIGKILL);
}

/* Ends the command, if it has not ended; then runs the last stage, while the services still run. */
static void end_command(struct testbed *testbed)
{
    if (testbed->command > 0) {
        kill(testbed->command, testbed->signals.stop);
        kill(testbed->command, SIGCONT);
        await_command(testbed);
    }
    int status = testbed->command_status;
    char *argv[] = {"sh", (char *)testbed->starter, "_ended", NULL};
    testbed->command = start_child(testbed, false, argv, -1);
    await_command(testbed);
    testbed->command_status = status;
}

static void finish(struct testbed *testbed)
{
    if (!testbed->signals.stop)
        testbed->signals.stop = SIGTERM; /* ends are no longer reported */
    signal_services(testbed, SIGTERM);
    signal_services(testbed, SIGCONT);
    int64_t until = ad_clock_ns() + GRACE_NS;
    while (services_left(testbed) && ad_clock_ns() < until)
        sleep_until(testbed, -1, until);
    while (reap(testbed)) {
        kill_children();
        sleep_until(testbed, -1, ad_clock_ns() + 10000000);
    }
}

/* --- life --- */

static int start(struct testbed *testbed, char **command)
{
    for (int i = 0; i < testbed->nservices && !testbed->signals.stop; i++) {
        const char *wrong = start_service(testbed, &testbed->services[i]);
        errno = 0;
        if (wrong && !testbed->signals.stop)
            return testbed_fail(ADAPS_EAGENT, "%s %s", testbed->services[i].name, wrong);
    }
    if (testbed->signals.stop)
        return ADAPS_OK;
    testbed->command = start_child(testbed, false, command, -1);
    if (testbed->command < 0) {
        testbed->command = 0;
        return testbed_fail(ADAPS_EINTERNAL, "fork");
    }
    return ADAPS_OK;
}

static int open_ends(struct testbed *testbed, const char *control)
{
    if (!ad_signals_init(&testbed->signals) ||
        prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0 ||
        fcntl(testbed->life, F_SETFD, FD_CLOEXEC) != 0)
        return testbed_fail(ADAPS_EINTERNAL, "cannot begin");
    testbed->control = testbed_listen_path(control);
    return testbed->control < 0 ? ADAPS_EINTERNAL : ADAPS_OK;
}

int testbed_serve(int argc, char **argv)
{
    static struct testbed testbed;
    if (argc < 5)
        return testbed_fail(ADAPS_EUSAGE,
                            "serve FD CONTROL STARTER SERVICE,SERVICE,... COMMAND...");
    testbed.life = atoi(argv[0]);
    testbed.starter = argv[2];
    for (char *rest, *name = strtok_r(argv[3], ",", &rest); name && testbed.nservices < SERVICES;
         name = strtok_r(NULL, ",", &rest))
        testbed.services[testbed.nservices++].name = name;
    int code = open_ends(&testbed, argv[1]);
    if (code == ADAPS_OK)
        code = start(&testbed, argv + 4);
    while (code == ADAPS_OK && testbed.command > 0 && !testbed.signals.stop)
        if (sleep_until(&testbed, testbed.control, INT64_MAX))
            take_request(&testbed);
    int stopped = testbed.signals.stop;
    if (code == ADAPS_OK)
        end_command(&testbed);
    finish(&testbed);
    if (code != ADAPS_OK)
        return code;
    if (stopped)
        return 128 + stopped;
    return WIFSIGNALED(testbed.command_status) ? 128 + WTERMSIG(testbed.command_status)
                                               : WEXITSTATUS(testbed.command_status);
}
