/* The agent's cache on disk: DIR/blobs/HEX (float32 of a slice), DIR/plans/HEX, DIR/tmp. Files are
 * named by their digest and come into being by rename, so that several agents may share a folder.
 * Only regular files of this user with the right digest count as there; whatever else has such a
 * name is replaced. Folders that somebody removes are made again. Blobs are read and never mapped:
 * one that is cut off meanwhile is an error and no signal. Those of an engine are locked (flock),
 * also against other agents, and never evicted.
 *
 * ad_cache_open and ad_cache_plan may be called from another thread than the other functions, which
 * are the errands' (errands.h). */
#ifndef AD_EXEC_AGENT_CACHE_H
#define AD_EXEC_AGENT_CACHE_H

#include "base/digest.h"
#include "base/error.h"

#include <time.h>

/* Blobs uploaded at a time; the one that has waited longest for a piece is given up. */
#define AD_CACHE_UPLOADS 8

struct ad_upload;

struct ad_cache {
    char *dir;
    uint64_t limit;
    uint64_t used;        /* at least what files take; counted anew when that seems too much */
    struct timespec push; /* CLOCK_REALTIME: when the latest push began */
    struct ad_upload *uploads[AD_CACHE_UPLOADS];
};

/* Makes the folders and removes old remains of uploads. ADAPS_EINPUT names the path. fini after a
 * failure, too. */
AD_MUST_CHECK enum adaps_status ad_cache_init(struct ad_cache *cache, const char *dir,
                                              uint64_t limit, struct adaps_error *err);
void ad_cache_fini(struct ad_cache *cache);

/* What a file of `size` bytes counts within the limit: at least a block, so that many small ones
 * cannot use up the file system's inodes. */
uint64_t ad_cache_cost(uint64_t size);

/* Whether a blob of this size is there (its content is checked when it is opened); if so it becomes
 * the most recently used. */
bool ad_cache_has(const struct ad_cache *cache, const struct ad_digest *digest, uint64_t size);

/* A push begins: what is used from now on is not evicted before the next push. */
void ad_cache_begin_push(struct ad_cache *cache);

/* Deletes the least recently used files until `more` fits within the limit, beside the uploads
 * under way. Both numbers are by ad_cache_cost(). *tight says that it still does not, because of
 * files in use; when `tight` is NULL that is ADAPS_EAGENT. ADAPS_EINPUT when `needed` (the plan's
 * whole need here) or `more` is beyond the limit. */
AD_MUST_CHECK enum adaps_status ad_cache_make_room(struct ad_cache *cache, uint64_t needed,
                                                   uint64_t more, bool *tight,
                                                   struct adaps_error *err);

/* A piece of a blob from the sender `owner`; pieces come in order from offset 0, for the first of
 * which room is made. With the last one the digest is verified and the blob appears. ADAPS_EINPUT:
 * out of order, too long, wrong digest; ADAPS_EAGENT: no room, or it cannot be written (disk full).
 * The upload is then given up. */
AD_MUST_CHECK enum adaps_status ad_cache_put(struct ad_cache *cache, uint64_t owner,
                                             const struct ad_digest *digest, uint64_t size,
                                             uint64_t offset, const void *data, size_t length,
                                             struct adaps_error *err);

/* Makes room, too. ADAPS_EINPUT, ADAPS_EAGENT as above. */
AD_MUST_CHECK enum adaps_status ad_cache_put_plan(struct ad_cache *cache,
                                                  const struct ad_digest *digest, const void *data,
                                                  size_t size, struct adaps_error *err);

/* The bytes of a plan file, the caller's (ad_free). ADAPS_EAGENT: not there. */
AD_MUST_CHECK enum adaps_status ad_cache_plan(const struct ad_cache *cache,
                                              const struct ad_digest *digest, void **data,
                                              size_t *size, struct adaps_error *err);

/* A blob that is open for reading, and so locked. */
struct ad_cached {
    int fd; /* -1: none */
    uint64_t size;
};

/* Reads it once, to check the digest. ADAPS_EAGENT: not there, or it was damaged, and is deleted
 * then. */
AD_MUST_CHECK enum adaps_status ad_cache_open(const struct ad_cache *cache,
                                              const struct ad_digest *digest, uint64_t size,
                                              struct ad_cached *out, struct adaps_error *err);

/* `bytes` from `offset` on, within the size. ADAPS_EAGENT: it was damaged since. */
AD_MUST_CHECK enum adaps_status ad_cached_read(const struct ad_cached *blob, uint64_t offset,
                                               void *to, size_t bytes, struct adaps_error *err);
void ad_cached_close(struct ad_cached *blob);

struct ad_cache_stats {
    uint64_t bytes;
    uint32_t blobs, plans;
};
struct ad_cache_stats ad_cache_count(const struct ad_cache *cache);

/* Whether it can be written: makes a small file and removes it. ADAPS_EAGENT: why not. */
AD_MUST_CHECK enum adaps_status ad_cache_try(const struct ad_cache *cache, struct adaps_error *err);

/* What an unprivileged user may still write on its disk; false when that is not known. */
bool ad_cache_free(const struct ad_cache *cache, uint64_t *bytes);

#endif
