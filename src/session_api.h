/* What sessions, results and streams of the public interface share. */
#ifndef AD_SESSION_API_H
#define AD_SESSION_API_H

#include "place.h"

#include <pthread.h>

struct adaps_session {
    const struct adaps_plan *plan; /* the caller's, or: */
    struct adaps_plan *own;
    struct ad_place *place;
    pthread_mutex_t lock; /* of an inference, and of `streams`; never taken by cancelling */
    bool streams;         /* a stream is open: the place is its thread's */
};

struct adaps_result {
    struct ad_arena arena; /* of: */
    struct adaps_tensor_info *infos;
    struct ad_tensor *outputs; /* empty when it failed */
    int noutputs;
    uint64_t tag;
    int64_t latency_ns;
    struct adaps_error err;    /* its status: ADAPS_OK, or why */
    struct adaps_result *next; /* of a stream's */
};

/* An empty one for the outputs of a network, whose names it copies. NULL without memory. */
struct adaps_result *ad_result_new(const struct ad_graph *graph, uint64_t tag);

#endif
