#include "exec/agent/send_scheduler.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/priority.h"

#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* What other connections may still have to send when a message is handed over: some, so that the
 * wire is never idle while the thread sleeps. What the kernel has sent and is not acknowledged yet
 * does not count: acknowledgements come late. */
#define SLACK_S 0.2e-3
#define SLACK_BYTES 2048

/* The thread looks again after this long at most, and at least. */
#define LOOK_MOST_NS 300000
#define LOOK_LEAST_NS 30000

/* No message takes longer: keeps sums of what strangers' plans say in range. */
#define MOST_NS INT64_C(1000000000000000)

/* A connection that takes this many times as long as the plan says, and this much more, is not
 * waited for: it may be dead, and the others are not. */
#define PATIENCE 4
#define PATIENCE_NS 20000000

struct waiting {
    struct waiting *next;
    int connection;
    int64_t until_ns; /* it waits no longer than this; 0: it was not the first yet */
    uint8_t head[AD_FRAME_BYTES];
    zmq_msg_t payload;
};

struct connection {
    struct ad_connection is;
    int64_t slack;
    bool used; /* something may be unsent */
    bool failed;
};

struct ad_send_scheduler {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    bool quit;
    int fd;
    struct ad_unsent *unsent;
    struct connection *connections;
    int nconnections;
    struct waiting *first, *last; /* of the queue; NULL: it is empty */
};

/* How long a connection still sends, beyond the slack. */
static int64_t unsent_ns(struct ad_send_scheduler *p, int connection)
{
    struct connection *l = &p->connections[connection];
    int queued = 0;
    if (!l->used || l->is.fd < 0)
        return 0;
    int64_t unsent = ad_unsent_bytes(p->unsent, connection);
    if (ioctl(l->is.fd, SIOCOUTQNSD, &queued) != 0)
        queued = 0;
    l->used = unsent + queued > 0;
    int64_t bytes = unsent + queued - l->slack;
    double ns = (double)bytes / l->is.bandwidth * 1e9;
    return bytes <= 0 ? 0 : ns < MOST_NS ? 1 + (int64_t)ns : MOST_NS;
}

/* How long it takes until a message on this connection has the port for itself. */
static int64_t must_wait(struct ad_send_scheduler *p, int connection)
{
    int64_t ns = 0;
    for (int i = 0; i < p->nconnections; i++)
        if (i != connection)
            ns += unsent_ns(p, i);
    return ns;
}

bool ad_send_scheduler_hand_over(void *socket, const uint8_t head[AD_FRAME_BYTES],
                                 zmq_msg_t *payload)
{
    ad_outgoing_filled(payload);
    if (zmq_send(socket, head, AD_FRAME_BYTES, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
        zmq_msg_send(payload, socket, ZMQ_DONTWAIT) >= 0)
        return true;
    zmq_msg_close(payload);
    return false;
}

static bool hand_over(struct ad_send_scheduler *p, int connection, const uint8_t *head,
                      zmq_msg_t *payload)
{
    struct connection *l = &p->connections[connection];
    l->used = true;
    ad_unsent_add(p->unsent, connection, (int64_t)zmq_msg_size(payload));
    l->failed = !ad_send_scheduler_hand_over(l->is.socket, head, payload) || l->failed;
    return !l->failed;
}

/* Hands over the first of the queue if its time has come; else says how long to wait. */
static int64_t serve(struct ad_send_scheduler *p)
{
    struct waiting *w = p->first;
    int64_t wait = must_wait(p, w->connection), now = ad_clock_ns();
    if (w->until_ns == 0)
        w->until_ns = now + PATIENCE * wait + PATIENCE_NS;
    if (wait > 0 && now < w->until_ns)
        return wait < LOOK_LEAST_NS ? LOOK_LEAST_NS : wait > LOOK_MOST_NS ? LOOK_MOST_NS : wait;
    (void)hand_over(p, w->connection, w->head,
                    &w->payload); /* if it fails, the next send to this connection says so */
    p->first = w->next;
    ad_free(w);
    eventfd_write(p->fd, 1);
    return 0;
}

static void *serve_queue(void *self)
{
    struct ad_send_scheduler *p = self;
    struct ad_priority before;
    ad_priority_prompt(&before);
    pthread_mutex_lock(&p->mutex);
    while (!p->quit) {
        if (!p->first) {
            pthread_cond_wait(&p->posted, &p->mutex);
            continue;
        }
        int64_t ns = serve(p);
        if (ns > 0) {
            struct timespec time = {.tv_nsec = ns};
            pthread_mutex_unlock(&p->mutex);
            clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
            pthread_mutex_lock(&p->mutex);
        }
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static void discard(struct ad_send_scheduler *p)
{
    for (struct waiting *w = p->first, *next; w; w = next) {
        next = w->next;
        zmq_msg_close(&w->payload);
        ad_free(w);
    }
    if (p->fd >= 0)
        close(p->fd);
    pthread_cond_destroy(&p->posted);
    pthread_mutex_destroy(&p->mutex);
    ad_unsent_unref(p->unsent);
    ad_free(p->connections);
    ad_free(p);
}

enum adaps_status ad_send_scheduler_new(const struct ad_connection *connections, int n,
                                        struct ad_send_scheduler **out, struct adaps_error *err)
{
    struct ad_send_scheduler *p = ad_calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return ad_error_memory(err, "links", sizeof *p);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->posted, NULL);
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int reason = p->fd < 0 ? errno : 0;
    p->unsent = ad_unsent_new(n);
    p->connections = ad_calloc((size_t)n, sizeof *p->connections);
    p->nconnections = n;
    if (!p->unsent || !p->connections) {
        discard(p);
        return ad_error_memory(err, "links", (size_t)n * sizeof *p->connections);
    }
    for (int i = 0; i < n; i++) {
        double slack = connections[i].bandwidth * SLACK_S;
        p->connections[i].is = connections[i];
        p->connections[i].slack = slack < 1e12 ? (int64_t)slack : INT64_C(1000000000000);
        if (p->connections[i].slack < SLACK_BYTES)
            p->connections[i].slack = SLACK_BYTES;
    }
    if (reason == 0)
        reason = pthread_create(&p->thread, NULL, serve_queue, p);
    if (reason != 0) {
        discard(p);
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot start the thread that sends: %s",
                            strerror(reason));
    }
    *out = p;
    return ADAPS_OK;
}

void ad_send_scheduler_free(struct ad_send_scheduler *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->quit = true;
    pthread_cond_signal(&p->posted);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    discard(p);
}

void ad_send_scheduler_lock(struct ad_send_scheduler *p)
{
    if (p)
        pthread_mutex_lock(&p->mutex);
}

void ad_send_scheduler_unlock(struct ad_send_scheduler *p)
{
    if (p)
        pthread_mutex_unlock(&p->mutex);
}

int ad_send_scheduler_fd(const struct ad_send_scheduler *p)
{
    return p->fd;
}

struct ad_unsent *ad_send_scheduler_unsent(const struct ad_send_scheduler *p)
{
    return p->unsent;
}

bool ad_send_scheduler_send(struct ad_send_scheduler *p, int connection,
                            const uint8_t head[AD_FRAME_BYTES], zmq_msg_t *payload)
{
    bool sent = true;
    pthread_mutex_lock(&p->mutex);
    bool busy = p->first || must_wait(p, connection) > 0;
    struct waiting *w = busy ? ad_calloc(1, sizeof *w) : NULL;
    if (w) {
        w->connection = connection;
        if (p->first)
            p->last->next = w;
        else
            p->first = w;
        p->last = w;
        memcpy(w->head, head, sizeof w->head);
        zmq_msg_init(&w->payload);
        zmq_msg_move(&w->payload, payload);
        pthread_cond_signal(&p->posted);
        sent = !p->connections[connection].failed;
    } else if (busy) {
        zmq_msg_close(payload);
        sent = false;
    } else {
        sent = hand_over(p, connection, head, payload);
    }
    pthread_mutex_unlock(&p->mutex);
    return sent;
}
