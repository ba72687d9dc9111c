#include "base/signals.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool ad_signals_init(struct ad_signals *signals)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    signals->stop = 0;
    sigprocmask(SIG_BLOCK, &mask, &signals->before);
    signals->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd >= 0)
        return true;
    int reason = errno;
    ad_signals_restore(signals);
    errno = reason;
    return false;
}

void ad_signals_restore(const struct ad_signals *signals)
{
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

void ad_signals_fini(struct ad_signals *signals)
{
    if (signals->fd < 0)
        return;
    close(signals->fd);
    signals->fd = -1;
    ad_signals_restore(signals);
}

void ad_signals_wait(struct ad_signals *signals, struct pollfd *items, nfds_t n, int64_t until_ns)
{
    struct signalfd_siginfo info;
    int64_t left = until_ns - ad_clock_ns();
    int64_t ms = left > 0 ? left / 1000000 + 1 : 0;
    items[0] = (struct pollfd){.fd = signals->fd, .events = POLLIN};
    if (poll(items, n, until_ns == INT64_MAX ? -1 : ms < INT32_MAX ? (int)ms : INT32_MAX) <= 0)
        return;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && !signals->stop)
            signals->stop = (int)info.ssi_signo;
}
