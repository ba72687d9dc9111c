/* A TCP proxy on loopback whose way is long or narrow: what comes in on a connection goes out after
 * a delay, and no faster than a rate, each way and each connection for itself. */
#ifndef TESTS_SLOW_PROXY_H
#define TESTS_SLOW_PROXY_H

#include <stdint.h>

struct slow_proxy;

/* Forwards to `address` (tcp://HOST:PORT). rate in bytes per second, 0: without limit. Failures end
 * the test through Check. */
struct slow_proxy *slow_proxy_start(const char *address, int64_t delay_ns, double rate);

/* Before the first message of a type (enum ad_frame_type, not encrypted) is forwarded, either way,
 * calls `then`, in the proxy's thread. */
void slow_proxy_watch(struct slow_proxy *proxy, int type, void (*then)(void *self), void *self);

/* What can be done to a message that is not encrypted. Its connection goes on, but for the first of
 * them. */
enum slow_proxy_tamper {
    SLOW_PROXY_FAITHFUL,
    SLOW_PROXY_TRUNCATE,  /* half of it, and the end of the connection */
    SLOW_PROXY_GARBAGE,   /* other bytes in its last part that is not empty */
    SLOW_PROXY_DUPLICATE, /* twice */
    SLOW_PROXY_REORDER,   /* after the next one of this connection, or after a second */
    SLOW_PROXY_REPLAY     /* and then all before it of this connection once more */
};

/* To be called before any connection: messages are forwarded whole, so that they can be tampered
 * with. */
void slow_proxy_hold_messages(struct slow_proxy *proxy);

/* The next message, of whatever connection and way, pings excepted. From any thread. */
void slow_proxy_tamper(struct slow_proxy *proxy, enum slow_proxy_tamper how);

/* From now on it takes no more than this, bytes per second, from each connection. From any thread.
 */
void slow_proxy_narrow(struct slow_proxy *proxy, double rate);

/* tcp://HOST:PORT, until it is stopped; the host is that of `address`. */
const char *slow_proxy_address(const struct slow_proxy *proxy);

/* Closes all connections. */
void slow_proxy_stop(struct slow_proxy *proxy);

#endif
