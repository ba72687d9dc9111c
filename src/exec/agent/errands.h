/* Requests that wait for the disk, or take long to check, done by a thread of its own one after the
 * other: so the control thread answers pings meanwhile, however slow the disk is. */
#ifndef AD_EXEC_AGENT_ERRANDS_H
#define AD_EXEC_AGENT_ERRANDS_H

#include "base/health.h"
#include "exec/agent/cache.h"
#include "wire/wire.h"

#include <pthread.h>

/* What an agent says of its machine's health when it is asked. */
struct ad_errand_health {
    struct ad_health machine;
    struct ad_interface interface;
    uint64_t cache_free;
    bool cache_free_known;
    struct adaps_error cache; /* why it cannot be written; an empty message: it can */
};

/* Belongs to the thread from when it is posted until it is taken. */
struct ad_errand {
    struct ad_errand *next;
    struct ad_wire_message message; /* the request */
    /* What came of it. */
    enum adaps_status status;
    struct adaps_error err;
    uint32_t *indices; /* HAVE: of the blobs that are missing */
    size_t nindices;
    struct ad_cache_stats stats;     /* HELLO */
    struct ad_errand_health *health; /* HELLO that asks for it, or NULL */
    bool tight;                      /* nothing was done: the cache is full of what is in use */
    bool last_try;                   /* does what it can when it is tight */
};

struct ad_errands {
    /* Set by the owner before start: does one, in the thread. */
    void (*perform)(void *self, struct ad_errand *errand);
    void *self;

    int done_fd; /* readable when some are done: then call ad_errands_take() */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    struct ad_errand *first, *last, *done_first, *done_last;
    bool quit;
    int pending; /* posted and not taken: the owner's */
};

AD_MUST_CHECK enum adaps_status ad_errands_start(struct ad_errands *errands,
                                                 struct adaps_error *err);

/* Waits for the one that is being done, forgets the others. */
void ad_errands_stop(struct ad_errands *errands);

/* A new one for this request, whose parts it takes over; NULL without memory. */
struct ad_errand *ad_errand_new(struct ad_wire_message *message);
void ad_errand_free(struct ad_errand *errand);

void ad_errands_post(struct ad_errands *errands, struct ad_errand *errand);

/* The next that is done, the caller's; NULL when there is none. */
struct ad_errand *ad_errands_take(struct ad_errands *errands);

#endif
