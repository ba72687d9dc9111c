#include "pair/ssh.h"
#include "base/clock.h"
#include "base/mem.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY "adaps-pair-ready"
#define RUN_NS ((int64_t)120 * 1000000000)
#define MOST_GREETING 65536 /* bytes before READY: what a login shell's start files print */
#define WORDS 32

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
static char folder[80];
static int sockets; /* numbers their names */

/* --- the folder --- */

static void remove_folder(int number)
{
    rmdir(folder); /* ssh has removed its sockets, or does so when this process is gone */
    signal(number, SIG_DFL);
    raise(number);
}

enum adaps_status ad_ssh_init(struct adaps_error *err)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    sockets = 0;
    /* ssh makes a longer name of a socket's, which has 107 bytes. */
    if (!base || *base != '/' || strlen(base) > 40)
        base = "/tmp";
    snprintf(folder, sizeof folder, "%s/adaps-pair.XXXXXX", base);
    if (!mkdtemp(folder))
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot make the folder: %s", folder,
                            strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        signal(ending[i], remove_folder);
    return ADAPS_OK;
}

void ad_ssh_fini(void)
{
    rmdir(folder);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        signal(ending[i], SIG_DFL);
}

/* --- processes --- */

struct child {
    pid_t pid;
    int to, from, err; /* our ends of its standard streams; -1: none */
};

/* In the child. */
static _Noreturn void exec_ssh(const char *const *argv, int in, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        signal(ending[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0)
        execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* tty: a descriptor that becomes all three of its streams, or -1. */
static enum adaps_status start(const char *const *argv, int tty, struct child *out,
                               struct adaps_error *err)
{
    int in[2] = {-1, -1}, from[2] = {-1, -1}, said[2] = {-1, -1};
    *out = (struct child){.to = -1, .from = -1, .err = -1};
    bool made = tty >= 0 || (pipe2(in, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0 &&
                             pipe2(said, O_CLOEXEC) == 0);
    fflush(NULL);
    out->pid = made ? fork() : -1;
    if (out->pid == 0)
        exec_ssh(argv, tty >= 0 ? tty : in[0], tty >= 0 ? tty : from[1], tty >= 0 ? tty : said[1]);
    if (out->pid < 0)
        ad_error_set(err, ADAPS_EINTERNAL, "cannot start ssh: %s", strerror(errno));
    close_fd(&in[0]);
    close_fd(&from[1]);
    close_fd(&said[1]);
    if (out->pid < 0) {
        close_fd(&in[1]);
        close_fd(&from[0]);
        close_fd(&said[0]);
        return ADAPS_EINTERNAL;
    }
    out->to = in[1];
    out->from = from[0];
    out->err = said[0];
    if (tty < 0)
        fcntl(out->to, F_SETFL, O_NONBLOCK);
    return ADAPS_OK;
}

/* Its exit status; 128 + N after signal N. */
static int await_end(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void release(struct child *child)
{
    close_fd(&child->to);
    close_fd(&child->from);
    close_fd(&child->err);
}

/* --- what ssh says --- */

static void hear(struct ad_ssh *ssh, const char *line)
{
    char clean[1000];
    ad_text_clean(line, clean, sizeof clean);
    size_t n = strlen(clean);
    if (strstr(clean, "REMOTE HOST IDENTIFICATION HAS CHANGED"))
        ssh->changed = true;
    if (strstr(clean, "Host key verification failed"))
        ssh->unknown = !ssh->changed;
    if (ssh->aloud)
        fprintf(stderr, "%s\n", clean);
    if (ssh->said_length + n + 2 > sizeof ssh->said) /* the latest is worth most */
        ssh->said_length = 0;
    snprintf(ssh->said + ssh->said_length, sizeof ssh->said - ssh->said_length, "%s%s",
             ssh->said_length > 0 ? "; " : "", clean);
    ssh->said_length = strlen(ssh->said);
}

/* Lines of a stream that are heard one by one. */
struct stream {
    char line[1000];
    size_t length;
};

/* Reads what is there; false at the end. Lines that are too long are cut into several. */
static bool read_lines(int fd, struct stream *stream, struct ad_ssh *ssh)
{
    char bytes[500];
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < n; i++) {
        bool end = bytes[i] == '\n';
        if (!end && bytes[i] != '\r' && bytes[i] && stream->length + 1 < sizeof stream->line)
            stream->line[stream->length++] = bytes[i];
        if (!end && stream->length + 1 < sizeof stream->line)
            continue;
        stream->line[stream->length] = '\0';
        if (stream->length > 0)
            hear(ssh, stream->line);
        stream->length = 0;
    }
    stream->line[stream->length] = '\0';
    if (n == 0 && stream->length > 0)
        hear(ssh, stream->line);
    return n > 0;
}

/* --- connections --- */

struct words {
    const char *items[WORDS];
    size_t count;
    char port[16];
};

static void say(struct words *words, const char *word)
{
    if (words->count + 1 < WORDS)
        words->items[words->count++] = word;
}

static void begin_words(struct words *words, const struct ad_target *target)
{
    *words = (struct words){0};
    say(words, "ssh");
    if (target->port) {
        snprintf(words->port, sizeof words->port, "%d", target->port);
        say(words, "-p");
        say(words, words->port);
    }
    if (target->user[0]) {
        say(words, "-l");
        say(words, target->user);
    }
}

/* Only what concerns a connection for commands; keys of hosts and users are the user's matter. */
static const char *const quiet_options[] = {"-oRemoteCommand=none",    "-oClearAllForwardings=yes",
                                            "-oForwardAgent=no",       "-oForwardX11=no",
                                            "-oServerAliveInterval=5", "-oServerAliveCountMax=3"};

static void say_options(struct words *words)
{
    for (size_t i = 0; i < sizeof quiet_options / sizeof *quiet_options; i++)
        say(words, quiet_options[i]);
}

/* Waits for READY on a line of its own; false when the connection has ended before. */
static bool await_ready(struct ad_ssh *ssh, struct stream *errors)
{
    char line[64];
    size_t length = 0, all = 0;
    while (ssh->from >= 0) {
        struct pollfd items[2] = {{.fd = ssh->from, .events = POLLIN},
                                  {.fd = ssh->err, .events = POLLIN}};
        if (poll(items, 2, -1) < 0 && errno != EINTR)
            return false;
        if (items[1].revents && !read_lines(ssh->err, errors, ssh))
            close_fd(&ssh->err);
        if (!items[0].revents)
            continue;
        char c;
        ssize_t n = read(ssh->from, &c, 1);
        if (n == 0 || (n < 0 && errno != EINTR) || ++all > MOST_GREETING)
            return false;
        if (n == 1 && c == '\n') {
            line[length] = '\0';
            if (strcmp(line, READY) == 0)
                return true;
            length = 0;
        } else if (n == 1 && length + 1 < sizeof line) {
            line[length++] = c;
        }
    }
    return false;
}

static enum adaps_status refuse(struct ad_ssh *ssh, int code, struct adaps_error *err)
{
    const char *host = ssh->target.host;
    if (ssh->changed)
        return ad_error_set(
            err, ADAPS_EAGENT,
            "ssh refuses %s: its host key is not the one that it had before. If the board was set "
            "up anew, 'ssh-keygen -R %s' forgets the old key; else somebody may be in between",
            host, host);
    if (ssh->unknown)
        return ad_error_set(err, ADAPS_EAGENT,
                            "ssh does not know the host key of %s: connect once with 'ssh %s' and "
                            "look at it",
                            host, ssh->target.text);
    if (code == 127)
        return ad_error_set(err, ADAPS_EAGENT,
                            "there is no program ssh here (Debian: package openssh-client)");
    return ad_error_set(err, ADAPS_EAGENT, "%s cannot be reached by ssh: %s", ssh->target.text,
                        ssh->said_length > 0 ? ssh->said : "the connection was closed");
}

enum adaps_status ad_ssh_open(struct ad_ssh *ssh, const struct ad_target *target,
                              struct adaps_error *err)
{
    struct words words;
    struct child child;
    struct stream errors = {.length = 0};
    *ssh = (struct ad_ssh){.target = *target, .to = -1, .from = -1, .err = -1};
    snprintf(ssh->socket, sizeof ssh->socket, "%s/%d", folder, ++sockets);
    begin_words(&words, target);
    say_options(&words);
    say(&words, "-oControlMaster=yes");
    say(&words, "-oControlPersist=no");
    say(&words, "-oConnectTimeout=15");
    say(&words, "-T");
    say(&words, "-S");
    say(&words, ssh->socket);
    say(&words, "--");
    say(&words, target->host);
    say(&words, "echo " READY " ; exec cat");
    enum adaps_status status = start(words.items, -1, &child, err);
    if (status != ADAPS_OK)
        return status;
    ssh->master = child.pid;
    ssh->to = child.to;
    ssh->from = child.from;
    ssh->err = child.err;
    ssh->aloud = isatty(STDERR_FILENO); /* beside its questions; else the error has it */
    if (await_ready(ssh, &errors)) {
        ssh->aloud = false;
        fcntl(ssh->err, F_SETFL, O_NONBLOCK);
        return ADAPS_OK;
    }
    close_fd(&ssh->to);
    close_fd(&ssh->from); /* which also ends one that greets without end */
    while (ssh->err >= 0 && read_lines(ssh->err, &errors, ssh))
        continue;
    int code = await_end(ssh->master);
    ssh->master = 0;
    return refuse(ssh, code, err);
}

void ad_ssh_close(struct ad_ssh *ssh)
{
    close_fd(&ssh->to); /* cat ends, and with it the connection */
    close_fd(&ssh->from);
    close_fd(&ssh->err);
    if (ssh->master > 0)
        await_end(ssh->master);
    ssh->master = 0;
}

/* --- commands --- */

static void write_input(struct child *child, const char **input)
{
    size_t left = strlen(*input);
    ssize_t n = left > 0 ? write(child->to, *input, left) : 0;
    if (n > 0)
        *input += n;
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        *input += left; /* it does not read it; its exit status tells */
    if (!**input)
        close_fd(&child->to);
}

/* Moves bytes until both streams have ended. ADAPS_NO: more output than fits; ADAPS_EAGENT: time is
 * over. */
static enum adaps_status move_bytes(struct ad_ssh *ssh, struct child *child, const char *input,
                                    char *output, size_t size)
{
    struct stream errors = {.length = 0}, theirs = {.length = 0};
    int64_t until = ad_clock_ns() + RUN_NS;
    size_t used = 0;
    while (child->from >= 0 || child->err >= 0) {
        struct pollfd items[4] = {{.fd = child->from, .events = POLLIN},
                                  {.fd = child->err, .events = POLLIN},
                                  {.fd = child->to, .events = POLLOUT},
                                  {.fd = ssh->err, .events = POLLIN}};
        int64_t left = until - ad_clock_ns();
        if (left <= 0)
            return ADAPS_EAGENT;
        if (poll(items, 4, (int)(left / 1000000) + 1) < 0)
            continue;
        if (items[0].revents) {
            ssize_t n = read(child->from, output + used, size - 1 - used);
            if (n == 0 && used == size - 1)
                return ADAPS_NO;
            if (n == 0 || (n < 0 && errno != EINTR))
                close_fd(&child->from);
            used += n > 0 ? (size_t)n : 0;
            output[used] = '\0';
        }
        if (items[1].revents && !read_lines(child->err, &errors, ssh))
            close_fd(&child->err);
        if (items[2].revents)
            write_input(child, &input);
        if (items[3].revents && !read_lines(ssh->err, &theirs, ssh))
            close_fd(&ssh->err);
    }
    return ADAPS_OK;
}

static enum adaps_status run_piped(struct ad_ssh *ssh, const char *const *argv,
                                   const struct ad_ssh_command *command, char *output, size_t size,
                                   int *code, struct adaps_error *err)
{
    struct child child;
    enum adaps_status status = start(argv, -1, &child, err);
    if (status != ADAPS_OK)
        return status;
    output[0] = '\0';
    ssh->said_length = 0;
    ssh->said[0] = '\0';
    status = move_bytes(ssh, &child, command->input ? command->input : "", output, size);
    if (status != ADAPS_OK)
        kill(child.pid, SIGTERM);
    release(&child);
    *code = await_end(child.pid);
    if (status == ADAPS_NO)
        return ad_error_set(err, ADAPS_EAGENT, "%s says more than %zu bytes", ssh->target.host,
                            size - 1);
    if (status != ADAPS_OK)
        return ad_error_set(err, status, "%s has not done it after two minutes", ssh->target.host);
    if (*code == 255)
        return ad_error_set(err, ADAPS_EAGENT, "the connection to %s failed%s%s", ssh->target.host,
                            ssh->said_length > 0 ? ": " : "", ssh->said);
    return ADAPS_OK;
}

bool ad_ssh_has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static enum adaps_status run_on_terminal(const char *const *argv, int *code,
                                         struct adaps_error *err)
{
    struct child child;
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (tty < 0)
        return ad_error_set(err, ADAPS_EINPUT, "/dev/tty: %s", strerror(errno));
    enum adaps_status status = start(argv, tty, &child, err);
    if (status == ADAPS_OK)
        *code = await_end(child.pid);
    close(tty);
    return status;
}

enum adaps_status ad_ssh_run(struct ad_ssh *ssh, const struct ad_ssh_command *command, char *output,
                             size_t size, int *code, struct adaps_error *err)
{
    struct words words;
    begin_words(&words, &ssh->target);
    say_options(&words);
    say(&words, "-oControlMaster=no");
    say(&words, "-oBatchMode=yes"); /* nothing is asked again should the first connection be gone */
    say(&words, command->terminal ? "-tt" : "-T");
    say(&words, "-S");
    say(&words, ssh->socket);
    say(&words, "--");
    say(&words, ssh->target.host);
    say(&words, command->command);
    return command->terminal ? run_on_terminal(words.items, code, err)
                             : run_piped(ssh, words.items, command, output, size, code, err);
}

enum adaps_status ad_ssh_host_name(const struct ad_target *target, char *out, size_t size,
                                   struct adaps_error *err)
{
    struct ad_ssh ssh = {.target = *target, .to = -1, .from = -1, .err = -1};
    struct words words;
    int code;
    char output[32768];
    begin_words(&words, target);
    say(&words, "-G");
    say(&words, "--");
    say(&words, target->host);
    const struct ad_ssh_command command = {.command = ""};
    enum adaps_status status =
        run_piped(&ssh, words.items, &command, output, sizeof output, &code, err);
    const char *line =
        strncmp(output, "hostname ", 9) == 0 ? output : strstr(output, "\nhostname ");
    struct ad_target found;
    char name[sizeof found.host];
    if (status != ADAPS_OK && code == 127)
        return ad_error_set(err, ADAPS_EAGENT,
                            "there is no program ssh here (Debian: package openssh-client)");
    if (status != ADAPS_OK && code != 255)
        return status;
    snprintf(name, sizeof name, "%s", target->host);
    if (line && sscanf(line + (*line == '\n'), "hostname %63s", name) != 1)
        snprintf(name, sizeof name, "%s", target->host);
    if (ad_target_parse(name, &found, NULL) != ADAPS_OK || found.user[0] || found.port)
        snprintf(found.host, sizeof found.host, "%s", target->host);
    snprintf(out, size, "%s", found.host);
    return ADAPS_OK;
}
