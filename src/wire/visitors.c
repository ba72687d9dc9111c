#include "wire/visitors.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zmq.h>

/* False: it is gone, or no connection of ours. */
static bool find_address(int fd, char *out, size_t size)
{
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getpeername(fd, (struct sockaddr *)&storage, &length) != 0)
        return false;
    const void *host = NULL;
    if (storage.ss_family == AF_INET)
        host = &((const struct sockaddr_in *)&storage)->sin_addr;
    else if (storage.ss_family == AF_INET6)
        host = &((const struct sockaddr_in6 *)&storage)->sin6_addr;
    return host && inet_ntop(storage.ss_family, host, out, (socklen_t)size);
}

static int at_most(rlim_t limit, int most)
{
    return limit == RLIM_INFINITY || limit > (rlim_t)most ? most : (int)limit;
}

void ad_visitors_init(struct ad_visitors *visitors, struct ad_guard *guard)
{
    struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_NOFILE, &files);
    rlim_t n = files.rlim_cur;
    memset(visitors, 0, sizeof *visitors);
    visitors->guard = guard;
    visitors->most = at_most(n == RLIM_INFINITY ? n : n / 4, AD_VISITORS_MOST);
    visitors->strangers_most = at_most(n == RLIM_INFINITY ? n : n / 8, AD_STRANGERS_MOST);
    visitors->of_one_address =
        at_most((rlim_t)visitors->strangers_most, AD_STRANGERS_OF_ONE_ADDRESS);
}

static struct ad_visitor *find(const struct ad_visitors *visitors, int fd)
{
    for (int i = 0; i < visitors->count; i++)
        if (visitors->items[i].fd == fd)
            return (struct ad_visitor *)&visitors->items[i];
    return NULL;
}

/* ZeroMQ reads the end of the connection, and closes it. The descriptor may be another one's by
 * now, if its event is still to come; so it is only done to a connection from the same address. */
static void drop(struct ad_visitor *visitor)
{
    char address[sizeof visitor->address];
    visitor->dropped = true;
    if (find_address(visitor->fd, address, sizeof address) &&
        strcmp(address, visitor->address) == 0)
        shutdown(visitor->fd, SHUT_RDWR);
}

static void forget(struct ad_visitors *visitors, struct ad_visitor *visitor)
{
    *visitor = visitors->items[--visitors->count];
}

/* The stranger that came first, of one address (NULL: of all), and how many there are. */
static struct ad_visitor *oldest_stranger(struct ad_visitors *visitors, const char *address,
                                          int *count)
{
    struct ad_visitor *oldest = NULL;
    *count = 0;
    for (int i = 0; i < visitors->count; i++) {
        struct ad_visitor *v = &visitors->items[i];
        if (v->known || v->dropped || (address && strcmp(v->address, address) != 0))
            continue;
        ++*count;
        if (!oldest || v->number < oldest->number)
            oldest = v;
    }
    return oldest;
}

static int count_present(const struct ad_visitors *visitors)
{
    int count = 0;
    for (int i = 0; i < visitors->count; i++)
        count += !visitors->items[i].dropped;
    return count;
}

static void refuse(struct ad_visitors *visitors, struct ad_visitor *visitor, const char *why)
{
    ad_guard_refused(visitors->guard, visitor->address, NULL, why);
    drop(visitor);
}

static void come(struct ad_visitors *visitors, int fd)
{
    struct ad_visitor visitor = {.fd = fd, .number = visitors->came++}, *last;
    struct ad_visitor *before = find(visitors, fd);
    int strangers;
    if (before) /* its end was not told */
        forget(visitors, before);
    if (!find_address(fd, visitor.address, sizeof visitor.address))
        return; /* gone already */
    if (visitors->count == (int)(sizeof visitors->items / sizeof visitors->items[0])) {
        refuse(visitors, &visitor, "too many connections");
        return;
    }
    last = &visitors->items[visitors->count++];
    *last = visitor;
    struct ad_visitor *oldest = oldest_stranger(visitors, visitor.address, &strangers);
    if (strangers > visitors->of_one_address)
        refuse(visitors, oldest, "too many connections from there that have sent nothing");
    oldest = oldest_stranger(visitors, NULL, &strangers);
    if (strangers > visitors->strangers_most || count_present(visitors) > visitors->most)
        refuse(visitors, oldest ? oldest : last, "too many connections");
}

static void go(struct ad_visitors *visitors, int fd)
{
    struct ad_visitor *visitor = find(visitors, fd);
    uint16_t failure = visitors->failure;
    visitors->failure = 0;
    if (!visitor)
        return;
    if (failure == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && !visitor->dropped)
        ad_guard_refused(visitors->guard, visitor->address, NULL,
                         "it does not speak as controllers do, or has another key for this agent");
    else if (failure == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && !visitor->dropped)
        ad_guard_refused(visitors->guard, visitor->address, NULL,
                         "it did not finish the handshake");
    forget(visitors, visitor);
}

void ad_visitors_event(struct ad_visitors *visitors, uint16_t event, uint32_t value)
{
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        come(visitors, (int)value);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: /* the connection ends by the next event */
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        visitors->failure = event;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: /* logged by who refused it (zap.c) */
        visitors->failure = 0;
        break;
    case ZMQ_EVENT_DISCONNECTED:
        go(visitors, (int)value);
        break;
    default:
        break;
    }
}

void ad_visitors_know(struct ad_visitors *visitors, int fd)
{
    struct ad_visitor *visitor = find(visitors, fd);
    if (visitor)
        visitor->known = true;
}

void ad_visitors_drop_stranger(struct ad_visitors *visitors, const char *why)
{
    int strangers;
    struct ad_visitor *oldest = oldest_stranger(visitors, NULL, &strangers);
    if (oldest)
        refuse(visitors, oldest, why);
}

void ad_visitors_drop_all(struct ad_visitors *visitors)
{
    for (int i = 0; i < visitors->count; i++)
        if (!visitors->items[i].dropped)
            drop(&visitors->items[i]);
}

const char *ad_visitors_address(const struct ad_visitors *visitors, int fd)
{
    const struct ad_visitor *visitor = find(visitors, fd);
    return visitor ? visitor->address : "?";
}
