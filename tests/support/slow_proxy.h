/* A TCP proxy on loopback whose way is long or narrow: what comes in on a connection goes out after
 * a delay, and no faster than a rate, each way and each connection for itself. */
#ifndef TESTS_SLOW_PROXY_H
#define TESTS_SLOW_PROXY_H

#include <stdint.h>

struct slow_proxy;

/* Forwards to `address` (tcp://HOST:PORT). rate in bytes per second, 0: without limit. Failures end
 * the test through Check. */
struct slow_proxy *slow_proxy_start(const char *address, int64_t delay_ns, double rate);

/* tcp://127.0.0.1:PORT, until it is stopped. */
const char *slow_proxy_address(const struct slow_proxy *proxy);

/* Closes all connections. */
void slow_proxy_stop(struct slow_proxy *proxy);

#endif
