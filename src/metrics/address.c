#include "metrics/address.h"
#include "wire/endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define PUBLIC ",public"

/* The host without brackets; "*" is any. */
static void plain_host(const struct ad_endpoint *endpoint, char *to, size_t size)
{
    const char *host = endpoint->host;
    size_t n = strlen(host);
    if (strcmp(host, "localhost") == 0)
        snprintf(to, size, "127.0.0.1");
    else if (strcmp(host, "*") == 0)
        snprintf(to, size, "0.0.0.0");
    else if (host[0] == '[' && host[n - 1] == ']')
        snprintf(to, size, "%.*s", (int)n - 2, host + 1);
    else
        snprintf(to, size, "%s", host);
}

static enum adaps_status resolve(const char *text, const struct ad_endpoint *endpoint,
                                 struct ad_metrics_address *out, struct adaps_error *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char host[sizeof endpoint->host], port[12];
    plain_host(endpoint, host, sizeof host);
    snprintf(port, sizeof port, "%d", endpoint->port);
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "%s: '%s' is no address; 127.0.0.1:9570 or [::1]:9570 is", text, host);
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->size = found->ai_addrlen;
    freeaddrinfo(found);
    return ADAPS_OK;
}

enum adaps_status ad_metrics_address_parse(const char *text, struct ad_metrics_address *out,
                                           struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    struct ad_metrics_address address;
    struct adaps_error reason;
    char whole[AD_ENDPOINT_BYTES];
    size_t n = strlen(text), end = strlen(PUBLIC);
    bool public = n > end && strcmp(text + n - end, PUBLIC) == 0;
    n -= public ? end : 0;
    int written = snprintf(whole, sizeof whole, "tcp://%.*s", (int)n, text);
    if (written < 0 || (size_t)written >= sizeof whole || strstr(text, "://") ||
        ad_endpoint_parse(whole, &endpoint, &reason) != ADAPS_OK)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "%.200s: an address and a port, such as 127.0.0.1:9570, are wanted",
                            text);
    memset(&address, 0, sizeof address);
    enum adaps_status status = resolve(text, &endpoint, &address, err);
    if (status == ADAPS_OK && !public && !ad_endpoint_is_loopback(&endpoint))
        status = ad_error_set(err, ADAPS_EUSAGE,
                              "%s can be reached from other machines, and whoever reaches it may "
                              "read the metrics: take 127.0.0.1, or say %s" PUBLIC,
                              text, text);
    if (status == ADAPS_OK && out)
        *out = address;
    return status;
}
