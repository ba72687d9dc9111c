#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/cache_internal.h"
#include "plan/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define REMAINS_S 3600 /* files in tmp that nobody has touched for so long are deleted */
#define CHECK_BYTES ((size_t)256 << 10) /* read at a time to check a digest */

char *ad_cache_path(const struct ad_cache *cache, const char *kind, const struct ad_digest *digest)
{
    char hex[AD_DIGEST_HEX];
    ad_digest_hex(digest, hex);
    return ad_asprintf("%s/%s/%s", cache->dir, kind, hex);
}

void ad_cache_touch(const char *path)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[1] = times[0];
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

enum adaps_status ad_cache_cannot_write(const char *path, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EAGENT, "%s: cannot write: %s", path, strerror(errno));
}

/* --- folders --- */

void ad_cache_visit(const struct ad_cache *cache, const char *kind, ad_cache_visit_fn *visit,
                    void *self)
{
    char *folder = ad_asprintf("%s/%s", cache->dir, kind);
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        struct stat st;
        char *path = ad_asprintf("%s/%s", folder, entry->d_name);
        if (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            visit(self, path, &st);
        ad_free(path);
    }
    if (dir)
        closedir(dir);
    ad_free(folder);
}

static void remove_old(void *self, const char *path, const struct stat *st)
{
    const time_t *now = self;
    if (*now - st->st_mtime > REMAINS_S)
        unlink(path);
}

enum adaps_status ad_cache_make_folders(const struct ad_cache *cache, struct adaps_error *err)
{
    static const char *const kinds[] = {"blobs", "plans", "tmp"};
    for (int i = 0; i < 3; i++) {
        char *folder = ad_asprintf("%s/%s", cache->dir, kinds[i]);
        if (!folder)
            return ad_error_memory(err, "cache", strlen(cache->dir) + 8);
        enum adaps_status status = ad_file_mkdirs(folder, err);
        ad_free(folder);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

enum adaps_status ad_cache_init(struct ad_cache *cache, const char *dir, uint64_t limit,
                                struct adaps_error *err)
{
    memset(cache, 0, sizeof *cache);
    cache->limit = limit;
    cache->used = limit; /* not known yet */
    cache->dir = ad_strdup(dir);
    if (!cache->dir)
        return ad_error_memory(err, "cache", strlen(dir) + 1);
    enum adaps_status status = ad_cache_make_folders(cache, err);
    if (status != ADAPS_OK)
        return status;
    time_t now = time(NULL);
    ad_cache_visit(cache, "tmp", remove_old, &now);
    return ADAPS_OK;
}

enum adaps_status ad_cache_new_file(const struct ad_cache *cache, char **path, int *fd,
                                    struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    *fd = -1;
    for (int attempt = 0; attempt < 2 && *fd < 0; attempt++) {
        if (attempt > 0 && ad_cache_make_folders(cache, NULL) != ADAPS_OK)
            break;
        *path = ad_asprintf("%s/tmp/XXXXXX", cache->dir);
        if (!*path)
            return ad_error_memory(err, "cache", strlen(cache->dir) + 16);
        *fd = mkstemp(*path);
        if (*fd >= 0)
            return ADAPS_OK;
        bool no_folder = errno == ENOENT;
        status = ad_cache_cannot_write(*path, err);
        ad_free(*path);
        *path = NULL;
        if (!no_folder)
            break;
    }
    return status;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* Removes a folder from its place, with what is in it. */
static bool remove_folder(const struct ad_cache *cache, const char *path)
{
    char *aside = ad_asprintf("%s/tmp/XXXXXX", cache->dir);
    bool gone = aside && mkdtemp(aside) && rename(path, aside) == 0;
    if (gone)
        nftw(aside, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    else if (aside)
        rmdir(aside);
    ad_free(aside);
    return gone;
}

enum adaps_status ad_cache_place(const struct ad_cache *cache, const char *from, const char *to,
                                 struct adaps_error *err)
{
    bool done = rename(from, to) == 0;
    if (!done && errno == EISDIR && remove_folder(cache, to))
        done = rename(from, to) == 0;
    else if (!done && errno == ENOENT && ad_cache_make_folders(cache, NULL) == ADAPS_OK)
        done = rename(from, to) == 0;
    return done ? ADAPS_OK : ad_cache_cannot_write(to, err);
}

/* --- reading --- */

static bool is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* Opens a regular file of ours; -1: there is none. */
static int open_entry(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, st) == 0 && is_ours(st))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* False: the file is shorter, or cannot be read. */
static bool read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
    uint8_t *next = to;
    while (bytes > 0) {
        ssize_t n = pread(fd, next, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        next += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

bool ad_cache_has(const struct ad_cache *cache, const struct ad_digest *digest, uint64_t size)
{
    struct stat st;
    char *path = ad_cache_path(cache, "blobs", digest);
    bool there = path && lstat(path, &st) == 0 && is_ours(&st) && (uint64_t)st.st_size == size;
    if (there)
        ad_cache_touch(path);
    ad_free(path);
    return there;
}

/* The bytes of a plan of the right digest; false: there is none. */
static bool read_plan(const char *path, const struct ad_digest *digest, void **data, size_t *size)
{
    struct stat st;
    int fd = open_entry(path, &st);
    if (fd < 0)
        return false;
    *size = (size_t)st.st_size;
    *data = (uint64_t)st.st_size <= AD_PLAN_MAX_BYTES ? ad_realloc(NULL, *size + 1, 1) : NULL;
    bool good = *data && read_at(fd, 0, *data, *size);
    close(fd);
    if (good) {
        struct ad_digest found = ad_plan_digest(*data, *size);
        good = ad_digest_equal(&found, digest);
        if (!good)
            unlink(path);
    }
    if (!good)
        ad_free(*data);
    return good;
}

/* An error if something could not be opened for a reason of this process. */
static enum adaps_status check_opening(int reason, struct adaps_error *err)
{
    if (reason != EMFILE && reason != ENFILE && reason != ENOMEM)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EAGENT, "its cache cannot be read: %s", strerror(reason));
}

enum adaps_status ad_cache_plan(const struct ad_cache *cache, const struct ad_digest *digest,
                                void **data, size_t *size, struct adaps_error *err)
{
    char *path = ad_cache_path(cache, "plans", digest);
    if (!path)
        return ad_error_memory(err, "plan", strlen(cache->dir) + AD_DIGEST_HEX);
    errno = 0;
    bool there = read_plan(path, digest, data, size);
    enum adaps_status status = there ? ADAPS_OK : check_opening(errno, err);
    if (there)
        ad_cache_touch(path);
    else if (status == ADAPS_OK)
        status = ad_error_set(err, ADAPS_EAGENT, "it does not have the plan: push it first");
    ad_free(path);
    return status;
}

/* ADAPS_NO: it has another digest, or cannot be read to its end. */
static enum adaps_status check_digest(int fd, uint64_t size, const struct ad_digest *digest,
                                      struct adaps_error *err)
{
    struct ad_digester digester;
    uint8_t *piece = ad_realloc(NULL, CHECK_BYTES, 1);
    if (!piece)
        return ad_error_memory(err, "weights", CHECK_BYTES);
    bool good = true;
    ad_digester_init(&digester);
    for (uint64_t offset = 0; good && offset < size; offset += CHECK_BYTES) {
        size_t n = size - offset < CHECK_BYTES ? (size_t)(size - offset) : CHECK_BYTES;
        good = read_at(fd, offset, piece, n);
        if (good)
            ad_digester_add(&digester, piece, n);
    }
    ad_free(piece);
    struct ad_digest found = ad_digester_end(&digester);
    return good && ad_digest_equal(&found, digest) ? ADAPS_OK : ADAPS_NO;
}

enum adaps_status ad_cache_open(const struct ad_cache *cache, const struct ad_digest *digest,
                                uint64_t size, struct ad_cached *out, struct adaps_error *err)
{
    struct stat st;
    enum adaps_status status = ADAPS_OK;
    char *path = ad_cache_path(cache, "blobs", digest);
    if (!path)
        return ad_error_memory(err, "weights", strlen(cache->dir) + AD_DIGEST_HEX);
    errno = 0;
    *out = (struct ad_cached){.fd = open_entry(path, &st), .size = size};
    if (out->fd < 0)
        status = check_opening(errno, err);
    if (status == ADAPS_OK && (out->fd < 0 || flock(out->fd, LOCK_SH) != 0 ||
                               fstat(out->fd, &st) != 0 || (uint64_t)st.st_size != size))
        status = ad_error_set(err, ADAPS_EAGENT, "it lacks weights of the plan: push it again");
    if (status == ADAPS_OK)
        status = check_digest(out->fd, size, digest, err);
    if (status == ADAPS_NO) {
        unlink(path);
        status = ad_error_set(err, ADAPS_EAGENT,
                              "weights in its cache were damaged and are deleted: push again");
    }
    if (status == ADAPS_OK)
        ad_cache_touch(path);
    else
        ad_cached_close(out);
    ad_free(path);
    return status;
}

enum adaps_status ad_cached_read(const struct ad_cached *blob, uint64_t offset, void *to,
                                 size_t bytes, struct adaps_error *err)
{
    if (read_at(blob->fd, offset, to, bytes))
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EAGENT,
                        "weights in its cache were damaged while they were read: push again");
}

void ad_cached_close(struct ad_cached *blob)
{
    if (blob->fd >= 0)
        close(blob->fd);
    *blob = (struct ad_cached){.fd = -1};
}
