/* The signals of a program that supervises child processes, read from a descriptor, so that it can
 * wait for them and for other descriptors at once. */
#ifndef AD_BASE_SIGNALS_H
#define AD_BASE_SIGNALS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct ad_signals {
    int fd;          /* signalfd of SIGCHLD, SIGINT, SIGTERM, SIGHUP; -1: none */
    int stop;        /* which of the last three came first, or 0 */
    sigset_t before; /* what was blocked before */
};

/* Blocks these signals in this process and its children. False: see errno; nothing is blocked. */
bool ad_signals_init(struct ad_signals *signals);
/* Unblocks them. For children (before exec), and for ad_signals_fini(). */
void ad_signals_restore(const struct ad_signals *signals);
void ad_signals_fini(struct ad_signals *signals);

/* Waits for a signal, for one of items[1..n-1] (items[0] is ours) or until a time (ad_clock_ns();
 * INT64_MAX: for ever). The caller looks at revents, at its children, and at `stop`. */
void ad_signals_wait(struct ad_signals *signals, struct pollfd *items, nfds_t n, int64_t until_ns);

#endif
