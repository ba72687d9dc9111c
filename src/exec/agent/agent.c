/* The agent's life: options, sockets, the loop of the control thread. */
#include "exec/agent/agent.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "exec/agent/internal.h"
#include "wire/endpoint.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CACHE_LIMIT ((uint64_t)8 << 30)
#define THREADS                                                                                    \
    6 /* beside the first: two of ZeroMQ's, one for keys, the worker, the disk's, Avahi's */
#define FILES_WANTED 16384 /* a weight slice in use keeps its file open */

/* --- the loop --- */

static void take_message(struct ad_agent *agent, struct ad_wire_message *message)
{
    struct adaps_error err;
    enum adaps_status status = ad_agent_admit(agent, message, &err);
    if (status != ADAPS_OK) {
        ad_answer_error(&agent->router, &message->route, &message->frame, &err, -1);
        return;
    }
    switch (message->frame.type) {
    case AD_FRAME_OPEN:
    case AD_FRAME_CONNECT:
    case AD_FRAME_RUN:
    case AD_FRAME_PROFILE:
    case AD_FRAME_ABORT:
    case AD_FRAME_CLOSE:
    case AD_FRAME_PING:
    case AD_FRAME_CLOCK:
    case AD_FRAME_TRACE:
        status = ad_agent_serve(agent, message, &err);
        break;
    default:
        status = ad_agent_store(agent, message, &err);
        break;
    }
    if (status != ADAPS_OK)
        ad_answer_error(&agent->router, &message->route, &message->frame, &err, -1);
}

/* Handles what has come in, at most a few messages, so that the worker gets its turn. */
static void take_messages(struct ad_agent *agent, struct ad_wire_message *message)
{
    for (int i = 0; i < 16; i++) {
        struct adaps_error err;
        enum adaps_status status = ad_wire_message_recv(agent->router.socket, true, message, &err);
        if (status == ADAPS_NO)
            return;
        /* The end of an earlier connection was reported before what a later one sent; taken after
         * it, it would end the session of a new controller whose connection got the same
         * descriptor. */
        ad_agent_take_events(agent);
        ad_live_received(&agent->live.controller,
                         zmq_msg_size(&message->body) + zmq_msg_size(&message->raw));
        if (status == ADAPS_OK)
            take_message(agent, message);
        else if (zmq_msg_size(&message->route) > 0) /* strangers learn what is wrong with it, and
                                                       whoever waits for an answer gets this one */
            ad_answer_error(&agent->router, &message->route, &message->frame, &err, -1);
    }
}

/* Whether to end. SIGHUP: the keys are read again. */
static bool take_signals(struct ad_agent *agent, int signal_fd)
{
    struct signalfd_siginfo info;
    bool end = false;
    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            ad_agent_look_at_keys(agent);
        else
            end = true;
    }
    return end;
}

static enum adaps_status loop(struct ad_agent *agent, int signal_fd, struct adaps_error *err)
{
    struct ad_wire_message message;
    enum adaps_status status = ADAPS_OK;
    zmq_pollitem_t items[5] = {{.socket = agent->router.socket, .events = ZMQ_POLLIN},
                               {.socket = agent->monitor, .events = ZMQ_POLLIN},
                               {.fd = agent->worker.done_fd, .events = ZMQ_POLLIN},
                               {.fd = signal_fd, .events = ZMQ_POLLIN},
                               {.fd = agent->errands.done_fd, .events = ZMQ_POLLIN}};
    ad_wire_message_init(&message);
    for (;;) {
        int64_t now = ad_clock_ns(), until = ad_agent_check_controller(agent, now);
        int64_t alive = ad_notify_alive(&agent->notify, now);
        int64_t look = ad_agent_watch_keys(agent, now);
        until = alive < until ? alive : until;
        until = look < until ? look : until;
        long timeout = until == INT64_MAX ? -1 : (long)((until - now) / 1000000 + 1);
        if (zmq_poll(items, 5, timeout) < 0 && errno != EINTR) {
            status = ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: poll: %s", zmq_strerror(errno));
            break;
        }
        if (items[3].revents && take_signals(agent, signal_fd))
            break;
        if (items[0].revents)
            take_messages(agent, &message);
        if (items[1].revents)
            ad_agent_take_events(agent);
        if (items[2].revents)
            ad_agent_worker_done(agent);
        if (items[4].revents)
            ad_agent_errands_done(agent);
    }
    ad_wire_message_fini(&message);
    return status;
}

/* --- life --- */

static enum adaps_status check_options(const struct ad_agent_options *options,
                                       struct ad_endpoint *listen, struct ad_speeds *speeds,
                                       struct adaps_error *err)
{
    enum adaps_status status = ad_endpoint_parse(options->listen, listen, err);
    if (status == ADAPS_OK)
        status = ad_speeds_parse(options->speed, options->speed_after, speeds, err);
    if (status != ADAPS_OK)
        return status;
    if (!(options->speed > 0 && options->speed <= 1))
        return ad_error_set(err, ADAPS_EUSAGE, "a speed of %g: it must be above 0, at most 1",
                            options->speed);
    if (options->threads < 0 || options->threads > 64)
        return ad_error_set(err, ADAPS_EUSAGE, "%d threads: it must be 1 to 64", options->threads);
    if (options->announce && strcmp(options->announce, "yes") != 0 &&
        strcmp(options->announce, "no") != 0)
        return ad_error_set(err, ADAPS_EUSAGE, "--announce %s: it must be yes or no",
                            options->announce);
    if (!options->key_file != !options->allow_file)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "--key and --allow go together: this side's keys, and those of the "
                            "controllers that may connect");
    if (!options->key_file && !ad_endpoint_is_loopback(listen) && !options->insecure)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "%s can be reached from other machines, and would let anybody in: give "
                            "keys (adaps keygen; --key FILE --allow FILE), listen on 127.0.0.1, or "
                            "say --insecure in a network of your own",
                            options->listen);
    return ADAPS_OK;
}

static enum adaps_status open_cache(struct ad_agent *agent, struct adaps_error *err)
{
    const struct ad_agent_options *options = agent->options;
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *dir;
    if (options->cache_dir)
        dir = ad_strdup(options->cache_dir);
    else if (xdg && *xdg)
        dir = ad_asprintf("%s/adaps", xdg);
    else if (home && *home)
        dir = ad_asprintf("%s/.cache/adaps", home);
    else
        return ad_error_set(err, ADAPS_EUSAGE, "no place for the cache: give --cache, or set HOME");
    if (!dir)
        return ad_error_memory(err, "cache", 64);
    enum adaps_status status = ad_cache_init(
        &agent->cache, dir, options->cache_limit ? options->cache_limit : CACHE_LIMIT, err);
    ad_free(dir);
    return status;
}

static enum adaps_status start_worker(struct ad_agent *agent, struct adaps_error *err)
{
    struct ad_worker *worker = &agent->worker;
    struct ad_endpoint bound; /* an address, also where a name was given */
    worker->cache = &agent->cache;
    worker->live = &agent->live;
    worker->keys = &agent->keys;
    worker->guard = agent->guard;
    worker->context = agent->context;
    worker->threads = agent->options->threads;
    worker->priority = agent->priority;
    if (ad_speeds_emulated(&worker->speeds)) /* and perhaps on one core with others that are */
        ad_priority_share(&worker->priority);
    enum adaps_status status = ad_endpoint_parse(agent->endpoint, &bound, err);
    if (status != ADAPS_OK)
        return status;
    snprintf(worker->host, sizeof worker->host, "%s", bound.host);
    status = ad_worker_start(worker, err);
    agent->working = status == ADAPS_OK;
    return status;
}

static enum adaps_status start_errands(struct ad_agent *agent, struct adaps_error *err)
{
    agent->cached = ad_cache_count(&agent->cache);
    atomic_store(&agent->live.cache_bytes, agent->cached.bytes);
    agent->errands.perform = ad_agent_run_errand;
    agent->errands.self = agent;
    enum adaps_status status = ad_errands_start(&agent->errands, err);
    agent->running_errands = status == ADAPS_OK;
    return status;
}

/* Where others can connect, the local network is told. */
static void start_announcement(struct ad_agent *agent)
{
    const char *wanted = agent->options->announce;
    struct ad_endpoint bound;
    struct adaps_error err;
    if ((!wanted || strcmp(wanted, "yes") == 0) &&
        ad_endpoint_parse(agent->endpoint, &bound, &err) == ADAPS_OK)
        agent->announcement = ad_announce_start(agent->name, &bound, agent->keys.public);
}

/* What people read in `systemctl status`: the address, who may connect, the note. */
static void say_state(const struct ad_agent *agent)
{
    const struct ad_agent_options *options = agent->options;
    char who[80] = "without keys";
    size_t count = ad_guard_count(agent->guard);
    if (options->key_file)
        snprintf(who, sizeof who, "with keys, for %zu controller%s", count, count == 1 ? "" : "s");
    ad_notify_say(&agent->notify, "READY=1\nSTATUS=listening on %s %s%s%s", agent->endpoint, who,
                  options->note ? ": " : "", options->note ? options->note : "");
}

static enum adaps_status say_ready(const struct ad_agent *agent, struct adaps_error *err)
{
    char line[310];
    int n = snprintf(line, sizeof line, "%s\n", agent->endpoint);
    const char *note = agent->options->note;
    fprintf(stderr, "%s: listening on %s%s%s\n", agent->name, agent->endpoint, note ? ": " : "",
            note ? note : "");
    say_state(agent);
    if (agent->options->ready_fd >= 0 && write(agent->options->ready_fd, line, (size_t)n) != n)
        return ad_error_set(err, ADAPS_EAGENT, "cannot tell the address to --ready-fd %d: %s",
                            agent->options->ready_fd, strerror(errno));
    return ADAPS_OK;
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
    setrlimit(RLIMIT_NOFILE,
              &limit); /* if it fails, very many weights cannot be opened, which is reported then */
}

static void write_metrics(void *self, struct ad_exposition *out)
{
    struct ad_agent *agent = self;
    ad_live_write(&agent->live, agent->name, agent->options->sysroot ? agent->options->sysroot : "",
                  out);
}

/* Before this thread has priority, which the audience's would inherit. */
static enum adaps_status show_metrics(struct ad_agent *agent, struct adaps_error *err)
{
    const struct ad_agent_audience *audience = agent->options->audience;
    if (!audience)
        return ADAPS_OK;
    enum adaps_status status = audience->show(audience->self, write_metrics, agent, err);
    agent->shown = status == ADAPS_OK;
    return status;
}

static enum adaps_status live(struct ad_agent *agent, const struct ad_endpoint *listen,
                              int signal_fd, struct adaps_error *err)
{
    struct adaps_error unheard;
    if (ad_notify_init(&agent->notify, &unheard) != ADAPS_OK)
        fprintf(stderr, "%s: warning: %s\n", agent->name, unheard.message);
    enum adaps_status status = show_metrics(agent, err);
    if (status != ADAPS_OK)
        return status;
    ad_priority_prompt(&agent->priority);        /* ZeroMQ's threads, too */
    status = ad_parallel_possible(THREADS, err); /* ZeroMQ aborts without */
    if (status != ADAPS_OK)
        return status;
    agent->context = zmq_ctx_new();
    if (!agent->context)
        return ad_error_memory(err, "ZeroMQ context", 0);
    status = open_cache(agent, err);
    if (status == ADAPS_OK)
        status = ad_agent_open_door(agent, listen, err);
    if (status == ADAPS_OK)
        status = start_worker(agent, err);
    if (status == ADAPS_OK)
        status = start_errands(agent, err);
    if (status == ADAPS_OK)
        start_announcement(agent);
    if (status == ADAPS_OK)
        status = say_ready(agent, err);
    if (status == ADAPS_OK)
        status = loop(agent, signal_fd, err);
    ad_notify_say(&agent->notify, "STOPPING=1");
    return status;
}

static void fini(struct ad_agent *agent)
{
    ad_announce_stop(agent->announcement);
    ad_agent_end_session(agent, "this agent ends");
    if (agent->shown)
        agent->options->audience->hide(agent->options->audience->self);
    if (agent->working)
        ad_worker_stop(&agent->worker);
    if (agent->running_errands)
        ad_errands_stop(&agent->errands);
    ad_agent_drop_profile(agent);
    ad_agent_free_session(agent);
    ad_wire_message_fini(&agent->next);
    ad_agent_close_door(agent);
    if (agent->context)
        zmq_ctx_term(agent->context);
    ad_priority_set(&agent->priority);
    ad_cache_fini(&agent->cache);
    ad_notify_fini(&agent->notify);
    ad_live_fini(&agent->live);
}

enum adaps_status ad_agent_run(const struct ad_agent_options *options, struct adaps_error *err)
{
    struct ad_endpoint listen;
    struct ad_speeds speeds;
    sigset_t ours, before;
    enum adaps_status status = check_options(options, &listen, &speeds, err);
    if (status != ADAPS_OK)
        return status;
    if (sodium_init() < 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "libsodium does not start");
    struct ad_agent *agent = ad_calloc(1, sizeof *agent);
    if (!agent)
        return ad_error_memory(err, "agent", sizeof *agent);
    agent->options = options;
    agent->worker.speeds = speeds;
    agent->notify.fd = agent->spare_fd = -1;
    ad_live_init(&agent->live);
    agent->router.live = &agent->live.controller;
    agent->start_ns = agent->live.start_ns;
    randombytes_buf(&agent->instance, sizeof agent->instance);
    ad_wire_message_init(&agent->next);
    if (options->name)
        snprintf(agent->name, sizeof agent->name, "%s", options->name);
    else if (gethostname(agent->name, sizeof agent->name - 1) != 0)
        snprintf(agent->name, sizeof agent->name, "agent");
    if (options->insecure && !options->key_file && !ad_endpoint_is_loopback(&listen))
        fprintf(stderr, "%s: warning: no keys: whoever reaches %s may use this agent\n",
                agent->name, options->listen);
    raise_file_limit();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its writing */
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ours, &before); /* in all threads: they come by the descriptor */
    int signal_fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "signalfd: %s", strerror(errno));
    else
        status = live(agent, &listen, signal_fd, err);
    fini(agent);
    if (signal_fd >= 0) {
        struct signalfd_siginfo taken; /* done with: not to be delivered when unblocked */
        while (read(signal_fd, &taken, sizeof taken) > 0)
            continue;
        close(signal_fd);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ad_free(agent);
    return status;
}
