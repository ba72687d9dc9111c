#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/agent/cache_internal.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

struct ad_upload {
    crypto_generichash_state hash; /* wants 64-byte alignment */
    uint64_t owner, size, offset;
    struct ad_digest digest;
    int64_t latest_ns;
    int fd;
    char *path;
};

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

uint64_t ad_cache_under_way(const struct ad_cache *cache)
{
    uint64_t sum = 0;
    for (int i = 0; i < AD_CACHE_UPLOADS; i++)
        if (cache->uploads[i])
            sum += ad_cache_cost(cache->uploads[i]->size); /* each within the limit */
    return sum;
}

static int find_upload(const struct ad_cache *cache, uint64_t owner, const struct ad_digest *digest)
{
    for (int i = 0; i < AD_CACHE_UPLOADS; i++)
        if (cache->uploads[i] && cache->uploads[i]->owner == owner &&
            ad_digest_equal(&cache->uploads[i]->digest, digest))
            return i;
    return -1;
}

/* Room for a file of this size. Files are only counted when it may be short. */
static enum adaps_status reserve(struct ad_cache *cache, uint64_t size, struct adaps_error *err)
{
    uint64_t cost = ad_cache_cost(size);
    if (cost <= cache->limit && cache->used + ad_cache_under_way(cache) <= cache->limit - cost)
        return ADAPS_OK;
    return ad_cache_make_room(cache, cost, cost, NULL, err);
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
    enum adaps_status status = reserve(cache, size, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_upload *upload = ad_alloc_aligned(sizeof *upload);
    if (!upload)
        return ad_error_memory(err, "upload", sizeof *upload);
    memset(upload, 0, sizeof *upload);
    cache->uploads[slot] = upload;
    upload->owner = owner;
    upload->digest = *digest;
    upload->size = size;
    crypto_generichash_init(&upload->hash, NULL, 0, AD_DIGEST_BYTES);
    status = ad_cache_new_file(cache, &upload->path, &upload->fd, err);
    if (status != ADAPS_OK)
        drop_upload(cache, slot);
    *out = slot;
    return status;
}

/* No sync: a file that a power cut damages fails its digest when it is opened, and is sent again.
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
    char *path = ad_cache_path(cache, "blobs", &upload->digest);
    if (!path)
        return ad_error_memory(err, "upload", strlen(cache->dir) + AD_DIGEST_HEX);
    ad_cache_touch(upload->path);
    enum adaps_status status = ad_cache_place(cache, upload->path, path, err);
    if (status == ADAPS_OK)
        cache->used += ad_cache_cost(upload->size);
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
        status = ad_cache_cannot_write(upload->path, err);
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

enum adaps_status ad_cache_put_plan(struct ad_cache *cache, const struct ad_digest *digest,
                                    const void *data, size_t size, struct adaps_error *err)
{
    char *from = NULL, *path = ad_cache_path(cache, "plans", digest);
    int fd = -1;
    if (!path)
        return ad_error_memory(err, "plan", strlen(cache->dir) + AD_DIGEST_HEX);
    enum adaps_status status = reserve(cache, size, err);
    if (status == ADAPS_OK)
        status = ad_cache_new_file(cache, &from, &fd, err);
    if (status == ADAPS_OK && (!ad_file_write_all(fd, data, size) || fsync(fd) != 0))
        status = ad_cache_cannot_write(from, err);
    if (fd >= 0)
        close(fd);
    if (status == ADAPS_OK) {
        ad_cache_touch(from);
        status = ad_cache_place(cache, from, path, err);
    }
    if (status == ADAPS_OK)
        cache->used += ad_cache_cost(size);
    else if (from)
        unlink(from);
    ad_free(from);
    ad_free(path);
    return status;
}
