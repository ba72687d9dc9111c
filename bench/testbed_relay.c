/* A switch in user space, for machines without network namespaces. Every host has a SOCKS5 proxy of
 * its own, which its programs connect through, so that the relay knows whose uplink and whose
 * downlink a connection takes. Time is virtual: a packet's times are computed from when its bytes
 * were read, not from when this process was scheduled:
 *
 *   leaves the uplink    up = max(read, the uplink is free) + bytes on the wire / rate
 *   leaves the switch    down = max(up, the downlink is free) + bytes on the wire / rate
 *   is handed over       down + latency
 *
 * On a shared medium all uplinks are one, and there are no downlinks: a packet takes the medium
 * once, and half an acknowledgement with it, which the relay does not have.
 *
 * Downlinks are booked in the order of `up` among all connections. The latency hides how late this
 * process wakes up. A connection books its uplink no further than WINDOW_NS ahead, so that several
 * share it. A port that is cut passes nothing; what is under way waits, as it would for
 * retransmission. */
#include "bench/testbed_helper.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORTS 65
#define CONNECTIONS 512
#define BUFFER (1 << 20)  /* bytes under way in one direction of a connection */
#define PACKETS 4096      /* packets of it */
#define WINDOW_NS 4000000 /* an uplink is booked so far ahead by one connection */
#define RETRY_NS 50000000 /* between two attempts to reach a program that does not listen */
#define TOGETHER_NS 40000 /* what is due within this is handed over together */

struct port {
    const char *name;
    struct in_addr address;
    int listener;
    double rate; /* bits per second; 0 = without limit */
    int64_t up_free, down_free;
    uint64_t up_bytes, down_bytes;
    bool cut;
};

struct packet {
    int64_t up, due; /* due: once the downlink is booked */
    int size;
};

/* One direction. Packets first..booked wait for their time, booked..last for the downlink;
 * positions only grow. */
struct half {
    int from, to;
    struct port *source, *target;
    struct packet *packets;
    uint64_t first, booked, last;
    char *bytes;
    uint64_t head, tail; /* of the bytes: handed over, read */
    int64_t up_end;      /* of the last packet */
    bool ended, closed;  /* nothing more is read; the end was handed over */
    bool full;           /* the receiver takes no more */
};

enum state { GREETING, REQUEST, WAITING, CONNECTING, OPEN };

struct connection {
    enum state state;
    int64_t retry; /* WAITING: when to try again */
    struct port *source, *target;
    struct sockaddr_in to;
    int client, server;
    unsigned char request[300];
    int used;
    struct half halves[2];
};

static struct port ports[PORTS];
static int nports;
static struct connection *connections[CONNECTIONS];
static int nconnections;
static int64_t latency;
static bool shared;
static int64_t medium_free;

/* --- time --- */

static bool blocked(const struct half *h)
{
    return h->source != h->target && (h->source->cut || h->target->cut);
}

static int64_t wire_ns(const struct port *port, int bytes)
{
    int head = TESTBED_WIRE_HEAD + (shared ? TESTBED_WIRE_HEAD / 2 : 0);
    return port->rate > 0 ? (int64_t)((bytes + head) * 8 * 1e9 / port->rate) : 0;
}

/* Whose rate counts where the link of one is without limit: the other's. */
static const struct port *slowest(const struct half *h)
{
    return h->source->rate > 0 ? h->source : h->target;
}

static struct packet *packet_at(struct half *h, uint64_t position)
{
    return &h->packets[position % PACKETS];
}

static void book_up(struct half *h, int64_t now, int bytes)
{
    while (bytes > 0) {
        struct packet *p = packet_at(h, h->last++);
        p->size = bytes < TESTBED_PAYLOAD ? bytes : TESTBED_PAYLOAD;
        bytes -= p->size;
        p->up = now;
        if (h->source != h->target) {
            int64_t *free_at = shared ? &medium_free : &h->source->up_free;
            int64_t start = *free_at > now ? *free_at : now;
            p->up = start + wire_ns(shared ? slowest(h) : h->source, p->size);
            *free_at = p->up;
            h->source->up_bytes += (uint64_t)(p->size + TESTBED_COUNTED_HEAD);
        }
        h->up_end = p->up;
    }
}

static void book_down(struct half *h)
{
    struct packet *p = packet_at(h, h->booked++);
    p->due = p->up;
    if (h->source == h->target)
        return;
    int64_t start = h->target->down_free > p->up && !shared ? h->target->down_free : p->up;
    h->target->down_free = start + (shared ? 0 : wire_ns(h->target, p->size));
    h->target->down_bytes += (uint64_t)(p->size + TESTBED_COUNTED_HEAD);
    p->due = h->target->down_free + latency;
}

/* Books the downlinks of all packets that have left their uplinks, in that order. */
static void book_downlinks(int64_t now)
{
    for (;;) {
        struct half *next = NULL;
        for (int i = 0; i < 2 * nconnections; i++) {
            struct half *h = &connections[i / 2]->halves[i % 2];
            if (connections[i / 2]->state != OPEN || h->booked == h->last || blocked(h))
                continue;
            if (!next || packet_at(h, h->booked)->up < packet_at(next, next->booked)->up)
                next = h;
        }
        if (!next || packet_at(next, next->booked)->up > now)
            return;
        book_down(next);
    }
}

/* --- bytes --- */

/* How many bytes may be read now; if 0, *again is lowered to the time to look again. */
static int room(const struct half *h, int64_t now, int64_t *again)
{
    int64_t left = BUFFER - (int64_t)(h->tail - h->head);
    int64_t packets = PACKETS - (int64_t)(h->last - h->first);
    if (h->ended || blocked(h) || left < TESTBED_PAYLOAD || packets < 64)
        return 0;
    left = left < 32 * TESTBED_PAYLOAD ? left : 32 * TESTBED_PAYLOAD;
    double rate = shared ? slowest(h)->rate : h->source->rate;
    if (h->source == h->target || rate <= 0 || h->up_end <= now)
        return (int)left;
    int64_t ahead = h->up_end - now;
    if (ahead >= WINDOW_NS) {
        if (h->up_end - WINDOW_NS < *again)
            *again = h->up_end - WINDOW_NS + 1000;
        return 0;
    }
    int64_t bytes = (int64_t)((double)(WINDOW_NS - ahead) * rate / 8e9);
    bytes = bytes > TESTBED_PAYLOAD ? bytes : TESTBED_PAYLOAD;
    return (int)(bytes < left ? bytes : left);
}

static void take_bytes(struct half *h, int64_t now, int limit)
{
    size_t at = h->tail % BUFFER, part = BUFFER - at;
    if (part > (size_t)limit)
        part = (size_t)limit;
    ssize_t n = recv(h->from, h->bytes + at, part, MSG_DONTWAIT);
    if (n > 0) {
        h->tail += (uint64_t)n;
        book_up(h, now, (int)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        h->ended = true;
    }
}

/* Hands over what is due; false: the receiver is gone. */
static bool hand_over(struct half *h, int64_t now)
{
    uint64_t bytes = 0, first = h->first;
    while (first < h->booked && packet_at(h, first)->due <= now)
        bytes += (uint64_t)packet_at(h, first++)->size;
    h->full = false;
    while (bytes > 0) {
        size_t at = h->head % BUFFER, part = BUFFER - at;
        if (part > bytes)
            part = (size_t)bytes;
        ssize_t n = send(h->to, h->bytes + at, part, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            h->full = true;
            break;
        }
        if (n <= 0)
            return false;
        h->head += (uint64_t)n;
        bytes -= (uint64_t)n;
        /* Packets that are gone leave the queue; of one that is half gone the rest stays due. */
        while (n > 0) {
            struct packet *p = packet_at(h, h->first);
            int gone = n < p->size ? (int)n : p->size;
            p->size -= gone;
            n -= gone;
            h->first += p->size == 0;
        }
    }
    return true;
}

/* --- connections --- */

static void set_options(int fd)
{
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static bool init_half(struct half *h, int from, int to, struct port *source, struct port *target)
{
    *h = (struct half){.from = from, .to = to, .source = source, .target = target};
    h->packets = ad_calloc(PACKETS, sizeof *h->packets);
    h->bytes = ad_calloc(1, BUFFER);
    return h->packets && h->bytes;
}

static void remove_connection(int i)
{
    struct connection *c = connections[i];
    close(c->client);
    if (c->server >= 0)
        close(c->server);
    for (int k = 0; k < 2; k++) {
        ad_free(c->halves[k].packets);
        ad_free(c->halves[k].bytes);
    }
    ad_free(c);
    connections[i] = connections[--nconnections];
}

static void accept_connection(struct port *port)
{
    int fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct connection *c = nconnections < CONNECTIONS ? ad_calloc(1, sizeof *c) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    set_options(fd);
    *c = (struct connection){.source = port, .client = fd, .server = -1};
    connections[nconnections++] = c;
}

static bool refuse(struct connection *c)
{
    const unsigned char answer[10] = {5, 5, 0, 1};
    if (send(c->client, answer, sizeof answer, MSG_NOSIGNAL) < 0)
        errno = 0;
    return false;
}

/* The address of a SOCKS5 request: IPv4, as such or as text. 0: more bytes are wanted; -1: no. */
static int parse_request(struct connection *c)
{
    const unsigned char *r = c->request;
    char text[300];
    int length = c->used < 5 ? 0 : r[3] == 1 ? 10 : r[3] == 3 ? 7 + r[4] : -1;
    if (length <= 0 || c->used < length)
        return length < 0 ? -1 : 0;
    if (r[0] != 5 || r[1] != 1)
        return -1;
    c->to = (struct sockaddr_in){.sin_family = AF_INET};
    if (r[3] == 1) {
        memcpy(&c->to.sin_addr, r + 4, 4);
        memcpy(&c->to.sin_port, r + 8, 2);
    } else {
        snprintf(text, sizeof text, "%.*s:%d", r[4], (const char *)r + 5,
                 r[5 + r[4]] * 256 + r[6 + r[4]]);
        if (!testbed_parse_address(text, &c->to))
            return -1;
    }
    for (int i = 0; i < nports; i++)
        if (ports[i].address.s_addr == c->to.sin_addr.s_addr)
            c->target = &ports[i];
    return c->target ? 1 : -1;
}

static bool reachable(const struct connection *c)
{
    return c->source == c->target || (!c->source->cut && !c->target->cut);
}

/* No program listens there: tries again for as long as the client waits. A network would refuse,
 * but ZeroMQ 4.3.4 aborts when a proxy refuses. */
static void retry(struct connection *c)
{
    if (c->server >= 0)
        close(c->server);
    c->server = -1;
    c->state = WAITING;
    c->retry = ad_clock_ns() + RETRY_NS;
}

static void connect_server(struct connection *c)
{
    c->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->server >= 0)
        set_options(c->server);
    c->state = CONNECTING;
    if (c->server < 0 ||
        (connect(c->server, (struct sockaddr *)&c->to, sizeof c->to) != 0 && errno != EINPROGRESS))
        retry(c);
}

static bool finish_connect(struct connection *c)
{
    static const unsigned char answer[10] = {5, 0, 0, 1};
    int reason = 0;
    socklen_t size = sizeof reason;
    getsockopt(c->server, SOL_SOCKET, SO_ERROR, &reason, &size);
    if (reason) {
        retry(c);
        return true;
    }
    c->state = OPEN;
    return init_half(&c->halves[0], c->client, c->server, c->source, c->target) &&
           init_half(&c->halves[1], c->server, c->client, c->target, c->source) &&
           send(c->client, answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

/* The client speaks SOCKS5; false: no more of this connection. */
static bool talk(struct connection *c)
{
    ssize_t n = recv(c->client, c->request + c->used, sizeof c->request - (size_t)c->used, 0);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    c->used += (int)n;
    if (c->state == GREETING && c->used >= 2 && c->used >= 2 + c->request[1]) {
        c->used -= 2 + c->request[1];
        memmove(c->request, c->request + 2 + c->request[1], (size_t)c->used);
        c->state = REQUEST;
        if (send(c->client, "\5", 2, MSG_NOSIGNAL) != 2)
            return false;
    }
    if (c->state != REQUEST)
        return c->used < (int)sizeof c->request;
    int parsed = parse_request(c);
    if (parsed < 0)
        return refuse(c);
    if (parsed == 0)
        return true;
    c->state = WAITING;
    c->retry = 0;
    return true;
}

/* Moves the bytes that can be moved; false: the connection has ended. */
static bool move(struct connection *c, int64_t now)
{
    for (int k = 0; k < 2; k++) {
        struct half *h = &c->halves[k];
        if (blocked(h) || h->closed)
            continue;
        if (!hand_over(h, now))
            return false;
        if (h->ended && h->first == h->last) {
            shutdown(h->to, SHUT_WR);
            h->closed = true;
        }
    }
    return !(c->halves[0].closed && c->halves[1].closed);
}

/* --- control --- */

static struct port *find_port(const char *name)
{
    for (int i = 0; i < nports; i++)
        if (strcmp(ports[i].name, name) == 0)
            return &ports[i];
    return NULL;
}

/* cut NAME, mend NAME, rate NAME BITS, count. */
static void take_request(int control)
{
    char buffer[1024], text[4000] = "", *words[TESTBED_WORDS];
    int count = 0, fd = accept4(control, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    bool heard = testbed_take_request(fd, buffer, sizeof buffer, words, &count);
    struct port *port = heard && count > 1 ? find_port(words[1]) : NULL;
    bool good = port != NULL;
    if (port && (strcmp(words[0], "cut") == 0 || strcmp(words[0], "mend") == 0)) {
        port->cut = words[0][0] == 'c';
    } else if (port && count == 3 && strcmp(words[0], "rate") == 0) {
        good = ad_parse_double(words[2], 0, 1e12, &port->rate);
    } else if (heard && strcmp(words[0], "count") == 0) {
        size_t used = 0;
        for (int i = 0; i < nports && used < sizeof text; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %llu %llu\n",
                                     ports[i].name, (unsigned long long)ports[i].up_bytes,
                                     (unsigned long long)ports[i].down_bytes);
        good = true;
    } else {
        good = false;
    }
    if (good)
        testbed_answer_request(fd, "ok %s", text);
    else
        testbed_answer_request(fd, "the relay does not know this request");
    close(fd);
}

/* --- the loop --- */

/* When the next packets of a direction are due. */
static int64_t next_time(struct half *h)
{
    int64_t when = INT64_MAX;
    if (blocked(h))
        return when;
    if (h->first < h->booked && !h->full) {
        int64_t limit = packet_at(h, h->first)->due + TOGETHER_NS;
        for (uint64_t i = h->first; i < h->booked && packet_at(h, i)->due <= limit; i++)
            when = packet_at(h, i)->due;
    }
    if (h->booked < h->last) {
        int64_t up = packet_at(h, h->booked)->up + latency / 2;
        when = up < when ? up : when;
    }
    return when;
}

/* Fills in what to wait for; returns when to stop waiting. */
static int64_t prepare(struct pollfd *items, int64_t now)
{
    int64_t until = INT64_MAX;
    for (int i = 0; i < nconnections; i++, items += 2) {
        struct connection *c = connections[i];
        items[0] = (struct pollfd){.fd = -1};
        items[1] = (struct pollfd){.fd = -1};
        if (c->state == CONNECTING) {
            items[1] = (struct pollfd){.fd = c->server, .events = POLLOUT};
        } else if (c->state != OPEN) {
            items[0] = (struct pollfd){.fd = c->client, .events = POLLIN};
            if (c->state == WAITING && reachable(c) && c->retry < until)
                until = c->retry;
        } else {
            for (int k = 0; k < 2; k++) {
                struct half *h = &c->halves[k];
                short events = room(h, now, &until) > 0 ? POLLIN : 0;
                if (c->halves[!k].full && !blocked(h))
                    events |= POLLOUT;
                items[k] = (struct pollfd){.fd = events ? h->from : -1, .events = events};
                int64_t when = next_time(h);
                until = when < until ? when : until;
            }
        }
    }
    return until;
}

static bool serve_connection(struct connection *c, const struct pollfd *items, int64_t now)
{
    int64_t never = INT64_MAX;
    if (c->state == WAITING && reachable(c) && now >= c->retry) {
        connect_server(c);
        return true;
    }
    if (c->state == CONNECTING)
        return !items[1].revents || finish_connect(c);
    if (c->state != OPEN)
        return !items[0].revents || talk(c);
    for (int k = 0; k < 2; k++) {
        int limit =
            items[k].revents & (POLLIN | POLLHUP | POLLERR) ? room(&c->halves[k], now, &never) : 0;
        if (limit > 0)
            take_bytes(&c->halves[k], now, limit);
    }
    return move(c, now);
}

static void loop(int control)
{
    static struct pollfd items[PORTS + 1 + 2 * CONNECTIONS];
    for (;;) {
        int n = nports + 1, served = nconnections;
        items[0] = (struct pollfd){.fd = control, .events = POLLIN};
        for (int i = 0; i < nports; i++)
            items[1 + i] = (struct pollfd){.fd = ports[i].listener, .events = POLLIN};
        int64_t now = ad_clock_ns(), until = prepare(items + n, now);
        int64_t left = until > now ? until - now : 0;
        struct timespec wait = {left / 1000000000, left % 1000000000};
        if (ppoll(items, (nfds_t)(n + 2 * served), until == INT64_MAX ? NULL : &wait, NULL) < 0)
            continue;
        now = ad_clock_ns();
        book_downlinks(now);
        for (int i = served - 1; i >= 0; i--) /* removal puts the last one, served already, here */
            if (!serve_connection(connections[i], items + n + 2 * i, now))
                remove_connection(i);
        for (int i = 0; i < nports; i++)
            if (items[1 + i].revents)
                accept_connection(&ports[i]);
        if (items[0].revents)
            take_request(control);
    }
}

static bool add_port(char *text, int proxy_port)
{
    char address[64], *rest, *name = strtok_r(text, "=", &rest), *host = strtok_r(NULL, "=", &rest),
                             *rate = host ? strtok_r(NULL, "=", &rest) : NULL;
    struct sockaddr_in at;
    struct port *port = &ports[nports];
    if (!rate || nports == PORTS || !ad_parse_double(rate, 0, 1e12, &port->rate))
        return false;
    snprintf(address, sizeof address, "%s:%d", host, proxy_port);
    if (!testbed_parse_address(address, &at))
        return false;
    port->name = name;
    port->address = at.sin_addr;
    port->listener = testbed_listen(&at);
    nports++;
    return port->listener >= 0;
}

int testbed_relay(int argc, char **argv)
{
    double seconds;
    int64_t proxy_port;
    if (argc < 5 || !ad_parse_double(argv[2], 0, 10, &seconds) ||
        !ad_parse_int(argv[3], 1, 65535, &proxy_port))
        return testbed_fail(ADAPS_EUSAGE,
                            "relay CONTROL switch|shared LATENCY PORT NAME=ADDRESS=RATE...");
    shared = strcmp(argv[1], "shared") == 0;
    latency = (int64_t)(seconds * 1e9);
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    int control = testbed_listen_path(argv[0]);
    if (control < 0)
        return ADAPS_EAGENT;
    for (int i = 4; i < argc; i++)
        if (!add_port(argv[i], (int)proxy_port))
            return testbed_fail(ADAPS_EAGENT, "the relay's port %s cannot be had", argv[i]);
    testbed_ready();
    loop(control);
    return ADAPS_OK;
}
