/* What a service manager is told (the protocol of sd_notify(3)): a datagram to the socket that
 * NOTIFY_SOCKET names. Without that variable nothing is said. */
#ifndef AD_EXEC_AGENT_NOTIFY_H
#define AD_EXEC_AGENT_NOTIFY_H

#include "base/error.h"

struct ad_notify {
    int fd;              /* -1: nobody listens */
    int64_t interval_ns; /* of signs of life: half of what WATCHDOG_USEC allows; 0: none wanted */
    int64_t next_ns;     /* CLOCK_MONOTONIC */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. ADAPS_EAGENT: the socket cannot be reached;
 * then the rest says nothing. */
AD_MUST_CHECK enum adaps_status ad_notify_init(struct ad_notify *notify, struct adaps_error *err);
void ad_notify_fini(struct ad_notify *notify);

/* Sends lines of NAME=VALUE. What cannot be sent is lost: the manager notices. */
void ad_notify_say(const struct ad_notify *notify, const char *fmt, ...) AD_PRINTF(2, 3);

/* Sends a sign of life when it is due. Returns when the next one is, or INT64_MAX. */
int64_t ad_notify_alive(struct ad_notify *notify, int64_t now);

#endif
