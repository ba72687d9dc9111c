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

/* tcp://HOST:PORT, until it is stopped; the host is that of `address`. */
const char *slow_proxy_address(const struct slow_proxy *proxy);

/* Closes all connections. */
void slow_proxy_stop(struct slow_proxy *proxy);

#endif
