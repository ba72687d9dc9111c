#include "support/slow_proxy.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire/endpoint.h"
#include "wire/frame.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 16384
#define CONNECTIONS 32

struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t size, sent;
    char data[CHUNK];
};

/* One direction of a connection. */
struct way {
    int from, to;
    struct chunk *first, *last;
    int64_t free_ns; /* when the last byte has passed the narrow place */
    bool ended;      /* nothing more comes in */
    bool shut;       /* and that was handed on */
};

struct slow_proxy {
    pthread_t thread;
    char address[64];
    struct sockaddr_in target;
    int listener, quit_fd;
    int64_t delay_ns;
    double rate;
    struct way ways[2 * CONNECTIONS];
    int nways;
    atomic_int awaited; /* type of frame; 0: none */
    void (*then)(void *self);
    void *self;
};

/* Heads of messages are sent whole. */
static void look_for_frame(struct slow_proxy *proxy, const char *data, size_t size)
{
    struct ad_frame frame;
    for (size_t i = 0; proxy->awaited && i + AD_FRAME_BYTES <= size; i++) {
        if (data[i] != 'A' || ad_frame_decode(data + i, AD_FRAME_BYTES, &frame, NULL) != ADAPS_OK ||
            frame.type != proxy->awaited)
            continue;
        proxy->awaited = 0;
        proxy->then(proxy->self);
    }
}

static void take(struct slow_proxy *proxy, struct way *way)
{
    struct chunk *chunk = ad_calloc(1, sizeof *chunk);
    ck_assert_ptr_nonnull(chunk);
    ssize_t n = recv(way->from, chunk->data, sizeof chunk->data, MSG_DONTWAIT);
    if (n <= 0) {
        way->ended = n == 0 || (errno != EAGAIN && errno != EINTR);
        ad_free(chunk);
        return;
    }
    look_for_frame(proxy, chunk->data, (size_t)n);
    int64_t now = ad_clock_ns();
    way->free_ns = way->free_ns > now ? way->free_ns : now;
    if (proxy->rate > 0)
        way->free_ns += (int64_t)((double)n / proxy->rate * 1e9);
    chunk->size = (size_t)n;
    chunk->due_ns = way->free_ns + proxy->delay_ns;
    if (way->first)
        way->last->next = chunk;
    else
        way->first = chunk;
    way->last = chunk;
}

static void drop(struct way *way)
{
    struct chunk *chunk = way->first;
    way->first = chunk->next;
    ad_free(chunk);
}

/* Hands on what is due; returns when the next is, or INT64_MAX. */
static int64_t give(struct way *way)
{
    while (way->first && way->first->due_ns <= ad_clock_ns()) {
        struct chunk *chunk = way->first;
        ssize_t n = send(way->to, chunk->data + chunk->sent, chunk->size - chunk->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return ad_clock_ns() + 1000000;
        chunk->sent += n > 0 ? (size_t)n : 0;
        if (n <= 0 || chunk->sent == chunk->size)
            drop(way);
    }
    if (way->ended && !way->first && !way->shut) {
        shutdown(way->to, SHUT_WR);
        way->shut = true;
    }
    return way->first ? way->first->due_ns : INT64_MAX;
}

static bool is_room(const struct slow_proxy *proxy)
{
    for (int i = 0; i < proxy->nways; i += 2)
        if (proxy->ways[i].from < 0)
            return true;
    return proxy->nways < 2 * CONNECTIONS;
}

/* Closes connections that have ended both ways. */
static void close_ended(struct slow_proxy *proxy)
{
    for (int i = 0; i < proxy->nways; i += 2) {
        struct way *there = &proxy->ways[i], *back = &proxy->ways[i + 1];
        if (there->from < 0 || !there->shut || !back->shut)
            continue;
        close(there->from);
        close(there->to);
        there->from = there->to = back->from = back->to = -1;
    }
}

static void accept_one(struct slow_proxy *proxy)
{
    int one = 1, from = accept(proxy->listener, NULL, NULL);
    int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (from < 0 || to < 0 || !is_room(proxy) ||
        connect(to, (struct sockaddr *)&proxy->target, sizeof proxy->target) != 0) {
        close(from);
        close(to);
        return;
    }
    setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int i = 0; /* where a connection has ended, or at the end */
    while (i < proxy->nways && proxy->ways[i].from >= 0)
        i += 2;
    proxy->nways = i == proxy->nways ? i + 2 : proxy->nways;
    proxy->ways[i] = (struct way){.from = from, .to = to};
    proxy->ways[i + 1] = (struct way){.from = to, .to = from};
}

/* What a way holds is limited, so that the sender notices a narrow place. */
static bool has_room(const struct way *way)
{
    return !way->ended && way->free_ns - ad_clock_ns() < 100000000;
}

static void *forward(void *self)
{
    struct slow_proxy *proxy = self;
    for (;;) {
        struct pollfd items[2 + 2 * CONNECTIONS] = {{.fd = proxy->quit_fd, .events = POLLIN},
                                                    {.fd = proxy->listener, .events = POLLIN}};
        int64_t next = INT64_MAX;
        bool full = false;
        for (int i = 0; i < proxy->nways; i++) {
            int64_t due = give(&proxy->ways[i]);
            bool room = has_room(&proxy->ways[i]);
            full = full || (!room && !proxy->ways[i].ended);
            next = due < next ? due : next;
            items[2 + i] = (struct pollfd){.fd = room ? proxy->ways[i].from : -1, .events = POLLIN};
        }
        int64_t left = next == INT64_MAX ? 50000000 : next - ad_clock_ns();
        int ms = left > 0 ? (int)(left / 1000000) + 1 : 0;
        poll(items, (nfds_t)(2 + proxy->nways), full && ms > 10 ? 10 : ms);
        if (items[0].revents)
            return NULL;
        int n = proxy->nways;
        for (int i = 0; i < n; i++)
            if (items[2 + i].revents)
                take(proxy, &proxy->ways[i]);
        close_ended(proxy);
        if (items[1].revents)
            accept_one(proxy);
    }
}

struct slow_proxy *slow_proxy_start(const char *address, int64_t delay_ns, double rate)
{
    struct slow_proxy *proxy = ad_calloc(1, sizeof *proxy);
    struct ad_endpoint endpoint;
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t size = sizeof here;
    ck_assert_ptr_nonnull(proxy);
    ck_assert_int_eq(ad_endpoint_parse(address, &endpoint, NULL), ADAPS_OK);
    proxy->target =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)endpoint.port)};
    ck_assert_int_eq(inet_pton(AF_INET, endpoint.host, &proxy->target.sin_addr), 1);
    proxy->delay_ns = delay_ns;
    proxy->rate = rate;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    proxy->quit_fd = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_ge(proxy->quit_fd, 0);
    here.sin_addr = proxy->target.sin_addr;
    ck_assert_int_eq(bind(proxy->listener, (struct sockaddr *)&here, sizeof here), 0);
    ck_assert_int_eq(listen(proxy->listener, 16), 0);
    ck_assert_int_eq(getsockname(proxy->listener, (struct sockaddr *)&here, &size), 0);
    snprintf(proxy->address, sizeof proxy->address, "tcp://%.30s:%d", endpoint.host,
             ntohs(here.sin_port));
    ck_assert_int_eq(pthread_create(&proxy->thread, NULL, forward, proxy), 0);
    return proxy;
}

void slow_proxy_watch(struct slow_proxy *proxy, int type, void (*then)(void *self), void *self)
{
    proxy->then = then;
    proxy->self = self;
    proxy->awaited = type;
}

const char *slow_proxy_address(const struct slow_proxy *proxy)
{
    return proxy->address;
}

void slow_proxy_stop(struct slow_proxy *proxy)
{
    eventfd_write(proxy->quit_fd, 1);
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < proxy->nways; i++) {
        while (proxy->ways[i].first)
            drop(&proxy->ways[i]);
        if (i % 2 == 0 && proxy->ways[i].from >= 0) {
            close(proxy->ways[i].from);
            close(proxy->ways[i].to);
        }
    }
    close(proxy->listener);
    close(proxy->quit_fd);
    ad_free(proxy);
}
