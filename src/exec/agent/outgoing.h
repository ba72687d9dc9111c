/* Outgoing messages that notice when they have left: ZeroMQ has then handed all of them to the
 * kernel (or, with keys, encrypted them). Its threads find out, maybe in the next inference or
 * after the session's end: so what they write to is counted by references. */
#ifndef AD_EXEC_AGENT_OUTGOING_H
#define AD_EXEC_AGENT_OUTGOING_H

#include "exec/engine/timestamps.h"

#include <zmq.h>

/* How many bytes were handed over and have not left yet, by peer: who hands a message over
 * adds its size, which is subtracted when the message has left. */
struct ad_unsent;

/* For n peers; NULL without memory. */
struct ad_unsent *ad_unsent_new(int n);
void ad_unsent_unref(struct ad_unsent *unsent); /* NULL is fine */
void ad_unsent_add(struct ad_unsent *unsent, int peer, int64_t bytes);
int64_t ad_unsent_bytes(const struct ad_unsent *unsent, int peer);

/* What to update when a message has left. */
struct ad_sent_notice {
    struct ad_timestamps *timestamps; /* nullable: gets the time, for the SEND at `step` */
    int step;
    struct ad_unsent *unsent; /* nullable: has so many bytes less, of `peer` */
    int peer;
};

/* A message of size bytes, to be filled. False without memory. */
AD_MUST_CHECK bool ad_outgoing_new(const struct ad_sent_notice *to, size_t size, zmq_msg_t *out);

/* To be called when a message has been filled and goes to ZeroMQ, for ThreadSanitizer: ZeroMQ hands
 * messages from thread to thread by atomic exchanges, which it does not see. */
void ad_outgoing_filled(zmq_msg_t *message);

#endif
