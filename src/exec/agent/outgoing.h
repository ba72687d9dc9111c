/* Messages whose end of life is when they have left: ZeroMQ has then handed all of them to the
 * kernel (or, with keys, encrypted them). Its threads tell, maybe in the next inference or after
 * the session's end: so what they tell is counted references. */
#ifndef AD_EXEC_AGENT_OUTGOING_H
#define AD_EXEC_AGENT_OUTGOING_H

#include "exec/engine/timestamps.h"

#include <zmq.h>

/* How many bytes were handed over and have not left yet, by peer: who hands a letter over adds its
 * size, its end takes that away. */
struct ad_unsent;

/* For n peers; NULL without memory. */
struct ad_unsent *ad_unsent_new(int n);
void ad_unsent_unref(struct ad_unsent *unsent); /* NULL is fine */
void ad_unsent_add(struct ad_unsent *unsent, int peer, int64_t bytes);
int64_t ad_unsent_bytes(const struct ad_unsent *unsent, int peer);

/* Whom leaving is told to. */
struct ad_sent_notice {
    struct ad_timestamps
        *timestamps; /* nullable: as the time when the message of `step` had left */
    int step;
    struct ad_unsent *unsent; /* nullable: as so many bytes less, of `peer` */
    int peer;
};

/* A message of size bytes. False without memory. */
AD_MUST_CHECK bool ad_outgoing_new(const struct ad_sent_notice *to, size_t size, zmq_msg_t *out);

#endif
