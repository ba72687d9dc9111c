#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/cache_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FILE_COST 4096

struct entry {
    char *path;
    uint64_t cost;
    struct timespec used;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    uint64_t cost;
    bool failed;
};

uint64_t ad_cache_cost(uint64_t size)
{
    return size > FILE_COST ? size : FILE_COST;
}

static void collect(void *self, const char *path, const struct stat *st)
{
    struct entries *entries = self;
    uint64_t cost = ad_cache_cost((uint64_t)st->st_size);
    char *copy = ad_strdup(path);
    if (!copy ||
        !ad_grow(&entries->items, entries->count, &entries->capacity, sizeof *entries->items)) {
        ad_free(copy);
        entries->failed = true;
        return;
    }
    entries->items[entries->count++] =
        (struct entry){.path = copy, .cost = cost, .used = st->st_mtim};
    entries->cost += cost;
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

/* Deletes a file that no agent has locked. */
static bool evict(const struct entry *entry)
{
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
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
    uint64_t coming, room;
    if (needed > cache->limit || more > cache->limit)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the plan needs %" PRIu64 " bytes here, the cache may hold %" PRIu64
                            " (--cache-limit)",
                            needed > more ? needed : more, cache->limit);
    coming = more + ad_cache_under_way(cache);
    room = coming < cache->limit ? cache->limit - coming : 0;
    ad_cache_visit(cache, "blobs", collect, &entries);
    ad_cache_visit(cache, "plans", collect, &entries);
    if (entries.items)
        qsort(entries.items, entries.count, sizeof *entries.items, by_use);
    for (size_t i = 0; i < entries.count && entries.cost > room; i++)
        if (older(entries.items[i].used, cache->push) && evict(&entries.items[i]))
            entries.cost -= entries.items[i].cost;
    for (size_t i = 0; i < entries.count; i++)
        ad_free(entries.items[i].path);
    ad_free(entries.items);
    if (entries.failed)
        return ad_error_memory(err, "list of the cache", sizeof(struct entry));
    cache->used = entries.cost;
    bool lacks = entries.cost > room || coming > cache->limit;
    if (tight)
        *tight = lacks;
    else if (lacks)
        return ad_error_set(err, ADAPS_EAGENT,
                            "its cache has no room for %" PRIu64 " bytes more: %" PRIu64
                            " of %" PRIu64 " are in use or under way (--cache-limit)",
                            more, entries.cost + coming - more, cache->limit);
    return ADAPS_OK;
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
    ad_cache_visit(cache, "blobs", count_file, &blobs);
    ad_cache_visit(cache, "plans", count_file, &plans);
    return (struct ad_cache_stats){
        .bytes = blobs.bytes + plans.bytes, .blobs = blobs.files, .plans = plans.files};
}

enum adaps_status ad_cache_try(const struct ad_cache *cache, struct adaps_error *err)
{
    static const char block[FILE_COST];
    char *path = NULL;
    int fd;
    enum adaps_status status = ad_cache_new_file(cache, &path, &fd, err);
    if (status != ADAPS_OK)
        return status;
    if (!ad_file_write_all(fd, block, sizeof block))
        status = ad_cache_cannot_write(path, err);
    close(fd);
    unlink(path);
    ad_free(path);
    return status;
}

bool ad_cache_free(const struct ad_cache *cache, uint64_t *bytes)
{
    struct statvfs disk;
    return statvfs(cache->dir, &disk) == 0 &&
           !__builtin_mul_overflow((uint64_t)disk.f_bavail, (uint64_t)disk.f_frsize, bytes);
}
