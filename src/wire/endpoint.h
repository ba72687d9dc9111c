/* Addresses of agents: "tcp://HOST:PORT". HOST is an IPv4 address, an IPv6 address in brackets, a
 * name, an interface, or "*"; PORT is 1..65535, or 0 or "*" for any free one. */
#ifndef AD_WIRE_ENDPOINT_H
#define AD_WIRE_ENDPOINT_H

#include "base/error.h"

#define AD_ENDPOINT_BYTES 300

struct ad_endpoint {
    char host[256]; /* as written, with the brackets */
    int port;       /* 0 = any */
};

/* ADAPS_EUSAGE names the text and the rule. */
AD_MUST_CHECK enum adaps_status ad_endpoint_parse(const char *text, struct ad_endpoint *out,
                                                  struct adaps_error *err);

/* "tcp://HOST:PORT", port 0 as "*". Returns buf. */
char *ad_endpoint_format(const char *host, int port, char buf[AD_ENDPOINT_BYTES]);

/* 127.x.x.x, [::1] or localhost. */
bool ad_endpoint_is_loopback(const struct ad_endpoint *endpoint);

#endif
