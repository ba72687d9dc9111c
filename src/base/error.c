#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum adaps_status ad_error_set(struct adaps_error *err, enum adaps_status status, const char *fmt,
                               ...)
{
    int saved = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, fmt, ap);
        va_end(ap);
    }
    errno = saved;
    return status;
}

enum adaps_status ad_error_prefix(struct adaps_error *err, const char *fmt, ...)
{
    if (!err)
        return ADAPS_EINTERNAL;
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->message)
        snprintf(err->message + n, sizeof err->message - (size_t)n, "%s", old);
    return err->status;
}

enum adaps_status ad_error_memory(struct adaps_error *err, const char *what, size_t size)
{
    return ad_error_set(err, ADAPS_EINTERNAL, "out of memory (%s, %zu bytes)", what, size);
}
