#include "wire/endpoint.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum adaps_status ad_endpoint_parse(const char *text, struct ad_endpoint *out,
                                    struct adaps_error *err)
{
    static const char scheme[] = "tcp://";
    const char *host = text + sizeof scheme - 1;
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return ad_error_set(err, ADAPS_EUSAGE, "'%s' is not an address: it must be tcp://HOST:PORT",
                            text);
    const char *colon = strrchr(host, ':');
    size_t length = colon ? (size_t)(colon - host) : 0;
    bool bracketed = length > 2 && host[0] == '[' && host[length - 1] == ']';
    if (length == 0 || length >= sizeof out->host ||
        (!bracketed && memchr(host, ':', length) != NULL) || strpbrk(host, " \t\n/;,") != NULL)
        return ad_error_set(err, ADAPS_EUSAGE, "'%s' is not an address: it must be tcp://HOST:PORT",
                            text);
    int64_t port = 0;
    if (strcmp(colon + 1, "*") != 0 && !ad_parse_int(colon + 1, 0, 65535, &port))
        return ad_error_set(err, ADAPS_EUSAGE, "'%s': the port must be 1 to 65535, or * for any",
                            text);
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    out->port = (int)port;
    return ADAPS_OK;
}

char *ad_endpoint_format(const char *host, int port, char buf[AD_ENDPOINT_BYTES])
{
    if (port == 0)
        snprintf(buf, AD_ENDPOINT_BYTES, "tcp://%s:*", host);
    else
        snprintf(buf, AD_ENDPOINT_BYTES, "tcp://%s:%d", host, port);
    return buf;
}

bool ad_endpoint_is_loopback(const struct ad_endpoint *endpoint)
{
    struct in_addr ip4;
    if (inet_pton(AF_INET, endpoint->host, &ip4) == 1)
        return (ntohl(ip4.s_addr) >> 24) == 127;
    return strcmp(endpoint->host, "[::1]") == 0 || strcmp(endpoint->host, "localhost") == 0;
}
