#include "cli/top_watch.h"
#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What rates are made of; the time is the agent's. */
struct sample {
    int64_t clock_ns;
    uint64_t done;
    int nlinks;
    struct ad_live_link_seen links[AD_LIVE_LINKS];
};

struct watched {
    struct ad_top_watch *watch;
    struct ad_top_device seen;
    struct sample samples[AD_TOP_SAMPLES]; /* a ring; the latest is the one before `next` */
    int next, nsamples;
    int answers; /* good or bad */
    bool asking, started;
    pthread_t thread;
};

struct ad_top_watch {
    const struct ad_session_options *options;
    int64_t interval_ns;
    struct watched *devices;
    int ndevices;
    pthread_mutex_t mutex; /* of all that follows, and of the devices */
    pthread_cond_t changed;
    uint64_t answers;
    bool ending;
};

/* --- rates --- */

static void take_sample(struct watched *w, const struct ad_live_seen *live)
{
    struct sample *latest = &w->samples[(w->next + AD_TOP_SAMPLES - 1) % AD_TOP_SAMPLES];
    if (w->nsamples > 0 && (live->now_ns <= latest->clock_ns || live->done < latest->done))
        w->nsamples = 0; /* the agent was started again */
    struct sample *sample = &w->samples[w->next];
    w->next = (w->next + 1) % AD_TOP_SAMPLES;
    w->nsamples += w->nsamples < AD_TOP_SAMPLES;
    sample->clock_ns = live->now_ns;
    sample->done = live->done;
    sample->nlinks = live->nlinks;
    memcpy(sample->links, live->links, sizeof sample->links);
}

static const struct ad_live_link_seen *find_link(const struct sample *sample, const char *name)
{
    for (int i = 0; i < sample->nlinks; i++)
        if (strcmp(sample->links[i].name, name) == 0)
            return &sample->links[i];
    return NULL;
}

static void find_rates(struct watched *w)
{
    const struct sample *oldest =
        &w->samples[(w->next + AD_TOP_SAMPLES - w->nsamples) % AD_TOP_SAMPLES];
    const struct ad_live_seen *live = &w->seen.agent.live;
    double seconds = (double)(live->now_ns - oldest->clock_ns) / 1e9;
    bool known = w->nsamples > 1 && seconds > 0;
    w->seen.rate = known ? (double)(live->done - oldest->done) / seconds : NAN;
    w->seen.nlinks = live->nlinks;
    for (int i = 0; i < live->nlinks; i++) {
        const struct ad_live_link_seen *now = &live->links[i], *then = find_link(oldest, now->name);
        const struct ad_live_link_seen none = {.bytes_sent = 0};
        struct ad_top_link *link = &w->seen.links[i];
        then = then ? then : &none; /* since it is there */
        memcpy(link->peer, now->name, sizeof link->peer);
        link->bytes_sent = now->bytes_sent;
        link->sent = known ? (double)(now->bytes_sent - then->bytes_sent) / seconds : NAN;
        link->received =
            known ? (double)(now->bytes_received - then->bytes_received) / seconds : NAN;
        link->messages = known ? (double)(now->messages_sent - then->messages_sent) / seconds : NAN;
    }
}

/* --- asking --- */

static void take_answer(struct watched *w, enum adaps_status status,
                        const struct ad_agent_status *answer, const struct adaps_error *err)
{
    struct ad_top_watch *watch = w->watch;
    pthread_mutex_lock(&watch->mutex);
    w->seen.state = status == ADAPS_OK ? AD_TOP_ANSWERS : AD_TOP_NO_ANSWER;
    if (status == ADAPS_OK) {
        w->seen.agent = *answer;
        if (answer->tells)
            take_sample(w, &answer->live);
        find_rates(w);
    } else {
        w->seen.err = *err;
        w->nsamples = 0;
    }
    w->asking = false;
    w->answers++;
    watch->answers++;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
}

/* Until it is time to ask again. False: the end. */
static bool rest(struct watched *w, int64_t until_ns)
{
    struct ad_top_watch *watch = w->watch;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&watch->mutex);
    while (!watch->ending && ad_clock_ns() < until_ns)
        pthread_cond_clockwait(&watch->changed, &watch->mutex, CLOCK_MONOTONIC, &until);
    bool go_on = !watch->ending;
    w->asking = go_on;
    pthread_mutex_unlock(&watch->mutex);
    return go_on;
}

static void *ask(void *self)
{
    struct watched *w = self;
    const struct ad_device *device = w->seen.device;
    for (int64_t next_ns = ad_clock_ns(); rest(w, next_ns);) {
        struct ad_agent_status answer;
        struct adaps_error err = {0};
        next_ns = ad_clock_ns() + w->watch->interval_ns;
        enum adaps_status status =
            device->address[0]
                ? ad_agent_query(device, w->watch->options, &answer, &err)
                : ad_error_set(&err, ADAPS_EAGENT, "the devices file has no address for it");
        take_answer(w, status, &answer, &err);
    }
    return NULL;
}

/* --- life --- */

enum adaps_status ad_top_watch_start(const struct ad_cluster *cluster,
                                     const struct ad_session_options *options, double interval_s,
                                     struct ad_top_watch **out, struct adaps_error *err)
{
    size_t n = (size_t)cluster->ndevices;
    struct ad_top_watch *watch = ad_calloc(1, sizeof *watch);
    struct watched *devices = ad_calloc(n, sizeof *devices);
    if (!watch || !devices) {
        ad_free(watch);
        ad_free(devices);
        return ad_error_memory(err, "top", n * sizeof *devices);
    }
    *watch = (struct ad_top_watch){.options = options,
                                   .interval_ns = (int64_t)(interval_s * 1e9),
                                   .devices = devices,
                                   .ndevices = cluster->ndevices};
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_cond_init(&watch->changed, NULL);
    for (int i = 0; i < watch->ndevices; i++) {
        struct watched *w = &devices[i];
        w->watch = watch;
        w->seen.device = &cluster->devices[i];
        int reason = pthread_create(&w->thread, NULL, ask, w);
        w->started = reason == 0;
        if (reason == 0)
            continue;
        ad_top_watch_stop(watch);
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot start a thread: %s", strerror(reason));
    }
    *out = watch;
    return ADAPS_OK;
}

uint64_t ad_top_watch_look(struct ad_top_watch *watch, struct ad_top_device *out)
{
    pthread_mutex_lock(&watch->mutex);
    for (int i = 0; i < watch->ndevices; i++)
        out[i] = watch->devices[i].seen;
    uint64_t answers = watch->answers;
    pthread_mutex_unlock(&watch->mutex);
    return answers;
}

void ad_top_watch_await(struct ad_top_watch *watch, int n)
{
    pthread_mutex_lock(&watch->mutex);
    for (int i = 0; i < watch->ndevices; i++)
        while (watch->devices[i].answers < n && watch->devices[i].seen.state != AD_TOP_NO_ANSWER)
            pthread_cond_wait(&watch->changed, &watch->mutex);
    pthread_mutex_unlock(&watch->mutex);
}

bool ad_top_watch_busy(struct ad_top_watch *watch)
{
    bool busy = false;
    pthread_mutex_lock(&watch->mutex);
    for (int i = 0; i < watch->ndevices; i++)
        busy = busy || watch->devices[i].asking;
    pthread_mutex_unlock(&watch->mutex);
    return busy;
}

void ad_top_watch_stop(struct ad_top_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->mutex);
    watch->ending = true;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
    for (int i = 0; i < watch->ndevices; i++)
        if (watch->devices[i].started)
            pthread_join(watch->devices[i].thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    ad_free(watch->devices);
    ad_free(watch);
}
