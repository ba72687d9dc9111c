#include "doctor/reach.h"
#include "base/clock.h"
#include "wire/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING 64                       /* bytes of ZMTP 3: a signature of 10, the version, */
#define MECHANISM 12                      /* at 12 the name of how it is encrypted, in 20 bytes, */
#define AS_SERVER 32                      /* and whether it is a server of that */
#define SAYS_NS ((int64_t)2 * 1000000000) /* that it may take to say something */

bool ad_reach_greeting(const unsigned char *bytes, size_t size, bool *keys)
{
    if (size <= AS_SERVER || bytes[0] != 0xff || bytes[9] != 0x7f || bytes[10] < 3)
        return false;
    *keys = strncmp((const char *)bytes + MECHANISM, "CURVE", AS_SERVER - MECHANISM) == 0;
    return *keys || strncmp((const char *)bytes + MECHANISM, "NULL", AS_SERVER - MECHANISM) == 0;
}

static void say(struct ad_contact *out, enum ad_reached reached, const char *reason)
{
    out->reached = reached;
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)sizeof out->reason - 1, reason);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Waits for the events until a time; false when it is over. */
static bool await(int fd, short events, int64_t until_ns)
{
    struct pollfd item = {.fd = fd, .events = events};
    for (;;) {
        int64_t left = until_ns - ad_clock_ns();
        if (left <= 0)
            return false;
        int n = poll(&item, 1, (int)(left / 1000000) + 1);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* 0, or an errno. */
static int finish_connecting(int fd, int64_t until_ns)
{
    int reason = 0;
    socklen_t size = sizeof reason;
    if (!await(fd, POLLOUT, until_ns))
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 ? reason : errno;
}

/* A connection to an address, or -1 with *reason. */
static int dial(const struct addrinfo *to, int64_t until_ns, int *reason)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *reason = errno;
        return -1;
    }
    *reason = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    if (*reason == EINPROGRESS)
        *reason = finish_connecting(fd, until_ns);
    if (*reason == 0)
        return fd;
    close(fd);
    return -1;
}

/* Says the signature and the version of ZMTP, and no more: the other side then tells how it is
 * encrypted, and nothing has begun that it would log as refused. */
static void hear(int fd, int64_t until_ns, struct ad_contact *out)
{
    static const unsigned char hello[] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3};
    unsigned char bytes[GREETING];
    size_t used = 0;
    bool closed = send(fd, hello, sizeof hello, MSG_NOSIGNAL) < 0;
    while (!closed && used < sizeof bytes && await(fd, POLLIN, until_ns)) {
        ssize_t n = recv(fd, bytes + used, sizeof bytes - used, 0);
        closed = n <= 0;
        used += n > 0 ? (size_t)n : 0;
        if (used > 0 && bytes[0] != 0xff)
            break; /* waits perhaps for more than that */
    }
    if (ad_reach_greeting(bytes, used, &out->keys)) {
        say(out, AD_REACHED, "");
    } else if (used == 0 || (used < 11 && bytes[0] == 0xff)) {
        say(out, AD_REACHED_SILENT, closed ? "it closes the connection" : "it says nothing");
    } else {
        char text[40];
        size_t n = used < sizeof text ? used : sizeof text - 1;
        for (size_t i = 0; i < n; i++)
            text[i] = bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '?';
        text[n] = '\0';
        say(out, AD_REACHED_STRANGER, text);
    }
}

/* host: an address, without brackets. */
static void try_address(const char *host, int port, int64_t until_ns, struct ad_contact *out)
{
    char service[16];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    snprintf(service, sizeof service, "%d", port);
    int failed = getaddrinfo(host, service, &hints, &found), reason;
    if (failed) {
        say(out, AD_REACHED_NO_ADDRESS, gai_strerror(failed));
        return;
    }
    int fd = dial(found, until_ns, &reason);
    freeaddrinfo(found);
    if (fd < 0) {
        say(out, reason == ECONNREFUSED ? AD_REACHED_NOBODY : AD_REACHED_NO_WAY, strerror(reason));
        return;
    }
    hear(fd, least(until_ns, ad_clock_ns() + SAYS_NS), out);
    close(fd);
}

void ad_reach_try(const char *address, double deadline_s, struct ad_contact *out)
{
    struct ad_endpoint endpoint;
    struct ad_deadline deadline;
    struct adaps_error err;
    char resolved[AD_ENDPOINT_BYTES];
    const char *proxy = getenv("ADAPS_SOCKS_PROXY");
    int64_t wait_ns = (int64_t)(deadline_s * 1e9), until_ns = ad_clock_ns() + wait_ns;
    memset(out, 0, sizeof *out);
    if (!*address) {
        say(out, AD_REACHED_NO_ADDRESS, "the devices file has no address for it");
    } else if (ad_endpoint_parse(address, &endpoint, &err) != ADAPS_OK) {
        say(out, AD_REACHED_NO_ADDRESS, err.message);
    } else if (endpoint.port == 0) {
        say(out, AD_REACHED_NO_ADDRESS, "its address has no port");
    } else if (proxy && *proxy) {
        say(out, AD_REACHED_UNKNOWN, "connections go through a proxy");
    } else {
        ad_deadline_set(&deadline, wait_ns);
        if (ad_endpoint_resolve(address, &deadline, NULL, resolved, &err) != ADAPS_OK) {
            say(out, AD_REACHED_NO_NAME, err.message);
            return;
        }
        if (ad_endpoint_parse(resolved, &endpoint, &err) != ADAPS_OK) {
            say(out, AD_REACHED_NO_ADDRESS, err.message);
            return;
        }
        char *host = endpoint.host;
        if (*host == '[') { /* [::1] */
            host++;
            host[strcspn(host, "]")] = '\0';
        }
        try_address(host, endpoint.port, until_ns, out);
    }
}
