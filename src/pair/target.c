#include "pair/target.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static bool take(const char *from, size_t length, const char *letters, char *to, size_t size)
{
    if (length == 0 || length >= size || *from == '-' || strspn(from, letters) < length)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static bool take_host(const char *host, struct ad_target *out)
{
    static const char six[] = LETTERS ":%"; /* an address, and the name of an interface */
    const char *colon = strchr(host, ':'), *close;
    int64_t port;
    if (*host == '[') {
        close = strchr(host, ']');
        if (!close || !take(host + 1, (size_t)(close - host - 1), six, out->host, sizeof out->host))
            return false;
        colon = close + 1;
        if (!*colon)
            return true;
        if (*colon != ':')
            return false;
    } else if (colon && strchr(colon + 1, ':')) {
        return take(host, strlen(host), six, out->host, sizeof out->host);
    } else if (!take(host, colon ? (size_t)(colon - host) : strlen(host), LETTERS, out->host,
                     sizeof out->host)) {
        return false;
    }
    if (!colon)
        return true;
    if (!ad_parse_int(colon + 1, 1, 65535, &port))
        return false;
    out->port = (int)port;
    return true;
}

enum adaps_status ad_target_parse(const char *text, struct ad_target *out, struct adaps_error *err)
{
    const char *at = strrchr(text, '@'), *host = at ? at + 1 : text;
    *out = (struct ad_target){0};
    bool good = strlen(text) < sizeof out->text;
    if (good && at)
        good = take(text, (size_t)(at - text), LETTERS, out->user, sizeof out->user);
    if (!good || !take_host(host, out))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "'%.100s' is no board: it must be [USER@]HOST[:PORT]", text);
    snprintf(out->text, sizeof out->text, "%s", text);
    return ADAPS_OK;
}

bool ad_target_is_address(const char *host)
{
    struct in_addr four;
    return strchr(host, ':') != NULL || inet_pton(AF_INET, host, &four) == 1;
}

void ad_target_device_name(const char *host, const char *own, char *out, size_t size)
{
    const char *name = ad_target_is_address(host) ? own : host;
    size_t used = 0;
    for (; *name && *name != '.' && used + 1 < size; name++)
        if (strchr(LETTERS, *name) && (used > 0 || *name != '-'))
            out[used++] = *name;
        else if (used > 0)
            out[used++] = '-';
    out[used] = '\0';
    if (used == 0)
        snprintf(out, size, "board");
}
