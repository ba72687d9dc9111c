/* What the files of the cache share: cache.c (folders, reading), cache_room.c (what goes when there
 * is no room), cache_upload.c (what comes). */
#ifndef AD_EXEC_AGENT_CACHE_INTERNAL_H
#define AD_EXEC_AGENT_CACHE_INTERNAL_H

#include "exec/agent/cache.h"

#include <sys/stat.h>

/* DIR/KIND/HEX, the caller's (ad_free); NULL without memory. */
char *ad_cache_path(const struct ad_cache *cache, const char *kind, const struct ad_digest *digest);

/* A file becomes the most recently used. By the clock of ad_cache_begin_push(): the kernel's own
 * times of files lag by up to a tick, in which a whole session of a small network may pass. Only
 * the order of eviction depends on it. */
void ad_cache_touch(const char *path);

/* Makes what is missing of the folders. ADAPS_EINPUT names the path. */
AD_MUST_CHECK enum adaps_status ad_cache_make_folders(const struct ad_cache *cache,
                                                      struct adaps_error *err);

/* A new file in DIR/tmp, and its path (ad_free); folders that somebody has removed are made again.
 * ADAPS_EAGENT; then *fd is -1. */
AD_MUST_CHECK enum adaps_status ad_cache_new_file(const struct ad_cache *cache, char **path,
                                                  int *fd, struct adaps_error *err);

/* Moves a file of DIR/tmp to its place, over whatever is there, also a folder. ADAPS_EAGENT; then
 * it is where it was. */
AD_MUST_CHECK enum adaps_status ad_cache_place(const struct ad_cache *cache, const char *from,
                                               const char *to, struct adaps_error *err);

/* Calls visit for every regular file of a folder. */
typedef void ad_cache_visit_fn(void *self, const char *path, const struct stat *st);
void ad_cache_visit(const struct ad_cache *cache, const char *kind, ad_cache_visit_fn *visit,
                    void *self);

/* What uploads under way will take, by ad_cache_cost(). */
uint64_t ad_cache_under_way(const struct ad_cache *cache);

/* "PATH: cannot write: REASON", by errno. */
enum adaps_status ad_cache_cannot_write(const char *path, struct adaps_error *err);

#endif
