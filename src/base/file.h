/* Files: whole reads with a limit, atomic replacement, paths. */
#ifndef AD_BASE_FILE_H
#define AD_BASE_FILE_H

#include "base/error.h"

#include <sys/stat.h>

/* Reads a regular file of at most max_bytes. *data is the caller's (ad_free) and has one NUL byte
 * after its *size bytes. ADAPS_EINPUT names the path and the reason. */
AD_MUST_CHECK enum adaps_status ad_file_read(const char *path, size_t max_bytes, void **data,
                                             size_t *size, struct adaps_error *err);

/* The same of a file that is open already. */
AD_MUST_CHECK enum adaps_status ad_file_read_open(int fd, const char *path, size_t max_bytes,
                                                  void **data, size_t *size,
                                                  struct adaps_error *err);

/* What tells whether a file is still the same. */
struct ad_file_state {
    struct stat st;
    bool there;
    bool young; /* it was written just now, and may be again within a tick of its clock */
};
struct ad_file_state ad_file_state(const char *path);

/* False: another file, or changed, or perhaps changed. */
bool ad_file_same(const struct ad_file_state *a, const struct ad_file_state *b);

/* Writes to a temporary name in the same folder, syncs, renames over path; the old file stays on
 * failure. ADAPS_EINPUT names the path and the reason. "-" is not special. */
AD_MUST_CHECK enum adaps_status ad_file_replace(const char *path, const void *data, size_t size,
                                                struct adaps_error *err);

/* Writes all bytes to an open file; false with errno when that fails. */
AD_MUST_CHECK bool ad_file_write_all(int fd, const void *data, size_t size);

/* mkdir -p with mode 0700 for what is made. ADAPS_EINPUT names the path. */
AD_MUST_CHECK enum adaps_status ad_file_mkdirs(const char *path, struct adaps_error *err);

/* `name` as seen from the folder of `base_file`: name itself when absolute or when base_file has no
 * folder part. Caller frees with ad_free(); NULL without memory. */
char *ad_file_relative_to(const char *base_file, const char *name);

/* The running program's file, "" where the system does not say. Same ownership. */
char *ad_file_program(void);

#endif
