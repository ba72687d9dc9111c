/* The agent's cache on disk: DIR/blobs/HEX (float32 of a slice), DIR/plans/HEX, DIR/tmp. Files are
 * named by their digest and come into being by rename, so that several agents may share a folder.
 * Reading a file verifies its digest; what is damaged is deleted and counts as absent. Mapped blobs
 * are locked (flock), also against other agents, and never evicted.
 *
 * ad_cache_map and ad_cache_plan may be called from another thread than the other functions, which
 * are the errands' (errands.h). */
#ifndef AD_EXEC_AGENT_CACHE_H
#define AD_EXEC_AGENT_CACHE_H

#include "base/digest.h"
#include "base/error.h"

#include <time.h>

#define AD_CACHE_UPLOADS                                                                           \
    8 /* blobs uploaded at a time; the one that has waited longest for a piece is given up         \
       */

struct ad_upload;

struct ad_cache {
    char *dir;
    uint64_t limit;
    struct timespec push; /* CLOCK_REALTIME: when the latest push began */
    struct ad_upload *uploads[AD_CACHE_UPLOADS];
};

/* Makes the folders and removes old remains of uploads. ADAPS_EINPUT names the path. fini after a
 * failure, too. */
AD_MUST_CHECK enum adaps_status ad_cache_init(struct ad_cache *cache, const char *dir,
                                              uint64_t limit, struct adaps_error *err);
void ad_cache_fini(struct ad_cache *cache);

/* Whether a blob of this size is there (its content is checked when it is mapped); if so it becomes
 * the most recently used. */
bool ad_cache_has(const struct ad_cache *cache, const struct ad_digest *digest, uint64_t size);

/* A push begins: what is used from now on is not evicted before the next push. */
void ad_cache_begin_push(struct ad_cache *cache);

/* Deletes the least recently used files until `more` bytes fit within the limit; *tight (nullable)
 * says that they still do not, because of files in use. ADAPS_EINPUT when `needed` (the plan's
 * whole need here) or `more` is beyond the limit. */
AD_MUST_CHECK enum adaps_status ad_cache_make_room(struct ad_cache *cache, uint64_t needed,
                                                   uint64_t more, bool *tight,
                                                   struct adaps_error *err);

/* A piece of a blob from the sender `owner`; pieces come in order from offset 0. With the last one
 * the digest is verified and the blob appears. ADAPS_EINPUT: out of order, too long, wrong digest,
 * disk full; the upload is then given up. */
AD_MUST_CHECK enum adaps_status ad_cache_put(struct ad_cache *cache, uint64_t owner,
                                             const struct ad_digest *digest, uint64_t size,
                                             uint64_t offset, const void *data, size_t length,
                                             struct adaps_error *err);

AD_MUST_CHECK enum adaps_status ad_cache_put_plan(struct ad_cache *cache,
                                                  const struct ad_digest *digest, const void *data,
                                                  size_t size, struct adaps_error *err);

/* The bytes of a plan file, the caller's (ad_free). ADAPS_EAGENT: not there. */
AD_MUST_CHECK enum adaps_status ad_cache_plan(const struct ad_cache *cache,
                                              const struct ad_digest *digest, void **data,
                                              size_t *size, struct adaps_error *err);

/* A blob in memory, read-only. ADAPS_EAGENT: not there, or it was damaged. */
struct ad_mapping {
    void *data;
    size_t size;
    int fd; /* holds the lock */
};
AD_MUST_CHECK enum adaps_status ad_cache_map(const struct ad_cache *cache,
                                             const struct ad_digest *digest, size_t size,
                                             struct ad_mapping *out, struct adaps_error *err);
void ad_cache_unmap(struct ad_mapping *mapping);

/* Unmaps the memory; the blob stays locked, and so in the cache, until ad_cache_unmap(). */
void ad_cache_unmap_locked(struct ad_mapping *mapping);

struct ad_cache_stats {
    uint64_t bytes;
    uint32_t blobs, plans;
};
struct ad_cache_stats ad_cache_count(const struct ad_cache *cache);

#endif
