#include "exec/agent/cache.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "plan/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMAINS_S 3600 /* files in tmp that nobody has touched for so long are deleted */

struct ad_upload {
    crypto_generichash_state hash; /* wants 64-byte alignment */
    uint64_t owner, size, offset;
    struct ad_digest digest;
    int64_t latest_ns;
    int fd;
    char *path;
};

static char *path_of(const struct ad_cache *cache, const char *kind, const struct ad_digest *digest)
{
    char hex[AD_DIGEST_HEX];
    ad_digest_hex(digest, hex);
    return ad_asprintf("%s/%s/%s", cache->dir, kind, hex);
}

/* By the clock of ad_cache_begin_push(): the kernel's own times of files lag by up to a tick, in
 * which a whole session of a small network may pass. Only the order of eviction depends on it. */
static void touch(const char *path)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[1] = times[0];
    utimensat(AT_FDCWD, path, times, 0);
}

/* Calls visit for every regular file of a folder. */
typedef void visit_fn(void *self, const char *path, const struct stat *st);
static void visit_folder(const struct ad_cache *cache, const char *kind, visit_fn *visit,
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

enum adaps_status ad_cache_init(struct ad_cache *cache, const char *dir, uint64_t limit,
                                struct adaps_error *err)
{
    static const char *const kinds[] = {"blobs", "plans", "tmp"};
    memset(cache, 0, sizeof *cache);
    cache->limit = limit;
    cache->dir = ad_strdup(dir);
    if (!cache->dir)
        return ad_error_memory(err, "cache", strlen(dir) + 1);
    for (int i = 0; i < 3; i++) {
        char *folder = ad_asprintf("%s/%s", dir, kinds[i]);
        if (!folder)
            return ad_error_memory(err, "cache", strlen(dir) + 8);
        enum adaps_status status = ad_file_mkdirs(folder, err);
        ad_free(folder);
        if (status != ADAPS_OK)
            return status;
    }
    time_t now = time(NULL);
    visit_folder(cache, "tmp", remove_old, &now);
    return ADAPS_OK;
}

static void drop_upload(struct ad_cache *cache, int i)
{
    struct ad_upload *upload = cache->uploads[i];
    if (!upload)
        return;
    cache->uploads[i] = NULL;
    if (upload->fd >= 0)
        close(upload->fd);
    if (upload->path)
        unlink(upload->path);
    ad_free(upload->path);
    ad_free(upload);
}

void ad_cache_fini(struct ad_cache *cache)
{
    for (int i = 0; i < AD_CACHE_UPLOADS; i++)
        drop_upload(cache, i);
    ad_free(cache->dir);
    memset(cache, 0, sizeof *cache);
}

bool ad_cache_has(const struct ad_cache *cache, const struct ad_digest *digest, uint64_t size)
{
    struct stat st;
    char *path = path_of(cache, "blobs", digest);
    bool there =
        path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
    if (there)
        touch(path);
    ad_free(path);
    return there;
}

/* --- eviction --- */

struct entry {
    char *path;
    uint64_t size;
    struct timespec used;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    uint64_t bytes;
    bool failed;
};

static void collect(void *self, const char *path, const struct stat *st)
{
    struct entries *entries = self;
    char *copy = ad_strdup(path);
    if (!copy ||
        !ad_grow(&entries->items, entries->count, &entries->capacity, sizeof *entries->items)) {
        ad_free(copy);
        entries->failed = true;
        return;
    }
    entries->items[entries->count++] =
        (struct entry){.path = copy, .size = (uint64_t)st->st_size, .used = st->st_mtim};
    entries->bytes += (uint64_t)st->st_size;
}

static bool older(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static int by_use(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (older(x->used, y->used))
        return -1;
    return older(y->used, x->used) ? 1 : strcmp(x->path, y->path);
}

/* Deletes a file that no agent has mapped. */
static bool evict(const struct entry *entry)
{
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT;
    bool gone = flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(entry->path) == 0;
    close(fd);
    return gone;
}

void ad_cache_begin_push(struct ad_cache *cache)
{
    clock_gettime(CLOCK_REALTIME, &cache->push);
}

enum adaps_status ad_cache_make_room(struct ad_cache *cache, uint64_t needed, uint64_t more,
                                     bool *tight, struct adaps_error *err)
{
    struct entries entries = {0};
    if (needed > cache->limit || more > cache->limit)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the plan needs %" PRIu64 " bytes of weights here, the cache may hold "
                            "%" PRIu64 " (--cache-limit)",
                            needed, cache->limit);
    visit_folder(cache, "blobs", collect, &entries);
    visit_folder(cache, "plans", collect, &entries);
    if (entries.items)
        qsort(entries.items, entries.count, sizeof *entries.items, by_use);
    for (size_t i = 0; i < entries.count && entries.bytes > cache->limit - more; i++)
        if (older(entries.items[i].used, cache->push) && evict(&entries.items[i]))
            entries.bytes -= entries.items[i].size;
    if (tight)
        *tight = entries.bytes > cache->limit - more;
    for (size_t i = 0; i < entries.count; i++)
        ad_free(entries.items[i].path);
    ad_free(entries.items);
    return entries.failed ? ad_error_memory(err, "list of the cache", sizeof(struct entry))
                          : ADAPS_OK;
}

struct stats {
    uint64_t bytes;
    uint32_t files;
};

static void count_file(void *self, const char *path, const struct stat *st)
{
    struct stats *stats = self;
    (void)path;
    stats->bytes += (uint64_t)st->st_size;
    stats->files++;
}

struct ad_cache_stats ad_cache_count(const struct ad_cache *cache)
{
    struct stats blobs = {0}, plans = {0};
    visit_folder(cache, "blobs", count_file, &blobs);
    visit_folder(cache, "plans", count_file, &plans);
    return (struct ad_cache_stats){
        .bytes = blobs.bytes + plans.bytes, .blobs = blobs.files, .plans = plans.files};
}

/* --- uploads --- */

static int find_upload(const struct ad_cache *cache, uint64_t owner, const struct ad_digest *digest)
{
    for (int i = 0; i < AD_CACHE_UPLOADS; i++)
        if (cache->uploads[i] && cache->uploads[i]->owner == owner &&
            ad_digest_equal(&cache->uploads[i]->digest, digest))
            return i;
    return -1;
}

static enum adaps_status begin_upload(struct ad_cache *cache, uint64_t owner,
                                      const struct ad_digest *digest, uint64_t size, int *out,
                                      struct adaps_error *err)
{
    int slot = 0;
    for (int i = 1; i < AD_CACHE_UPLOADS && cache->uploads[slot]; i++)
        if (!cache->uploads[i] || cache->uploads[i]->latest_ns < cache->uploads[slot]->latest_ns)
            slot = i;
    drop_upload(cache, slot);
    struct ad_upload *upload = ad_alloc_aligned(sizeof *upload);
    if (!upload)
        return ad_error_memory(err, "upload", sizeof *upload);
    memset(upload, 0, sizeof *upload);
    cache->uploads[slot] = upload;
    upload->owner = owner;
    upload->digest = *digest;
    upload->size = size;
    upload->fd = -1;
    crypto_generichash_init(&upload->hash, NULL, 0, AD_DIGEST_BYTES);
    upload->path = ad_asprintf("%s/tmp/blob-XXXXXX", cache->dir);
    if (!upload->path) {
        drop_upload(cache, slot);
        return ad_error_memory(err, "upload", strlen(cache->dir) + 32);
    }
    upload->fd = mkstemp(upload->path);
    if (upload->fd < 0) {
        enum adaps_status status =
            ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", upload->path, strerror(errno));
        drop_upload(cache, slot);
        return status;
    }
    *out = slot;
    return ADAPS_OK;
}

/* No sync: a file that a power cut damages fails its digest when it is mapped, and is sent again.
 */
static enum adaps_status finish_upload(struct ad_cache *cache, struct ad_upload *upload,
                                       struct adaps_error *err)
{
    struct ad_digest digest;
    crypto_generichash_final(&upload->hash, digest.bytes, sizeof digest.bytes);
    if (!ad_digest_equal(&digest, &upload->digest))
        return ad_error_set(err, ADAPS_EINPUT,
                            "a blob of %" PRIu64 " bytes has another digest than "
                            "was announced",
                            upload->size);
    char *path = path_of(cache, "blobs", &upload->digest);
    if (!path)
        return ad_error_memory(err, "upload", strlen(cache->dir) + AD_DIGEST_HEX);
    enum adaps_status status = ADAPS_OK;
    touch(upload->path);
    if (rename(upload->path, path) != 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", path, strerror(errno));
    ad_free(path);
    return status;
}

enum adaps_status ad_cache_put(struct ad_cache *cache, uint64_t owner,
                               const struct ad_digest *digest, uint64_t size, uint64_t offset,
                               const void *data, size_t length, struct adaps_error *err)
{
    int slot = find_upload(cache, owner, digest);
    enum adaps_status status = ADAPS_OK;
    if (slot >= 0 && offset == 0) { /* begun anew */
        drop_upload(cache, slot);
        slot = -1;
    }
    if (slot < 0 && offset != 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "a blob's piece at byte %" PRIu64 " without those "
                            "before it",
                            offset);
    if (size > cache->limit)
        return ad_error_set(err, ADAPS_EINPUT,
                            "a blob of %" PRIu64 " bytes, the cache may hold "
                            "%" PRIu64 " (--cache-limit)",
                            size, cache->limit);
    if (slot < 0)
        status = begin_upload(cache, owner, digest, size, &slot, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_upload *upload = cache->uploads[slot];
    if (size != upload->size || offset != upload->offset || length > size - offset ||
        (length == 0 && size != 0))
        status = ad_error_set(err, ADAPS_EINPUT,
                              "a blob's piece of %zu bytes at %" PRIu64 " of %" PRIu64
                              " where byte %" PRIu64 " of %" PRIu64 " was due",
                              length, offset, size, upload->offset, upload->size);
    else if (!ad_file_write_all(upload->fd, data, length))
        status =
            ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", upload->path, strerror(errno));
    if (status == ADAPS_OK) {
        crypto_generichash_update(&upload->hash, data, length);
        upload->offset += length;
        upload->latest_ns = ad_clock_ns();
        if (upload->offset < upload->size)
            return ADAPS_OK;
        status = finish_upload(cache, upload, err);
    }
    drop_upload(cache, slot);
    return status;
}

/* --- plans and mappings --- */

enum adaps_status ad_cache_put_plan(struct ad_cache *cache, const struct ad_digest *digest,
                                    const void *data, size_t size, struct adaps_error *err)
{
    char *path = path_of(cache, "plans", digest);
    if (!path)
        return ad_error_memory(err, "plan", strlen(cache->dir) + AD_DIGEST_HEX);
    enum adaps_status status = ad_file_replace(path, data, size, err);
    if (status == ADAPS_OK)
        touch(path);
    ad_free(path);
    return status;
}

enum adaps_status ad_cache_plan(const struct ad_cache *cache, const struct ad_digest *digest,
                                void **data, size_t *size, struct adaps_error *err)
{
    char *path = path_of(cache, "plans", digest);
    if (!path)
        return ad_error_memory(err, "plan", strlen(cache->dir) + AD_DIGEST_HEX);
    enum adaps_status status = ad_file_read(path, AD_PLAN_MAX_BYTES, data, size, NULL);
    if (status == ADAPS_OK) {
        struct ad_digest found = ad_plan_digest(*data, *size);
        if (ad_digest_equal(&found, digest)) {
            touch(path);
        } else {
            unlink(path);
            ad_free(*data);
            status = ADAPS_EAGENT;
        }
    }
    ad_free(path);
    if (status != ADAPS_OK)
        return ad_error_set(err, ADAPS_EAGENT, "it does not have the plan: push it first");
    return ADAPS_OK;
}

enum adaps_status ad_cache_map(const struct ad_cache *cache, const struct ad_digest *digest,
                               size_t size, struct ad_mapping *out, struct adaps_error *err)
{
    struct stat st;
    enum adaps_status status = ADAPS_OK;
    char *path = path_of(cache, "blobs", digest);
    if (!path)
        return ad_error_memory(err, "weights", strlen(cache->dir) + AD_DIGEST_HEX);
    *out = (struct ad_mapping){.size = size, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    if (out->fd < 0 && errno != ENOENT)
        status = ad_error_set(err, ADAPS_EAGENT, "%s: %s", path, strerror(errno));
    else if (out->fd < 0 || flock(out->fd, LOCK_SH) != 0 || fstat(out->fd, &st) != 0 ||
             (uint64_t)st.st_size != size)
        status = ad_error_set(err, ADAPS_EAGENT, "it lacks weights of the plan: push it again");
    if (status == ADAPS_OK && size > 0) {
        out->data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, out->fd, 0);
        if (out->data == MAP_FAILED) {
            out->data = NULL;
            status = ad_error_set(err, ADAPS_EAGENT, "%s: mmap: %s", path, strerror(errno));
        }
    }
    if (status == ADAPS_OK) {
        struct ad_digest found = ad_digest_of(out->data, size);
        if (ad_digest_equal(&found, digest)) {
            touch(path);
        } else {
            unlink(path);
            status = ad_error_set(err, ADAPS_EAGENT,
                                  "weights in its cache were damaged and are deleted: push again");
        }
    }
    if (status != ADAPS_OK)
        ad_cache_unmap(out);
    ad_free(path);
    return status;
}

void ad_cache_unmap_locked(struct ad_mapping *mapping)
{
    if (mapping->data)
        munmap(mapping->data, mapping->size);
    mapping->data = NULL;
}

void ad_cache_unmap(struct ad_mapping *mapping)
{
    ad_cache_unmap_locked(mapping);
    if (mapping->fd >= 0)
        close(mapping->fd);
    *mapping = (struct ad_mapping){.fd = -1};
}
