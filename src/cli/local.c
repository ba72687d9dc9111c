/* adaps local: a cluster on this machine for as long as the command lives.
 *
 * Each agent is a daemon (adaps agent) on a loopback port that it chooses. The agents end with this
 * process: it ends them and waits for them, or, when it is killed, the kernel ends them
 * (PR_SET_PDEATHSIG). */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cost/cluster.h"
#include "base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_SECONDS 20
#define GRACE_SECONDS 3

struct local_options {
    int count;
    double speeds[AD_MAX_DEVICES];
    const char *speed; /* the option, or NULL */
    int threads;       /* of each agent; 0 = shares of the cores */
    const char *output, *cache;
    char **command; /* NULL-terminated, or NULL */
};

struct local_agent {
    char name[24];
    pid_t pid; /* 0 when it does not run */
    int ready; /* reading end of the pipe on which it tells its endpoint; -1 afterwards */
    char endpoint[128];
    size_t told; /* bytes of endpoint so far */
};

struct local {
    const struct local_options *options;
    struct local_agent agents[AD_MAX_DEVICES];
    char *folder, *cache; /* folder: the temporary one, removed at the end */
    char *devices;        /* the devices file that was written */
    struct ad_signals signals;
    pid_t command;
    int command_status; /* of waitpid */
    bool command_ended;
    bool stopping;
    int died; /* agents that ended on their own */
};

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void say_ended(const char *name, int status)
{
    if (WIFSIGNALED(status))
        fprintf(stderr, "adaps local: agent %s was killed by signal %d (%s)\n", name,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "adaps local: agent %s ended with exit status %d\n", name,
                WEXITSTATUS(status));
}

/* Takes note of every child that has ended. */
static void reap(struct local *l, int flags)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, flags)) > 0) {
        if (pid == l->command) {
            l->command_ended = true;
            l->command_status = status;
        }
        for (int i = 0; i < l->options->count; i++) {
            if (l->agents[i].pid != pid)
                continue;
            l->agents[i].pid = 0;
            if (!l->stopping) {
                say_ended(l->agents[i].name, status);
                l->died++;
            }
        }
    }
}

static int count_running(const struct local *l)
{
    int running = 0;
    for (int i = 0; i < l->options->count; i++)
        running += l->agents[i].pid > 0;
    return running;
}

/* Waits for a signal, for the end of a child, for input at `fd` (-1: none), or until that time.
 * Whether there is input. */
static bool sleep_until(struct local *l, int fd, int64_t until)
{
    struct pollfd items[2] = {[1] = {.fd = fd, .events = POLLIN}};
    ad_signals_wait(&l->signals, items, 2, until);
    reap(l, WNOHANG);
    return items[1].revents != 0;
}

static int64_t in_seconds(int seconds)
{
    return ad_clock_ns() + (int64_t)seconds * 1000000000;
}

/* In the child: a process group of its own, so that Ctrl-C reaches only the parent, which ends it.
 */
static _Noreturn void exec_agent(const struct local *l, int index, int ready, pid_t parent)
{
    const struct local_options *o = l->options;
    char speed[32], threads[16], fd[16];
    char *cache = ad_asprintf("%s/%s", l->cache, l->agents[index].name);
    snprintf(speed, sizeof speed, "%.9g", o->speeds[index]);
    snprintf(threads, sizeof threads, "%d", o->threads);
    snprintf(fd, sizeof fd, "%d", ready);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDONLY);
    if (!cache || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || fcntl(ready, F_SETFD, 0) < 0 ||
        getppid() != parent)
        _exit(ADAPS_EINTERNAL);
    ad_signals_restore(&l->signals);
    const char *argv[] = {"adaps agent",
                          "--listen",
                          "tcp://127.0.0.1:0",
                          "--name",
                          l->agents[index].name,
                          "--cache",
                          cache,
                          "--speed",
                          speed,
                          "--threads",
                          threads,
                          "--ready-fd",
                          fd,
                          NULL};
    struct adaps_error err;
    ad_cli_exec_agent((char *const *)argv, &err);
    _exit(ad_cli_fail(&ad_command_local, &err));
}

static enum adaps_status start_agent(struct local *l, int index, struct adaps_error *err)
{
    struct local_agent *agent = &l->agents[index];
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "pipe: %s", strerror(errno));
    fflush(NULL);
    agent->pid = fork();
    if (agent->pid == 0)
        exec_agent(l, index, ends[1], parent);
    close(ends[1]);
    agent->ready = ends[0];
    if (agent->pid > 0)
        return ADAPS_OK;
    agent->pid = 0;
    return ad_error_set(err, ADAPS_EINTERNAL, "%s: fork: %s", agent->name, strerror(errno));
}

/* Reads what an agent tells of its endpoint. Whether that is complete, or will never be. */
static bool hear(struct local_agent *agent)
{
    size_t room = sizeof agent->endpoint - 1 - agent->told;
    ssize_t n = read(agent->ready, agent->endpoint + agent->told, room);
    if (n < 0 && errno == EINTR)
        return false;
    agent->told += n > 0 ? (size_t)n : 0;
    char *end = memchr(agent->endpoint, '\n', agent->told);
    if (end)
        *end = '\0';
    else if (n > 0 && (size_t)n < room)
        return false;
    else
        agent->endpoint[0] = '\0';
    close(agent->ready);
    agent->ready = -1;
    return true;
}

/* Waits until every agent has told where it listens. */
static enum adaps_status await_ready(struct local *l, struct adaps_error *err)
{
    int64_t until = in_seconds(START_SECONDS);
    for (int i = 0; i < l->options->count; i++) {
        struct local_agent *agent = &l->agents[i];
        while (agent->ready >= 0) {
            bool told = sleep_until(l, agent->ready, until);
            if (l->signals.stop)
                return ad_error_set(err, ADAPS_EAGENT, "ended by signal %d (%s)", l->signals.stop,
                                    strsignal(l->signals.stop));
            if (told)
                hear(agent);
            else if (ad_clock_ns() >= until)
                return ad_error_set(err, ADAPS_EAGENT, "%s: not ready after %d s", agent->name,
                                    START_SECONDS);
        }
        if (!agent->endpoint[0]) {
            /* wait for its end, so that it is reported */
            while (agent->pid > 0 && ad_clock_ns() < until)
                sleep_until(l, -1, until);
            return ad_error_set(err, ADAPS_EAGENT, "%s: did not start", agent->name);
        }
    }
    return ADAPS_OK;
}

static char *devices_text(const struct local *l, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fprintf(out, "; Written by adaps local: agents on this machine, which end with it.\n"
                 "[link]\n"
                 "; the loopback\n"
                 "bandwidth = 10gbit\n"
                 "latency   = 0.05ms\n");
    for (int i = 0; i < l->options->count; i++)
        fprintf(out,
                "\n[%s]\n; process %ld\nboard   = x86\naddress = %s\nspeed   = %.9g\n"
                "threads = %d\n%s",
                l->agents[i].name, (long)l->agents[i].pid, l->agents[i].endpoint,
                l->options->speeds[i], l->options->threads, i == 0 ? "source  = yes\n" : "");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Writes the file of -o, or one in the temporary folder; without a command also to stdout. */
static enum adaps_status write_devices(struct local *l, struct adaps_error *err)
{
    size_t size;
    char *text = devices_text(l, &size);
    l->devices = l->options->output ? ad_strdup(l->options->output)
                                    : ad_asprintf("%s/devices.conf", l->folder);
    enum adaps_status status = text && l->devices ? ad_file_replace(l->devices, text, size, err)
                                                  : ad_error_memory(err, "devices file", 0);
    if (status == ADAPS_OK && !l->options->output && !l->options->command) {
        fputs(text, stdout);
        if (ad_cli_close_stdout(&ad_command_local) != ADAPS_OK)
            status = ad_error_set(err, ADAPS_EINTERNAL, "the devices file is lost");
        fclose(stdout); /* so that a reader at a pipe sees the end */
    }
    free(text);
    return status;
}

static enum adaps_status start_command(struct local *l, struct adaps_error *err)
{
    fflush(NULL);
    l->command = fork();
    if (l->command < 0) {
        l->command = 0;
        return ad_error_set(err, ADAPS_EINTERNAL, "fork: %s", strerror(errno));
    }
    if (l->command > 0)
        return ADAPS_OK;
    ad_signals_restore(&l->signals);
    if (setenv("ADAPS_DEVICES", l->devices, 1) == 0)
        execvp(l->options->command[0], l->options->command);
    fprintf(stderr, "adaps local: %s: %s\n", l->options->command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static enum adaps_status make_folders(struct local *l, struct adaps_error *err)
{
    const char *base = getenv("TMPDIR");
    l->folder = ad_asprintf("%s/adaps-local.XXXXXX", base && *base ? base : "/tmp");
    if (!l->folder)
        return ad_error_memory(err, "folder name", 0);
    if (!mkdtemp(l->folder)) {
        enum adaps_status status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot make the folder: %s",
                                                l->folder, strerror(errno));
        ad_free(l->folder);
        l->folder = NULL;
        return status;
    }
    l->cache = ad_strdup(l->options->cache ? l->options->cache : l->folder);
    if (!l->cache)
        return ad_error_memory(err, "folder name", 0);
    return l->options->cache ? ad_file_mkdirs(l->cache, err) : ADAPS_OK;
}

static enum adaps_status start(struct local *l, struct adaps_error *err)
{
    enum adaps_status status = make_folders(l, err);
    if (status == ADAPS_OK && !ad_signals_init(&l->signals))
        status = ad_error_set(err, ADAPS_EINTERNAL, "signalfd: %s", strerror(errno));
    for (int i = 0; status == ADAPS_OK && i < l->options->count; i++)
        status = start_agent(l, i, err);
    if (status == ADAPS_OK)
        status = await_ready(l, err);
    if (status == ADAPS_OK)
        status = write_devices(l, err);
    if (status == ADAPS_OK) {
        fprintf(stderr, "adaps local: %d agent%s ready (%s)\n", l->options->count,
                l->options->count == 1 ? " is" : "s are", l->devices);
        if (l->options->command)
            status = start_command(l, err);
    }
    return status;
}

/* Waits until the command has ended, a signal has come, or no agent is left. */
static void stay(struct local *l)
{
    while (!l->signals.stop && !l->command_ended && (l->command || count_running(l) > 0))
        sleep_until(l, -1, INT64_MAX);
    if (!l->command || l->command_ended)
        return;
    kill(l->command, l->signals.stop);
    int64_t until = in_seconds(GRACE_SECONDS);
    while (!l->command_ended && ad_clock_ns() < until)
        sleep_until(l, -1, until);
    if (!l->command_ended)
        kill(l->command, SIGKILL);
}

static void kill_agents(const struct local *l, int signal)
{
    for (int i = 0; i < l->options->count; i++)
        if (l->agents[i].pid > 0)
            kill(l->agents[i].pid, signal);
}

/* Ends the agents and waits for every child; removes what was temporary. */
static void finish(struct local *l)
{
    l->stopping = true;
    kill_agents(l, SIGTERM);
    int64_t until = in_seconds(GRACE_SECONDS);
    while (count_running(l) > 0 && ad_clock_ns() < until)
        sleep_until(l, -1, until);
    kill_agents(l, SIGKILL);
    reap(l, 0);
    for (int i = 0; i < l->options->count; i++)
        if (l->agents[i].ready >= 0)
            close(l->agents[i].ready);
    if (l->folder && nftw(l->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "adaps local: %s: cannot remove: %s\n", l->folder, strerror(errno));
    ad_free(l->folder);
    ad_free(l->cache);
    ad_free(l->devices);
    ad_signals_fini(&l->signals);
}

static int exit_code(const struct local *l)
{
    if (l->command && WIFSIGNALED(l->command_status))
        return 128 + WTERMSIG(l->command_status);
    if (l->command)
        return WEXITSTATUS(l->command_status);
    return l->died ? ADAPS_EAGENT : ADAPS_OK;
}

static int serve(const struct local_options *options)
{
    struct local *l = ad_calloc(1, sizeof *l);
    struct adaps_error err = {0};
    if (!l) {
        ad_error_memory(&err, "local", sizeof *l);
        return ad_cli_fail(&ad_command_local, &err);
    }
    l->options = options;
    l->signals.fd = -1;
    for (int i = 0; i < options->count; i++) {
        snprintf(l->agents[i].name, sizeof l->agents[i].name, "local%d", i);
        l->agents[i].ready = -1;
    }
    enum adaps_status status = start(l, &err);
    if (status == ADAPS_OK)
        stay(l);
    finish(l);
    int code = status == ADAPS_OK ? exit_code(l) : ad_cli_fail(&ad_command_local, &err);
    ad_free(l);
    return code;
}

/* "1,0.5": exactly as many as there are agents. 0 or the exit code of a usage error. */
static int parse_speeds(struct local_options *o, const char *text)
{
    int count = 0;
    for (const char *p = text; p; count++) {
        size_t length = strcspn(p, ",");
        char number[32];
        snprintf(number, sizeof number, "%.*s", (int)(length < 31 ? length : 31), p);
        if (count < o->count && !ad_parse_double(number, 0.001, 1, &o->speeds[count]))
            return ad_cli_usage(&ad_command_local,
                                "--speed '%s': fractions from 0.001 to 1 expected", text);
        p = p[length] ? p + length + 1 : NULL;
    }
    if (count != o->count)
        return ad_cli_usage(&ad_command_local, "--speed '%s': %d values for %d agents", text, count,
                            o->count);
    return ADAPS_OK;
}

/* Splits argv at "--"; the command is what comes after it. */
static int split_command(int argc, char **argv, char ***command)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            *command = argv + i + 1;
            argv[i] = NULL;
            return i;
        }
    *command = NULL;
    return argc;
}

static int run_local(int argc, char **argv)
{
    struct local_options o = {0};
    struct ad_operands operands;
    int64_t number;
    argc = split_command(argc, argv, &o.command);
    int code = ad_options_parse(&ad_command_local, argc, argv, &o, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count != 1 || !ad_parse_int(operands.items[0], 1, AD_MAX_DEVICES, &number))
        return ad_cli_usage(&ad_command_local,
                            "one number of agents from 1 to %d expected (a command goes after --)",
                            AD_MAX_DEVICES);
    if (o.command && !o.command[0])
        return ad_cli_usage(&ad_command_local, "a command expected after --");
    o.count = (int)number;
    for (int i = 0; i < o.count; i++)
        o.speeds[i] = 1;
    if (o.speed)
        code = parse_speeds(&o, o.speed);
    if (code != ADAPS_OK)
        return code;
    /* Compute threads spin while they wait. All agents together must not have more of them than
     * there are cores, and each agent leaves one core to its communication. */
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (o.threads == 0)
        o.threads = ad_machine_most_threads(cores / o.count);
    if (o.threads > 64)
        o.threads = 64;
    return serve(&o);
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('o', "output", "FILE", struct local_options, output,
                "write the devices file here (default: on stdout)"),
    AD_OPT_TEXT(0, "speed", "F,F,...", struct local_options, speed,
                "fraction of full speed of each agent, from 0.001 to 1"),
    AD_OPT_INT("threads", "N", struct local_options, threads, 1, 64,
               "compute threads of each agent (default: cores / N - 1, at least 1)"),
    AD_OPT_TEXT(0, "cache", "DIR", struct local_options, cache,
                "keep the agents' caches here (default: a temporary folder)"),
    AD_OPT_END,
};

const struct ad_command ad_command_local = {
    .name = "local",
    .arguments = "[OPTION...] N [-- COMMAND [ARGUMENT...]]",
    .summary = "Start N agents on this machine; end them when it ends.",
    .options = options_table,
    .notes =
        "With COMMAND: run it when the agents are ready, with $ADAPS_DEVICES naming the devices\n"
        "file; its exit status is that of adaps local.\n",
    .run = run_local,
};
