#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_S 2

enum adaps_status ad_file_read_open(int fd, const char *path, size_t max_bytes, void **data,
                                    size_t *size, struct adaps_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return ad_error_set(err, ADAPS_EINPUT, "%s: not a regular file", path);
    if ((uintmax_t)st.st_size > max_bytes)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %jd bytes, more than the limit of %zu", path,
                            (intmax_t)st.st_size, max_bytes);
    size_t wanted = (size_t)st.st_size, got = 0;
    unsigned char *buf = ad_realloc(NULL, wanted + 1, 1);
    if (!buf)
        return ad_error_memory(err, path, wanted + 1);
    while (got < wanted) {
        ssize_t n = read(fd, buf + got, wanted - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            ad_free(buf);
            return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
        }
        if (n == 0)
            break;
        got += (size_t)n;
    }
    buf[got] = 0;
    *data = buf;
    *size = got;
    return ADAPS_OK;
}

enum adaps_status ad_file_read(const char *path, size_t max_bytes, void **data, size_t *size,
                               struct adaps_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    enum adaps_status status = ad_file_read_open(fd, path, max_bytes, data, size, err);
    close(fd);
    return status;
}

struct ad_file_state ad_file_state(const char *path)
{
    struct ad_file_state state = {0};
    struct timespec now;
    state.there = stat(path, &state.st) == 0;
    clock_gettime(CLOCK_REALTIME, &now);
    state.young = state.there && now.tv_sec - state.st.st_ctim.tv_sec < YOUNG_S;
    return state;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool ad_file_same(const struct ad_file_state *a, const struct ad_file_state *b)
{
    if (!a->there || !b->there)
        return a->there == b->there;
    return !a->young && !b->young && a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino &&
           a->st.st_size == b->st.st_size && same_time(a->st.st_ctim, b->st.st_ctim) &&
           same_time(a->st.st_mtim, b->st.st_mtim);
}

bool ad_file_write_all(int fd, const void *data, size_t size)
{
    const unsigned char *next = data;
    while (size > 0) {
        ssize_t n = write(fd, next, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        next += n;
        size -= (size_t)n;
    }
    return true;
}

enum adaps_status ad_file_replace(const char *path, const void *data, size_t size,
                                  struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    char *temporary = ad_asprintf("%s.XXXXXX", path);
    if (!temporary)
        return ad_error_memory(err, path, strlen(path) + 8);
    int fd = mkstemp(temporary);
    if (fd < 0) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", path, strerror(errno));
        ad_free(temporary);
        return status;
    }
    mode_t mask = umask(0);
    umask(mask);
    bool written =
        fchmod(fd, 0666 & ~mask) == 0 && ad_file_write_all(fd, data, size) && fsync(fd) == 0;
    if (close(fd) != 0)
        written = false;
    if (!written || rename(temporary, path) != 0) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", path, strerror(errno));
        unlink(temporary);
    }
    ad_free(temporary);
    return status;
}

enum adaps_status ad_file_mkdirs(const char *path, struct adaps_error *err)
{
    if (!*path)
        return ad_error_set(err, ADAPS_EINPUT, "a folder's name is empty");
    char *copy = ad_strdup(path);
    if (!copy)
        return ad_error_memory(err, path, strlen(path) + 1);
    enum adaps_status status = ADAPS_OK;
    for (char *p = copy + (*copy == '/');; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char separator = *p;
        *p = '\0';
        if (*copy && mkdir(copy, 0700) != 0 && errno != EEXIST) {
            status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot make the folder: %s", copy,
                                  strerror(errno));
            break;
        }
        *p = separator;
        if (separator == '\0')
            break;
    }
    ad_free(copy);
    return status;
}

char *ad_file_relative_to(const char *base_file, const char *name)
{
    const char *slash = strrchr(base_file, '/');
    if (name[0] == '/' || !slash)
        return ad_strdup(name);
    return ad_asprintf("%.*s/%s", (int)(slash - base_file), base_file, name);
}

char *ad_file_program(void)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    return ad_strdup(path);
}
