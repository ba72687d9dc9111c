#include "support/inspected.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/sanitized.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

char inspected_folder[INSPECTED_PATH - 64];
static char program[PATH_MAX];

bool inspected_begin(void)
{
    const char *adaps = getenv("ADAPS");
    if (!realpath(adaps ? adaps : "./adaps", program)) {
        fprintf(stderr, "no program %s\n", adaps ? adaps : "./adaps");
        return false;
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(inspected_folder, sizeof inspected_folder, "%s/adaps-inspected.XXXXXX",
             tmp ? tmp : "/tmp");
    if (mkdtemp(inspected_folder))
        return true;
    perror(inspected_folder);
    return false;
}

static const char *path_of(char *buf, const char *name)
{
    snprintf(buf, INSPECTED_PATH, "%s/%s", inspected_folder, name);
    return buf;
}

void inspected_end(void)
{
    char path[INSPECTED_PATH];
    remove(path_of(path, "m.onnx"));
    remove(path_of(path, "log"));
    remove(inspected_folder);
}

/* Its exit status (as waitpid() gives it), stderr in a file. */
static int inspect(const char *path, const char *log, struct rusage *usage)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    char *args[] = {program, "inspect", (char *)path, NULL};
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0), 0);
    ck_assert_int_eq(
        posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    ck_assert_int_eq(posix_spawn(&pid, program, &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    while (wait4(pid, &status, 0, usage) < 0)
        ck_assert_int_eq(errno, EINTR);
    return status;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

#define TRIES 5

/* Of processor time. */
static double seconds_taken(const struct rusage *usage)
{
    return seconds_of(usage->ru_utime) + seconds_of(usage->ru_stime);
}

static double seconds_allowed(size_t size)
{
    return (1.0 + (double)(size >> 26)) * (SANITIZED ? 4 : is_emulated() ? 20 : 1);
}

static void check_usage(const char *name, const struct rusage *usage, size_t size)
{
    ck_assert_msg(seconds_taken(usage) < seconds_allowed(size), "%s: %.2f s of %g", name,
                  seconds_taken(usage), seconds_allowed(size));
    long most = (long)(2 * size >> 10) + (64 << 10);
    if (!SANITIZED && !is_emulated())
        ck_assert_msg(usage->ru_maxrss < most, "%s: %ld KiB of %ld", name, usage->ru_maxrss, most);
}

static void put(const void *bytes, size_t size)
{
    char path[INSPECTED_PATH];
    struct adaps_error err = {0};
    ck_assert_msg(ad_file_replace(path_of(path, "m.onnx"), bytes, size, &err) == ADAPS_OK, "%s",
                  err.message);
}

void inspected_make(void *(*make)(int i, size_t *size), int i)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        size_t size;
        void *bytes = make(i, &size);
        put(bytes, size);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    ck_assert_int_eq(status, 0);
}

void inspected_file(const char *name, int exit_status, const char *reason)
{
    char model[INSPECTED_PATH], log[INSPECTED_PATH];
    struct adaps_error err = {0};
    struct rusage usage;
    struct stat st;
    void *said = NULL;
    size_t length;
    path_of(model, "m.onnx");
    path_of(log, "log");
    ck_assert_int_eq(stat(model, &st), 0);
    /* Others who use the processor's caches, or the host of a virtual machine, make it slower for
     * a while: the quickest of a few runs counts. */
    int status = inspect(model, log, &usage);
    for (int i = 1; i < TRIES && seconds_taken(&usage) >= seconds_allowed((size_t)st.st_size); i++)
        status = inspect(model, log, &usage);
    ck_assert_msg(ad_file_read(log, 1 << 20, &said, &length, &err) == ADAPS_OK, "%s", err.message);
    char *text = ad_strndup(said, length);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == exit_status,
                  "%s: status %x, %d expected; it said: %s", name, (unsigned)status, exit_status,
                  text);
    ck_assert_msg(!reason || strstr(text, reason), "%s: '%s' is not in: %s", name, reason, text);
    check_usage(name, &usage, (size_t)st.st_size);
    ad_free(text);
    ad_free(said);
}

void inspected_check(const char *name, const void *bytes, size_t size, int exit_status,
                     const char *reason)
{
    put(bytes, size);
    inspected_file(name, exit_status, reason);
}
