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

struct bytes {
    uint8_t *data;
    size_t size, room;
};

/* One direction of a connection. */
struct way {
    int from, to;
    struct chunk *first, *last;
    int64_t free_ns; /* when the last byte has passed the narrow place */
    bool ended;      /* nothing more comes in */
    bool shut;       /* and that was handed on */
    /* when messages are held: */
    struct bytes in;       /* what has come, from a message's beginning */
    struct bytes past;     /* all messages that have passed */
    struct bytes held;     /* a message that waits for the next */
    int64_t held_until_ns; /* or for this */
    size_t greeted;        /* bytes of the greeting that have passed */
};

struct slow_proxy {
    pthread_t thread;
    char address[64];
    struct sockaddr_in target;
    int listener, quit_fd;
    int64_t delay_ns;
    _Atomic double rate;
    bool holds_messages;
    atomic_int tamper; /* enum slow_proxy_tamper */
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

static void enqueue(const struct slow_proxy *proxy, struct way *way, const void *data, size_t size)
{
    for (size_t done = 0, n; done < size; done += n) {
        struct chunk *chunk = ad_calloc(1, sizeof *chunk);
        int64_t now = ad_clock_ns();
        ck_assert_ptr_nonnull(chunk);
        n = size - done < CHUNK ? size - done : CHUNK;
        memcpy(chunk->data, (const char *)data + done, n);
        way->free_ns = way->free_ns > now ? way->free_ns : now;
        if (proxy->rate > 0)
            way->free_ns += (int64_t)((double)n / proxy->rate * 1e9);
        chunk->size = n;
        chunk->due_ns = way->free_ns + proxy->delay_ns;
        if (way->first)
            way->last->next = chunk;
        else
            way->first = chunk;
        way->last = chunk;
    }
}

/* --- messages (ZMTP 3, not encrypted) --- */

#define GREETING 64
#define HELD_NS 1000000000
enum { MORE = 1, LONG = 2, COMMAND = 4 };

static void append(struct bytes *to, const void *data, size_t size)
{
    if (size == 0)
        return;
    ck_assert(ad_grow(&to->data, to->size + size - 1, &to->room, 1));
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void remove_first(struct bytes *from, size_t size)
{
    from->size -= size;
    memmove(from->data, from->data + size, from->size);
}

/* Where the body of a part begins and where it ends; false: not all of it is there. */
static bool find_part(const struct bytes *bytes, size_t at, size_t *body, size_t *end)
{
    size_t left = bytes->size - at;
    if (left < 2)
        return false;
    bool large = bytes->data[at] & LONG;
    uint64_t size = large ? 0 : bytes->data[at + 1];
    *body = at + (large ? 9 : 2);
    if (left < *body - at)
        return false;
    for (size_t i = 1; large && i < 9; i++)
        size = size << 8 | bytes->data[at + i];
    *end = *body + (size_t)size;
    return *end <= bytes->size;
}

/* The size of the first message, or 0; *last is the body of its last part that is not empty. */
static size_t find_message(const struct bytes *bytes, size_t *last)
{
    size_t at = 0, body, end;
    while (find_part(bytes, at, &body, &end)) {
        *last = at == 0 || body < end ? body : *last;
        if (!(bytes->data[at] & MORE))
            return end;
        at = end;
    }
    return 0;
}

static bool is_ping(const struct bytes *bytes)
{
    struct ad_frame frame;
    size_t body, end;
    return find_part(bytes, 0, &body, &end) &&
           ad_frame_decode(bytes->data + body, end - body, &frame, NULL) == ADAPS_OK &&
           (frame.type == AD_FRAME_PING || frame.type == AD_FRAME_PONG);
}

static void let_go(const struct slow_proxy *proxy, struct way *way)
{
    enqueue(proxy, way, way->held.data, way->held.size);
    way->held.size = 0;
}

/* The first message; its last part that is not empty is at `last`. */
static void pass(struct slow_proxy *proxy, struct way *way, size_t size, size_t last)
{
    uint8_t *data = way->in.data;
    bool plain = data[0] & COMMAND || is_ping(&way->in);
    enum slow_proxy_tamper how = plain ? SLOW_PROXY_FAITHFUL : atomic_exchange(&proxy->tamper, 0);
    for (size_t i = last; how == SLOW_PROXY_GARBAGE && i < size; i++)
        data[i] ^= (uint8_t)(i * 37 + 90);
    if (how == SLOW_PROXY_REORDER) {
        append(&way->held, data, size);
        way->held_until_ns = ad_clock_ns() + HELD_NS;
        return;
    }
    enqueue(proxy, way, data, how == SLOW_PROXY_TRUNCATE ? size / 2 : size);
    way->ended = way->ended || how == SLOW_PROXY_TRUNCATE;
    if (how == SLOW_PROXY_DUPLICATE)
        enqueue(proxy, way, data, size);
    else if (how == SLOW_PROXY_REPLAY)
        enqueue(proxy, way, way->past.data, way->past.size);
    if (!plain)
        append(&way->past, data, size);
    let_go(proxy, way);
}

static void take_messages(struct slow_proxy *proxy, struct way *way, const void *data, size_t n)
{
    size_t greeting = GREETING - way->greeted < n ? GREETING - way->greeted : n, size, last;
    enqueue(proxy, way, data, greeting);
    way->greeted += greeting;
    append(&way->in, (const char *)data + greeting, n - greeting);
    while (!way->ended && (size = find_message(&way->in, &last)) > 0) {
        pass(proxy, way, size, last);
        remove_first(&way->in, size);
    }
}

static void take(struct slow_proxy *proxy, struct way *way)
{
    char data[CHUNK];
    ssize_t n = recv(way->from, data, sizeof data, MSG_DONTWAIT);
    if (n <= 0) {
        way->ended = n == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    look_for_frame(proxy, data, (size_t)n);
    if (proxy->holds_messages)
        take_messages(proxy, way, data, (size_t)n);
    else
        enqueue(proxy, way, data, (size_t)n);
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

static void forget_messages(struct way *way)
{
    ad_free(way->in.data);
    ad_free(way->past.data);
    ad_free(way->held.data);
    way->in = way->past = way->held = (struct bytes){0};
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
        forget_messages(there);
        forget_messages(back);
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
            if (proxy->ways[i].held.size > 0 && ad_clock_ns() >= proxy->ways[i].held_until_ns)
                let_go(proxy, &proxy->ways[i]);
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

void slow_proxy_hold_messages(struct slow_proxy *proxy)
{
    proxy->holds_messages = true;
}

void slow_proxy_tamper(struct slow_proxy *proxy, enum slow_proxy_tamper how)
{
    proxy->tamper = how;
}

void slow_proxy_narrow(struct slow_proxy *proxy, double rate)
{
    proxy->rate = rate;
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
        forget_messages(&proxy->ways[i]);
        if (i % 2 == 0 && proxy->ways[i].from >= 0) {
            close(proxy->ways[i].from);
            close(proxy->ways[i].to);
        }
    }
    close(proxy->listener);
    close(proxy->quit_fd);
    ad_free(proxy);
}
