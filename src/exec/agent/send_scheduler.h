/* Messages of one device leave it one after the other, as the simulated clocks have it (FIFO
 * uplinks, schedule/schedule.h). Connections that are given messages at the same time share the
 * port, so that all of them arrive when the last one does: the first receiver would begin late, and
 * nobody would begin earlier. What would compete with more than a little that goes to somebody else
 * waits in a queue, which a thread serves; everything else is handed over at once by its sender.
 *
 * ZeroMQ's sockets may be used by several threads if a lock keeps them apart: while there is a
 * scheduler, its lock must be held for every use of its sockets. */
#ifndef AD_EXEC_AGENT_SEND_SCHEDULER_H
#define AD_EXEC_AGENT_SEND_SCHEDULER_H

#include "exec/agent/outgoing.h"
#include "wire/frame.h"

struct ad_send_scheduler;

/* Of a connection. */
struct ad_connection {
    void *socket;
    int fd;           /* of its TCP connection, or -1: what is unsent is not known */
    double bandwidth; /* what the plan says, bytes/s */
};

/* For n connections. ADAPS_EINTERNAL. */
AD_MUST_CHECK enum adaps_status ad_send_scheduler_new(const struct ad_connection *connections,
                                                      int n, struct ad_send_scheduler **out,
                                                      struct adaps_error *err);

/* Forgets what is in the queue; before the sockets are closed. NULL is fine. */
void ad_send_scheduler_free(struct ad_send_scheduler *scheduler);

/* NULL is fine. */
void ad_send_scheduler_lock(struct ad_send_scheduler *scheduler);
void ad_send_scheduler_unlock(struct ad_send_scheduler *scheduler);

/* Readable when the thread has used a socket: whoever waits for ZMQ_FD of one must look again. */
int ad_send_scheduler_fd(const struct ad_send_scheduler *scheduler);

/* The unsent bytes by connection, for the notices of messages (ad_outgoing_new()). */
struct ad_unsent *ad_send_scheduler_unsent(const struct ad_send_scheduler *scheduler);

/* Sends head and payload, now or later; the payload is taken over. Without the lock. False when the
 * connection took none now or has failed before. */
AD_MUST_CHECK bool ad_send_scheduler_send(struct ad_send_scheduler *scheduler, int connection,
                                          const uint8_t head[AD_FRAME_BYTES], zmq_msg_t *payload);

/* A message of two parts into a socket; without a scheduler. The payload is taken over. */
AD_MUST_CHECK bool ad_send_scheduler_hand_over(void *socket, const uint8_t head[AD_FRAME_BYTES],
                                               zmq_msg_t *payload);

#endif
