/* Errors: every function that can fail returns enum adaps_status and fills a caller-owned, nullable
 * struct adaps_error. The values are the exit codes of the command line. */
#ifndef AD_BASE_ERROR_H
#define AD_BASE_ERROR_H

#include "adaps.h"

#include <stdarg.h>

#define AD_MUST_CHECK __attribute__((warn_unused_result))
#define AD_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Fills *err (when not NULL) with the status and the formatted message; returns status, so that
 * `return ad_error_set(err, ADAPS_EINPUT, "%s: ...", path);` is the usual form. Errno is kept. */
enum adaps_status ad_error_set(struct adaps_error *err, enum adaps_status status, const char *fmt,
                               ...) AD_PRINTF(3, 4);

/* Puts context in front of a message that is already there ("model.onnx: " + message). No-op when
 * err is NULL. Returns err->status (ADAPS_EINTERNAL when err is NULL). */
enum adaps_status ad_error_prefix(struct adaps_error *err, const char *fmt, ...) AD_PRINTF(2, 3);

/* Out of memory: "out of memory (WHAT, SIZE bytes)"; status ADAPS_EINTERNAL. */
enum adaps_status ad_error_memory(struct adaps_error *err, const char *what, size_t size);

#endif
