/* The daemon on a device: listens for controllers, keeps weights and plans in a cache on disk, runs
 * its program of the loaded plan. */
#ifndef AD_EXEC_AGENT_AGENT_H
#define AD_EXEC_AGENT_AGENT_H

#include "base/error.h"
#include "metrics/exposition.h"

/* Who shows an agent's metrics: show() begins it, before the agent listens, and hide() ends it. In
 * between write(agent, ...) may be called. */
struct ad_agent_audience {
    enum adaps_status (*show)(void *self, ad_metrics_write_fn *write, void *agent,
                              struct adaps_error *err);
    void (*hide)(void *self);
    void *self;
};

struct ad_agent_options {
    const char *listen;      /* ZeroMQ endpoint; "tcp://127.0.0.1:0" or ":*" picks a port */
    const char *name;        /* NULL = host name */
    const char *cache_dir;   /* NULL = $XDG_CACHE_HOME/adaps or ~/.cache/adaps */
    uint64_t cache_limit;    /* bytes on disk; 0 = 8 GiB; the oldest unused blobs go first */
    double idle_timeout_s;   /* a session idle for so long makes way for another; 0 = 60 */
    double speed;            /* emulated fraction, (0, 1] */
    const char *speed_after; /* how that changes (speeds.h), or NULL */
    int threads;             /* 0 = what the plan says */
    const char *key_file;    /* CURVE key pair; required for anything but loopback */
    const char *allow_file;  /* public keys that may connect, one Z85 key a line; with key_file */
    bool insecure;           /* no keys on other addresses than loopback, either (test beds) */
    int ready_fd;            /* >= 0: the bound endpoint and a newline are written there once */
    const char *announce;    /* "yes" or NULL: in the local network (announce.h); "no" */
    const char *sysroot;     /* where sysfs and procfs are, for tests; NULL: where they belong */
    const char *metrics;     /* an address for the audience, or NULL */
    const struct ad_agent_audience *audience; /* of metrics, or NULL */
    const char *note; /* said with the address, on stderr and to the service manager, or NULL */
};

/* Runs until SIGTERM or SIGINT. Tells the service manager its state, if there is one (notify.h).
 * ADAPS_EUSAGE: options (loopback rule); ADAPS_EAGENT: cannot listen.
 */
AD_MUST_CHECK enum adaps_status ad_agent_run(const struct ad_agent_options *options,
                                             struct adaps_error *err);

#endif
